"""A Ray cluster of several nodes on this machine, real processes all: the same results, whatever is killed."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from typer.testing import CliRunner

pytest.importorskip("ray", reason="ray is not installed: pip install 'compositional-structure-learner[ray]'")

from ray.cluster_utils import Cluster

from csl.cli import app
from csl.datasets.scan import commands, interpret
from csl.engine import engine as engines
from csl.engine.engine import Broadcast, Engine, Growing
from csl.engine.ray import Ray
from csl.engine.threads import ONE_THREAD
from csl.errors import CslError, InputError
from csl.examples import Example, write_examples
from csl.induction.config import PRESETS
from csl.induction.induce import induce
from csl.model.config import FitConfig
from csl.model.evaluate import evaluate
from csl.model.fit import fit
from csl.sampling.config import SampleConfig
from csl.sampling.sampler import Sampler

pytestmark = pytest.mark.slow  # a cluster takes seconds to start

Ints = npt.NDArray[np.int64]


class Column(NamedTuple):
    """An array that grows."""

    values: Ints


EXAMPLES = [Example(command, interpret(command)) for command in list(commands())[::9]]


@pytest.fixture(autouse=True)
def _sent_from_a_hundred_items_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SMALL", 100)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    made.shutdown()


@contextmanager
def joined(cluster: Cluster, number: int, *more: int) -> Iterator[Ray]:
    """Add nodes with so many CPUs, and join the cluster, which then has `number`."""
    for cpus in more:
        cluster.add_node(num_cpus=cpus)
    cluster.wait_for_nodes()
    with Ray(cluster.address) as engine:
        assert engine.number == number
        yield engine


def everything(engine: Engine) -> list[Any]:
    """Induce, fit, parse and sample with an engine."""
    rules = induce(EXAMPLES, PRESETS["scan"], engine=engine).grammar
    model = fit(rules, EXAMPLES, FitConfig(optimizer="em", steps=3), engine=engine).model
    sampler = Sampler(rules, SampleConfig(seed=3, unique=True), model=model, train=EXAMPLES)
    samples = list(sampler.stream(5000, engine))
    drawn = [sample.example for sample in samples[:500]]
    return [
        list(rules), model.theta_context.tobytes(), model.theta_rule.tobytes(), samples,
        model.parse_all([example.source for example in drawn], engine), evaluate(model, drawn, engine),
        model.deriver.derivable(drawn, engine).tolist(),
        model.deriver.covered([example.source for example in drawn], engine).tolist(),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    return everything(ONE_THREAD)


def worker_processes(node: Any) -> list[int]:
    """Find the workers of a node that are at work: children of its raylet that Ray has named after their task."""
    raylet = node.all_processes["raylet"][0].process.pid
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == raylet and (folder / "cmdline").read_bytes().startswith(b"ray::work"):
                found.append(int(folder.name))
        except OSError:
            continue  # gone by now
    return found


@contextmanager
def when_at_work(node: Any, act: Callable[[int], None]) -> Iterator[list[int]]:
    """Beside what is done here, wait for a worker of the node to be at work, and act on it."""
    acted: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.is_set() and not acted:
            for process in worker_processes(node)[:1]:
                act(process)
                acted.append(process)
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield acted
    finally:
        over.set()
        thread.join()


def add(part: Ints, arrays: tuple[Ints, ...], more: int) -> Ints:
    return part + arrays[0].sum() + more


def die_once(part: Ints, marker: Path) -> Ints:
    if 5 in part and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def die(part: Ints) -> Ints:
    os.kill(os.getpid(), signal.SIGKILL)
    return part


def refuse(part: Ints) -> Ints:
    raise InputError(f"no {part[0]}", "data.tsv", 3)


@pytest.fixture(scope="class")
def engine(cluster: Cluster) -> Iterator[Ray]:
    with joined(cluster, 1) as engine:
        yield engine


class TestOneWorker:
    def test_gives_what_threads_give(self, engine: Ray, expected: list[Any]) -> None:
        assert everything(engine) == expected

    def test_gets_state_once_and_then_what_is_new(self, engine: Ray) -> None:
        arrays = [np.arange(100_000)]
        growing, kept = Growing(lambda: Column(arrays[0])), Broadcast((np.ones(50_000, np.int64),))

        def call(state: Any) -> int:
            before = engine.sent
            assert engine.map(add, np.arange(200), state, 1)[0] == state.value[0].sum() + 1
            return engine.sent - before

        assert call(kept) > 400_000
        assert call(kept) < 10_000
        assert call(growing) > 800_000
        assert call(growing) < 10_000
        arrays[0] = np.concatenate([arrays[0], np.arange(10_000)])
        assert 80_000 < call(growing) < 90_000

    def test_hands_errors_on_as_they_are(self, engine: Ray) -> None:
        with pytest.raises(InputError, match=r"^data.tsv:3: no 0$"):
            engine.chunks(refuse, np.arange(100))

    def test_is_replaced_when_it_dies(self, engine: Ray, tmp_path: Path) -> None:
        found = engine.map(die_once, np.arange(200), tmp_path / "died")
        assert found.tolist() == list(range(200))
        assert (tmp_path / "died").exists()

    def test_is_not_replaced_for_ever(self, engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine, "_work", engine._work.options(max_retries=1))
        with pytest.raises(CslError, match="the cluster lost a task"):
            engine.chunks(die, np.arange(4), parts=1)


def test_two_workers_one_of_which_is_killed_in_the_middle(cluster: Cluster, expected: list[Any]) -> None:
    with joined(cluster, 2, 1) as engine:
        node = cluster.list_all_nodes()[-1]
        with when_at_work(node, lambda process: os.kill(process, signal.SIGKILL)) as killed:
            found = everything(engine)
        assert killed
        assert found == expected


def test_commands_write_the_same_files(cluster: Cluster, tmp_path: Path) -> None:
    write_examples(tmp_path / "train.tsv", EXAMPLES)
    for name, options in (("threads", []), ("ray", ["--engine", "ray", "--address", cluster.address])):
        run = tmp_path / name
        assert csl("induce", tmp_path / "train.tsv", "--out", run, "--preset", "scan", *options) == 0
        made = ["-n", 6000, "--strategy", "uniform", "--shards", 2, "--out", run / "made.tsv"]
        assert csl("sample", run, *made, *options) == 0
    for name in ("grammar.txt", "made-00001-of-00002.tsv", "made-00002-of-00002.tsv"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "threads" / name).read_bytes()


def test_four_workers_two_of_which_go_with_their_node(cluster: Cluster, expected: list[Any]) -> None:
    with joined(cluster, 4, 2) as engine:
        node = cluster.list_all_nodes()[-1]
        with when_at_work(node, lambda _: cluster.remove_node(node, allow_graceful=False)) as killed:
            found = everything(engine)
        assert killed
        assert node not in cluster.list_all_nodes()
        assert found == expected


def csl(*arguments: object) -> int:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "rays"], "did you mean 'ray'"),
        (["--address", "auto"], "--engine ray"),
        (["--engine", "ray", "--address", "127.0.0.1:1"], "no Ray cluster answers at 127.0.0.1:1"),
        (["--engine", "ray", "--address", "nowhere"], "cannot join the Ray cluster at nowhere"),
    ],
)
def test_wrong_options_are_told(options: list[str], message: str, tmp_path: Path) -> None:
    write_examples(tmp_path / "train.tsv", EXAMPLES[:5])
    with pytest.raises(InputError, match=message):
        csl("induce", tmp_path / "train.tsv", "--out", tmp_path / "run", *options)
