"""A step of Adam (Kingma & Ba 2015) on a flat array: one pass over parameters and moments."""

from math import sqrt

from csl.kernels.kernel import compiled

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # β₁, β₂, ε


@compiled(error_model="numpy")
def adam_step(theta, gradient, first, second, rate, number):
    """Take step `number`, counted from 1; parameters and both moments are changed."""
    rate = rate / (1 - FIRST**number)
    scale = sqrt(1 - SECOND**number)
    for i in range(len(theta)):
        first[i] += (1 - FIRST) * (gradient[i] - first[i])
        second[i] = SECOND * second[i] + (1 - SECOND) * gradient[i] * gradient[i]
        theta[i] -= rate * first[i] / (sqrt(second[i]) / scale + TINY)
