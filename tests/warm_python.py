"""Run Python programs in processes forked from one that has all modules loaded.

For tests that need a process but do not test how Python starts. Tests of imports, of hash seeds or
of the interpreter's environment variables start Python with `subprocess`.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import importlib
import inspect
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, AnyStr, Final, NamedTuple

from patience import LONG_ENOUGH_S

_TESTS: Final = Path(__file__).parent
_PRELOADED: Final = (
    "interlock.adapters.installation",
    "interlock.adapters.supervision",
    "interlock.cli",
    "interlock.ledger",
    "interlock.loop",
    "interlock.server",
)
"""Packages whose modules are all loaded before the first fork."""
_SUPPORTED_VARIABLES: Final = ("PYTHONPATH", "PYTHONUNBUFFERED")
"""Variables of the interpreter that a fork applies itself."""
_OPTIONS: Final = tuple(inspect.signature(subprocess.Popen._execute_child).parameters)[1:]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType] - a private method has no types
_PIPES: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def run_python(
    *arguments: str,
    stdin: bytes | int = b"",
    stdout: int = subprocess.PIPE,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to completion; `stdin` is its input or a file descriptor."""
    text = stdin if isinstance(stdin, bytes) else None
    with PythonProcess[bytes](
        arguments,
        stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
    ) as process:
        try:
            out, errors = process.communicate(text, timeout=LONG_ENOUGH_S)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, errors)


class PythonProcess(subprocess.Popen[AnyStr]):
    """A `Popen` that takes the arguments of Python: `-m MODULE`, `-c PROGRAM` or `FILE`."""

    def _execute_child(self, *values: Any) -> None:
        options = dict(zip(_OPTIONS, values, strict=True))
        unsupported = ("executable", "preexec_fn", "shell", "gid", "gids", "uid")
        assert not any(options[each] for each in unsupported), f"not supported: {unsupported}"
        assert options["umask"] < 0, "not supported: umask"
        inherited = {0: options["p2cread"], 1: options["c2pwrite"], 2: options["errwrite"]}
        descriptors = {to: to if end < 0 else end for to, end in inherited.items()}
        descriptors |= {each: each for each in options["pass_fds"]}
        program = _Program(
            arguments=[os.fsdecode(each) for each in options["args"]],
            environment=dict(os.environ if options["env"] is None else options["env"]),
            folder=os.fsdecode(options["cwd"] or Path.cwd()),
            descriptors=list(descriptors),
            has_own_session=options["start_new_session"],
            process_group=options["process_group"],
        )
        self._exit_lock = threading.Lock()
        self._channel, theirs = Pipe()
        with theirs:
            sent = [theirs.fileno(), *descriptors.values()]
            socket.send_fds(warm_process(), [b"fork"], sent)
        self._channel.send(program)
        self.pid = self._channel.recv()
        self._child_created = True
        self._close_pipe_fds(*(options[each] for each in _PIPES))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the same

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        if self._exit_lock.acquire(blocking=False):
            try:
                self._receive_exit_code(0)
            finally:
                self._exit_lock.release()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code and return it."""
        with self._exit_lock:
            self._receive_exit_code(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def wait_until_stopped(self) -> None:
        """Wait until a signal has stopped every thread of the program."""
        threads = Path(f"/proc/{self.pid}/task")
        deadline = time.monotonic() + LONG_ENOUGH_S
        while not all(_is_stopped(each) for each in threads.glob("*/stat")):
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def _receive_exit_code(self, timeout: float | None) -> None:
        if self.returncode is None and self._channel.poll(timeout):
            with self._channel:
                self.returncode = self._channel.recv()


def _is_stopped(thread: Path) -> bool:
    try:
        return thread.read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return True  # the thread has ended since it was listed


class _Program(NamedTuple):
    """The program that a child runs, and its environment."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    descriptors: Sequence[int]
    """The numbers of the descriptors that are sent along."""
    has_own_session: bool
    process_group: int


@functools.cache
def warm_process() -> socket.socket:
    """Start the process to fork from; return its socket, which forks of this process share."""
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    start = (
        f"import sys; sys.path.append({str(_TESTS)!r}); import warm_python;"
        f" warm_python.serve({theirs.fileno()})"
    )
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", start],
            pass_fds=[theirs.fileno()],
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end() -> None:
        line.close()
        process.wait()

    atexit.register(end)
    return line


def serve(descriptor: int) -> None:
    """Fork until the socket is closed; a child returns here to run its program and exit."""
    exit_codes: list[int] = []

    def end_quickly() -> None:
        # Finalizing all the loaded modules takes longer than most programs.
        with suppress(OSError, ValueError):
            if exit_codes:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(exit_codes[0])

    atexit.register(end_quickly)  # registered first, so called last
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _preload()
    child = _next_child(socket.socket(fileno=descriptor))
    if child is None:
        return
    try:
        _run_program(*child)
        exit_codes.append(0)
    except SystemExit as exiting:
        if exiting.code is None or isinstance(exiting.code, int):
            exit_codes.append((exiting.code or 0) & 0xFF)
        raise


def _preload() -> None:
    """Load modules and the built-in policy, but nothing that depends on the environment."""
    for name in _PRELOADED:
        package = importlib.import_module(name)
        for found in walk_packages(package.__path__, f"{name}."):
            importlib.import_module(found.name)
    policy_files = importlib.import_module("interlock.service.policies.policy_files")
    policy_files.compile_policy(policy_files.merged_policy())
    importlib.import_module("interlock.service.records.context").engine()
    gc.collect()
    gc.freeze()


def _next_child(line: socket.socket) -> tuple[Connection, Sequence[int]] | None:
    """Return the channel and descriptors in each child; return None in this process at its end."""
    living: dict[int, tuple[int, Connection]] = {}
    with line:
        while True:
            for ready in select.select([line.fileno(), *living], [], [])[0]:
                if ready in living:
                    pid, channel = living.pop(ready)
                    os.close(ready)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    # The test may have closed its end.
                    with channel, suppress(OSError):
                        channel.send(code)
                    continue
                message, received, _, _ = socket.recv_fds(line, 4, 250)
                if not message:
                    return None
                channel, descriptors = Connection(received[0]), received[1:]
                pid = os.fork()
                if pid == 0:
                    for other, (_, channel_of_other) in living.items():
                        os.close(other)
                        channel_of_other.close()
                    return channel, descriptors
                for each in descriptors:
                    os.close(each)
                channel.send(pid)
                living[os.pidfd_open(pid)] = pid, channel


def _run_program(channel: Connection, received: Sequence[int]) -> None:
    with channel:
        program: _Program = channel.recv()
    _place_descriptors(received, program.descriptors)
    if program.has_own_session:
        os.setsid()
    if program.process_group >= 0:
        os.setpgid(0, program.process_group)
    os.chdir(program.folder)
    for name, value in program.environment.items():
        is_read_early = name.startswith(("PYTHON", "LC_ALL")) and name not in _SUPPORTED_VARIABLES
        assert not is_read_early or os.environ.get(name) == value, (
            f"{name} is read when Python starts: use subprocess"
        )
    os.environ.clear()
    os.environ.update(program.environment)
    time.tzset()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream_like(getattr(sys, name), number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.path[0:1] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    run_as_main(program.arguments)


def _stream_like(ours: TextIOWrapper, number: int) -> TextIOWrapper:
    """Open a standard stream as Python does when it starts, with the encoding of `ours`."""
    is_written = ours.writable()
    is_buffered = not os.environ.get("PYTHONUNBUFFERED")
    buffering = 0 if is_written and not is_buffered else -1
    buffer = os.fdopen(number, "wb" if is_written else "rb", buffering, closefd=False)
    return TextIOWrapper(
        buffer,
        encoding=ours.encoding,
        errors=ours.errors,
        line_buffering=is_buffered and (number == 2 or buffer.isatty()),
        write_through=not is_buffered,
    )


def _place_descriptors(received: Sequence[int], numbers: Sequence[int]) -> None:
    """Renumber the descriptors; first move them out of the way, above all target numbers."""
    moved = [fcntl.fcntl(each, fcntl.F_DUPFD, max(numbers) + 1) for each in received]
    for each in received:
        os.close(each)
    for each, number in zip(moved, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)


def run_as_main(arguments: Sequence[str]) -> None:
    """Run the program that `python` would run with these arguments."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    match arguments:
        case ["-m", module, *rest]:
            sys.path[0] = str(Path.cwd())
            sys.argv = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", program, *rest]:
            sys.argv = ["-c", *rest]
            exec(compile(program, "<string>", "exec"), vars(main))
        case [file, *rest]:
            sys.path[0] = str(Path(file).resolve().parent)
            sys.argv = [file, *rest]
            runpy.run_path(file, run_name="__main__")
        case _:
            raise AssertionError("nothing to run")
