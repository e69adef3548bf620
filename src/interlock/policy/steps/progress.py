"""Does it get anywhere? Figures over the latest actions, each with the steps it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.model.progress import Called, Meter
from interlock.policy.steps.evidence import PAUSES, Evidence, graded, told_steps

WINDOW: Final = 20
"""How many of the latest actions the figures are about."""
FEWEST: Final = 20
"""With fewer actions the share of rework is not known: two of three may be chance."""

_STANDSTILL: Final = ((6, 0.3), (8, 0.5), (10, PAUSES))
_ECHOES: Final = ((1, 0.25), (2, PAUSES), (6, 2.0))


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that explains itself."""

    name: str
    value: float
    because: tuple[str, ...]
    """What it comes from, in words."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How the latest actions went."""

    actions: int
    rework: int
    """How many did work over again."""
    progress: int
    """How many brought something new."""

    @property
    def rework_ratio(self) -> float | None:
        """The share that did work over again; None where there are too few to tell."""
        return self.rework / self.actions if self.actions >= FEWEST else None


def progress_of(meter: Meter) -> Progress:
    """Return how the latest actions went."""
    latest = meter.calls[-WINDOW:]
    return Progress(
        actions=len(latest),
        rework=len([each for each in latest if each.rework]),
        # Whoever waits for something outside need not get anywhere meanwhile.
        progress=len([each for each in latest if each.new or each.waiting]),
    )


def figures_of(meter: Meter) -> tuple[Figure, ...]:
    """Return the figures over the latest actions, with the steps that they come from."""
    latest = meter.calls[-WINDOW:]
    if not latest:
        return ()
    return (
        _share("rework", "did work over again", [each for each in latest if each.rework], latest),
        _share("progress", "brought something new", [each for each in latest if each.new], latest),
        _share("failed", "failed", [each for each in latest if each.error], latest),
    )


def _share(name: str, did: str, those: list[Called], latest: tuple[Called, ...]) -> Figure:
    because = [f"{len(those)} of the latest {len(latest)} actions {did}"]
    if those:
        because.append(told_steps(each.step for each in those))
    return Figure(name=name, value=len(those) / len(latest), because=tuple(because))


def standstill_evidence(live: Sequence[Called]) -> Evidence | None:
    """Return that its calls bring nothing new, if so."""
    latest = [each for each in live[-WINDOW:] if not each.waiting]
    stale = [each.step for each in latest if not each.new]
    points = graded(len(stale), _STANDSTILL)
    if not points:
        return None
    return Evidence(
        name="standstill",
        points=points,
        message=(
            f"{len(stale)} of the latest {len(latest)} calls brought nothing that had not been"
            f" seen ({told_steps(stale)}); 10 pause a run"
        ),
        remediation="use what is known already, or say what is missing",
        steps=tuple(stale),
    )


def echo_evidence(meter: Meter) -> Evidence | None:
    """Return that it says the same again, if it does."""
    points = graded(meter.echoes, _ECHOES)
    if not points:
        return None
    steps = [each.step for each in meter.said if each.echoes and each.step > meter.since]
    return Evidence(
        name="echo",
        points=points,
        message=(
            f"{meter.echoes} {'message' if meter.echoes == 1 else 'messages'} said nearly what had"
            f" been said before ({told_steps(steps)}) and nothing came of it; 2 pause a run"
        ),
        remediation="do what was announced, or say what blocks it",
        steps=tuple(steps),
    )
