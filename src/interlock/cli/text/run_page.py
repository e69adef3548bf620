"""The page of one run: what it was for, its figures, and what the evaluators say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from interlock.cli.text.render import Line, Span, Tone, labelled_lines, text_width
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision
from interlock.views import units

if TYPE_CHECKING:
    from interlock.model.run import RunState
    from interlock.views.run_view import Held

_NAMES = {Decision.REQUIRE_CONFIRMATION.value: "ask"}


def header_lines(state: RunState, now: int, holds: Sequence[Held] = ()) -> Iterator[Line]:
    """Yield what a run is for, what holds it, whose it is, and where it stands."""
    from interlock.cli.text.escape import escape  # noqa: PLC0415 - the same
    from interlock.views.run_view import hold_lines  # noqa: PLC0415 - commands import late

    end = now if state.ended_at is None else state.ended_at
    started = f"{units.moment(state.started_at)}, {units.span(now - state.started_at)} ago"
    yield (Span(escape(state.task) or state.id, Tone.STRONG),)
    yield from hold_lines(holds, state.id, now, width=text_width())
    yield from _labelled(
        ("run", state.id, Tone.CODE),
        ("agent", f"{state.agent} ({state.client})" if state.agent else "", Tone.PLAIN),
        ("project", state.project, Tone.PLAIN),
        ("below", " < ".join(state.ancestors), Tone.CODE),
        ("policy", state.policy_hash[:16], Tone.FAINT),
        ("started", started, Tone.PLAIN),
        ("lasted", units.duration((end - state.started_at) // 1000), Tone.PLAIN),
        ("outcome", _outcome(state, holds), Tone.STRONG),
    )


def figure_lines(state: RunState) -> Iterator[Line]:
    """Yield what a run did and used."""
    yield (Span("Figures", Tone.HEADING),)
    yield from _labelled(
        ("answers", _answers(state), Tone.PLAIN),
        ("steps", steps_text(state), Tone.PLAIN),
        ("saved", _saved(state), Tone.PLAIN),
        ("lines", _lines(state), Tone.PLAIN),
        ("tools", _tools(state), Tone.PLAIN),
        ("tokens", _tokens(state), Tone.PLAIN),
        ("cost", _cost(state), Tone.PLAIN),
        ("tests", _tests(state), Tone.PLAIN),
        ("packages", ", ".join(sorted(state.dependencies)), Tone.PLAIN),
        ("broken", _broken(state), Tone.PLAIN),
    )


def report_lines(state: RunState) -> Iterator[Line]:
    """Yield what the evaluators say, if the run has ended."""
    if state.report is None:
        return
    yield from ((), (Span("Report", Tone.HEADING),))
    width = max((len(each.evaluator) for each in state.report.evaluations), default=0)
    for each in state.report.evaluations:
        mark = Span("pass", Tone.GOOD) if each.passed else Span("fail", Tone.BAD)
        score = f"  {each.evaluator:<{width}}  {each.score / 10:>5.1f} %"
        yield (Span("  "), mark, Span(score))
        for evidence in each.evidence:
            yield from labelled_lines("", evidence, Tone.FAINT, width=text_width(), indent="")


def _labelled(*rows: tuple[str, str, Tone]) -> Iterable[Line]:
    for label, text, tone in rows:
        if text:
            yield from labelled_lines(label, text, tone, width=text_width())


def steps_text(state: RunState) -> str:
    """Return how many steps were taken, and how often each answer was given before one."""
    going = state.going
    if not going.decisions:
        return ""
    told = [f"{going.decisions[each.value]} {each.value}" for each in _asked_of(state)]
    return f"{going.steps:,} taken; {', '.join(told)}"


def _asked_of(state: RunState) -> Iterator[StepDecision]:
    return (each for each in StepDecision if each.value in state.going.decisions)


def _saved(state: RunState) -> str:
    going = state.going
    if not going.checkpoints:
        return ""
    count = units.counted(going.checkpoints, "checkpoint")
    return f"{count}, the last at step {going.checkpoint_step}"


def _outcome(state: RunState, holds: Sequence[Held]) -> str:
    if state.outcome is None and holds:
        return ", ".join(dict.fromkeys(held.word for held in holds))
    if state.outcome is None:
        waiting = state.pending_approvals
        waits = f", {units.counted(waiting, 'question')} for a person" if waiting else ""
        return f"still running{waits}"
    if state.report is None:
        return state.outcome
    return f"{state.outcome}, report {'passed' if state.report.passed else 'failed'}"


def _answers(state: RunState) -> str:
    told = [
        f"{state.decisions[each.value]} {_NAMES.get(each.value, each.value)}"
        for each in Decision
        if each.value in state.decisions
    ]
    return ", ".join(told) or "none asked for"


def _lines(state: RunState) -> str:
    files = units.counted(len(state.files), "file")
    rework = f", {state.rework_lines:,} reworked" if state.rework_lines else ""
    return f"+{state.lines_added:,} -{state.lines_removed:,} in {files}{rework}"


def _tools(state: RunState) -> str:
    by_count = sorted(state.tools.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count:,}" for name, count in by_count)


def _tokens(state: RunState) -> str:
    return (
        f"{state.spent.tokens:,} ({state.input_tokens:,} in, {state.output_tokens:,} out)"
        if state.spent.tokens
        else "0"
    )


def _cost(state: RunState) -> str:
    cost = units.dollars(state.spent.cost_micros)
    if not state.unpriced_tokens:
        return cost
    return f"{cost}, and {units.counted(state.unpriced_tokens, 'token')} of unknown price"


def _tests(state: RunState) -> str:
    if state.tests is None:
        return ""
    skipped = f", {state.tests.skipped:,} skipped" if state.tests.skipped else ""
    return f"{state.tests.passed:,} passed, {state.tests.failed:,} failed{skipped}"


def _broken(state: RunState) -> str:
    if not state.violations and not state.forbidden:
        return ""
    corrected = f", {state.corrected} corrected" if state.corrected else ""
    forbidden = f", {state.forbidden} ran although forbidden" if state.forbidden else ""
    return f"{units.counted(state.violations, 'rule')}{corrected}{forbidden}"
