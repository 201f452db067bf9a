"""Adam agrees with torch's, also where rows are left out of steps in which they have no slope."""

import numpy as np
import pytest

from csl.kernels.adam import adam_rows, add_rows, catch_up

RATE = 0.05


def test_steps_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(5, 4))
    first, second, rows = np.zeros_like(theta), np.zeros_like(theta), np.arange(5)
    expected, offset = torch.tensor(theta, requires_grad=True), rng.normal(size=4)
    adam = torch.optim.Adam([expected], lr=RATE)
    for number in range(1, 50):
        slopes = rng.normal(size=(5, 4))
        expected.grad = torch.from_numpy(slopes)
        adam.step()
        adam_rows(theta, first, second, rows, slopes, offset, RATE, number)
    assert theta == pytest.approx(expected.detach().numpy() - 49 * offset, rel=1e-12)


@pytest.mark.parametrize(("size", "exact"), [(1.0, 1e-6), (1e-7, 0.1), (1e-11, 1e-6)])  # ε: nothing, as much, all
def test_a_row_that_was_left_out_catches_up(size: float, exact: float) -> None:
    rng, nothing = np.random.default_rng(1), np.zeros(3)
    theta = rng.normal(size=(6, 3))
    always, rarely = ([table.copy() for table in (theta, nothing + np.zeros((6, 1)), np.zeros((6, 3)))] for _ in "ab")
    seen = np.zeros(6, np.int64)
    for number in range(1, 400):
        rows = np.flatnonzero(rng.random(6) < [1, 0.5, 0.1, 0.02, 0.01, 0])
        slopes = size * rng.normal(size=(len(rows), 3))
        dense = np.zeros((6, 3))
        dense[rows] = slopes
        adam_rows(*always, np.arange(6), dense, nothing, RATE, number)
        catch_up(*rarely, rows, seen, RATE, number)
        adam_rows(*rarely, rows, slopes, nothing, RATE, number)
        seen[rows] = number
    catch_up(*rarely, np.arange(6), seen, RATE, 400)
    for every, some in zip(always, rarely, strict=True):
        assert some == pytest.approx(every, rel=1e-9, abs=exact * RATE)
    assert (theta[-1] == rarely[0][-1]).all()
    assert (theta[:-1] != rarely[0][:-1]).all()


def test_rows_are_added_where_they_belong() -> None:
    table = np.zeros((4, 2))
    add_rows(table, np.array([3, 1]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert table.tolist() == [[0, 0], [3, 4], [0, 0], [1, 2]]
