"""Shared fixtures: where the real benchmark data lies, if it is here at all."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from csl import engine

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
    engine.SMALL = 2
