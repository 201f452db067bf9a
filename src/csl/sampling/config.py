"""The options of sampling and their presets (paper, "Sampling" under "Hyperparameters")."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from csl.errors import InputError

DEEPEST = 200  # levels of a derivation that can be asked for
Strategy = Literal["model", "tempered", "forward", "uniform", "coverage"]
TEMPERED = ("tempered", "forward")  # strategies that a temperature has an effect on


class SampleConfig(BaseModel):
    """What decides, beside grammar and model, which pairs are drawn.

    - `model`: from the model's own p(x, y), given that the output is valid and the derivation not too deep. Samples
      look like the training data, recombined.
    - `tempered`: the same with θ_{s,r} divided by the temperature: rarer combinations come up more often. For skewed
      data, where what matters is rare.
    - `forward`: the paper's. From the top, each nonterminal draws its rule from the model's p(r | context), among
      those with which the derivation can still be finished. Temperature and δ act on each of these choices.
    - `uniform`: the same with all rules alike, which is the paper's temperature ∞. Needs no model.
    - `coverage`: like `uniform`, but rules that were used least in their context, in training and so far, come first.
      Unseen combinations come up early: for small samples, and to see what a grammar allows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    strategy: Annotated[Strategy, Field(description="model, tempered, forward, uniform or coverage")] = "model"
    temperature: Annotated[
        float, Field(gt=0, description="of strategies tempered and forward; inf: all rules alike")
    ] = 1.0
    depths: Annotated[
        Literal["model", "even"], Field(description="as in the model, or even: each number of levels equally often")
    ] = "model"
    depth_bias: Annotated[float, Field(ge=0, le=100, description="δ, added to θ of rules with many nonterminals")] = 0.0
    bias_above: Annotated[int, Field(ge=0, description="rules with more nonterminals than this get δ")] = 1
    balance: Annotated[
        float, Field(ge=1, le=1000, description="draws for a pair that is kept: those with rare rules come first")
    ] = 1.0
    output_power: Annotated[
        float, Field(ge=0, le=1, description="p: an output drawn n times comes up n^p times; 1: as drawn, 0: once")
    ] = 1.0
    max_depth: Annotated[
        int,
        Field(ge=0, le=DEEPEST, description="levels of a derivation, at most; 0: as many as training needs"),
    ] = 20
    min_depth: Annotated[
        int, Field(ge=1, description="levels of a derivation, at least; forward, uniform and coverage: 1 or 2")
    ] = 2
    max_length: Annotated[int, Field(ge=1, le=10**6, description="tokens of a side, at most")] = 256
    unique: Annotated[bool, Field(description="each pair once")] = False
    new: Annotated[bool, Field(description="drop pairs that are in the training set")] = False
    seed: Annotated[int, Field(ge=0, lt=2**63, description="of the draws")] = 0

    @property
    def needs_model(self) -> bool:
        """Whether pairs are drawn from the model, not only from the grammar."""
        return self.strategy in ("model", "tempered", "forward")

    @property
    def is_local(self) -> bool:
        """Whether rules are chosen one at a time, whatever derivations a choice leads to."""
        return self.strategy in ("forward", "uniform", "coverage")

    def check(self) -> None:
        """Refuse options that exclude each other."""
        if 0 < self.max_depth < self.min_depth:
            raise InputError(f"min_depth {self.min_depth} is more than max_depth {self.max_depth}")
        if self.temperature != 1 and self.strategy not in TEMPERED:
            raise InputError(f"a temperature is for strategies {' and '.join(TEMPERED)}, not {self.strategy}")
        if self.depths == "even" and self.strategy == "forward":
            raise InputError("depths = even is for strategies model and tempered; choose depths = model with forward")
        if self.min_depth > 2 and self.is_local:
            raise InputError(f"strategy {self.strategy} takes a min_depth of 1 or 2, not {self.min_depth}")


PRESETS = {
    "raw": SampleConfig(strategy="tempered", temperature=2.0),
    "auto": SampleConfig(strategy="tempered", temperature=2.0, depths="even", max_depth=0),
    "scan": SampleConfig(max_depth=5),
    "cogs": SampleConfig(depths="even"),
    "geoquery": SampleConfig(strategy="tempered", temperature=2.0, depths="even", max_depth=12, output_power=0.5),
    "smcalflow": SampleConfig(strategy="uniform", max_depth=10),
}
