"""Wordings are kept if they are new, have the values of their program, and are read as that program."""

from collections.abc import Mapping, Sequence

from csl.examples import Example
from csl.preparing.surviving import surviving
from csl.seq2seq.reword import Read, Refusal, Rewording

SAMPLE = Example.of("big is m0", "size ( m0 )")
TRAIN = [Example.of("how big is m0", "size ( m0 )"), Example.of("how long is m1", "len ( m1 )")]


def reader(**outputs: str) -> Read:
    return lambda texts: [outputs.get(text.replace(" ", "_"), "") for text in texts]


def rewording(texts: Mapping[str, Sequence[str]], **readers: Read) -> Rewording:
    def write(programs: Sequence[str]) -> list[Sequence[str]]:
        return [texts[program] for program in programs]

    return Rewording(write, readers, surviving(TRAIN, None), {SAMPLE, *TRAIN})


def test_each_refusal_has_its_reason() -> None:
    texts = ["", "big is m0", "size of it", "size of m0 m1", "what size has m0", "m0 is how big", "size of m0"]
    read = reader(what_size_has_m0="size ( m0 )", m0_is_how_big="len ( m0 )")
    found = rewording({"size ( m0 )": texts}, parser=read)
    assert [pair.source_text for pair in found.reword([SAMPLE])] == ["what size has m0"]
    assert found.kept == {"parser": 1}
    assert found.refused == {
        Refusal.EMPTY: 1, Refusal.KNOWN: 1, Refusal.VALUES: 2, Refusal.OTHER: 1, Refusal.NOT_COVERED: 1,
    }  # fmt: skip


def test_a_second_reader_sees_what_the_first_does_not_give_back() -> None:
    seen: list[str] = []

    def second(texts: Sequence[str]) -> list[str]:
        seen.extend(texts)
        return ["size(m0)" for _ in texts]

    found = rewording({"size ( m0 )": ["a m0", "b m0"]}, parser=reader(a_m0="size ( m0 )"), model=second)
    assert [pair.source_text for pair in found.reword([SAMPLE])] == ["a m0", "b m0"]
    assert seen == ["b m0"]
    assert found.kept == {"parser": 1, "model": 1}


def test_without_readers_all_that_is_new_is_kept() -> None:
    found = rewording({"size ( m0 )": ["", "big is m0", "size of it", "size of it"]})
    assert [pair.source_text for pair in found.reword([SAMPLE])] == ["size of it"]
    assert found.kept == {"unchecked": 1}


def test_programs_keep_their_order_over_chunks() -> None:
    pairs = [Example.of(f"old {n}", f"f ( {n} )") for n in range(1100)]
    found = Rewording(lambda ys: [[f"new {y}"] for y in ys], {}, lambda old, new: True, set())
    assert [pair.target for pair in found.reword(pairs)] == [pair.target for pair in pairs]
