"""The grammars of benchmark sets, induced once for all tests of the model."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from csl.datasets.registry import data_set
from csl.datasets.task import Task
from csl.grammar import Grammar
from csl.induction.config import PRESETS
from csl.induction.induce import induce

Prepared = Callable[[str, str], tuple[Task, Grammar]]


@pytest.fixture(scope="session")
def prepared(shared_data: Path) -> Prepared:
    """A function from data set and split to the task and its grammar."""

    @cache
    def prepare(name: str, split: str) -> tuple[Task, Grammar]:
        task = data_set(name).prepare(shared_data / name, split)
        return task, induce(task.train, PRESETS[name], seeds=task.seed_rules, output_cfg=task.output_cfg).grammar

    return prepare
