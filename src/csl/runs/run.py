"""The run folder: everything that a run makes lives in one place that later steps read and people can look into.

config.json      the resolved options, what they were applied to, and a fingerprint of both
seeds.txt        the seed rules, output.cfg the output CFG, if there are any
grammar.txt      the grammar: a run with this file is finished
metrics.jsonl    one line a step
checkpoint.npz   where an unfinished search stands; it goes when the search is done

One process at a time works in a run folder; a second one is refused.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from csl import __version__
from csl.examples import Example
from csl.files import read_json, write_json, write_text
from csl.lock import folder_lock
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.errors import InputError
from csl.runs.checkpoint import Checkpoint
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


class SearchCheckpoint(Checkpoint):
    """Keeps the state of a search."""

    def load(self) -> State | None:
        """Read the state saved last."""
        if not self.found:
            return None
        arrays, about = self.found
        return State(about["partition"], about["step"], about["finished"], *(arrays[name] for name in ARRAYS))

    def save(self, state: State) -> None:
        """Take a state, to be saved with its line of the log."""
        about = {"partition": state.partition, "step": state.step, "finished": state.finished}
        self.hold({name: getattr(state, name) for name in ARRAYS}, about)


def induce_into(
    folder: Path,
    examples: Sequence[Example],
    config: InductionConfig,
    *,
    seeds: Sequence[Rule] = (),
    output_cfg: OutputCfg | None = None,
    engine: Engine = ONE_THREAD,
    resume: bool = True,
    about: dict[str, object] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[Step, float], None] = lambda step, seconds: None,
) -> Induced | None:
    """Induce a grammar into a run folder; None if it is there already.

    A folder that holds the same run is continued (unless `resume` is off), one that holds another run is refused.
    `say` hears what is done with the folder, `progress` each step with the seconds it took.
    """
    mark = fingerprint(examples, config, seeds, output_cfg)
    checkpoint = SearchCheckpoint(folder / "checkpoint.npz", mark, RESTART, say)
    with folder_lock(folder):
        if resume and (folder / "config.json").exists():
            _check_same(folder, mark, config)
            if (folder / "grammar.txt").exists():
                say(f"{folder} holds this run already, finished; --no-resume makes it anew")
                checkpoint.remove()
                return None
            if state := checkpoint.load():
                say(f"going on after step {state.step} of partition {state.partition + 1}")
        else:
            _clear(folder, checkpoint, resume)
        if output_cfg:
            outputs = {example.target for example in examples}
            invalid = sum(not output_cfg.accepts(output) for output in outputs)
            if invalid:
                say(f"the output CFG does not accept {invalid:,} of the {len(outputs):,} distinct outputs")
        about = {"csl": __version__, "fingerprint": mark, "induction": config.model_dump(), **(about or {})}
        write_json(folder / "config.json", about)
        if seeds:
            write_grammar(folder / "seeds.txt", seeds)
        if output_cfg:
            output_cfg.write(folder / "output.cfg")
        last = time.perf_counter()

        def write_log() -> None:
            write_text(folder / "metrics.jsonl", "".join(f"{line}\n" for line in checkpoint.lines))

        def log(step: Step) -> None:
            nonlocal last
            seconds, last = time.perf_counter() - last, time.perf_counter()
            checkpoint.log(json.dumps({"stage": "induce", **asdict(step), "seconds": round(seconds, 3)}))
            write_log()
            progress(step, seconds)

        write_log()
        induced = induce(
            examples, config, seeds=seeds, output_cfg=output_cfg, engine=engine, progress=log, checkpoint=checkpoint
        )
        result = {"objective": induced.objective, "objective_before": induced.size_before}
        write_json(folder / "config.json", {**about, "result": result})
        write_grammar(folder / "grammar.txt", induced.grammar)
        checkpoint.remove()
        return induced


def result_of(folder: Path) -> dict[str, float]:
    """Read what the induction of a run folder found: the objective at the end, and before."""
    try:
        return dict(read_json(folder / "config.json")["result"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"not the config of a finished run; {RESTART}", folder / "config.json") from error


def _clear(folder: Path, checkpoint: SearchCheckpoint, resume: bool) -> None:
    """Remove what an earlier run left; files that nobody said may go are not touched."""
    files = ("grammar.txt", "metrics.jsonl", "seeds.txt", "output.cfg")
    others = (name for name in (*files, "train.json") if (folder / name).exists())
    if resume and (other := next(others, None)):
        raise InputError(f"holds {other!r}, but no config.json; name another folder with --out, or --no-resume", folder)
    checkpoint.remove()
    for name in files:
        (folder / name).unlink(missing_ok=True)


def _check_same(folder: Path, mark: str, config: InductionConfig) -> None:
    """Refuse a folder that holds a run of other data or options, and say what differs."""
    path = folder / "config.json"
    try:
        found = read_json(path)
        old, old_mark = dict(found["induction"]), found["fingerprint"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("not the config of a run; name another folder with --out", path) from error
    if old_mark != mark:
        new = config.model_dump()
        other = [f"{key} = {old.get(key)}" for key in new if old.get(key) != new[key]] or [
            "other data, seeds or output CFG"
        ]
        raise InputError(f"holds another run ({', '.join(other)}); name another folder, or --no-resume", folder)
