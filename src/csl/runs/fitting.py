"""Fitting a model in a run folder, and reading it back.

model.npz            the parameters, with the options they were fitted with: a run with this file is fitted
forests.npz          the derivations of the training pairs, so that another fit need not build them again
fit-checkpoint.npz   where an unfinished fit stands; with restarts there is one for each start, until all are done
metrics.jsonl        gets one line for each report: stage fit, or refit with the inputs that the model labelled;
                     with restarts those of the start that was kept
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from csl.examples import Example
from csl.files import parse_json, read_json, read_lines, write_text
from csl.lock import alone
from csl.engine.engine import Engine
from csl.engine.threads import ONE_THREAD
from csl.errors import InputError
from csl.arrays import DAMAGED, DamagedError, load_arrays, save_arrays
from csl.runs.checkpoint import ArraysCheckpoint
from csl.grammar import Grammar, read_grammar
from csl.grammar.notation import grammar_file
from csl.grammar.output_cfg import OutputCfg
from csl.kernels.source_chart import Forests
from csl.model.config import FitConfig
from csl.model.data import ForestData, are_sound, build
from csl.model.fit import Fitted, Progress, likeliest, optimise, with_labels
from csl.model.model import Model, context_starts

REMEDY = "fit again with --no-resume"
STAGES = ("fit", "refit")


def _hash(*items: object) -> str:
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{item}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def read_run(folder: Path) -> tuple[Grammar, OutputCfg | None]:
    """Read the grammar of a run folder and its output CFG, if it has one."""
    if not folder.is_dir():
        raise InputError("not a run folder; make one with `csl induce`", folder)
    grammar = read_grammar(grammar_file(folder))
    path = folder / "output.cfg"
    return grammar, OutputCfg.read(path) if path.exists() else None


def training_file(folder: Path) -> Path:
    """Return the file that the grammar of a run was induced from."""
    try:
        path = Path(read_json(folder / "config.json")["train"])
        # a run may have its data, wherever it is moved to; unlike Path.exists, this takes any name
        path = folder / path if os.path.exists(folder / path) else path
    except (InputError, ValueError, KeyError, TypeError) as error:
        raise InputError("does not say what the grammar was induced from; name it with --train", folder) from error
    if not os.path.exists(path):
        raise InputError("the examples of this run are not here (any more); name the file with --train", path)
    return path


def fit_into(
    folder: Path,
    examples: Sequence[Example],
    config: FitConfig,
    *,
    unlabelled: Sequence[Sequence[str]] = (),
    ratio: float = 1.0,
    engine: Engine = ONE_THREAD,
    resume: bool = True,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Fitted | None:
    """Fit a model to the grammar of a run folder and write it there; None if it is there already.

    A fit that was stopped goes on, unless `resume` is off; starts that were finished are not done again. Damaged files
    are told and made anew.
    """
    grammar, output_cfg = read_run(folder)
    whole = _hash(*grammar, config, *map(_pair, examples), "unlabelled", *unlabelled, ratio)
    log_file, logs = folder / "metrics.jsonl", dict[str, list[str]]()  # of each stage

    def write_log(name: str, lines: list[str]) -> None:
        logs[name] = lines
        write_text(log_file, "".join(f"{line}\n" for line in [*others, *chain(*logs.values())]))

    def fit_all(name: str, examples: Sequence[Example], data: ForestData) -> Fitted:
        about = _hash(*grammar, *map(_pair, examples))
        checkpoints, fits = dict[int, ArraysCheckpoint](), list[Fitted]()

        def log(report: Progress) -> None:
            checkpoint.log(json.dumps({"stage": name, **report._asdict()}))
            write_log(name, checkpoint.lines)
            progress(report)

        for number, start in enumerate(config.starts(), 1):
            path = folder / f"{name}-checkpoint{f'-{number}' if number > 1 else ''}.npz"
            checkpoint = checkpoints[start.seed] = ArraysCheckpoint(path, _hash(start, about), REMEDY, say)
            if state := checkpoint.load():
                say(f"going on after step {int(state['number']):,}")
                write_log(name, checkpoint.lines)
            fits.append(optimise(grammar, data, start, output_cfg, log, checkpoint))
            if config.restarts > 1:
                value = f"mean log p(x, y) {fits[-1].log_prob:.3f}"
                say(f"start {number} of {config.restarts}, seed {start.seed}: {value}")
        best = likeliest(fits)
        if config.restarts > 1:
            say(f"kept seed {best.seed}, the likeliest")
            write_log(name, checkpoints[best.seed].lines)
        return best

    with alone(folder):
        if resume and _is_fitted(folder, whole, say):
            say(f"{folder} holds this model already; --no-resume fits anew")
            _remove_checkpoints(folder)
            return None
        others = _other_lines(log_file)
        if not resume:
            _remove_checkpoints(folder)
            (folder / "forests.npz").unlink(missing_ok=True)
        fitted = fit_all(STAGES[0], examples, _forests(folder, grammar, examples, config, engine, say))
        if unlabelled:
            both, labelled = with_labels(fitted.model, examples, unlabelled, ratio, engine)
            copies = (len(both) - len(examples)) // max(1, labelled)
            say(f"{labelled:,} of {len(unlabelled):,} inputs labelled, {copies} times each; the others are not covered")
            fitted = fit_all(STAGES[1], both, build(grammar, both, config.max_units, engine))
        save_model(folder, fitted, config, whole)
        _remove_checkpoints(folder)
        return fitted


def _pair(example: Example) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return example.source, example.target


def _other_lines(path: Path) -> list[str]:
    """Read the lines of a log that are not of fitting."""
    if not path.exists():
        return []
    lines = [line for _, line in read_lines(path)]
    try:
        return [line for line in lines if parse_json(line).get("stage") not in STAGES]
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError("not JSON lines; remove the file", path) from error


def _is_fitted(folder: Path, mark: str, say: Callable[[str], None]) -> bool:
    path = folder / "model.npz"
    try:
        return path.exists() and load_arrays(path, REMEDY)[1].get("mark") == mark
    except DamagedError:
        say(f"{path}: {DAMAGED}; it is made anew")
        return False


def _remove_checkpoints(folder: Path) -> None:
    for stage in STAGES:
        for path in sorted(folder.glob(f"{stage}-checkpoint*.npz"), reverse=True):  # that before the last goes first
            path.unlink()


def _forests(
    folder: Path, grammar: Grammar, examples: Sequence[Example], config: FitConfig, engine: Engine,
    say: Callable[[str], None],
) -> ForestData:  # fmt: skip
    """Take the forests of the training pairs from the folder, if they are of these; otherwise build and keep them."""
    mark = _hash(*grammar, config.max_units, *map(_pair, examples))
    path = folder / "forests.npz"
    try:
        arrays, about = load_arrays(path, REMEDY) if path.exists() else ({}, {})
        if about.get("mark") == mark:
            left_out = tuple(Example(tuple(x), tuple(y)) for x, y in about["left_out"])
            copies = arrays.pop("copies")
            forests = Forests(**arrays)
            if not are_sound(forests, [rule.arity for rule in grammar], copies):
                raise DamagedError(DAMAGED, path)
            return ForestData(forests, copies, context_starts(grammar), left_out, engine)
    except (DamagedError, LookupError, TypeError, ValueError):
        say(f"{path}: {DAMAGED}; it is made anew")
    data = build(grammar, examples, config.max_units, engine)
    about = {"mark": mark, "left_out": [*map(_pair, data.left_out)]}
    save_arrays(path, {**data.forests._asdict(), "copies": data.copies}, about)
    return data


def save_model(folder: Path, fitted: Fitted, config: FitConfig, mark: str) -> None:
    """Write the parameters of a model, with its options, the mark of its fit, and what that found."""
    model = fitted.model
    save_arrays(
        folder / "model.npz",
        {"theta_context": model.theta_context, "theta_rule": model.theta_rule},
        {
            "grammar": _hash(*model.grammar), "fit": config.model_dump(), "mark": mark, "levels": model.levels,
            "steps": fitted.steps, "log_prob": fitted.log_prob,
            **({"kept": fitted.seed, "starts": fitted.starts} if config.restarts > 1 else {}),
        },
    )  # fmt: skip


def result_of(folder: Path) -> dict[str, Any]:
    """Read what the fit of a run folder found; with restarts also the seed that was kept, and log p(x, y) of each."""
    _, about = load_arrays(folder / "model.npz", REMEDY)
    return {key: about[key] for key in ("steps", "log_prob", "kept", "starts") if key in about}


def load_model(folder: Path) -> Model:
    """Read the model of a run folder."""
    grammar, output_cfg = read_run(folder)
    path = folder / "model.npz"
    if not path.exists():
        raise InputError("no model.npz in this folder; fit one with `csl fit`", folder)
    arrays, about = load_arrays(path, REMEDY)
    if about.get("grammar") != _hash(*grammar):
        raise InputError("fitted to another grammar than this folder's grammar.txt; fit again", path)
    try:
        context, rule = (np.asarray(arrays[name], np.float64) for name in ("theta_context", "theta_rule"))
        if np.isnan(context.max()) or np.isnan(rule.max()) or max(context.max(), rule.max()) == np.inf:
            raise ValueError("not numbers")
        levels = None if about.get("levels") is None else int(about["levels"])
        return Model(grammar, context, rule, output_cfg, int(about["fit"]["max_units"]), levels)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{DAMAGED}; {REMEDY}", path) from error
