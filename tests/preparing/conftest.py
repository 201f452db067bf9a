"""A model of a small set of raw pairs, learnt once for all tests."""

from dataclasses import dataclass

import pytest

from csl.examples import Example
from csl.induction.auto import for_raw_text
from csl.induction.induce import induce
from csl.model.config import FitConfig
from csl.model.fit import fit
from csl.model.model import Model
from csl.preparing.preparation import Prepared, prepare

from ..raw import GEO


@dataclass(frozen=True)
class Learnt:
    """Raw pairs as they are given and prepared, and a model of them."""

    pairs: list[Example]
    prepared: Prepared
    model: Model


@pytest.fixture(scope="session")
def learnt() -> Learnt:
    prepared = prepare(GEO)
    cfg, seeds = prepared.categories.cfg, prepared.seed_rules
    grammar = induce(prepared.examples, for_raw_text(prepared.examples).config, seeds=seeds, output_cfg=cfg).grammar
    config = FitConfig(states=4, steps=20, optimizer="em")
    model = fit(grammar, prepared.examples, config, output_cfg=cfg).model
    return Learnt([Example.of(*pair) for pair in GEO], prepared, model)
