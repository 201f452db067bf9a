"""Compiling ahead: while the first stages run, a second process compiles the kernels of later ones.

It does so by doing the work of these stages on a toy, which leaves compiled code in Numba's cache. Only the first run
after installing does this, if it has a second core.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from csl.examples import Example
from csl.grammar import Grammar, parse_rule
from csl.log import Log

log = Log("ahead")
ENABLED = True
FIRST = "induce"  # the stage with whose start the second process begins
RULES = ("NT_1 and NT_2 ### NT_1 NT_2", "NT_1 twice ### NT_1 NT_1", "walk ### WALK", "jump ### JUMP")
PAIRS = (("walk twice", "WALK WALK"), ("jump and walk", "JUMP WALK"), ("jump", "JUMP"))


class Ahead:
    """The second process, from the stage that it begins with to the one that needs what it compiles."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stages: Sequence[str] = ()

    def begin(self, later: Sequence[str], tokens: int) -> None:
        """Begin, with training data of so many tokens, to compile for later stages."""
        from csl.kernels.inside import expectations  # noqa: PLC0415 — numba is slow to import
        from csl.kernels.kernel import SMALL  # noqa: PLC0415

        # with little data the first process compiles for fitting meanwhile, as it has nothing else to do
        self._stages = [name for name in ("sample", "fit")[: 2 if tokens > SMALL else 1] if name in later]
        if ENABLED and self._stages and _cores() > 1 and not expectations.is_on_disk():
            with suppress(OSError):  # without a second process, the first compiles
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "csl.runs.ahead", *self._stages],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip

    def wait_for(self, stage: str) -> None:
        """Wait until what a stage needs is compiled."""
        if self._process and stage in self._stages:
            log.progress("compiling (only the first time) …")
            self._process.wait()

    def end(self) -> None:
        """End the process, if the run has come to its own end before."""
        if self._process:
            self._process.terminate()
            self._process.wait()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_for(stages: Sequence[str]) -> None:
    """Do the work of stages on a toy."""
    from csl.kernels import kernel  # noqa: PLC0415
    from csl.model.config import FitConfig  # noqa: PLC0415
    from csl.model.fit import fit  # noqa: PLC0415
    from csl.model.model import Model, context_starts  # noqa: PLC0415
    from csl.sampling.config import SampleConfig  # noqa: PLC0415
    from csl.sampling.sampler import Sampler  # noqa: PLC0415

    kernel.SMALL = -1
    grammar, examples = Grammar(map(parse_rule, RULES)), [Example.of(*pair) for pair in PAIRS]
    model = Model(grammar, np.zeros((context_starts(grammar)[-1], 2)), np.zeros((2, len(grammar))))
    if "sample" in stages:
        sampler = Sampler(grammar, SampleConfig(max_depth=3), model=model, train=examples)
        list(sampler.stream(10))
    if "fit" in stages:
        fit(grammar, examples, FitConfig(states=2, optimizer="em", steps=2))
        model.outcomes([example.source for example in examples])


if __name__ == "__main__":
    compile_for(sys.argv[1:])
