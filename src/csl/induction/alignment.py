"""Which input word goes with which output token: IBM Model 1 (Brown et al. 1993).

The paper finds the seed rules ⟨inflected form, predicate⟩ of COGS this way. Model 1 says that each word f_j of one side
is produced by a word e_i of the other side, or by no word (e_0), all positions being equally likely:

    p(f | e) = Π_j  1/(|e|+1)  Σ_i t(f_j | e_i)

EM finds t: from the expected number of times that e produces f, normalised over f. An iteration is linear in the
number of co-occurrences Σ |e|·|f|, three million in COGS: a second or two for ten iterations in both directions. The
table has a cell for each pair of words of the two vocabularies.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from csl.examples import Example

ITERATIONS = 10

NULL = ""  # e_0; never a token, because tokens are not empty


def aligned_words(examples: Sequence[Example]) -> dict[str, str]:
    """Pair input words with output tokens where the two directions agree.

    An input word x' is paired with x if x is the token that x' most often produces, and also the token that most often
    produces x'. Several words, such as the forms of a verb, can be paired with one token.
    """
    inputs = [example.source for example in examples]
    outputs = [example.target for example in examples]
    words, tokens, forward = production_counts(inputs, outputs)
    producers, produced, backward = production_counts(outputs, inputs)
    agreed = dict(zip(produced, (producers[k] for k in backward.argmax(axis=0)), strict=True))
    best = zip(words, (tokens[k] for k in forward.argmax(axis=1)), strict=True)
    return {word: token for word, token in best if word != NULL and agreed[word] == token}


def production_counts(
    producing: Sequence[Sequence[str]], produced: Sequence[Sequence[str]], iterations: int = ITERATIONS
) -> tuple[list[str], list[str], npt.NDArray[np.float64]]:
    """Run EM from the uniform table, and count how often each word is expected to have produced each other word.

    Returns the vocabulary of the producing side (NULL first), that of the side produced, both sorted, and the counts,
    of shape (producers, words produced). A row divided by its sum is t(· | e).
    """
    producers, e_ids, e_lengths = _encode([(NULL, *side) for side in producing])
    words, f_ids, f_lengths = _encode(produced)
    shape = len(producers), len(words)

    # One cell for each (position j of a produced word, position i of a possible producer) within an example.
    width = np.repeat(e_lengths, f_lengths)  # of each j: its number of cells
    j = np.repeat(np.arange(len(f_ids)), width)
    shift = np.repeat(np.cumsum(e_lengths) - e_lengths, f_lengths) - (np.cumsum(width) - width)
    i = np.arange(len(j)) + np.repeat(shift, width)
    pair = e_ids[i] * len(words) + f_ids[j]

    counts: npt.NDArray[np.float64] = np.ones(shape)
    for _ in range(iterations):
        t = counts / counts.sum(axis=1, keepdims=True)
        expected = t.ravel()[pair]
        expected /= np.repeat(np.bincount(j, expected), width)
        counts = np.bincount(pair, expected, minlength=t.size).astype(np.float64).reshape(shape)
    return producers, words, counts


def _encode(sides: Sequence[Sequence[str]]) -> tuple[list[str], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give tokens numbers, in sorted order, and lay the sides end to end: (vocabulary, ids, lengths)."""
    vocabulary = sorted({token for side in sides for token in side})
    number = {token: k for k, token in enumerate(vocabulary)}
    ids = np.array([number[token] for side in sides for token in side], np.int64)
    return vocabulary, ids, np.array([len(side) for side in sides], np.int64)
