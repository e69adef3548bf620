"""A plan of edits as the action that is judged: what it would really remove and add."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from interlock.edits.edit_plan import Planned, PlannedLines
from interlock.errors import InputError
from interlock.ledger.chain import decoded, records_of
from interlock.ledger.ledger import Work
from interlock.ledger.projection import report_key
from interlock.ledger.transaction import Transaction
from interlock.model.action import Action, ToolAction
from interlock.model.answers import Answer, action_id
from interlock.model.edit import Applied, AppliedFile, EditPlan, EditSet, FileEdit
from interlock.model.events import EditsApplied, Event, FileChange, Outcome
from interlock.model.facts import Layer
from interlock.model.run import RunState, RunStatus
from interlock.model.unchanged_lines import lines_of
from interlock.policy.gates.fuzzy_edits_gate import EDIT_TOOL
from interlock.ports import Rows
from interlock.service.records.context import Asked, Context, Moment
from interlock.service.records.observations import Observation, observe

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
    as one that stays: then what goes and what comes are two changes.
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


APPLIED: Final = "edits-applied"


def applied_work(
    asked: Asked, judged: SetOwner, event: EditsApplied, seen: Observation
) -> Work[EditsApplied]:
    """Return the work of recording that a set was applied, and of reporting on the action.

    What is on record already is returned as it is. A run that was finished meanwhile gets no
    report any more, but what happened to its files is recorded.
    """
    report = observe(asked, judged.seq, seen)

    def plan(transaction: Transaction) -> EditsApplied:
        moment = Moment(transaction, asked)
        run_id = moment.run.id
        reported = transaction.key(run_id, report_key(judged.seq))
        if reported is not None:
            record = transaction.record(run_id, reported.seq - 1)
            if record is not None and isinstance(record.event, EditsApplied):
                return record.event
        is_running = moment.run.status is RunStatus.RUNNING
        # Right before the report, which is found by the action: so it is found as well.
        moment.append(event)
        if reported is None and is_running:
            report.plan(transaction)
        return event

    return Work(plan, locks=report.locks)


def application_of(rows: Rows, judged: SetOwner) -> EditsApplied | None:
    """Return what is on record of a set that was applied."""
    reported = rows.key(judged.run_id, report_key(judged.seq))
    if reported is None:
        return None
    event = event_at(rows, SetOwner(judged.run_id, reported.seq - 1))
    return event if isinstance(event, EditsApplied) and event.of == judged.seq else None


def application_without_report(rows: Rows, judged: SetOwner) -> EditsApplied | None:
    """Return the same of a run that was finished before it could be reported."""
    for row in records_of(rows, judged.run_id):
        event = decoded(row.body).event if row.kind == APPLIED else None
        if isinstance(event, EditsApplied) and event.of == judged.seq:
            return event
    return None


def is_reported(rows: Rows, judged: SetOwner) -> bool:
    """Whether it is on record what became of an action."""
    return rows.key(judged.run_id, report_key(judged.seq)) is not None


def event_at(rows: Rows, place: SetOwner) -> Event | None:
    """Return what happened at a place of the record."""
    row = rows.record(place.run_id, place.seq)
    return None if row is None else decoded(row.body).event


def judged_place(answer: Answer) -> SetOwner:
    """Return the record that an answer comes from."""
    run_id, _, seq = answer.action_id.rpartition(":")
    return SetOwner(run_id, int(seq))


def application(
    context: Context, judged: SetOwner, applied: Applied, plan: EditPlan | None
) -> EditsApplied:
    """Return the event of a set that was applied, without credentials."""
    layers = frozenset[Layer]() if plan is None else plan.layers
    return EditsApplied(
        of=judged.seq,
        applied=without_secrets(context, applied),
        layers=tuple(layer for layer in Layer if layer in layers),
    )


def observed_ok(
    context: Context, plan: EditPlan, *, storage_bytes: int, duration_ms: int
) -> Observation:
    """Return the report on a set that was applied, with the figures of its plan."""
    counted = tuple(
        FileChange(path=context.clean(file.target), added=file.added, removed=file.removed)
        for file in plan.files
    )
    return Observation(
        outcome=Outcome.OK, duration_ms=duration_ms, storage_bytes=storage_bytes, counted=counted
    )


def observed_failed(error: Exception, *, duration_ms: int) -> Observation:
    """Return the report on a set that was not applied."""
    return Observation(outcome=Outcome.FAILED, duration_ms=duration_ms, output=str(error))


def workspace_of(run: RunState) -> str:
    """Return the folder that a run works in; raise InputError where it has none."""
    if run.workspace is None:
        raise InputError(
            f"run `{run.id}` has no workspace, so that there is nothing to edit: start it with"
            " `workspace=`"
        )
    return run.workspace


def plan_without_secrets(context: Context, plan: EditPlan) -> EditPlan:
    """Return a plan without credentials."""
    files = tuple(
        replace(file, path=context.clean(file.path), target=context.clean(file.target))
        for file in plan.files
    )
    return EditPlan(workspace=context.clean(plan.workspace), files=files)


def without_secrets(context: Context, applied: Applied) -> Applied:
    """Return a set that was applied, without credentials."""
    files = tuple(
        AppliedFile(
            path=context.clean(file.path),
            target=context.clean(file.target),
            before=file.before,
            after=file.after,
        )
        for file in applied.files
    )
    return replace(applied, workspace=context.clean(applied.workspace), files=files)


_SHAPE: Final = '`{"edits": [{"path": "...", "old": "...", "new": "..."}]}`'
_TEXTS: Final = ("path", "old", "new")
_FIELDS: Final = (*_TEXTS, "replace_all")
_LONGEST_SHOWN: Final = 60


def edits_from_json(raw: bytes) -> EditSet:
    """Return the edits that a text asks for: a table with `edits`, or the bare list."""
    try:
        read: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the edits are no JSON: {error}: send {_SHAPE}") from error
    edits = enumerate(_list(read))
    return EditSet(edits=tuple(_edit(value, f"edits[{number}]") for number, value in edits))


def _list(read: object) -> list[object]:
    if isinstance(read, list):
        return cast("list[object]", read)
    if not isinstance(read, dict):
        raise InputError(f"the edits are {_shown(read)}, expected {_SHAPE}")
    table = cast("dict[str, object]", read)
    unknown = sorted(table.keys() - {"edits"})
    if unknown:
        raise InputError(f"`{unknown[0][:_LONGEST_SHOWN]}` is not known here: send {_SHAPE}")
    edits = table.get("edits")
    if not isinstance(edits, list):
        raise InputError(
            f"`edits` is {_value_shown(table, 'edits')}, expected a list: send {_SHAPE}"
        )
    return cast("list[object]", edits)


def _edit(value: object, place: str) -> FileEdit:
    if not isinstance(value, dict):
        raise InputError(
            f"`{place}` is {_shown(value)}, expected a table with `path`, `old`, `new`"
        )
    fields = cast("dict[str, object]", value)
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        known = ", ".join(f"`{name}`" for name in _FIELDS)
        raise InputError(f"`{place}.{unknown[0][:_LONGEST_SHOWN]}` is not known: expected {known}")
    path, old, new = (_text(fields, name, place) for name in _TEXTS)
    replace_all = fields.get("replace_all", False)
    if not isinstance(replace_all, bool):
        raise InputError(f"`{place}.replace_all` is {_shown(replace_all)}, expected true or false")
    return FileEdit(path=path, old=old, new=new, replace_all=replace_all)


def _text(fields: Mapping[str, object], name: str, place: str) -> str:
    value = fields.get(name)
    if isinstance(value, str):
        return value
    hint = ": an empty one makes a new file" if name == "old" else ""
    raise InputError(f"`{place}.{name}` is {_value_shown(fields, name)}, expected a text{hint}")


def _value_shown(fields: Mapping[str, object], name: str) -> str:
    return _shown(fields[name]) if name in fields else "missing"


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return f"`{text}`" if len(text) <= _LONGEST_SHOWN else f"`{text[:_LONGEST_SHOWN]}…`"
