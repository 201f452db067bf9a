"""Adam agrees with torch's."""

import numpy as np
import pytest

from csl.kernels.adam import adam_step


def test_steps_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    theta, first, second = rng.normal(size=20), np.zeros(20), np.zeros(20)
    expected = torch.tensor(theta, requires_grad=True)
    adam = torch.optim.Adam([expected], lr=0.05)
    for number in range(1, 50):
        gradient = rng.normal(size=20) * (rng.random(20) < 0.5)
        expected.grad = torch.from_numpy(gradient)
        adam.step()
        adam_step(theta, gradient, first, second, 0.05, number)
    assert theta == pytest.approx(expected.detach().numpy(), rel=1e-12)
