"""A request that is judged: calling a tool, reading a resource, getting a prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, cast

import msgspec

from interlock.adapters.mcp.rpc_message import (
    REFUSED,
    Id,
    Message,
    error_line,
    parts,
    request_line,
    result_line,
    table,
    table_in,
)
from interlock.errors import InputError
from interlock.model.answers import Answer
from interlock.model.verdict import Decision

CALL: Final = "tools/call"
READ: Final = "resources/read"
PROMPT: Final = "prompts/get"
GOVERNED: Final = frozenset((CALL, READ, PROMPT))
DECISION_KEY: Final = "dev.interlock/decision"
"""Under this name a result says the same for programs."""

_NAMESPACE: Final = "io.modelcontextprotocol/"
_VERSION: Final = f"{_NAMESPACE}protocolVersion"
_INFO: Final = f"{_NAMESPACE}clientInfo"
_CAPABILITIES: Final = f"{_NAMESPACE}clientCapabilities"
_OWN_FIELDS: Final = ("name", "arguments", "uri", "_meta")


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The client in front: what it calls itself, and what it can do."""

    name: str = ""
    is_modern: bool = False
    """Whether each of its requests speaks for itself, as since 2026-07-28."""
    has_forms: bool = False
    """Whether it shows its user a form when it is asked to."""


class GovernedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a client wants of the server."""

    id: Id
    method: str
    name: str
    """The tool or the prompt, or where the resource is."""
    arguments: Mapping[str, object]
    client: Client
    meta: Mapping[str, object]
    """What has to stand in every request of this client."""
    params: msgspec.Raw
    state: str | None = None
    """What an answer asked to be told again, where this is a call that was begun earlier."""
    responses: Mapping[str, object] | None = None
    """What the client's user said, by the names of the questions."""

    def action_name(self, server: str) -> str:
        """Return the name that policies know it by."""
        own = self.name if self.method == CALL else self.method
        return f"mcp__{server}__{own}"

    @property
    def action_params(self) -> Mapping[str, object]:
        """What it is judged by."""
        match self.method:
            case "tools/call":
                return self.arguments
            case "resources/read":
                return {"uri": self.name}
            case _:
                return {"name": self.name, "arguments": self.arguments}

    @property
    def digest(self) -> str:
        """What it is told apart from every other call by."""
        whole = [self.method, self.name, self.arguments]
        return hashlib.sha256(msgspec.json.encode(whole, order="sorted")).hexdigest()

    def without_answers(self) -> bytes:
        """Return it as it was first asked, for a server that asked nothing."""
        asked = parts(self.params)
        kept = {
            each: asked[each] for each in asked if each not in ("requestState", "inputResponses")
        }
        return request_line(self.id, self.method, kept)

    def refusal(self, reasons: Sequence[str], decision: Mapping[str, object]) -> bytes:
        """Return a no: for a tool a result that its model reads, for the rest an error."""
        text = "\n".join(("Interlock did not let this happen:", *(f"- {each}" for each in reasons)))
        if self.method != CALL:
            return error_line(self.id, REFUSED, text, {DECISION_KEY: decision})
        result = {"content": [{"type": "text", "text": text}], "isError": True}
        whole = {"resultType": "complete"} if self.client.is_modern else {}
        return result_line(self.id, {**result, **whole, "_meta": {DECISION_KEY: decision}})


def client_from_initialize(params: msgspec.Raw) -> Client:
    """Return who shakes hands."""
    told = table(params)
    return _client(told.get("clientInfo"), told.get("capabilities"), is_modern=False)


def governed_call(message: Message, greeted: Client) -> GovernedCall:
    """Return what a request wants; raise InputError where that cannot be told."""
    params = table(message.params)
    _check_names(params)
    field = "uri" if message.method == READ else "name"
    name, arguments = params.get(field), params.get("arguments")
    if not isinstance(name, str):
        raise InputError(f"`params.{field}` of `{message.method}` is no text: name what is meant")
    if arguments is not None and not isinstance(arguments, dict):
        raise InputError(f"`params.arguments` of `{message.method}` is no object")
    meta = table_in(params.get("_meta"))
    own = {key: value for key, value in meta.items() if key.startswith(_NAMESPACE)}
    state, responses = params.get("requestState"), params.get("inputResponses")
    return GovernedCall(
        id=message.request_id,
        method=message.method or "",
        name=name,
        arguments=table_in(cast("object", arguments)),
        client=(
            _client(meta.get(_INFO), meta.get(_CAPABILITIES), is_modern=True)
            if _VERSION in meta
            else greeted
        ),
        meta=own,
        params=message.params,
        state=state if isinstance(state, str) else None,
        responses=None if responses is None else table_in(responses),
    )


def decision_of(answer: Answer) -> dict[str, object]:
    """Return an answer for programs."""
    return {
        "decision": answer.decision.value,
        "runId": answer.run_id,
        "actionId": answer.action_id,
        "approvalId": answer.approval_id,
        "findings": [
            {"rule": each.rule, "message": each.message, "remediation": each.remediation}
            for each in answer.verdict.findings
        ],
    }


def blocked(rule: str, **more: object) -> dict[str, object]:
    """Return, for programs, a no that no gate has said."""
    return {"decision": Decision.BLOCK.value, "rule": f"mcp.{rule}", **more}


def _client(info: object, capabilities: object, *, is_modern: bool) -> Client:
    name = table_in(info).get("name")
    forms = table_in(capabilities).get("elicitation")
    return Client(
        name=name if isinstance(name, str) else "",
        is_modern=is_modern,
        # Since 2025-11-25 it says which ways it has; before that, forms were the only one.
        has_forms=isinstance(forms, dict) and ("form" in forms or "url" not in forms),
    )


def _check_names(params: Mapping[str, object]) -> None:
    """Refuse `Name` beside or in place of `name`: some servers take them for the same."""
    for each in params:
        if each not in _OWN_FIELDS and each.lower() in _OWN_FIELDS:
            raise InputError(f"`params.{each}` is written otherwise than `{each.lower()}`")
