"""A process that forgets everything, and dies by its own hand at a chosen call of the system.

    python -m edits.mortal_forgetter STORE DIES_AT

It tells how many calls there were if it comes to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final

from interlock.edits.retention import forget

END_OF_TIME: Final = 2**62
_CALLS: Final = frozenset({"open", "os.listdir", "os.rename", "os.remove", "os.rmdir"})


def main() -> None:
    """Forget, until the end comes."""
    store, dies_at = Path(sys.argv[1]), int(sys.argv[2])
    calls = 0

    def watch(event: str, _: object) -> None:
        # Python tells of each call just before it is made.
        nonlocal calls
        if event in _CALLS:
            calls += 1
            if calls == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    forget(store, before=END_OF_TIME)
    sys.stdout.write(f"{calls}\n")


if __name__ == "__main__":
    main()
