"""What a snapshot comes to: its hash, and whether anybody has to be asked at all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from interlock.model.system_loop import APPROVAL_DECIDED, NOTE_ADDED, Snapshot, Source, Trigger
from interlock.policy.config.loop_section import Job, SystemLoop

NOTHING_ACTIONABLE: Final = "nothing_actionable"
SAME_STATE: Final = "same_state"

_ACTIONABLE: Final = (Source.NOTES, Source.RECOMMENDATIONS, Source.UNFINISHED)
"""The sources of which anything at all may call for an action."""


def state_hash(snapshot: Snapshot) -> str:
    """Return what tells one state from another: everything in a snapshot but its times."""
    canonical = [
        [
            reading.source,
            reading.error is not None,
            reading.value,
            [[item.id, item.kind, item.text, item.project] for item in reading.items],
        ]
        for reading in sorted(snapshot.readings, key=lambda reading: reading.source)
    ]
    return hashlib.sha256(msgspec.json.encode(canonical)).hexdigest()


def is_failure(name: str) -> bool:
    """Whether an event says by its name that something failed."""
    return name.endswith(("/failed", ".failed"))


def jobs_for(trigger: Trigger, settings: SystemLoop) -> Sequence[Job]:
    """Return the jobs that the policy has for a trigger."""
    return [job for job in settings.jobs if any(fnmatchcase(trigger.name, each) for each in job.on)]


def demands(trigger: Trigger, settings: SystemLoop) -> bool:
    """Whether a trigger calls for an action by itself, whatever the state is."""
    return is_failure(trigger.name) or bool(jobs_for(trigger, settings))


def answered_together(
    triggers: Sequence[Trigger], settings: SystemLoop
) -> Sequence[Sequence[Trigger]]:
    """Return which triggers one decision answers, because it does one thing only.

    A burst is one decision, unless it calls for different things: for different jobs, for telling
    people, for the notes. A person's word is about what waits for it.
    """
    groups: dict[tuple[str, ...], list[Trigger]] = {}
    for each in triggers:
        groups.setdefault(_call_of(each, settings), []).append(each)
    words, others = groups.pop((APPROVAL_DECIDED,), []), groups.pop((), [])
    calls = list(groups.values()) or [[]]
    calls[0].extend(others)
    return [group for group in (words, *calls) if group]


def _call_of(trigger: Trigger, settings: SystemLoop) -> tuple[str, ...]:
    """Return what a trigger calls for; nothing where it only says that something happened."""
    jobs = tuple(f"job {job.name}" for job in jobs_for(trigger, settings))
    if jobs or trigger.name in (APPROVAL_DECIDED, NOTE_ADDED):
        return jobs or (trigger.name,)
    return ("failure",) if is_failure(trigger.name) else ()


def short_circuit(
    snapshot: Snapshot,
    triggers: Sequence[Trigger],
    settings: SystemLoop,
    *,
    before: str,
) -> str | None:
    """Return why nobody needs to be asked, if so; `before` is the hash of the last decision."""
    if any(demands(trigger, settings) for trigger in triggers):
        return None
    if state_hash(snapshot) == before:
        return SAME_STATE
    return None if _is_actionable(snapshot) else NOTHING_ACTIONABLE


def _is_actionable(snapshot: Snapshot) -> bool:
    known = frozenset(source.value for source in Source)
    return any(
        reading.value
        for reading in snapshot.readings
        # What a source of somebody's own names may always call for something.
        if reading.source in _ACTIONABLE or reading.source not in known
    )
