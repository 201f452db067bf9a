"""NQG, the predecessor of CSL (Shaw et al. 2021): its search for a grammar, and its model on its own or CSL's grammar.

The model is in the folder `nqg`: the encoder's sizes and tokenizer, weights.safetensors, and nqg.json, written last.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csl.baselines.nqg.config import NqgFitConfig, NqgInductionConfig
from csl.baselines.nqg.induction import Addition, induce
from csl.errors import InputError
from csl.examples import split_tokens
from csl.files import atomic_write, hash_file, hash_folder, link, read_json, write_json, write_text
from csl.grammar import Grammar, read_grammar, write_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.hub import need_torch
from csl.log import Log
from csl.runs.folder import Figures, RunFolder
from csl.runs.recipe import NqgOptions, Recipe, only
from csl.runs.stage import Stage, Work
from csl.seq2seq.predictions import Prediction

if TYPE_CHECKING:
    from csl.baselines.nqg.fit import NqgProgress
    from csl.baselines.nqg.model import NqgModel

log = Log("nqg")
MODEL, WEIGHTS, ABOUT = "nqg", "weights.safetensors", "nqg.json"
DAMAGED = "damaged file; fit again with --no-resume"
EVERY = 100  # rules between two lines of progress


class NqgInduce(Stage):
    """Induce a grammar as NQG does, in a run folder or in a folder `place` of it."""

    keeps = True
    group = "nqg"
    reads = ("data/train.tsv",)
    may_read = ("prepared/",)

    def __init__(self, name: str = "nqg_induce", place: str = "") -> None:
        self.name, self._place = name, place
        prefix = f"{place}/" if place else ""
        self.artefacts = {
            f"{prefix}grammar.txt": "the grammar that NQG induced",
            f"metrics/{name}.jsonl": "NQG's induction, a line for each rule",
        }

    def applies(self, recipe: Recipe) -> bool:
        return bool(recipe.nqg.encoder) or not self._place  # without a place it is all of `csl nqg induce`

    def options(self, work: Work) -> Any:
        return only(NqgInductionConfig, work.recipe.nqg).model_dump()

    def run(self, work: Work) -> Figures:
        lines: list[str] = []

        def report(added: Addition) -> None:
            lines.append(json.dumps({"stage": "nqg-induce", **added._asdict(), "rule": str(added.rule)}))
            if added.step % EVERY == 0:
                log.progress(f"NQG: inducing: gain {added.gain:,.1f}, {added.rules:,} rules: {added.rule}")

        log.progress("NQG: inducing a grammar (the first run compiles for a while) …")
        grammar = induce(work.folder.training(), only(NqgInductionConfig, work.recipe.nqg), report)
        write_text(work.folder.path / "metrics" / f"{self.name}.jsonl", "".join(f"{line}\n" for line in lines))
        write_grammar(work.folder.path / self._place / "grammar.txt", grammar)
        return {"rules": len(grammar), "arities": [rule.arity for rule in grammar].count(0)}

    def summary(self, figures: Figures) -> str:
        return f"{figures['rules']:,} rules, {figures['rules'] - figures['arities']:,} with nonterminals"


class NqgFit(Stage):
    """Fit NQG's model, a pretrained encoder and scores of rules at spans, to a grammar.

    The grammar is that in `place`, or (paper, "BERT + SpanLabel") the artefact `grammar`, which is linked there.
    """

    group = "nqg"

    def __init__(
        self, name: str = "nqg_fit", place: str = "", system: str = "", label: str = "", grammar: str = ""
    ) -> None:
        self.name, self._place, self.system, self.label = name, place, system, label
        self._linked = bool(grammar)
        self._grammar = grammar or f"{place}/grammar.txt".lstrip("/")
        self.reads, self.may_read = ("data/train.tsv", self._grammar), ("data/output.cfg", "prepared/")
        own = {f"{place}/grammar.txt": "the grammar of the run"} if grammar else {}
        self.artefacts = own | {
            f"{place}/nqg/".lstrip("/"): "NQG's model: `csl nqg parse`, `csl nqg evaluate`",
            f"metrics/{name}.jsonl": "NQG's fit, a line each report",
        }

    def applies(self, recipe: Recipe) -> bool:
        return bool(recipe.nqg.encoder)

    def options(self, work: Work) -> Any:
        return fit_options(work.recipe.nqg)

    def check_installed(self) -> None:
        need_torch()

    def run(self, work: Work) -> Figures:
        from csl.baselines.nqg.encoder import Encoder  # noqa: PLC0415 — torch only where it is needed
        from csl.baselines.nqg.fit import fit  # noqa: PLC0415
        from csl.seq2seq.predictor import choose_device  # noqa: PLC0415

        folder, place = work.folder, work.folder.path / self._place
        if self._linked:
            link(folder.path / self._grammar, place / "grammar.txt")
        if cfg := folder.output_cfg():
            cfg.write(place / MODEL / "output.cfg")
        checkpoint = folder.checkpoint(self.name, work.key, self.name)
        if state := checkpoint.load():
            log.info(f"{self.name}: resuming after step {int(state['number']):,}")

        def report(progress: "NqgProgress") -> None:
            checkpoint.log(json.dumps(progress._asdict()))
            log.progress(
                f"{self.name}: step {progress.step:,} of {progress.steps:,}, mean log p(y | x) {progress.log_prob:.3f}"
            )

        log.progress(f"{self.name}: loading the encoder, building forests …")
        fitted = fit(
            read_grammar(place / "grammar.txt"), folder.training(), Encoder.load(work.recipe.nqg.encoder),
            only(NqgFitConfig, work.recipe.nqg), output_cfg=cfg, device=str(choose_device(work.device)),
            progress=report, checkpoint=checkpoint,
        )  # fmt: skip
        if fitted.left_out:
            log.warning(f"{len(fitted.left_out):,} pairs left out: the grammar does not derive them")
        save_model(place, fitted.model)
        parameters = sum(weights.numel() for weights in fitted.model.parameters())
        return {
            "rules": len(fitted.model.grammar), "left_out": len(fitted.left_out), "log_prob": fitted.log_prob,
            "parameters": parameters,
        }  # fmt: skip

    def summary(self, figures: Figures) -> str:
        return f"{figures['rules']:,} rules, mean log p(y | x) {figures['log_prob']:.2f}"

    def predict(self, work: Work, inputs: Sequence[str]) -> list[Prediction]:
        from csl.seq2seq.predictor import choose_device  # noqa: PLC0415

        model = load_model(work.folder.path / self._place, str(choose_device(work.device)))
        parses = model.parse_all([split_tokens(line) for line in inputs])
        return [Prediction(found.text if found else "") for found in parses]


def fit_options(options: NqgOptions) -> dict[str, Any]:
    """Give the options of NQG's model as JSON."""
    encoder = Path(options.encoder)
    contents = {"contents": hash_folder(encoder, deep=False)} if options.encoder and encoder.is_dir() else {}
    return only(NqgFitConfig, options).model_dump() | {"encoder": options.encoder} | contents


def save_model(place: Path, model: "NqgModel") -> None:
    """Write a model beside its grammar."""
    from safetensors.torch import save  # noqa: PLC0415 — only models need it

    folder = place / MODEL
    model.encoder.sizes.save_pretrained(folder)
    model.encoder.tokenizer.save_pretrained(folder)
    weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    with atomic_write(folder / WEIGHTS) as file:
        file.write(save(weights))
    about = {
        "grammar": _hash(model.grammar), "fit": model.config.model_dump(), "sha256": hash_file(folder / WEIGHTS)
    }  # fmt: skip
    write_json(folder / ABOUT, about)


def load_model(place: Path, device: str = "cpu") -> "NqgModel":
    """Read the model beside a grammar."""
    from safetensors.torch import load_file  # noqa: PLC0415

    from csl.baselines.nqg.encoder import Encoder  # noqa: PLC0415 — torch only where it is needed
    from csl.baselines.nqg.model import NqgModel  # noqa: PLC0415

    grammar, folder = RunFolder.open(place).grammar(), place / MODEL
    if not (folder / ABOUT).exists():
        raise InputError("no model of NQG in this folder; fit one with `csl nqg fit`", place)
    try:
        about = read_json(folder / ABOUT)
        config, mark, weights_mark = NqgFitConfig.model_validate(about["fit"]), about["grammar"], about["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(DAMAGED, folder / ABOUT) from error
    if mark != _hash(grammar):
        raise InputError("fitted to another grammar than grammar.txt; fit again", folder)
    if hash_file(folder / WEIGHTS) != weights_mark:
        raise InputError(DAMAGED, folder / WEIGHTS)
    cfg = OutputCfg.read(folder / "output.cfg") if (folder / "output.cfg").exists() else None
    model = NqgModel(grammar, Encoder.load(folder, new_weights=True), config, cfg)
    try:
        model.load_state_dict(load_file(folder / WEIGHTS))
    except Exception as error:  # what damaged weights raise differs by library and version
        raise InputError(DAMAGED, folder / WEIGHTS) from error
    return model.to(device).eval()


def _hash(grammar: Grammar) -> str:
    return hashlib.sha256("\n".join(map(str, grammar)).encode("utf-8", "surrogatepass")).hexdigest()
