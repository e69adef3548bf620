"""Python programs as processes of their own, forked by one process that has everything loaded.

For tests in which a process begins, works and ends, and that are not about how it starts: what is
loaded, or in which order a set is walked through, is for `subprocess` to show.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TextIO

import msgspec

from patience import LONG_ENOUGH_S

_TESTS: Final = Path(__file__).parent
_NEEDED_SOON: Final = (
    "interlock.cli.command_group",
    "interlock.ledger.stores.postgres",
    "rich.console",
)


class _Program(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to run; its three streams come beside it."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str


def run_python(
    *arguments: str,
    stdin: bytes = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m MODULE ...` or `python -c PROGRAM ...` to its end."""
    program = _Program(
        arguments=arguments,
        environment=dict(os.environ if environment is None else environment),
        folder=str(folder or Path.cwd()),
    )
    with (
        tempfile.TemporaryFile() as into,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
    ):
        into.write(stdin)
        into.seek(0)
        code = _warm().run(program, [into.fileno(), out.fileno(), errors.fileno()])
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), errors.read())


class _WarmProcess:
    """The other process, seen from here; it ends with this one."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        self._line.settimeout(LONG_ENOUGH_S)
        path = os.pathsep.join([str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "warm_python", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=os.environ | {"PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def run(self, program: _Program, streams: Sequence[int]) -> int:
        """Return the exit code of a program, negative if a signal ended it."""
        order = msgspec.json.encode(program)
        try:
            socket.send_fds(self._line, [len(order).to_bytes(8, "big")], list(streams))
            self._line.sendall(order)
            return int(self._line.recv(64))
        except TimeoutError:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise

    def end(self) -> None:
        self._line.close()
        self._process.wait()


@functools.cache
def _warm() -> _WarmProcess:
    process = _WarmProcess()
    atexit.register(process.end)
    return process


def _main(line: socket.socket) -> None:
    """Fork until nobody asks any more; in a child, be the program and end as programs do."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in _NEEDED_SOON:
        importlib.import_module(name)
    gc.freeze()
    with line:
        work = _next_work(line)
    if work is not None:
        work()


def _next_work(line: socket.socket) -> Callable[[], None] | None:
    """Return a child's work in that child, None in this process at its end."""
    while True:
        head, streams, _, _ = socket.recv_fds(line, 8, 3)
        if not head:
            return None
        program = msgspec.json.decode(_received(line, int.from_bytes(head, "big")), type=_Program)
        child = os.fork()
        if child == 0:
            return functools.partial(_be, program, streams)
        for each in streams:
            os.close(each)
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _received(line: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        received += line.recv(count - len(received))
    return received


def _be(program: _Program, streams: Sequence[int]) -> None:
    os.environ.clear()
    os.environ.update(program.environment)
    os.chdir(program.folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = _text(0, "r")
    sys.stdout = _text(1, "w")
    sys.stderr = _text(2, "w", errors="backslashreplace")
    how, what, *arguments = program.arguments
    sys.argv = [what if how == "-m" else how, *arguments]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})


def _text(stream: int, mode: Literal["r", "w"], errors: str = "strict") -> TextIO:
    return os.fdopen(stream, mode, encoding="utf-8", errors=errors, closefd=False)


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
