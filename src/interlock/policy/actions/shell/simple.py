"""A simple command as written, between the reading and the running of it."""

from __future__ import annotations

from interlock.policy.actions.shell.commands import Redirect
from interlock.policy.actions.shell.provenance import Stream
from interlock.policy.actions.shell.words import Word


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
