"""The options of GECA."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class GecaConfig(BaseModel):
    """What decides, beside the training set, which pairs are made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    window: Annotated[int, Field(ge=1, le=100, description="tokens of a span, at most")] = 4
    unique: Annotated[bool, Field(description="each pair once")] = False
    seed: Annotated[int, Field(ge=0, lt=2**63, description="of the order of swaps")] = 0
