"""Checkpoints: a state, and the metrics that lead there."""

from pathlib import Path

import numpy as np

from csl.runs.checkpoint import Checkpoint


def test_metrics_that_a_kill_left_behind_their_state_are_written_when_it_is_found(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    saved = Checkpoint(tmp_path / "state.npz", "key", metrics)
    saved.save({"number": np.array(1)})
    saved.log("first")
    saved.log("second")
    metrics.write_text("first\n")
    left = tmp_path / ".metrics.jsonl.1.1.partial"
    left.write_text("first\nsec")

    found = Checkpoint(tmp_path / "state.npz", "key", metrics)

    assert found.load() == {"number": np.array(1)}
    assert metrics.read_text() == "first\nsecond\n"
    assert not left.exists()


def test_a_state_of_other_work_is_not_found(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    Checkpoint(tmp_path / "state.npz", "key", metrics).log("first")
    metrics.unlink()
    assert Checkpoint(tmp_path / "state.npz", "other", metrics).load() is None
    assert not metrics.exists()
