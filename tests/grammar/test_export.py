"""Grammars for decoders: loaded by llguidance and xgrammar, they accept the texts of the CFG and no others."""

import doctest
import re
from graphlib import TopologicalSorter
from itertools import product
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.grammar import export as export_module
from csl.grammar import left_recursion
from csl.grammar.export import Free, Joint, prefix_free, to_gbnf, to_lark, with_leading_space
from csl.grammar.left_recursion import without_left_recursion
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production

llguidance = pytest.importorskip("llguidance")
xgrammar = pytest.importorskip("xgrammar")

BETWEEN: dict[Joint, list[str]] = {"space": [" "], "optional": ["", " "], "none": [""]}
NAMES = ["ROOT", "root", "start", "Y-", "Ω"]
symbols = st.sampled_from([*"ab", "ab", "aba", "\\", '"', *map(Category, NAMES)])
productions = st.builds(
    Production, st.sampled_from(NAMES).map(Category), st.lists(symbols, min_size=1, max_size=3).map(tuple)
)


@st.composite
def cfgs(draw: st.DrawFn, size: int = 9) -> OutputCfg:
    """Small CFGs without unit cycles, most of them with left recursion, direct and indirect."""
    made = OutputCfg(draw(st.lists(productions, min_size=2, max_size=size, unique=True))).trimmed()
    kept: list[Production] = []
    for production in [*made.productions, Production(ROOT, ("a",))]:
        if OutputCfg([*kept, production])._unit_cycle() is None:
            kept.append(production)
    return OutputCfg(kept).trimmed()


def outputs(cfg: OutputCfg, longest: int = 4) -> set[tuple[str, ...]]:
    """All outputs of a CFG that are not longer, by brute force."""
    found: dict[Category, set[tuple[str, ...]]] = {}
    while True:
        new = {p.lhs: set(found.get(p.lhs, ())) for p in cfg.productions}
        for p in cfg.productions:
            parts = [found.get(s, set()) if isinstance(s, Category) else {(s,)} for s in p.rhs]
            made = (sum(choice, ()) for choice in product(*parts))
            new[p.lhs] |= {tokens for tokens in made if len(tokens) <= longest}
        if new == found:
            return found[ROOT]
        found = new


def texts(tokens: tuple[str, ...], joint: Joint) -> set[str]:
    """All texts of tokens with a joint."""
    gaps = product(BETWEEN[joint], repeat=len(tokens) - 1)
    return {tokens[0] + "".join(gap + token for gap, token in zip(gap, tokens[1:], strict=True)) for gap in gaps}


class Bytes:
    """A vocabulary of bytes, and an end."""

    eos_token_id, bos_token_id, special_token_ids = 0, None, (0,)
    tokens = (b"\xff</s>", *(bytes([i]) for i in range(1, 256)))

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


@pytest.fixture(scope="module")
def by_bytes() -> object:
    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(Bytes()), slices=[])


class Lark:
    def __init__(self, lark: str, tokenizer: object) -> None:
        self._matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(lark), log_level=0)
        assert not self._matcher.is_error(), (lark, self._matcher.get_error())

    def accepts(self, text: str) -> bool:
        matcher, ids = self._matcher.deep_copy(), list(text.encode())
        return matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting()


class Gbnf:
    def __init__(self, gbnf: str) -> None:
        vocabulary = xgrammar.TokenizerInfo(["a"], stop_token_ids=[])
        self._compiled = xgrammar.GrammarCompiler(vocabulary).compile_grammar(xgrammar.Grammar.from_ebnf(gbnf))

    def accepts(self, text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(self._compiled, terminate_without_stop_token=True)
        return matcher.accept_string(text) and matcher.is_completed()


@settings(deadline=None)
@given(cfgs())
def test_left_recursion_is_removed_and_the_outputs_stay(cfg: OutputCfg) -> None:
    flat = without_left_recursion(cfg)
    flat.check()
    assert outputs(flat) == outputs(cfg)
    first = {(p.lhs, p.rhs[0]) for p in flat.productions if isinstance(p.rhs[0], Category)}
    TopologicalSorter({lhs: [b for a, b in first if a == lhs] for lhs, _ in first}).prepare()  # raises at a cycle


def test_without_left_recursion_nothing_changes() -> None:
    cfg = OutputCfg.parse(["ROOT => a ##ROOT", "ROOT => ##X", "X => b"])
    assert without_left_recursion(cfg).productions == cfg.productions


def test_a_long_indirect_cycle_stays_small() -> None:
    """The textbook way takes exponentially many productions."""
    lines = [f"C{i} => ##C{j} t{i}_{j}" for i in range(12) for j in range(12)]
    cfg = OutputCfg.parse(["ROOT => ##C0", *lines, *(f"C{i} => s{i}" for i in range(12))])
    assert len(without_left_recursion(cfg).productions) < 5000


@given(st.sets(st.text("ab", min_size=1), min_size=1))
def test_no_piece_begins_another(texts: set[str]) -> None:
    pieces = prefix_free(texts)
    assert not any(b != a and b.startswith(a) for a in pieces for b in pieces)
    for text in texts:
        rest = text
        while rest:
            rest = next(rest.removeprefix(piece) for piece in pieces if rest.startswith(piece))


def test_names_are_legal_and_differ_and_tokens_are_escaped(by_bytes: object) -> None:
    token = 'q"\\\n\x7f\x85\u2028é😀\U000e0001'
    names = ["root", "start", "A b", "A-B", "9", "é", "_"]
    cfg = OutputCfg([
        Production(ROOT, (token, *map(Category, names))), *(Production(Category(n), (n.upper(),)) for n in names)
    ])  # fmt: skip
    text = " ".join([token, *(name.upper() for name in names)])
    lark, gbnf = to_lark(cfg), to_gbnf(cfg)
    assert Lark(lark, by_bytes).accepts(text)
    assert Gbnf(gbnf).accepts(text)
    for lines, legal in (
        (lark.splitlines()[1:], r"[a-zA-Z][a-zA-Z0-9_]*: "),
        (gbnf.splitlines(), r"[a-z][a-z0-9-]* ::= "),
    ):
        found = [re.match(legal, line)[0] for line in lines]
        assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('f("a b/[]", 12)', True), ('f ( " x\\" y " , 1.5 )', True), ('g("all things", 7)', True), ("f('a', 1)", False),
        ('f("", 1)', False), ('f("a", x)', False), ('g("all", 1)', False), ("new york", True), ("newyork", False),
    ],
)  # fmt: skip
def test_free_text_is_written_where_it_may_be(by_bytes: object, text: str, valid: bool) -> None:
    string, number = ('"', Free('^"'), '"'), Free(r"0-9.\-")
    cfg = OutputCfg.parse(["ROOT => f ( S , N )", "ROOT => g ( T , N )", "ROOT => new york"])
    spelling = {"S": string, "T": ('"', "all", "things", '"'), "N": (number,)}
    assert Lark(to_lark(cfg, "words", spelling), by_bytes).accepts(text) == valid
    assert Gbnf(to_gbnf(cfg, "words", spelling)).accepts(text) == valid


def test_a_space_before_the_first_token_is_allowed_on_request(by_bytes: object) -> None:
    cfg = OutputCfg.parse(["ROOT => a", "ROOT => ##ROOT a"])
    lark = Lark(with_leading_space(to_lark(cfg)), by_bytes)
    assert [text for text in ("a a", " a a", "  a a", "a a ") if lark.accepts(text)] == ["a a", " a a"]


@pytest.mark.parametrize("module", [export_module, left_recursion])
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@settings(deadline=None)
@given(cfgs(), st.sampled_from(sorted(BETWEEN)), st.lists(st.text(' ab"\\', min_size=1, max_size=9), max_size=9))
def test_both_libraries_accept_the_texts_of_the_cfg_and_no_others(
    by_bytes: object, cfg: OutputCfg, joint: Joint, others: list[str]
) -> None:
    longest = 9  # characters, and so tokens
    valid = {text for tokens in outputs(cfg, 4) for text in texts(tokens, joint)}
    lark, gbnf = Lark(to_lark(cfg, joint), by_bytes), Gbnf(to_gbnf(cfg, joint))
    for text in sorted(valid)[:20]:
        assert lark.accepts(text), text
        assert gbnf.accepts(text), text
    for text in others:
        right = any(cfg.accepts(tokens) for tokens in cuts(text[:longest], joint))
        assert lark.accepts(text[:longest]) == gbnf.accepts(text[:longest]) == right


def cuts(text: str, joint: Joint) -> list[tuple[str, ...]]:
    """All token sequences over the tokens of the tests that have the text with the joint."""
    if not text:
        return []
    found: list[tuple[str, ...]] = []
    for token in ("a", "b", "ab", "aba", "\\", '"'):
        rest = text.removeprefix(token)
        if rest != text:
            found += [(token,)] * (not rest)
            found += [(token, *tail) for gap in BETWEEN[joint] if rest.startswith(gap)
                      for tail in cuts(rest[len(gap) :], joint)]  # fmt: skip
    return found
