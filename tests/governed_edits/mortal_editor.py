"""A process that edits under governance and dies, by its own hand, at a chosen moment.

    python -m governed_edits.mortal_editor PLACE FOLDER RUN MOMENT UNDO_ID

It applies `EDITS` under `KEY`, or puts back UNDO_ID where that is given. The moment is `judged`,
when it may but has not begun; `half-way`, when one of the files is in its place; or `applied`,
when all are and nothing is on record yet.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from gates.policies import gates_with
from interlock import FileEdit, Interlock
from service.ledgers import HandClock

KEY = "the only one"
EDITS = tuple(FileEdit(path=f"{name}.txt", old="two", new="two two") for name in "abc")


def main() -> None:
    """Edit or put back, until the end comes."""
    place, folder, run_id, moment, undo_id = sys.argv[1:]
    with Interlock.open(
        place,
        policy=gates_with(""),
        clock=HandClock(),
        keys=Path(folder) / "keys",
        undo_store=Path(folder) / "store",
    ) as interlock:
        run = interlock.resume(run_id)
        _watch(moment)
        if undo_id:
            interlock.undo(undo_id)
        else:
            run.apply_edits(EDITS, key=KEY)


def _watch(moment: str) -> None:
    match moment:
        case "judged":
            _die_at("mkdir", _is_in("pending"))
        case "half-way":
            # The journal is in its place, and the first file: this would be the second.
            _die_at("rename", _is_call(3))
        case _:
            _die_at("rename", _is_in("kept"), afterwards=True)


def _is_in(folder: str) -> Callable[[Sequence[object]], bool]:
    return lambda given: any(f"{os.sep}{folder}{os.sep}" in str(each) for each in given)


def _is_call(number: int) -> Callable[[Sequence[object]], bool]:
    calls = count(1)
    return lambda _: next(calls) == number


def _die_at(
    name: str, is_time: Callable[[Sequence[object]], bool], *, afterwards: bool = False
) -> None:
    """End the process at a call of the system: just before it, or just after."""
    real: Callable[..., Any] = getattr(os, name)

    def watched(*given: Any, **named: Any) -> Any:
        dies = is_time(given)
        if dies and not afterwards:
            os.kill(os.getpid(), signal.SIGKILL)
        done = real(*given, **named)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(os, name, watched)


if __name__ == "__main__":
    main()
