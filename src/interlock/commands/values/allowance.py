"""How much may be followed on behalf of one question: steps and text, counted, never timed."""

from __future__ import annotations

from typing import Final, NoReturn

_STEPS: Final = 24_000
_TEXT: Final = 98_304
_TEXT_PER_CHARACTER: Final = 4
_PER_STATEMENT: Final = 6


class TooComplex(Exception):  # noqa: N818 - it says what the question is, not what went wrong
    """There is no end to be seen of what a line would do."""


class Budget:
    """What is left for one question, shared by everything that expands or is followed."""

    __slots__ = ("_steps", "_text")

    def __init__(self) -> None:
        self._steps = _STEPS
        self._text = _TEXT

    def widen(self, length: int) -> None:
        """Make room for a line of this length: a long one may say more."""
        self._text += _TEXT_PER_CHARACTER * length

    def statement(self) -> None:
        """Use up what following one statement or command costs."""
        # As `spend` does it: no line comes by without several of them.
        self._steps -= _PER_STATEMENT
        if self._steps < 0:
            raise TooComplex

    def exhaust(self) -> NoReturn:
        """Give up: it is nested too deeply."""
        raise TooComplex

    def spend(self, steps: int = 1) -> None:
        """Use up steps; raise TooComplex where none are left."""
        self._steps -= steps
        if self._steps < 0:
            raise TooComplex

    def read(self, length: int) -> None:
        """Use up room for text that is made or read again; raise TooComplex without any."""
        self._text -= length
        if self._text < 0:
            raise TooComplex
