"""Which language outputs are in."""

import subprocess
import sys
from itertools import product

import pytest

from csl.languages import detect, language


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        ("json", ['{"a": 1}', "[1, 2]"]),
        ("top", ["[IN:A [SL:B x ] ]"]),
        ("sexpr", ["(f a)", "b", "( f ( g ) )"]),
        ("sql", ["SELECT a FROM b"]),
        ("calls", ["f(a)", "f ( a , b )"]),
        ("tokens", ["WALK JUMP", "JUMP"]),
        ("tokens", ["yes", "no"]),
        ("tokens", [" ".join(words) for n in (1, 2, 3, 4) for words in product(("WALK", "JUMP"), repeat=n)]),
        ("commands", [f"{verb} {room} {level}" for verb in ("dim", "heat") for room in "abc" for level in "1234"]),
        ("code", [f"{start} is here, {end}." for start in "abcdefgh" for end in "abc"]),
        ("tokens", ["f ( x _ 1 ) AND g ( y )"]),
        ("code", ["x := 3;", "y = f(x) + 1;"]),
        ("code", ["How are you?", "I am fine, thanks."]),
        ("code", []),
    ],
)
def test_the_language_is_seen_from_outputs(name: str, outputs: list[str]) -> None:
    assert detect(outputs).language.name == name


def test_a_few_outputs_that_do_not_parse_do_not_change_the_language() -> None:
    found = detect(["f(a)"] * 95 + ["oops ("] * 5)
    assert (found.language.name, found.share) == ("calls", 0.95)


def test_an_unknown_language_is_refused_with_those_known() -> None:
    with pytest.raises(ValueError, match="calls"):
        language("cobol")


def test_sqlglot_is_imported_only_for_sql() -> None:
    code = "import sys; from csl.languages import detect; detect(['f(a)']); assert 'sqlglot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
