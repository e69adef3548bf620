"""A plan of edits as the action that is judged: what it would really remove and add."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from interlock.edits.edit_plan import Planned, PlannedLines
from interlock.model.action import Action, ToolAction
from interlock.model.answers import action_id
from interlock.model.edit import EditSet, Layer
from interlock.policy.actions.gates.fuzzy_edits import EDIT_TOOL
from interlock.policy.actions.line_changes import lines_of
from interlock.service.context import Context

_SET_ID = re.compile(r"(?P<run>.+)-(?P<seq>[0-9]{1,15})-[0-9a-f]{8}(?:-undo)*")
_SURE = (Layer.CREATED, Layer.EXACT)


class SetOwner(NamedTuple):
    """The record that judged a set."""

    run_id: str
    seq: int


def planned_action(planned: Planned, edits: EditSet) -> ToolAction:
    """Return what is asked: every line that would go and come, by the file that it is in."""
    parts = [part for lines in planned.changed_lines() for part in _parts(lines)]
    names = [_change(name, "", "") for name in _aliases(planned, edits)]
    params = {"edits": [*parts, *names], "workspace": planned.plan.workspace}
    return ToolAction(name=EDIT_TOOL, params=params)


def is_plan(action: Action) -> bool:
    """Whether an action was made from a plan of edits."""
    return isinstance(action, ToolAction) and action.name == EDIT_TOOL


def added_bytes(planned: Planned) -> int:
    """Return how much is written that was not there."""
    return sum(len(lines.added.encode("utf-8", "replace")) for lines in planned.changed_lines())


def request_digest(context: Context, edits: EditSet) -> str:
    """Return what tells a set that is asked for from every other."""
    parts = [
        text.encode("utf-8", "surrogatepass")
        for edit in edits.edits
        for text in (edit.path, edit.old, edit.new, str(edit.replace_all))
    ]
    return context.digest("edits", *parts)


def set_id_of(judged: SetOwner, request: str) -> str:
    """Return the id of a set: it follows from the record that judged it, and what it was for."""
    return f"{action_id(judged.run_id, judged.seq).replace(':', '-')}-{request[:8]}"


def owner_of(set_id: str) -> SetOwner | None:
    """Return which record judged a set; None where that is no id of a set."""
    found = _SET_ID.fullmatch(set_id)
    return None if found is None else SetOwner(found["run"], int(found["seq"]))


def _parts(lines: PlannedLines) -> Iterator[dict[str, object]]:
    """Yield a change as what it replaces, so that each line counts that goes or comes.

    A line that goes and comes again in the same place, moved or with another ending, would count
    as one that stays: then what goes and what comes are told apart.
    """
    if set(lines_of(lines.removed)).isdisjoint(lines_of(lines.added)):
        yield _part(lines, lines.removed, lines.added)
    else:
        yield _part(lines, lines.removed, "")
        yield _part(lines, "", lines.added)


def _part(lines: PlannedLines, old: str, new: str) -> dict[str, object]:
    part = _change(lines.target, old, new)
    return part if lines.layer in _SURE else part | {"layer": lines.layer.value}


def _change(path: str, old: str, new: str) -> dict[str, object]:
    return {"path": path, "old_string": old, "new_string": new}


def _aliases(planned: Planned, edits: EditSet) -> list[str]:
    """Return the other names that files were asked for by: a link may have a protected name."""
    root = planned.plan.workspace
    known = {os.path.join(root, file.target) for file in planned.plan.files}  # noqa: PTH118 - as text
    named = dict.fromkeys(os.path.normpath(os.path.join(root, edit.path)) for edit in edits.edits)  # noqa: PTH118 - as text
    return [
        name.removeprefix(f"{root}/") if name.startswith(f"{root}/") else name
        for name in named
        if name not in known
    ]
