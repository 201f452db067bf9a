"""The run folder: everything that a run makes lives in one place that later steps read and people can look into.

config.json      the resolved options, what they were applied to, and a fingerprint of both
seeds.txt        the seed rules, output.cfg the output CFG, if there are any
grammar.txt      the grammar: a run with this file is finished
metrics.jsonl    one line a step
checkpoint.npz   where an unfinished search stands; it goes when the search is done
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from csl import __version__
from csl.data import Example
from csl.data.files import make_folder, read_lines, write_json, write_text
from csl.errors import InputError
from csl.experiment.arrays import Arrays, load_arrays, save_arrays
from csl.grammar import Rule, write_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.induction.config import InductionConfig
from csl.induction.induce import Induced, State, Step, induce

RESTART = "start over with --no-resume"
ARRAYS = ("values", "begin", "middle", "fresh")


def fingerprint(
    examples: Iterable[Example], config: InductionConfig, seeds: Iterable[Rule], output_cfg: OutputCfg | None
) -> str:
    """Hash all that a grammar depends on."""
    digest = hashlib.sha256(config.model_dump_json().encode())
    for kind, items in (("example", ((e.source, e.target) for e in examples)), ("seed", seeds)):
        for item in items:
            digest.update(f"{kind} {item}\n".encode("utf-8", "surrogatepass"))
    digest.update(f"cfg {output_cfg}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class FileCheckpoint:
    """Keeps the state of a search in a file, with the fingerprint of the run it belongs to."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self._path, self._fingerprint = path, fingerprint

    def load(self) -> State | None:
        """Read the state saved last; a damaged file is refused."""
        if not self._path.exists():
            return None
        arrays, position = load_arrays(self._path, RESTART)
        try:
            if position["fingerprint"] != self._fingerprint:
                return None
            place = position["partition"], position["step"], position["finished"]
            return State(*place, *(arrays[name] for name in ARRAYS))
        except (KeyError, TypeError) as error:
            raise InputError(f"damaged file; {RESTART}", self._path) from error

    def save(self, state: State) -> None:
        """Write the state, atomically."""
        position = {"partition": state.partition, "step": state.step, "finished": state.finished}
        arrays: Arrays = {name: getattr(state, name) for name in ARRAYS}
        save_arrays(self._path, arrays, position | {"fingerprint": self._fingerprint})


def induce_into(
    folder: Path,
    examples: Sequence[Example],
    config: InductionConfig,
    *,
    seeds: Sequence[Rule] = (),
    output_cfg: OutputCfg | None = None,
    threads: int = 1,
    resume: bool = True,
    about: dict[str, object] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[Step, float], None] = lambda step, seconds: None,
) -> Induced | None:
    """Induce a grammar into a run folder; None if it is there already.

    A folder that holds the same run is continued (unless `resume` is off), one that holds another run is refused.
    `say` hears what is done with the folder, `progress` each step with the seconds it took.
    """
    make_folder(folder)
    mark = fingerprint(examples, config, seeds, output_cfg)
    checkpoint = FileCheckpoint(folder / "checkpoint.npz", mark)
    if resume and (folder / "config.json").exists():
        _check_same(folder, mark, config)
        if (folder / "grammar.txt").exists():
            say(f"{folder} holds this run already, finished; --no-resume makes it anew")
            return None
        state = checkpoint.load()
        if state:
            say(f"going on after step {state.step} of partition {state.partition + 1}")
    else:
        for name in ("grammar.txt", "metrics.jsonl", "checkpoint.npz", "seeds.txt", "output.cfg"):
            (folder / name).unlink(missing_ok=True)
    if output_cfg:
        outputs = {example.target for example in examples}
        invalid = sum(not output_cfg.accepts(output) for output in outputs)
        if invalid:
            say(f"the output CFG does not accept {invalid:,} of the {len(outputs):,} distinct outputs")
    write_json(
        folder / "config.json",
        {"csl": __version__, "fingerprint": mark, "induction": config.model_dump(), **(about or {})},
    )
    if seeds:
        write_grammar(folder / "seeds.txt", seeds)
    if output_cfg:
        output_cfg.write(folder / "output.cfg")
    lines: list[str] = []
    if (folder / "metrics.jsonl").exists():
        lines = [line for _, line in read_lines(folder / "metrics.jsonl")]
    last = time.perf_counter()

    def log(step: Step) -> None:
        nonlocal last
        seconds, last = time.perf_counter() - last, time.perf_counter()
        lines.append(json.dumps({"stage": "induce", **asdict(step), "seconds": round(seconds, 3)}))
        write_text(folder / "metrics.jsonl", "\n".join(lines) + "\n")
        progress(step, seconds)

    induced = induce(
        examples, config, seeds=seeds, output_cfg=output_cfg, threads=threads, progress=log, checkpoint=checkpoint
    )
    write_grammar(folder / "grammar.txt", induced.grammar)
    (folder / "checkpoint.npz").unlink(missing_ok=True)
    return induced


def _check_same(folder: Path, mark: str, config: InductionConfig) -> None:
    """Refuse a folder that holds a run of other data or options, and say what differs."""
    path = folder / "config.json"
    try:
        found = json.loads("\n".join(line for _, line in read_lines(path)))
        old, old_mark = dict(found["induction"]), found["fingerprint"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("not the config of a run; name another folder with --out", path) from error
    if old_mark != mark:
        new = config.model_dump()
        other = [f"{key} = {old.get(key)}" for key in new if old.get(key) != new[key]] or [
            "other data, seeds or output CFG"
        ]
        raise InputError(f"holds another run ({', '.join(other)}); name another folder, or --no-resume", folder)
