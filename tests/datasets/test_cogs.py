"""COGS as the paper uses it: sizes, seeds that are right, an output CFG that is neither too narrow nor too wide."""

from pathlib import Path

import pytest

from csl.datasets import cogs
from csl.datasets.task import Task
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import parse_rule

FUNCTION_WORDS = {"a", "A", "the", "The", "was", "by", "to", "that", "."}
NOTATION = {"(", ")", "=", ",", ".", "*", "nmod", "agent", "theme", "recipient", "ccomp", "xcomp"}

TRAIN = (
    "Ann saw a cat in the box .\t"
    "* box ( x _ 6 ) ; see . agent ( x _ 1 , Ann ) AND see . theme ( x _ 1 , x _ 3 ) AND cat ( x _ 3 ) "
    "AND cat . nmod . in ( x _ 3 , x _ 6 )\tin_distribution\n"
    "cat\tLAMBDA a . cat ( a )\tprimitive\n"
)
DEV = "Ann slept .\tsleep . agent ( x _ 1 , Ann )\tin_distribution\n"


@pytest.fixture(scope="module")
def gen(shared_data: Path) -> Task:
    return cogs.prepare(shared_data / "cogs", "gen")


def small_source(folder: Path, **files: str) -> Path:
    for name, text in {"train": TRAIN, "dev": DEV, "gen": DEV, "test": DEV, **files}.items():
        if text:
            (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    return folder


def small_cfg() -> cogs.OutputCfg:
    words = "Ann cat see sleep say want"
    return cogs.output_cfg(cogs.Words(set(words.split()), {"in"}))


def test_examples_keep_sentence_and_category(tmp_path: Path) -> None:
    task = cogs.prepare(small_source(tmp_path), "gen")
    assert task.train == [
        Example.of("Ann saw a cat in the box .", "see ( agent = Ann , theme = cat ( nmod . in = * box ) )"),
        Example.of("cat", "cat"),
    ]
    assert [example.meta for example in task.train] == [{"category": "in_distribution"}, {"category": "primitive"}]
    assert task.columns == ("category",)


def test_words_that_training_lacks_are_noted(tmp_path: Path) -> None:
    assert any("no training output has: sleep." in note for note in cogs.prepare(small_source(tmp_path), "gen").notes)


def test_the_whole_of_gen_is_taken_where_it_is(tmp_path: Path) -> None:
    task = cogs.prepare(small_source(tmp_path, gen_half=DEV * 2), "gen")
    assert len(task.test) == 1
    assert not any("gen_half" in note for note in task.notes)


def test_half_of_gen_is_noted(tmp_path: Path) -> None:
    task = cogs.prepare(small_source(tmp_path, gen="", gen_half=DEV * 2), "gen")
    assert len(task.test) == 2
    assert any("gen_half.tsv" in note for note in task.notes)


@pytest.mark.parametrize(("split", "missing"), [("gen", "train"), ("gen", "dev"), ("test", "test")])
def test_a_missing_file_is_named(tmp_path: Path, split: str, missing: str) -> None:
    (small_source(tmp_path) / f"{missing}.tsv").unlink()
    with pytest.raises(InputError, match=rf"{missing}\.tsv"):
        cogs.prepare(tmp_path, split)


DEEP = " AND ".join(f"say . ccomp ( x _ {i} , x _ {i + 1} )" for i in range(200)) + " AND say . theme ("


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Ann slept .\tsleep . agent ( x _ 1 , Ann )", "expected three columns"),
        ("Ann slept .\tsleep ( Ann )\tx", "not a fact of a COGS logical form"),
        ("", "expected three columns"),
        ("Ann slept .\t(\tx", "expected a word"),
        (f"Ann slept .\t{DEEP} x _ 200 , Ann )\tx", "brackets are nested more than"),
        (" \tsleep . agent ( x _ 1 , Ann )\tx", "expected three columns"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    small_source(tmp_path, dev=f"{DEV}{line}\n")
    with pytest.raises(InputError, match=rf"dev\.tsv:2: {reason}"):
        cogs.prepare(tmp_path, "gen")


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    (small_source(tmp_path) / "train.tsv").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.tsv: no examples"):
        cogs.prepare(tmp_path, "test")


@pytest.mark.parametrize(
    "output",
    [
        "Ann",
        "sleep ( agent = Ann )",
        "see ( theme = * cat , agent = Ann )",
        "see ( agent = cat ( nmod . in = * cat ( nmod . in = cat ) ) )",
        "say ( agent = Ann , ccomp = sleep ( agent = * cat ) )",
        "want ( agent = Ann , xcomp = see ( agent = Ann , theme = cat ) )",
        "Ann ( agent = sleep )",  # one category for all primitives
    ],
)
def test_cfg_accepts(output: str) -> None:
    assert small_cfg().accepts(output.split())


@pytest.mark.parametrize(
    "output",
    [
        "dog",
        "* cat",
        "sleep ( Ann )",
        "sleep ( agent = Ann",
        "sleep ( agent = Ann , )",
        "sleep ( agent = Ann , agent = Ann )",
        "sleep ( agent = * * cat )",
        "sleep ( agent = see ( agent = Ann ) )",
        "sleep ( in = Ann )",
        "sleep ( nmod . in = cat )",
        "sleep ( agent = cat ( nmod . cat = cat ) )",
        "sleep ( agent = cat ( nmod . in = cat ) ( nmod . in = cat ) )",
        "say ( agent = Ann , ccomp = Ann )",
        "say ( ccomp = sleep ( agent = Ann ) )",
        "say ( agent = Ann , ccomp = sleep ( agent = Ann ) , xcomp = sleep ( agent = Ann ) )",
    ],
)
def test_cfg_refuses(output: str) -> None:
    assert not small_cfg().accepts(output.split())


def test_cfg_is_fit_for_use_even_without_prepositions() -> None:
    small_cfg().check()
    cogs.output_cfg(cogs.Words({"Ann"}, set())).check()


@pytest.mark.parametrize(
    ("rule", "typing"),
    [
        ("NT_1 NT_2 NT_3 . ### NT_2 ( agent = NT_1 , theme = NT_3 )", ("EVENT", "ENTITY", "PRIMITIVE", "ENTITY")),
        ("NT_1 NT_2 NT_3 ### NT_1 ( nmod . NT_2 = NT_3 )", ("ENTITY", "HEAD", "PREPOSITION", "ENTITY")),
        ("the NT_1 ### * NT_1", ("HEAD", "PRIMITIVE")),
        ("a NT_1 ### NT_1", ("ENTITY", "ENTITY")),
        ("NT_1 NT_2 that NT_3 ### NT_2 ( agent = NT_1 , ccomp = NT_3 )", ("EVENT", "ENTITY", "PRIMITIVE", "EVENT")),
        (
            "NT_1 NT_2 to NT_3 ### NT_2 ( agent = NT_1 , xcomp = NT_3 ( agent = NT_1 ) )",
            ("EVENT", "ENTITY", "PRIMITIVE", "PRIMITIVE"),
        ),
        ("the cat ### * cat", ("HEAD",)),
    ],
)
def test_rules_with_nonterminals_have_typings(rule: str, typing: tuple[str, ...]) -> None:
    typings = small_cfg().typings(parse_rule(rule).target)
    assert typing in [(t.category, *t.children) for t in typings]


def test_sizes_are_the_published_ones(gen: Task, shared_data: Path) -> None:
    assert (len(gen.train), len(gen.dev)) == (24_155, 3_000)
    assert len(gen.test) == (21_000 if (shared_data / "cogs" / "gen.tsv").exists() else 10_500)


def test_every_content_word_of_training_has_one_seed_and_nothing_else_has(gen: Task) -> None:
    inputs = {word for example in gen.train for word in example.source}
    words = cogs.Words.of(gen.train)
    assert sorted(rule.source[0] for rule in gen.seed_rules) == sorted(inputs - FUNCTION_WORDS)
    assert {rule.target[0] for rule in gen.seed_rules} == words.primitives | words.prepositions
    assert not NOTATION & (words.primitives | words.prepositions)


def test_seed_rules_are_correct(gen: Task) -> None:
    words = "slept sleep, sleep sleep, eat eat, ate eat, eaten eat, thought think, found find, blessed bless, TV tv"
    for pair in f"{words}, Emma Emma, cake cake, beside beside".split(", "):
        assert parse_rule(" ### ".join(pair.split())) in gen.seed_rules


def test_seeds_share_their_first_letter(gen: Task) -> None:
    """Every inflected form of COGS begins as its predicate does, so a wrong pair would nearly always show here."""
    exceptions = {str(r) for r in gen.seed_rules if str(r.source[0])[0].lower() != str(r.target[0])[0].lower()}
    assert exceptions == {"ate ### eat"}


def test_cfg_accepts_all_outputs_made_of_training_words(gen: Task, shared_data: Path) -> None:
    assert gen.output_cfg is not None
    words = cogs.Words.of(gen.train)
    refused = []
    for example in [*gen.train, *gen.dev, *gen.test, *cogs.read_pairs(shared_data / "cogs" / "test.tsv")]:
        if not gen.output_cfg.accepts(example.target):
            refused.append(example)
    assert all(words.unseen(cogs.Words.of([example])) for example in refused)
    assert len(refused) < 30
