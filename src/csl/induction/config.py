"""The options of grammar induction, their presets, and the defaults that look at the data."""

from pydantic import BaseModel, ConfigDict, Field


class InductionConfig(BaseModel):
    """Everything that decides which grammar is induced (paper, table "Hyperparameters for grammar induction")."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k_alpha: float = Field(4.0, ge=0, description="weight of log2 p̂(α | β)")
    k_beta: float = Field(16.0, ge=0, description="weight of log2 p̂(β | α)")
    k_t: float = Field(8.0, gt=0, description="cost of a terminal")
    k_nt: float = Field(1.0, gt=0, description="cost of a nonterminal")
    max_nonterminals: int = Field(4, ge=1, le=8, description="largest arity of a rule")
    repeated_target: bool = Field(True, description="may a nonterminal occur more than once in a target?")
    lone_target: bool = Field(False, description="may a target be a lone nonterminal?")
    partitions: int = Field(1, ge=1, description="parts of the data, by length, that are learnt one after the other")
    steps: int = Field(20, ge=1, description="at most so many steps a partition")
    max_units: int = Field(2, ge=0, description="lone-nonterminal sources in a row in a derivation, at most")
    sample_size: int = Field(0, ge=0, description="examples for p̂, drawn at random; 0: all")
    drop_duplicates: bool = Field(False, description="count equal examples once in p̂")
    seed: int = Field(0, ge=0, description="for drawing the examples of sample_size")


PRESETS = {
    "scan": InductionConfig(
        k_alpha=0, k_beta=100, k_t=4, max_nonterminals=2, lone_target=True, partitions=16, steps=5, drop_duplicates=True
    ),
    "cogs": InductionConfig(k_alpha=1, k_beta=5, lone_target=True),
    "geoquery": InductionConfig(repeated_target=False),
    "smcalflow": InductionConfig(),
}
