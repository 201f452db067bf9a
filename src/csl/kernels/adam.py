"""A step of Adam (Kingma & Ba 2015): one pass over parameters and moments."""

from math import sqrt

from csl.kernels.kernel import compiled, kernel

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # β₁, β₂, ε


@compiled(error_model="numpy")
def adam_step(theta, p, gradient, shift, first, second, rate, number):
    """Take step `number`, counted from 1, along p · (gradient − shift); parameters and both moments are changed.

    All are tables of the same shape, but for `shift`, which has a number for each column.
    """
    rate = rate / (1 - FIRST**number)
    scale = sqrt(1 - SECOND**number)
    for r in range(theta.shape[0]):
        for s in range(theta.shape[1]):
            slope = p[r, s] * (gradient[r, s] - shift[s])
            m = first[r, s] + (1 - FIRST) * (slope - first[r, s])
            v = SECOND * second[r, s] + (1 - SECOND) * slope * slope
            first[r, s], second[r, s] = m, v
            theta[r, s] -= rate * m / (sqrt(v) / scale + TINY)


@kernel
def add_rows(table, rows, values):
    """Add values to some rows of a table."""
    for k in range(len(rows)):
        for s in range(table.shape[1]):
            table[rows[k], s] += values[k, s]
