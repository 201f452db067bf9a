"""The options of training a sequence-to-sequence model (paper, "T5 Fine-Tuning" under "Hyperparameters")."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCRATCH = "scratch"


class TrainConfig(BaseModel):
    """Everything, beside the data, that decides the weights."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=())

    model: Annotated[str, Field(description="a Hugging Face name or folder; scratch: a new T5")] = SCRATCH
    prefix: Annotated[
        str | None,
        Field(description="put before every input of a pretrained model; default: `semanticparse: `, decoder none"),
    ] = None
    system: Annotated[str | None, Field(description="first message of every chat, for models with a template")] = None
    lora: Annotated[
        int | None, Field(ge=1, le=4096, description="rank of LoRA adapters to train; default: all weights are trained")
    ] = None
    max_source: Annotated[int, Field(ge=1, le=10**6, description="tokens of an input, at most; the rest is cut")] = 512
    max_target: Annotated[int, Field(ge=1, le=10**6, description="tokens of an output, at most; the rest is cut")] = 256
    synthetic: Annotated[float, Field(ge=0, le=1, description="share of synthetic pairs in training")] = 0.5
    candidates: Annotated[
        int, Field(ge=1, le=1000, description="synthetic pairs that each is chosen from, by the model's loss; 1: none")
    ] = 1
    steps: Annotated[int, Field(ge=1, le=10**9, description="updates")] = 2000
    batch_size: Annotated[int, Field(ge=1, le=10**6, description="pairs an update, over all processes")] = 128
    micro_batch_size: Annotated[
        int | None, Field(ge=1, le=10**6, description="pairs a pass, of similar length; default: all, 32 on the CPU")
    ] = None
    optimizer: Annotated[Literal["adafactor", "adamw"], Field(description="adafactor or adamw")] = "adamw"
    learning_rate: Annotated[
        float | None,
        Field(gt=0, description="reached after the warm-up; default: 0.001, new model 0.0003, decoder 0.0001"),
    ] = None
    schedule: Annotated[
        Literal["constant", "linear"], Field(description="of the rate: constant, or linear to 0 at the last step")
    ] = "constant"
    warmup: Annotated[int, Field(ge=0, le=10**9, description="steps in which the rate rises from 0")] = 100
    precision: Annotated[
        Literal["auto", "bf16", "fp32"], Field(description="auto: bf16 where GPU or CPU has it, else fp32")
    ] = "auto"
    evaluate_every: Annotated[
        int, Field(ge=1, le=10**9, description="steps between evaluations, and between checkpoints")
    ] = 500
    dropout: Annotated[
        float | None, Field(ge=0, lt=1, description="default: as the checkpoint has it, none in a new model")
    ] = None
    seed: Annotated[int, Field(ge=0, lt=2**32, description="of new weights, dropout and batches")] = 0

    # for a new model only
    layers: Annotated[int, Field(ge=1, le=256, description="of encoder and decoder each")] = 3
    heads: Annotated[int, Field(ge=1, le=256, description="of attention, of 64 dimensions each")] = 4
    d_model: Annotated[int, Field(ge=1, le=16_384, description="width of the residual stream")] = 256
    d_ff: Annotated[int, Field(ge=1, le=65_536, description="width of the feed-forward layers")] = 1024

    @property
    def rate(self) -> float:
        """The learning rate; a rate that suits pretrained models makes new ones diverge."""
        return self.learning_rate or (3e-4 if self.model == SCRATCH else 1e-3)

    def for_decoder(self) -> "TrainConfig":
        """Choose what depends on the kind of model: all weights of a decoder diverge at a rate that suits T5."""
        return self.model_copy(update={"learning_rate": self.learning_rate or (1e-3 if self.lora else 1e-4)})
