"""How many answers does a server give, on the record? Over HTTP and over the Unix socket.

    python benchmarks/server_load.py            everything
    python benchmarks/server_load.py --quick    a quarter of it

The server is a process of its own, with SQLite and `synchronous=FULL`; who asks is another one,
with 64 connections, each in a run of its own. Beside it, in the same run, stands an endpoint of
the same stack that reads the same body and answers a constant: the ratio is what deciding and
recording cost. Typical commands are asked again and again, as agents do; the others were never
asked before.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from clock import line
from durable import VARIED
from speed import TYPICAL

CONNECTIONS = 64
AGENTS = 8
LISTENERS = 1_000
_ROUNDS = 30
_A_MOMENT_S = 0.1
REQUESTS = 20_000
_HERE = Path(__file__)
_ROOT = _HERE.parents[1]
_NUMBER = count()


def main() -> None:
    """Print one row per figure, the bare endpoint beside."""
    requests = REQUESTS // 4 if "--quick" in sys.argv else REQUESTS
    print(line("what", "measured", "goal", "beside it"))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with _bare(home) as (address, socket_path):
            bare = {
                "http": _asked(address, "", "typical", requests),
                "unix": _asked(socket_path, "", "typical", requests),
            }
        for name, each in bare.items():
            rate, spread = _row(each)
            print(line(f"{name}: a bare endpoint of the same stack", rate, "", spread))
        with _served(home) as server:
            for kind, goal in (("typical", ">= 4,000 /s"), ("unseen", ">= 1,500 /s, p99 60 ms")):
                for name, place in (("http", server.address), ("unix", server.socket)):
                    before = _processor_s(server.pid)
                    found = _asked(place, server.tokens, kind, requests)
                    each_us = 1e6 * (_processor_s(server.pid) - before) / requests
                    beside = f"{bare[name]['rate'] / found['rate']:.1f}x the bare one's time"
                    rate, spread = _row(found)
                    print(
                        line(
                            f"{name}: {kind} commands",
                            rate,
                            goal,
                            f"{spread}; {each_us:.0f} µs of processor time each; {beside}",
                        )
                    )

            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_woken(server))
                runner.run(_listened(server))


class _Served(NamedTuple):
    """Where a server is, and who may ask it."""

    address: str
    socket: str
    tokens: str
    """Of agents."""
    operator: str
    pid: int


def _row(found: dict[str, float]) -> tuple[str, str]:
    return f"{found['rate']:,.0f} /s", f"p50 {found['p50']:.1f}, p99 {found['p99']:.1f} ms"


def _asked(place: str, token: str, kind: str, requests: int) -> dict[str, float]:
    """Have another process ask; return what it measured."""
    words = [sys.executable, str(_HERE), "--client", place, token, kind, str(requests)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def _processor_s(pid: int) -> float:
    """Return how much processor time a process has used: that of others does not count."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _served(home: Path) -> Generator[_Served]:
    """Start a real server."""
    from interlock import Interlock  # noqa: PLC0415 - only who serves needs it

    environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    os.environ.update(environment)
    with Interlock.open() as interlock:
        interlock.set_up("ada", "correct horse battery", cost=2)
        operator = interlock.unlock("ada", "correct horse battery")
        tokens = ",".join(
            interlock.add_token(f"agent-{number}", scope="agent", token=operator)
            for number in range(AGENTS)
        )
    words = [sys.executable, "-m", "interlock", "serve", "--port", "0", "--json"]
    server = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        said: dict[str, str] = json.loads(server.stdout.readline() if server.stdout else "{}")
        yield _Served(said["url"], said["socket"], tokens, operator, server.pid)
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def _bare(home: Path) -> Generator[tuple[str, str]]:
    socket_path = home / "bare.sock"
    words = [sys.executable, str(_HERE), "--bare", str(socket_path)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip() if server.stdout else ""
        yield f"http://127.0.0.1:{port}", str(socket_path)
    finally:
        server.terminate()
        server.wait()


def _serve_bare(path: str) -> None:
    """Answer a constant, on the same stack."""
    import socket  # noqa: PLC0415 - only in this process

    import uvicorn  # noqa: PLC0415 - the same

    answer = json.dumps({"decision": "allow", "verdict": {"findings": []}}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": answer})

    config = uvicorn.Config(
        app, http="httptools", loop="none", lifespan="off", log_config=None, access_log=False
    )
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(path)
    tcp = socket.socket()
    tcp.bind(("127.0.0.1", 0))
    for each in (unix, tcp):
        each.listen(1024)
        each.setblocking(False)  # noqa: FBT003 - as the library has it
    print(tcp.getsockname()[1], flush=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve([unix, tcp]))


# Who waits.


async def _woken(server: _Served) -> None:
    """Measure how long after a person's word an agent hears of it."""
    agent, person = await _connected(server.address), await _connected(server.address)
    token = server.tokens.partition(",")[0]
    path = await _run(agent, token)
    times: list[float] = []
    for number in range(_ROUNDS):
        table: dict[str, object] = {"action": {"command": f"git push --force origin b{number}"}}
        asked = json.loads(await agent.ask(path, token, table))
        waiting = asyncio.create_task(agent.ask(path, token, {**table, "wait_s": 60}))
        # Until it waits: then nothing but the decision wakes it.
        await asyncio.sleep(_A_MOMENT_S)
        at = time.perf_counter()
        await person.ask(f"/v1/approvals/{asked['approval_id']}/approve", server.operator, {})
        await waiting
        times.append(1000 * (time.perf_counter() - at))
    spread = f"p50 {statistics.median(times):.0f}, most {max(times):.0f} ms"
    print(line("an agent that waits for a person wakes", spread, "<= 200 ms"))


async def _listened(server: _Served) -> None:
    """Hold many connections that wait for events; measure when the last one hears of one."""
    before = _resident(server.pid)
    heard: list[asyncio.StreamReader] = []
    writers: list[asyncio.StreamWriter] = []
    for _ in range(LISTENERS):
        reader, writer = await asyncio.open_unix_connection(server.socket)
        writer.write(
            b"GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer %b\r\n\r\n"
            % server.operator.encode()
        )
        await reader.readuntil(b"retry: 1000\n\n")
        heard.append(reader)
        writers.append(writer)
    each_kb = (_resident(server.pid) - before) / LISTENERS / 1024
    client = await _connected(server.socket)
    at = time.perf_counter()
    asking = asyncio.create_task(client.ask("/v1/runs", "", {"task": "news"}))
    await asyncio.gather(*(each.readuntil(b"event: ") for each in heard))
    took_ms = 1000 * (time.perf_counter() - at)
    await asking
    for writer in writers:
        writer.close()
    beside = f"{each_kb:.0f} kB each"
    name = f"{LISTENERS:,} listeners: the last one hears of a record"
    print(line(name, f"{took_ms:.0f} ms", "", beside))


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Who asks.


class _Client(asyncio.Protocol):
    """One connection that asks one thing after the other."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answered: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or self._answered is None:
            return
        at = head.index(b"content-length: ") + 16
        length = int(head[at : head.index(b"\r", at) if b"\r" in head[at:] else None])
        if len(rest) >= length:
            self._buffer, answered, self._answered = b"", self._answered, None
            if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
                answered.set_exception(RuntimeError((head + rest).decode()))
            else:
                answered.set_result(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(exc or ConnectionError("closed"))

    async def ask(self, path: str, token: str, table: dict[str, object]) -> bytes:
        body = json.dumps(table).encode()
        who = f"authorization: Bearer {token}\r\n" if token else ""
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{who}content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._answered = asyncio.get_running_loop().create_future()
        if self._transport is not None:
            self._transport.write(head.encode() + body)
        return await self._answered


async def _connected(place: str) -> _Client:
    loop = asyncio.get_running_loop()
    if place.startswith("http://"):
        host, _, port = place.removeprefix("http://").partition(":")
        _, client = await loop.create_connection(_Client, host, int(port))
    else:
        _, client = await loop.create_unix_connection(_Client, place)
    return client


async def _load(place: str, token: str, kind: str, requests: int) -> dict[str, float]:
    command = _typical if kind == "typical" else _unseen
    clients = [await _connected(place) for _ in range(CONNECTIONS)]
    is_bare = not token
    # On the Unix socket nobody needs a token: whose process it is is known.
    shown = token.split(",") * CONNECTIONS if place.startswith("http") else [""] * CONNECTIONS
    paths = [
        "/" if is_bare else await _run(each, used)
        for each, used in zip(clients, shown, strict=False)
    ]
    times: list[float] = []
    begun = time.perf_counter()
    await asyncio.gather(
        *(
            _ask_all(client, where, (command() for _ in range(requests // CONNECTIONS)), times)
            for client, where in zip(clients, zip(paths, shown, strict=False), strict=True)
        )
    )
    took = time.perf_counter() - begun
    times.sort()
    return {
        "rate": len(times) / took,
        "p50": 1000 * times[len(times) // 2],
        "p99": 1000 * times[len(times) * 99 // 100],
    }


async def _run(client: _Client, token: str) -> str:
    started = json.loads(await client.ask("/v1/runs", token, {"task": "load"}))
    return f"/v1/runs/{started['id']}/actions"


async def _ask_all(
    client: _Client, where: tuple[str, str], commands: Iterable[str], times: list[float]
) -> None:
    for command in commands:
        table: dict[str, object] = {"action": {"command": command}}
        at = time.perf_counter()
        await client.ask(*where, table)
        times.append(time.perf_counter() - at)


def _typical() -> str:
    return TYPICAL[next(_NUMBER) % len(TYPICAL)]


def _unseen() -> str:
    number = next(_NUMBER)
    return VARIED[number % len(VARIED)].format(number)


def _client(arguments: Sequence[str]) -> None:
    place, token, kind, requests = arguments
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(_load(place, token, kind, int(requests)))))


if __name__ == "__main__":
    if "--client" in sys.argv:
        _client(sys.argv[2:])
    elif "--bare" in sys.argv:
        _serve_bare(sys.argv[2])
    else:
        main()
