"""Forests whose applications have scores of their own, by rule and span.

The kernels of `csl.kernels.inside` take a probability for each rule. Here a *label* takes the place of a rule: a rule
at a span of an input. With one state, and every context alike, the inside pass then sums exp of the scores over all
derivations, the outside pass gives the expected number of times each label is used, and Viterbi finds the best
derivation. Labels are numbered input by input, spans too.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from csl.kernels.budget import untimed
from csl.kernels.inside import expectations, log_inside, table_scores, viterbi
from csl.kernels.source_chart import Forests

FloatArray = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


class LabelledForests:
    """Forests of inputs, and the labels of their applications."""

    def __init__(self, forests: Forests, n_rules: int) -> None:
        self._n_rules = n_rules
        self._width = int(forests.spans[:, 1].max(initial=0)) + 1
        self._keys, label = np.unique(self._key(forests), return_inverse=True)
        self.unlabelled, self.forests = forests, forests._replace(rules=label.astype(np.int32))
        self.rules = self._keys % n_rules  # of each label
        spans, self.span_of = np.unique(self._keys // n_rules, return_inverse=True)  # label → its span
        self.span_inputs, place = np.divmod(spans, self._width**2)
        self.begin, self.end = np.divmod(place, self._width)
        inputs = np.arange(len(forests.status) + 1)
        self.labels_from = np.searchsorted(self.span_inputs[self.span_of], inputs)  # input → its first label
        self.spans_from = np.searchsorted(self.span_inputs, inputs)

    def _key(self, forests: Forests) -> Places:
        """Give a number to the label of each application: by input, then span, then rule."""
        inputs = np.repeat(np.arange(len(forests.status), dtype=np.int64), np.diff(forests.vertices))
        spans: Places = (inputs * self._width + forests.spans[:, 0]) * self._width + forests.spans[:, 1]
        return np.repeat(spans, np.diff(forests.applications)) * self._n_rules + forests.rules

    def cut(self, forests: Forests) -> Forests:
        """Label the applications of forests that were cut down from these."""
        return forests._replace(rules=np.searchsorted(self._keys, self._key(forests)).astype(np.int32))

    @cached_property
    def _alike(self) -> tuple[FloatArray, Places]:
        """What the kernels take for contexts: any is as good as any other."""
        most = int(np.diff(self.forests.arguments).max(initial=1))
        contexts = np.zeros(len(self.rules) + 1, np.int64)  # label → its first context, and at the end their number
        contexts[-1] = most
        return np.ones((most, 1)), contexts

    def log_sums(self, forests: Forests, scores: FloatArray) -> FloatArray:
        """Log of the sum of exp(score) over all derivations of each input; −inf if it has none."""
        context, contexts = self._alike
        places = np.arange(len(forests.status))
        return log_inside(forests, places, context, np.exp(scores)[:, None], contexts)

    def expectations(
        self, forests: Forests, places: Places, copies: FloatArray, scores: FloatArray
    ) -> tuple[float, FloatArray]:
        """Sum the log sums of inputs, each `copies` times; return the sum and its gradient by the scores."""
        context, contexts = self._alike
        values, by_value = np.exp(scores), np.zeros(len(scores))
        total, _, _, labels, by_label = expectations(forests, places, copies, context, values[:, None], contexts)
        by_value[labels] = by_label[:, 0]
        return total, by_value * values

    def best(self, forests: Forests, scores: FloatArray) -> list[tuple[float, Sequence[int]]]:
        """Find the best derivation of each input: its score, −inf if there is none, and its rules in preorder."""
        context, contexts = self._alike
        alike = table_scores(np.tile(scores, (len(context), 1)))
        found, labels, offsets = viterbi(forests, alike, contexts, untimed())
        found = np.nan_to_num(found, nan=-np.inf, neginf=-np.inf)  # nan: given up
        rules = self.rules[labels]
        return [(float(score), rules[offsets[k] : offsets[k + 1]].tolist()) for k, score in enumerate(found)]
