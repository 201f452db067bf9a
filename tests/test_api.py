"""What `import csl` offers: from examples to grammar, model and augmented data in Python."""

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import csl
from csl.errors import CslError, InputError
from csl.grammar import parse_rule
from csl.runs.mixture import Mixture
from csl.runs.stages.check import check

PUBLIC = [
    "Augmented", "CslError", "Example", "FitConfig", "GecaConfig", "Grammar", "InductionConfig", "InputError", "Model",
    "OutputCfg", "Row", "Rule", "SampleConfig", "Sampler", "Seq2Seq", "TrainConfig", "augment", "fit", "geca", "induce",
    "read_examples", "read_grammar", "read_rows", "to_dataset", "train", "write_examples", "write_rows",
]  # fmt: skip
PAIRS = {
    "walk": "WALK", "run": "RUN", "jump": "JUMP", "walk twice": "WALK WALK", "run twice": "RUN RUN",
    "walk and run": "WALK RUN", "run twice and walk": "RUN RUN WALK", "run and walk twice": "RUN WALK WALK",
}  # fmt: skip
EM = csl.FitConfig(states=1, optimizer="em", max_units=0)
WORDS = "abcdefgh"


def pairs(count: int, prefix: str) -> list[csl.Example]:
    return [csl.Example.of(f"{prefix}{k}", f"{prefix}{k}") for k in range(count)]


@pytest.fixture(scope="module")
def examples() -> list[csl.Example]:
    return [csl.Example.of(x, y) for x, y in PAIRS.items()]


@pytest.fixture(scope="module")
def grammar(examples: list[csl.Example]) -> csl.Grammar:
    return csl.induce(examples)


def test_the_public_names() -> None:
    code = (
        "import csl, types; print(*(n for n in dir(csl) if n[0] != '_' and type(getattr(csl, n)) != types.ModuleType))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert sorted({*found} - {"Any", "Path", "import_module"}) == sorted(PUBLIC) == sorted(csl.__all__)
    stub = Path(csl.__file__).with_suffix(".pyi").read_text("utf-8")
    assert sorted(re.findall(r"import (\w+) as \1$", stub, re.MULTILINE)) == sorted(PUBLIC)
    assert all(getattr(csl, name) is not None for name in PUBLIC)
    with pytest.raises(AttributeError, match="indcue"):
        _ = csl.indcue  # type: ignore[attr-defined]


def test_import_is_light_and_functions_hide_no_modules() -> None:
    code = "import csl, sys; print(*({'torch', 'numba', 'numpy', 'pydantic', 'rich'} & sys.modules.keys()))\n"
    code += "first = csl.augment; assert csl.augment is first"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_a_model_parses_measures_and_is_saved(
    grammar: csl.Grammar, examples: list[csl.Example], tmp_path: Path
) -> None:
    model = csl.fit(grammar, examples, EM)
    parse = model.parse("jump twice and run")
    assert parse is not None
    assert parse.text == "JUMP JUMP RUN"
    assert model.parse("hop") is None
    assert model.log_prob("jump", "JUMP") > model.log_prob("jump twice", "JUMP JUMP") > -100
    assert model.log_prob("jump", "WALK") == -float("inf")
    model.save(tmp_path / "model.npz")
    loaded = csl.Model.load(tmp_path / "model.npz")
    assert loaded.parse("jump twice and run") == parse
    assert loaded.grammar == grammar


def test_pairs_that_are_left_out_are_counted(
    grammar: csl.Grammar, examples: list[csl.Example], caplog: pytest.LogCaptureFixture
) -> None:
    csl.fit(grammar, [*examples, csl.Example.of("hop", "HOP")], EM)
    assert [r.message[:1] for r in caplog.records if r.levelno == logging.WARNING and "hop → HOP" in r.message] == ["1"]
    with pytest.raises(InputError):
        csl.fit(grammar, [csl.Example.of("hop", "HOP")], EM)


def test_wrong_arguments_are_refused(grammar: csl.Grammar, examples: list[csl.Example], tmp_path: Path) -> None:
    for call in (
        lambda: csl.induce(examples, "scna"),
        lambda: csl.fit(grammar, examples, "scna"),
        lambda: csl.augment(examples, preset="scna"),
    ):
        with pytest.raises(InputError, match="'scan'"):
            call()
    with pytest.raises(InputError, match="threads"):
        csl.augment(examples, 20, threads=0)
    with pytest.raises(InputError, match=r"save"):
        csl.train(examples, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"Example\.of"):
        csl.Example("walk", "WALK")  # type: ignore[arg-type]


def test_examples_may_come_one_by_one_and_texts_are_split(grammar: csl.Grammar, examples: list[csl.Example]) -> None:
    assert csl.induce(example for example in examples) == grammar
    model = csl.fit(grammar, iter(examples), EM)
    assert model.parse_all(["jump twice"]) == [model.parse("jump twice")]
    assert model.log_prob_inputs(["jump twice"]) == model.log_prob_inputs([["jump", "twice"]])


# augmentation


def test_augment_gives_a_mixture_with_grammar_and_model(examples: list[csl.Example]) -> None:
    options: dict[str, Any] = {"sampling": csl.SampleConfig(max_depth=4, new=True, unique=True), "fit": EM}
    made = csl.augment(examples, 40, **options)
    assert len(made.synthetic) == len(set(made.synthetic)) == 40
    assert not set(made.synthetic) & set(examples)
    assert len(made) == len(list(made)) == 40 + 5 * len(examples)
    assert {e.meta["origin"] for e in made.weighted()} == {"original", "synthetic"}
    assert all(made.model.log_prob(e.source, e.target) > -float("inf") for e in made.synthetic)
    assert any("rules with nonterminals" in warning for warning in made.warnings)
    unchecked = csl.augment(examples, 40, **options, check=False, threads=2)
    assert (unchecked.synthetic, unchecked.warnings) == (made.synthetic, ())


def test_augment_takes_the_options_of_each_stage(examples: list[csl.Example]) -> None:
    induction = csl.InductionConfig(steps=1, k_t=1)
    made = csl.augment(examples, 5, induction=induction, fit=EM, check=False)
    assert made.grammar == csl.induce(examples, induction)
    assert made.model.theta_rule.shape == csl.fit(made.grammar, examples, EM).theta_rule.shape


def test_augment_without_anything_to_sample_keeps_the_examples(examples: list[csl.Example]) -> None:
    cfg = csl.OutputCfg.parse(["ROOT => WALK", "ROOT => RUN", "ROOT => JUMP"])
    rules = [parse_rule("NT_1 twice ### NT_1 NT_1")]
    made = csl.augment(examples[:3], 20, seed_rules=rules, output_cfg=cfg, check=False)
    assert list(made) == examples[:3]
    assert made.warnings[0].startswith("nothing to sample")


def test_the_check_learns_from_nine_tenths_and_not_from_what_is_held_out() -> None:
    examples = [csl.Example.of(x, x.upper()) for x in WORDS]
    examples += [csl.Example.of(f"{x} and {y}", f"{x} {y}".upper()) for x in WORDS for y in WORDS]
    found = check(examples, csl.InductionConfig(), EM, grammar=csl.Grammar())
    assert (found["examples"], found["covered"], found["right"]) == (8, 8, 8)
    one = check(examples[:1] * 3, csl.InductionConfig(), EM, grammar=csl.Grammar())
    assert (one["examples"], one["covered"]) == (1, 0)
    names = [csl.Example.of(f"call name{k}", f"CALL ( name{k} )") for k in range(100)]  # each occurs once
    assert any("only 0 of 30" in warning for warning in csl.augment(names, 10).warnings)


def test_a_strong_grammar_gets_no_warning_and_a_weak_or_flat_one_does() -> None:
    examples = [csl.Example.of(f"say {x} {y}", f"SAY ( {x} , {y} )") for x in WORDS for y in WORDS]
    strong = csl.Grammar(parse_rule(f"NT_1 {word} ### {word} NT_1") for word in WORDS)

    def warnings(grammar: csl.Grammar, cfg: csl.OutputCfg | None = None) -> list[str]:
        found = check(examples, csl.InductionConfig(), EM, grammar=grammar, auto=True, output_cfg=cfg)["warnings"]
        assert isinstance(found, list)
        return found

    flat = csl.OutputCfg.parse(f"ROOT => {e.target_text}" for e in examples)
    typed = csl.OutputCfg.parse(["ROOT => SAY ( ##W , ##W )", *(f"W => {word}" for word in WORDS)])
    assert warnings(strong) == warnings(strong, typed) == []
    assert len(warnings(csl.Grammar(list(strong)[:4]))) == 1
    assert any("output CFG" in warning for warning in warnings(strong, flat))


@given(st.integers(1, 60), st.integers(1, 60))
def test_original_pairs_are_repeated_until_both_parts_are_equal_up_to_rounding(a: int, b: int) -> None:
    mixture = Mixture(pairs(a, "x"), pairs(b, "y"))
    lines, rows = list(mixture), list(mixture.weighted())
    original = sum(e.source_text.startswith("x") for e in lines)
    assert len(lines) == len(mixture) == sum(int(row.meta["weight"]) for row in rows)
    assert len(lines) - original == b  # however few
    assert a >= b or abs(original - b) <= a / 2
    assert [row.meta["origin"] for row in rows] == ["original"] * a + ["synthetic"] * b
    assert list(Mixture(pairs(a, "x"), [])) == pairs(a, "x")


def test_a_data_set_has_four_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    rows = list(Mixture(pairs(1, "x"), pairs(2, "y")).to_dataset())
    assert rows[0] == {"input": "x0", "output": "x0", "weight": 2, "origin": "original"}
    assert [row["origin"] for row in rows] == ["original", "synthetic", "synthetic"]
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CslError, match="pip install"):
        Mixture(pairs(1, "x"), []).to_dataset()


# training


def test_train_gives_a_model_that_is_saved_and_loaded(examples: list[csl.Example], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    sizes: dict[str, Any] = {"layers": 1, "heads": 1, "d_model": 8, "d_ff": 8, "steps": 4, "max_target": 8}
    config = csl.TrainConfig(**sizes, batch_size=4)
    model = csl.train(examples, config, synthetic=examples[:2], dev=examples[:2], device="cpu")
    inputs = ["walk", "walk twice"]
    outputs = [found[0].text for found in model.predict(inputs)]
    model.save(tmp_path / "model")
    assert [found[0].text for found in csl.Seq2Seq.load(tmp_path / "model", "cpu").predict(inputs)] == outputs
