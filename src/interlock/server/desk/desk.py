"""What every page and every endpoint works with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from interlock.errors import UnavailableError
from interlock.ledger.abbreviations import found_run
from interlock.model.principal import Principal
from interlock.model.run import LEDGER_RUN
from interlock.model.system_loop import LOOP_RUN
from interlock.ports import Dialect
from interlock.server.access.identity import Doorkeeper, Identity, is_agent
from interlock.server.access.limits import Attempts, RateLimit
from interlock.server.access.sign_in import Links
from interlock.server.desk.driver import ServerDriver
from interlock.server.desk.last_checks import LastChecks
from interlock.server.desk.news import News
from interlock.server.desk.question_lane import QuestionLane
from interlock.server.desk.repeats import Repeats
from interlock.server.hooks.hook_desk import HookDesk
from interlock.server.hooks.own_dialect import OWN_DIALECT
from interlock.server.telemetry.metrics import Metrics
from interlock.server.telemetry.record_feed import RecordFeed, Taker
from interlock.server.wire.problem import Refused
from interlock.service.governor import Governor
from interlock.service.interlock import Interlock
from interlock.service.operations import Operations
from interlock.service.run_operations import RunOperations
from interlock.service.whereabouts import Listening
from interlock.views.check_results import ReplayResult

_MOST_HEAVY: Final = 2

Replay = Callable[[str], ReplayResult]
"""Decides a run again, by its id, and returns what came of it."""


def _no_replay(run_id: str) -> ReplayResult:
    raise UnavailableError(f"run `{run_id}` cannot be replayed here: use `interlock replay`")


class Desk:
    """The governor of one ledger, the news of it, and who may ask."""

    def __init__(
        self,
        governor: Governor,
        *,
        replay: Replay = _no_replay,
        takers: Sequence[Taker] = (),
        dialects: Mapping[str, Dialect] = OWN_DIALECT,
    ) -> None:
        self.governor: Final = governor
        self.ledger: Final = governor.ledger
        self.operations: Final = Interlock(governor)
        """The words of Interlock, for whoever works on a thread."""
        self.replay: Final = replay
        self.checks: Final = LastChecks()
        self.news: Final = News(governor.ledger, governor.clock)
        self.driver: Final = ServerDriver(self.news)
        self.lane: Final = QuestionLane(governor)
        self.hooks: Final = HookDesk(governor, self.driver, dialects)
        self.doorkeeper: Final = Doorkeeper(governor.ledger, governor.clock)
        self.links: Final = Links(governor.clock)
        self.attempts: Final = Attempts(governor.clock)
        self.rate: Final = RateLimit()
        self.repeats: Final = Repeats()
        self.heavy: Final = asyncio.Semaphore(_MOST_HEAVY)
        """Taken by whoever reads all of a ledger or a run: others are answered beside it."""
        self.metrics: Final = Metrics()
        """What was counted since the server began."""
        self._feed = RecordFeed((self.metrics, *takers))
        self.listening: Listening | None = None
        """Where it is asked, once that is known."""

    def now(self) -> int:
        """Return the present moment, in microseconds since 1970, UTC."""
        return self.governor.clock.now()

    def asking(self, principal: Principal | None) -> Operations:
        """Return the words of Interlock for whoever awaits, as somebody who asks."""
        return Operations(self.governor, self.driver, principal)

    async def run(self, who: Identity, text: str) -> RunOperations:
        """Return the words for one run; an agent is let into its own runs only."""
        run_id = await self.driver.outside(lambda: self._own_run(who, text))
        return RunOperations(self.governor, run_id, self.driver, who.principal)

    def _own_run(self, who: Identity, text: str) -> str:
        run = found_run(self.ledger.rows, text)
        self.check_own(who, run.id, run.agent)
        return run.id

    def check_own(self, who: Identity, run_id: str, agent: str) -> None:
        """Raise Refused where an agent asks for a run of another one, or for a chain of our own.

        Those tell who may decide, and how they prove it.
        """
        is_ours = run_id in (LEDGER_RUN, LOOP_RUN)
        if is_agent(who) and (is_ours or not self.doorkeeper.is_own(who, agent)):
            raise Refused(
                403, f"run `{run_id}` is not one of `{who.name}`: an agent asks for its own"
            )

    async def start(self) -> None:
        """Begin to listen to the ledger."""
        await self.news.start(self.doorkeeper.refresh)
        self.lane.start()
        self._feed.start()
        self.ledger.when_committed = self._feed.put

    async def close(self) -> None:
        """Let everybody go who waits."""
        await self.news.close()
        await self.lane.close()
        self.driver.close()
        self.ledger.when_committed = None
        await asyncio.to_thread(self._feed.close)
