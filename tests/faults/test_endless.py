"""Work that would not end is bounded; Ctrl-C is answered at once; what is too large is refused at once."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Csl, limited

SLOW = pytest.mark.slow
KERNEL_WITHOUT_END = """
import signal, sys
import numba, numpy as np
import csl.{module} as module
from csl.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background inherit one that is ignored

@numba.njit(nogil=True)
def without_end(flag):
    while flag[0] == 0:
        pass

without_end(np.ones(1))

def kernel(*_):
    print("running", flush=True)
    without_end(np.zeros(1))

module.{name} = kernel
main()
"""


@pytest.mark.parametrize(
    ("module", "name", "line"),
    [
        ("induction.search", "derive_rules", "induce train.tsv --out new --preset scan"),
        pytest.param("induction.search", "unify", "induce train.tsv --out new --preset scan", marks=SLOW),
        ("induction.search", "remove_derivable", "induce train.tsv --out new --preset scan"),
        pytest.param(
            "induction.objective",
            "count_pairs",
            "induce train.tsv --out new --preset scan --threads 2",
            marks=pytest.mark.slow,
        ),
        ("parsing.deriver", "derive_rules", "grammar coverage run new.tsv"),
        pytest.param("parsing.deriver", "intersect", "fit run --set optimizer=em --seed 5", marks=SLOW),
        ("model.data", "expectations", "fit run --set optimizer=em --seed 5"),
        pytest.param(
            "model.data", "log_inside", "fit run --set optimizer=em --set steps=1 --seed 5", marks=pytest.mark.slow
        ),
        pytest.param("model.model", "viterbi", "parse run walk", marks=SLOW),
        pytest.param("model.model", "log_inside", "evaluate run train.tsv", marks=SLOW),
        ("sampling.sampler", "build_tables", "sample run --out x.tsv"),
        pytest.param("sampling.sampler", "draw", "sample run --out x.tsv", marks=SLOW),
        ("baselines.geca", "interchangeable", "geca train.tsv --out x.tsv"),
    ],
)
def test_an_interrupt_is_answered_while_a_kernel_runs(csl: Csl, run: Path, module: str, name: str, line: str) -> None:
    (csl.folder / "new.tsv").write_text("walk and walk\tWALK WALK\n")
    code = KERNEL_WITHOUT_END.format(module=module, name=name)
    command, pipe = [sys.executable, "-c", code, *line.split()], subprocess.PIPE
    with subprocess.Popen(command, cwd=csl.folder, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            assert any(text == "running\n" for text in process.stdout)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert not [path.name for path in csl.folder.rglob(".*")]
    assert run.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["atis_lambda", "schema2qa_restaurants"])
def test_induction_on_very_ambiguous_data_ends(csl: Csl, shared_data: Path, name: str) -> None:
    text = (shared_data / "real" / name / "train.tsv").read_text("utf-8")
    (csl.folder / "train.tsv").write_text(text.replace("(", " ( ").replace(")", " ) "), "utf-8")
    line = "induce train.tsv --out run --output-language none"
    code, output, errors = csl(line, preexec_fn=limited(resource.RLIMIT_CPU, 300))
    assert code == 0, errors
    assert "100.0% of the examples" in output
    assert "too ambiguous" in output


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("walk " * 100_000 + "\tWALK\n", "evaluate run long.tsv"),
        ("walk " * 2_000_000 + "\n", "parse run long.tsv"),
        ("walk " * 2_000_000 + "\n", "fit run --unlabelled long.tsv --no-resume"),
    ],
)
def test_lines_that_are_too_long_are_refused_by_their_length(csl: Csl, run: Path, text: str, line: str) -> None:
    (csl.folder / "long.tsv").write_text(text)
    csl.refused(line, "long.tsv:1:", preexec_fn=limited(resource.RLIMIT_CPU, 30))
    assert run.is_dir()


@pytest.mark.parametrize(
    ("line", "bound"),
    [
        ("induce train.tsv --out new --threads 100000", "1024"),
        ("train train.tsv --out new --device cpu --threads 100000", "1024"),
        ("fit run --set states=1000000 --no-resume", "10000"),
        ("train train.tsv --out new --set d_model=100000", "16384"),
        ("train train.tsv --out new --set layers=100000", "256"),
        ("sample run -n 999999999999999999999", "1000000000000"),
        ("sample run --out x.tsv --shards 100000000", "10000"),
        ("sample run --set max_depth=1000000", "200"),
    ],
)
def test_options_that_are_too_large_are_refused_with_the_bound(
    csl: Csl, run: Path, line: str, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    code, _, errors = csl(line)
    assert code == 2
    assert bound in errors
    assert sorted(path.name for path in csl.folder.iterdir()) == ["run", "train.tsv"]
    assert run.is_dir()


def test_where_there_is_no_terminal_progress_is_printed_all_the_same(csl: Csl, run: Path) -> None:
    often = "import csl.cli, csl.cli.console as c; c.EVERY = 0.01; csl.cli.main()"
    command = [sys.executable, "-c", often, "sample", str(run), "-n", "200000", "--out", "x.tsv"]
    done = subprocess.run(command, cwd=csl.folder, capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if "of 200,000 pairs" in line]
    assert len(lines) > 1
