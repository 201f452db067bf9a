"""The seed rule of what outputs begin and end with."""

import logging

import pytest

from csl.examples import Example
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.induction.frame import frame_rule
from csl.induction.induce import induce
from csl.parsing.deriver import Deriver

CFG = OutputCfg.parse(
    ["ROOT => answer ( ##PLACE )", "ROOT => tell ##PLACE", "PLACE => near ( ##PLACE )"]
    + [f"PLACE => {name}" for name in ("maine", "ohio", "utah", "iowa")]
)
NAMES = ["maine", "ohio", "utah"]


def pairs(*outputs: str) -> list[Example]:
    return [Example.of(f"input {k}", output) for k, output in enumerate(outputs)]


def rule(*outputs: str) -> str | None:
    found = frame_rule(pairs(*outputs), CFG)
    return str(found) if found else None


def test_the_frame_is_what_all_outputs_begin_and_end_with() -> None:
    assert rule("answer ( maine )", "answer ( near ( ohio ) )") == "NT_1 ### answer ( NT_1 )"


def test_the_longest_frame_counts() -> None:
    assert rule("answer ( near ( ohio ) )", "answer ( near ( maine ) )") == "NT_1 ### answer ( near ( NT_1 ) )"


def test_what_is_in_the_frame_has_a_category() -> None:
    assert rule("answer ( near ( ohio ) )", "answer ( near ( near ( ohio ) ) )") == "NT_1 ### answer ( near ( NT_1 ) )"


def test_few_outputs_may_lack_the_frame() -> None:
    many = [f"answer ( {'near ( ' * k}{name}{' )' * k} )" for name in NAMES for k in range(10)]
    assert rule(*many, "tell maine") == "NT_1 ### answer ( NT_1 )"
    assert rule(*many[:10], "tell maine") is None


@pytest.mark.parametrize("outputs", [("maine", "ohio"), ("near ( maine )", "near ( ohio )"), ("maine",)])
def test_a_frame_is_of_the_start_symbol(outputs: tuple[str, ...]) -> None:
    assert rule(*outputs) is None


def test_a_frame_cannot_be_part_of_an_output() -> None:
    cfg = OutputCfg.parse(["ROOT => ( ##PLAN )", "PLAN => a ##ARGUMENT", "ARGUMENT => ( ##PLAN )", "ARGUMENT => b"])
    assert frame_rule(pairs("( a b )", "( a ( a b ) )"), cfg) is None


@pytest.mark.parametrize(("cfg", "reason"), [(None, "output CFG"), (CFG, "none")])
def test_a_frame_that_is_not_found_is_reported(
    cfg: OutputCfg | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "csl"):
        found = induce(pairs("maine", "ohio"), InductionConfig(frame=True), output_cfg=cfg)
    assert found.seeds == ()
    assert reason in caplog.text


def test_without_a_frame_a_rule_of_whole_outputs_cannot_be_combined() -> None:
    train = [Example.of(name, f"answer ( {name} )") for name in NAMES]
    train += [Example.of(f"by {name}", f"answer ( near ( {name} ) )") for name in NAMES]
    new = Example.of("by by ohio", "answer ( near ( near ( ohio ) ) )")
    for frame in (True, False):
        found = induce(train, InductionConfig(frame=frame), output_cfg=CFG)
        assert list(map(str, found.seeds)) == ["NT_1 ### answer ( NT_1 )"] * frame
        assert (Deriver(found.grammar).derive_all([new])[1][0] > 0) == frame
