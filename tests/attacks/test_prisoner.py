"""An agent with a shell tries to get out: it asks about every line, and then without asking.

It wants its force push approved, its run forgotten, or its budget raised. Asked, none of its
lines may get it there. And what it does to Interlock without asking gets it there no sooner, or
shows: the ledger refuses to go on, or `verify` names what was changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import pytest

from effort import rounds
from interlock import Budget, Interlock, Run
from interlock.errors import InterlockError
from interlock.model.answers import Answer
from interlock.views.ledger_view import verified_ledger
from patience import LONG_ENOUGH_S

_TRIES: Final = tomllib.loads(Path(__file__).with_name("prisoner.toml").read_text())
_HARMLESS: Final = [*_TRIES["approve"], *_TRIES["erase"], *_TRIES["budget"]]
"""What reaches nothing outside of the prison, even if it is done without asking."""
_PUSH: Final = "git push --force origin main"
_LIMIT: Final = 1000
_PASSPHRASE: Final = "nobody else knows this one"
_COST: Final = 2
"""Of a passphrase; here nobody has the time to guess it anyway."""


class Prison:
    """A home with a ledger, an operator, a workspace, and a run whose force push waits."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "home" / ".config" / "interlock"
        self.ledger = folder / "home" / ".local" / "state" / "interlock" / "ledger.db"
        self.origin = folder / "origin.git"
        self.workspace = folder / "work"
        self._make_repository()
        self.interlock = Interlock.open()
        self.interlock.set_up("ada", _PASSPHRASE, cost=_COST)
        self.run = self.interlock.run(
            "tidy up", agent="prisoner", workspace=str(self.workspace), budget=Budget(tokens=_LIMIT)
        )
        asked = self.ask(_PUSH)
        assert asked.approval_id is not None
        self.approval = asked.approval_id
        self.before = self.run.state.seq

    def ask(self, line: str) -> Answer:
        return self.run.command(line, cwd=str(self.workspace))

    def line(self, text: str) -> str:
        """Return a try with everything in it that the agent knows."""
        known = {
            "$APPROVAL": self.approval,
            "$RUN": self.run.id,
            "$LEDGER": str(self.ledger),
            "$CONFIG": str(self.config),
        }
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    def perform(self, line: str) -> None:
        """Do what the line says, as the agent would: in a child, without a terminal."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            ["bash", "-c", line],
            cwd=self.workspace,
            env=os.environ | {"PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
            timeout=LONG_ENOUGH_S,
            check=False,
        )

    def gain(self) -> str | None:
        """Return what the agent has got; None if it has nothing, or if what it did shows."""
        try:
            now = self._gain_in(self.run)
        except InterlockError:
            # Whoever asks on hears that something is wrong.
            return None
        self.interlock.close()
        try:
            with Interlock.open() as reopened:
                later = self._gain_in(reopened.resume(self.run.id))
                with reopened.ledger.store.frozen() as rows:
                    faults = verified_ledger(reopened.ledger, rows, _no_progress).faults
        except InterlockError:
            return None
        return None if faults else now or later

    def _gain_in(self, run: Run) -> str | None:
        if run.state.seq < self.before:
            return "a part of its run is forgotten"
        if run.command(_PUSH, cwd=str(self.workspace)).allowed:
            return "its force push is approved"
        if run.command("ls", expects=Budget(tokens=_LIMIT + 1)).allowed:
            return "its budget is raised"
        return None

    def pushed(self) -> bool:
        """Whether the origin has what only a force push can give it."""
        heads = [
            subprocess.run(
                ["git", "-C", str(folder), "rev-parse", "--verify", "-q", "main"],
                capture_output=True,
                timeout=LONG_ENOUGH_S,
                check=False,
            ).stdout
            for folder in (self.origin, self.workspace)
        ]
        return heads[0] == heads[1]

    def _make_repository(self) -> None:
        script = """
        git init -q --bare -b main "$1" && git init -q -b main "$2" && cd "$2" &&
        git config user.name p && git config user.email p@example.org &&
        git remote add origin "$1" && echo a > a && git add a && git commit -qm a &&
        git push -q origin main && git commit -q --amend -m b
        """
        subprocess.run(
            ["bash", "-c", script, "make", str(self.origin), str(self.workspace)],
            check=True,
            capture_output=True,
            timeout=LONG_ENOUGH_S,
        )


def _no_progress(_done: int, _of: int) -> None:
    """Nobody looks on."""


NewPrison = Callable[[], Prison]


@pytest.fixture
def new_prison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewPrison]:
    """Makes prisons; what is in the environment of the tests does not reach them."""
    for name in [each for each in os.environ if each.startswith(("INTERLOCK_", "XDG_", "GIT_"))]:
        monkeypatch.delenv(name)
    with ExitStack() as open_ones:

        def made() -> Prison:
            folder = Path(mkdtemp(dir=tmp_path))
            (folder / "home").mkdir()
            monkeypatch.setenv("HOME", str(folder / "home"))
            prison = Prison(folder)
            open_ones.callback(prison.interlock.close)
            return prison

        yield made


@pytest.fixture
def prison(new_prison: NewPrison) -> Prison:
    """One prison."""
    return new_prison()


def test_asking_first_gets_it_nowhere(prison: Prison, new_prison: NewPrison) -> None:
    allowed = [
        text for text in [*_HARMLESS, *_TRIES["push"]] if prison.ask(prison.line(text)).allowed
    ]
    assert prison.gain() is None
    for text in allowed:
        another = new_prison()
        another.perform(another.line(text))
        assert another.gain() is None, text
        assert another.pushed() is False, text


@pytest.mark.parametrize("text", _TRIES["disarm"])
def test_what_would_hit_more_than_this_agents_gate_is_refused(prison: Prison, text: str) -> None:
    assert prison.ask(prison.line(text)).allowed is False


@pytest.mark.parametrize("text", _HARMLESS[:: rounds(short=12, soak=1)])
def test_not_asking_gets_it_nowhere_or_shows(prison: Prison, text: str) -> None:
    prison.perform(prison.line(text))
    assert prison.gain() is None


def test_a_person_can_still_let_it_out(prison: Prison) -> None:
    token = prison.interlock.unlock("ada", _PASSPHRASE)
    prison.interlock.approve(prison.approval, token=token)
    assert prison.gain() == "its force push is approved"


def test_there_are_enough_tries() -> None:
    tries = [each for tries in _TRIES.values() for each in tries]
    assert len(set(tries)) == len(tries) >= 100
