"""The check before augmentation."""

from csl.examples import Example
from csl.examples.score import Score
from csl.grammar import Grammar
from csl.induction.config import InductionConfig
from csl.model.config import FitConfig
from csl.preparing.value_lists import listed
from csl.runs.stages.check import check, refusal, verdict
from csl.runs.stages.prepare import find_preparation


def test_the_check_refuses_what_parses_new_templates_wrongly() -> None:
    good = Score(100, 60, 50)
    assert not refusal(good, Score(40, 20, 10), 12)
    assert "new templates" in refusal(good, Score(40, 20, 9), 12)
    assert "new templates" in refusal(good, Score(100, 4, 4), 12)  # hardly any is parsed
    assert not refusal(good, Score(40, 20, 9), 4)  # too few to say
    assert refusal(Score(100, 60, 29), Score(40, 20, 20), 12)


def test_the_check_knows_listed_values() -> None:
    words = ["alder", "birch", "cedar", "maple", "elm", "fir", "hazel", "ivy", "larch", "oak", "pine", "rowan"]
    pairs = [Example.of(f"how old is {word}", f"answer(age(tree('{word}')))") for word in words]
    pairs += [Example.of(f"how tall is {word}", f"answer(height(tree('{word}')))") for word in words[:3]]
    found = find_preparation(pairs)
    assert found
    values = listed(found.preparation, [(1, "tree\toak"), *((2, f"tree\t{word}") for word in words)], "values.tsv")
    induction, fitting = InductionConfig(), FitConfig(states=2, optimizer="em", steps=5)
    covered = [
        check(pairs, induction, fitting, grammar=Grammar(), preparation=found.preparation, values=given)["covered"]
        for given in (None, values)
    ]
    assert covered[0] < covered[1]


def test_the_last_line_says_why_pairs_are_kept_or_refused() -> None:
    new = {"examples": 40, "covered": 4, "right": 3}
    good, few = ({"new": new, "templates": n, "refused": ""} for n in (40, 4))
    assert "75.0%" in verdict(good, 100)
    assert not verdict(few, 100)
    bad = good | {"refused": "hardly any is covered"}
    assert verdict(bad, 0).startswith("no synthetic pairs")
    assert "forced" in verdict(bad, 100)
