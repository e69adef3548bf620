"""A forked program behaves like one that Python starts."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from patience import LONG_ENOUGH_S
from warm_python import PythonProcess, run_python

TESTS = Path(__file__).parent
PIPE = subprocess.PIPE

AnyPopen = Callable[..., subprocess.Popen[bytes]]


def fresh(arguments: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a new Python."""
    # Without `env`, it would inherit variables that libraries set behind the back of `os.environ`.
    options = {"env": dict(os.environ)} | options
    return subprocess.Popen[bytes]([sys.executable, *arguments], **options)


def both(
    arguments: Sequence[str], stdin: bytes = b"", **options: Any
) -> tuple[tuple[int, bytes, bytes], tuple[int, bytes, bytes]]:
    """Return exit code, stdout and stderr of a program: forked, then in a fresh Python."""

    def outcome(start: AnyPopen) -> tuple[int, bytes, bytes]:
        with start(arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, **options) as process:
            out, errors = process.communicate(stdin, timeout=LONG_ENOUGH_S)
        return process.returncode, out, errors

    return outcome(PythonProcess[bytes]), outcome(fresh)


# Prints everything a program can observe about its process. Only one thing may differ: the path of
# a forked program ends with TESTS, where it finds the programs of the tests.
PROBE = """
import gc, json, os, random, signal, sys, tempfile, threading, time

def stream(each):
    buffers = [each.line_buffering, each.write_through, type(each.buffer).__name__]
    return [each.encoding, each.errors, each.isatty(), each.fileno(), *buffers]

def descriptors():
    held = os.listdir("/proc/self/fd")
    return sorted(each for each in held if os.path.exists(f"/proc/self/fd/{each}"))

print(json.dumps({
    # Python adds a locale of its own where none is named.
    "environment": {name: os.environ[name] for name in os.environ if name != "LC_CTYPE"},
    "folder": os.getcwd(),
    "arguments": sys.argv,
    "path": [each for each in sys.path if each != TESTS],
    "streams": [stream(each) for each in (sys.stdin, sys.stdout, sys.stderr)],
    "first streams": [sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__],
    "descriptors": descriptors(),
    "handlers": [str(signal.getsignal(each)) for each in sorted(signal.valid_signals())],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "leads a session": os.getsid(0) == os.getpid(),
    "leads a group": os.getpgrp() == os.getpid(),
    "threads": threading.active_count(),
    "thread": threading.current_thread().name,
    "globals": [each for each in globals() if not each.startswith("__")],
    "is main": sys.modules["__main__"].__dict__ is globals(),
    "time zone": [time.tzname, time.localtime(0).tm_hour],
    "home": os.path.expanduser("~"),
    "temporary": tempfile.gettempdir(),
    "collects": [gc.isenabled(), gc.get_threshold()],
    "recursion": sys.getrecursionlimit(),
    "warnings": sys.warnoptions,
    "tracing": [str(sys.gettrace()), str(sys.getprofile())],
    "tests are loaded": sorted({"pytest", "_pytest", "hypothesis"} & set(sys.modules)),
    "read": sys.stdin.read(),
}))
"""


def probed(outcome: tuple[int, bytes, bytes]) -> dict[str, object]:
    code, out, errors = outcome
    assert (code, errors) == (0, b"")
    return json.loads(out)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"start_new_session": True},
        {"process_group": 0},
        {"env": {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}},
        {"env": {"PATH": os.environ["PATH"], "TZ": "Asia/Tokyo", "HOME": "/", "TMPDIR": "/"}},
        {"env": {"PYTHONPATH": f"/nowhere{os.pathsep}/elsewhere"}},
    ],
    ids=["as it is", "session", "group", "unbuffered", "environment", "path"],
)
def test_a_forked_program_observes_what_a_fresh_one_does(
    options: dict[str, Any], tmp_path: Path
) -> None:
    program = PROBE.replace("TESTS", repr(str(TESTS)))

    forked, started = both(["-c", program, "a", "b c"], b"hello\n", cwd=tmp_path, **options)

    assert probed(forked) == probed(started)


def test_a_forked_module_or_file_observes_what_a_fresh_one_does(tmp_path: Path) -> None:
    program = tmp_path / "folder" / "program.py"
    program.parent.mkdir()
    program.write_text(PROBE.replace("TESTS", repr(str(TESTS))))

    for arguments in (["-m", "folder.program", "a"], [str(program), "a"]):
        forked, started = both(arguments, cwd=tmp_path)
        assert probed(forked) == probed(started)


def test_only_the_passed_descriptors_are_open_under_their_numbers() -> None:
    reading, writing = os.pipe()
    program = "import os, sys; print(os.listdir('/proc/self/fd')); os.write(int(sys.argv[1]), b'x')"
    try:
        forked, started = both(["-c", program, str(writing)], pass_fds=[writing])
        assert forked == started
        assert os.read(reading, 9) == b"xx"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.exit(3)",
        "import sys; sys.exit()",
        "import sys; sys.exit('a sentence')",
        "import sys; sys.exit(-1)",
        "import os; os._exit(4)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import atexit; atexit.register(print, 'the end'); print('the beginning')",
        "import threading, time; threading.Timer(0.05, print, ['a thread']).start(); print('main')",
        "import sys; sys.stdout.write('x' * 100_000); sys.stderr.write('no newline')",
        "import os, sys; print('first'); sys.stdout.flush(); os.write(2, b'mixed'); os.abort()",
        "import subprocess, sys; print(subprocess.run(['cat'], input=b'cat').returncode)",
        "import sys; sys.stdout.close(); sys.stderr.write('no output')",
        "import multiprocessing as m\n"
        "if __name__ == '__main__':\n"
        "    with m.get_context('fork').Pool(1) as pool: print(pool.map(abs, [-1]))",
    ],
)
def test_a_forked_program_exits_like_a_fresh_one(program: str) -> None:
    forked, started = both(["-c", program])

    assert forked == started


@pytest.mark.parametrize("program", ["1 / 0", "import signal; signal.raise_signal(signal.SIGINT)"])
def test_a_forked_program_fails_like_a_fresh_one(program: str) -> None:
    forked, started = both(["-c", program])

    assert (forked[0], forked[1]) == (started[0], started[1])
    assert forked[2].splitlines()[-1] == started[2].splitlines()[-1]


def test_random_numbers_differ_between_programs() -> None:
    program = (
        "import random, secrets, tempfile, uuid;"
        "print(random.random(), secrets.token_hex(), uuid.uuid4(), tempfile.mktemp())"
    )
    drawn = [run_python("-c", program).stdout.split() for _ in range(2)]

    assert not set(drawn[0]) & set(drawn[1])


def test_the_policy_of_a_forked_program_guards_its_own_home(tmp_path: Path) -> None:
    homes = [tmp_path / "a", tmp_path / "b"]
    answers: list[bytes] = []
    for home in homes:
        home.mkdir()
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        file = f"{homes[0]}/.local/state/interlock/ledger.db"
        done = both(
            ["-m", "interlock", "check", "--json", "command", f"rm {file}"],
            cwd=home,
            env=environment,
        )
        assert done[0] == done[1]
        answers.append(done[0][1])

    assert answers[0] != answers[1], "the ledger of one home is guarded for the other"


def test_a_program_can_be_stopped_resumed_and_killed_while_others_run() -> None:
    program = "print(input(), flush=True)"
    talk: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "text": True, "bufsize": 1}
    with (
        PythonProcess[str](["-c", program], **talk) as first,
        PythonProcess[str](["-c", program], **talk) as second,
        PythonProcess[str](["-c", program], **talk) as third,
    ):
        assert [first.poll(), second.poll(), third.poll()] == [None] * 3
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(0.01)
        third.terminate()
        second.kill()
        assert (third.wait(LONG_ENOUGH_S), second.wait(LONG_ENOUGH_S)) == (-15, -9)
        first.send_signal(signal.SIGSTOP)
        first.send_signal(signal.SIGCONT)
        assert first.communicate("still here\n", LONG_ENOUGH_S)[0] == "still here\n"
    assert (first.poll(), second.poll(), third.poll()) == (0, -9, -15)


def test_a_forked_program_writes_to_a_terminal_like_a_fresh_one() -> None:
    program = "import sys; print(sys.stdout.isatty(), sys.stdout.line_buffering)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    starts: list[AnyPopen] = [PythonProcess[bytes], fresh]
    for start in starts:
        master, slave = pty.openpty()
        with start(["-c", program], stdout=slave, env=environment):
            os.close(slave)
            assert os.read(master, 99) == b"True True\r\n"
        os.close(master)


def test_variables_that_python_reads_when_it_starts_are_refused() -> None:
    done = run_python("-c", "pass", environment=dict(os.environ) | {"PYTHONHASHSEED": "7"})

    assert done.returncode == 1
    assert b"PYTHONHASHSEED is read when Python starts" in done.stderr
