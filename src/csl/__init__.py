"""CSL, the Compositional Structure Learner: grammars from pairs, and new pairs from grammars."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Example",
    "FitConfig",
    "GecaConfig",
    "Grammar",
    "InductionConfig",
    "Model",
    "OutputCfg",
    "Rule",
    "SampleConfig",
    "Seq2Seq",
    "TrainConfig",
    "augment",
    "fit",
    "geca",
    "induce",
    "read_examples",
    "read_grammar",
    "train",
]

if TYPE_CHECKING:
    from csl.api import augment, fit, geca, induce
    from csl.baselines.geca import GecaConfig
    from csl.examples import Example, read_examples
    from csl.grammar import Grammar, Rule, read_grammar
    from csl.grammar.output_cfg import OutputCfg
    from csl.induction.config import InductionConfig
    from csl.model.config import FitConfig
    from csl.model.model import Model
    from csl.sampling.config import SampleConfig
    from csl.seq2seq.config import TrainConfig
    from csl.seq2seq.predictor import Seq2Seq
    from csl.runs.training import train

_HOME = {
    "augment": "csl.api",
    "fit": "csl.api",
    "geca": "csl.api",
    "induce": "csl.api",
    "GecaConfig": "csl.baselines.geca",
    "Example": "csl.examples",
    "read_examples": "csl.examples",
    "Grammar": "csl.grammar",
    "Rule": "csl.grammar",
    "read_grammar": "csl.grammar",
    "OutputCfg": "csl.grammar.output_cfg",
    "InductionConfig": "csl.induction.config",
    "FitConfig": "csl.model.config",
    "Model": "csl.model.model",
    "SampleConfig": "csl.sampling.config",
    "train": "csl.runs.training",
    "TrainConfig": "csl.seq2seq.config",
    "Seq2Seq": "csl.seq2seq.predictor",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, only then: `import csl` is quick."""
    from importlib import import_module  # noqa: PLC0415 — this function is here to put imports off

    if name not in _HOME:
        raise AttributeError(f"module 'csl' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
