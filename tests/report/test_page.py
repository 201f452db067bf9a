"""The page of a report, as text: everything is in it, escaped, and nothing else. See test_browser for the rest."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from csl.report.coverage import UncoveredInput
from csl.report.drawing import draw, line_chart, ticks
from csl.report.page import SECTIONS, differences, number, parts, render
from csl.report.report import Report

VOID = {"meta", "input", "img", "br"}


class Elements(HTMLParser):
    """Counts elements, and sees to it that they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.names.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_all_elements_are_closed_and_links_lead_somewhere(report: Report) -> None:
    page = Elements(render(report))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link for link in page.links if not link.startswith("#")} == set()
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_data_is_only_text(report: Report) -> None:
    page = render(report)
    assert Elements(page).names.count("script") == 1
    assert "img" not in Elements(page).names
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&amp;amp;" in page
    assert "{{ 7 * 7 }}" in page


def test_nothing_is_loaded(report: Report) -> None:
    page = render(report)
    assert re.findall(r"(?:src|href)=[\"'](?!#)|url\(|@import|https?://", page.replace("src=x", "")) == []
    assert "default-src 'none'" in page


def test_the_same_data_gives_the_same_bytes(report: Report) -> None:
    assert render(report) == render(report)


def test_absent_sections_are_named_with_a_remedy(report: Report) -> None:
    nothing = {"scores": None, "uncovered": None, "synthetic": None, "coverage": None, "types": None, "trees": []}
    page = render(replace(report, curves={key: {} for key in report.curves}, **nothing))  # type: ignore[arg-type]
    ids = Elements(page).ids
    for name, (heading, remedy) in SECTIONS.items():
        assert (name in ids) == (not remedy and name != "types")  # which flat outputs do not have
        assert (f"<li>{heading}: <code>{remedy}</code></li>" in page) == bool(remedy)
    assert "Not in this report" not in render(report)


def test_a_derivation_deeper_than_the_recursion_limit(report: Report) -> None:
    rules = {rule.id: rule for rule in report.rules.rows}
    drawing = draw([2] * 3000 + [1], rules | {2: replace(rules[2], target=["(", 1, ")"])})
    assert len(drawing.source) == 3001
    assert [token for token, _ in drawing.target[2999:3002]] == ["(", "RUN", ")"]
    assert drawing.nodes[-1].closes == 3000


def test_tokens_know_the_node_they_come_from(report: Report) -> None:
    drawing = draw(report.trees[1].rules, {rule.id: rule for rule in report.rules.rows})
    assert [(node.rule.id, node.slot, node.end, node.closes) for node in drawing.nodes] == [
        (3, 0, 4, 0), (2, 1, 3, 0), (1, 1, 3, 1), (4, 2, 4, 1),
    ]  # fmt: skip
    assert [number for _, number in drawing.source] == [2, 1, 0, 3, 3, 3]
    assert [number for _, number in drawing.target] == [2, 2, 0, 3]


def test_ticks_are_round_and_enclose() -> None:
    assert ticks([0.3, 9.1]) == [0, 2, 4, 6, 8, 10]
    assert ticks([5, 5])[0] <= 5 <= ticks([5, 5])[-1]
    assert ticks([0, 0]) == [0, 1]
    assert ticks([1, 1])[-1] == 1
    assert ticks([1, 3], whole=True) == [1, 2, 3]


def test_charts_leave_out_what_is_not_finite() -> None:
    assert line_chart("a", {"c": [(1, float("-inf"))], "d": []}) is None
    chart = line_chart("a", {"c": [(1, -5e6), (1000, float("nan")), (2000, -1e6)]})
    assert chart
    assert chart.lines[0].path == "52.0,204.0 408.0,12.0"
    assert chart.y_ticks[0][1] == "−5M"


def test_numbers_are_short() -> None:
    assert [number(x) for x in (3, 12345.6, -2.34567, 0.5)] == ["3", "12,346", "−2.346", "0.5"]


def test_parts_of_an_input() -> None:
    row = UncoveredInput("a b c d e", None, "", unknown=["c"], spans=[(0, 2), (3, 4)])
    assert list(parts(row)) == [("covered", "a b"), ("unknown", "c"), ("covered", "d"), ("", "e")]


def test_differences_are_between_tokens() -> None:
    assert list(differences("a b c", "a x c d")) == [(False, "a"), (True, "x"), (False, "c"), (True, "d")]
    assert list(differences("a", "a")) == [(False, "a")]
