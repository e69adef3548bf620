"""The other processes of the notifier's tests, as `ledger.notifier_process ROLE LEDGER ...`."""

from __future__ import annotations

import sys
from pathlib import Path

from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.sqlite import SqliteStore
from ledger.events import KEY, a_violation, appending
from patience import LONG_ENOUGH_S


def commit(ledger: Ledger) -> None:
    ledger.execute(appending("theirs", a_violation()))


def listen(ledger: Ledger, count: str) -> None:
    """Say how many listen, then how many of them were woken."""
    listeners = [ledger.listen() for _ in range(int(count))]
    say(f"listening {len(listeners)}")
    say(f"woken {sum(listener.wait(LONG_ENOUGH_S) for listener in listeners)}")


def echo(ledger: Ledger, rounds: str) -> None:
    """Answer every record of the run `ours` by one of the run `theirs`."""
    listener = ledger.listen()
    say("listening 1")
    for number in range(1, int(rounds) + 1):
        while ledger.rows.record("ours", number) is None:
            assert listener.wait(LONG_ENOUGH_S)
        commit(ledger)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _, role, place, *numbers = sys.argv
    with Ledger(SqliteStore(Path(place)), key=KEY) as opened:
        {"commit": commit, "listen": listen, "echo": echo}[role](opened, *numbers)
