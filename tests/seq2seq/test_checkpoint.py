"""A checkpoint comes back as it was saved, or is reported as damaged; an optimizer resumes where it was."""

import logging
from pathlib import Path

import pytest
import torch

from csl.seq2seq.checkpoint import CheckpointFile, optimizer_state, set_optimizer_state, set_weights, weights_of
from csl.seq2seq.network import load_network, new_network
from csl.seq2seq.update import new_optimizer

from .conftest import TINY, changed, save_t5

ABOUT = {"step": 7, "best": [0.1, 3], "numbers": {"0/step": 7}, "é": None}
TENSORS = {"w/a": torch.randn(3, 4, requires_grad=True).T, "o/0/step": torch.tensor(7.0)}
CPU = torch.device("cpu")


def test_tensors_and_text_come_back(tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path / "x")
    assert file.load() is None
    file.save({}, {})
    file.save(TENSORS, ABOUT)
    found = file.load()
    assert found
    tensors, about = found
    assert about == ABOUT
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)
    file.remove()
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_reported_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = CheckpointFile(tmp_path / "x")
    file.save(TENSORS, ABOUT)
    content = bytearray((tmp_path / "x").read_bytes())
    content[len(content) // 2] ^= 2
    (tmp_path / "x").write_bytes(content)
    assert file.load() is None
    [record] = caplog.records
    assert (record.name, record.levelno) == ("csl.train", logging.WARNING)
    assert str(tmp_path / "x") in record.getMessage()


def test_tied_weights_are_saved_once_and_others_twice(tmp_path: Path) -> None:
    assert {"shared.weight"} == weights_of(new_network(TINY, 30)).keys() & {"shared.weight", "lm_head.weight"}
    save_t5(tmp_path, 30)
    assert {"shared.weight", "lm_head.weight"} <= weights_of(load_network(tmp_path)).keys()


def steps(network: torch.nn.Module, optimizer: torch.optim.Optimizer, numbers: range) -> None:
    for number in numbers:
        chance = torch.Generator().manual_seed(number)
        ids = torch.randint(3, 30, (4, 8), generator=chance)
        optimizer.zero_grad()
        network(input_ids=ids, labels=ids.flip(1)).loss.backward()
        optimizer.step()


@pytest.mark.parametrize("name", ["adamw", "adafactor"])
def test_weights_and_optimizer_resume_where_they_were(tmp_path: Path, name: str) -> None:
    config = changed(TINY, optimizer=name, dropout=0)
    whole, first, second = (new_network(changed(config, seed=seed), 30) for seed in (0, 0, 9))
    steps(whole, new_optimizer(whole, config, CPU), range(6))
    optimizer = new_optimizer(first, config, CPU)
    steps(first, optimizer, range(3))
    state, numbers = optimizer_state(optimizer)
    assert state
    weights, moments = CheckpointFile(tmp_path / "w"), CheckpointFile(tmp_path / "o")
    weights.save(weights_of(first), {})
    moments.save(state, numbers)

    optimizer = new_optimizer(second, config, CPU)
    set_weights(second, weights.load()[0])  # type: ignore[index]
    set_optimizer_state(optimizer, *moments.load())  # type: ignore[misc]
    steps(second, optimizer, range(3, 6))
    a, b = whole.state_dict(), second.state_dict()
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert second.lm_head.weight is second.shared.weight
