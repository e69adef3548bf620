"""A real server for tests: on loopback and on a Unix socket, over a ledger of its own."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import subprocess
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import uvloop

from gates.policies import gates_with
from interlock import Interlock
from interlock.backtest.run_replay import replay_result
from interlock.cli.commands.hook_command import dialects
from interlock.model.principal import Scope
from interlock.server.desk.desk import Desk
from interlock.server.server_process import ServerOptions, ServerProcess
from interlock.service.whereabouts import Listening
from interlock.settings import ServerPlaces
from patience import LONG_ENOUGH_S
from service.ledgers import operator_of
from warm_python import PythonProcess


def listening(line: bytes) -> Listening:
    """Read what `interlock serve --json` prints: times are for people to read there."""
    return msgspec.convert({**msgspec.json.decode(line), "since": 0}, Listening)


class Reply(NamedTuple):
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return msgspec.json.decode(self.body)


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=LONG_ENOUGH_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(LONG_ENOUGH_S)
        self.sock.connect(self._path)


class Client:
    """Asks a server, each time over a connection of its own."""

    def __init__(self, listening: Listening) -> None:
        self.listening = listening

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens for TCP."""
        host, _, port = (self.listening.url or "").removeprefix("http://").rpartition(":")
        return host, int(port)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        by_socket: bool = False,
    ) -> Reply:
        """Send one request; a body that is no text goes as JSON."""
        sent = {"connection": "close"}
        if body is not None:
            sent["content-type"] = "application/json"
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        given = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        connection = self.connection(by_socket=by_socket)
        try:
            # Whoever is refused before everything was sent is told all the same.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, given, {**sent, **(headers or {})})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, told, answer.read())
        finally:
            connection.close()

    def connection(self, *, by_socket: bool = False) -> http.client.HTTPConnection:
        """Return a connection that stays open until it is closed."""
        if by_socket:
            return _SocketConnection(self.listening.socket)
        return http.client.HTTPConnection(*self.address, timeout=LONG_ENOUGH_S)


class Served(Client):
    """A server in this process, and the tokens of everybody who may ask it."""

    def __init__(
        self,
        desk: Desk,
        listening: Listening,
        tokens: Mapping[str, str],
        loop: asyncio.AbstractEventLoop,
        process: ServerProcess,
    ) -> None:
        super().__init__(listening)
        self.desk = desk
        self.loop = loop
        self._process = process
        self.tokens = tokens
        """By scope, and of two agents: `agent` and `other`."""

    def post(self, path: str, body: object = None, *, as_: str = "agent", **more: Any) -> Reply:
        """Send something as somebody."""
        return self.ask("POST", path, {} if body is None else body, token=self.tokens[as_], **more)

    def get(self, path: str, *, as_: str = "viewer", **more: Any) -> Reply:
        """Ask for something as somebody."""
        return self.ask("GET", path, token=self.tokens[as_], **more)

    def run(self, task: str = "a task", *, as_: str = "agent", **fields: object) -> str:
        """Start a run; return its id."""
        begun = self.post("/v1/runs", {"task": task, **fields}, as_=as_)
        assert begun.status == 201, begun.body
        return begun.value["id"]

    def end(self) -> None:
        """Request shutdown, as a signal does."""
        with suppress(RuntimeError):  # it has ended, and its loop with it
            self.loop.call_soon_threadsafe(self._process.end)


def places_in(folder: Path) -> ServerPlaces:
    """Return where a server of tests is, in a folder of its own."""
    return ServerPlaces(*(folder / name for name in (".", "http", "hooks", "lock", "note.json")))


def tokens_of(interlock: Interlock) -> dict[str, str]:
    """Make the first operator, and a token for each scope and for two agents."""
    ada = operator_of(interlock)
    named = ((each.value, each) for each in Scope)
    made = {
        name: interlock.add_token(name, scope=scope, token=ada)
        for name, scope in (*named, ("other", Scope.AGENT))
    }
    return {**made, "ada": ada}


@contextmanager
def serving(folder: Path, *, policy: str = "", **options: Any) -> Generator[Served]:
    """Serve a new ledger in a folder, on a thread, until the end."""
    with ExitStack() as stack:
        interlock = stack.enter_context(
            Interlock.open(
                folder / "ledger.db",
                policy=gates_with(policy),
                keys=folder / "keys",
                undo_store=folder / "undo",
            )
        )
        tokens = tokens_of(interlock)
        rows, clock = interlock.ledger.rows, interlock.governor.clock
        desk = Desk(
            interlock.governor,
            replay=lambda run_id: replay_result(rows, run_id, clock.now()),
            dialects=dialects(),
        )
        chosen = ServerOptions(places=places_in(folder / "s"), port=0, **options)
        ready = threading.Event()
        found: list[tuple[Listening, asyncio.AbstractEventLoop, ServerProcess]] = []
        failed: list[BaseException] = []

        async def serve() -> None:
            process = ServerProcess(desk, chosen)

            def when_ready(listening: Listening) -> None:
                found.append((listening, asyncio.get_running_loop(), process))
                ready.set()

            await process.run(when_ready)

        def work() -> None:
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    runner.run(serve())
            except BaseException as error:  # noqa: BLE001 - raised where the test sees it
                failed.append(error)
            finally:
                ready.set()

        thread = threading.Thread(target=work, name="served")
        thread.start()
        try:
            assert ready.wait(LONG_ENOUGH_S)
            if failed:
                raise failed[0]
            listening, loop, process = found[0]
            server = Served(desk, listening, tokens, loop, process)
            try:
                yield server
            finally:
                server.end()
        finally:
            thread.join(LONG_ENOUGH_S)
        assert not failed, failed
        assert not thread.is_alive()


class ServedProcess(Client):
    """A server in a process of its own, as `interlock serve` starts it."""

    def __init__(self, process: subprocess.Popen[bytes], listening: Listening) -> None:
        super().__init__(listening)
        self.process = process

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(LONG_ENOUGH_S)


def environment_in(folder: Path) -> dict[str, str]:
    """Return what a process sees whose user's own folders are all in this one."""
    return {
        **{name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ},
        "HOME": str(folder),
        "INTERLOCK_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_RUNTIME_DIR": str(folder),
        "INTERLOCK_LEDGER": str(folder / "ledger.db"),
    }


@contextmanager
def serving_apart(
    folder: Path, *args: str, environment: Mapping[str, str] | None = None
) -> Generator[ServedProcess]:
    """Run `interlock serve` over the ledger of a folder, until the end or until it is killed."""
    with PythonProcess[bytes](
        ["-m", "interlock", "serve", "--port", "0", "--json", *args],
        env={**environment_in(folder), **(environment or {})},
        cwd=folder,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, "the server said nothing"
            yield ServedProcess(process, listening(line))
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(LONG_ENOUGH_S)


@contextmanager
def serving_alone(folder: Path) -> Generator[Served]:
    """Serve a new ledger, in a place of its own for whatever the server looks for."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_in(folder).items():
            patch.setenv(name, value)
        patch.delenv("INTERLOCK_TOKEN", raising=False)
        (folder / "s").mkdir(mode=0o700)
        with serving(folder) as server:
            yield server


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    """A server over an empty ledger."""
    with serving_alone(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """The same for all tests of a module, none of which minds what others have done."""
    with serving_alone(tmp_path_factory.mktemp("s")) as server:
        yield server
