"""The options of fitting and their presets (paper, "Hyperparameters"; the rest as in the published runs)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Inference = Literal["typed", "paper"]
INFERENCE: dict[Inference, str] = {
    "typed": "the best derivation whose types fit",
    "paper": "the best derivation of all, if its output is valid",
}


class FitConfig(BaseModel):
    """Everything, beside grammar and data, that decides the parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    states: Annotated[int, Field(ge=1, le=10_000, description="number of latent states |S|")] = 64
    optimizer: Annotated[Literal["adam", "em"], Field(description="adam, or em: expectation-maximisation")] = "adam"
    learning_rate: Annotated[float, Field(gt=0, le=10, description="of Adam")] = 0.01
    steps: Annotated[int, Field(ge=1, description="steps of Adam, or passes of EM, at most")] = 2000
    batch_size: Annotated[int, Field(ge=1, le=10**6, description="examples a step of Adam")] = 256
    max_units: Annotated[int, Field(ge=0, le=100, description="lone-nonterminal sources in a row, at most")] = 1
    denominator: Annotated[
        Literal["grammar", "batch"], Field(description="rules that p(r | s) is normalised over in a step of Adam")
    ] = "grammar"
    inference: Annotated[
        Inference, Field(description="with an output CFG: typed, or paper: the best derivation of all, if valid")
    ] = "typed"
    seed: Annotated[int, Field(ge=0, lt=2**63, description="of the initial parameters and the batches")] = 0
    restarts: Annotated[int, Field(ge=1, le=1000, description="fits, each with its own seed; the likeliest counts")] = 1

    def starts(self) -> "list[FitConfig]":
        """Give the options of each of the fits that `restarts` asks for; another seed has other starts."""
        first = self.seed * self.restarts
        return [self.model_copy(update={"seed": first + k, "restarts": 1}) for k in range(self.restarts)]


PRESETS = {
    "scan": FitConfig(states=2, steps=1000, max_units=0, restarts=5),
    "cogs": FitConfig(steps=3000),
    "geoquery": FitConfig(learning_rate=0.05),
    "smcalflow": FitConfig(steps=6000),
}


MANY_EXAMPLES = 5000
RULES_A_STATE = 4  # with fewer, states of a small grammar tell apart what many examples happen to have apart
EXAMPLES_A_STATE = 12  # with fewer, states tell contexts apart that are alike, and nothing new is drawn
EXAMPLES_FITTED = 4000  # in all starts together
RAW = FitConfig(states=32, optimizer="em", steps=50, restarts=5)  # for examples of raw text


def choose(rules: int, examples: int, *, prepared: bool = False) -> tuple[FitConfig, str]:
    """Choose options by the size of the data; return also the reason."""
    if prepared:
        states = max(2, min(RAW.states, examples // EXAMPLES_A_STATE))
        restarts = max(1, min(RAW.restarts, EXAMPLES_FITTED // max(1, examples)))
        config = RAW.model_copy(update={"states": states, "restarts": restarts})
        return config, f"raw text: {config.states} states, {config.steps} passes of EM, {config.restarts} starts"
    config = PRESETS["cogs" if examples > MANY_EXAMPLES else "geoquery"]
    if examples > MANY_EXAMPLES and rules < RULES_A_STATE * config.states:
        few = {"states": max(2, rules // RULES_A_STATE), "steps": 1000, "restarts": 5}
        config = config.model_copy(update=few)
    options = f"{config.states} states, {config.steps:,} steps, learning rate {config.learning_rate}"
    return config, f"{rules:,} rules and {examples:,} examples: {options}"
