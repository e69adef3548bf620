"""What keeps a run from going on, and what a person types to let it: the same on every page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from interlock.cli.measures import span
from interlock.cli.render import Line, Span, Tone
from interlock.cli.run_choice import SHORT
from interlock.cli.wrap import wrapped_lines
from interlock.model.ruling import HoldKind
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


_EFFECTS: Final = ("lets it go on", "stops it")
_INDENT: Final = "    "
_LONGEST_WORD: Final = 30
"""What is longer is an id."""


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


def hold_lines(
    holds: Sequence[Held], run_id: str, now: int, *, width: int, most: int | None = None
) -> Iterator[Line]:
    """Yield each hold: since when, why in at most so many lines, and what answers it."""
    for held in holds:
        whose = "" if held.run == run_id else f", by run {held.run[:SHORT]} above"
        since = f"{span(now - held.since)} ago at step {held.step}{whose}"
        yield (Span("  "), Span(held.word.upper(), TONES[held.kind]), Span(f"  {since}"))
        why = wrapped_lines((Span(_INDENT),), held.reason, Tone.STRONG, width=width)
        yield from islice(why, most)
        for command, effect in zip(held.commands, _EFFECTS, strict=False):
            yield (Span(_INDENT), Span(_short(command), Tone.CODE), Span(f"  {effect}", Tone.FAINT))


def _short(command: str) -> str:
    """Return a command with the beginning of the id in it, which is enough."""
    return " ".join(word[:SHORT] if len(word) > _LONGEST_WORD else word for word in command.split())


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
