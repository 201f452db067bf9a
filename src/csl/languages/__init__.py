"""Output languages: from the text of a program to tokens and constituents, and back; and inputs in natural language."""

from csl.languages.casing import Casing
from csl.languages.language import Language
from csl.languages.program import Constituent, Kind, Program, Text
from csl.languages.registry import LANGUAGES, Detected, detect, language
from csl.languages.spacing import Spacing

__all__ = [
    "LANGUAGES",
    "Casing",
    "Constituent",
    "Detected",
    "Kind",
    "Language",
    "Program",
    "Spacing",
    "Text",
    "detect",
    "language",
]
