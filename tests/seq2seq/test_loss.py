"""Packed pairs have the loss and the gradient that they have apart, compiled or not, where positions are distances."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from csl.seq2seq.batches import Batch
from csl.seq2seq.loss import PackedLoss, PaddedLoss, packable
from csl.seq2seq.network import load_network, new_network
from csl.seq2seq.packing import Packer

from .conftest import TINY, changed, make_bart
from .test_update import new_batches

PLAIN = changed(TINY, dropout=0, layers=3)
Gradients = list[torch.Tensor]


def gradients(loss: PackedLoss | PaddedLoss, batch: Batch, number: int = 1) -> tuple[float, Gradients]:
    loss.zero_grad()
    total = 0.0
    for arrays in loss.passes(batch, number):
        value = loss(*(torch.from_numpy(array) for array in arrays))
        value.backward()
        total += value.item()
    return total, [parameter.grad.clone() for parameter in loss.parameters()]


def assert_same(found: tuple[float, Gradients], wanted: tuple[float, Gradients]) -> None:
    assert found[0] == pytest.approx(wanted[0], rel=1e-5)
    for one, other in zip(found[1], wanted[1], strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("height", [1, 3, 9])  # several passes, or rows that stay empty
def test_packed_pairs_have_the_loss_and_the_gradient_of_padded_ones(height: int, number: int, single: bool) -> None:
    network, batch = new_network(PLAIN, 30).train(), new_batches()[0]
    packed = PackedLoss(network, Packer(32, 24, height), single=single)
    assert_same(gradients(packed, batch, number), gradients(PaddedLoss(network), batch))


@pytest.mark.slow
def test_compiled_layers_give_the_same_and_each_kind_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network, batch = new_network(PLAIN, 30).train(), new_batches()[0]
    loss = PackedLoss(network, Packer(32, 24, 3), single=False)
    wanted, graphs = gradients(loss, batch), list[object]()

    def counted(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., Any]:
        graphs.append(inputs)
        return graph.forward

    monkeypatch.setattr("csl.seq2seq.loss.COMPILER", partial(torch.compile, backend=counted))
    loss.compile_layers()
    assert_same(gradients(loss, batch), wanted)
    assert len(graphs) == 5  # first and further layers of encoder and decoder, and the sum
    assert not any("forward" in vars(module) for module in network.modules())  # prediction is not compiled
    loss.compile_layers(undo=True)
    assert gradients(loss, batch)[0] == wanted[0]
    assert len(graphs) == 5


def test_only_networks_that_know_positions_by_distances_are_packed(pretrained: Path, tmp_path: Path) -> None:
    make_bart(tmp_path)
    assert packable(load_network(pretrained))
    assert packable(new_network(PLAIN, 30))
    assert not packable(load_network(tmp_path))
