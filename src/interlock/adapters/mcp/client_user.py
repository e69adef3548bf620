"""The user of a client: asked through the client itself, in the way that it understands.

Before 2026-07-28 a server asks while a call is under way. Since then it answers the call with what
it wants to know, and the client calls again with the answer and a word that it was given: that word
is good for one answer to one call, and for some minutes.
"""

from __future__ import annotations

import enum
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from interlock.adapters.mcp.governed_call import GovernedCall
from interlock.adapters.mcp.rpc_message import Message, result_line, table, table_in
from interlock.errors import InputError

_ELICIT: Final = "elicitation/create"
_QUESTION: Final = "interlock"
_FIELD: Final = "allow"
_LASTS_S: Final = 600.0
_MOST_OPEN: Final = 1000
_SCHEMA: Final = {
    "type": "object",
    "properties": {
        _FIELD: {
            "type": "boolean",
            "title": "Let it happen once",
            "description": "Only this one call, exactly as it is shown.",
        }
    },
    "required": [_FIELD],
}

AskClient = Callable[[str, Mapping[str, object]], Awaitable[Message]]


class Said(enum.Enum):
    """What a user came to say."""

    YES = "yes"
    NO = "no"
    NOTHING = "nothing"
    """The question was put aside, or its answer cannot be read: nobody has agreed."""


class OpenQuestion(NamedTuple):
    """A question that a client was given, with what it is about and how long it is open."""

    digest: str
    until: float


class ClientUser:
    """Asks a client's user, and knows which of its questions are open."""

    def __init__(self, ask_client: AskClient, questions: dict[str, OpenQuestion]) -> None:
        self._ask_client = ask_client
        self._open = questions

    async def asked(self, call: GovernedCall, reasons: Sequence[str]) -> Said:
        """Ask while the call waits."""
        answer = await self._ask_client(_ELICIT, _question(call, reasons))
        return Said.NOTHING if answer.result is None else _said(table(answer.result))

    def question_line(self, call: GovernedCall, reasons: Sequence[str]) -> bytes:
        """Return the answer to a call that has the client ask, and call again."""
        now = time.monotonic()
        for key in [key for key, each in self._open.items() if now >= each.until]:
            del self._open[key]
        if len(self._open) >= _MOST_OPEN:
            raise InputError(f"{_MOST_OPEN:,} questions are open: answer some of them first")
        state = f"interlock-{secrets.token_urlsafe(32)}"
        self._open[state] = OpenQuestion(call.digest, now + _LASTS_S)
        question = {"method": _ELICIT, "params": {"mode": "form", **_question(call, reasons)}}
        return result_line(
            call.id,
            {
                "resultType": "input_required",
                "inputRequests": {_QUESTION: question},
                "requestState": state,
            },
        )

    def is_answered(self, call: GovernedCall) -> bool:
        """Whether a call says that it answers a question of this."""
        return call.state is not None and call.state.startswith("interlock-")

    def answer_in(self, call: GovernedCall) -> Said:
        """Return what a call brings along as an answer; each question takes one."""
        found = self._open.pop(call.state or "", None)
        if found is None or time.monotonic() >= found.until:
            raise InputError("the question is not open any more: call again without `requestState`")
        if found.digest != call.digest:
            raise InputError("the answer is to another call: call again without `requestState`")
        return _said(table_in((call.responses or {}).get(_QUESTION)))


def _question(call: GovernedCall, reasons: Sequence[str]) -> dict[str, object]:
    lines = (
        f"Interlock asks: may `{call.name}` be used like this?",
        *(f"- {each}" for each in reasons),
    )
    return {"message": "\n".join(lines), "requestedSchema": _SCHEMA}


def _said(answer: Mapping[str, object]) -> Said:
    """Return what an answer says; to accept the form is not yet to agree."""
    match answer.get("action"):
        case "accept":
            allowed = table_in(answer.get("content")).get(_FIELD)
            if not isinstance(allowed, bool):
                return Said.NOTHING
            return Said.YES if allowed else Said.NO
        case "decline":
            return Said.NO
        case _:
            return Said.NOTHING
