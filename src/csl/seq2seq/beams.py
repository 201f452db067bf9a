"""Beam search: the likeliest outputs of each input, by sums of log p.

At each step, of the best two candidates a beam, those that end among the first `beams` are outputs, and the first
`beams` others go on. An input is done when it has as many outputs and none of its beams can beat them, as log p only
falls. `generate` of transformers finds the same with `length_penalty=0`; but it moves all that is known of an input
with each beam, and computes on when an input is done.
"""

from collections.abc import Callable, Container, Sequence

import numpy as np
import torch

from csl.seq2seq.architectures import Search

Output = tuple[float, list[int]]  # log p and ids; the last one ends it
Beam = tuple[float, int, int]  # log p, the beam before, and the next token
Masked = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def beam_search(
    search: Search,
    start: torch.Tensor,
    beams: int,
    limit: int,
    ends: Container[int],
    never: torch.Tensor,
    masked: Masked | None = None,
) -> list[list[Output]] | None:
    """Give the outputs of each input, the best first; None where rows of the cache cannot be moved.

    `search` has `beams` rows for each input, side by side. `start` is the token before each output; ids in `never` are
    not written, and `masked` gives −∞ to others, from what was written and the scores. After `limit` tokens an output
    may have no end.
    """
    found: list[list[Output]] = [[] for _ in start]
    going = list(range(len(start)))
    written = start.cpu().numpy().repeat(beams)[:, None]
    sums = torch.full((len(start), beams), -torch.inf)
    sums[:, 0] = 0  # all beams of an input are the same at first
    for step in range(limit):
        logits = search.next_logits(torch.from_numpy(written[:, -1]).to(start.device))
        if logits is None:
            return None
        scores = logits.float().log_softmax(-1).index_fill_(1, never, -torch.inf)
        if masked:
            scores = masked(torch.from_numpy(written), scores)
        totals = sums.to(start.device)[:, :, None] + scores.view(len(going), beams, -1)
        best, places = (each.tolist() for each in totals.flatten(1).topk(2 * beams))
        chosen: list[list[Beam]] = []
        for i, outputs in enumerate(map(found.__getitem__, going)):
            own = written[i * beams : (i + 1) * beams, 1:]
            beams_on, ended = _candidates(best[i], places[i], scores.shape[-1], beams, ends)
            if step + 1 == limit:
                ended, beams_on = [*ended, *beams_on], []
            outputs += [(total, [*own[beam].tolist(), token]) for total, beam, token in ended]
            outputs.sort(key=lambda output: -output[0])
            del outputs[beams:]
            is_done = not beams_on or (len(outputs) == beams and outputs[-1][0] >= beams_on[0][0])
            chosen.append([] if is_done else beams_on)
        left = [i for i, some in enumerate(chosen) if some]
        if not left:
            break
        if not search.drops(len(left) * beams):
            left = list(range(len(chosen)))
        going, kept = [going[i] for i in left], [_padded(chosen[i], beams) for i in left]
        sums = torch.tensor([[total for total, _, _ in some] for some in kept])
        rows = np.array([i * beams + beam for i, some in zip(left, kept, strict=True) for _, beam, _ in some])
        tokens = np.array([token for some in kept for _, _, token in some])
        written = np.concatenate([written[rows], tokens[:, None]], axis=1)
        search.keep(torch.from_numpy(rows).to(start.device))
    return found


def _candidates(
    totals: Sequence[float], places: Sequence[int], vocabulary: int, beams: int, ends: Container[int]
) -> tuple[list[Beam], list[Beam]]:
    """Give the candidates that go on and those that end, of candidates from the best on."""
    on, ended = list[Beam](), list[Beam]()
    for rank, (total, place) in enumerate(zip(totals, places, strict=True)):
        if total == -torch.inf:
            break
        beam, token = divmod(place, vocabulary)
        if token not in ends:
            on.append((total, beam, token))
        elif rank < beams:
            ended.append((total, beam, token))
    return on[:beams], ended


def _padded(some: list[Beam], beams: int) -> list[Beam]:
    """Fill up with beams that nothing comes from: of inputs that are done, or have few candidates."""
    return some + [(-torch.inf, 0, 0)] * (beams - len(some))
