"""Each language reads random trees of its own, and what it is not is refused with a position."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.languages import LANGUAGES, Program, language

from . import laws
from .laws import outline

GAPS = st.sampled_from(["", "", " ", "  ", "\n\t"])
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
CONTENT = st.text(st.sampled_from("ab7é漢 .,'-_()[]{}:;=\"\\\n👍🏽\u0301"), max_size=8)


def nested(atoms: st.SearchStrategy[str], before: str, between: str, after: str) -> st.SearchStrategy[str]:
    """Nest texts: `F` becomes a name, `~` any white space."""

    def bracket(items: list[str], name: str, gap: str) -> str:
        opening, separator, closing = (part.replace("F", name).replace("~", gap) for part in (before, between, after))
        return opening + separator.join(items) + closing

    return st.recursive(atoms, lambda inner: st.builds(bracket, st.lists(inner, max_size=3), NAMES, GAPS), max_leaves=8)


def quoted(quote: str) -> st.SearchStrategy[str]:
    return CONTENT.map(lambda text: quote + re.sub(rf"([\\{quote}])", r"\\\1", text) + quote)


CALLS = nested(NAMES | st.integers().map(str) | quoted('"'), "F~(~", "~,~", "~)")
LISTS = nested(NAMES | quoted('"'), "(~F ", " ", "~)")
BRACKETS = nested(NAMES, "[IN:F ", " ", " ]").map(lambda text: f"[SL:x {text} ]")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(CALLS)
def test_calls_come_back(text: str) -> None:
    laws.check(language("calls").read(text), text)


@given(st.lists(NAMES | st.integers().map(str) | quoted('"'), max_size=3), GAPS.filter(bool))
def test_commands_come_back(arguments: list[str], gap: str) -> None:
    text = gap.join(["light", *arguments])
    laws.check(language("commands").read(text), text)


def test_commands() -> None:
    assert outline(language("commands").read("say 'buy milk' 5 /tmp/a.txt")) == (
        "call", "say", ("string", "buy milk"), ("number", "5"), ("name", "/tmp/a.txt"),
    )  # fmt: skip
    assert outline(language("commands").read("stop")) == ("name", "stop")
    assert outline(language("commands").read("call O'Brien")) == ("call", "call", ("name", "O'Brien"))


@given(LISTS)
def test_s_expressions_come_back(text: str) -> None:
    laws.check(language("sexpr").read(text), text)


@given(BRACKETS)
def test_top_brackets_come_back(text: str) -> None:
    laws.check(language("top").read(text), text)


@given(JSON, st.booleans(), st.sampled_from([None, 0, 2]))
def test_json_comes_back(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    program = language("json").read(text)
    laws.check(program, text)
    assert language("json").same(text, json.dumps(value))
    strings = [c.label for c in program.root.walk() if c.kind == "string"]
    assert strings == list(_strings(value))


def _strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list() | dict():
            return [text for item in (value.values() if isinstance(value, dict) else value) for text in _strings(item)]
    return []


@given(st.text() | CALLS | st.text(st.sampled_from("ab1 .,()[]{}\"'\\<>=&|:;\n"), max_size=30))
def test_any_text_is_read_as_code_and_by_others_or_refused_with_a_position(text: str) -> None:
    laws.check(language("code").read(text), text)
    for known in LANGUAGES:
        reason = ""
        try:
            laws.check(known.read(text), text)
        except ValueError as error:
            reason = str(error)
        assert re.match(r"position \d+: .|$", reason)
        assert known.same(text, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("calls", "f(a"),
        ("calls", "f(a))"),
        ("calls", "f(a]"),
        ("calls", "f(,a)"),
        ("calls", "f('a)"),
        ("calls", "f(a=)"),
        ("calls", "f(x > 3)"),
        ("calls", "two words"),
        ("calls", ""),
        ("sexpr", "(f (a)"),
        ("sexpr", "f a"),
        ("sexpr", '(f "a)'),
        ("json", '{"a": 1'),
        ("json", "{'a': 1}"),
        ("json", '{"a": NaN}'),
        ("top", "[IN:A x"),
        ("top", "[ x ]"),
        ("top", "x [IN:A y ]"),
        ("tokens", "f(a)"),
        ("tokens", "How are you?"),
        ("sql", "SELECT a FROM"),
        ("sql", "SELECT (a FROM b"),
        ("sql", "f(a)"),
    ],
)
def test_what_does_not_parse_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"^position \d+: "):
        language(name).read(text)


@pytest.mark.parametrize("name", ["calls", "sexpr", "json", "top"])
def test_nesting_too_deep_is_refused_and_read_as_code(name: str) -> None:
    opening, closing = {"calls": ("f(", ")"), "sexpr": ("(f ", ")"), "json": ("[", "]"), "top": ("[A:f ", "] ")}[name]
    text = opening * 1_000 + "1 " + closing * 1_000
    with pytest.raises(ValueError, match="deep"):
        language(name).read(text)
    laws.check(language("code").read(text), text)


def test_the_position_is_that_of_the_mistake() -> None:
    with pytest.raises(ValueError, match=r"^position 11: "):
        language("calls").read("f('a b', g]")


def read(name: str, text: str) -> Program:
    return language(name).read(text)


def test_calls_have_arguments_members_and_words() -> None:
    assert outline(read("calls", "f(a, g('b c'), key=5 pm, [1, x])")) == (
        *("call", "f"),
        ("name", "a"),
        ("call", "g", ("string", "b c")),
        ("member", "key", ("words", "5 pm")),
        ("list", "", ("number", "1"), ("name", "x")),
    )


def test_calls_in_a_row_are_a_list() -> None:
    assert outline(read("calls", "f(a); g()")) == ("list", "", ("call", "f", ("name", "a")), ("call", "g"))


@pytest.mark.parametrize("text", ["f ( a , ' b c ' )", "f(a, 'b c')"])
def test_spaces_do_not_change_constituents(text: str) -> None:
    program = read("calls", text)
    assert program.tokens == ("f", "(", "a", ",", "'", "b", "c", "'", ")")
    assert [c.kind for c in program.root.walk()] == ["call", "name", "string"]


def test_strings_are_cut_into_words_and_escapes_stay() -> None:
    assert read("calls", r"f('it''s', 'McDonald's', 'a\'b')").tokens[2:-1] == (
        *("'", "it''s", "'", ","),
        *("'", "McDonald", "'s", "'", ","),
        *("'", r"a\'b", "'"),
    )
    assert read("json", r'"caf\u00e9 a\nb"').tokens == ('"', r"caf\u00e9", "a", r"\n", "b", '"')


def test_s_expressions_have_members_and_marks() -> None:
    text = '( Yield :output ( f :name # ( Name " Ann Lee " ) $0 ) )'
    name = ("member", "name", ("call", "Name", ("string", " Ann Lee ")))
    assert outline(read("sexpr", text)) == ("call", "Yield", ("member", "output", ("call", "f", name, ("name", "$0"))))


def test_json_keys_are_one_token() -> None:
    program = read("json", '{"a": [1, {"b c": "x y"}]}')
    assert program.tokens[:4] == ("{", '"a"', ":", "[")
    inner = ("list", "", ("member", "b c", ("string", "x y")))
    assert outline(program) == ("list", "", ("member", "a", ("list", "", ("number", "1"), inner)))


def test_top_brackets_have_words() -> None:
    program = read("top", "[IN:A please [SL:B pick up ] now ]")
    assert outline(program) == (
        "call",
        "IN:A",
        ("words", "please"),
        ("call", "SL:B", ("words", "pick up")),
        ("words", "now"),
    )


def test_tokens_between_spaces_may_be_flat_or_bracketed() -> None:
    assert outline(read("tokens", "WALK WALK")) == ("list", "", ("name", "WALK"), ("name", "WALK"))
    comparisons = ("call", "==", ("name", "x"), ("number", "3")), ("call", "=~", ("name", "y"), ("name", "Z"))
    assert outline(read("tokens", "f ( a . b , x == 3 && y =~ Z ) ;")) == (
        *("list", ""),
        ("call", "f", ("name", "a.b"), ("list", "&&", *comparisons)),
    )


def test_code_has_operators_of_several_characters_and_brackets() -> None:
    program = read("code", "x := f(a[1], 'b c') && !y")
    assert " ".join(program.tokens) == "x := f ( a [ 1 ] , ' b c ' ) && ! y"
    assert ("call", "f") in {(c.kind, c.label) for c in program.root.walk()}


def test_prefix_operators_belong_to_what_follows() -> None:
    assert outline(read("code", "f(-x, a - b, !g(y)) -v")) == (
        *("list", ""),
        ("call", "f", ("name", "-x"), ("call", "-", ("name", "a"), ("name", "b")), ("call", "!g", ("name", "y"))),
        ("name", "-v"),
    )
    assert outline(read("tokens", "f ( a = * g ( b ) )")) == (
        "call",
        "f",
        ("member", "a", ("call", "*g", ("name", "b"))),
    )


def test_brackets_that_do_not_balance_are_punctuation() -> None:
    assert all(not c.children for c in read("code", "f(a]) :-(").root.children)


@pytest.mark.parametrize(
    ("name", "a", "b", "same"),
    [
        ("json", '{"a": 1, "b": [true]}', '{"b":[true],"a":1.0}', True),
        ("json", '{"a": 1}', '{"a": true}', False),
        ("json", "[1, 2]", "[2, 1]", False),
        ("json", "no json", "no  json", True),
        ("calls", "f(a,'b')", "f( a, 'b' )", True),
        ("calls", "f(a, b)", "f(b, a)", False),
        ("sexpr", "(f a)", "( f a )", True),
        ("sql", "select A from b", "SELECT a\nFROM b", True),
        ("sql", "SELECT 'A'", "SELECT 'a'", False),
        ("tokens", "a  b", "a b", True),
        ("code", "x==1", "x == 1", True),
        ("top", "[IN:A x]", "[IN:A x ]", True),
    ],
)
def test_same_outputs(name: str, a: str, b: str, same: bool) -> None:
    assert language(name).same(a, b) is same
