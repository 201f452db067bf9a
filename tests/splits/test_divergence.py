import re
from collections import Counter
from pathlib import Path

import pytest

from csl.errors import InputError
from csl.examples import Example, read_examples
from csl.splits.divergence import Profile, chernoff, divergence, profile, profiles
from csl.splits.programs import DEFAULT_ENTITIES, entity_pattern

ENTITIES = entity_pattern(DEFAULT_ENTITIES)


def counted(program: str) -> Profile:
    return profile(program.split(), ENTITIES)


def outputs(*programs: str) -> list[Example]:
    return [Example.of("x", program) for program in programs]


def test_calls_count_functions_with_their_arity_and_what_fills_their_arguments() -> None:
    found = counted("answer ( intersection ( state , loc_1 ( state ) ) )")
    assert found.atoms == Counter({"answer/1": 1, "intersection/2": 1, "state/0": 2, "loc_1/1": 1})
    assert found.compounds == Counter(
        {
            ("answer/1", "0", "intersection/2"): 1,
            ("intersection/2", "0", "state/0"): 1,
            ("intersection/2", "1", "loc_1/1"): 1,
            ("loc_1/1", "0", "state/0"): 1,
        }
    )


def test_the_same_symbol_with_another_arity_is_another_atom() -> None:
    assert set(counted("f ( capital , capital ( m0 ) )").atoms) == {"f/2", "capital/0", "capital/1", "<entity>/0"}


def test_named_arguments_of_calls_are_slots() -> None:
    found = counted("give ( agent = Emma , theme = * cake ( nmod . in = house ) )")
    assert found.compounds == Counter(
        {
            ("give/2", "agent", "Emma/0"): 1,
            ("give/2", "theme", "*/0"): 1,
            ("give/2", "theme", "cake/1"): 1,
            ("*/0", "", "cake/1"): 1,
            ("cake/1", "nmod . in", "house/0"): 1,
        }
    )


def test_lists_have_their_function_first_and_keywords_as_slots() -> None:
    found = counted('( Yield :output ( Find :name # ( PersonName " Ann Lee " ) ( Me ) ) )')
    assert found.atoms == Counter({"Yield/1": 1, "Find/2": 1, "PersonName/1": 1, "<entity>/0": 1, "Me/0": 1})
    assert set(found.compounds) == {
        ("Yield/1", ":output", "Find/2"),
        ("Find/2", ":name", "PersonName/1"),
        ("Find/2", "1", "Me/0"),
        ("PersonName/1", "0", "<entity>/0"),
    }


def test_sequences_count_tokens_and_neighbours() -> None:
    found = counted("WALK WALK JUMP")
    assert found.atoms == Counter({"WALK/0": 2, "JUMP/0": 1})
    assert found.compounds == Counter({("WALK/0", "", "WALK/0"): 1, ("WALK/0", "", "JUMP/0"): 1})


@pytest.mark.parametrize("program", ["f ( a", "f a )", "( f", "( f ) )", ")"])
def test_brackets_that_do_not_match_are_an_input_error(program: str) -> None:
    with pytest.raises(InputError, match=r"data\.tsv: output 2: .*bracket"):
        profiles(outputs("f ( a )", program), ENTITIES, Path("data.tsv"))


def test_nesting_may_be_deep() -> None:
    depth = 20_000
    assert counted("f ( " * depth + "a" + " )" * depth).atoms["f/1"] == depth
    assert counted("( f " * depth + " )" * depth).compounds["f/1", "0", "f/1"] == depth - 2


def test_the_chernoff_coefficient_is_one_for_equal_and_zero_for_disjoint_distributions() -> None:
    assert chernoff(Counter(a=1, b=3), Counter(a=2, b=6), 0.1) == pytest.approx(1)
    assert chernoff(Counter(a=1), Counter(b=1), 0.1) == 0


def test_the_chernoff_coefficient_is_the_sum_of_weighted_geometric_means() -> None:
    expected = (1 / 4) ** 0.1 * (2 / 3) ** 0.9 + (3 / 4) ** 0.1 * (1 / 3) ** 0.9
    assert chernoff(Counter(a=1, b=3), Counter(a=2, b=1), 0.1) == pytest.approx(expected)


def test_divergence_reports_what_training_lacks() -> None:
    found = divergence([counted("f ( a )"), counted("f ( b )")], [counted("f ( b )"), counted("f ( c )")])
    assert found.unseen_atoms == ("c/0",)
    assert (found.unseen_compounds, found.test_compounds, found.rarest_atom) == (1, 2, 0)
    assert found.compound == pytest.approx(0.5)  # of two equally frequent compounds each side shares one
    assert found.atom == pytest.approx(1 - (0.5 + 0.25))


def test_every_real_program_can_be_counted(shared_data: Path) -> None:
    for file in ("valid.jsonl", "train_partial.jsonl"):
        path = shared_data / "smcalflow_cs" / file
        examples = read_examples(path, source_field="utterance", target_field="plan")
        assert all(p.compounds for p in profiles(list(examples), re.compile(DEFAULT_ENTITIES), path))
