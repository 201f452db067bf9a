"""The options of NQG's induction and of its model, and their presets."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MAX_NONTERMINALS = 2  # of a rule; what NQG is limited to


class NqgInductionConfig(BaseModel):
    """Everything, beside the data, that decides which grammar NQG induces."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    k_t: Annotated[float, Field(gt=0, le=1e6, description="code length of a terminal")] = 8.0
    k_nt: Annotated[float, Field(gt=0, le=1e6, description="code length of a nonterminal")] = 1.0
    sample_size: Annotated[int, Field(ge=0, description="learn from so many of the shortest inputs; 0: all")] = 0
    evidence: Annotated[int, Field(ge=1, description="examples that a candidate's effect on outputs is seen on")] = 10
    repeated_target: Annotated[bool, Field(description="may a nonterminal occur more than once in a target?")] = True
    lone_target: Annotated[bool, Field(description="may a target be a lone nonterminal?")] = True
    seed: Annotated[int, Field(ge=0, lt=2**63, description="of the draws of examples as evidence")] = 0


PRESETS = {
    "scan": NqgInductionConfig(k_t=32, sample_size=500),
    "cogs": NqgInductionConfig(),
    "geoquery": NqgInductionConfig(repeated_target=False, lone_target=False),
}


class NqgFitConfig(BaseModel):
    """Everything, beside grammar, encoder and data, that decides NQG's model."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    hidden: Annotated[int, Field(ge=1, le=10**5, description="units of the layers that look at a span")] = 256
    embedding: Annotated[int, Field(ge=1, le=10**5, description="dimensions of e_r")] = 64
    dropout: Annotated[float, Field(ge=0, lt=1, description="of the encoder's vectors")] = 0.1
    learning_rate: Annotated[float, Field(gt=0, description="of Adam, for all but the encoder")] = 1e-3
    encoder_rate: Annotated[float, Field(ge=0, description="of Adam, for the encoder; 0: it stays as it is")] = 1e-4
    steps: Annotated[int, Field(ge=1, le=10**9, description="steps of Adam; rates fall to 0 on the way")] = 2000
    batch_size: Annotated[int, Field(ge=1, le=10**6, description="examples a step")] = 32
    max_units: Annotated[int, Field(ge=0, le=100, description="lone-nonterminal sources in a row, at most")] = 1
    seed: Annotated[int, Field(ge=0, lt=2**63, description="of new parameters, batches and dropout")] = 0
