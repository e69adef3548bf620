"""A simple command as written, between the reading and the running of it."""

from __future__ import annotations

from typing import Protocol

from interlock.commands.shell.commands import Frame, Redirect
from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word


class Simple:
    """A simple command: words expanded, not yet resolved."""

    __slots__ = ("argv", "assignments", "declares", "redirects", "stdin", "text")

    def __init__(self, argv: list[Word], text: str) -> None:
        self.argv = argv
        self.text = text
        self.assignments: list[tuple[str, Word]] = []
        self.redirects: list[Redirect] = []
        self.stdin: Stream | None = None
        self.declares = False
        """Whether the assignments are the command's own work, as in `export A=b`."""


class Runner(Protocol):
    """Resolves simple commands; returns what they print."""

    def invoke(self, simple: Simple, scope: Scope, frame: Frame) -> Stream:
        """Resolve a simple command, note what it does, and return what it prints."""
        ...

    def give_up(self, reason: str, text: str, *, too_much: bool = False) -> None:
        """Note that a part could not be followed."""
        ...
