"""The code length of outputs given their inputs, as NQG's induction objective has it (Shaw et al. 2021)."""

import numpy as np

from csl.grammar.vocabulary import Ragged
from csl.kernels.derive import Parser
from csl.kernels.flat import SOURCE, TARGET, sides
from csl.kernels.inside import count_derivations
from csl.kernels.intersection import by_output
from csl.parsing.deriver import batches, products
from csl.parsing.forest import Places


def output_bits(parser: Parser, examples: Places) -> float:
    """Sum log₂ of the derivations of inputs by those of pairs, over examples given as rules; not finite without any."""
    outputs, of_inputs, of_pairs = Ragged(*sides(parser.rules, examples, TARGET)), [], []
    for batch in batches(Ragged(*sides(parser.rules, examples, SOURCE)), parser):
        of_inputs.append(count_derivations(batch.forests))
        labels = by_output(parser.rules, outputs.values, outputs.offsets[batch.first :])
        of_pairs += [count_derivations(part) for part in products(batch, labels)]
    with np.errstate(divide="ignore", invalid="ignore"):  # no derivation, or more than a float can count
        return float(np.log2(np.concatenate(of_inputs) / np.concatenate(of_pairs)).sum())
