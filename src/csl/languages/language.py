"""What an output language is: a way to read programs, and to say whether two are the same."""

from typing import Protocol

from csl.languages.program import Program


class Language(Protocol):
    """A notation of outputs. `quotes` are the characters that open and close strings in it."""

    @property
    def name(self) -> str:
        """The name that users know it by."""

    @property
    def quotes(self) -> str:
        """The characters that open and close strings; each is a token of its own."""

    def read(self, text: str) -> Program:
        """Cut a text into tokens and constituents; raises ValueError with position and reason if it does not parse."""

    def same(self, a: str, b: str) -> bool:
        """Say whether two outputs mean the same, as far as their notation shows."""
