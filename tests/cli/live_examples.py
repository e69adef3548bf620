"""Examples that go on until somebody ends them, or that need others: run as real processes.

Nothing here waits for a while: each waits for what a process says, a record, or its end.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, NamedTuple

from cli.asking import make_operator, program
from interlock import Interlock
from patience import LONG_ENOUGH_S
from service.ledgers import PASSPHRASE
from terminal import interlock_at_terminal
from warm_python import PythonProcess

_LINE_SERVER: Final = Path(__file__).parent.parent / "mcp_proxy" / "line_server.py"
_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "walk", "version": "1"},
    },
}
_KNOCK_S: Final = 0.05


class Lived(NamedTuple):
    """What an example said, and the exit code that it ended with."""

    code: int
    output: str
    errors: str


class Process:
    """An example at work."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        # A run belongs to a process: what works in it descends from that one, as no fork does.
        real = words[:3] == ["run", "exec", "--run"]
        self.process = (subprocess.Popen[str] if real else PythonProcess[str])(
            [sys.executable, *program(words)] if real else program(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=folder,
            env=environment(folder),
        )

    @property
    def errors(self) -> str:
        """What it said on standard error so far."""
        self._errors.seek(0)
        return self._errors.read()

    def says(self, text: str) -> None:
        """Write a line to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """Wait for the next line of its output."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it ended without a word: {self.errors}"
        return line

    def told(self, number: signal.Signals, first: str) -> Lived:
        """Send it a signal, and wait for its end."""
        self.process.send_signal(number)
        return self.ended(first)

    def ended(self, first: str = "", given: str | None = None) -> Lived:
        """Close its input, and wait for its end."""
        output, _ = self.process.communicate(given, timeout=LONG_ENOUGH_S)
        return Lived(self.process.returncode, first + output, self.errors)

    def close(self) -> None:
        """Leave nothing behind, whatever went wrong."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self._errors.close()


@contextmanager
def started(words: Sequence[str], folder: Path) -> Generator[Process]:
    """Start an example."""
    process = Process(words, folder)
    try:
        yield process
    finally:
        process.close()


_OF_MAKE: Final = frozenset(("MAKEFLAGS", "MAKELEVEL", "MFLAGS"))


def environment(folder: Path) -> dict[str, str]:
    """Return what a process sees: the programs of the stage come first."""
    places = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    # An example that calls make is no part of the make that may run these tests.
    kept = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
    return {**kept, "PATH": os.pathsep.join(places), "COLUMNS": "100", "NO_COLOR": "1"}


def set_programs(folder: Path) -> None:
    """Put what the examples start where they look for it."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "Makefile").write_text("test:\n\t@echo tested\n")
    (folder / "agent.py").write_text("print('an agent at work')\n")
    npx = f"#!/bin/sh\nexec {shlex.join([sys.executable, '-IS', str(_LINE_SERVER)])}\n"
    agent = "#!/bin/sh\necho an agent at work\n"
    for name, text in (("bin/npx", npx), ("bin/aider", agent), ("agent.sh", agent)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    payload = {
        "session_id": "one",
        "hook_event_name": "PreToolUse",
        "cwd": str(folder),
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    (folder / "payload.json").write_text(json.dumps(payload))
    Path("~/.cache").expanduser().mkdir(parents=True, exist_ok=True)


def lived(words: Sequence[str], place: str, folder: Path) -> Lived:
    """Run an example that lives on, until it has shown that it works."""
    line = " ".join(words)
    live = next(each for start, each in _LIVES.items() if line.startswith(start))
    return live(list(words), place, folder)


def _until_it_is_ready(words: list[str], _place: str, folder: Path) -> Lived:
    with started(words, folder) as process:
        return process.told(signal.SIGTERM, process.line())


def _to_its_end(words: list[str], _place: str, folder: Path) -> Lived:
    with started(words, folder) as process:
        return process.ended()


def _given_a_file(words: list[str], _place: str, folder: Path) -> Lived:
    end = words.index("<")
    with started(words[:end], folder) as process:
        return process.ended(given=(folder / words[end + 1]).read_text())


def _until_a_record_is_told(words: list[str], place: str, folder: Path) -> Lived:
    """Record something until it is told: when it begins to listen it does not say."""
    with Interlock.open(place) as agent, started(words, folder) as process:
        run, heard, lines = agent.run("knock", workspace=folder), threading.Event(), list[str]()

        def hear() -> None:
            lines.append(process.line())
            heard.set()

        hearing = threading.Thread(target=hear)
        hearing.start()
        while not heard.wait(_KNOCK_S) and hearing.is_alive():
            run.violation("knock", "is anybody there")
        hearing.join()
        return process.told(signal.SIGTERM, lines[0])


def _until_it_answers(words: list[str], _place: str, folder: Path) -> Lived:
    """Say hello as an MCP client does, and leave."""
    with started(words, folder) as process:
        process.says(json.dumps(_INITIALIZE))
        answer = process.line()
        assert "serverInfo" in json.loads(answer)["result"]
        return process.ended(answer)


def _of_a_server_elsewhere(words: list[str], place: str, folder: Path) -> Lived:
    with _mcp_server() as url:
        own = [url if each.startswith("https://") else each for each in words]
        return _until_it_answers(own, place, folder)


def _until_a_person_says_no(words: list[str], place: str, folder: Path) -> Lived:
    if "--wait" not in words:
        return _to_its_end(words, place, folder)
    make_operator(place)
    with Interlock.open(place) as people, started(words, folder) as process:
        listener = people.ledger.listen()
        while not (asked := people.approvals()):
            assert process.process.poll() is None, process.errors
            listener.wait(1)
        listener.close()
        people.deny(asked[0].id, token=people.unlock("anna", PASSPHRASE))
        return process.ended()


def _with_a_server(words: list[str], place: str, folder: Path) -> Lived:
    """Answer a hook, or show a link, while a server runs."""
    make_operator(place)
    with started(["serve", "--port", "0"], folder) as server:
        first = server.line()
        if words[0] == "login":
            shown = interlock_at_terminal(
                words, [PASSPHRASE], environment=environment(folder), cwd=folder
            )
            assert "/enter?code=" in shown.screen, shown
            lived = Lived(shown.code, shown.output, shown.errors)
        else:
            lived = _given_a_file(words, place, folder)
        server.told(signal.SIGTERM, first)
    return lived


def _agreed_to(words: list[str], _place: str, folder: Path) -> Lived:
    """Say yes at a terminal, where it asks."""
    done = interlock_at_terminal(
        words, ["y"], environment=environment(folder), stdin=None, cwd=folder
    )
    return Lived(done.code, done.screen, "")


@contextmanager
def _mcp_server() -> Generator[str]:
    """Serve what answers `initialize`, over HTTP on this machine only."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if "id" not in message:
                self.send_response(202)
                self.send_header("content-length", "0")
                self.end_headers()
                return
            about = {"name": "elsewhere", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": about}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own word
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            serving.join()


_LIVES: Final[dict[str, Callable[[list[str], str, Path], Lived]]] = {
    "check --jsonl": _given_a_file,
    "serve": _until_it_is_ready,
    "loop run --once": _to_its_end,
    "loop run": _until_it_is_ready,
    "tail": _until_a_record_is_told,
    "mcp --url": _of_a_server_elsewhere,
    "mcp serve": _until_it_answers,
    "mcp --": _until_it_answers,
    "run exec": _until_a_person_says_no,
    "run --": _to_its_end,
    "install": _agreed_to,
    "uninstall": _agreed_to,
    "completion": _agreed_to,
    "login": _with_a_server,
    "hook": _with_a_server,
}
LIVE: Final = tuple(_LIVES)
"""How the examples begin that are run like this."""
