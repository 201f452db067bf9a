"""What holds of every program."""

from csl.languages.program import Constituent, Program


def check(program: Program, text: str) -> None:
    """Check that a program gives back its text and that its constituents nest."""
    assert str(program) == text
    assert all(token and not any(map(str.isspace, token)) for token in program.tokens)
    assert (program.root.start, program.root.end) == (0, len(program.tokens))
    for constituent in program.root.walk():
        _check_children(constituent)


def _check_children(constituent: Constituent) -> None:
    at = constituent.start
    for child in constituent.children:
        assert at <= child.start < child.end <= constituent.end, (constituent, child)
        at = child.end


def outline(program: Program) -> object:
    """Return the constituents as nested tuples: kind, label, children."""
    return _outline(program.root)


def _outline(constituent: Constituent) -> tuple[object, ...]:
    return (constituent.kind, constituent.label, *map(_outline, constituent.children))
