"""SQL as clauses, conditions and expressions."""

import pytest

from csl.languages import language
from csl.languages.sql import Sql

from . import laws
from .laws import outline


def test_a_query_is_a_list_of_clauses() -> None:
    text = (
        "SELECT DISTINCT t.a, COUNT(*) AS n FROM t, u v WHERE t.b = 'x y' AND c NOT IN (1, 2) ORDER BY n DESC LIMIT 3"
    )
    columns = ("name", "t.a"), ("call", "AS", ("call", "COUNT", ("name", "*")), ("name", "n"))
    tables = ("name", "t"), ("call", "AS", ("name", "u"), ("name", "v"))
    conditions = (
        ("call", "=", ("name", "t.b"), ("string", "x y")),
        ("call", "NOT IN", ("name", "c"), ("list", "", ("number", "1"), ("number", "2"))),
    )
    assert outline(Sql().read(text)) == (
        *("list", "query"),
        ("call", "SELECT", ("list", "SELECT", *columns)),
        ("call", "FROM", ("list", "FROM", *tables)),
        ("call", "WHERE", ("list", "AND", *conditions)),
        ("call", "ORDER BY", ("list", "ORDER BY", ("call", "DESC", ("name", "n")))),
        ("call", "LIMIT", ("number", "3")),
    )


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("SELECT a FROM b UNION ALL SELECT c FROM d", "UNION"),
        ("SELECT a FROM b LEFT OUTER JOIN c ON b.x = c.x", "LEFT OUTER JOIN"),
        ("SELECT a FROM b JOIN c ON b.x = c.x OR b.y = c.y", "OR"),
        ("SELECT a FROM b WHERE a BETWEEN 1 AND 2 AND NOT EXISTS (SELECT 1)", "BETWEEN"),
        ("SELECT CASE WHEN a = 1 THEN 'x' ELSE b END FROM c", "CASE"),
        ("SELECT a FROM b WHERE c = (SELECT MAX(c) FROM b)", "MAX"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH"),
        ("INSERT INTO t (a, b) VALUES (1, 'x')", "VALUES"),
        ("UPDATE t SET a = 1 WHERE b IS NOT NULL", "IS NOT"),
        ("SELECT `a b` FROM [c] -- comment\n WHERE d = 3.5 + 1;", "+"),
        ('SELECT "a"."b" FROM "a"', "a.b"),
    ],
)
def test_what_queries_consist_of(text: str, label: str) -> None:
    program = Sql().read(text)
    laws.check(program, text)
    assert label in {constituent.label for constituent in program.root.walk()}


def test_the_dialect_decides_what_parses() -> None:
    text = r"SELECT a FROM b WHERE c = 'it\'s'"
    laws.check(language("sql:mysql").read(text), text)
    with pytest.raises(ValueError, match="position"):
        language("sql:postgres").read(text)


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="klingon"):
        language("sql:klingon")
