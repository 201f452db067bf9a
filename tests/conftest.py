"""Shared fixtures: where the real benchmark data lies, if it is here at all, and grammars induced from it."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from csl import engine
from csl.datasets.registry import data_set
from csl.datasets.task import Task
from csl.grammar import Grammar
from csl.induction.config import PRESETS
from csl.induction.induce import induce
from csl.kernels import kernel
from csl.runs import ahead

Prepared = Callable[[str, str], tuple[Task, Grammar]]

settings.register_profile("fixed", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("fixed")  # what is checked in before a change lands is the same every time


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the original benchmark files, or a skip that says how to get one."""
    folder = Path(os.environ.get("CSL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no benchmark data at {folder}; set CSL_DATA to a folder that has it")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _small_work_is_spread_too() -> None:
    """Let engines share even the small work of tests, so that these see what depends on the number of workers."""
    engine.BRIEF = 0.0


@pytest.fixture(autouse=True, scope="session")
def _kernels_are_compiled() -> None:
    """Compile kernels even for the little data of tests: plain Python has a test of its own."""
    kernel.SMALL, ahead.ENABLED = -1, False


@pytest.fixture(scope="session")
def prepared(shared_data: Path) -> Prepared:
    """A function from data set and split to the task and its grammar."""

    @cache
    def prepare(name: str, split: str) -> tuple[Task, Grammar]:
        task = data_set(name).prepare(shared_data / name, split)
        return task, induce(task.train, PRESETS[name], seeds=task.seed_rules, output_cfg=task.output_cfg).grammar

    return prepare
