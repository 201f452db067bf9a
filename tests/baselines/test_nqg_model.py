"""NQG's model against an enumeration of all derivations; its gradient; what it learns; and its files."""

from math import exp, fsum, log
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from csl.baselines.nqg.config import NqgFitConfig
from csl.baselines.nqg.encoder import Encoder
from csl.baselines.nqg.fit import CHECK, LogMarginal, NqgProgress, PairData, fit
from csl.baselines.nqg.model import NqgModel
from csl.cli import app
from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.grammar import Grammar, Nt, Rule, parse_grammar, write_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.parsing.derivation import Derivation
from csl.runs.checkpoint import Checkpoint
from csl.runs.stages.nqg import load_model, save_model

from ..grammars import all_derivations, grammars, output_cfgs, typing_count
from .tiny_encoders import bert, t5

SMALL = NqgFitConfig(hidden=8, embedding=4, dropout=0, steps=60, learning_rate=0.02, encoder_rate=0, batch_size=8)
AMBIGUOUS = [
    "a ### A", "b ### B", "c ### C", "NT_1 and NT_2 ### ( NT_1 NT_2 )", "NT_1 or NT_2 ### [ NT_1 NT_2 ]",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return Encoder.load(folder)


def new_model(rules: list[Rule], encoder: Encoder, cfg: OutputCfg | None = None, spread: float = 3.0) -> NqgModel:
    torch.manual_seed(1)
    model = NqgModel(Grammar(rules), encoder, SMALL, cfg)
    torch.nn.init.normal_(model.scores.rules, std=spread)
    return model.eval()


def plain_score(model: NqgModel, source: tuple[str, ...], tree: Derivation, i: int = 0) -> float:
    """The sum of FFN([h_i ; h_j]) · e_r + FFN'([h_i ; h_j]) over the applications of a derivation that starts at i."""
    with torch.no_grad():
        h = model.encoder([source])[0]
        ends = torch.cat([h[i], h[i + len(tree.example.source)]])
        rule = list(model.grammar).index(tree.rule)
        total = float(model.scores.of_span(ends) @ model.scores.rules[rule] + model.scores.of_any_rule(ends))
    for symbol in tree.rule.source:
        if isinstance(symbol, Nt):
            child = tree.children[symbol.index - 1]
            total += plain_score(model, source, child, i)
            i += len(child.example.source)
        else:
            i += 1
    return total


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(grammars, st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(tuple), output_cfgs)
def test_probabilities_and_parses_are_those_of_an_enumeration(
    encoder: Encoder, rules: list[Rule], source: tuple[str, ...], cfg: OutputCfg
) -> None:
    rules = list(dict.fromkeys(rules))
    model = new_model(rules, encoder, cfg)
    trees = all_derivations(rules, source, SMALL.max_units, most=60)
    scores = [plain_score(model, source, tree) for tree in trees]
    whole = fsum(map(exp, scores))
    for target in {tree.example.target for tree in trees} | {("Z",)}:
        mass = fsum(exp(score) for score, tree in zip(scores, trees, strict=True) if tree.example.target == target)
        expected = log(mass / whole) if mass else -np.inf
        assert model.log_probs([Example(source, target)])[0] == pytest.approx(expected, abs=1e-4)
    valid = [score for score, tree in zip(scores, trees, strict=True) if typing_count(tree, cfg)]
    if trees and cfg.accepts(trees[int(np.argmax(scores))].example.target):
        valid = scores
    (parse,) = model.parse_all([source])
    assert (parse is None) == (not valid)
    if parse:
        assert parse.log_prob == pytest.approx(max(valid) - log(whole), abs=1e-4)
        assert cfg.accepts(parse.target)


def test_parses_and_probabilities_come_in_the_order_of_the_inputs(encoder: Encoder) -> None:
    model = new_model(list(parse_grammar(AMBIGUOUS)), encoder)
    sources = [tuple(line.split()) for line in ("a and b or c", "z", "a", "b or c", "c and a") * 20]  # two chunks
    parses = model.parse_all(sources)
    for source, found in zip(sources[:5], parses, strict=False):
        (alone,) = model.parse_all([source])
        assert (found and found.target) == (alone and alone.target)
    texts = [found.text if found else "" for found in parses]
    assert texts == texts[:5] * 20
    given = model.log_probs([Example(source, tuple(text.split())) for source, text in zip(sources, texts, strict=True)])
    assert list(np.isfinite(given)) == [True, False, True, True, True] * 20


def test_valid_outputs_count_even_if_their_parts_are_no_constituents(encoder: Encoder) -> None:
    rules = parse_grammar(["show ### answer", "states ### state", "NT_1 NT_2 ### NT_1 ( NT_2 )"])
    cfg = OutputCfg.parse(["ROOT => answer ( ##State )", "State => state"])
    good, bad = new_model(list(rules), encoder, cfg).parse_all([("show", "states"), ("states", "show")])
    assert good
    assert good.text == "answer ( state )"
    assert bad is None


def test_the_gradient_is_that_of_differences(encoder: Encoder) -> None:
    model = new_model(list(parse_grammar(AMBIGUOUS)), encoder)
    examples = [
        Example.of("a and b or c", "( A [ B C ] )"), Example.of("b or c or a", "[ [ B C ] A ]"), Example.of("a", "A"),
    ]  # fmt: skip
    data = PairData(model, [*examples, examples[0]])
    assert data.copies.tolist() == [2, 1, 1]
    context, contexts = data.charts._alike
    assert contexts[-1] == len(context)  # as kernels, which do not look at bounds, take it
    places = np.array([0, 1])
    n = int(data.charts.labels_from[2])
    scores = torch.from_numpy(np.random.default_rng(0).normal(0, 1, n)).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: LogMarginal.apply(s, lambda v: data.log_prob(places, data.copies[places], v)), scores
    )


def test_training_chooses_among_derivations(encoder: Encoder) -> None:
    """`or` binds closer than `and`, which the grammar does not say."""
    pairs = [
        ("a and b or c", "( A [ B C ] )"), ("a or b and c", "( [ A B ] C )"), ("c and a or b", "( C [ A B ] )"),
        ("b or c and b", "( [ B C ] B )"), ("a and b", "( A B )"), ("c or b", "[ C B ]"), ("a", "B"),
    ]  # fmt: skip
    examples = [Example.of(x, y) for x, y in pairs]
    reports: list[float] = []
    fitted = fit(
        Grammar(parse_grammar(AMBIGUOUS)), examples, encoder, SMALL, progress=lambda r: reports.append(r.log_prob)
    )
    assert [e.source_text for e in fitted.left_out] == ["a"]
    assert reports[-1] == fitted.log_prob > -0.1
    parses = fitted.model.parse_all([e.source for e in examples[:-1]] + [("a", "b")])
    assert [parse.text if parse else None for parse in parses] == [y for _, y in pairs[:-1]] + [None]


def test_the_encoder_learns_only_if_it_may(folder: Path) -> None:
    grammar, examples = Grammar(parse_grammar(AMBIGUOUS)), [Example.of("a and b or c", "( A [ B C ] )")]
    before = Encoder.load(folder).state_dict()
    for rate in (0.0, 0.01):
        options = SMALL.model_copy(update={"encoder_rate": rate, "steps": 2})
        after = fit(grammar, examples, Encoder.load(folder), options).model.encoder.state_dict()
        assert all(torch.equal(after[name], before[name]) for name in before) is (rate == 0)


@pytest.mark.parametrize("rate", [0.0, 0.001])
def test_a_stopped_fit_resumes_to_the_same_weights(rate: float, tmp_path: Path, folder: Path) -> None:
    options = SMALL.model_copy(update={"encoder_rate": rate, "steps": CHECK + 20, "dropout": 0.2})
    examples = [Example.of("a and b or c", "( A [ B C ] )"), Example.of("a or b and c", "( [ A B ] C )")]
    grammar = Grammar(parse_grammar(AMBIGUOUS))

    def make(name: str, *, seed: int = 0, stop: bool = False) -> bytes:
        config = options.model_copy(update={"seed": seed})
        checkpoint = Checkpoint(tmp_path / f"{name}.npz", f"seed {seed}")

        def progress(report: NqgProgress) -> None:
            checkpoint.log(str(report.step))
            if stop:
                raise KeyboardInterrupt

        fitted = fit(grammar, examples, Encoder.load(folder), config, progress=progress, checkpoint=checkpoint)
        return b"".join(value.numpy().tobytes() for value in fitted.model.state_dict().values())

    whole, other = make("whole"), make("other", seed=1)
    assert whole != other
    for name in ("same", "other seed", "damaged"):
        with pytest.raises(KeyboardInterrupt):
            make(name, stop=True)
    assert Checkpoint(tmp_path / "same.npz", "seed 0").lines == [str(CHECK)]
    assert make("same") == whole
    assert make("other seed", seed=1) == other  # the checkpoint of another fit does not count
    (tmp_path / "damaged.npz").write_bytes(b"damage")
    assert make("damaged") == whole  # it starts from the beginning


def test_examples_that_no_derivation_gives_are_refused(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="derives none"):
        fit(Grammar(parse_grammar(AMBIGUOUS)), [Example.of("a", "B")], encoder, SMALL)


@pytest.mark.parametrize("make", [bert, t5])
def test_a_model_comes_back_as_it_was(tmp_path: Path, make: object) -> None:
    encoder, run = Encoder.load(make(tmp_path / "encoder")), tmp_path / "run"  # type: ignore[operator]
    model = new_model(list(parse_grammar(AMBIGUOUS)), encoder)
    run.mkdir()
    write_grammar(run / "grammar.txt", model.grammar)
    save_model(run, model)
    examples = [Example.of("a and b or c", "( A [ B C ] )")]
    assert load_model(run).log_probs(examples) == pytest.approx(model.log_probs(examples))
    write_grammar(run / "grammar.txt", [*model.grammar][1:])
    with pytest.raises(InputError, match="another grammar"):
        load_model(run)
    write_grammar(run / "grammar.txt", model.grammar)
    (run / "nqg" / "weights.safetensors").write_bytes(b"damage")
    with pytest.raises(InputError, match=r"weights\.safetensors"):
        load_model(run)


def csl(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_the_commands(tmp_path: Path, folder: Path) -> None:
    short = {"a": "A", "b": "B", "c": "C"}
    pairs = short | {f"{x} twice": f"{y} {y}" for x, y in short.items()}
    train, run = tmp_path / "train.tsv", tmp_path / "run"
    write_examples(train, [Example.of(x, y) for x, y in pairs.items()])
    assert csl("nqg", "induce", train, "--out", run).exit_code == 0
    assert "NT_1 twice ### NT_1 NT_1" in (run / "grammar.txt").read_text()
    assert isinstance(csl("nqg", "parse", run, "a").exception, InputError)
    options = [f"--set={key}={value}" for key, value in SMALL.model_dump(exclude={"seed"}).items()]
    fitted = csl("nqg", "fit", run, "--encoder", folder, "--device", "cpu", "--threads", 1, *options)
    assert fitted.exit_code == 0, fitted.exception
    assert csl("nqg", "parse", run, "a twice", "--device", "cpu").output == "A A\n"
    assert csl("nqg", "parse", run, "d", "--device", "cpu").exit_code == 1
    (tmp_path / "inputs").write_text("b twice twice\nd\n")
    assert "b twice twice\tB B B B\nd\t\n" in csl("nqg", "parse", run, tmp_path / "inputs", "--device", "cpu").stdout
    assert csl("fit", run, "--set", "optimizer=em").exit_code == 0  # CSL's own model on the same grammar
    assert csl("report", run).exit_code == 0
    shown = csl("nqg", "evaluate", run, train, "--device", "cpu").output
    assert "100.0%" in shown
    assert "6 of 6 pairs derivable: mean log p(y | x) " in shown
    assert isinstance(csl("nqg", "induce", train, "--out", run, "--preset", "scan").exception, InputError)
    assert csl("nqg", "induce", train, "--out", run).exit_code == 0  # the same run
