"""Which policy counts, key by key, and which ones counted before."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.ledger.chain import decoded, records_of
from interlock.model.events import PolicyAdopted
from interlock.model.run import LEDGER_RUN
from interlock.policy.config.document import MergedPolicy, Place
from interlock.ports import Rows


class PolicyShown(msgspec.Struct, frozen=True, kw_only=True):
    """A policy, key by key, each with whose file said so."""

    hash: str
    values: tuple[Place, ...]
    """Empty where the policy was taken from the ledger: it knows no files."""


class PolicyVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A policy that counted from some moment on."""

    record: int
    at: int
    by: str
    hash: str
    before: str | None
    project: str | None
    """The project that it counts for; None for all."""
    changes: tuple[str, ...]
    """What is different from the one before, in words."""


def policy_shown(merged: MergedPolicy) -> PolicyShown:
    """Return a policy, key by key."""
    return PolicyShown(hash=merged.hash, values=merged.places)


def policy_versions(rows: Rows, *, limit: int) -> Sequence[PolicyVersion]:
    """Return the policies that counted in the ledger, the latest first."""
    found: list[PolicyVersion] = []
    for row in records_of(rows, LEDGER_RUN):
        if row.kind != "policy-adopted":
            continue
        record = decoded(row.body)
        event = record.event
        if isinstance(event, PolicyAdopted):
            found.append(
                PolicyVersion(
                    record=row.seq,
                    at=row.at,
                    by=f"{record.by.kind.value}:{record.by.name}",
                    hash=event.policy_hash,
                    before=event.before,
                    project=event.project,
                    changes=tuple(event.changes),
                )
            )
    return found[: -limit - 1 : -1]
