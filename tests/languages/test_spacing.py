"""White space of recombined tokens."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from csl.languages import Spacing, language

from .test_readers import CALLS


def learn(name: str, *texts: str) -> Spacing:
    return Spacing.learn([language(name).read(text) for text in texts], language(name).quotes)


def test_new_combinations_look_like_training() -> None:
    spacing = learn("calls", "f(a, g('x y'))", "h(b)")
    for text in ("h(g('a b', c), f('y', 'x'))", "new(h('x new'))"):
        assert spacing.write(language("calls").read(text).tokens) == text


def test_spaces_between_all_tokens_are_learnt() -> None:
    spacing = learn("sexpr", "( f a ( g ) )", '( f " x y " )')
    assert spacing.write(language("sexpr").read('(g "z" (f))').tokens) == '( g " z " ( f ) )'


def test_words_never_run_together() -> None:
    assert learn("sexpr", "(f (a) (2))").write(("(", "f", "2", "litre", ")")) == "(f 2 litre)"


def test_indentation_follows_depth() -> None:
    value = {"a": [1, {"b": 2}], "c": {"d": "x y"}}
    spacing = learn("json", json.dumps(value, indent=2))
    other = json.dumps({"c": {"a": {"b": [{"d": "y z"}]}}}, indent=2)
    assert spacing.write(language("json").read(other).tokens) == other


def test_quotes_inside_of_other_quotes_close_nothing() -> None:
    spacing = learn("calls", "f('a', 'b')", "f(\"x ' y\", 'b')")
    text = "f('b', \"y ' x\", 'a')"
    assert spacing.write(language("calls").read(text).tokens) == text


@settings(max_examples=30)
@given(st.lists(CALLS, min_size=1, max_size=3))
def test_spacing_is_the_same_after_json(texts: list[str]) -> None:
    spacing = learn("calls", *texts)
    copy = Spacing.from_json(json.loads(json.dumps(spacing.to_json())))
    assert copy == spacing
    tokens = [token for text in texts for token in language("calls").read(text).tokens]
    assert copy.write(tokens) == spacing.write(tokens)
    assert "".join(spacing.write(tokens).split()) == "".join(tokens)
