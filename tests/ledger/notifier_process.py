"""The other processes of the notifier's tests: `python notifier_process.py ROLE FOLDER ...`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from interlock.ledger.notifier import Notifier

LONG_ENOUGH_S = 60.0


def ring(folder: str) -> None:
    Notifier(Path(folder)).ring()


def listen(folder: str, count: str) -> None:
    """Say how many listen, then how many of them were woken."""
    notifier = Notifier(Path(folder))
    with ExitStack() as stack:
        listeners = [stack.enter_context(notifier.listen()) for _ in range(int(count))]
        say(f"listening {len(listeners)}")
        say(f"woken {sum(listener.wait(LONG_ENOUGH_S) for listener in listeners)}")


def echo(folder: str, rounds: str) -> None:
    """Answer every number written to `asked` by the same in `answered`."""
    asked, answered = Path(folder) / "asked", Path(folder) / "answered"
    with Notifier(asked).listen() as listener:
        say("listening 1")
        for number in range(1, int(rounds) + 1):
            while int(asked.read_text()) < number:
                assert listener.wait(LONG_ENOUGH_S)
            write(answered, number)
            Notifier(answered).ring()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write(path: Path, number: int) -> None:
    """Replace a file at once, so that no reader sees half of it."""
    fresh = path.with_suffix(".fresh")
    fresh.write_text(str(number))
    fresh.replace(path)


if __name__ == "__main__":
    {"ring": ring, "listen": listen, "echo": echo}[sys.argv[1]](*sys.argv[2:])
