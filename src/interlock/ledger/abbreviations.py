"""Which of many things is meant: by an id, or the beginning of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from interlock.errors import InputError, UnknownError
from interlock.model.approval import Approval
from interlock.model.budget import ScopeKind, scope_from_id
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN
from interlock.ports import ALL, Rows

_MOST_NAMED: Final = 5
_Thing = TypeVar("_Thing")


def found_run(rows: Rows, text: str) -> RunRow:
    """Return the run that an id or its beginning names."""
    is_text = _is_text(text)
    exact = rows.run(text) if is_text else None
    if exact is not None:
        return exact
    found = rows.runs(limit=_MOST_NAMED + 1, prefix=text) if text and is_text else ()
    return named("run", text, ((row.id, row) for row in found), "interlock runs")


def found_approval(rows: Rows, text: str) -> Approval:
    """Return the question that an id or its beginning names, decided or not."""
    exact = rows.approval(text) if _is_text(text) else None
    if exact is not None:
        return exact
    asked = ((each.id, each) for each in rows.approvals(limit=ALL))
    return named("approval", text, asked, "interlock approvals")


def _is_text(text: str) -> bool:
    """Whether it can be looked for: half of a character cannot, and is no part of any id."""
    return text.encode("utf-8", "replace").decode() == text


def found_scope(rows: Rows, text: str) -> str:
    """Return an account's name, with a run's id written out."""
    try:
        scope = scope_from_id(text)
    except ValueError as error:
        kinds = ", ".join(f"`{each.value}/...`" for each in ScopeKind)
        raise InputError(f"`{text}` is not an account: expected one of {kinds}") from error
    if scope.kind in (ScopeKind.RUN, ScopeKind.TREE):
        run = found_run(rows, scope.name)
        if run.id == LEDGER_RUN:
            raise InputError(f"`{run.id}` is the ledger's own chain: it spends nothing")
        return f"{scope.kind.value}/{run.id}"
    if not scope.name:
        raise InputError(f"`{text}` names nobody: expected such as `{scope.kind.value}/NAME`")
    return scope.id


def named(noun: str, text: str, things: Iterable[tuple[str, _Thing]], listed_by: str) -> _Thing:
    """Return the one thing whose id this is, or else begins so."""
    begun = [each for each in things if text and each[0].startswith(text)]
    found = [each for each in begun if each[0] == text] or begun
    if not found:
        raise UnknownError(f"there is no {noun} `{text}`: look at `{listed_by}`")
    if len(found) > 1:
        raise ambiguous(noun, text, [thing_id for thing_id, _ in begun])
    return found[0][1]


def ambiguous(noun: str, text: str, ids: Sequence[str]) -> InputError:
    """Return the error for a beginning that several ids have."""
    known = ", ".join(f"`{each}`" for each in ids[:_MOST_NAMED])
    more = " and more" if len(ids) > _MOST_NAMED else ""
    return InputError(f"`{text}` could be more than one {noun}: {known}{more}; write more of it")
