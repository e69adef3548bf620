"""Who may work: every worker's lease, in the database of the engine itself.

A worker is a name with an epoch, which only ever grows. Whoever takes a worker's flows over raises
its epoch first: from then on it finds that it is not meant any more, however long it was stopped.
INVARIANT: whether two workers run the same flow never depends on a clock, only how soon one takes
over; and that is told by the clock of the database, which is the same for all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from interlock.errors import InputError, UnavailableError
from interlock.processes import is_alive, own_name

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, CursorResult, Engine

SCHEMA: Final = "interlock_loop"
"""In Postgres, everything of the engine lies in a schema of its own."""
CONNECTIONS: Final = 20
_BUSY_MS: Final = 30_000
_IDLE_MS: Final = 10_000
"""How long a worker that was stopped in the middle of a transaction keeps the others waiting."""
_POSTGRES: Final = ("postgres://", "postgresql://")
_OPENING: Final = (
    f"PRAGMA busy_timeout = {_BUSY_MS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)
_CREATION_LOCK: Final = 0x696E746C
_NOW: Final = {
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000.0 AS BIGINT)",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
}

_CREATE: Final = """
CREATE TABLE IF NOT EXISTS {schema}interlock_workers (
    worker TEXT PRIMARY KEY,
    epoch BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    process TEXT NOT NULL
)
"""
_WORKERS: Final = """
SELECT worker, epoch, lease_until, process, {now} FROM {schema}interlock_workers ORDER BY worker
"""
_ENTER: Final = """
INSERT INTO {schema}interlock_workers (worker, epoch, lease_until, process)
VALUES (:worker, {now}, {now} + :lease, :process) ON CONFLICT (worker) DO NOTHING
"""
# The time is part of it, so that an epoch never comes again after its worker was forgotten.
_ENTER_AGAIN: Final = """
UPDATE {schema}interlock_workers
SET epoch = CASE WHEN epoch < {now} THEN {now} ELSE epoch + 1 END,
    lease_until = {now} + :lease, process = :process
WHERE worker = :worker AND epoch = :epoch
"""
_EPOCH: Final = "SELECT epoch FROM {schema}interlock_workers WHERE worker = :worker"
_REMAINING: Final = """
SELECT lease_until - {now} FROM {schema}interlock_workers WHERE worker = :worker AND epoch = :epoch
"""
_RENEW: Final = """
UPDATE {schema}interlock_workers SET lease_until = {now} + :lease
WHERE worker = :worker AND epoch = :epoch
"""
_FENCE: Final = """
UPDATE {schema}interlock_workers SET epoch = epoch + 1
WHERE worker = :worker AND epoch = :epoch AND lease_until = :until
"""
_FORGET: Final = "DELETE FROM {schema}interlock_workers WHERE lease_until < {now} - :keep"


class Interrupted(BaseException):
    """Leaves a flow without an outcome: it goes on later, here or elsewhere.

    It is no Exception, so that no flow takes it for a failure of its own.
    """


class Fenced(Interrupted):
    """This worker's flows were taken over: it must not do anything more for them."""


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker, as the others see it."""

    name: str
    epoch: int
    lease_until: int
    process: str
    is_alive: bool
    """Whether its lease holds, and nothing shows that its process has ended."""

    @property
    def executor(self) -> str:
        """What its flows are marked with: never the same again after a take-over."""
        return f"{self.name}#{self.epoch}"


class EngineDatabase:
    """The engine's database: a SQLite file, or a schema in a Postgres."""

    def __init__(self, place: str) -> None:
        self.path: Final = None if place.startswith(_POSTGRES) else Path(place)
        self._url: Final = _url(place)
        self.name: Final = str(self.path or _shown(self._url))
        """What a person calls it, without any password."""
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The connections to it, shared by all."""
        if self._engine is None:
            self._engine = _engine(self._url)
        return self._engine

    def separate(self) -> Engine:
        """Return other connections to it, for somebody who may have to be cut off."""
        return _engine(self._url)

    def make(self, fill: Callable[[str], None]) -> None:
        """Make what is missing; `fill` turns an empty file, by its URL, into a whole database."""
        if self.path is not None:
            with self.clear_errors():
                _make_file(self.path, fill)
        with self.clear_errors(), self.engine.begin() as connection:
            if self.path is None:
                _make_schema(connection)
            connection.execute(self._text(_CREATE))

    def has(self, table: str) -> bool:
        """Whether a table of the engine is there; nothing is made by looking."""
        from sqlalchemy import inspect  # noqa: PLC0415 - heavy, and only the loop needs it

        if self.path is not None and not self.path.exists():
            return False
        with self.clear_errors():
            return inspect(self.engine).has_table(table, schema=None if self.path else SCHEMA)

    def rows(self, statement: str, **values: str | int) -> Sequence[Sequence[Any]]:
        """Run one statement, which is durable then, and return its rows."""
        with self._executed(statement, values) as result:
            return result.fetchall()

    def change(self, statement: str, **values: str | int) -> int:
        """Run one statement, which is durable then, and return how many rows it changed."""
        with self._executed(statement, values) as result:
            return result.rowcount

    def workers(self) -> Sequence[Worker]:
        """Return everybody who was seen here lately, by name."""
        return [
            Worker(
                name=name,
                epoch=epoch,
                lease_until=until,
                process=process,
                is_alive=until > now and not _has_ended(process),
            )
            for name, epoch, until, process, now in self.rows(_WORKERS)
        ]

    def fence(self, worker: Worker) -> bool:
        """Raise a worker's epoch; return False if it was heard of in the meantime."""
        values = {"worker": worker.name, "epoch": worker.epoch, "until": worker.lease_until}
        return self.change(_FENCE, **values) > 0

    def forget_workers(self, *, keep_s: float) -> int:
        """Forget the workers that were not heard of for so long."""
        return self.change(_FORGET, keep=int(keep_s * 1_000_000))

    def close(self) -> None:
        """Hang up."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    @contextlib.contextmanager
    def clear_errors(self) -> Generator[None]:
        """Say what the database says in words that tell a person what to do."""
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - heavy, and only the loop needs it

        try:
            yield
        except (OSError, SQLAlchemyError) as error:
            said = " ".join(str(getattr(error, "orig", None) or error).split())
            raise UnavailableError(
                f"the loop's engine cannot use {self.name}: {said}: see to it and start again"
            ) from error

    @contextlib.contextmanager
    def _executed(
        self, statement: str, values: dict[str, str | int]
    ) -> Generator[CursorResult[Any]]:
        with self.clear_errors(), self.engine.begin() as connection:
            yield connection.execute(self._text(statement), values)

    def _text(self, statement: str) -> Any:  # noqa: ANN401 - the library's own type is imported late
        from sqlalchemy import text  # noqa: PLC0415 - heavy, and only the loop needs it

        schema = f"{SCHEMA}." if self.path is None else ""
        return text(statement.format(schema=schema, now=_NOW[self.engine.dialect.name]))


class Lease:
    """What one worker holds for as long as it is heard of."""

    def __init__(self, database: EngineDatabase, worker: str, epoch: int, lease_s: float) -> None:
        self._database = database
        self._lease: Final = int(lease_s * 1_000_000)
        self._mine: Final = {"worker": worker, "epoch": epoch}
        self.executor: Final = f"{worker}#{epoch}"

    @classmethod
    def taken(cls, database: EngineDatabase, worker: str, lease_s: float) -> Lease:
        """Take a worker's lease; raise UnavailableError where somebody else holds it."""
        values: dict[str, str | int] = {
            "worker": worker,
            "lease": int(lease_s * 1_000_000),
            "process": own_name(),
        }
        while (before := _known(database, worker)) is None or not before.is_alive:
            if before is None:
                entered = database.change(_ENTER, **values)
            else:
                entered = database.change(_ENTER_AGAIN, **values, epoch=before.epoch)
            if entered:
                [(epoch,)] = database.rows(_EPOCH, worker=worker)
                return cls(database, worker, epoch, lease_s)
            # It was fenced meanwhile by whoever takes its old flows over, or somebody was faster.
        raise UnavailableError(
            f"the loop's engine in {database.name} has a worker `{worker}` already: give this"
            f" one another name, or wait: a worker that is gone loses its name in {lease_s:g} s"
        )

    def check(self) -> None:
        """Raise Fenced unless everything that this worker began is still its own."""
        found = self._database.rows(_REMAINING, **self._mine)
        if not found:
            raise Fenced
        # Whoever was stopped for long, and was not taken over, goes on; but from now on it is seen.
        if found[0][0] < self._lease // 2:
            self.renew()

    def renew(self) -> None:
        """Be heard of; raise Fenced where that is too late."""
        if not self._database.change(_RENEW, **self._mine, lease=self._lease):
            raise Fenced

    def release(self) -> None:
        """Let others have it at once."""
        self._database.change(_RENEW, **self._mine, lease=0)


def _known(database: EngineDatabase, worker: str) -> Worker | None:
    return next((each for each in database.workers() if each.name == worker), None)


def cut_off(engine: Engine) -> None:
    """Let whoever still uses some connections get no other ones.

    A flow that was taken over may be waited for by a thread of the library, for ever.
    """
    from sqlalchemy import event  # noqa: PLC0415 - heavy, and only the loop needs it

    def refuse(*_: object) -> None:
        raise Interrupted

    event.listen(engine, "do_connect", refuse)
    engine.dispose()


def _has_ended(process: str) -> bool:
    """Whether it ran on this machine, and does not any more."""
    boot = own_name().partition("/")[0]
    return process.partition("/")[0] == boot and not is_alive(process)


def _url(place: str) -> URL:
    from sqlalchemy import URL, make_url  # noqa: PLC0415 - heavy, and only the loop needs it
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - the same

    if not place.startswith(_POSTGRES):
        return URL.create("sqlite", database=place)
    try:
        return make_url(place).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        # Not even a part of it is repeated: it may be a part of the password.
        raise InputError(
            "the address of the loop's engine cannot be read: write"
            " `postgresql://user@host:5432/database`, special characters as %XX"
        ) from None


def _shown(url: URL) -> str:
    host = url.host or url.query.get("host", "")
    return f"postgresql://{host}/{url.database}"


def _engine(url: URL) -> Engine:
    from sqlalchemy import create_engine, event  # noqa: PLC0415 - heavy, and only the loop needs it

    shared: dict[str, Any] = {
        # What flows are about never stands in an error's text.
        "hide_parameters": True,
        "pool_size": CONNECTIONS,
        "max_overflow": 0,
    }
    if url.drivername != "sqlite":
        options = f"-c idle_in_transaction_session_timeout={_IDLE_MS}"
        arguments = {"application_name": "interlock", "connect_timeout": 10, "options": options}
        return create_engine(url, connect_args=arguments, pool_pre_ping=True, **shared)
    engine = create_engine(url, **shared)

    @event.listens_for(engine, "connect")
    def opened(connection: Any, _record: object) -> None:  # noqa: ANN401 - any driver's connection
        # Whoever will write waits for its turn at once: later it would be refused.
        connection.isolation_level = "IMMEDIATE"
        for pragma in _OPENING:
            connection.execute(pragma)

    _ = opened
    return engine


def _make_schema(connection: Connection) -> None:
    """Make the schema; several workers may start at once."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")


def _make_file(path: Path, fill: Callable[[str], None]) -> None:
    """Make a private file: whole or not at all, whoever else makes it at the same time."""
    if path.exists():
        path.chmod(0o600)
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    try:
        new.touch(mode=0o600, exist_ok=False)
        fill(_url(str(new)).render_as_string())
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(new)
    finally:
        new.unlink(missing_ok=True)
