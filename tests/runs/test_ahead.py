"""Compiling ahead: when a second process is begun and waited for, and that the toy is enough."""

from typing import Any

import pytest

from csl.kernels import inside, intersection, kernel, sample, source_chart
from csl.runs import ahead
from csl.runs.ahead import Ahead, compile_for

STAGES = ["data", "induce", "fit", "sample"]
LITTLE, MUCH = 100, 10**6  # tokens


class Process:
    """Notes what is done with a process."""

    begun: list["Process"]

    def __init__(self, line: list[str], **_: Any) -> None:
        self.stages, self.waited, self.ended = line[3:], 0, False
        self.begun.append(self)

    def wait(self) -> None:
        self.waited += 1

    def terminate(self) -> None:
        self.ended = True


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """The processes that are begun, on a machine with two cores where nothing is compiled."""
    Process.begun = []
    monkeypatch.setattr(ahead, "ENABLED", True)
    monkeypatch.setattr(kernel, "SMALL", 4096)
    monkeypatch.setattr(ahead, "_cores", lambda: 2)
    monkeypatch.setattr(kernel.Kernel, "is_on_disk", lambda _: False)
    monkeypatch.setattr(ahead.subprocess, "Popen", Process)
    return Process.begun


def test_with_much_data_it_compiles_for_fitting_and_sampling(begun: list[Process]) -> None:
    run = Ahead()
    run.begin(STAGES, MUCH)
    assert [process.stages for process in begun] == [["sample", "fit"]]
    run.wait_for("induce")
    assert not begun[0].waited
    run.wait_for("fit")
    assert begun[0].waited
    assert not begun[0].ended
    run.end()
    assert begun[0].ended


def test_with_little_data_fitting_does_not_wait(begun: list[Process]) -> None:
    run = Ahead()
    run.begin(STAGES, LITTLE)
    run.wait_for("fit")
    assert [(process.stages, process.waited) for process in begun] == [(["sample"], 0)]


def test_nothing_is_compiled_that_no_stage_needs(begun: list[Process]) -> None:
    Ahead().begin(["data", "induce"], MUCH)
    assert not begun


def test_what_is_compiled_already_is_not_compiled_again(begun: list[Process], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.Kernel, "is_on_disk", lambda _: True)
    Ahead().begin(STAGES, MUCH)
    assert not begun


def test_one_core_has_nothing_to_spare(begun: list[Process], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_cores", lambda: 1)
    Ahead().begin(STAGES, MUCH)
    assert not begun


def test_a_run_goes_on_without_a_second_process(begun: list[Process], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(ahead.subprocess, "Popen", refuse)
    run = Ahead()
    run.begin(STAGES, MUCH)
    run.wait_for("fit")
    run.end()


def test_the_toy_uses_the_kernels_of_the_stages() -> None:
    compile_for(["sample", "fit"])
    used = (
        sample.draw, sample.expand, sample.pair_keys, inside.expectations, inside.log_inside, inside.viterbi,
        source_chart.forests, intersection.intersect,
    )  # fmt: skip
    assert all(kernel.compiled.signatures for kernel in used)
