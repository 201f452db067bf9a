import doctest
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csl.errors import InputError
from csl.grammar import output_cfg
from csl.grammar.output_cfg import ROOT, Category, OutputCfg, Production, Typing
from csl.grammar.symbols import Nt

words = st.one_of(
    st.sampled_from(
        ["=>", "#", "##", "##X", "###", "\\", "\\=>", "\\u{20}", "\u00a0", "\u3000", "\ufeff", "\n", "ROOT", "NT_1"]
    ),
    st.text(min_size=1, max_size=5),
)


@st.composite
def valid_cfgs(draw: st.DrawFn) -> OutputCfg:
    """A CFG over odd names and tokens that passes the checks: ROOT uses every category, all others are of tokens."""
    names = draw(st.lists(words.filter(lambda name: name != ROOT.name), max_size=3, unique=True))
    tokens = st.lists(words, min_size=1, max_size=3)
    start = draw(st.permutations([*draw(tokens), *map(Category, names)]))
    others = [Production(Category(name), tuple(draw(tokens))) for name in names]
    return OutputCfg(draw(st.permutations([Production(ROOT, tuple(start)), *others])))


@settings(deadline=None)
@given(cfg=valid_cfgs())
def test_reading_what_was_written_gives_the_same_productions(
    cfg: OutputCfg, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.cfg"
    cfg.write(path)
    assert OutputCfg.read(path).productions == cfg.productions
    assert path.read_text(encoding="utf-8") == str(cfg)


def test_productions_as_text() -> None:
    lines = ["ROOT => ##A # \\##A \\=>", "", "# a comment", "A => a\\u{20}b"]
    cfg = OutputCfg.parse(lines)
    assert cfg.productions == (
        Production(ROOT, (Category("A"), "#", "##A", "=>")),
        Production(Category("A"), ("a b",)),
    )
    assert str(cfg) == "ROOT => ##A # \\##A \\=>\nA => a\\u{20}b\n"


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["ROOT x"], 1, "expected LHS => symbols"),
        (["=>"], 1, "expected LHS => symbols"),
        (["ROOT => x", "A => b => c"], 2, "expected LHS => symbols"),
        (["ROOT =>"], 1, "the right-hand side is empty"),
        (["ROOT => ##"], 1, "a category needs a name"),
        (["ROOT => \\u{zz}"], 1, "broken escape"),
        (["# only", "ROOT => ##A"], 2, "undefined category A"),
        (["ROOT => x", "ROOT => ##A", "A => a ##B", "B => ##A"], 3, "category A derives no output"),
        (["ROOT => x", "A => a"], 2, "category A is not reached from ROOT"),
        (["ROOT => ##A", "A => a", "B => ##A", "A => ##B"], 3, "unit cycle B => A => B"),
        (["ROOT => x", "ROOT => ##ROOT"], 2, "unit cycle ROOT => ROOT"),
        (["ROOT => ##C", "C => ##A", "A => ##B", "B => ##C", "C => c"], 2, "unit cycle C => A => B => C"),
    ],
)
def test_errors_name_file_and_line(lines: list[str], line: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "output.cfg"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        OutputCfg.read(path)
    assert str(error.value).startswith(f"{path}:{line}: {message}")


def test_a_cfg_without_root_is_refused() -> None:
    with pytest.raises(InputError, match=r"<text>: no production for the start symbol"):
        OutputCfg.parse(["A => a"])


def test_check_of_a_built_cfg_names_the_production() -> None:
    cfg = OutputCfg([Production(ROOT, ("x", Category("A")))])
    with pytest.raises(InputError, match=r"undefined category A; .* \(in: ROOT => x ##A\)"):
        cfg.check()


def test_a_production_needs_symbols() -> None:
    with pytest.raises(ValueError, match="empty"):
        Production(ROOT, ())
    with pytest.raises(ValueError, match="empty"):
        Production(ROOT, ("a", ""))


FUNQL = OutputCfg.parse(
    """
ROOT => answer ( ##SET )
SET => ##STATE
SET => ##RIVER
SET => exclude ( ##SET , ##SET )
STATE => next_to ( ##STATE )
STATE => traverse ( ##RIVER )
STATE => m0
RIVER => longest ( ##RIVER )
RIVER => river
""".splitlines()
)


@pytest.mark.parametrize(
    ("tokens", "valid"),
    [
        ("answer ( next_to ( m0 ) )", True),
        ("answer ( exclude ( traverse ( longest ( river ) ) , m0 ) )", True),
        ("answer ( next_to ( river ) )", False),
        ("answer ( next_to ( m0 )", False),
        ("answer ( next_to ( unknown ) )", False),
        ("next_to ( m0 )", False),
        ("", False),
    ],
)
def test_membership(tokens: str, valid: bool) -> None:
    assert FUNQL.accepts(tokens.split()) is valid


def test_typings_of_targets() -> None:
    assert FUNQL.typings(("traverse", "(", Nt(1), ")")) == (Typing("SET", ("RIVER",)), Typing("STATE", ("RIVER",)))
    assert FUNQL.typings(("river",)) == (Typing("RIVER", ()), Typing("SET", ()))
    assert FUNQL.typings(("next_to", "(", Nt(1))) == ()
    assert FUNQL.typings(("exclude", "(", Nt(2), ",", "next_to", "(", Nt(1), ")", ")")) == (
        Typing("SET", ("STATE", "RIVER")),
        Typing("SET", ("STATE", "SET")),
        Typing("SET", ("STATE", "STATE")),
    )


def test_a_lone_nonterminal_has_its_own_type_and_those_above_it() -> None:
    assert FUNQL.typings((Nt(1),)) == (
        Typing("RIVER", ("RIVER",)),
        Typing("ROOT", ("ROOT",)),
        Typing("SET", ("RIVER",)),
        Typing("SET", ("SET",)),
        Typing("SET", ("STATE",)),
        Typing("STATE", ("STATE",)),
    )


def test_a_repeated_nonterminal_has_one_type() -> None:
    target = ("exclude", "(", Nt(1), ",", "next_to", "(", Nt(1), ")", ")")
    assert FUNQL.typings(target) == (Typing("SET", ("STATE",)),)


def test_typings_of_nothing_and_of_odd_indices() -> None:
    assert FUNQL.typings(()) == ()
    with pytest.raises(ValueError, match="numbered 1, 2"):
        FUNQL.typings(("exclude", Nt(2)))


def test_the_documentation_is_true() -> None:
    page = Path(__file__).parents[2] / "docs" / "output-cfg.md"
    assert doctest.testmod(output_cfg).failed == 0
    block = page.read_text(encoding="utf-8").split("```")[1]
    assert OutputCfg.parse(block.splitlines()).productions == FUNQL.productions
