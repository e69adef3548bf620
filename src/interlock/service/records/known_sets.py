"""Is what lies in the store of undoing what is on record? Somebody else may have written there."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import cast

import msgspec
from msgspec.structs import replace

from interlock.edits.journal import has_unfinished, undo_id
from interlock.errors import EditError
from interlock.model.action import ToolAction
from interlock.model.edit import Applied
from interlock.model.events import ActionJudged
from interlock.model.verdict import Decision
from interlock.service.records.context import Context
from interlock.service.records.edit_sets import (
    application_of,
    application_without_report,
    event_at,
    is_plan,
    owner_of,
    without_secrets,
)


def is_known(context: Context, applied: Applied) -> bool:
    """Tell whether a set of edits is on record here, or the set that it puts back.

    Raises EditError where another one is on record.
    """
    made = _made_first(applied)
    judged = owner_of(made.id)
    if judged is None:
        return False
    rows = context.ledger.rows
    plan = event_at(rows, judged)
    if not isinstance(plan, ActionJudged) or not is_plan(plan.action):
        return False
    done, clean = application_of(rows, judged), without_secrets(context, made)
    done = done or application_without_report(rows, judged)
    if not (_is_planned(plan, clean) if done is None else done.applied == clean):
        raise EditError(
            f"the journal of the set `{applied.id}` in `{context.undo_store}` is not what is on"
            " record: somebody has changed it, and nothing was put back"
        )
    return True


def _made_first(applied: Applied) -> Applied:
    """Return the set that was put back, however often, as it was applied."""
    while applied.undoes is not None and applied.id == undo_id(applied.undoes):
        turned = [replace(file, before=file.after, after=file.before) for file in applied.files]
        before = applied.undoes.removesuffix(undo_id(""))
        applied = replace(
            applied,
            id=applied.undoes,
            undoes=before if before != applied.undoes else None,
            files=tuple(turned),
        )
    return applied


def _is_planned(plan: ActionJudged, applied: Applied) -> bool:
    """Tell whether a set that nobody lived to record changes nothing but what was agreed to."""
    if plan.decision not in (Decision.ALLOW, Decision.WARN) or applied.undoes is not None:
        return False
    try:
        params = msgspec.json.decode(cast("str", cast("ToolAction", plan.action).params))
    except msgspec.DecodeError:
        # It was too large to be kept.
        return False
    agreed = {
        part["path"] for part in cast("Mapping[str, list[dict[str, object]]]", params)["edits"]
    }
    is_there = params["workspace"] == applied.workspace
    return is_there and agreed.issuperset(file.target for file in applied.files)


def recover_unfinished(context: Context) -> None:
    """Bring every set that is known and not finished to one state; raises EditError if it cannot.

    The sets of other ledgers are left to them.
    """
    if has_unfinished(context.undo_store):
        from interlock.edits.edit_apply import recover  # noqa: PLC0415 - only where something died

        recover(context.undo_store, is_known=lambda applied: is_known(context, applied))


def recover_if_possible(context: Context) -> None:
    """Do the same; what fails is said to whoever next edits something or puts it back."""
    with contextlib.suppress(EditError):
        recover_unfinished(context)
