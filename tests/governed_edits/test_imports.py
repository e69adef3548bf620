"""Whoever does not edit loads nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from governed_edits.workbench import NOTES, Workbench, an_edit
from patience import LONG_ENOUGH_S

_ASKS = """
import sys
from pathlib import Path
from interlock import Interlock
with Interlock.open(":memory:", undo_store=Path(sys.argv[1])) as interlock:
    interlock.run("look around").command("ls")
print(*[name for name in sys.modules if name.startswith("interlock.edits.")])
"""


@pytest.mark.parametrize("has_edited", [False, True], ids=["new", "used"])
def test_asking_loads_only_what_tells_that_nothing_is_unfinished(
    small_bench: Workbench, *, has_edited: bool
) -> None:
    if has_edited:
        small_bench.write("a.txt", NOTES)
        small_bench.apply(an_edit("a.txt", "two", "2"))

    assert _told(small_bench.store) == ["interlock.edits.journal"]


def _told(store: Path) -> list[str]:
    # Measuring coverage loads modules of its own.
    plain = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", _ASKS, str(store)],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG_ENOUGH_S,
        env=plain,
    )
    return done.stdout.split()
