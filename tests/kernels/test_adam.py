"""Adam agrees with torch's."""

import numpy as np
import pytest

from csl.kernels.adam import adam_step, add_rows


def test_steps_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(5, 4))
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    expected = torch.tensor(theta, requires_grad=True)
    adam = torch.optim.Adam([expected], lr=0.05)
    for number in range(1, 50):
        p, shift = rng.random((5, 4)), rng.normal(size=4)
        gradient = rng.normal(size=(5, 4)) * (rng.random((5, 4)) < 0.5)
        expected.grad = torch.from_numpy(p * (gradient - shift))
        adam.step()
        adam_step(theta, p, gradient, shift, first, second, 0.05, number)
    assert theta == pytest.approx(expected.detach().numpy(), rel=1e-12)


def test_rows_are_added_where_they_belong() -> None:
    table = np.zeros((4, 2))
    add_rows(table, np.array([3, 1]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert table.tolist() == [[0, 0], [3, 4], [0, 0], [1, 2]]
