"""A step of Adam (Kingma & Ba 2015) on rows of a table, and in one go the steps in which a row had no gradient."""

from math import sqrt

from csl.kernels.kernel import compiled, kernel

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # β₁, β₂, ε
FAINT = 1e-9  # of a momentum: what it still moves is left out


@compiled(error_model="numpy")
def adam_rows(theta, first, second, rows, slopes, offset, rate, number):
    """Take step `number`, counted from 1, in some rows along their slopes, and subtract `offset`, a number a column.

    Parameters and both moments are changed.
    """
    number_of = theta.dtype.type
    by_first, by_second = number_of(1 - FIRST), number_of(1 - SECOND)
    tiny = number_of(TINY * sqrt(1 - SECOND**number))
    rate = number_of(rate / (1 - FIRST**number) * sqrt(1 - SECOND**number))
    for k in range(len(rows)):
        t, m, v, slope = theta[rows[k]], first[rows[k]], second[rows[k]], slopes[k]
        for s in range(len(t)):
            m[s] += by_first * (slope[s] - m[s])
            v[s] += by_second * (slope[s] * slope[s] - v[s])
            t[s] -= rate * m[s] / (number_of(sqrt(v[s])) + tiny) + offset[s]


@compiled(error_model="numpy")
def catch_up(theta, first, second, rows, seen, rate, number):
    """Take the steps before `number` that some rows have not taken, with slope 0; `seen` is the last step of a row.

    Step n, the i-th of these, moves θ by rate · w · m / (√v / a + ε) with w = β₁ⁱ / (1 − β₁ⁿ), a = √((1 − β₂ⁿ) / β₂ⁱ).
    Their sum is taken to be rate · Σ w a · m / (√v + ε · Σ w a / Σ w): exact where either term is negligible.
    """
    number_of = theta.dtype.type
    for k in range(len(rows)):
        r = rows[k]
        missed = number - 1 - seen[r]
        if missed == 0 or seen[r] == 0:  # at the start there is no momentum
            continue
        decayed_first, decayed_second = FIRST, SECOND
        power_first, power_second = FIRST ** (seen[r] + 1), SECOND ** (seen[r] + 1)
        weight, moved = 0.0, 0.0
        for _ in range(missed):
            w = decayed_first / (1 - power_first)
            weight += w
            moved += w * sqrt((1 - power_second) / decayed_second)
            decayed_first, power_first = decayed_first * FIRST, power_first * FIRST
            decayed_second, power_second = decayed_second * SECOND, power_second * SECOND
            if decayed_first < FAINT:
                break
        t, m, v = theta[r], first[r], second[r]
        move, tiny = number_of(rate * moved), number_of(TINY * moved / weight)
        keep_first, keep_second = number_of(FIRST**missed), number_of(SECOND**missed)
        for s in range(len(t)):
            t[s] -= move * m[s] / (number_of(sqrt(v[s])) + tiny)
            m[s] *= keep_first
            v[s] *= keep_second


@kernel
def add_rows(table, rows, values):
    """Add values to some rows of a table."""
    for k in range(len(rows)):
        for s in range(table.shape[1]):
            table[rows[k], s] += values[k, s]
