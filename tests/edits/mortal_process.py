"""A process that changes files and dies, by its own hand at a chosen call of the system or not.

    python -m edits.mortal_process WORK STORE JOB [DIES_AT]

The job is `apply`, which applies sets without end, each to the files that the one before left;
or `once`, which applies one set; or `recover`. With DIES_AT, the process kills itself just before
that call; it tells how many there were if it comes to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from interlock.edits.edit_apply import apply_once, recover
from interlock.edits.edit_plan import plan_edits
from interlock.model.edit import EditSet, FileEdit

FILES: Final = 5
_SYSCALLS: Final = ("open", "write", "fsync", "rename", "mkdir", "unlink", "rmdir", "fchmod")


class _Fate:
    """Counts what is asked of the system, and ends the process at the chosen moment."""

    def __init__(self, dies_at: int) -> None:
        self.calls = 0
        self._dies_at = dies_at

    def watch(self, name: str) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def watched(*given: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self._dies_at:
                if name == "write":
                    # Half of it is written: that is what a kill in the middle looks like.
                    real(given[0], bytes(given[1])[: len(given[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        setattr(os, name, watched)


def content(number: int, turn: int) -> str:
    """Return what a file holds after so many sets."""
    return f"file {number} turn {turn}\n" + f"{turn}" * 2000 * number + "\n"


def edits(turn: int) -> EditSet:
    """Return the set that brings the files from one turn to the next."""
    return EditSet(
        edits=tuple(
            FileEdit(
                path=f"folder{number % 2}/{number}.txt",
                old=content(number, turn),
                new=content(number, turn + 1),
            )
            for number in range(FILES)
        )
    )


def tell(line: str) -> None:
    """Say something to whoever started this."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Do a job until it is done, or until the end."""
    work, store, job, *dies_at = sys.argv[1:]
    fate = _Fate(int(dies_at[0]) if dies_at else 0)
    turn = int((Path(work) / "folder0" / "0.txt").read_text().split()[3])
    planned = plan_edits(edits(turn), workspace=Path(work)) if job != "recover" else None
    for name in _SYSCALLS:
        fate.watch(name)
    tell("begin")
    if planned is None:
        recover(Path(store))
    else:
        apply_once(planned, store=Path(store), set_id=f"turn{turn}")
    while job == "apply":
        turn += 1
        further = plan_edits(edits(turn), workspace=Path(work))
        apply_once(further, store=Path(store), set_id=f"turn{turn}")
        tell(str(turn))
    tell(str(fate.calls))


if __name__ == "__main__":
    main()
