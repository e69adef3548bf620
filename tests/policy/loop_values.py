"""Values for tests about the deciding of the loop."""

from __future__ import annotations

from hypothesis import strategies as st

from interlock.model.system_loop import (
    ApplyRecommendation,
    Choice,
    DoNothing,
    EmitAlert,
    Item,
    ProcessNotes,
    RailFacts,
    Reading,
    Snapshot,
    Source,
    StartLoop,
    Trigger,
)
from interlock.policy.config.loop_section import Job, SystemLoop

NOON = 1_700_000_000_000_000
MEND = Job(name="mend", command=("true",), on=("ci/build.failed", "nightly.*"))
CHOICES: tuple[Choice, ...] = (
    StartLoop(job="mend"),
    ProcessNotes(notes=("n1",)),
    ApplyRecommendation(recommendation="rec-1"),
    EmitAlert(message="hello"),
    DoNothing(),
)
"""One of each action."""


def a_snapshot(
    *,
    notes: tuple[Item, ...] = (),
    slog: tuple[Item, ...] = (),
    recommendations: tuple[Item, ...] = (),
    runs: tuple[Item, ...] = (),
    unfinished: tuple[Item, ...] = (),
    at: int = NOON,
) -> Snapshot:
    named = zip(Source, (notes, slog, recommendations, runs, unfinished), strict=True)
    return Snapshot(
        readings=tuple(
            Reading(source=source.value, observed_at=at, value=len(items), items=items)
            for source, items in named
        )
    )


def a_trigger(name: str = "manual", *, id: str = "t1", data: str = "") -> Trigger:  # noqa: A002 - what it is called everywhere
    return Trigger(id=id, name=name, occurred_at=NOON, due_at=NOON, data=data)


def facts() -> st.SearchStrategy[RailFacts]:
    """Whatever may be known of a loop."""
    told = st.none() | st.just("a1")
    return st.builds(
        RailFacts,
        frozen=st.none() | st.just("enough"),
        acted=st.integers(0, 8),
        outgoing=st.sampled_from([0, 1, 499, 500, 600]),
        spent_micros=st.integers(0, 100),
        granted=told,
        denied=told,
    )


def settings() -> st.SearchStrategy[SystemLoop]:
    """Whatever a policy may say about rails."""
    may = st.sampled_from(["allow", "require-confirmation", "off"])
    return st.builds(
        SystemLoop,
        mode=st.sampled_from(["enforce", "shadow", "off"]),
        max_depth=st.integers(0, 4),
        start_loop=may,
        process_notes=may,
        apply_retro_recommendation=may,
        emit_alert=may,
        start_loop_per_hour=st.integers(0, 8),
        process_notes_per_hour=st.integers(0, 8),
        apply_retro_recommendation_per_hour=st.integers(0, 8),
        emit_alert_per_hour=st.integers(0, 8),
    )
