"""Random histories of a loop: what happens to it is drawn by chance, and time is told to pass.

A history is its seed: the same one goes the same way. The loop, its workers and its ledger are
the real ones; only what they hold on to (clock, engine, sinks, processes) is of this test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from interlock import CompiledPolicy, Run
from interlock.errors import InterlockError
from interlock.loop.control_loop import ControlLoop
from interlock.loop.handlers import Handled, Handlers
from interlock.loop.jobs import Jobs
from interlock.loop.outbox import Outbox
from interlock.loop.senses import OwnSources
from interlock.loop.sinks import AlertLog, Sink
from interlock.loop.worker import HEARTBEAT, LoopWorker
from interlock.model.approval import ApprovalState
from interlock.model.loop_events import CycleDecided
from interlock.model.principal import SYSTEM, Principal, PrincipalKind
from interlock.model.recommendation import (
    PatchOperation,
    Recommendation,
    RecommendationKind,
    RecommendationState,
    Retrospective,
)
from interlock.model.system_loop import Item, Source
from interlock.service.cycles import lessons
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.cycles.recommendation_desk import RecommendationDesk
from interlock.service.governor import Governor
from interlock.service.questions.question import Entry
from interlock.service.questions.run_entries import starting
from interlock.service.records import approvals
from interlock.service.records.runs import NewRun
from loop.drawn_policies import SINKS, DrawnPolicies
from loop.hostile_model import INJECTED, HostileModel
from loop.virtual_engine import Crash, EngineHand, VirtualEngine
from loop.virtual_world import HOUR, MINUTE, SECOND, MoodySink, MoodySource, Place, World

OPERATOR: Final = Principal(kind=PrincipalKind.OPERATOR, name="ada")
AGENT: Final = Principal(kind=PrincipalKind.AGENT, name="mallory")
_NAMES: Final = (
    "ci/build.failed", "ci/failed", "deploy/done", "agent/loop.complete", "agent/loop.failed",
    "system/note", "deploy/failed",
)  # fmt: skip
_SCOPES: Final = ("default", "default", "web")
_PASSING: Final = (0, SECOND, 3 * SECOND, 40 * SECOND, 5 * MINUTE, 20 * MINUTE, HOUR)
_MOST_TURNS: Final = 2_000
_MOST_ROUNDS: Final = 60


class _NoLog(AlertLog):
    """Forgets what people would be told."""

    def write(self, alert: object) -> None:
        pass


class VirtualJobs(Jobs):
    """Jobs that last until the test ends them, or die with their process."""

    def __init__(self, governor: Governor, chain: LoopChain, world: World) -> None:
        super().__init__(governor, chain)
        self._world = world
        self.under_way: dict[str, tuple[str, str]] = {}
        """The runs that go on here, with the decision and the job of each."""

    def begin(self, name: str, run_id: str, decision_id: str) -> None:
        self._world.begun.append((decision_id, run_id))
        self.under_way[run_id] = decision_id, name

    def come_to_end(self, run_id: str, outcome: str) -> None:
        """End a job that is under way."""
        decision_id, name = self.under_way[run_id]
        self._end(run_id, decision_id, name, outcome, 0 if outcome == "completed" else 1)
        del self.under_way[run_id]


class RealJobs(VirtualJobs):
    """Jobs that are real commands, waited for on the spot."""

    def begin(self, name: str, run_id: str, decision_id: str) -> None:
        self._world.begun.append((decision_id, run_id))
        Jobs.begin(self, name, run_id, decision_id)
        self.wait()


class _Desk(RecommendationDesk):
    """Applies recommendations without a policy file."""

    def apply(self, recommendation: str, by: Principal) -> Recommendation:
        found = self._pending(recommendation)
        settlement = lessons.Settlement(RecommendationState.APPLIED)
        return lessons.settle_recommendation(self._chain, found.id, settlement, by)


class _Handlers(Handlers):
    """The real ones, but for the files that they write."""

    def __init__(self, governor: Governor, chain: LoopChain, jobs: Jobs) -> None:
        super().__init__(chain, jobs=jobs, desk=_Desk(governor, chain), folder=None)
        self._alerts = self._notes = _NoLog(None)


class _Outbox(Outbox):
    """The real one; what it hands over arrives in the world of the test."""

    def __init__(self, chain: LoopChain, handlers: Handlers, world: World) -> None:
        super().__init__(chain, handlers)
        self._world = world

    def _handed(self, decided: CycleDecided, sink: str, attempt: int) -> Handled:
        if self._chain.governor.ledger.state("loop") is not None and _is_frozen(self._chain):
            self._world.handed_frozen.append(f"{decided.decision_id} to {sink}")
        handled = super()._handed(decided, sink, attempt)
        if sink == "interlock" and decided.emitted is not None:
            self._world.received.append((sink, decided.emitted))
        return handled

    def _sink(self, name: str) -> Sink:
        super()._sink(name)
        return MoodySink(name, self._world)


def _is_frozen(chain: LoopChain) -> bool:
    run = chain.governor.ledger.state("loop")
    return run is not None and run.loop.frozen is not None


class _FlakyOwn(MoodySource):
    """One of the loop's own sources, which can fall sick."""

    def __init__(self, name: str, world: World, read: Callable[[int], Sequence[Item]]) -> None:
        super().__init__(name, world)
        self._read = read

    def read(self, now: int) -> Sequence[Item]:
        self.check()
        return self._read(now)


class SimulatedWorker:
    """One process: everything of it is gone when it dies."""

    def __init__(
        self, history: History, process: str, engine: VirtualEngine, policy: CompiledPolicy
    ) -> None:
        world = history.world
        world.process = self.process = process
        world.processes.add(process)
        self.policy = policy
        self.engine = engine
        self.governor = Governor(history.place.opened(), policy, world)
        own = OwnSources(LoopChain(self.governor))
        self.loop = ControlLoop(
            self.governor,
            sources=[
                MoodySource("weather", world),
                _FlakyOwn(Source.NOTES, world, own.notes),
                _FlakyOwn(Source.UNFINISHED, world, own.unfinished),
            ],
            model=lambda _: history.model,
        )
        kind = RealJobs if history.has_real_jobs else VirtualJobs
        self.jobs = self.loop.jobs = kind(self.governor, self.loop.chain, world)
        handlers = _Handlers(self.governor, self.loop.chain, self.jobs)
        self.loop.outbox = _Outbox(self.loop.chain, handlers, world)
        hands: list[EngineHand] = []

        def make(*given: object) -> EngineHand:
            hands.append(EngineHand(engine, *given))  # pyright: ignore[reportArgumentType] - as the worker gives them
            return hands[0]

        self.worker = LoopWorker(self.loop, make)
        self.hand = hands[0]
        self.governor.adopt(policy, by=OPERATOR)


class History:
    """What happened to a loop."""

    def __init__(self, seed: int, folder: Path | None = None, *, real_jobs: bool = False) -> None:
        self.seed: Final = seed
        self.random: Final = Random(seed)
        self.world: Final = World(self.random)
        self.model: Final = HostileModel(self.random)
        self.has_real_jobs: Final = real_jobs
        self.policies: Final = DrawnPolicies(self.random)
        self.place: Final = Place(self.world, folder)
        self.mailbox: list[Callable[[ControlLoop], object]] = []
        """What was sent and has not arrived yet."""
        self.accepted: set[str] = set()
        """The events whose sender heard that they were taken."""
        self.errors: list[str] = []
        """What somebody was told who asked for something; any but ours is a bug."""
        self._lives = 0
        self._event = 0
        engines = [VirtualEngine()]
        if self.random.random() < 0.3:
            engines.append(VirtualEngine())
        self.engines: Final = engines
        self.workers: list[SimulatedWorker] = []

    def play(self) -> None:
        """Let everything happen, then let everything come to its end."""
        with self.world.in_charge():
            count = 2 if self.random.random() < 0.5 else 1
            self.workers = [
                self._born(self.engines[i % len(self.engines)], self.policies.drawn[0])
                for i in range(count)
            ]
            self._moods(self.workers[0])
            steps = self.random.randint(20, 60)
            for _ in range(steps):
                self._do(self.random.choice(_WHATEVER))
                if self.random.random() < 0.5:
                    self._do(History._busy)
            self._come_to_end()

    @property
    def loop(self) -> ControlLoop:
        """The loop of a worker that lives."""
        return self.workers[0].loop

    def bugs(self) -> Iterator[str]:
        """Yield what nobody may ever hear of."""
        yield from self.errors
        for engine in self.engines:
            yield from engine.bugs

    def close(self) -> None:
        """Leave nothing behind."""
        for worker in self.workers:
            worker.governor.ledger.close()

    def _born(self, engine: VirtualEngine, policy: CompiledPolicy) -> SimulatedWorker:
        while True:
            self._lives += 1
            process = f"sim/{self._lives}/1"
            try:
                return SimulatedWorker(self, process, engine, policy)
            except Crash:
                self.world.processes.discard(process)

    def _do(self, what: Callable[[History, SimulatedWorker], object]) -> None:
        """Have something happen at a worker; if it dies of that, another one takes its place."""
        place = self.random.randrange(len(self.workers))
        worker = self.workers[place]
        self.world.process = worker.process
        try:
            what(self, worker)
        except Crash:
            self.workers[place] = self._reborn(worker)
        except InterlockError:
            pass
        except Exception as error:  # noqa: BLE001 - told with the seed
            self.errors.append(f"{type(error).__name__}: {error}")

    def _reborn(self, worker: SimulatedWorker) -> SimulatedWorker:
        self.world.processes.discard(worker.process)
        with suppress(InterlockError):
            worker.governor.ledger.close()
        return self._born(worker.engine, worker.policy)

    def _come_to_end(self) -> None:
        """End the chaos: everybody is well, and time passes until nothing waits."""
        world = self.world
        world.fuse = None
        world.sick_sinks.clear()
        world.sick_sources.clear()
        self.model.is_fair = True
        for worker in self.workers:
            self.world.process = worker.process
            worker.governor.adopt(self.policies.calm, by=OPERATOR)
        self.loop.chain.thaw("it is over", OPERATOR)
        for number in range(_MOST_ROUNDS):
            world.at += (2 * SECOND, 61 * SECOND, 20 * MINUTE, 7 * HOUR)[number % 4]
            if number % 4 >= 2:
                self._heartbeat(self.workers[0])
            for worker in self.workers:
                self._finish(worker)
            if number > 0 and self._is_quiet():
                return

    def _finish(self, worker: SimulatedWorker) -> None:
        self.world.process = worker.process
        worker.worker.sweep()
        for _ in range(_MOST_TURNS):
            going = worker.engine.going()
            if not going:
                break
            worker.hand.turn(going[0])
        for run_id in list(worker.jobs.under_way):
            worker.jobs.come_to_end(run_id, "completed")

    def _is_quiet(self) -> bool:
        loop = self.loop.chain.state
        return not (loop.triggers or loop.outgoing or loop.notes or self.running_jobs())

    def left_over(self) -> str:
        """Say what waits, and when its scopes last thought about it."""
        loop = self.loop.chain.state
        return f"{[(each.id, each.scope) for each in loop.notes.values()]} {loop.scopes}"

    def running_jobs(self) -> list[str]:
        """Return the runs of jobs that nobody has closed."""
        rows = self.loop.chain.governor.ledger.rows
        return [row.id for row in rows.children("loop") if row.status == "running"]

    # What can happen. Whoever does it may die of it.

    def _time_passes(self, _worker: SimulatedWorker) -> None:
        self.world.at += self.random.choice(_PASSING) + self.random.randrange(SECOND)
        if self.random.random() < 0.05:
            self.world.at += 9 * HOUR

    def _sweep(self, worker: SimulatedWorker) -> None:
        worker.worker.sweep()

    def _turns(self, worker: SimulatedWorker) -> None:
        """Take some steps of whatever is going on."""
        for _ in range(self.random.randint(1, 6)):
            going = worker.engine.going()
            if going:
                dies = self.random.random() < 0.04
                worker.hand.turn(self.random.choice(going), dies_unkept=dies)

    def _busy(self, worker: SimulatedWorker) -> None:
        """Do everything that is due, as a worker does that nobody disturbs."""
        self.world.at += self.random.choice((0, 3 * SECOND, 3 * SECOND, 31 * SECOND))
        worker.worker.sweep()
        for _ in range(30):
            going = worker.engine.going()
            if not going:
                break
            worker.hand.turn(going[0])

    def _heartbeat(self, worker: SimulatedWorker) -> None:
        """Beat, as the engine's schedule would: late, or once more than there was need for."""
        at = self.world.at // (15 * MINUTE) * 15 * MINUTE
        worker.hand.begin(HEARTBEAT, f"{HEARTBEAT}-{at}", at)

    def _tick(self, worker: SimulatedWorker) -> None:
        worker.loop.tick(self.random.choice(_SCOPES))

    def _event_sent(self, worker: SimulatedWorker) -> None:
        """Send an event, which arrives now, later or never, once or several times."""
        self._event += 1
        event_id = f"event-{self._event}"
        name, cause = self.random.choice(_NAMES), self._cause(worker)
        scope, said = self.random.choice(_SCOPES), self.random.choice(INJECTED)
        told: dict[str, object] = {"specversion": "1.0", "id": event_id, "type": name}
        told |= {"source": "sim", "scope": scope, "data": {"text": said}}
        if cause is not None:
            told["causationid"] = cause
        if self.random.random() < 0.1:
            told["causationdepth"] = self.random.randint(0, 4)
        raw = msgspec.json.encode(told)

        def arrive(loop: ControlLoop) -> None:
            self.accepted.add(loop.send(None, raw).trigger.id)

        copies = self.random.choice((1, 1, 1, 2, 3))
        if self.random.random() < 0.4:
            self.mailbox += [arrive] * copies
            return
        for _ in range(copies):
            arrive(worker.loop)

    def _cause(self, worker: SimulatedWorker) -> str | None:
        """Return what an event says that it was caused by: the truth, nothing, or a lie."""
        recent = [each.decision_id for each in worker.loop.chain.state.recent[-3:]]
        begun = [decision for decision, _ in self.world.begun[-3:]]
        return self.random.choice([None, None, "no-such-decision", *recent, *recent, *begun])

    def _mail_arrives(self, worker: SimulatedWorker) -> None:
        self.random.shuffle(self.mailbox)
        for _ in range(min(2, len(self.mailbox))):
            self.mailbox.pop()(worker.loop)

    def _mail_is_lost(self, _worker: SimulatedWorker) -> None:
        del self.mailbox[self.random.randint(0, 2) :]

    def _note(self, worker: SimulatedWorker) -> None:
        worker.loop.chain.add_note(
            self.random.choice(INJECTED),
            source="somebody",
            scope=self.random.choice(_SCOPES),
            cause=self._cause(worker),
        )

    def _run(self, worker: SimulatedWorker) -> None:
        """Begin a run, or end one."""
        running = [
            row.id
            for row in worker.governor.ledger.rows.runs(limit=9, status="running")
            if row.agent == "agent"
        ]
        if running and self.random.random() < 0.6:
            Run(worker.governor, running[0]).finish("completed")
        else:
            worker.governor.answer(starting(NewRun(task="build")), None)

    def _recommended(self, worker: SimulatedWorker) -> None:
        self._event += 1
        patch = PatchOperation(path=("loop", "max-depth"), value="2")
        recommendation = Recommendation(
            id=f"r{self._event}",
            kind=RecommendationKind.ALLOW,
            title=self.random.choice(INJECTED),
            reason="so",
            count=1,
            of=1,
            patch=(patch,) * self.random.randint(0, 1),
        )
        run = f"past-{self._event}"
        taught = Retrospective(
            run=run, project="p", outcome="ok", went_well=True, actions=1, steps=1,
            cost_micros=0, tokens=0,
        )  # fmt: skip
        lessons.learn(worker.loop.chain, taught, [recommendation])

    def _job_ends(self, worker: SimulatedWorker) -> None:
        if worker.jobs.under_way:
            run_id = self.random.choice(list(worker.jobs.under_way))
            worker.jobs.come_to_end(run_id, self.random.choice(("completed", "failed")))

    def _answered(self, worker: SimulatedWorker) -> None:
        """Have somebody decide a question of the loop; who is no operator is refused."""
        rows = worker.governor.ledger.rows
        pending = rows.approvals(state=ApprovalState.PENDING.value, run_id="loop")
        if not pending:
            return
        chosen = self.random.choice([*pending, pending[-1], pending[-1]]).id
        state = self.random.choice((ApprovalState.GRANTED,) * 3 + (ApprovalState.DENIED,))
        by = self.random.choice((OPERATOR,) * 4 + (AGENT, SYSTEM))
        worker.governor.answer(
            Entry(
                lambda asking: approvals.decide(
                    *asking.of_approval(chosen), state, note=None, always=False
                )
            ),
            by,
        )
        if self.random.random() < 0.7:
            self.world.at += self.random.choice((0, 0, 0, 31 * MINUTE))
            self._busy(worker)

    def _freeze(self, worker: SimulatedWorker) -> None:
        """Have somebody stop the loop, and somebody else try all the same."""
        if self.random.random() < 0.5:
            worker.worker.sweep()
        worker.loop.chain.freeze("stop", self.random.choice((OPERATOR,) * 5 + (AGENT,)))
        self._time_passes(worker)
        self.random.choice((self._tick, self._busy, self._turns))(worker)
        if self.random.random() < 0.5:
            self._thaw(worker)

    def _thaw(self, worker: SimulatedWorker) -> None:
        worker.loop.chain.thaw("go on", self.random.choice((OPERATOR,) * 5 + (AGENT,)))

    def _cancel(self, worker: SimulatedWorker) -> None:
        loop = worker.loop.chain.state
        held = [each.decision_id for each in loop.held.values()]
        waiting = [*loop.outgoing, *held]
        if waiting:
            worker.loop.chain.cancel(self.random.choice(waiting), "no", OPERATOR)

    def _adopt(self, worker: SimulatedWorker) -> None:
        """Have a worker go by another policy; the others hear of it later, or never."""
        policy = self.random.choice(self.policies.drawn)
        worker.governor.adopt(policy, by=OPERATOR)
        worker.policy = policy

    def _moods(self, _worker: SimulatedWorker) -> None:
        world, chance = self.world, self.random.random
        world.sick_sinks = {each for each in SINKS if chance() < 0.6}
        names = ("weather", Source.NOTES.value, Source.UNFINISHED.value)
        world.sick_sources = {each for each in names if chance() < 0.25}
        world.weather = [f"w{n}" for n in range(self.random.randint(0, 2))]

    def _fuse(self, _worker: SimulatedWorker) -> None:
        self.world.fuse = self.random.randint(0, 6), self.random.random() < 0.5

    def _dies(self, _worker: SimulatedWorker) -> None:
        raise Crash

    def _engine_lost(self, worker: SimulatedWorker) -> None:
        worker.engine.flows.clear()


_WHATEVER: Final[tuple[Callable[[History, SimulatedWorker], object], ...]] = (
    *(History._time_passes,) * 6,
    *(History._sweep,) * 6,
    *(History._turns,) * 10,
    *(History._event_sent,) * 14,
    *(History._note,) * 5,
    *(History._answered,) * 12,
    *(History._mail_arrives,) * 2,
    History._mail_is_lost,
    *(History._heartbeat,) * 3,
    *(History._tick,) * 2,
    *(History._run,) * 2,
    *(History._recommended,) * 2,
    *(History._job_ends,) * 3,
    *(History._freeze,) * 3,
    *(History._thaw,) * 8,
    History._cancel,
    History._adopt,
    *(History._moods,) * 2,
    *(History._fuse,) * 3,
    History._dies,
    History._engine_lost,
)
"""What happens, each as often as it is here."""
