"""NQG in a run folder: the folder that `csl induce` makes, with another search behind the grammar, and its own model.

config.json      the options of the induction, what they were applied to, and a fingerprint of both
output.cfg       the output CFG, if there is one
grammar.txt      the grammar
metrics.jsonl    one line for each rule that was added
nqg/             the model: the encoder's sizes and tokenizer, weights.safetensors, and nqg.json, written last;
                 checkpoint.npz says where an unfinished fit stands

The grammar of `csl induce` serves as well: the model's files go to its folder, beside those of CSL's own model.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from csl import __version__
from csl.baselines.nqg.config import NqgFitConfig, NqgInductionConfig
from csl.baselines.nqg.induction import Addition, induce
from csl.examples import Example
from csl.files import hash_file, read_json, atomic_write, write_json, write_text
from csl.lock import folder_lock
from csl.errors import InputError
from csl.runs.checkpoint import ArraysCheckpoint
from csl.runs.fitting import read_run
from csl.grammar import Grammar, write_grammar
from csl.grammar.output_cfg import OutputCfg

if TYPE_CHECKING:
    from csl.baselines.nqg.encoder import Encoder
    from csl.baselines.nqg.fit import NqgFitted, NqgProgress
    from csl.baselines.nqg.model import NqgModel

REMEDY = "fit again with --no-resume"
MODEL, WEIGHTS, ABOUT = "nqg", "weights.safetensors", "nqg.json"


def fingerprint(examples: Sequence[Example], config: BaseModel, output_cfg: OutputCfg | None = None) -> str:
    """Hash what a run depends on."""
    digest = hashlib.sha256(f"nqg {config.model_dump_json()} {output_cfg}".encode("utf-8", "surrogatepass"))
    for example in examples:
        digest.update(f"{example.source} {example.target}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def induce_into(
    folder: Path,
    examples: Sequence[Example],
    config: NqgInductionConfig,
    *,
    output_cfg: OutputCfg | None = None,
    about: dict[str, object] | None = None,
    progress: Callable[[Addition], None] = lambda _: None,
) -> Grammar:
    """Induce a grammar into a run folder; one that holds another run is refused."""
    mark = fingerprint(examples, config, output_cfg)
    with folder_lock(folder):
        _check_free(folder, mark)
        lines: list[str] = []

        def log(added: Addition) -> None:
            lines.append(json.dumps({"stage": "nqg-induce", **added._asdict(), "rule": str(added.rule)}))
            progress(added)

        grammar = induce(examples, config, log)
        if output_cfg:
            output_cfg.write(folder / "output.cfg")
        write_text(folder / "metrics.jsonl", "".join(f"{line}\n" for line in lines))
        options = {"nqg_induction": config.model_dump(), **(about or {})}
        write_json(folder / "config.json", {"csl": __version__, "fingerprint": mark, **options})
        write_grammar(folder / "grammar.txt", grammar)
        return grammar


def _check_free(folder: Path, mark: str) -> None:
    """Refuse a folder that holds anything but the same run."""
    path = folder / "config.json"
    try:
        same = path.exists() and read_json(path)["fingerprint"] == mark
    except (ValueError, KeyError, TypeError):
        same = False
    if not same and any((folder / name).exists() for name in ("config.json", "grammar.txt", "train.json")):
        raise InputError("holds another run; name another folder with --out", folder)


def save_model(folder: Path, model: "NqgModel") -> None:
    """Write a model to a run folder."""
    from safetensors.torch import save  # noqa: PLC0415 — only models need it

    place = folder / MODEL
    with folder_lock(folder):
        (place / ABOUT).unlink(missing_ok=True)
        model.encoder.sizes.save_pretrained(place)
        model.encoder.tokenizer.save_pretrained(place)
        weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        with atomic_write(place / WEIGHTS) as file:
            file.write(save(weights))
        mark, weights_mark = _grammar_mark(model.grammar), hash_file(place / WEIGHTS)
        write_json(place / ABOUT, {"grammar": mark, "fit": model.config.model_dump(), "sha256": weights_mark})


def fit_into(
    folder: Path,
    examples: Sequence[Example],
    encoder: str,
    config: NqgFitConfig,
    *,
    device: str = "cpu",
    resume: bool = True,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[["NqgProgress"], None] = lambda _: None,
) -> "NqgFitted":
    """Fit a model to the grammar of a run folder, with a pretrained encoder, and keep it there.

    A fit that was stopped goes on, unless `resume` is off.
    """
    from csl.baselines.nqg.encoder import Encoder  # noqa: PLC0415 — torch only where it is needed
    from csl.baselines.nqg.fit import fit  # noqa: PLC0415

    grammar, output_cfg = read_run(folder)
    loaded = Encoder.load(encoder)
    mark = " ".join([fingerprint(examples, config), _grammar_mark(grammar), _weights_mark(loaded)])
    checkpoint = ArraysCheckpoint(folder / MODEL / "checkpoint.npz", mark, REMEDY, say)

    def log(report: "NqgProgress") -> None:
        checkpoint.log(json.dumps(report._asdict()))
        progress(report)

    with folder_lock(folder):
        if not resume:
            checkpoint.remove()
        if state := checkpoint.load():
            say(f"going on after step {int(state['number']):,}")
        fitted = fit(
            grammar, examples, loaded, config, output_cfg=output_cfg, device=device, progress=log, checkpoint=checkpoint
        )
        save_model(folder, fitted.model)
        checkpoint.remove()
        return fitted


def load_model(folder: Path, device: str = "cpu") -> "NqgModel":
    """Read the model of a run folder."""
    from safetensors.torch import load_file  # noqa: PLC0415

    from csl.baselines.nqg.encoder import Encoder  # noqa: PLC0415 — torch only where it is needed
    from csl.baselines.nqg.model import NqgModel  # noqa: PLC0415

    grammar, output_cfg = read_run(folder)
    place = folder / MODEL
    if not (place / ABOUT).exists():
        raise InputError("no model of NQG in this folder; fit one with `csl nqg fit`", folder)
    try:
        about = read_json(place / ABOUT)
        config, mark, weights_mark = NqgFitConfig.model_validate(about["fit"]), about["grammar"], about["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("damaged file; fit again", place / ABOUT) from error
    if mark != _grammar_mark(grammar):
        raise InputError("fitted to another grammar than this folder's grammar.txt; fit again", place)
    if hash_file(place / WEIGHTS) != weights_mark:
        raise InputError("damaged file; fit again", place / WEIGHTS)
    model = NqgModel(grammar, Encoder.load(place, new_weights=True), config, output_cfg)
    try:
        model.load_state_dict(load_file(place / WEIGHTS))
    except Exception as error:  # what damaged weights raise differs by library and version
        raise InputError("damaged file; fit again", place / WEIGHTS) from error
    return model.to(device).eval()


def _grammar_mark(grammar: Grammar) -> str:
    return hashlib.sha256("\n".join(map(str, grammar)).encode("utf-8", "surrogatepass")).hexdigest()


def _weights_mark(encoder: "Encoder") -> str:
    digest = hashlib.sha256()
    for name, values in encoder.state_dict().items():
        digest.update(f"{name} {tuple(values.shape)}".encode())
        digest.update(values.numpy().tobytes())
    return digest.hexdigest()
