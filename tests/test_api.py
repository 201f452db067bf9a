"""What `import csl` offers: from examples to grammar, model and augmented data in Python."""

import subprocess
import sys

import pytest

import csl
from csl.api import augment
from csl.errors import InputError
from csl.grammar import parse_rule

PAIRS = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk twice": "WALK WALK", "run twice": "RUN RUN",
    "walk and run": "WALK RUN", "run twice and walk": "RUN RUN WALK", "run and walk twice": "RUN WALK WALK",
}  # fmt: skip
EM = csl.FitConfig(states=1, optimizer="em", max_units=0)


@pytest.fixture(scope="module")
def examples() -> list[csl.Example]:
    return [csl.Example.of(x, y) for x, y in PAIRS.items()]


@pytest.fixture(scope="module")
def grammar(examples: list[csl.Example]) -> csl.Grammar:
    return csl.induce(examples)


def test_every_name_is_there() -> None:
    assert all(getattr(csl, name) is not None for name in csl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'indcue'"):
        _ = csl.indcue  # type: ignore[attr-defined]


def test_augment_is_a_function_the_second_time_too() -> None:
    code = "import csl; first = csl.augment; assert csl.augment is first"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_import_is_light() -> None:
    code = "import csl, sys; print(*({'torch', 'numba', 'numpy', 'pydantic', 'rich'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_a_model_parses_and_measures(grammar: csl.Grammar, examples: list[csl.Example]) -> None:
    model = csl.fit(grammar, examples, EM)
    parse = model.parse("jump twice and run")
    assert parse is not None
    assert parse.text == "JUMP JUMP RUN"
    assert model.parse("hop") is None
    assert model.log_prob("jump", "JUMP") > model.log_prob("jump twice", "JUMP JUMP") > -100
    assert model.log_prob("jump", "WALK") == -float("inf")


def test_pairs_that_are_left_out_are_counted(grammar: csl.Grammar, examples: list[csl.Example]) -> None:
    with pytest.warns(UserWarning, match="1 pairs left out: the grammar does not derive them, or in too many ways"):
        csl.fit(grammar, [*examples, csl.Example.of("hop", "HOP")], EM)
    with pytest.raises(InputError, match="derives none of the training pairs"):
        csl.fit(grammar, [csl.Example.of("hop", "HOP")], EM)


@pytest.mark.parametrize("call", [csl.induce, augment])
def test_a_mistyped_preset_is_refused(call: object, examples: list[csl.Example]) -> None:
    with pytest.raises(InputError, match="did you mean 'scan'"):
        call(examples, config="scna")  # type: ignore[operator]


def test_augment_gives_a_mixture_with_grammar_and_model(examples: list[csl.Example]) -> None:
    drawing = csl.SampleConfig(max_depth=4, new=True, unique=True)
    made = augment(examples, 40, sampling=drawing)
    assert len(made.synthetic) == len(set(made.synthetic)) == 40
    assert not set(made.synthetic) & set(examples)
    assert len(made) == len(list(made)) == 40 + 5 * len(examples)
    assert {e.meta["origin"] for e in made.weighted()} == {"original", "synthetic"}
    assert all(made.model.log_prob(e.source, e.target) > -float("inf") for e in made.synthetic)
    assert any("rules with nonterminals" in warning for warning in made.warnings)
    assert made.synthetic == augment(examples, 40, sampling=drawing, threads=2).synthetic


def test_examples_may_come_one_by_one(grammar: csl.Grammar, examples: list[csl.Example]) -> None:
    assert csl.induce(example for example in examples) == grammar
    assert csl.fit(grammar, iter(examples), EM).parse("jump") is not None


def test_texts_are_split_into_tokens_or_refused(grammar: csl.Grammar, examples: list[csl.Example]) -> None:
    model = csl.fit(grammar, examples, EM)
    assert model.parse_all(["jump twice"]) == [model.parse("jump twice")]
    assert model.log_prob_inputs(["jump twice"]) == model.log_prob_inputs([["jump", "twice"]])
    with pytest.raises(InputError, match=r"'walk', 'WALK': a side is a tuple of tokens; for texts: Example\.of"):
        csl.Example("walk", "WALK")  # type: ignore[arg-type]


def test_augment_without_torch_says_what_it_does(examples: list[csl.Example], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("csl.api.find_spec", lambda name: None)
    made = augment(examples, 20)
    assert made.warnings[0] == "torch is not installed: fitted by expectation-maximisation instead of Adam"
    assert len(made.synthetic) == 20


def test_augment_without_anything_to_sample_keeps_the_examples(examples: list[csl.Example]) -> None:
    cfg = csl.OutputCfg.parse(["ROOT => WALK", "ROOT => RUN", "ROOT => JUMP"])
    made = augment(examples[:3], 20, seeds=[parse_rule("NT_1 twice ### NT_1 NT_1")], output_cfg=cfg)
    assert list(made) == examples[:3]
    assert made.warnings[0].startswith("nothing to sample, there are only the original pairs: ")


def test_no_threads_are_refused(examples: list[csl.Example]) -> None:
    with pytest.raises(InputError, match="0 threads can do nothing"):
        augment(examples, 20, threads=0)
