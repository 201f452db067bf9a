"""What decoders may write of raw text: every training output, new combinations and new values, and little else."""

from collections.abc import Callable
from functools import cache

import pytest

from csl.grammar.export import to_gbnf
from csl.preparing.preparation import Prepared, prepare
from csl.preparing.writing import as_written, decoding_grammar

from ..raw import SETS

llguidance = pytest.importorskip("llguidance")


@cache
def prepared_set(name: str) -> Prepared:
    return prepare(SETS[name])


@cache
def acceptor(name: str) -> Callable[[str], bool]:
    """Give a function that tells whether a text is of the grammar that is learnt from a set of raw pairs."""
    prepared, tokenizer = prepared_set(name), llguidance.LLTokenizer("byte")
    lark = llguidance.LLMatcher.grammar_from_lark(decoding_grammar(prepared.any_order, prepared.preparation))
    start = llguidance.LLMatcher(tokenizer, lark, log_level=0)
    assert not start.is_error(), start.get_error()

    def accepts(text: str) -> bool:
        matcher, ids = start.deep_copy(), tokenizer.tokenize_str(text)
        return matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting()

    return accepts


@pytest.mark.parametrize("name", SETS)
def test_all_training_outputs_are_written(name: str) -> None:
    accepts = acceptor(name)
    assert [output for _, output in SETS[name] if not accepts(output)] == []


@pytest.mark.parametrize(
    ("name", "text", "valid"),
    [
        ("calls", "answer(city(loc_2(state(next_to(stateid('new mexico'))))))", True),
        ("calls", "answer( size( stateid( 'x' ) ) )", True),
        ("calls", "answer(size(stateid('o'neil')))", True),
        ("calls", "answer(answer(stateid('ohio')))", False),
        ("calls", "answer(size(stateid(ohio)))", False),
        ("calls", "answersize(stateid('ohio'))", False),
        ("json", '{"level": 35, "area": "pool house", "intent": "Dim"}', False),  # the tag comes first
        ("json", '{"intent": "Dim", "level": 35, "area": "pool house"}', True),
        ("json", '{"intent": "Dim", "area": "pool \\"x\\"", "level": 5.5}', True),
        ("json", '{"intent": "Dim", "area": pool, "level": 35}', False),
        ("json", '{"intent": "Dim", "area": "pool", "level": x}', False),
        ("top", "[IN:CREATE [SL:TODO water (all) the plants ] [SL:TIME tonight ] ]", True),
        ("top", "[IN:CREATE [SL:TODO water ] [the plants ] [SL:TIME tonight ] ]", False),
        ("sql", "SELECT COUNT(p.id) FROM papers AS p WHERE p.author = 'Dee Poe'", True),
        ("sql", "SELECT p.id FROM papers AS p WHERE p.year = 2020", True),
        ("sql", "SELECT p.id FROM papersAS p WHERE p.year = 2020", False),
    ],
)
def test_new_values_and_combinations_are_written_and_nonsense_is_not(name: str, text: str, valid: bool) -> None:
    assert acceptor(name)(text) == valid


@pytest.mark.parametrize("name", SETS)
def test_xgrammar_loads_them(name: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    prepared = prepared_set(name)
    cfg, spelling = as_written(prepared.any_order, prepared.preparation)
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(["a"], stop_token_ids=[]))
    grammar = compiler.compile_grammar(xgrammar.Grammar.from_ebnf(to_gbnf(cfg, "words", spelling)))
    for _, output in SETS[name][:3]:
        matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=True)
        assert matcher.accept_string(output)
        assert matcher.is_completed()
