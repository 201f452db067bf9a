"""NQG's model (Shaw et al. 2021): p(z | x) by the scores of rule applications.

Rule r applied to the span [i, j) scores FFN([h_i ; h_j]) · e_r + FFN'([h_i ; h_j]), where h are vectors of a pretrained
encoder; a derivation z scores the sum of its applications. p(z | x) is normalised over all derivations of x, and
p(y | x) is the sum over those that give y. Parsing takes the best derivation. Where an output CFG does not accept its
output, it takes the best derivation that gives each nonterminal a category of the CFG, and abstains where there is
none. Derivations with categories are not all that have valid outputs: rules of NQG leave parts open that are no
constituents, as in ⟨NT_1 NT_2, NT_1 ( NT_2 )⟩.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from csl.baselines.nqg.chart import FloatArray, LabelledForests, Places
from csl.baselines.nqg.config import NqgFitConfig
from csl.baselines.nqg.encoder import Encoder
from csl.examples import Example
from csl.grammar import Grammar
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.intersection import by_output, by_type
from csl.kernels.source_chart import Forests
from csl.model.model import Parse, typings_of
from csl.parsing.derivation import MAX_OUTPUT, Derivation
from csl.parsing.deriver import Deriver, product

CHUNK = 64  # inputs that are encoded together


class SpanScores(torch.nn.Module):
    """The scores of rules at spans, from the vectors at their ends."""

    def __init__(self, width: int, rules: int, config: NqgFitConfig) -> None:
        super().__init__()
        self.dropout = torch.nn.Dropout(config.dropout)
        self.of_span = _two_layers(2 * width, config.hidden, config.embedding)
        self.of_any_rule = _two_layers(2 * width, config.hidden, 1)
        self.rules = torch.nn.Parameter(torch.randn(rules, config.embedding) * config.embedding**-0.5)

    def forward(self, ends: torch.Tensor, span_of: torch.Tensor, rule_of: torch.Tensor) -> torch.Tensor:
        """Score labels: `ends` has [h_i ; h_j] of each span, a label is a rule at a span."""
        ends = self.dropout(ends)
        spans, biases = self.of_span(ends), self.of_any_rule(ends)[:, 0]
        scores: torch.Tensor = (spans[span_of] * self.rules[rule_of]).sum(dim=1) + biases[span_of]
        return scores


def _two_layers(size: int, hidden: int, out: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(size, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, out))


def _chunks(sources: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Give the places of inputs in chunks, the shortest first: the encoder pads to the longest of a chunk."""
    places = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    return (places[k : k + CHUNK] for k in range(0, len(places), CHUNK))


class NqgModel(torch.nn.Module):
    """A grammar with an encoder and the scores of its rules."""

    def __init__(
        self, grammar: Grammar, encoder: Encoder, config: NqgFitConfig, output_cfg: OutputCfg | None = None
    ) -> None:
        super().__init__()
        self.grammar, self.config, self.output_cfg = grammar, config, output_cfg
        self.encoder = encoder
        self.scores = SpanScores(encoder.width, len(grammar), config)
        self.deriver = Deriver(grammar, config.max_units)
        self._typings = typings_of(grammar, output_cfg) if output_cfg else None

    def charts(self, sources: Sequence[Sequence[str]]) -> LabelledForests:
        """Build the forests of inputs."""
        return LabelledForests(self.deriver.forests(sources), len(self.grammar))

    def pair_forests(self, charts: LabelledForests, examples: Sequence[Example]) -> Forests:
        """Cut the forests of inputs down to the derivations that give the outputs of examples."""
        targets = self.deriver.encode(example.target for example in examples)
        return charts.cut(product(charts.unlabelled, by_output(self.deriver.arrays, *targets)))

    def label_scores(self, charts: LabelledForests, places: Places, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
        """Score all labels of the inputs at `places`, whose words have these vectors, input by input."""
        starts = np.cumsum([0, *map(len, vectors)])
        begin, end, span_of, rules = [], [], [], []
        spans = 0
        for k, place in enumerate(places):
            of_input = slice(charts.spans_from[place], charts.spans_from[place + 1])
            labels = slice(charts.labels_from[place], charts.labels_from[place + 1])
            begin.append(charts.begin[of_input] + starts[k])
            end.append(charts.end[of_input] + starts[k])
            span_of.append(charts.span_of[labels] - of_input.start + spans)
            rules.append(charts.rules[labels])
            spans += of_input.stop - of_input.start
        words = torch.cat(list(vectors))
        b, e, s, r = (torch.from_numpy(np.concatenate(a)).to(words.device) for a in (begin, end, span_of, rules))
        scores: torch.Tensor = self.scores(torch.cat([words[b], words[e]], dim=1), s, r)
        return scores

    # parsing

    def parse_all(self, sources: Sequence[Sequence[str]]) -> list[Parse | None]:
        """Give the output of the best derivation of each input, with log p(z | x); None where the model abstains."""
        parses: dict[int, Parse | None] = {}
        for places in _chunks(sources):
            charts, scores = self._scored([sources[i] for i in places])
            wholes = charts.log_sums(charts.forests, scores)
            best = self._parses(charts.best(charts.forests, scores), wholes)
            if self.output_cfg and self._typings:
                typed = charts.cut(product(charts.unlabelled, by_type(self._typings)))
                valid = (bool(found and self.output_cfg.accepts(found.target)) for found in best)
                others = self._parses(charts.best(typed, scores), wholes)
                best = [found if good else other for found, good, other in zip(best, valid, others, strict=True)]
            parses.update(zip(places, best, strict=True))
        return [parses[i] for i in range(len(sources))]

    def _parses(self, best: Sequence[tuple[float, Sequence[int]]], wholes: FloatArray) -> list[Parse | None]:
        return [self._parse(*found, whole) for found, whole in zip(best, wholes, strict=True)]

    def _parse(self, score: float, rules: Sequence[int], whole: float) -> Parse | None:
        if math.isinf(score):
            return None
        derivation = Derivation.from_rules(self.deriver.rules[r] for r in rules)
        short = derivation.target_length <= MAX_OUTPUT
        return Parse(derivation.example.target, derivation, score - whole) if short else None

    def log_probs(self, examples: Sequence[Example]) -> FloatArray:
        """Log p(y | x) of pairs, summed over all derivations; −inf if there is none."""
        found = np.empty(len(examples))
        for places in _chunks([example.source for example in examples]):
            part = [examples[i] for i in places]
            charts, scores = self._scored([example.source for example in part])
            pairs = self.pair_forests(charts, part)
            with np.errstate(invalid="ignore"):  # −inf − −inf: an input without derivations
                given = charts.log_sums(pairs, scores) - charts.log_sums(charts.forests, scores)
            found[places] = np.where(np.isnan(given), -np.inf, given)
        return found

    @torch.inference_mode()
    def _scored(self, sources: Sequence[Sequence[str]]) -> tuple[LabelledForests, FloatArray]:
        """Build the forests of inputs and score their labels."""
        charts = self.charts(sources)
        covered = np.flatnonzero(np.diff(charts.labels_from))
        if not len(covered):
            return charts, np.empty(0)
        self.eval()
        vectors = self.encoder([sources[int(i)] for i in covered])
        return charts, self.label_scores(charts, covered, vectors).double().cpu().numpy()
