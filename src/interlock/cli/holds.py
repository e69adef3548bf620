"""What keeps a run from going on, and what a person types to let it: the same on every page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from interlock.cli.hanging import hanging_lines
from interlock.cli.measures import span
from interlock.cli.run_choice import SHORT
from interlock.cli.showing import Line, Span, Tone
from interlock.model.hold import HoldKind
from interlock.model.run import RunStatus

if TYPE_CHECKING:
    from interlock.ledger.ledger import Ledger
    from interlock.model.run import RunState

WORDS: Final = {
    HoldKind.PAUSE: "paused",
    HoldKind.STOP: "stopped",
    HoldKind.PERSON_STOP: "halted",
}
"""How a run is called that is held."""
TONES: Final = {
    HoldKind.PAUSE: Tone.CONFIRM,
    HoldKind.STOP: Tone.BLOCK,
    HoldKind.PERSON_STOP: Tone.BLOCK,
}


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A hold in its place: whose it is, and how it is lifted."""

    run: str
    """The run itself, or one above it."""
    kind: HoldKind
    reason: str
    step: int
    since: int
    question: str | None
    """The approval whose answer lifts it, if a person was asked and may still answer."""
    commands: tuple[str, ...]
    """What lets it go on, and what stops it for good."""

    @property
    def word(self) -> str:
        """What the run is called."""
        return WORDS[self.kind]


def holds_on(ledger: Ledger, state: RunState, now: int) -> Sequence[Held]:
    """Return what keeps a run from going on: its own hold first, then those of runs above."""
    if state.status is not RunStatus.RUNNING:
        return ()
    above = filter(None, map(ledger.state, state.ancestors))
    return [held for each in (state, *above) if (held := _held(ledger, each, now)) is not None]


def hold_lines(holds: Sequence[Held], run_id: str, now: int, *, width: int) -> Iterator[Line]:
    """Yield each hold: what, since when, why, and the command that answers it."""
    for held in holds:
        badge = held.word.upper()
        head = (Span("  "), Span(badge, TONES[held.kind]), Span("  "))
        whose = "" if held.run == run_id else f"by run {held.run[:SHORT]} above, "
        since = f"{whose}{span(now - held.since)} ago at step {held.step}: {held.reason}"
        yield from hanging_lines(head, since, Tone.STRONG, width=width)
        indent = " " * (len(badge) + 4)
        for command, effect in zip(held.commands, _effects(held), strict=True):
            yield (Span(indent), Span(command, Tone.CODE), Span(f"  {effect}", Tone.FAINT))


def _effects(held: Held) -> tuple[str, ...]:
    return ("lets it go on", "stops it")[: len(held.commands)]


def _held(ledger: Ledger, state: RunState, now: int) -> Held | None:
    hold = state.going.hold
    if hold is None:
        return None
    asked = None if hold.approval is None else ledger.rows.approval(hold.approval)
    question = asked.id if asked is not None and asked.is_open_at(now) else None
    return Held(
        run=state.id,
        kind=hold.kind,
        reason=hold.reason,
        step=hold.step,
        since=hold.since,
        question=question,
        commands=_commands(state.id, question),
    )


def _commands(run_id: str, question: str | None) -> tuple[str, ...]:
    if question is None:
        return (f"interlock lift {run_id} --reason TEXT",)
    return (f"interlock approve {question}", f"interlock deny {question}")
