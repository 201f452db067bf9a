"""A look at a file: what it has, and what is wrong with it."""

from csl.examples.formats import Row
from csl.examples.look import look
from csl.languages.registry import language

ROWS = [
    Row("List the states", "answer(state(all))", line=2),
    Row("rivers in Ohio", "answer(river(loc_2(stateid('ohio'))))", line=3),
    Row("rivers in Ohio", "answer(river(in('ohio')))", line=4),
    Row("List the states", "answer(state(all))", line=6),
]


def test_sizes_repetitions_and_contradictions() -> None:
    found = look(ROWS)
    assert (found.rows, found.language, found.parsed, found.unparsed) == (4, "calls", 4, ())
    assert (found.duplicates, found.contradictions) == (1, ((3, 4),))
    assert (found.input_lengths.least, found.input_lengths.median, found.input_lengths.most) == (3, 3, 3)


def test_words_of_outputs_in_inputs_are_counted_without_case() -> None:
    assert look([Row("rivers in New York", "f(new_york)")]).shared_words == 2 / 3


def test_pairs_are_shown_as_they_are_understood() -> None:
    pair = look(ROWS).pairs[0]
    assert (pair.line, pair.input_tokens) == (2, ("List", "the", "states"))
    assert [line.split()[-1] for line in pair.constituents] == ["answer", "state", "all"]


def test_outputs_that_do_not_parse_are_named() -> None:
    found = look([*ROWS, Row("a", "answer(state(", line=9)], language("calls"))
    assert (found.tried, found.parsed, [bad.line for bad in found.unparsed]) == (5, 4, [9])
    assert found.pairs[-1].output_tokens == ()
