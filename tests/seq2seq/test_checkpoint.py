"""What was saved is what is loaded, a file is whole or refused, and an optimizer goes on where it was."""

from pathlib import Path

import pytest
import torch

from csl.errors import InputError
from csl.seq2seq.checkpoint import (
    load_tensors,
    optimizer_state,
    save_tensors,
    set_optimizer_state,
    set_weights,
    weights_of,
)
from csl.seq2seq.network import load_network, new_network
from csl.seq2seq.update import new_optimizer

from .conftest import TINY, changed, save_t5

ABOUT = {"step": 7, "best": [0.1, 3], "numbers": {"0/step": 7}, "metrics": ['{"loss": 1.5}'], "é": None}
TENSORS = {"w/a": torch.randn(3, 4), "o/0/step": torch.tensor(7.0), "b": torch.arange(3, dtype=torch.bfloat16)}
CPU = torch.device("cpu")


def test_tensors_and_text_come_back(tmp_path: Path) -> None:
    save_tensors(tmp_path / "x", TENSORS, ABOUT)
    tensors, about = load_tensors(tmp_path / "x")
    assert about == ABOUT
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_views_are_saved_as_they_look(tmp_path: Path) -> None:
    whole = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    save_tensors(tmp_path / "x", {"turned": whole.T}, {})
    assert torch.equal(load_tensors(tmp_path / "x")[0]["turned"], whole.T)


def test_a_failure_leaves_the_file_before_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tensors(tmp_path / "x", TENSORS, ABOUT)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        save_tensors(tmp_path / "x", TENSORS, {})
    assert load_tensors(tmp_path / "x")[1] == ABOUT
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("place", [20, 200, -1, -20])
def test_a_changed_bit_is_seen(tmp_path: Path, place: int) -> None:
    save_tensors(tmp_path / "x", TENSORS, ABOUT)
    content = bytearray((tmp_path / "x").read_bytes())
    content[place] ^= 2
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match="x: damaged file; start over with --no-resume"):
        load_tensors(tmp_path / "x")


@pytest.mark.parametrize("size", [0, 4, 40, -1])
def test_a_file_that_was_cut_is_refused(tmp_path: Path, size: int) -> None:
    save_tensors(tmp_path / "x", TENSORS, ABOUT)
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:size])
    with pytest.raises(InputError, match="x: damaged file; start over with --no-resume"):
        load_tensors(tmp_path / "x")


def test_a_file_of_others_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(2)}, tmp_path / "x")
    with pytest.raises(InputError, match="damaged file"):
        load_tensors(tmp_path / "x")
    with pytest.raises(InputError, match="damaged file"):
        load_tensors(tmp_path / "absent")


def test_tied_weights_are_saved_once_and_others_twice(tmp_path: Path) -> None:
    assert {"shared.weight"} == weights_of(new_network(TINY, 30)).keys() & {"shared.weight", "lm_head.weight"}
    save_t5(tmp_path, 30)
    assert {"shared.weight", "lm_head.weight"} <= weights_of(load_network(tmp_path)).keys()


def test_all_weights_are_put_back() -> None:
    one, other = new_network(TINY, 30), new_network(changed(TINY, seed=9), 30)
    set_weights(other, {name: weight.detach().clone() for name, weight in weights_of(one).items()})
    a, b = one.state_dict(), other.state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert other.lm_head.weight is other.shared.weight


def steps(network: torch.nn.Module, optimizer: torch.optim.Optimizer, numbers: range) -> None:
    for number in numbers:
        chance = torch.Generator().manual_seed(number)
        ids = torch.randint(3, 30, (4, 8), generator=chance)
        optimizer.zero_grad()
        network(input_ids=ids, labels=ids.flip(1)).loss.backward()
        optimizer.step()


@pytest.mark.parametrize("name", ["adamw", "adafactor"])
def test_an_optimizer_goes_on_where_it_was(tmp_path: Path, name: str) -> None:
    config = changed(TINY, optimizer=name, dropout=0)
    whole = new_network(config, 30)
    steps(whole, new_optimizer(whole, config, CPU), range(6))

    first = new_network(config, 30)
    optimizer = new_optimizer(first, config, CPU)
    steps(first, optimizer, range(3))
    state, numbers = optimizer_state(optimizer)
    assert state
    save_tensors(tmp_path / "w", weights_of(first), {})
    save_tensors(tmp_path / "o", state, numbers)

    second = new_network(changed(config, seed=9), 30)
    optimizer = new_optimizer(second, config, CPU)
    set_weights(second, load_tensors(tmp_path / "w")[0])
    set_optimizer_state(optimizer, *load_tensors(tmp_path / "o"))
    steps(second, optimizer, range(3, 6))
    a, b = whole.state_dict(), second.state_dict()
    assert all(torch.equal(a[key], b[key]) for key in a)
