"""The options of grammar induction and their presets (paper, table "Hyperparameters for grammar induction")."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class InductionConfig(BaseModel):
    """Everything, beside the data, that decides which grammar is induced."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    k_alpha: Annotated[float, Field(ge=0, le=1e6, description="weight of log p̂(α | β)")] = 4.0
    k_beta: Annotated[float, Field(ge=0, le=1e6, description="weight of log p̂(β | α)")] = 16.0
    search: Annotated[
        Literal["paper", "deep", "auto"],
        Field(
            description="paper; deep: moves of several rules at the end; auto: these if they save a third; not with nqg"
        ),
    ] = "paper"
    objective: Annotated[
        Literal["csl", "nqg"], Field(description="csl, or nqg: p̂ gives way to the code length of outputs given inputs")
    ] = "csl"
    evidence: Annotated[int, Field(ge=1, description="examples that nqg sees the effect of a rule on outputs on")] = 10
    logarithm: Annotated[
        Literal["log2", "ln"], Field(description="of p̂: log2 as in the published system, or ln as the paper prints it")
    ] = "log2"
    k_t: Annotated[float, Field(gt=0, le=1e6, description="cost of a terminal")] = 8.0
    k_nt: Annotated[float, Field(gt=0, le=1e6, description="cost of a nonterminal")] = 1.0
    max_nonterminals: Annotated[int, Field(ge=1, le=8, description="largest arity of a rule")] = 4
    repeated_target: Annotated[bool, Field(description="may a nonterminal occur more than once in a target?")] = True
    lone_target: Annotated[bool, Field(description="may a target be a lone nonterminal, as in ⟨the NT_1, NT_1⟩?")] = (
        True
    )
    frame: Annotated[
        bool, Field(description="with an output CFG: a seed rule for what all outputs begin and end with?")
    ] = False
    partitions: Annotated[
        int, Field(ge=1, description="parts of the data, by length, that are learnt one after the other")
    ] = 1
    steps: Annotated[int, Field(ge=1, description="at most so many steps a partition")] = 20
    max_units: Annotated[
        int, Field(ge=0, le=100, description="lone-nonterminal sources in a row in a derivation, at most")
    ] = 2
    sample_size: Annotated[int, Field(ge=0, description="examples for p̂, drawn at random; 0: all")] = 0
    drop_duplicates: Annotated[bool, Field(description="count equal examples once in p̂")] = False
    seed: Annotated[int, Field(ge=0, lt=2**63, description="for drawing the examples of sample_size")] = 0


PRESETS = {
    "scan": InductionConfig(
        k_alpha=0, k_beta=100, k_t=4, max_nonterminals=2, partitions=16, steps=5, drop_duplicates=True
    ),
    "cogs": InductionConfig(k_alpha=1, k_beta=5),
    "geoquery": InductionConfig(repeated_target=False, frame=True),
    "smcalflow": InductionConfig(),
}
"""The paper's settings, but for `frame`, and lone targets, which the published system has for SCAN and COGS only."""
