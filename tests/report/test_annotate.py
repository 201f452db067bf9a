"""What is worth annotating: each choice is the best by plain counting, and equals are told apart in a fixed way."""

from hypothesis import given
from hypothesis import strategies as st

from csl.report.annotate import Lacks, choose

lacks = st.frozensets(st.sampled_from([(0, 1), (0, 2), (3, 1), "hop", "skip"]), max_size=4)


def offers(needs: list[Lacks]) -> list[tuple[tuple[str, ...], Lacks]]:
    return [((f"x{k:02}",), need) for k, need in enumerate(needs)]


@given(st.lists(lacks, max_size=12), st.lists(lacks, max_size=12))
def test_each_choice_fills_most_of_what_is_left(needs: list[Lacks], pool: list[Lacks]) -> None:
    given_so_far: Lacks = frozenset()
    for choice in choose(needs, offers(pool), 10):

        def filled(offer: Lacks, given: Lacks = given_so_far) -> int:
            return sum(need <= given | offer for need in needs) - sum(need <= given for need in needs)

        assert choice.filled == max(map(filled, pool)) > 0
        given_so_far |= dict(offers(pool))[choice.source]
    if len(choose(needs, offers(pool), 10)) < 10:
        helpless = [need for need in needs if need and not need <= given_so_far]
        assert not any(need <= given_so_far | offer for need in helpless for offer in pool)


def test_among_equals_what_more_inputs_lack_then_the_shortest() -> None:
    needs = [frozenset({"a"}), frozenset({"b"}), frozenset({"b", "c"})]
    pool = [(("a",), frozenset({"a"})), (("b", "b"), frozenset({"b"})), (("b",), frozenset({"b"}))]
    found = choose(needs, pool, 2)
    assert [(choice.source, choice.filled) for choice in found] == [(("b",), 1), (("a",), 1)]


def test_only_what_somebody_lacks_is_named() -> None:
    pool = [(("x",), frozenset({"a", "z"}))]
    assert choose([frozenset({"a"})], pool, 3)[0].gives == {"a"}
    assert choose([frozenset({"q"})], pool, 3) == []
    assert choose([frozenset()], pool, 3) == []
