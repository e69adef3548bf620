"""Python programs in processes of their own, forked by one process that has everything loaded.

For every test that needs a process but does not test how one starts. Tests of imports, of the
order of sets or of the interpreter's own variables start a real one with `subprocess`.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import importlib
import inspect
import os
import posix
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, AnyStr, Final, NamedTuple, NoReturn

from patience import LONG_ENOUGH_S, wait_until

_TESTS: Final = Path(__file__).parent
_PRELOADED: Final = (
    "interlock.adapters.installation",
    "interlock.adapters.mcp",
    "interlock.adapters.supervision",
    "interlock.cli",
    "interlock.ledger",
    "interlock.loop",
    "interlock.server",
)
"""Packages whose modules are all loaded before anything is forked."""
_LOADED_LATE: Final = ("dbos",)
"""What these load only once it is needed, and take longest for."""
_APPLIED_HERE: Final = ("PYTHONPATH", "PYTHONUNBUFFERED")
_OPTIONS: Final = tuple(inspect.signature(subprocess.Popen._execute_child).parameters)[1:]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType] - what `Popen` hands to itself has no types
_PIPES: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def run_python(
    *arguments: str,
    stdin: bytes | int = b"",
    stdout: int = subprocess.PIPE,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; its standard input is a text or a descriptor."""
    given = stdin if isinstance(stdin, bytes) else None
    with PythonProcess[bytes](
        arguments,
        stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
    ) as process:
        try:
            out, errors = process.communicate(given, timeout=LONG_ENOUGH_S)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, errors)


class PythonProcess(subprocess.Popen[AnyStr]):
    """A `Popen` whose arguments are those of Python: `-m MODULE`, `-c PROGRAM` or a file, ..."""

    def _execute_child(self, *given: Any) -> None:
        options = dict(zip(_OPTIONS, given, strict=True))
        program, descriptors = _program_of(options)
        self._exit_lock = threading.Lock()
        self._channel, theirs = Pipe()
        with theirs:
            sent = [theirs.fileno(), *descriptors]
            socket.send_fds(warm_process(), [b"fork"], sent)
        self._channel.send(program)
        self.pid = self._channel.recv()
        self._child_created = True
        self._close_pipe_fds(*(options[each] for each in _PIPES))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the same

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        if self._exit_lock.acquire(blocking=False):
            try:
                self._receive_exit_code(0)
            finally:
                self._exit_lock.release()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once there is one."""
        with self._exit_lock:
            self._receive_exit_code(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def wait_until_stopped(self) -> None:
        """Wait until a signal has stopped every thread of it."""
        threads = Path(f"/proc/{self.pid}/task")
        wait_until(lambda: all(_is_stopped(each) for each in threads.glob("*/stat")))

    def _receive_exit_code(self, timeout: float | None) -> None:
        if self.returncode is None and self._channel.poll(timeout):
            with self._channel:
                self.returncode = self._channel.recv()


def _is_stopped(thread: Path) -> bool:
    try:
        return thread.read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return True  # it has ended since it was listed


class _Program(NamedTuple):
    """What a child is to run, and in which surroundings."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    descriptors: Sequence[int]
    """The number that each descriptor sent with it is to have."""
    has_own_session: bool
    process_group: int


def _program_of(options: Mapping[str, Any]) -> tuple[_Program, Sequence[int]]:
    """Return what a `Popen` is to run, and the descriptors that go with it."""
    unsupported = ("executable", "preexec_fn", "shell", "gid", "gids", "uid")
    assert not any(options[each] for each in unsupported), f"supports none of {unsupported}"
    assert options["umask"] < 0, "supports no umask"
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
    return program, list(descriptors.values())


@functools.cache
def warm_process() -> socket.socket:
    """Start the process that forks; it ends with this one, and serves its forks as well."""
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
    """Fork on request until the other end closes; each child runs its program and exits."""
    exit_codes: list[int] = []

    def end_quickly() -> None:
        # Freeing everything that was loaded takes longer than most programs.
        with suppress(OSError, ValueError):
            if exit_codes:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(exit_codes[0])

    atexit.register(end_quickly)  # the first one registered is called last
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _load_everything()
    child = _next_child(socket.socket(fileno=descriptor))
    if child is None:
        return
    channel, descriptors = child
    with channel:
        program: _Program = channel.recv()
    try:
        _run_program(program, descriptors)
        exit_codes.append(0)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            exit_codes.append((leaving.code or 0) & 0xFF)
        raise


def fork_pythons() -> None:
    """Make this program fork itself whenever it would start another Python."""

    def execute_child(process: subprocess.Popen[bytes], *given: Any) -> None:
        options = dict(zip(_OPTIONS, given, strict=True))
        process.pid = _forked(*_program_of(options))
        process._child_created = True  # pyright: ignore[reportAttributeAccessIssue] - what `Popen` keeps has no types
        process._close_pipe_fds(*(options[each] for each in _PIPES))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the same

    def spawn(
        _: str,
        command: Sequence[str],
        environment: Mapping[bytes, bytes],
        *,
        file_actions: Sequence[tuple[int, ...]],
    ) -> int:
        ends = [0, 1, 2]
        for action, end, *to in file_actions:
            if action == os.POSIX_SPAWN_DUP2:
                ends[to[0]] = end
        told = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
        program = _Program(command, told, str(Path.cwd()), [0, 1, 2], False, -1)
        return _forked(program, ends)

    subprocess.Popen._execute_child = execute_child  # pyright: ignore[reportAttributeAccessIssue] - the same
    posix.posix_spawn = spawn  # pyright: ignore[reportAttributeAccessIssue] - it does less


def _forked(program: _Program, descriptors: Sequence[int]) -> int:
    """Return in this process, with the id of the one that runs the program."""
    interpreter, *arguments = program.arguments
    assert interpreter == sys.executable, f"{interpreter} is no Python of ours"
    while arguments[0] in ("-I", "-S"):
        del arguments[0]
    pid = os.fork()
    if pid == 0:
        _run_program_and_exit(program._replace(arguments=arguments), descriptors)
    return pid


def _run_program_and_exit(program: _Program, descriptors: Sequence[int]) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        _run_program(program, descriptors)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # noqa: BLE001 - nothing of what started it goes on in here
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _load_everything() -> None:
    """Load modules and the built-in policy, nothing that depends on a program's surroundings."""
    for name in _PRELOADED:
        package = importlib.import_module(name)
        for found in walk_packages(package.__path__, f"{name}."):
            importlib.import_module(found.name)
    for name in _LOADED_LATE:
        importlib.import_module(name)
    policy_files = importlib.import_module("interlock.service.policies.policy_files")
    policy_files.compile_policy(policy_files.merged_policy())
    importlib.import_module("interlock.service.records.context").engine()
    gc.collect()
    gc.freeze()


def _next_child(line: socket.socket) -> tuple[Connection, Sequence[int]] | None:
    """Return in each child with what was sent for it, and in this process at its end with None."""
    living: dict[int, tuple[int, Connection]] = {}
    with line:
        while True:
            for ready in select.select([line.fileno(), *living], [], [])[0]:
                if ready in living:
                    pid, channel = living.pop(ready)
                    os.close(ready)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    # The test may have let go of it.
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


def _run_program(program: _Program, received: Sequence[int]) -> None:
    _place_descriptors(received, program.descriptors)
    os.closerange(max(program.descriptors) + 1, os.sysconf("SC_OPEN_MAX"))
    if program.has_own_session:
        os.setsid()
    if program.process_group >= 0:
        os.setpgid(0, program.process_group)
    os.chdir(program.folder)
    for name, value in program.environment.items():
        is_read_early = name.startswith(("PYTHON", "LC_ALL")) and name not in _APPLIED_HERE
        assert not is_read_early or os.environ.get(name) == value, (
            f"{name} is read when Python starts: use a real process"
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
    """Open a standard descriptor as Python does at its start, with the encoding of ours."""
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
    """Give each descriptor its number; until then they are kept above all of these."""
    waiting = [fcntl.fcntl(each, fcntl.F_DUPFD, max(numbers) + 1) for each in received]
    for each in set(received):
        os.close(each)
    for each, number in zip(waiting, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)


def run_as_main(arguments: Sequence[str]) -> None:
    """Run what `python` would run with these arguments."""
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
