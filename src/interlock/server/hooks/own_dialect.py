"""The dialect of Interlock itself: for whoever writes a hook of their own.

    {"session": "s1", "action": {"command": "make test"}, "key": "call-7"}

names a session, or a `run`, and one question: `action`; `seen` with the `action` that it is about;
`step`; `stop`; `prompt`; `end`. The reply on stdout is the answer in JSON. The exit code is 0 for
whatever may go on and 2 for whatever may not, with the reasons on stderr.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from interlock.errors import InputError
from interlock.model.action import action_given
from interlock.model.answers import Answer, StepAnswer, StopAnswer
from interlock.model.hook import (
    REFUSED,
    ActionAsked,
    ActionSeen,
    HookAnswer,
    HookCall,
    HookQuestion,
    HookReply,
    HookRequest,
    HookSession,
    ModelCall,
    PromptHeard,
    SessionEnded,
    StepAsked,
    StopAsked,
)
from interlock.server.wire.http_message import json_bytes


class _Payload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the dialect understands."""

    session: str | None = None
    run: str | None = None
    client: str = "hook"
    task: str = ""
    agent: str = "agent"
    project: str = "default"
    workspace: str | None = None
    action: dict[str, object] | None = None
    key: str | None = None
    wait_s: float | None = None
    seen: dict[str, object] | None = None
    step: dict[str, object] | None = None
    stop: dict[str, object] | None = None
    prompt: bool = False
    end: str | None = None


class OwnDialect:
    """Reads and writes it."""

    def request(self, call: HookCall) -> HookRequest | None:
        """Return what a call asks; InputError where it cannot be read."""
        try:
            said = msgspec.json.decode(call.payload, type=_Payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"the payload of the hook cannot be read: {error}") from None
        return HookRequest(run=_run(said), question=_question(said))

    def reply(self, call: HookCall, answer: HookAnswer) -> HookReply:
        """Return an answer in JSON, with an exit code that says the same."""
        said = b"{}\n" if answer is None else json_bytes(answer) + b"\n"
        reasons = _reasons(answer)
        if reasons is None or call.is_stop:
            return HookReply(0, said)
        return HookReply(REFUSED, said, f"interlock: {'; '.join(reasons)}\n".encode())

    def refusal(self, call: HookCall, reason: str) -> HookReply:
        """Return a no by the exit code, with the reason on stderr."""
        return HookReply(
            0 if call.fails_open else REFUSED,
            stderr=f"interlock: {reason}\n".encode("utf-8", "replace"),
        )

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return nothing: whoever writes a hook of their own reports usage by itself."""
        del call
        return ()


def _run(said: _Payload) -> HookSession | str:
    if (said.run is None) == (said.session is None):
        raise InputError("the payload of the hook names neither `run` nor `session`, or both")
    if said.run is not None:
        return said.run
    return HookSession(
        client=said.client,
        id=said.session or "",
        task=said.task,
        agent=said.agent,
        project=said.project,
        workspace=said.workspace,
    )


def _question(said: _Payload) -> HookQuestion:
    match said:
        case _Payload(action=dict(action), seen=dict(seen)):
            return ActionSeen(action=action_given(action), key=said.key, seen=seen)
        case _Payload(action=dict(action)):
            return ActionAsked(action=action_given(action), key=said.key, wait_s=said.wait_s)
        case _Payload(step=dict(step)):
            return StepAsked(said=_text(step, "said"), fields=step)
        case _Payload(stop=dict(stop)):
            return StopAsked(text=_text(stop, "text"), fields=stop)
        case _Payload(prompt=True):
            return PromptHeard()
        case _Payload(end=str(outcome)):
            return SessionEnded(outcome=outcome)
        case _:
            raise InputError(
                "the payload of the hook asks nothing: expected one of `action`, `step`, `stop`,"
                " `prompt`, `end`"
            )


def _text(fields: dict[str, object], name: str) -> str | None:
    found = fields.pop(name, None)
    if found is not None and not isinstance(found, str):
        raise InputError(f"`{name}` is not a text")
    return found


def _reasons(answer: HookAnswer) -> tuple[str, ...] | None:
    """Return why the agent may not go on; None where it may."""
    match answer:
        case Answer() if not answer.allowed:
            return answer.reasons or (answer.decision.value,)
        case StepAnswer() if not answer.goes_on:
            return answer.reasons or (answer.ruling.reason,)
        case StopAnswer() if answer.goes_on:
            return (answer.nudge or answer.ruling.reason,)
        case _:
            return None


OWN_DIALECT: Mapping[str, OwnDialect] = {"interlock": OwnDialect()}
"""What every server understands; others are added to it."""
