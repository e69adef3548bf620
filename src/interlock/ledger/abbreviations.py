"""Which of many things is meant: by an id, the beginning of one, or its short code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from interlock.errors import InputError, UnknownError
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import ScopeKind, scope_from_id
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN, RunStatus
from interlock.model.short_code import code_of, code_typed, is_meant
from interlock.ports import ALL, Rows

_MOST_NAMED: Final = 5
_NEWEST: Final = 1000
"""Among so many of the runs that were active last a code is looked for."""
_Thing = TypeVar("_Thing")


def found_run(rows: Rows, text: str) -> RunRow:
    """Return the run that an id, its beginning or its code names."""
    is_text = _is_text(text)
    exact = rows.run(text) if is_text else None
    if exact is not None:
        return exact
    found = rows.runs(limit=_MOST_NAMED + 1, prefix=text) if text and is_text else ()
    meant = {row.id: row for row in (*found, *_runs_by_code(rows, text))}
    return named("run", text, meant.items(), "interlock runs")


def _runs_by_code(rows: Rows, text: str) -> Sequence[RunRow]:
    """Return the runs that a code names: those at work, or else the latest of the others."""
    if not code_typed(text):
        return ()
    at_work = rows.runs(limit=ALL, status=RunStatus.RUNNING.value)
    meant = [row for row in at_work if is_meant(row.id, text)]
    return meant or [row for row in rows.runs(limit=_NEWEST) if is_meant(row.id, text)]


def found_approval(rows: Rows, text: str) -> Approval:
    """Return the question that an id, its beginning or its code names.

    What was decided is meant only where nothing that waits is.
    """
    exact = rows.approval(text) if _is_text(text) else None
    if exact is not None:
        return exact
    waiting = _meant_approvals(rows, text, ApprovalState.PENDING.value)
    asked = waiting or _meant_approvals(rows, text, None)
    return named("approval", text, asked, "interlock approvals")


def _meant_approvals(rows: Rows, text: str, state: str | None) -> list[tuple[str, Approval]]:
    found = rows.approvals(state=state, limit=ALL)
    return [(each.id, each) for each in found if is_meant(each.id, text)]


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
        raise InputError(f"`{text}` is not a name: expected such as `{scope.kind.value}/NAME`")
    return scope.id


def named(noun: str, text: str, things: Iterable[tuple[str, _Thing]], listed_by: str) -> _Thing:
    """Return the one thing whose id this is, or else begins so, or has this code."""
    begun = [each for each in things if is_meant(each[0], text)]
    found = [each for each in begun if each[0] == text] or begun
    if not found:
        raise UnknownError(f"there is no {noun} `{text}`: look at `{listed_by}`")
    if len(found) > 1:
        raise ambiguous(noun, text, [thing_id for thing_id, _ in begun])
    return found[0][1]


def ambiguous(noun: str, text: str, ids: Sequence[str]) -> InputError:
    """Return the error for a text that could be several things."""
    more = " and more" if len(ids) > _MOST_NAMED else ""
    known = ", ".join(_shown(ids[:_MOST_NAMED]))
    return InputError(f"`{text}` could be more than one {noun}: {known}{more}; write more of it")


def _shown(ids: Sequence[str]) -> Iterator[str]:
    """Yield each id with its code, if it has one."""
    for each in ids:
        code = code_of(each)
        yield f"`{each}`" if code == each else f"`{code}` (`{each}`)"
