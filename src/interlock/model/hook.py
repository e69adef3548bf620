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
from interlock.model.budget import TokenUsage
from interlock.model.events import ActionObserved
from interlock.model.review import Report

REFUSED: Final = 2
"""The exit code of a hook that every client takes for a no."""


CANARY: Final = "interlock-canary-"
"""How sessions are called that only test whether hooks are answered."""


def is_canary(task: str) -> bool:
    """Whether a run is a test of the hooks, by the task that it got from its session."""
    return f" session {CANARY}" in task and " " not in task.partition(CANARY)[2]


class HookCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hook that a client ran."""

    hook: str
    """The dialect that the client speaks."""
    args: tuple[str, ...] = ()
    cwd: str = ""
    pid: int = 0
    """The process that the hook is."""
    env: Mapping[str, str] = {}
    """What the client says of itself in the environment of its hooks."""
    payload: msgspec.Raw = msgspec.Raw(b"null")
    """What the client wrote to it, in JSON."""

    @property
    def is_stop(self) -> bool:
        """Whether it is called at the end of a turn, which must always be possible."""
        return "stop" in self.args

    @property
    def fails_open(self) -> bool:
        """Whether the client goes on where nobody answers: at the end of a turn, or only told."""
        return self.is_stop or "told" in self.args

    def option(self, name: str) -> str | None:
        """Return what the hook was called with as `--NAME=VALUE`."""
        start = f"--{name}="
        return next((each[len(start) :] for each in self.args if each.startswith(start)), None)


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
    above: HookSession | None = None
    """The session whose agent started this one, for a sub-agent."""


class ActionAsked(msgspec.Struct, frozen=True, kw_only=True):
    """May it do this?"""

    action: Action
    key: str | None = None
    """The client's own name for the call, by which its outcome is reported."""
    wait_s: float | None = None


class CallAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Should it go on, and may it do this? What a client asks before each call of a tool."""

    action: Action
    key: str | None = None
    """The client's own name for the call, where it has one."""
    wait_s: float | None = None


class ActionSeen(msgspec.Struct, frozen=True, kw_only=True):
    """An action was taken, and this came of it; where nobody had asked, that is on record too."""

    action: Action
    key: str | None = None
    seen: Mapping[str, object] = {}
    """What `run.observe` takes."""
    is_attended: bool = False
    """Whether a person is at the client's own prompt, who lets through what was asked there."""


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
    is_last: bool = False
    """Whether the session is over where the agent is not sent on: a sub-agent's."""


class PromptHeard(msgspec.Struct, frozen=True, kw_only=True):
    """A person spoke to the agent, at the client's own prompt."""


class SessionBegan(msgspec.Struct, frozen=True, kw_only=True):
    """The client begins a session, or goes on with one: perhaps as another process."""


class WorkKept(msgspec.Struct, frozen=True, kw_only=True):
    """The agent is about to forget: what it did so far is saved first."""


class SessionEnded(msgspec.Struct, frozen=True, kw_only=True):
    """The client is done with the session."""

    outcome: str | None = "completed"
    """What became of it; None where only the record can tell."""


class CallAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it may go on, and whether it may do this."""

    step: StepAnswer
    action: Answer | None = None
    """None where it may not even go on."""


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a model, as a client's own record tells of it."""

    key: str
    """The client's own name for it: under one it counts once."""
    usage: TokenUsage
    model: str | None = None


HookQuestion = (
    ActionAsked
    | CallAsked
    | ActionSeen
    | StepAsked
    | StopAsked
    | PromptHeard
    | SessionBegan
    | WorkKept
    | SessionEnded
)
HookAnswer = Answer | CallAnswer | ActionObserved | StepAnswer | StopAnswer | Report | None


class HookRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a call comes to."""

    run: HookSession | str
    """The session that it belongs to, or the run itself by its id."""
    question: HookQuestion
