"""A loop to be looked at: its policy, and what happened to it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cli.ledgers import SetClock
from interlock import Interlock
from interlock.loop.control_loop import ControlLoop
from interlock.model.loop_events import CycleDecided

POLICY = """\
[loop]
debounce-seconds = 0

[[loop.jobs]]
name = "fix-the-build"
command = ["sh", "-c", "echo mended"]
on = ["ci/build.failed"]
"""


class Looped(NamedTuple):
    """An open loop, and the clock that it goes by."""

    loop: ControlLoop
    clock: SetClock

    def after(self, name: str, data: str = "", *, event_id: str | None = None) -> CycleDecided:
        """Send an event, and return what was decided about it."""
        self.loop.send(name, data, event_id=event_id)
        self.clock.passes(1)
        return self.loop.answer("default")[-1]


def write_policy(text: str = POLICY) -> Path:
    """Write the policy of the user of this test."""
    file = Path(os.environ["INTERLOCK_CONFIG_HOME"]) / "policy.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@contextmanager
def a_loop(place: str, *, ago_s: float = 90.0) -> Generator[Looped]:
    """Open a loop over the ledger that counts, some time ago."""
    write_policy()
    clock = SetClock(ago_s=ago_s)
    with Interlock.open(place, clock=clock) as interlock:
        yield Looped(ControlLoop(interlock.governor, folder=Path(place).parent / "out"), clock)
