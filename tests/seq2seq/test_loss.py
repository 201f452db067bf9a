"""Packed pairs have the loss and the gradient that they have apart, by T5's own layers."""

from pathlib import Path

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


def test_only_networks_that_know_positions_by_distances_are_packed(pretrained: Path, tmp_path: Path) -> None:
    make_bart(tmp_path)
    assert packable(load_network(pretrained))
    assert packable(new_network(PLAIN, 30))
    assert not packable(load_network(tmp_path))


def test_packed_pairs_have_dropout_in_training_alone() -> None:
    batch, packer = new_batches()[0], Packer(32, 24, 3)
    loss = PackedLoss(new_network(changed(PLAIN, dropout=0.5), 30), packer, single=True)

    def value(seed: int) -> float:
        torch.manual_seed(seed)
        return gradients(loss, batch)[0]

    loss.train()
    assert len({value(seed) for seed in range(4)}) == 4
    assert value(0) == value(0)
    loss.eval()
    plain = PackedLoss(new_network(PLAIN, 30), packer, single=True)
    assert value(0) == value(1) == pytest.approx(gradients(plain, batch)[0])


def test_passes_in_bf16_have_gradients_in_fp32_near_those_of_the_library() -> None:
    network, batch = new_network(PLAIN, 30).train(), new_batches()[0]
    packed, padded = PackedLoss(network, Packer(32, 24, 3), single=True), PaddedLoss(network)
    exact = gradients(padded, batch)
    with torch.autocast("cpu", torch.bfloat16):
        found, wanted = gradients(packed, batch), gradients(padded, batch)
    assert found[0] != exact[0]  # rounded
    assert found[0] == pytest.approx(exact[0], rel=1e-2)
    assert {gradient.dtype for gradient in found[1]} == {torch.float32}
    apart, usual = (
        [float((one - best).norm() / best.norm()) for one, best in zip(some[1], exact[1], strict=True)]
        for some in (found, wanted)
    )
    assert max(apart) < 0.1
    assert sum(apart) < 1.2 * sum(usual)
