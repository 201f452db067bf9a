"""The variable-free form of COGS: what it looks like, what it refuses, and that nothing is lost."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.datasets.variable_free import Form, lone_word, read_form, remove_variables, restore_variables

PAIRS = {
    "plain": (
        "Camila gave a cake in a storage to Emma .",
        "give . agent ( x _ 1 , Camila ) AND give . theme ( x _ 1 , x _ 3 ) AND give . recipient ( x _ 1 , Emma ) "
        "AND cake ( x _ 3 ) AND cake . nmod . in ( x _ 3 , x _ 6 ) AND storage ( x _ 6 )",
        "give ( agent = Camila , theme = cake ( nmod . in = storage ) , recipient = Emma )",
    ),
    "definite": (
        "The owl saw the TV .",
        "* owl ( x _ 1 ) ; * tv ( x _ 4 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 4 )",
        "see ( agent = * owl , theme = * tv )",
    ),
    "passive": (
        "A pie was given to Ann by the owl .",
        "* owl ( x _ 8 ) ; pie ( x _ 1 ) AND give . theme ( x _ 3 , x _ 1 ) AND give . recipient ( x _ 3 , Ann ) "
        "AND give . agent ( x _ 3 , x _ 8 )",
        "give ( theme = pie , recipient = Ann , agent = * owl )",
    ),
    "clause": (
        "Ann said that the owl knew that a pie fell .",
        "* owl ( x _ 4 ) ; say . agent ( x _ 1 , Ann ) AND say . ccomp ( x _ 1 , x _ 5 ) "
        "AND know . agent ( x _ 5 , x _ 4 ) AND know . ccomp ( x _ 5 , x _ 9 ) AND pie ( x _ 8 ) "
        "AND fall . theme ( x _ 9 , x _ 8 )",
        "say ( agent = Ann , ccomp = know ( agent = * owl , ccomp = fall ( theme = pie ) ) )",
    ),
    "infinitive": (
        "The owl in a box wanted to read .",
        "* owl ( x _ 1 ) ; owl . nmod . in ( x _ 1 , x _ 4 ) AND box ( x _ 4 ) AND want . agent ( x _ 5 , x _ 1 ) "
        "AND want . xcomp ( x _ 5 , x _ 7 ) AND read . agent ( x _ 7 , x _ 1 )",
        "want ( agent = * owl ( nmod . in = box ) , xcomp = read ( agent = * owl ( nmod . in = box ) ) )",
    ),
    "the same noun twice": (
        "A cat saw a cat .",
        "cat ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 4 ) AND cat ( x _ 4 )",
        "see ( agent = cat , theme = cat )",
    ),
}


@pytest.mark.parametrize(("sentence", "original", "variable_free"), PAIRS.values(), ids=PAIRS.keys())
def test_both_directions(sentence: str, original: str, variable_free: str) -> None:
    form = remove_variables(original)
    assert " ".join(form.tokens()) == variable_free
    assert restore_variables(sentence.split(), read_form(variable_free.split())) == original


@pytest.mark.parametrize(
    ("original", "word"),
    [
        ("Paula", "Paula"),
        ("LAMBDA a . shark ( a )", "shark"),
        ("LAMBDA a . LAMBDA e . float . theme ( e , a )", "float"),
        ("LAMBDA a . LAMBDA b . LAMBDA e . hug . agent ( e , b ) AND hug . theme ( e , a )", "hug"),
    ],
)
def test_a_lone_word_is_its_predicate(original: str, word: str) -> None:
    assert lone_word(original) == Form(word)


def test_a_sentence_is_not_a_lone_word() -> None:
    assert lone_word("smile . agent ( x _ 1 , Ann )") is None


@pytest.mark.parametrize(
    ("original", "reason"),
    [
        ("", "not a fact"),
        ("smile . agent ( x _ 1 )", "not a fact"),
        ("owl ( x _ 1 )", "one outermost event, not 0"),
        ("smile . agent ( x _ 1 , Ann ) AND smile . agent ( x _ 2 , Bob )", "one outermost event, not 2"),
        ("smile . agent ( x _ 2 , x _ 1 )", "nothing is said about x _ 1"),
        ("owl ( x _ 1 ) AND cat ( x _ 1 ) AND smile . agent ( x _ 2 , x _ 1 )", "both 'owl' and 'cat'"),
        ("owl ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 1 )", "argument twice"),
        ("see . agent ( x _ 1 , x _ 2 ) AND smile . agent ( x _ 2 , Ann )", "the agent of x _ 1 is an event"),
        (
            "want . agent ( x _ 1 , Ann ) AND want . xcomp ( x _ 1 , x _ 3 ) AND read . agent ( x _ 3 , Bob )",
            "subject of its own",
        ),
    ],
)
def test_refuses_a_logical_form_it_cannot_give_back(original: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        remove_variables(original)


NO_FORMS = [
    "", "*", "(", "a b", "* * owl", "see (", "see ( )", "see ( agent", "see ( agent =", "see ( agent = Ann",
    "see ( agent = Ann , )", "see ( agent = Ann ) )", "see ( = Ann )", "see ( a b = Ann )", "owl ( nmod . = box )",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_FORMS)
def test_refuses_what_is_no_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|ends before"):
        read_form(text.split())


@pytest.mark.parametrize(
    ("sentence", "form"),
    [
        ("Ann saw Bob .", "see ( agent = Bob , theme = Ann )"),
        ("Ann saw Bob .", "see ( agent = Ann )"),
        ("Ann saw .", "see ( agent = Ann , theme = Bob )"),
        ("Ann smiled .", "Ann"),
        ("Ann smiled .", "* smile ( agent = Ann )"),
        ("Ann smiled .", "smile ( agent = * Ann )"),
        ("Ann smiled .", "smile ( agent = Ann ( nmod . in = box ) )"),
        ("A cat smiled .", "smile ( agent = cat ( agent = Ann ) )"),
        ("Ann smiled .", "smile ( nmod . in = Ann )"),
        ("Ann wanted to read .", "want ( agent = Ann , xcomp = read ( agent = Bob ) )"),
        ("Ann said that Bob read .", "say ( agent = Ann )"),
        ("Ann smiled .", "say ( agent = Ann , ccomp = smile ( agent = Bob ) )"),
    ],
)
def test_refuses_a_form_that_does_not_fit_the_sentence(sentence: str, form: str) -> None:
    with pytest.raises(ValueError, match=r"'\w+'"):
        restore_variables(sentence.split(), read_form(form.split()))


words = st.sampled_from(["owl", "Ann", "agent", "nmod", ".", "in", "x'", "é"])
roles = st.sampled_from([("agent",), ("theme",), ("xcomp",), ("nmod", ".", "in")])
forms = st.recursive(
    st.builds(Form, words, st.booleans()),
    lambda inner: st.builds(
        Form, words, st.booleans(), st.lists(st.tuples(roles, inner), min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


@given(forms)
def test_reading_what_was_written_gives_the_form(form: Form) -> None:
    assert read_form(tuple(form.tokens())) == form


@pytest.mark.parametrize("name", ["train", "dev", "test", "gen_half"])
def test_the_round_trip_is_exact_on_all_of_cogs(shared_data: Path, name: str) -> None:
    sentences = lone = 0
    for line in (shared_data / "cogs" / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        sentence, original, _ = line.split("\t")
        if lone_word(original):
            lone += 1
            continue
        form = read_form(tuple(remove_variables(original).tokens()))
        assert restore_variables(sentence.split(), form) == original
        sentences += 1
    assert (sentences, lone) == {
        "train": (24_012, 143),
        "dev": (3_000, 0),
        "test": (3_000, 0),
        "gen_half": (10_500, 0),
    }[name]
