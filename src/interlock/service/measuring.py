"""What an action came to, for the progress meter: fingerprints, and words without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.events import ActionObserved, Outcome
from interlock.model.progress_meter import FileSeen, Meter, noted
from interlock.model.run import RunState
from interlock.policy.actions.payload import Payload
from interlock.policy.evidence.runner_output import counts_in
from interlock.policy.steps.call_observation import call_seen
from interlock.service.context import Context
from interlock.service.step_facts import coherence_of

_READ_OF_OUTPUT: Final = 2_000
"""Errors and short results are told at the beginning; what counts tests is read elsewhere."""
_SEARCHED_OF_OUTPUT: Final = 4 * _READ_OF_OUTPUT
"""A secret that begins within what is read also has to end within this to be known as one."""


def measured(
    context: Context,
    run: RunState,
    action: Action,
    event: ActionObserved,
    *,
    output: str | None,
    edits: Sequence[Payload],
    now: int,
) -> ActionObserved:
    """Return the report with what it does to the progress of its run."""
    if event.outcome is Outcome.NOT_RUN:
        return event
    seen = call_seen(
        event.tool,
        arguments=_arguments(action),
        arguments_digest=_digest(context, action),
        result=None if output is None else _shown(context, output),
        result_digest=event.output_digest,
        failed=event.outcome is Outcome.FAILED,
        changed=True if event.changes else None,
        files=tuple(_file_seen(context, edit) for edit in edits if _is_whole(action, edit)),
        rewritten=sum(change.rework for change in event.changes),
        tests=event.tests or (None if output is None else counts_in(output)),
        volatile=context.gates.progress.volatile,
        polling=context.gates.progress.polling,
        text=run.going.said or "",
        at=now,
    )
    before = run.going.meter
    meter = noted(before, seen)
    going = msgspec.structs.replace(run.going, actions=run.going.actions + 1)
    return msgspec.structs.replace(
        event,
        measured=seen,
        coherence=coherence_of(going, meter),
        progressed=_is_verified(before, meter, event),
    )


def _is_verified(before: Meter, after: Meter, event: ActionObserved) -> bool:
    """Whether new content was written, or fewer tests fail than ever.

    A command that looks as if it changed something is not enough: nobody has seen what it did.
    """
    if after.fewest_failing != before.fewest_failing:
        return True
    return bool(event.changes) and after.since == after.steps


def _shown(context: Context, output: str) -> str:
    """Return the beginning of an output without secrets, none of them cut in two."""
    return context.clean(output[:_SEARCHED_OF_OUTPUT])[:_READ_OF_OUTPUT]


def _arguments(action: Action) -> str:
    """Return what a call is told apart by: of an edit its place, for the text has a digest."""
    match action:
        case CommandAction(command=command):
            return command
        case ToolAction(params=params):
            return params if isinstance(params, str) else msgspec.json.encode(params).decode()
        case EditAction(path=path):
            return path


def _digest(context: Context, action: Action) -> str | None:
    if isinstance(action, EditAction):
        old = () if action.old is None else (action.old,)
        return context.digest(action.path, action.content, *old)
    return None


def _is_whole(action: Action, edit: Payload) -> bool:
    """Whether an edit says what the file holds afterwards, not only what a part of it does."""
    return edit.path is not None and (isinstance(action, EditAction) or edit.old is None)


def _file_seen(context: Context, edit: Payload) -> FileSeen:
    before = None if edit.old is None else _content(context, edit.old)
    return FileSeen(edit.path or "", before, _content(context, edit.content))


def _content(context: Context, text: str) -> str:
    return context.digest(text.encode("utf-8", "surrogatepass"))[:16]
