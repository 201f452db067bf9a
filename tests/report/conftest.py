"""A report about a tiny grammar, with tokens that a careless page would take for something else."""

import pytest

from csl.report.schema import Report, RuleRow, Side

SCRIPT = "<script>alert(1)</script>"
LONG = "x" * 400
HEBREW = "שלום"


def row(number: int, source: Side, target: Side, uses: int) -> RuleRow:
    arity = sum(not isinstance(symbol, str) for symbol in source)
    return {
        "id": number, "source": source, "target": target, "arity": arity, "size": 8.0 * len(source), "cost": 24.5,
        "saves": 100.0 - 30 * number, "uses": uses, "seed": number == 1,
        "examples": [{"input": "run twice", "output": "RUN RUN"}],
    }  # fmt: skip


@pytest.fixture
def report() -> Report:
    rules = [
        row(1, ["run"], ["RUN"], 7),
        row(2, [{"nt": 1}, "twice"], [{"nt": 1}, {"nt": 1}], 120),
        row(3, [{"nt": 1}, "and", {"nt": 2}], [{"nt": 1}, ";", {"nt": 2}], 30),
        row(4, [SCRIPT, "</script>", "&amp;"], ['"><img src=x onerror=alert(2)>'], 0),
        row(5, [HEBREW, "\u202eevil", LONG], ["'", "</style>", "{{ 7 * 7 }}", "<!--"], 1),
    ]
    twice = {"rule": 2, "children": [{"rule": 1, "children": []}]}
    both = {"rule": 3, "children": [twice, {"rule": 4, "children": []}]}
    hostile = f"run twice and {SCRIPT} </script> &amp;"
    predicted = 'RUN RUN ; "><img src=x onerror=alert(2)>'
    counts = {"examples": 4, "answered": 3, "right": 2}
    return {
        "title": f"Tiny {SCRIPT}",
        "summary": [
            {"label": "Rules", "value": "5", "note": "1 seed"},
            {"label": SCRIPT, "value": "</script>", "note": ""},
        ],
        "induction": [
            {"partition": p, "step": s, "rules": 20 - 4 * s - p, "objective": 900.0 - 200 * s - p}
            for p in (1, 2)
            for s in (0, 1, 2)
        ],
        "fit": [
            {"stage": "fit", "step": 1, "train": -9.0, "dev": -10.0},
            {"stage": "fit", "step": 50, "train": -4.0, "dev": None},
        ],
        "training": {"t5": [{"step": 10, "loss": 2.5, "dev": None}, {"step": 20, "loss": 0.5, "dev": 0.75}]},
        "rules": {"rows": rules, "examples": 130, "derived": 129, "size_before": 2000.0, "objective": 500.0},
        "trees": [
            {"origin": "train", "input": "run twice", "output": "RUN RUN", "predicted": None, "right": None,
             "tree": twice, "right_tree": None},
            {"origin": "test", "input": hostile, "output": f"RUN {SCRIPT}", "predicted": predicted, "right": False,
             "tree": both, "right_tree": twice},
            {"origin": "synthetic", "input": "run", "output": "RUN", "predicted": None, "right": None,
             "tree": {"rule": 1, "children": []}, "right_tree": None},
        ],
        "uncovered": {
            "of": "test", "inputs_total": 4, "covered": 3, "derivable": 2, "total": 1,
            "reasons": {"unknown tokens": 1, "no rule": 0},
            "unknown_tokens": [(SCRIPT, 3), (HEBREW, 1)],
            "inputs": [{"input": f"run {SCRIPT} run twice", "output": "RUN", "reason": "unknown tokens",
                        "unknown": [SCRIPT], "spans": [(0, 1), (2, 4)]}],
        },
        "scores": {
            "systems": {"csl": {**counts, "groups": {}}, "t5": {**counts, "right": 1, "groups": {}}},
            "by_length": [{"name": "1–5", "examples": 4, "right": {"csl": 2, "t5": 1}}],
            "by_category": [{"name": "<b>two", "examples": 4, "right": {"csl": 2, "t5": 1}}],
            "breakdown": [{"name": "covered", "examples": 3, "right": {"csl": 2, "t5": 0}}],
            "left_out": ["ensemble"],
        },
        "synthetic": {
            "total": 1000, "distinct": 900, "new": None,
            "pairs": [{"input": f"run {SCRIPT} twice", "output": "RUN RUN", "rules": [2, 1],
                       "nearest": [{"input": "run left twice", "output": "RUN LEFT", "distance": 1}]}],
        },
        "coverage": {
            "of": "test",
            "totals": {"inputs": 4, "derived": 3, "dependent": 1, "right_known": 1, "right_dependent": 1, "pairs": 2,
                       "train_pairs": 9},
            "pairs": [{"parent": 3, "slot": 2, "child": 4, "total": 1, "inputs": [0]},
                      {"parent": None, "slot": 0, "child": 5, "total": 1, "inputs": [0]}],
            "inputs": [{"input": hostile, "output": predicted, "right": True, "pairs": [0, 1]}],
            "suggest": [{"input": hostile, "adds": 1, "pairs": [0, 1], "tokens": [SCRIPT]}],
        },
        "config": {"induction": {"k_alpha": 4.0, "note": SCRIPT}, "recipe.toml": f'[data]\nset = "{SCRIPT}"\n'},
        "versions": {"csl": "0.1.0", "python": "3.11.2"},
    }  # fmt: skip
