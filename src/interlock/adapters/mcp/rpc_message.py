"""JSON-RPC as MCP sends it: as much of a message as has to be known, and the rest as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from interlock.errors import InputError
from interlock.policy.actions.calls.json_text import name_given_twice

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
REFUSED: Final = -31403
"""A resource or a prompt that may not be had; the protocol leaves this range to everybody."""
LARGEST: Final = 256 * 2**20
"""So many bytes a message may have."""

Id = int | str | float | None
_NOTHING: Final = msgspec.Raw(b"")
_ENDS_OF_LINES: Final = {
    each.encode(): f"\\u{ord(each):04x}".encode() for each in "\u0085\u2028\u2029"
}
"""What some readers end a line at, above all that of Node."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a server: a request, a notification, or an answer."""

    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result_text: msgspec.Raw = msgspec.field(default=_NOTHING, name="result")
    error: msgspec.Raw = _NOTHING

    @property
    def result(self) -> msgspec.Raw | None:
        """What a request came to; None where this is no answer, or it came to nothing."""
        return None if memoryview(self.result_text).nbytes == 0 else self.result_text

    @property
    def is_answer(self) -> bool:
        """Whether it says what a request came to, whatever else it says."""
        return self.result is not None or memoryview(self.error).nbytes > 0

    @property
    def request_id(self) -> Id:
        """What it is called, or what it answers; None where it has no name."""
        return None if self.id is msgspec.UNSET else self.id


class ClientMessage(Message, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of a client, in which nothing stands that is not known."""

    jsonrpc: str


_FROM_CLIENT: Final = msgspec.json.Decoder(ClientMessage)
_FROM_SERVER: Final = msgspec.json.Decoder(Message)
_TABLE: Final = msgspec.json.Decoder(dict[str, object])
_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def client_message(line: bytes) -> ClientMessage:
    """Return what a client says; raise InputError where two readers could differ about it.

    INVARIANT: what is judged is what the server reads. So each name stands once, in lower case as
    the protocol has it, and several messages at a time are taken from nobody.
    """
    try:
        message = _FROM_CLIENT.decode(line)
        twice = name_given_twice(line.decode())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"this is no JSON-RPC message: {error}; nothing was done") from error
    if twice is not None:
        raise InputError(
            f"the message names `{twice[:64]}` twice in one object: it is unclear which one counts"
        )
    return message


def server_message(line: bytes) -> Message | None:
    """Return what a server says; None where it is no message."""
    try:
        return _FROM_SERVER.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def whole_line(line: bytes) -> bytes:
    """Return a message in which nothing ends a line, whatever a server takes for an end.

    A return is white space within a message; the others stand in texts only, where they can be
    written in another way that means the same.
    """
    line = line.replace(b"\r", b" ")
    for mark, written in _ENDS_OF_LINES.items():
        line = line.replace(mark, written)
    return line


def table(raw: msgspec.Raw | bytes) -> dict[str, object]:
    """Return an object that stands in a message; raise InputError where it is none."""
    try:
        return _TABLE.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"expected an object: {error}") from error


def parts(raw: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    """Return the same, with everything that stands in it as it was written."""
    try:
        return _PARTS.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"expected an object: {error}") from error


def table_in(value: object) -> Mapping[str, object]:
    """Return a value that is an object; an empty one where it is none."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def request_line(request_id: Id, method: str, params: Mapping[str, object]) -> bytes:
    """Return a request."""
    return msgspec.json.encode(
        {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    )


def notification_line(method: str, params: Mapping[str, object]) -> bytes:
    """Return a notification."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})


def result_line(request_id: Id, result: object) -> bytes:
    """Return the answer to a request."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_line(
    request_id: Id, code: int, message: str, data: Mapping[str, object] | None = None
) -> bytes:
    """Return that a request came to nothing."""
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error})
