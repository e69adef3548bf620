"""`interlock serve --demo`: a ledger of its own, agents that play, and a link to look at them."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from typing import Final

from interlock import settings
from interlock.cli.demo.demo_player import DemoClock, LiveAgents, play_past
from interlock.cli.demo.demo_stories import POLICY
from interlock.client import connect
from interlock.service.governor import Governor
from interlock.service.interlock import Interlock, Run
from interlock.service.ledgers import open_governor
from interlock.service.policies.policy_files import load_policy
from interlock.service.whereabouts import Listening

_LEAST_COST: Final = 2
"""The passphrase is random and nobody has to type it: stretching it would help nobody."""


class Demo:
    """What was played, and who may look at it."""

    def __init__(self) -> None:
        self.folder: Final = settings.current_demo_folder()
        self._runs: dict[str, Run] = {}
        self._agents: LiveAgents | None = None
        self.token = ""
        """That of the operator who looks."""

    @property
    def ledger(self) -> str:
        """Where its ledger is."""
        return str(self.folder / "ledger.db")

    @property
    def _token_file(self) -> Path:
        return self.folder / "token"

    def token_of_other(self) -> str:
        """Return the token that the demo has which runs already."""
        return self._token_file.read_text()

    def opened(self) -> Governor:
        """Make the ledger anew, with what happened before anybody looked."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, mode=0o700)
        clock = DemoClock()
        governor = open_governor(
            self.ledger,
            policy=load_policy(user=_policy_file(self.folder), project=None),
            clock=clock,
            keys=self.folder / "keys",
            undo_store=self.folder / "undo",
        )
        interlock = Interlock(governor)
        name, passphrase = settings.user_name(), secrets.token_urlsafe()
        interlock.set_up(name, passphrase, cost=_LEAST_COST)
        self.token = interlock.unlock(name, passphrase)
        self._token_file.write_text(self.token)
        self._runs = play_past(interlock, clock, self.token)
        return governor

    def begin(self, listening: Listening) -> None:
        """Let the agents go on: they ask over the server's own socket."""
        self._agents = LiveAgents(lambda: connect(listening.socket), self._runs)
        self._agents.start()

    def end(self) -> None:
        """Let the agents stop."""
        if self._agents is not None:
            self._agents.stop()


def _policy_file(folder: Path) -> Path:
    file = folder / "policy.toml"
    file.write_text(POLICY)
    return file
