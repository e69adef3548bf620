"""The process of a server: its sockets, its one place among others, and how it begins and ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from interlock.errors import InputError, UnavailableError
from interlock.server.access.peer import peer_of_socket
from interlock.server.api.endpoints import ENDPOINTS
from interlock.server.application import Application
from interlock.server.desk.desk import Desk
from interlock.server.hooks.hook_socket import HookSocket
from interlock.service.whereabouts import Listening, locked, running_server, write_note
from interlock.settings import ServerPlaces

PORT: Final = 7420
_BACKLOG: Final = 1024
_KEPT_ALIVE_S: Final = 75
_GRACE_S: Final = 10
_HEAD_S: Final = 15.0
"""So long a client may take to say what it wants."""
_LARGEST_HEAD: Final = 64 * 1024
_LARGEST_BODY: Final = 2**40
"""Bodies are counted where they are read."""
_TOO_LARGE: Final = "the head of the request is too large"
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_MOMENT_S: Final = 0.02

_LOADED_LATE: Final = (
    "interlock.service.questions.edit_question",
    "interlock.service.records.undo_records",
    "interlock.service.policies.policy_patch",
    "interlock.policy.config.reference",
)
"""What is loaded when it is needed first: its types have to be ready before."""

Background = Callable[[Desk], Awaitable[None]]
"""What goes on beside the answers, until it is cancelled."""


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is to be reached."""

    places: ServerPlaces
    host: str | None = "127.0.0.1"
    """Where it listens for TCP; None for nowhere."""
    port: int = PORT
    certificate: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()
    """By which names it may be asked besides those of the loopback."""
    idle_s: float | None = None
    """After so long without a request it ends by itself."""
    is_demo: bool = False
    sends_traces: bool = False
    """Whether traces go where the `OTEL_*` variables say."""


class _Protocol(HttpToolsProtocol):
    """HTTP for clients that may be slow, large or of another user."""

    def __init__(self, server: _HttpServer) -> None:
        super().__init__(server.config, server, {}, asyncio.get_running_loop())
        self._connection_lost = server.connection_lost

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as its class has it
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        peer = peer_of_socket(connection)
        self.app_state = {**self.app_state, "peer": peer}
        self._unfinished = 0
        """How much has arrived of a head that is not complete."""
        self._patience = self.loop.call_later(_HEAD_S, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()
        super().connection_lost(exc)
        self._connection_lost.set()

    def data_received(self, data: bytes) -> None:
        self._unfinished += len(data)
        super().data_received(data)
        if self._unfinished > _LARGEST_HEAD:
            self.send_400_response(_TOO_LARGE)

    def on_message_begin(self) -> None:
        # Also on a connection that was asked before.
        self._patience.cancel()
        self._patience = self.loop.call_later(_HEAD_S, self.transport.close)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._patience.cancel()
        self._unfinished = -_LARGEST_BODY
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > _LARGEST_HEAD:
            raise ValueError(_TOO_LARGE)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._unfinished = 0
        self.scope.setdefault("state", {})["is_whole"] = True
        super().on_message_complete()


class _HttpServer(ServerState):
    """HTTP on one listening socket."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket) -> None:
        super().__init__()
        self.config: Final = config
        self.connection_lost: Final = asyncio.Event()
        self._socket = listening
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Accept connections."""
        self.config.load()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Protocol(self), sock=self._socket, ssl=self.config.ssl, backlog=_BACKLOG
        )

    async def close(self) -> None:
        """Finish the requests under way, for at most the grace period."""
        if self._server is not None:
            self._server.close()
        for each in tuple(self.connections):
            each.shutdown()
        try:
            async with asyncio.timeout(_GRACE_S):
                while self.connections:
                    self.connection_lost.clear()
                    await self.connection_lost.wait()
                # A request may go on after its client has gone.
                if self.tasks:
                    await asyncio.wait(self.tasks)
        except TimeoutError:
            for task in self.tasks:
                task.cancel()


class ServerProcess:
    """One server, which runs until a signal or `end` shuts it down."""

    def __init__(
        self,
        desk: Desk,
        options: ServerOptions,
        *,
        background: Sequence[Background] = (),
    ) -> None:
        _check(options)
        self._desk = desk
        self._hooks = HookSocket(desk.hooks)
        self._options = options
        self._background = background
        self._enough = asyncio.Event()

    async def run(self, when_ready: Callable[[Listening], None]) -> None:
        """Answer; what was begun is finished before it ends."""
        options, places = self._options, self._options.places
        prepare_types()
        unix, tcp = _unix_socket(places.socket), None
        try:
            tcp = _tcp_socket(options)
            application = Application(self._desk, ENDPOINTS, hosts=options.names)
            servers = [_HttpServer(_config(application, None, None), unix)]
            if tcp is not None:
                config = _config(application, options.certificate, options.key)
                servers.append(_HttpServer(config, tcp))
            await self._hooks.start(_unix_socket(places.hooks))
            listening = self._listening(tcp)
            self._desk.listening = listening
            await self._desk.start()
            await self._answer(servers, listening, when_ready)
        finally:
            for left in (places.socket, places.hooks, places.note):
                left.unlink(missing_ok=True)

    def end(self) -> None:
        """Request shutdown."""
        self._enough.set()

    def _listening(self, tcp: socket.socket | None) -> Listening:
        return Listening(
            pid=os.getpid(),
            url=_url(self._options, tcp),
            socket=str(self._options.places.socket),
            ledger=self._desk.ledger.store.name,
            since=self._desk.now(),
            is_demo=self._options.is_demo,
            ends_itself=self._options.idle_s is not None,
        )

    async def _answer(
        self,
        servers: Sequence[_HttpServer],
        listening: Listening,
        when_ready: Callable[[Listening], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        # Signals can be handled on the main thread only; elsewhere the caller calls `end`.
        if threading.current_thread() is threading.main_thread():
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(each, self.end)
        for server in servers:
            await server.start()
        beside = [loop.create_task(_beside(each, self._desk)) for each in self._background]
        beside.append(loop.create_task(self._end_idle(servers)))
        write_note(self._options.places.note, listening)
        when_ready(listening)
        await self._enough.wait()
        for task in beside:
            task.cancel()
        await self._hooks.close()
        # End the streams of news, or their connections would stay open.
        await self._desk.news.close()
        closing = (server.close() for server in servers)
        await asyncio.gather(*closing, *beside, return_exceptions=True)
        await self._desk.close()

    async def _end_idle(self, servers: Sequence[_HttpServer]) -> None:
        """Shut down after `idle_s` seconds without a request."""
        idle_s = self._options.idle_s
        if idle_s is None:
            return
        seen, since = -1, 0.0
        loop = asyncio.get_running_loop()
        while not self._enough.is_set():
            asked = self._hooks.asked + sum(each.total_requests for each in servers)
            is_busy = self._hooks.busy or any(each.tasks for each in servers)
            if asked != seen or is_busy:
                seen, since = asked, loop.time()
            elif loop.time() - since >= idle_s:
                self.end()
            await asyncio.sleep(min(1.0, idle_s / 4))


def prepare_types() -> None:
    """Have every type ready that threads may read values of.

    INVARIANT: two threads that read a type at once, before anybody has read it, end the process:
    the library gets the type ready without a lock.
    """
    for name in _LOADED_LATE:
        import_module(name)
    kinds: list[object] = [kind for each in ENDPOINTS for kind in each.query.values()]
    waiting = [msgspec.Struct]
    while waiting:
        found = waiting.pop().__subclasses__()
        waiting.extend(found)
        kinds.extend(each for each in found if each.__module__.startswith("interlock."))
    for kind in kinds:
        # What cannot be read at all is not read by threads either.
        with contextlib.suppress(TypeError, NameError):
            msgspec.json.Decoder(kind)


async def _beside(work: Background, desk: Desk) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await work(desk)


def _config(app: Application, certificate: Path | None, key: Path | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEPT_ALIVE_S,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
    )


def _check(options: ServerOptions) -> None:
    """Raise InputError where others could listen in."""
    has_tls = options.certificate is not None and options.key is not None
    if options.host is not None and options.host not in _LOOPBACK and not has_tls:
        raise InputError(
            f"`{options.host}` is not this machine alone: give `--tls-certificate` and `--tls-key`,"
            " or listen on 127.0.0.1"
        )


def _url(options: ServerOptions, tcp: socket.socket | None) -> str | None:
    if tcp is None:
        return None
    scheme = "http" if options.certificate is None else "https"
    host = options.names[0] if options.names else options.host or ""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{tcp.getsockname()[1]}"


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket in a folder that nobody else can look into."""
    own_folder(path.parent)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(path))
    path.chmod(0o600)
    made.listen(_BACKLOG)
    made.setblocking(False)  # noqa: FBT003 - as the library has it
    return made


def _tcp_socket(options: ServerOptions) -> socket.socket | None:
    if options.host is None:
        return None
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        _bind(made, options)
    except OSError as error:
        made.close()
        raise UnavailableError(
            f"port {options.port} of {options.host} is taken: {error.strerror}; choose another one"
            " with `--port`"
        ) from error
    made.listen(_BACKLOG)
    made.setblocking(False)  # noqa: FBT003 - as the library has it
    return made


def _bind(made: socket.socket, options: ServerOptions) -> None:
    """Take the port that was asked for; a demo takes any, where that one is taken."""
    with contextlib.suppress(OSError) if options.is_demo else contextlib.nullcontext():
        made.bind((options.host, options.port))
        return
    made.bind((options.host, 0))


def own_folder(folder: Path) -> None:
    """Make a folder that is this user's alone; raise InputError where it is not."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or not folder.is_dir() or folder.is_symlink():
        raise InputError(f"{folder} is not a folder of this user: remove it")
    folder.chmod(0o700)


@contextlib.contextmanager
def only_server(options: ServerOptions) -> Generator[Listening | None]:
    """Be the one server of a ledger on this machine; yield the other one where there is one.

    One that hooks have started has no console: it ends, where a person starts one that has.
    """
    places, has_console = options.places, options.host is not None
    own_folder(places.folder)
    while True:
        with places.lock.open("a") as lock:
            # The server before removes it as it ends: one that is gone keeps nobody out.
            if locked(lock) and os.fstat(lock.fileno()).st_nlink:
                try:
                    yield None
                finally:
                    places.lock.unlink(missing_ok=True)
                return
        other = running_server(places)
        if other is not None and not (has_console and other.ends_itself):
            yield other
            return
        if other is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(other.pid, signal.SIGTERM)
        # It is about to say where it is, or about to end.
        time.sleep(_MOMENT_S)
