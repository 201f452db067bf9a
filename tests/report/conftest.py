"""A report about a tiny grammar, with tokens that a careless page would take for something else."""

import pytest

from csl.examples.score import Score
from csl.report.coverage import Coverage, Dependent, RulePair, Suggestion, Uncovered, UncoveredInput
from csl.report.derivations import TreeRow
from csl.report.raw import Belief, Members, Types, Value, ValueType
from csl.report.report import Report, Scores
from csl.report.rules import RuleRow, Rules, Side
from csl.report.synthetic import Neighbour, Sample, Synthetic

SCRIPT = "<script>alert(1)</script>"
LONG = "x" * 400
HEBREW = "שלום"
HOSTILE = f"run twice and {SCRIPT} </script> &amp;"
PREDICTED = 'RUN RUN ; "><img src=x onerror=alert(2)>'
BELIEF = Belief(True, [("city", SCRIPT, f"city('{SCRIPT}')")], [f"run {SCRIPT}"], [(SCRIPT, "city, argument 2")])


def row(number: int, source: Side, target: Side, uses: int) -> RuleRow:
    arity = sum(isinstance(symbol, int) for symbol in source)
    examples = [("run twice", "RUN RUN")]
    return RuleRow(number, source, target, arity, 24.5, 100.0 - 30 * number, uses, number == 1, examples)


@pytest.fixture
def report() -> Report:
    rules = [
        row(1, ["run"], ["RUN"], 7),
        row(2, [1, "twice"], [1, 1], 120),
        row(3, [1, "and", 2], [1, ";", 2], 30),
        row(4, [SCRIPT, "</script>", "&amp;"], ['"><img src=x onerror=alert(2)>'], 0),
        row(5, [HEBREW, "\u202eevil", LONG], ["'", "</style>", "{{ 7 * 7 }}", "<!--"], 1),
    ]
    counts = {"examples": 4, "csl": 2, "t5": 1}
    return Report(
        title=f"Tiny {SCRIPT}",
        curves={
            "objective": {"": [(1, 900.0), (2, 700.0), (3, 500.0)]},
            "rules": {"": [(1, 20), (2, 16), (3, 12)]},
            "fit": {"fit, train": [(1, -9.0), (50, -4.0)], "fit, dev": [(1, -10.0)]},
            "loss": {"t5": [(10, 2.5), (20, 0.5)]},
            "dev": {"t5": [(20, 0.75)]},
            "risk": {"t5": [(50, 0.0), (100, 0.25)]},
        },
        partitions=2,
        states=2,
        rules=Rules(rules, 130, 129, 2000.0, 500.0),
        trees=[
            TreeRow("train", "run twice", "RUN RUN", [2, 1]),
            TreeRow("test", HOSTILE, f"RUN {SCRIPT}", [3, 2, 1, 4], PREDICTED, False, [2, 1]),
            TreeRow("synthetic", "run", "RUN", [1]),
        ],
        uncovered=Uncovered(
            "test", 4, 3, 2, 1, {"unknown tokens": 1, "no rule": 0}, [(SCRIPT, 3), (HEBREW, 1)],
            [UncoveredInput(f"run {SCRIPT} run twice", "RUN", "unknown tokens", [SCRIPT], [(0, 1), (2, 4)])],
        ),
        scores=Scores(
            {"csl": Score(4, 3, 2), "t5": Score(4, 3, 1)}, {"covered": counts}, {"1–5": counts}, {"<b>two": counts},
            ["ensemble"],
        ),
        synthetic=Synthetic(
            1000, 900, None,
            [Sample(f"run {SCRIPT} twice", "RUN RUN", [2, 1], [Neighbour("run left twice", "RUN LEFT", 1)], BELIEF)],
        ),
        coverage=Coverage(
            of="test", inputs_total=4, derived=3, dependent=1, right_known=1, right_dependent=1, pairs_total=2,
            train_pairs=9, pairs=[RulePair(3, 2, 4, 1, [0]), RulePair(None, 0, 5, 1, [0])],
            inputs=[Dependent(HOSTILE, PREDICTED, True, [0, 1])], suggest=[Suggestion(HOSTILE, 1, [0, 1], [SCRIPT])],
        ),
        types=Types(
            "calls",
            [Members(f"C {SCRIPT}", 3, [f"f ( ##{HEBREW} )", SCRIPT])],
            [ValueType("city", 2, [Value(SCRIPT, "'x'", 3)])],
        ),
        recipe=f'[data]\nset = "{SCRIPT}"\n',
        options={"induction": {"k_alpha": 4.0, "note": SCRIPT}},
        versions={"csl": "0.1.0", "python": SCRIPT},
    )  # fmt: skip
