"""The loss of a micro-batch, summed over its tokens: of padded pairs, or of pairs packed into rows.

Packed pairs have the same loss and the same gradient, but for the order of sums, as T5 knows positions by distances
alone; `packable` tries that for a network.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from csl.seq2seq.architectures import architecture_of
from csl.seq2seq.batches import IGNORED, Batch, padded
from csl.seq2seq.packed_t5 import PackedT5
from csl.seq2seq.packing import Packer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Arrays = tuple[np.ndarray[Any, Any], ...]


class PaddedLoss(torch.nn.Module):
    """The loss of pairs of similar length, a row each."""

    def __init__(self, network: "PreTrainedModel") -> None:
        super().__init__()
        self.network, self._architecture = network, architecture_of(network)
        self._pad = network.generation_config.pad_token_id or 0

    def passes(self, batch: Batch, number: int) -> Iterator[Arrays]:
        """Give the arguments of `forward` for so many micro-batches."""
        for part in batch.micro_batches(number):
            yield part.source, part.mask, part.labels

    def forward(self, source: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Give the sum over the tokens."""
        before = shifted(labels, self._architecture.start(source), self._pad)
        return summed(self._architecture.logits(self.network, source, mask, before), labels)


class PackedLoss(torch.nn.Module):
    """The loss of pairs that share rows, by T5."""

    def __init__(self, network: "PreTrainedModel", packer: Packer, *, single: bool) -> None:
        """`single`: a micro-batch takes one pass, in whatever shape; otherwise all passes have the packer's."""
        super().__init__()
        self.network, self._packer, self._single = network, packer, single
        self._start, self._pad = architecture_of(network).start, network.generation_config.pad_token_id or 0

    def passes(self, batch: Batch, number: int) -> Iterator[Arrays]:
        """Give the arguments of `forward` for so many micro-batches, or a few more if some do not fit in one."""
        for index in range(number):
            for rows in self._packer.passes(batch.part(index, number), single=self._single):
                yield rows.source, rows.source_pair, rows.labels, rows.labels_pair

    def forward(
        self, source: torch.Tensor, source_pair: torch.Tensor, labels: torch.Tensor, labels_pair: torch.Tensor
    ) -> torch.Tensor:
        """Give the sum over the tokens."""
        causal = torch.ones(labels.shape[1], labels.shape[1], dtype=torch.bool, device=labels.device).tril()
        across = same(labels_pair, source_pair) | (labels_pair == 0)[:, None, :, None]  # padding must see something
        first = torch.nn.functional.pad(labels_pair[:, 1:] != labels_pair[:, :-1], (1, 0), value=True)
        start = self._start(source)
        before = torch.where(first, start[:, None], shifted(labels, start, self._pad))
        own = same(source_pair, source_pair), same(labels_pair, labels_pair) & causal
        return summed(PackedT5(self.network).logits(source, before, own, across), labels)


def summed(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Give the loss of all tokens together."""
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), reduction="sum", ignore_index=IGNORED
    )


def shifted(labels: torch.Tensor, start: torch.Tensor, pad: int) -> torch.Tensor:
    """Give what comes before each label: the start symbol of its row, or the label to its left."""
    before = torch.cat([start[:, None], labels[:, :-1]], dim=1)
    return before.masked_fill(before == IGNORED, pad)


def same(pair: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Give the mask [rows, 1, places, other places] of what is of one pair."""
    return (pair[:, :, None] == other[:, None, :])[:, None]


@torch.no_grad()
def packable(network: "PreTrainedModel") -> bool:
    """Tell whether pairs that share a row have the loss that they have apart, as those of T5."""
    network.eval()
    sources, targets = [[1, 2, 1, 2], [2, 2, 1]], [[2, 1, 1], [1, 2, 1, 1]]
    (source, mask), (labels, _) = padded(sources, 0), padded(targets, IGNORED)
    batch = Batch(source, mask, labels, 7)
    kinds = PaddedLoss(network), PackedLoss(network, Packer(8, 8, 1), single=True)
    try:
        apart, together = (
            float(kind(*(torch.from_numpy(array).to(network.device) for array in arrays)))
            for kind in kinds
            for arrays in kind.passes(batch, 1)
        )
    except (RuntimeError, ValueError, TypeError, AttributeError):  # its layers have other parts
        return False
    return abs(apart - together) < 1e-4 * abs(apart)
