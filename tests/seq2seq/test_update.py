"""An update is the plain one: the loss over all tokens, clipped, at the rate of the step, in whatever micro-batches."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from csl.seq2seq.batches import IGNORED, Batch, Batches, Encoded
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.network import new_network
from csl.seq2seq.packing import Packer
from csl.seq2seq.update import Updater, autocast, new_optimizer

from .conftest import TINY, changed

CPU = torch.device("cpu")
PLAIN = changed(TINY, dropout=0, warmup=0)


def process(index: int = 0, processes: int = 1) -> Any:
    """What an update asks of accelerate."""
    return SimpleNamespace(
        device=CPU if processes == 1 else torch.device("cpu", index),
        num_processes=processes,
        process_index=index,
        prepare_model=lambda network: network,
        reduce=lambda tensor, how: tensor,
    )


def new_batches(pairs: int = 40) -> Batches:
    """Pairs whose targets are of different lengths."""
    chance = np.random.default_rng(0)
    rows = [[chance.integers(3, 30, n).tolist() for n in chance.integers(1, 20, pairs)] for _ in range(2)]
    return Batches(Encoded(*rows), Encoded([], []), 0, 6, 0, 0)


def new_updater(config: TrainConfig, index: int = 0, processes: int = 1, packer: Packer | None = None) -> Updater:
    return Updater(new_network(config, 30).train(), config, process(index, processes), packer)


def weights(updater: Updater) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in updater.network.parameters()]


def token_losses(network: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """The loss of each token with a loss, computed here."""
    labels = torch.from_numpy(batch.labels)
    shifted = torch.cat([torch.zeros(len(labels), 1, dtype=torch.long), labels[:, :-1].clamp(min=0)], 1)
    out = network(
        input_ids=torch.from_numpy(batch.source), attention_mask=torch.from_numpy(batch.mask), decoder_input_ids=shifted
    )
    every = -out.logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return every[labels != IGNORED]


def test_outputs_start_as_in_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    """MBart would start them with the last token of the label."""
    network = new_network(PLAIN, 30).train()
    network.generation_config.decoder_start_token_id = 7
    forward, seen = network.forward, list[torch.Tensor]()

    def watched(**inputs: torch.Tensor) -> Any:
        seen.append(inputs["decoder_input_ids"])
        return forward(**inputs)

    monkeypatch.setattr(network, "forward", watched)
    batch = new_batches()[0]
    Updater(network, changed(PLAIN, micro_batch_size=6), process())(batch, 0)
    assert all((ids[:, 0] == 7).all() for ids in seen)
    rows = {tuple(row[1:]) for ids in seen for row in ids.tolist()}
    wide = seen[0].shape[1]
    assert rows == {tuple(row[: wide - 1]) for row in np.where(batch.labels < 0, 0, batch.labels).tolist()}


@pytest.mark.parametrize("size", [None, 6, 2])
@pytest.mark.parametrize("packed", [False, True])
def test_updates_are_those_of_a_plain_loop(packed: bool, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csl.seq2seq.update.CLIP", 0.5)
    config, batches = changed(PLAIN, warmup=3, micro_batch_size=size), new_batches()
    packer = Packer.of(batches) if packed else None
    updater, plain = new_updater(config, packer=packer), new_network(config, 30).train()
    optimizer = torch.optim.AdamW(plain.parameters(), weight_decay=0.0)
    losses = []
    for step in range(6):
        updater(batches[step], step)
        optimizer.param_groups[0]["lr"] = config.rate * [0.25, 0.5, 0.75, 1, 1, 1][step]
        optimizer.zero_grad()
        loss = token_losses(plain, batches[step]).mean()
        loss.backward()
        assert torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.5) > 0.5  # so that clipping matters
        optimizer.step()
        losses.append(loss.item())
    assert updater.take_loss(6) == pytest.approx(np.mean(losses), rel=1e-5)
    assert updater.take_loss(1) == 0  # it is taken once
    for own, wanted in zip(weights(updater), plain.parameters(), strict=True):
        assert torch.allclose(own, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.002, 0.004, 0.006, 0.008, 0.01, 0.01, 0.01, 0.01]),
        ("linear", [0.002, 0.0035, 0.0045, 0.005, 0.005, 0.00375, 0.0025, 0.00125]),
    ],
)
def test_the_rate_rises_and_then_stays_or_falls_to_nothing(schedule: str, rates: list[float]) -> None:
    config = changed(PLAIN, schedule=schedule, warmup=4, learning_rate=0.01, steps=8)
    updater, batches = new_updater(config), new_batches()
    for step, rate in enumerate(rates):
        updater(batches[step], step)
        assert [group["lr"] for group in updater.optimizer.param_groups] == pytest.approx([rate])


@pytest.mark.parametrize(("model", "rate"), [("scratch", 3e-4), ("some-checkpoint", 1e-3)])
def test_new_models_have_a_lower_rate_of_their_own(model: str, rate: float) -> None:
    assert TrainConfig(model=model).rate == rate
    assert TrainConfig(model=model, learning_rate=0.5).rate == 0.5


@pytest.mark.parametrize("packed", [False, True])
def test_processes_add_up_to_one(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csl.seq2seq.update.CLIP", 1e9)
    config, batch = PLAIN, new_batches()[1]
    packer = Packer.of(new_batches()) if packed else None
    lengths = (batch.labels != IGNORED).sum(1)
    assert lengths[::2].sum() != lengths[1::2].sum()  # so that a mean of means is another mean
    alone, *workers = (new_updater(config, *who, packer) for who in ((0, 1), (0, 2), (1, 2)))
    for updater in (alone, *workers):
        updater(batch, 0)
    gradients = [[p.grad for p in updater.network.parameters()] for updater in (alone, *workers)]
    for whole, one, other in zip(*gradients, strict=True):
        assert torch.allclose(whole, (one + other) / 2, atol=1e-6)
    mean = np.mean([worker.take_loss(1) for worker in workers])
    assert alone.take_loss(1) == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize("packer", [None, Packer(24, 24, 1)])
def test_processes_with_unequal_shares_make_as_many_passes(packer: Packer | None) -> None:
    batch, config = new_batches()[1], changed(PLAIN, micro_batch_size=1)
    updaters = [new_updater(config, index, 4, packer) for index in range(4)]
    assert [len(batch.part(index, 4).source) for index in range(4)] == [2, 2, 1, 1]
    for updater in updaters:
        passes: list[object] = []
        updater.network.register_forward_hook(lambda *call, passes=passes: passes.append(call))
        updater(batch, 0)
        assert len(passes) == 1  # one with more would wait for the others


@pytest.mark.parametrize(("size", "number"), [(1, 6), (2, 3), (4, 2), (5, 2), (6, 1), (100, 1)])
def test_no_pass_has_more_pairs_than_asked_for(size: int, number: int) -> None:
    batch, updater, sizes = new_batches()[1], new_updater(changed(PLAIN, micro_batch_size=size)), list[int]()
    updater.network.network.register_forward_hook(lambda *call: sizes.append(len(call[2].logits)))
    updater(batch, 0)
    assert (len(sizes), sum(sizes)) == (number, 6)
    assert max(sizes) <= size


def loss_with_dropout(seed: int, step: int, index: int = 0, processes: int = 1) -> float:
    """The loss of the same pairs with the same weights, as dropout has it."""
    updater = new_updater(changed(TINY, dropout=0.5), index, processes)
    updater._config = changed(updater._config, seed=seed)
    batch = new_batches()[0]
    twice = (np.repeat(array, 2, axis=0) for array in (batch.source, batch.mask, batch.labels))
    updater(Batch(*twice, 2 * batch.tokens), step)
    return updater.take_loss(1)


def test_dropout_depends_on_seed_step_and_process_alone() -> None:
    first = loss_with_dropout(0, 0)
    torch.manual_seed(99)
    assert loss_with_dropout(0, 0) == first
    losses = [loss_with_dropout(0, 0), loss_with_dropout(0, 1), loss_with_dropout(1, 0)]
    losses += [loss_with_dropout(0, step, index, 2) for step in (0, 1) for index in (0, 1)]
    assert len(set(losses)) == len(losses)


@pytest.mark.parametrize(
    ("precision", "known", "dtype"),
    [
        ("auto", {"avx512_bf16": True}, torch.bfloat16),
        ("auto", {"avx512_bf16": False, "bf16": True}, torch.float32),
        ("auto", {}, torch.float32),
        ("fp32", {"avx512_bf16": True}, torch.float32),
        ("bf16", {}, torch.bfloat16),
    ],
)
def test_precision_on_the_cpu(
    precision: str, known: dict[str, bool], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known)
    config = changed(PLAIN, precision=precision)
    with autocast(config, CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype
    updater = new_updater(config)
    updater(new_batches()[0], 0)
    assert {parameter.dtype for parameter in updater.network.parameters()} == {torch.float32}


def test_adafactor_has_the_rate_of_the_config() -> None:
    config = TrainConfig(optimizer="adafactor", learning_rate=0.05)
    weight = torch.nn.Linear(4, 4, bias=False)
    before = weight.weight.detach().clone()
    optimizer = new_optimizer(weight, config, CPU)
    weight.weight.grad = torch.ones(4, 4)
    optimizer.step()
    assert torch.allclose(before - weight.weight, torch.full((4, 4), 0.05), rtol=1e-3)
