"""What went wrong, in the one shape that every answer about a failure has."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.errors import (
    CheckpointError,
    DecidedError,
    EditError,
    HaltedError,
    InputError,
    InterlockError,
    KeyConflictError,
    LedgerError,
    NotPermittedError,
    PolicyError,
    UnavailableError,
    UnfinishedError,
    UnknownError,
)

_STATUSES: Final = (
    (UnknownError, 404),
    (KeyConflictError, 409),
    (InputError, 422),
    (NotPermittedError, 403),
    (DecidedError, 409),
    (UnfinishedError, 409),
    (HaltedError, 409),
    (CheckpointError, 409),
    (EditError, 409),
    (PolicyError, 422),
    (UnavailableError, 503),
    (LedgerError, 503),
)
"""The first that fits counts."""
_TITLES: Final = {
    400: "The request cannot be read",
    401: "Who asks is not known",
    403: "Not permitted",
    404: "There is no such thing",
    405: "Not in this way",
    408: "The request took too long",
    409: "It cannot be done now",
    413: "The request is too large",
    415: "Not in this format",
    421: "Not the server that was asked for",
    422: "The request cannot be taken",
    429: "Too many requests",
    500: "The server failed",
    503: "The ledger is not available",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong, for programs (RFC 9457)."""

    type: str
    """Names the kind: `urn:interlock:error:` and the class that Python raises."""
    title: str
    status: int
    detail: str
    """The place, the value, and what to do."""
    request_id: str = ""
    complaints: tuple[str, ...] = ()
    """One sentence per mistake, where a policy does not load."""
    approval_id: str | None = None
    """The question to a person that has to be answered first."""


class Refused(Exception):  # noqa: N818 - it is answered, not handled
    """A request that is answered with a status of its own."""

    def __init__(self, status: int, detail: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.status = status
        self.detail = detail
        self.headers = headers
        super().__init__(detail)


def problem_of(error: Exception, request_id: str) -> Problem:
    """Return what is told of an error; of one that nobody foresaw, nothing but its id."""
    if isinstance(error, Refused):
        return _problem("Refused", error.status, error.detail, request_id)
    if not isinstance(error, InterlockError):
        detail = f"something failed that should not have: report it with the id {request_id}"
        return _problem("InternalError", 500, detail, request_id)
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 500)
    made = _problem(type(error).__name__, status, str(error), request_id)
    if isinstance(error, PolicyError):
        return msgspec.structs.replace(made, complaints=error.complaints)
    if isinstance(error, UnfinishedError):
        return msgspec.structs.replace(made, approval_id=error.approval_id)
    return made


def _problem(kind: str, status: int, detail: str, request_id: str) -> Problem:
    title = _TITLES.get(status, "It was refused")
    urn = f"urn:interlock:error:{kind}"
    return Problem(type=urn, title=title, status=status, detail=detail, request_id=request_id)
