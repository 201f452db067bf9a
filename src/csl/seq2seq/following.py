"""Samples that follow the learner: synthetic pairs that the model gets wrong are drawn more often.

After each evaluation the loss −log p(y | x) is computed for the next pairs of the stream, `candidates` times as many as
the steps up to the next evaluation need. That many are drawn of these, without replacement, with weights that grow with
the loss. They are bounded from both sides: what the model knows comes up now and then, so that it is not forgotten, and
pairs that no model can know (a wrong sample has a high loss for good) do not crowd out the rest.

The choice depends on seed, step and weights alone, and checkpoints are written at the same steps: a training that
resumes chooses the same pairs. Computing a loss costs about a third of a step of training on the pair.
"""

import numpy as np
import numpy.typing as npt

LEAST, MOST = 0.25, 4.0  # weights, where the mean loss has 1


def weights_of(losses: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give the weight of each pair."""
    mean = losses.mean()
    found: npt.NDArray[np.float64] = np.clip(losses / mean if mean > 0 else np.ones_like(losses), LEAST, MOST)
    return found


def choose(losses: npt.NDArray[np.float64], number: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw so many places without replacement, in random order, by the weights of their losses.

    The largest u^(1/w) win, u uniform: Efraimidis and Spirakis 2006.
    """
    keys = np.log(rng.random(len(losses))) / weights_of(losses)
    return rng.permutation(np.argsort(-keys, kind="stable")[:number])
