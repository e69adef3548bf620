"""What may be said beside a question, by name; an entrance checks each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from interlock.model.budget import Budget, TokenUsage, Usd
from interlock.model.entrance import Count, FilePath, Given
from interlock.model.events import Outcome
from interlock.model.review import ReviewGate, ReviewVerdict, TestCounts

GateGiven = str | Given[ReviewGate]
"""A gate: the name of one in the policy, a gate, or a table that describes one."""

VerdictGiven = str | Mapping[str, object] | ReviewVerdict
"""A verdict: as text, as a table, or as a value."""


class RunFields(TypedDict, total=False):
    """What a run may be started with, besides its task."""

    agent: str
    client: str
    project: str
    parent: str | None
    budget: Given[Budget] | None
    """What the run itself may use."""
    tree_budget: Given[Budget] | None
    """What the run and everything below it may use together."""
    workspace: FilePath | None
    """The folder it works in: checkpoints are taken there."""
    process: int | None
    """The process it is started for, by its number; without one, the process that starts it.
    0 is a process of another machine.

    Nothing that descends from it decides: the commands of an agent descend from its client.
    """
    key: str | None
    """Under the same key the same agent starts the same run: whoever asks again gets that one."""


class SeenAsIs(TypedDict, total=False):
    """What an action did, in figures and words that are taken as they are."""

    exit_code: int
    duration_ms: Count
    usage: Given[TokenUsage]
    model: str
    output: str
    tests: Given[TestCounts]
    storage_bytes: Count


class Seen(SeenAsIs, total=False):
    """What an action did, as far as it was seen."""

    outcome: Outcome | str
    """`ok`, `failed` or `not-run`; without it the exit code tells."""
    cost_usd: Usd


class ReviewFields(TypedDict, total=False):
    """What a review may be opened with, besides its name and its gates."""

    subject: str
    """What is reviewed, in words."""
    all_hints: bool
    """Whether the guidance shows every criterion, not only the first few."""


class VerdictFields(TypedDict, total=False):
    """What may be said beside a verdict."""

    review: str
    """Which review it is about; not needed while only one is pending."""
    key: str
    """The caller's own name for it: sent again, it gets the same answer and counts once."""
    is_reply: bool
    """Whether the text is an agent's whole reply: then only a marked line counts as a verdict."""
