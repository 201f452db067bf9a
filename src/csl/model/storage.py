"""A model in one file: its parameters, its grammar and its output CFG."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from csl.arrays import load_arrays, save_arrays
from csl.errors import InputError
from csl.grammar.notation import parse_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.model.config import INFERENCE

if TYPE_CHECKING:
    from csl.model.model import Model

REMEDY = "fit again with --no-resume"


def save_model(model: "Model", path: Path | str) -> None:
    """Write a model; the file is replaced as a whole, and has a checksum."""
    cfg = [str(production) for production in model.output_cfg.productions] if model.output_cfg else None
    save_arrays(
        Path(path),
        {"theta_context": model.theta_context, "theta_rule": model.theta_rule},
        {
            "grammar": [str(rule) for rule in model.grammar], "output_cfg": cfg, "max_units": model.max_units,
            "levels": model.levels, "inference": model.inference,
        },
    )  # fmt: skip


def load_model(path: Path | str) -> "Model":
    """Read a model; a damaged file is refused."""
    from csl.model.model import Model  # noqa: PLC0415 — it has these two as methods

    arrays, about = load_arrays(Path(path), REMEDY)
    try:
        context, rule = (np.asarray(arrays[name], np.float64) for name in ("theta_context", "theta_rule"))
        if np.isnan(context.max()) or np.isnan(rule.max()) or max(context.max(), rule.max()) == np.inf:
            raise ValueError("not numbers")
        cfg = None if about["output_cfg"] is None else OutputCfg.parse(about["output_cfg"])
        levels = None if about["levels"] is None else int(about["levels"])
        inference = about.get("inference", "typed")  # files of earlier versions do not name it
        if inference not in INFERENCE:
            raise ValueError("no such way to parse")
        return Model(parse_grammar(about["grammar"]), context, rule, cfg, int(about["max_units"]), levels, inference)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"damaged file; {REMEDY}", path) from error
