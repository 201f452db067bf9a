"""The gradient that Adam steps along is that of the likelihood."""

from typing import Literal

import numpy as np
import pytest

from csl.engine import ONE_THREAD
from csl.examples import Example
from csl.grammar import parse_grammar
from csl.kernels.adam import FIRST
from csl.model.adam import Adam
from csl.model.config import FitConfig
from csl.model.data import build

from ..grammars import random_theta

GRAMMAR = parse_grammar(["a ### A", "b ### B", "NT_1 twice ### NT_1 NT_1", "NT_1 and NT_2 ### NT_1 NT_2"])
PAIR = Example.of("a and a and a twice", "A A A A")  # in three ways
STEP = 1e-6


@pytest.mark.parametrize("denominator", ["grammar", "batch"])
def test_the_gradient_is_that_of_log_p(denominator: Literal["grammar", "batch"]) -> None:
    data = build(GRAMMAR, [PAIR], 1, ONE_THREAD)
    used = np.array([denominator == "grammar" or rule.source != ("b",) for rule in GRAMMAR])
    theta = random_theta(GRAMMAR, 3, 0)
    theta[1][:, ~used] = -100  # p = 0: as if it were no rule
    adam = Adam(data, *theta, FitConfig(states=3, batch_size=4, denominator=denominator))
    mean, _ = adam.step(1)
    assert mean == pytest.approx(data.mean(*theta), rel=1e-6)
    state = adam.state()
    gradients = state["context_first"] / (1 - FIRST), state["rule_first"].T / (1 - FIRST)
    for of, gradient in zip(theta, gradients, strict=True):
        for place in np.ndindex(of.shape):
            of[place] += STEP
            more = data.mean(*theta)
            of[place] -= 2 * STEP
            less = data.mean(*theta)
            of[place] += STEP
            assert -gradient[place] == pytest.approx((more - less) / (2 * STEP), abs=1e-6)
