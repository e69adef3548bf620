"""What waits for a person and what came of it, one line each, whatever it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.rows import RunRow
from interlock.model.system_loop import Choice
from interlock.model.verdict import Decision, Finding
from interlock.views.loop_timeline import choice_text

SOON: Final = 600_000_000
"""What runs out within so much time is urgent: ten minutes."""
_MOST_DECIDED: Final = 50
_MOST_RUNS: Final = 500
_BADGES: Final = {
    Subject.ACTION: "ask",
    Subject.RESUME: "paused",
    Subject.REVIEW: "review",
    Subject.LOOP: "ask",
    Subject.PRICE: "ask",
}
_CALL: Final = re.compile(r"([\w.:-]{1,100}) ([\[{].*)", re.DOTALL)
_REVIEW: Final = re.compile(r"review `([^`]+)`")
_HELD: Final = {
    "continue.loop": "it repeats itself",
    "continue.counting": "it repeats itself",
    "continue.budget": "its budget is used up",
    "continue.coherence": "its coherence is too low",
    "continue.rework": "it keeps redoing its own work",
    "continue.uncertainty": "it is not sure of what it does",
    "continue.step-limit": "it took many steps without a person",
    "continue.total-step-limit": "it used all its steps",
}
"""Why a run was held, in a few words, by the rule that says so."""
_CHOICE: Final = msgspec.json.Decoder(Choice)


class QueueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One question, in one line."""

    id: str
    subject: Subject
    word: str
    """What kind of question it is, or what became of it."""
    agent: str
    task: str
    run_id: str
    verb: str
    """How the line begins."""
    text: str
    """What it is about, exact; empty where the verb says it all."""
    why: str
    opened_at: int
    expires_at: int
    left: float
    """The share of its time that is left."""
    is_soon: bool
    state: ApprovalState
    ended_at: int
    """When it was decided or ran out."""
    by: str
    """Who decided; empty where nobody did."""


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that people are or were asked."""

    waiting: tuple[QueueEntry, ...]
    """The soonest to run out first."""
    ended: tuple[QueueEntry, ...]
    """The latest first."""
    ended_in_all: int


def queue(ledger: Ledger, now: int, *, with_ended: bool) -> Queue:
    """Return the questions to people; those that came to an end only where they are shown."""
    rows = ledger.rows
    found = rows.approvals(state=None if with_ended else ApprovalState.PENDING.value, limit=10_000)
    open_ones = sorted(
        (each for each in found if each.is_open_at(now)), key=lambda each: each.expires_at
    )
    ended = sorted((each for each in found if not each.is_open_at(now)), key=ended_at, reverse=True)
    shown = ended[:_MOST_DECIDED] if with_ended else []
    runs = _runs_of(ledger, (*open_ones, *shown))
    return Queue(
        waiting=tuple(queue_entry(each, runs.get(each.run_id), now) for each in open_ones),
        ended=tuple(queue_entry(each, runs.get(each.run_id), now) for each in shown),
        ended_in_all=len(ended),
    )


def _runs_of(ledger: Ledger, asked: Iterable[Approval]) -> Mapping[str, RunRow]:
    wanted = {each.run_id for each in asked}
    if not wanted:
        return {}
    known = {row.id: row for row in ledger.rows.runs(limit=_MOST_RUNS)}
    for run_id in wanted - known.keys():
        row = ledger.rows.run(run_id)
        if row is not None:
            known[run_id] = row
    return known


def ended_at(approval: Approval) -> int:
    """Return when a question came to its end, if it did."""
    return approval.expires_at if approval.decided_at is None else approval.decided_at


def queue_entry(approval: Approval, run: RunRow | None, now: int) -> QueueEntry:
    """Return a question in one line."""
    verb, text = _told(approval, "" if run is None else run.agent)
    is_open = approval.is_open_at(now)
    ran_out = approval.state is ApprovalState.PENDING and not is_open
    whole = max(1, approval.expires_at - approval.opened_at)
    return QueueEntry(
        id=approval.id,
        subject=approval.subject,
        word=_BADGES[approval.subject]
        if is_open
        else ApprovalState.EXPIRED.value
        if ran_out
        else approval.state.value,
        agent="the loop" if approval.subject is Subject.LOOP or run is None else run.agent,
        task="" if run is None or approval.subject is Subject.LOOP else run.task,
        run_id=approval.run_id,
        verb=verb,
        text=text,
        why=_why(approval.findings),
        opened_at=approval.opened_at,
        expires_at=approval.expires_at,
        left=max(0, approval.expires_at - now) / whole,
        is_soon=approval.expires_at - now < SOON,
        state=approval.state,
        ended_at=ended_at(approval),
        by=decider_of(approval),
    )


def decider_of(approval: Approval) -> str:
    """Return who decided; empty where nobody did."""
    kind, _, name = (approval.decided_by or "").partition(":")
    return name if kind == "operator" else ""


def held_in_words(findings: Sequence[Finding]) -> str:
    """Return why a run was held, in a few words; empty where there are none for it."""
    return next((_HELD[each.rule] for each in findings if each.rule in _HELD), "")


def _told(approval: Approval, agent: str) -> tuple[str, str]:
    """Return how the line begins, and what it is about."""
    summary = approval.summary
    match approval.subject:
        case Subject.ACTION:
            return _of_action(summary, approval.findings)
        case Subject.RESUME:
            why = held_in_words(approval.findings)
            asks = f"May {agent or 'it'} resume?"
            return (f"{asks} {why[:1].upper()}{why[1:]}" if why else asks), ""
        case Subject.REVIEW:
            named = _REVIEW.match(summary)
            name = named.group(1) if named else ""
            return f"Review {name} failed: retry, skip or abort?".replace("  ", " "), ""
        case Subject.LOOP:
            return "Let the loop do", loop_choice(summary)
        case Subject.PRICE:
            return f"May {agent or 'it'} go on at an unknown cost?", ""


def loop_choice(summary: str) -> str:
    """Return what the loop wants to do, in words."""
    try:
        return choice_text(_CHOICE.decode(summary))
    except (msgspec.DecodeError, UnicodeError):
        # A credential was taken out of it: then it is told as it is.
        return summary


def _of_action(summary: str, findings: Sequence[Finding]) -> tuple[str, str]:
    excerpts = set(_asking(findings))
    if summary.startswith("write ") and summary not in excerpts:
        return "Change", summary.removeprefix("write ")
    call = _CALL.fullmatch(summary)
    if call is not None:
        return f"Call {call.group(1)}", call.group(2)
    # The part that speaks, where it is short: the whole line stands where it is decided.
    part = next((each for each in _asking(findings) if each in summary), "")
    return "Run", part or summary


def _asking(findings: Sequence[Finding]) -> Iterator[str]:
    for each in findings:
        if each.decision is Decision.REQUIRE_CONFIRMATION and each.excerpt:
            yield each.excerpt


def _why(findings: Sequence[Finding]) -> str:
    return next((each.message for each in findings), "")
