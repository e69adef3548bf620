"""The rules: what they choose in which state, and in which order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.model.system_loop import (
    ApplyRecommendation,
    Choice,
    DoNothing,
    EmitAlert,
    Item,
    LoopAction,
    ProcessNotes,
    Snapshot,
    Source,
    StartLoop,
)
from interlock.model.verdict import Severity
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.rules_decider import (
    about_event,
    by_rules,
    is_same_work,
    subject_of,
    undelivered_text,
)
from policy.loop_values import CHOICES, MEND, a_snapshot, a_trigger, settings

JOBS = SystemLoop(jobs=(MEND,))
NOTES = (Item(id="n1", kind="note", text="look"), Item(id="n2", kind="note", text="again"))
PATCH = Item(id="rec-1", kind="patch", text="asked 14 times: allow it")
ADVICE = Item(id="rec-2", kind="advice", text="see to it")
PAUSED = Item(id="r1", kind="paused-run", text="mend the build: unsure")
ON_ITS_WAY: tuple[Choice, ...] = (
    StartLoop(job="mend"),
    ProcessNotes(notes=("n1",)),
    ApplyRecommendation(recommendation="rec-1"),
    EmitAlert(message="paused", about="r1"),
    EmitAlert(message="ci/failed", about="event/t-ci/failed"),
)
EVERYTHING = a_snapshot(notes=NOTES, recommendations=(PATCH,), unfinished=(PAUSED,))
BUILD_FAILED = a_trigger("ci/build.failed", id="t-build", data='{"run": "r7"}')


def chosen(snapshot: Snapshot = EVERYTHING, *names: str, policy: SystemLoop = JOBS) -> Choice:
    triggers = [a_trigger(name, id=f"t-{name}") for name in names or ("manual",)]
    return by_rules(snapshot, triggers, policy).choice


def test_with_nothing_to_do_nothing_is_done() -> None:
    proposal = by_rules(a_snapshot(), [a_trigger()], JOBS)

    assert proposal.choice == DoNothing()
    assert proposal.reasoning == "nothing calls for an action"


def test_a_job_comes_first_then_failures_notes_what_was_left_lying_and_recommendations() -> None:
    order: list[Choice] = [chosen(EVERYTHING, "ci/build.failed")]
    for policy, name in [
        (JOBS, "ci/failed"),
        (JOBS, "manual"),
        (replace(JOBS, process_notes="off"), "manual"),
        (replace(JOBS, process_notes="off", emit_alert="off"), "manual"),
        (
            replace(JOBS, process_notes="off", emit_alert="off", apply_retro_recommendation="off"),
            "manual",
        ),
    ]:
        order.append(chosen(EVERYTHING, name, policy=policy))

    assert order == [
        StartLoop(job="mend"),
        EmitAlert(message="ci/failed", severity=Severity.HIGH, about="event/t-ci/failed"),
        ProcessNotes(notes=("n1", "n2")),
        EmitAlert(message="paused-run: mend the build: unsure", about="r1"),
        ApplyRecommendation(recommendation="rec-1"),
        DoNothing(),
    ]


def test_a_reason_is_given_for_each() -> None:
    reasons = {
        by_rules(snapshot, [trigger], JOBS).reasoning
        for snapshot, trigger in [
            (EVERYTHING, BUILD_FAILED),
            (a_snapshot(), a_trigger("ci/failed")),
            (a_snapshot(notes=NOTES[:1]), a_trigger()),
            (a_snapshot(notes=NOTES), a_trigger()),
            (a_snapshot(recommendations=(PATCH,)), a_trigger()),
            (a_snapshot(unfinished=(PAUSED,)), a_trigger()),
        ]
    }

    assert reasons == {
        "`ci/build.failed` is what job `mend` is for",
        "`ci/failed` says that something failed, and no job is there for it",
        "1 note in the queue",
        "2 notes in the queue",
        "asked 14 times: allow it",
        "`r1` was left lying: paused-run",
    }


def test_people_are_told_what_the_event_brought_but_not_at_any_length() -> None:
    trigger = a_trigger("ci/failed", data="x" * 1_000)

    alert = by_rules(a_snapshot(), [trigger], JOBS).choice

    assert isinstance(alert, EmitAlert)
    assert alert.message == f"ci/failed: {'x' * 289}"
    long = replace(PAUSED, text="y" * 1_000)
    lying = chosen(a_snapshot(unfinished=(long,)))
    assert isinstance(lying, EmitAlert)
    assert len(lying.message) == 300


def test_a_failure_that_a_job_may_not_be_started_for_is_told() -> None:
    policy = replace(JOBS, start_loop="off")

    assert isinstance(chosen(a_snapshot(), "ci/build.failed", policy=policy), EmitAlert)


def test_advice_is_not_applied() -> None:
    assert chosen(a_snapshot(recommendations=(ADVICE,))) == DoNothing()
    assert chosen(a_snapshot(recommendations=(ADVICE, PATCH))) == ApplyRecommendation(
        recommendation="rec-1"
    )


def test_a_job_that_runs_is_not_started_again_and_the_failure_is_told() -> None:
    running = Item(id="r9", kind="job", text="mend")
    other = Item(id="r8", kind="job", text="another")
    same_name = Item(id="r7", kind="run", text="mend")

    again = chosen(a_snapshot(runs=(other, same_name)), "ci/build.failed")
    assert again == StartLoop(job="mend")
    assert isinstance(chosen(a_snapshot(runs=(running,)), "ci/build.failed"), EmitAlert)
    assert chosen(a_snapshot(runs=(running,)), "nightly.sweep") == DoNothing()


def test_people_are_told_once() -> None:
    told = Item(id="d1", kind="emit_alert", text="r1")
    of_another = Item(id="d2", kind="emit_alert", text="r2")
    no_alert = Item(id="d3", kind="start_loop", text="r1")

    assert chosen(a_snapshot(unfinished=(PAUSED,), slog=(told,))) == DoNothing()
    assert isinstance(
        chosen(a_snapshot(unfinished=(PAUSED,), slog=(of_another, no_alert))), EmitAlert
    )


@pytest.mark.parametrize("choice", ON_ITS_WAY, ids=lambda choice: choice.action)
def test_what_is_on_its_way_is_not_chosen_again(choice: Choice) -> None:
    waits = Item(id="d1", kind="undelivered", text=undelivered_text(choice))
    full = a_snapshot(notes=NOTES, recommendations=(PATCH,), unfinished=(PAUSED, waits))

    for name in ("ci/build.failed", "ci/failed", "manual"):
        assert not is_same_work(chosen(full, name), choice)


def test_another_job_and_another_alert_need_not_wait_for_the_first() -> None:
    other_job = Item(id="d1", kind="undelivered", text="start_loop another")
    other_alert = Item(id="d2", kind="undelivered", text="emit_alert r9")
    busy = a_snapshot(unfinished=(other_job, other_alert, PAUSED))

    assert chosen(busy, "ci/build.failed") == StartLoop(job="mend")
    assert chosen(busy, "ci/failed").action is LoopAction.EMIT_ALERT
    assert chosen(busy).action is LoopAction.EMIT_ALERT


@given(st.sampled_from(ON_ITS_WAY), st.sampled_from(ON_ITS_WAY))
def test_the_queue_and_the_policy_are_there_once_and_everything_else_by_its_subject(
    one: Choice, other: Choice
) -> None:
    alike = replace(one, **({"message": "worded otherwise"} if isinstance(one, EmitAlert) else {}))

    assert is_same_work(one, alike)
    is_alike = subject_of(one) == subject_of(other) or not isinstance(one, EmitAlert)
    assert is_same_work(one, other) == (one.action is other.action and is_alike)
    assert not is_same_work(StartLoop(job="mend"), StartLoop(job="another"))
    assert is_same_work(ProcessNotes(notes=("n1",)), ProcessNotes(notes=("n2",)))


def test_several_failures_are_told_at_once() -> None:
    triggers = [
        a_trigger("ci/failed", id="t1", data='{"run": "r7"}'),
        a_trigger("deploy/failed", id="t2"),
        a_trigger("ci/failed", id="t3"),
        a_trigger("manual", id="t4"),
    ]

    alert = by_rules(a_snapshot(), triggers, JOBS).choice

    assert alert == EmitAlert(
        message='3 failures, also deploy/failed, ci/failed; ci/failed: {"run": "r7"}',
        severity=Severity.HIGH,
        about="event/t1",
    )


def test_an_event_that_is_on_its_way_is_nothing_left_lying() -> None:
    waits = Item(id="d1", kind="undelivered", text="process_notes n1")

    assert chosen(a_snapshot(unfinished=(waits,))) == DoNothing()


@pytest.mark.parametrize(
    ("choice", "subject"), list(zip(CHOICES, ["mend", "n1", "rec-1", "", ""], strict=True))
)
def test_an_action_says_what_it_is_about(choice: Choice, subject: str) -> None:
    assert subject_of(choice) == subject
    assert subject_of(EmitAlert(message="m", about="r1")) == "r1"


_ITEMS = st.lists(
    st.sampled_from(
        [
            *NOTES,
            PATCH,
            ADVICE,
            PAUSED,
            Item(id="w", kind="undelivered", text="start_loop mend"),
            Item(id="j", kind="job", text="mend"),
        ]
    ),
    max_size=3,
).map(tuple)
_NAMES = st.lists(
    st.sampled_from(["manual", "heartbeat", "ci/failed", "ci/build.failed", "nightly.x"]),
    min_size=1,
    max_size=3,
)


@given(_ITEMS, _ITEMS, _ITEMS, _ITEMS, _ITEMS, _NAMES, settings())
def test_the_rules_choose_only_what_is_there_and_what_the_policy_lets_them(
    notes: tuple[Item, ...],
    slog: tuple[Item, ...],
    recommendations: tuple[Item, ...],
    runs: tuple[Item, ...],
    unfinished: tuple[Item, ...],
    names: list[str],
    policy: SystemLoop,
) -> None:
    snapshot = a_snapshot(
        notes=notes, slog=slog, recommendations=recommendations, runs=runs, unfinished=unfinished
    )
    triggers = [a_trigger(name, id=f"t{at}") for at, name in enumerate(names)]
    policy = replace(policy, jobs=(MEND,))

    proposal = by_rules(snapshot, triggers, policy)

    assert policy.may(proposal.choice.action) != "off"
    assert proposal.reasoning
    assert proposal == by_rules(snapshot, triggers, policy)
    match proposal.choice:
        case StartLoop(job=job):
            assert job in policy.job_names
        case ProcessNotes(notes=ids):
            assert set(ids) <= {each.id for each in snapshot.items(Source.NOTES)}
        case ApplyRecommendation(recommendation=recommendation):
            assert recommendation in {each.id for each in recommendations}
        case EmitAlert(about=about):
            happened = {about_event(each.id) for each in triggers}
            known = {each.id for each in unfinished} | happened
            assert about in known
        case DoNothing():
            pass
