"""The durable engine: whatever was begun is brought to its end, whoever is killed on the way.

Nothing else knows which library does it. The ledger decides what happened; the engine only sees to
it that work which was cut off is done again, so it may be lost and made anew.

A flow is a function that does all of its work in steps. What a step came to is kept; a flow that
was cut off starts from its beginning, and the steps that came to something are not done again. The
step that was being done is: whatever must happen once is decided by the ledger inside of it.
"""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeAlias

import msgspec

from interlock.errors import InputError, UnavailableError
from interlock.loop.engine_lease import (
    SCHEMA,
    EngineDatabase,
    Fenced,
    Interrupted,
    Lease,
    Worker,
    cut_off,
)
from interlock.ports import Clock

if TYPE_CHECKING:
    from sqlalchemy import Engine as Connections

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)

_APPLICATION: Final = "interlock"
# Flows are only ever gone on with by a worker of the same version. It changes when flows that were
# begun before cannot be gone on with any more: steps that were renamed, reordered or left out.
_VERSION: Final = "1"
_QUEUE: Final = "interlock"
_POLL_S: Final = 0.5
_MOST_AT_ONCE: Final = 16
"""How many flows a worker does at the same time; more of them wait in the database."""
_BACKOFF_S: Final = 0.1
_LONGEST_ID: Final = 200
_LONGEST_ERROR: Final = 1_000

_ABANDON: Final = """
UPDATE {schema}workflow_status
SET status = 'ENQUEUED', queue_name = :queue, owner_xid = NULL, started_at_epoch_ms = NULL
WHERE status = 'PENDING' AND executor_id = :executor AND workflow_uuid = :flow
"""
_GOING: Final = """
SELECT workflow_uuid, executor_id FROM {schema}workflow_status
WHERE status = 'PENDING' AND application_name = :application
"""
_COUNTS: Final = "SELECT status, count(*) FROM {schema}workflow_status GROUP BY status"
_FINISHED: Final = """
SELECT workflow_uuid FROM {schema}workflow_status
WHERE completed_at < {now} / 1000 - :keep AND status NOT IN ('PENDING', 'ENQUEUED')
LIMIT 500
"""
_STATES: Final = {
    "PENDING": "running",
    "ENQUEUED": "queued",
    "SUCCESS": "done",
}
_FAILED: Final = "failed"


class Steps(Protocol):
    """What a flow does its work with."""

    def run(self, name: str, perform: Callable[[], JsonValue], *, attempts: int = 1) -> JsonValue:
        """Do a step, unless it was done before, and return what it came to, as JSON.

        One that raises an exception as often as it may be attempted has failed for good: that
        raises UnavailableError, the same whenever the flow comes by again.
        """
        ...


Body = Callable[[Steps, JsonValue], JsonValue]
"""What a flow does with its argument: every effect, every look at a clock is in a step."""


class Cron(msgspec.Struct, frozen=True, kw_only=True):
    """When a flow is begun: the five fields of a crontab, in UTC."""

    expression: str
    flow: str

    def __post_init__(self) -> None:
        """Raise InputError for what is no such expression, or never comes."""
        self.after(0)

    def after(self, micros: int) -> int:
        """Return the first time after this one."""
        from croniter import croniter  # noqa: PLC0415 - only who begins flows by a clock needs it

        try:
            return int(croniter(self.expression, micros / 1_000_000).get_next(float)) * 1_000_000
        except ValueError as error:
            raise InputError(
                f"the schedule `{self.expression}` cannot be kept: {error}: write five fields, as"
                " in `*/15 * * * *`"
            ) from error


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand, as the database says."""

    workers: tuple[Worker, ...]
    flows: Mapping[str, int]
    """How many are `running`, `queued`, `done` and `failed`."""
    crons: Mapping[str, int]
    """When each is due next, in microseconds since 1970."""


class Engine:
    """Does flows durably, in this process, together with all others on the same database."""

    _started: ClassVar[Engine | None] = None
    """The library can only be there once in a process."""
    _turn: ClassVar[threading.Lock] = threading.Lock()

    def __init__(
        self,
        place: str,
        *,
        worker: str,
        flows: Mapping[str, Body],
        clock: Clock,
        crons: Mapping[str, Cron] | None = None,
        lease_s: float = 30.0,
    ) -> None:
        """Describe a worker of an engine in a file, or in a Postgres by its URL.

        It is not heard of for `lease_s` before others take over what it was doing.
        """
        self._database: Final = EngineDatabase(place)
        self._worker: Final = worker
        self._flows: Final = dict(flows)
        self._clock: Final = clock
        self._crons: Final = dict(crons or {})
        self._lease_s: Final = lease_s
        self._lease: Lease | None = None
        self._connections: Connections | None = None
        self._registered: dict[str, Callable[[Any], Any]] = {}
        self._due: dict[str, int] = {}
        self._running = _Running()
        self._suspects: set[str] = set()
        self._closing = threading.Event()
        self._attendant: threading.Thread | None = None
        for name, cron in self._crons.items():
            if cron.flow not in self._flows:
                raise InputError(f"the schedule `{name}` begins `{cron.flow}`, which is no flow")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Take the worker's lease, and go on with whatever was left undone.

        Raise UnavailableError where another worker has this name, or the database is not there.
        """
        with Engine._turn:
            if Engine._started is self:
                raise InputError("this engine runs already: close it first")
            try:
                self._database.make(_filled)
                self._launch()
            except BaseException:
                self._database.close()
                raise
            Engine._started = self
        self._closing.clear()
        now = self._clock.now()
        self._due = {name: cron.after(now) for name, cron in self._crons.items()}
        self._attendant = threading.Thread(
            target=self._attend, name="interlock-engine", daemon=True
        )
        self._attendant.start()

    def close(self, *, wait_s: float = 5.0) -> None:
        """Stop: steps that are being done get so long to end, and everything else goes on later."""
        self._closing.set()
        if self._attendant is not None:
            self._attendant.join()
            self._attendant = None
        with Engine._turn:
            if Engine._started is not self:
                return
            # Whoever still does a step then keeps the lease, until it is over by itself.
            is_quiet = self._running.wait_for_none(wait_s)
            lease = self._halt()
            Engine._started = None
            if lease is not None and is_quiet:
                lease.release()
            self._database.close()

    def begin(self, flow: str, flow_id: str, argument: JsonValue) -> None:
        """Begin a flow; whatever has the same id is the same flow, begun once.

        Raise UnavailableError where it was not begun, and may be later.
        """
        if flow not in self._flows:
            raise InputError(f"there is no flow `{flow}`: it is one of {', '.join(self._flows)}")
        if not flow_id.strip() or len(flow_id) > _LONGEST_ID:
            raise InputError(f"the id of a flow has 1 to {_LONGEST_ID} characters: `{flow_id}`")
        try:
            self._held().check()
        except Fenced:
            raise self._not_started() from None
        # Begun from within a step, it would be taken for a part of that one's flow.
        contextvars.Context().run(self._begin, flow, flow_id, argument)

    def take_over(self) -> Sequence[str]:
        """Put everything that nobody does any more back into the queue; return which flows."""
        lease = self._held()
        going: dict[str, set[str]] = {}
        for flow_id, executor in self._database.rows(_GOING, application=_APPLICATION):
            going.setdefault(executor, set()).add(flow_id)
        # Read after the flows: whoever one of them belongs to is among these, or gone for ever.
        taken = [
            flow_id
            for executor in going.keys() - self._living(going)
            for flow_id in going[executor]
            if self._abandoned(flow_id, executor)
        ]
        taken += self._stranded(going.get(lease.executor, set()), lease)
        return sorted(taken)

    def prune(self, *, keep_s: float) -> int:
        """Forget the flows that ended so long ago; one of their ids would begin a new flow."""
        from dbos import DBOS  # noqa: PLC0415 - heavy, and only a started engine needs it

        self._held()
        forgotten = 0
        while found := self._database.rows(_FINISHED, keep=int(keep_s * 1_000)):
            DBOS.delete_workflows([str(flow_id) for (flow_id,) in found])
            forgotten += len(found)
        self._database.forget_workers(keep_s=max(keep_s, 10 * self._lease_s))
        return forgotten

    def status(self) -> EngineStatus:
        """Look at the database, whether this engine was started or not."""
        now = self._clock.now()
        crons = {name: cron.after(now) for name, cron in self._crons.items()}
        flows = dict.fromkeys([*_STATES.values(), _FAILED], 0)
        workers: Sequence[Worker] = ()
        try:
            if self._database.has("interlock_workers"):
                workers = self._database.workers()
            if self._database.has("workflow_status"):
                for state, count in self._database.rows(_COUNTS):
                    flows[_STATES.get(state, _FAILED)] += count
        finally:
            if Engine._started is not self:
                self._database.close()
        return EngineStatus(workers=tuple(workers), flows=flows, crons=crons)

    def _begin(self, flow: str, flow_id: str, argument: JsonValue) -> None:
        from dbos import DBOS, SetWorkflowID, error  # noqa: PLC0415 - as above

        try:
            function = self._registered[flow]
            with self._database.clear_errors(), SetWorkflowID(flow_id):
                if len(self._running) < _MOST_AT_ONCE:
                    DBOS.start_workflow(function, argument)
                else:
                    DBOS.enqueue_workflow(_QUEUE, function, argument)
        except error.DBOSConflictingWorkflowError:
            raise InputError(f"`{flow_id}` is the id of another flow than `{flow}`") from None
        except (KeyError, error.DBOSException) as problem:
            raise self._not_started() from problem

    def _held(self) -> Lease:
        if self._lease is None:
            raise self._not_started()
        return self._lease

    def _not_started(self) -> UnavailableError:
        return UnavailableError(
            f"worker `{self._worker}` of the engine in {self._database.name} does not work now:"
            " start it, or try again once it has its name back"
        )

    def _launch(self) -> None:
        """Take a lease, and let the library work under it: its flows are marked with that."""
        lease = Lease.taken(self._database, self._worker, self._lease_s)
        try:
            self._launch_library(lease)
        except BaseException:
            lease.release()
            raise
        self._lease = lease

    def _launch_library(self, lease: Lease) -> None:
        if Engine._started not in (None, self):
            raise InputError("an engine runs in this process already: close that one first")
        from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer  # noqa: PLC0415 - as above

        # Whoever sets logging up hears of its warnings; nobody else does.
        logger = logging.getLogger("dbos")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        connections = self._connections = self._database.separate()
        config = DBOSConfig(
            name=_APPLICATION,
            application_version=_VERSION,
            executor_id=lease.executor,
            serializer=DBOSPortableJSONSerializer(),
            system_database_engine=connections,
            dbos_system_schema=SCHEMA,
            log_level="WARNING",
            enable_otlp=False,
            # Flows send one another no messages: nothing has to listen for them.
            use_listen_notify=False,
            notification_listener_polling_interval_sec=_BACKOFF_S,
            scheduler_polling_interval_sec=3600.0,
        )
        try:
            DBOS(config=config)
            self._registered = {
                name: DBOS.workflow(name=name)(self._flow(name, body, lease))
                for name, body in self._flows.items()
            }
            DBOS.launch()
            DBOS.register_queue(
                _QUEUE, worker_concurrency=_MOST_AT_ONCE, polling_interval_sec=_POLL_S
            )
        except Exception as error:
            DBOS.destroy(destroy_registry=True)
            raise UnavailableError(
                f"the loop's engine does not start in {self._database.name}: {error}"
            ) from error

    def _halt(self) -> Lease | None:
        from dbos import DBOS  # noqa: PLC0415 - as above

        lease, self._lease = self._lease, None
        self._registered = {}
        DBOS.destroy(destroy_registry=True)
        if self._connections is not None:
            cut_off(self._connections)
            self._connections = None
        return lease

    def _flow(self, name: str, body: Body, lease: Lease) -> Callable[[Any], Any]:
        from dbos import DBOS  # noqa: PLC0415 - as above

        def flow(argument: Any) -> Any:  # noqa: ANN401 - what came out of the database
            flow_id = DBOS.workflow_id or ""
            steps = _Steps(flow_id, lease, self._closing)
            with self._running.one_more(flow_id):
                result = body(steps, argument)
                steps.check()
                return result

        flow.__qualname__ = name
        return flow

    def _living(self, going: Mapping[str, object]) -> set[str]:
        """Return who may go on with their flows; whoever may not cannot from here on."""
        living = set[str]()
        for worker in self._database.workers():
            is_over = worker.name != self._worker and not worker.is_alive
            if worker.executor in going and is_over and self._database.fence(worker):
                continue
            living.add(worker.executor)
        return living

    def _abandoned(self, flow_id: str, executor: str) -> bool:
        values = {"flow": flow_id, "executor": executor, "queue": _QUEUE}
        return self._database.change(_ABANDON, **values) > 0

    def _stranded(self, own: set[str], lease: Lease) -> list[str]:
        """Put back what is marked as this worker's and does not run, now and last time.

        Such a flow could not even be marked as failed, because the disk was full.
        """
        suspects = own - self._running.flows()
        twice, self._suspects = suspects & self._suspects, suspects
        return [flow_id for flow_id in twice if self._abandoned(flow_id, lease.executor)]

    def _attend(self) -> None:
        """Be heard of, look after the others, and begin what is due; until it is closed."""
        next_look = time.monotonic()
        while not self._closing.wait(max(0.0, min(next_look - time.monotonic(), self._due_in_s()))):
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + self._lease_s / 3
                self._look()
            self._fire()

    def _look(self) -> None:
        try:
            if self._lease is None:
                self._launch()
            self._held().renew()
            self.take_over()
        except Fenced:
            # Everything of the old epoch ends at its next step; what comes now has a new one.
            self._halt()
        except UnavailableError as error:
            logging.getLogger(__name__).warning("engine waits", extra={"reason": str(error)})

    def _due_in_s(self) -> float:
        """Return how long nothing has to be begun; never 0, so that a failure is not hurried."""
        due = min(self._due.values(), default=None)
        remaining_s = 3600.0 if due is None else (due - self._clock.now()) / 1_000_000
        return max(_BACKOFF_S, remaining_s)

    def _fire(self) -> None:
        """Begin what is due: under the same id, whoever of the workers does it."""
        now = self._clock.now()
        for name, due in self._due.items():
            if due > now:
                continue
            moment = datetime.fromtimestamp(due // 1_000_000, UTC)
            try:
                self.begin(self._crons[name].flow, f"{name}-{moment:%Y-%m-%dT%H:%MZ}", due)
            except UnavailableError:
                continue
            # Times that passed meanwhile are not made up for.
            self._due[name] = self._crons[name].after(now)


class _Running:
    """The flows that this process is doing."""

    def __init__(self) -> None:
        self._flows: list[str] = []
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._flows)

    def flows(self) -> set[str]:
        with self._changed:
            return set(self._flows)

    @contextmanager
    def one_more(self, flow_id: str) -> Generator[None]:
        """Count a flow while it is done; after a take-over it may be there twice for a moment."""
        with self._changed:
            self._flows.append(flow_id)
        try:
            yield
        finally:
            with self._changed:
                self._flows.remove(flow_id)
                self._changed.notify_all()

    def wait_for_none(self, wait_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._flows, wait_s)


class _Steps:
    """The steps of one flow, for as long as one worker does it."""

    def __init__(self, flow_id: str, lease: Lease, closing: threading.Event) -> None:
        self._flow_id = flow_id
        self._lease = lease
        self._closing = closing

    def check(self) -> None:
        """Leave the flow unless it is still this worker's."""
        try:
            self._lease.check()
        except UnavailableError:
            # Nobody knows whose it is; that is no failure of the flow.
            raise Interrupted from None

    def run(self, name: str, perform: Callable[[], JsonValue], *, attempts: int = 1) -> JsonValue:
        from dbos import DBOS  # noqa: PLC0415 - as above

        kept: dict[str, JsonValue] = DBOS.run_step(
            {"name": name}, lambda: self._performed(perform, attempts)
        )
        if "error" in kept:
            raise UnavailableError(f"step `{name}` of `{self._flow_id}` failed: {kept['error']}")
        return kept["value"]

    def _performed(self, perform: Callable[[], JsonValue], attempts: int) -> dict[str, JsonValue]:
        said = ""
        for attempt in range(1, attempts + 1):
            if self._closing.is_set():
                raise Interrupted
            self.check()
            try:
                # What comes back is what would come back after a crash.
                return {"value": msgspec.json.decode(msgspec.json.encode(perform()))}
            except Exception as error:  # noqa: BLE001 - whatever a step fails of is kept as its outcome
                said = f"{type(error).__name__}: {error}"
            if attempt < attempts and self._closing.wait(_BACKOFF_S * 2**attempt):
                raise Interrupted
        return {"error": said[:_LONGEST_ERROR]}


def _filled(url: str) -> None:
    """Make a file the database that the library works with."""
    from dbos import DBOS  # noqa: PLC0415 - as above

    DBOS.migrate(url)
