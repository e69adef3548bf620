"""What a snapshot comes to: its hash, and whether anybody has to be asked at all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from interlock.model.system_loop import APPROVAL_DECIDED, Snapshot, Source, Trigger
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


def answered_together(triggers: Sequence[Trigger]) -> Sequence[Sequence[Trigger]]:
    """Return which triggers one decision answers: a person's word is about what waits for it."""
    words = [each for each in triggers if each.name == APPROVAL_DECIDED]
    others = [each for each in triggers if each.name != APPROVAL_DECIDED]
    return [group for group in (words, others) if group]


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
