from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.errors import InputError
from csl.grammar import Grammar, Nt, Rule, Symbol, parse_grammar, parse_rule, read_grammar, write_grammar
from csl.grammar.notation import format_rule, numbered_rules

NOTATION = ["NT_1", "NT_2", "NT_0", "NT_01", "NT_", "nt_1", "###", "##", "#", "#x", "##X", "####", "=>"]
BACKSLASHES = ["\\", "\\\\", "\\NT_1", "\\###", "\\#", "\\u{20}", "u{20}", "\\n", "\\frac"]
SPACES = [" ", "a b", "\t", "\n", "\r", "\x1c", "\x85", "\u00a0", "\u2028", "\u2029", "\u3000"]
INVISIBLE = ["\x00", "\ufeff", "\u200b", "\u202e", "\ud800", "\udfff", "\U0010ffff"]
ODD = [*NOTATION, *BACKSLASHES, *SPACES, *INVISIBLE, "é", "e\u0301", "大", "[b]"]
tokens = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=()), min_size=1, max_size=4))


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    holes: list[Symbol] = [Nt(k) for k in range(1, 1 + draw(st.integers(0, 2)))]
    source = draw(st.permutations([*draw(st.lists(tokens, min_size=not holes, max_size=3)), *holes]))
    target = draw(st.permutations([*draw(st.lists(tokens, min_size=not holes, max_size=3)), *holes]))
    return Rule.canonical(source, target)


@given(rules())
def test_parsing_what_was_formatted_gives_the_same_rule(rule: Rule) -> None:
    line = format_rule(rule)
    assert parse_rule(line) == rule
    assert line.isprintable()
    assert not line.startswith("#")
    assert format_rule(parse_rule(line)) == line


@given(st.lists(rules(), max_size=5))
def test_reading_what_was_written_gives_the_same_grammar(
    tmp_path_factory: pytest.TempPathFactory, written: list[Rule]
) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.txt"
    write_grammar(path, Grammar(written))
    assert list(read_grammar(path)) == list(dict.fromkeys(written))
    assert list(parse_grammar(path.read_text(encoding="utf-8").splitlines())) == list(dict.fromkeys(written))


@pytest.mark.parametrize("token", ODD)
def test_each_odd_token_survives_at_every_place(token: str) -> None:
    for rule in (
        Rule((token,), (token,)),
        Rule((Nt(1), token), (token, Nt(1))),
        Rule((token, Nt(1)), (Nt(1), token)),
    ):
        assert parse_rule(format_rule(rule)) == rule
        assert list(parse_grammar([format_rule(rule)])) == [rule]


@pytest.mark.parametrize(
    ("line", "source", "target"),
    [
        ("NT_1 and NT_2 ### NT_2 NT_1", (Nt(1), "and", Nt(2)), (Nt(2), Nt(1))),
        ("NT_7 and NT_2 ### NT_2 NT_7", (Nt(1), "and", Nt(2)), (Nt(2), Nt(1))),
        ("  a \t ###  b  ", ("a",), ("b",)),
        ("\\NT_1 ### \\###", ("NT_1",), ("###",)),
        ("\\#1 ### # =>", ("#1",), ("#", "=>")),
        ("a\\u{20}b ### \\\\frac \\u{5C}", ("a b",), ("\\frac", "\\")),
        ("\\=> ### x", ("=>",), ("x",)),
    ],
)
def test_parsing(line: str, source: tuple[Symbol, ...], target: tuple[Symbol, ...]) -> None:
    assert parse_rule(line) == Rule(source, target)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("jump JUMP", "expected one ### between source and target"),
        ("a ### b ### c", "expected one ###"),
        (" ### b", "at least one symbol on each side"),
        ("a ###", "at least one symbol on each side"),
        ("a ### NT_1", "NT_1 is in the target but not in the source"),
        ("NT_1 a ### b", "same nonterminals"),
        ("NT_1 NT_1 ### NT_1", "only once in the source"),
        ("a ### \\frac", r"broken escape in \frac; write a backslash as \\"),
        ("a ### \\NT_x", "broken escape"),
        ("a ### b\\#", "broken escape"),
        ("a ### \\", "broken escape"),
        ("a ### \\u{}", "broken escape"),
        ("a ### \\u{110000}", "broken escape"),
        ("a ### \\u{20", "broken escape"),
    ],
)
def test_errors_say_what_is_wrong_and_name_file_and_line(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "grammar.txt"
    path.write_text(f"# first\n\njump ### JUMP\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_grammar(path)
    assert str(error.value).startswith(f"{path}:4: ")
    assert message in str(error.value)


def test_comments_and_empty_lines_are_skipped_but_counted(tmp_path: Path) -> None:
    path = tmp_path / "grammar.txt"
    path.write_text("\ufeff# a ### b\r\n\r\n   \r\na ### b\r\n", encoding="utf-8")
    assert list(numbered_rules(path)) == [(4, Rule(("a",), ("b",)))]


def test_a_grammar_is_not_replaced_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "grammar.txt"
    write_grammar(path, [parse_rule("a ### b")])

    def failing() -> "list[Rule]":
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_grammar(path, (rule for _ in range(1) for rule in failing()))
    assert path.read_text() == "a ### b\n"
    assert [p.name for p in tmp_path.iterdir()] == ["grammar.txt"]
