"""What an agent's client tells a hook, what is asked because of it, and what the client hears.

The way of a call: a dialect makes a request of it, the request is put to the ledger, and the same
dialect makes the reply that the client understands. A dialect decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from interlock.model.action import Action
from interlock.model.answers import Answer, StepAnswer, StopAnswer
from interlock.model.events import ActionObserved
from interlock.model.review import Report

REFUSED: Final = 2
"""The exit code of a hook that every client takes for a no."""


class HookCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hook that a client ran."""

    hook: str
    """The dialect that the client speaks."""
    args: tuple[str, ...] = ()
    cwd: str = ""
    pid: int = 0
    """The process that the hook is."""
    payload: msgspec.Raw = msgspec.Raw(b"null")
    """What the client wrote to it, in JSON."""

    @property
    def is_stop(self) -> bool:
        """Whether it is called at the end of a turn, which must always be possible."""
        return "stop" in self.args


class HookReply(NamedTuple):
    """What a hook ends with: its exit code, and what it writes."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""


class HookSession(msgspec.Struct, frozen=True, kw_only=True):
    """The session of a client that a hook belongs to: it is a run, begun with the first hook."""

    client: str
    id: str
    task: str = ""
    agent: str = "agent"
    project: str = "default"
    workspace: str | None = None


class ActionAsked(msgspec.Struct, frozen=True, kw_only=True):
    """May it do this?"""

    action: Action
    key: str | None = None
    """The client's own name for the call, by which its outcome is reported."""
    wait_s: float | None = None


class ActionSeen(msgspec.Struct, frozen=True, kw_only=True):
    """An action was taken, and this came of it; where nobody had asked, that is on record too."""

    action: Action
    key: str | None = None
    seen: Mapping[str, object] = {}
    """What `run.observe` takes."""


class StepAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Should it go on?"""

    said: str | None = None
    fields: Mapping[str, object] = {}
    """What `run.step` takes besides."""


class StopAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Is it really done?"""

    text: str | None = None
    fields: Mapping[str, object] = {}
    """What `run.stopped` takes besides."""


class PromptHeard(msgspec.Struct, frozen=True, kw_only=True):
    """A person spoke to the agent, at the client's own prompt."""


class SessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """The client is done with the session."""

    outcome: str = "completed"


HookQuestion = ActionAsked | ActionSeen | StepAsked | StopAsked | PromptHeard | SessionEnded
HookAnswer = Answer | ActionObserved | StepAnswer | StopAnswer | Report | None


class HookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a call comes to."""

    run: HookSession | str
    """The session that it belongs to, or the run itself by its id."""
    question: HookQuestion
