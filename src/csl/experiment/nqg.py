"""NQG in a run folder: the folder that `csl induce` makes, with another search behind the grammar, and its own model.

config.json      the options of the induction, what they were applied to, and a fingerprint of both
output.cfg       the output CFG, if there is one
grammar.txt      the grammar
metrics.jsonl    one line for each rule that was added
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from csl import __version__
from csl.baselines.nqg.config import NqgInductionConfig
from csl.baselines.nqg.induction import Addition, induce
from csl.data import Example
from csl.data.files import read_json, write_json, write_text
from csl.data.lock import alone
from csl.errors import InputError
from csl.grammar import Grammar, write_grammar
from csl.grammar.output_cfg import OutputCfg


def fingerprint(examples: Sequence[Example], config: NqgInductionConfig, output_cfg: OutputCfg | None) -> str:
    """Hash all that a run depends on."""
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
    with alone(folder):
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
