"""Output languages: from the text of a program to tokens and constituents, and back; and inputs in natural language."""

from csl.languages.program import Constituent, Kind, Program, Text

__all__ = ["Constituent", "Kind", "Program", "Text"]
