"""The pages of the loop: how it stands, what it decided, notes, and what it recommends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    heading_lines,
    labelled_lines,
    labelled_rows,
    terminal_width,
    text_width,
    wrapped_lines,
)
from interlock.cli.text.tables import Column, cut, table_lines
from interlock.model.loop_state import Breaker
from interlock.model.recommendation import PatchOperation, Recommendation, RecommendationState
from interlock.model.short_code import CODE_LENGTH, code_of, codes_of
from interlock.model.system_loop import Note
from interlock.views import units
from interlock.views.loop_timeline import choice_text
from interlock.views.loop_view import (
    CycleView,
    HeldAction,
    LoopStatus,
    Rate,
    SlogPage,
    Stage,
    WaitingDelivery,
)

_STAGE: Final = 10
_MOST_LISTED: Final = 5
_SLOG: Final = (
    Column("when", spared=1),
    Column("decision"),
    Column("outcome"),
    Column("action", stretches=True),
    Column("because of", spared=3),
    Column("decider", spared=2),
)
_NOTES: Final = (
    Column("when", right=True),
    Column("note"),
    Column("text", stretches=True),
    Column("from", spared=2),
    Column("scope", spared=1),
)
_STATES: Final = {
    RecommendationState.PENDING: Tone.ASKING,
    RecommendationState.APPLIED: Tone.GOOD,
    RecommendationState.DISMISSED: Tone.FAINT,
    RecommendationState.UNDONE: Tone.CAREFUL,
}


def status_lines(status: LoopStatus, workers: Sequence[str] | None, now: int) -> Iterator[Line]:
    """Yield how the loop stands; `workers` are those that are at work, None where none can be."""
    yield from _standing_lines(status, now)
    yield from labelled_rows(
        ("decider", status.decider if status.model is None else f"{status.decider} {status.model}"),
        ("workers", _workers_text(workers)),
        ("beats", _heartbeat_text(status, workers, now)),
        ("cycles", _cycles_text(status)),
        ("today", _money_text(status)),
    )
    for rate in status.rates:
        yield from labelled_lines("" if rate is not status.rates[0] else "may", _rate_text(rate))
    yield from _breaker_lines(status, now)
    yield from _waiting_lines(status, now)
    if status.last is not None:
        yield from heading_lines("Last cycle", f"{units.span(now - status.last.entry.at)} ago")
        yield from cycle_lines(status.last)


def _standing_lines(status: LoopStatus, now: int) -> Iterator[Line]:
    if status.standstill is not None:
        since = "" if status.frozen is None else f", {units.span(now - status.frozen.since)} ago"
        yield badge_line("FROZEN", Tone.BLOCK, f"nothing is emitted or delivered{since}")
        yield from labelled_rows(("why", status.standstill))
        way = "interlock resume --all" if status.frozen is None else "interlock loop unfreeze"
        yield from labelled_rows(("then", f"{way} --reason TEXT", Tone.CODE))
    elif status.mode == "shadow":
        yield badge_line("SHADOW", Tone.WARN, "it decides and records, and emits nothing")
    elif status.mode == "off":
        yield badge_line("OFF", Tone.WARN, "it records that it was asked, and decides nothing")
    else:
        yield badge_line("ENFORCE", Tone.ALLOW, "it decides, and what passes the rails is done")


def _workers_text(workers: Sequence[str] | None) -> str:
    if workers is None:
        return "no engine yet: `interlock loop run` starts one"
    return ", ".join(workers) or "none at work: `interlock loop run` starts one"


def _heartbeat_text(status: LoopStatus, workers: Sequence[str] | None, now: int) -> str:
    every = f"every {status.heartbeat_minutes} min"
    if not workers:
        return f"{every}, once a worker runs"
    return f"{every}, next in {units.span(status.next_heartbeat - now)}"


def _cycles_text(status: LoopStatus) -> str:
    outcomes = ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in status.outcomes.items()
    )
    return f"{status.cycles:,}" + (f": {outcomes}" if outcomes else "")


def _money_text(status: LoopStatus) -> str:
    spent, limit = units.dollars(status.spent_micros), units.dollars(status.day_cost_micros)
    return f"{spent} of {limit} for deciding"


def _rate_text(rate: Rate) -> str:
    if rate.may == "off":
        return f"{rate.action.value}: never"
    asks = ", a person agrees first" if rate.may == "require-confirmation" else ""
    return f"{rate.action.value}: {rate.acted} of {rate.per_hour} within the hour{asks}"


def _breaker_lines(status: LoopStatus, now: int) -> Iterator[Line]:
    for name, breaker in status.breakers.items():
        if breaker.failures or breaker.open_until:
            yield from labelled_lines("breaker", _breaker_text(name, breaker, now), Tone.CAREFUL)


def _breaker_text(name: str, breaker: Breaker, now: int) -> str:
    failed = f"{name} failed {units.counted(len(breaker.failures), 'time')} lately"
    if breaker.open_until > now:
        return f"{failed}: left alone for {units.span(breaker.open_until - now)}, the rules decide"
    return f"{failed}; the next call shows whether it is better" if breaker.open_until else failed


def _waiting_lines(status: LoopStatus, now: int) -> Iterator[Line]:
    lines = [
        *[line for each in status.held for line in _held_lines(each, now)],
        *[line for each in status.deliveries[:_MOST_LISTED] for line in _due_lines(each, now)],
        *_count_lines(status),
    ]
    if lines:
        yield from heading_lines("Waiting")
        yield from lines


def _held_lines(each: HeldAction, now: int) -> Iterator[Line]:
    held = each.held
    yield (Span("  "), Span("ASKS", Tone.CONFIRM), Span(f"  {choice_text(held.choice)}"))
    approve = f"interlock approve {code_of(held.approval)}"
    left = "" if each.expires_at is None else f"  expires in {units.span(each.expires_at - now)}"
    state = left if each.is_open else "  decided: the next cycle goes by it"
    yield (Span(f"    {approve}", Tone.CODE), Span(state, Tone.FAINT))


def _due_lines(each: WaitingDelivery, now: int) -> Iterator[Line]:
    delivery = each.delivery
    tried = f", try {delivery.attempts + 1}" if delivery.attempts else ""
    when = f"in {units.span(delivery.next_at - now)}" if delivery.next_at > now else "now"
    text = f"{code_of(each.event)} to {delivery.sink}: {each.action.value}, {when}{tried}"
    yield from labelled_lines("deliver", text)
    if delivery.error is not None:
        yield from labelled_lines("", delivery.error, Tone.CAREFUL)


def _count_lines(status: LoopStatus) -> Iterator[Line]:
    more = len(status.deliveries) - _MOST_LISTED
    names = dict.fromkeys(trigger.source for trigger in status.triggers)
    yield from labelled_rows(
        ("", f"and {units.counted(more, 'more delivery')}" if more > 0 else ""),
        (
            "triggers",
            f"{len(status.triggers)}: {', '.join(names)}" if status.triggers else "",
        ),
        ("notes", f"{len(status.notes)}: `interlock note list`" if status.notes else ""),
        ("jobs", ", ".join(code_of(run) for run in status.jobs)),
        (
            "learnt",
            f"{units.counted(status.recommendations, 'recommendation')}:"
            " `interlock recommendations`"
            if status.recommendations
            else "",
        ),
    )


def cycle_lines(view: CycleView) -> Iterator[Line]:
    """Yield one cycle, stage by stage."""
    head = (Span(f"  {'decision':<{_STAGE}}", Tone.LABEL),)
    yield (*head, Span(code_of(view.entry.decision.decision_id), Tone.CODE))
    for stage in view.stages:
        yield from _stage_lines(stage)


def _stage_lines(stage: Stage) -> Iterator[Line]:
    head = (Span(f"  {stage.name:<{_STAGE}}", Tone.LABEL),)
    yield from wrapped_lines(head, stage.text, Tone[stage.accent.name])
    for line in stage.more:
        yield from wrapped_lines((Span(" " * (_STAGE + 4)),), line, Tone.FAINT)


def slog_lines(page: SlogPage, now: int) -> Iterator[Line]:
    """Yield a line for each decision, the newest first."""
    if not page.entries:
        yield (Span("nothing was decided yet: `interlock loop tick` looks around now"),)
        return
    short = codes_of([each.decision.decision_id for each in page.entries])
    rows = [
        [
            Span(f"{units.span(now - each.at)} ago", Tone.FAINT),
            Span(short[each.decision.decision_id], Tone.CODE),
            Span(each.decision.outcome.value.replace("_", " "), Tone[each.accent.name]),
            Span(choice_text(each.decision.choice)),
            Span(each.decision.trigger_source),
            Span(each.decision.decider, Tone.FAINT),
        ]
        for each in page.entries
    ]
    yield from table_lines(_SLOG, rows, width=terminal_width())
    if page.before is not None:
        yield (Span(f"earlier ones: interlock loop log --before {page.before}", Tone.FAINT),)


def note_lines(notes: Sequence[Note], now: int) -> Iterator[Line]:
    """Yield a line for each note that waits."""
    if not notes:
        yield (Span("no note waits: `interlock note add TEXT` leaves one"),)
        return
    short = codes_of([note.id for note in notes])
    rows = [
        [
            Span(f"{units.span(now - note.at)} ago", Tone.FAINT),
            Span(short[note.id], Tone.CODE),
            Span(" ".join((note.text, *[f"#{tag}" for tag in note.tags]))),
            Span(note.source, Tone.FAINT),
            Span(note.scope, Tone.FAINT),
        ]
        for note in notes
    ]
    yield from table_lines(_NOTES, rows, width=terminal_width())


def recommendation_list_lines(found: Sequence[Recommendation]) -> Iterator[Line]:
    """Yield what is recommended, and how to go on."""
    if not found:
        yield (Span("nothing is recommended: runs that end are learnt from by the loop"),)
        return
    short = codes_of([each.id for each in found])
    for each in found:
        state = f"{each.state.value:<9}"
        yield (
            Span(short[each.id], Tone.CODE),
            Span(f"  {state}  ", _STATES[each.state]),
            Span(cut(each.title, text_width() - CODE_LENGTH - len(state) - 4)),
        )
    named = short[found[0].id]
    yield ()
    yield (
        Span(f"interlock recommendations show {named}", Tone.CODE),
        Span(" shows its evidence and what would change", Tone.FAINT),
    )


def recommendation_lines(each: Recommendation) -> Iterator[Line]:
    """Yield one recommendation: why, what it changes, and what that would have meant."""
    yield (Span(each.title, Tone.STRONG), Span(f"  {each.state.value}", _STATES[each.state]))
    yield from labelled_rows(
        ("id", each.id, Tone.CODE),
        ("why", each.reason),
        ("counted", f"{each.count} of {each.of}"),
        ("loosens", "" if not each.patch else f"a rule of severity {each.severity.value}"),
    )
    for place, operation in enumerate(each.patch):
        yield from labelled_lines("" if place else "change", patch_text(operation), Tone.CODE)
    if not each.patch:
        yield from labelled_lines("change", "none: it is for people to see to")
    yield from labelled_rows(
        ("past", _effect_text(each)),
        ("rests on", ", ".join(f"{code_of(one.run)} {one.seq}" for one in each.evidence)),
    )
    yield from _way_lines(each)


def patch_text(operation: PatchOperation) -> str:
    """Return one change of the policy."""
    before = "the default" if operation.before is None else operation.before
    return f"{'.'.join(operation.path)}: {before} -> {operation.value}"


def _effect_text(each: Recommendation) -> str:
    effect = each.effect
    if effect is None:
        return ""
    looked = f"{effect.answers:,} answers of {units.counted(effect.runs, 'run')} decided again"
    return (
        f"{looked}: {effect.changed} change, {effect.confirmations_spared} confirmations spared,"
        f" {effect.blocks_lost} blocks lost"
    )


def _way_lines(each: Recommendation) -> Iterator[Line]:
    ways = {
        RecommendationState.PENDING: ("apply", "dismiss") if each.patch else ("dismiss",),
        RecommendationState.APPLIED: ("undo",),
    }.get(each.state, ())
    if ways:
        yield ()
        calls = [f"interlock recommendations {way} {code_of(each.id)}" for way in ways]
        yield (Span("   ".join(calls), Tone.CODE),)
