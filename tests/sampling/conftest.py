"""Models of benchmark sets, fitted quickly, once for all tests of sampling."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from csl.datasets.registry import data_set
from csl.datasets.task import Task
from csl.induction.config import PRESETS
from csl.induction.induce import induce
from csl.model.config import FitConfig
from csl.model.fit import fit
from csl.model.model import Model

FOLDERS = {"smcalflow-cs-fifth": "smcalflow_cs"}
Quick = Callable[[str, str], tuple[Task, Model]]


@pytest.fixture(scope="session")
def quick(shared_data: Path) -> Quick:
    """A function from data set and split to the task and a model after a few passes of EM."""

    @cache
    def prepare(name: str, split: str) -> tuple[Task, Model]:
        task = data_set(name).prepare(shared_data / FOLDERS.get(name, name), split)
        induction = PRESETS["smcalflow" if name in FOLDERS else name]
        grammar = induce(task.train, induction, seeds=task.seed_rules, output_cfg=task.output_cfg).grammar
        config = FitConfig(states=2 if name == "scan" else 8, optimizer="em", steps=10)
        return task, fit(grammar, task.train, config, output_cfg=task.output_cfg).model

    return prepare
