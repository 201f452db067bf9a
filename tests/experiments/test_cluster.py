"""Calls on the workers of a Ray cluster, real processes all: whatever is killed, the results are the same."""

import os
import signal
from pathlib import Path

import pytest

from csl.errors import CslError, InputError
from csl.experiments import cluster
from csl.experiments.cluster import call_each


def double(number: int, marker: Path) -> int:
    """Double a number; the first call with 2 kills its worker."""
    if number == 2 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(line: int) -> None:
    raise InputError("no", "data.tsv", line)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere"])
def test_a_cluster_that_is_not_there_is_named(address: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(InputError, match=address):
        call_each(double, [], address)


@pytest.mark.slow
def test_workers_that_die_are_replaced_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    marker = tmp_path / "died"
    assert call_each(double, [(number, marker) for number in range(4)], workers=2) == [0, 2, 4, 6]
    assert marker.exists()
    monkeypatch.setattr(cluster, "RETRIES", 1)
    with pytest.raises(CslError, match="2 times"):
        call_each(die, [()])


@pytest.mark.slow
def test_errors_are_handed_on_as_they_are() -> None:
    pytest.importorskip("ray")
    with pytest.raises(InputError, match=r"^data.tsv:3: "):
        call_each(refuse, [(3,)])
