"""What a script is answered about its run: in a word, with why, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from interlock.cli.text.render import (
    Line,
    Tone,
    badge_line,
    labelled_rows,
    text_width,
)
from interlock.cli.text.verdict_page import verdict_lines
from interlock.model.answers import Answer, StepAnswer, StopAnswer
from interlock.model.arbitration import Course
from interlock.model.short_code import code_of
from interlock.views import units

_COURSES: Final = {
    Course.GO_ON: (Tone.ALLOW, "the run may go on"),
    Course.WAIT: (Tone.WARN, "wait, then ask again"),
    Course.FINISH: (Tone.ALLOW, "the turn ends here"),
    Course.AWAIT_PERSON: (Tone.CONFIRM, "a person must decide first"),
    Course.HALT: (Tone.BLOCK, "the run is stopped"),
}


def action_lines(answer: Answer) -> Iterator[Line]:
    """Yield what was answered about an action, and what names it in the report."""
    verdict = replace(answer.verdict, decision=answer.decision)
    yield from verdict_lines(verdict, width=text_width())
    yield ()
    yield from labelled_rows(
        ("action", answer.action_id, Tone.CODE), *_next_rows(answer.approval_id, answer)
    )


def step_lines(answer: StepAnswer) -> Iterator[Line]:
    """Yield whether the run may go on, and why."""
    tone, meaning = _COURSES[answer.ruling.course]
    yield badge_line(answer.decision.value.upper(), tone, f"step {answer.step}: {meaning}")
    why = answer.reasons or (() if answer.goes_on else (answer.ruling.reason,))
    yield from labelled_rows(
        *[("why", each) for each in why],
        *[("note", each) for each in answer.warnings],
        ("delay", units.duration(answer.delay_ms) if answer.delay_ms else ""),
        *_next_rows(answer.approval_id, answer),
    )


def stop_lines(answer: StopAnswer) -> Iterator[Line]:
    """Yield whether the agent is done, and what to send to it where it is not."""
    if answer.done:
        yield badge_line("DONE", Tone.ALLOW, answer.ruling.reason)
        return
    tone, meaning = _COURSES[answer.ruling.course]
    meaning = "the agent is not done: send it on" if answer.goes_on else meaning
    yield badge_line("NOT DONE", Tone.WARN if answer.goes_on else tone, meaning)
    yield from labelled_rows(
        ("why", answer.ruling.reason),
        ("send", answer.nudge or ""),
        *_next_rows(answer.approval_id, answer),
    )


def _next_rows(
    approval_id: str | None, answer: Answer | StepAnswer | StopAnswer
) -> list[tuple[str, str, Tone]]:
    is_over = isinstance(answer, Answer) and not answer.waits_for_person
    if approval_id is None or is_over:
        return []
    # Who lets a stopped run go on says why.
    why = "" if answer.waits_for_person else " --reason TEXT"
    return [("next", f"interlock approve {code_of(approval_id)}{why}", Tone.CODE)]
