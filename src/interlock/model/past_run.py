"""A run that nobody governed, as its client or a benchmark wrote it down, in the words of all.

Readers make these of every format; whoever looks back (audit, simulation, calibration) knows
nothing else. A run may be longer than memory: its steps are given one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from interlock.model.action import Action
from interlock.model.budget import TokenUsage


class PastStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a past run: a message, or a call with what came back.

    What an agent said along with a call stands on the first call of that message.
    """

    role: str = "assistant"
    """Who spoke: a person is `user`, everybody else works for the agent."""
    text: str = ""
    tool: str | None = None
    action: Action | None = None
    """The call as it would have been asked about; None where it is no call, or only a part of it
    is known that cannot be judged."""
    arguments: str = ""
    arguments_digest: str | None = None
    """Digest of all of them; None where they are given in full."""
    result: str | None = None
    """None where nobody saw it."""
    result_digest: str | None = None
    result_size: int | None = None
    failed: bool | None = None
    ran: bool = True
    """Whether the call was carried out: not so where a person or the client refused it."""
    declined: bool = False
    """Whether it was a person who refused it: that is no mistake of the agent."""
    todos: tuple[str, ...] | None = None
    """What stands open on the agent's list, where this call wrote the list."""
    usage: TokenUsage | None = None
    """What the model was given and made; None where nobody counted. It stands once per call of a
    model, so that it can be added up."""
    model: str | None = None
    finish_reason: str | None = None
    turn: int | None = None
    """The calls of one message share it."""
    at: int | None = None
    """When, in microseconds."""
    line: int | None = None
    """Where it begins in its file: the line, or the place in its list, from 1 on."""

    @property
    def tokens(self) -> int | None:
        """All that the model was given and made; None where nobody counted."""
        return None if self.usage is None else self.usage.total


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """A past run."""

    id: str
    steps: Iterable[PastStep]
    """Given once, in order."""
    client: str = ""
    project: str = ""
    """What people call it: the last part of the folder, or the repository."""
    workspace: str | None = None
    parent: str | None = None
    """The run whose agent started this one, for a sub-agent."""
    model: str | None = None
    group: str = ""
    """Runs of one group are alike (the same task, the same repository): a split keeps it whole."""
    success: bool | None = None
    """How it ended, where the format tells."""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a history that could not be read; the rest of it was."""

    path: str
    reason: str
    """What stands there and what was expected."""
    line: int | None = None

    @property
    def place(self) -> str:
        """Where that is, such as `path:12`."""
        return place_of(self.path, self.line)


def place_of(path: str, line: int | None) -> str:
    """Return a place in a file, such as `path:12`; the file where the line is not known."""
    return path if line is None else f"{path}:{line}"
