"""Kill -9 at any point leaves each file wholly old or new, and recovering makes one state of it."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Iterator

import pytest

from edits.mortal_process import FILES, content
from edits.workshop import Workshop
from effort import rounds
from interlock.edits.edit_apply import recover, undo
from interlock.model.edit import Outcome
from warm_python import PythonProcess

ROUNDS = rounds(short=12, soak=200)
_NEVER = 1_000_000


class Site:
    """A workspace of five files that mortal processes work on."""

    def __init__(self, shop: Workshop) -> None:
        self.shop = shop
        for number in range(FILES):
            shop.write(f"folder{number % 2}/{number}.txt", content(number, 0), mode=0o640)

    def started(self, job: str, *, dies_at: int | None = None) -> subprocess.Popen[str]:
        arguments = [str(self.shop.root), str(self.shop.store), job]
        arguments += [str(dies_at)] if dies_at else []
        return PythonProcess[str](
            ["-m", "edits.mortal_process", *arguments], stdout=subprocess.PIPE, text=True
        )

    def dies(self, job: str, dies_at: int) -> bool:
        """Let a process work until it dies; return whether it did."""
        with self.started(job, dies_at=dies_at) as child:
            child.communicate()
        assert child.returncode in (0, -signal.SIGKILL)
        return child.returncode != 0

    def calls(self, job: str) -> int:
        """Let a process come to its end; return how often it called the system."""
        # The first one also makes the store.
        assert not self.dies(job, _NEVER)
        with self.started(job, dies_at=_NEVER) as child:
            said, _ = child.communicate()
        return int(said.split()[-1])

    def turns(self) -> set[int]:
        """Return what state the files are in; each is held to be whole, with its permissions."""
        turns: set[int] = set()
        for number in range(FILES):
            file = self.shop.root / f"folder{number % 2}" / f"{number}.txt"
            turn = int(file.read_text().split()[3])
            assert file.read_text() == content(number, turn)
            assert file.stat().st_mode & 0o777 == 0o640
            turns.add(turn)
        return turns

    def recovered(self) -> int:
        """Bring the files to one state; return which. No trace of the attempt is left."""
        recover(self.shop.store)
        assert self.shop.unfinished() == []
        assert not [name for name in self.shop.everything() if ".interlock" in name]
        (turn,) = self.turns()
        return turn


@pytest.fixture
def site(shop: Workshop) -> Site:
    return Site(shop)


def moments(calls: int) -> Iterator[int]:
    """Yield calls to die at: spread over all of them, and over and over when there are rounds."""
    for number in range(ROUNDS):
        yield 1 + (number * calls // ROUNDS if calls > ROUNDS else number % calls)


@pytest.mark.soak
def test_a_set_that_dies_is_whole_or_not_at_all(site: Site):
    calls = site.calls("once")
    turn = site.recovered()
    outcomes: set[bool] = set()
    for dies_at in moments(calls):
        assert site.dies("once", dies_at)
        assert site.turns() <= {turn, turn + 1}

        after = site.recovered()
        assert after in (turn, turn + 1)
        outcomes.add(after == turn)
        turn = after
    assert outcomes == {True, False}


@pytest.mark.soak
def test_recovering_may_die_too(site: Site):
    calls = site.calls("once")
    turn = site.recovered()
    chance = random.Random(7)
    for _ in range(ROUNDS // 4):
        assert site.dies("once", chance.randint(calls // 3, calls))
        for _ in range(2):
            site.dies("recover", chance.randint(1, 100))
            assert site.turns() <= {turn, turn + 1}
        turn = site.recovered()


@pytest.mark.soak
def test_a_kill_from_outside_loses_no_set_that_was_acknowledged(site: Site):
    chance = random.Random(11)
    for _ in range(ROUNDS // 3):
        with site.started("apply") as child:
            assert child.stdout is not None
            meter_with_words = [child.stdout.readline() for _ in range(chance.randint(1, 6))]
            child.send_signal(signal.SIGKILL)
            meter_with_words += child.stdout.readlines()
        last = max(
            (int(line) + 1 for line in meter_with_words if line.strip().isdigit()), default=0
        )

        assert len(site.turns()) <= 2
        assert site.recovered() >= last


def test_a_set_that_was_completed_by_recovering_can_be_undone(site: Site):
    calls = site.calls("once")
    turn = site.recovered()
    # The last of five files is not in its place yet, and much has still to be looked at.
    assert site.dies("once", calls * 3 // 4)

    (recovered,) = recover(site.shop.store)
    assert recovered.outcome is Outcome.COMPLETED
    assert site.turns() == {turn + 1}
    undo(site.shop.store, recovered.id)
    assert site.turns() == {turn}
