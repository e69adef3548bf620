"""`interlock run` as it is typed: at a terminal, and as a program calls it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.asking import interlock
from patience import LONG_ENOUGH_S
from terminal import interlock_at_terminal
from warm_python import PythonProcess, run_python

_RUN = ["-m", "interlock", "run"]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder and ledger of one's own."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("INTERLOCK_LEDGER", str(tmp_path / "state" / "ledger.db"))
    for name in ("INTERLOCK_POLICY", "INTERLOCK_TOKEN", "INTERLOCK_RUN"):
        monkeypatch.delenv(name, raising=False)
    return folder


def _program(folder: Path, text: str) -> list[str]:
    (folder / "program.py").write_text(text)
    return ["--", sys.executable, "program.py"]


def test_a_terminal_stays_one(workspace: Path) -> None:
    program = _program(
        workspace,
        "import os\n"
        "print([os.isatty(each) for each in range(3)], open('/dev/tty').isatty())\n"
        "print('hello', input('name: '))\n",
    )

    ended = interlock_at_terminal(["run", *program], ["ada"], stdin=None)

    assert ended.code == 0
    assert ended.screen.splitlines() == ["[True, True, True] True", "name: ada", "hello ada"]


def test_ctrl_c_reaches_the_command_as_from_its_own_terminal(workspace: Path) -> None:
    program = _program(
        workspace,
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
        "os.write(1, b'press: ')\n"
        "signal.sigwait([signal.SIGINT])\n"
        "sys.exit(5)\n",
    )

    ended = interlock_at_terminal(["run", *program], ["\x03"], stdin=None)

    assert ended.code == 5


def test_what_is_not_at_the_terminal_is_passed_on_as_it_is(workspace: Path) -> None:
    """A terminal would make two bytes of each line break."""
    program = _program(workspace, "import sys; sys.stdout.write('a\\nb\\n'); input()")
    with (
        _terminal() as (master, slave),
        PythonProcess[bytes](
            [*_RUN, *program], stdin=slave, stdout=subprocess.PIPE, stderr=slave
        ) as process,
    ):
        os.write(master, b"\n")
        output, _ = process.communicate(timeout=LONG_ENOUGH_S)

    assert (process.returncode, output) == (0, b"a\nb\n")


def test_the_command_learns_of_another_size_and_the_terminal_is_left_as_it_was(
    workspace: Path,
) -> None:
    program = _program(
        workspace,
        "import os, signal\n"
        "signal.signal(signal.SIGWINCH, lambda *_: None)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"
        "print(*os.get_terminal_size(), flush=True)\n"
        "signal.sigwait([signal.SIGWINCH])\n"
        "print(*os.get_terminal_size(), flush=True)\n",
    )
    with _terminal() as (master, slave):
        before = termios.tcgetattr(slave)
        _resize(slave, 101, 31)
        with PythonProcess[bytes](
            [*_RUN, *program], stdin=slave, stdout=slave, stderr=slave
        ) as process:
            _shown(master, b"101 31")
            _resize(slave, 77, 22)
            process.send_signal(signal.SIGWINCH)
            _shown(master, b"77 22")
            process.wait(LONG_ENOUGH_S)

        assert process.returncode == 0
        assert termios.tcgetattr(slave) == before


def test_a_closed_output_is_nothing_to_write_the_record_into(workspace: Path) -> None:
    program = _program(
        workspace, "import os\ntry: os.write(1, b'x' * 100_000)\nexcept OSError: pass"
    )

    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, *_RUN, *program],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=LONG_ENOUGH_S,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert interlock("verify").exit_code == 0


def test_a_program_is_told_in_json(workspace: Path) -> None:
    ended = run_python(
        *_RUN, "--json", "--agent", "tidy", "--task", "clear up", "--", "rm", "-rf", "/"
    )

    said, ending = map(json.loads, ended.stderr.splitlines())
    assert ended.returncode == ending["exit_code"] == 4
    assert said["said"].startswith("it was not started: deletes the system")
    assert ending["outcome"] == "blocked"
    (run,) = json.loads(interlock("runs", "--json").output)
    assert (run["id"], run["agent"], run["task"]) == (ending["run_id"], "tidy", "clear up")


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        (["./lines.sh"], True),
        (["sh", "-e", "lines.sh"], True),
        (["sh", "-c", "true"], False),
        (["./codex"], False),
        (["true"], False),
    ],
)
def test_whoever_runs_a_script_learns_that_its_lines_are_not_judged(
    workspace: Path, words: list[str], *, is_told: bool
) -> None:
    for name in ("lines.sh", "codex"):
        (workspace / name).write_text("#!/bin/sh\ntrue\n")
        (workspace / name).chmod(0o755)

    code, errors = _run(*words)

    assert code == 0
    assert ("are not judged: `interlock run start` and `interlock run exec" in errors) is is_told


def test_a_refusal_stands_as_a_check_shows_it(workspace: Path) -> None:
    code, errors = _run("rm", "-rf", "/")

    assert code == 4
    first, badge, _, *lines = errors.splitlines()
    assert first.endswith(": it was not started")
    assert badge == "DENY  must not happen"
    assert lines[0].startswith("  deletes the system")
    assert [line.split()[0] for line in lines[1:4]] == ["where", "why", "instead"]


def test_observe_mode_says_what_it_would_have_done(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = workspace.with_name("observe.toml")
    policy.write_text('preset = "observe"\n')
    monkeypatch.setenv("INTERLOCK_POLICY", str(policy))

    _, errors = _run("git", "push", "--force", "no-such-remote")

    said = [line.partition(": ")[2] for line in errors.splitlines() if "interlock run" in line]
    assert said == [
        "would have asked: overwrites what others see on the remote (git.push-force)",
        "observe mode stopped nothing of this: would ask 1",
    ]


def test_a_run_whose_process_has_ended_is_called_abandoned_on_every_page() -> None:
    code = (
        "import os; from interlock import Interlock; Interlock.open().run('t')\n"
        "os.kill(os.getpid(), 9)"
    )
    ended = run_python("-c", code)

    assert ended.returncode == -signal.SIGKILL
    assert " abandoned " in interlock("runs").stdout
    assert "state    abandoned, its process has ended\n" in interlock("show").stdout
    assert "runs     1 abandoned (its process has ended)\n" in interlock("status").stdout
    assert json.loads(interlock("status", "--json").stdout)["runs"] == {"abandoned": 1}


_WAITS = "Interlock.open().run('t').command('git push --force origin topic')"
_STOPS = (
    "run = Interlock.open().run('t', budget={'tokens': 1}); run.usage({'input_tokens': 9});"
    " run.step()"
)


@pytest.mark.parametrize(("code", "word"), [(_WAITS, "waiting"), (_STOPS, "stopped")])
def test_what_waits_or_is_held_is_called_so_after_its_process_ended(code: str, word: str) -> None:
    whole = f"from interlock import Interlock; {code}"
    assert run_python("-c", whole).returncode == 0

    assert f" {word} " in interlock("runs").stdout
    assert f"state    {word}" in interlock("show").stdout
    status = interlock("status").stdout
    assert f"runs     1 {word}\n" in status
    assert "abandoned" not in status


def _run(*words: str) -> tuple[int, str]:
    ended = run_python(*_RUN, "--", *words)
    return ended.returncode, ended.stderr.decode()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--budget", "tokens", "--", "true"], "`--budget tokens`: expected KEY=VALUE"),
        (["--budget", "tokens=many", "--", "true"], "expected a whole number behind `tokens=`"),
        (["--budget", "sleep=1", "--", "true"], "with a KEY of `tokens`"),
        (["--write", ".", "--", "true"], "add `--sandbox`"),
        (["--sandbox", "chroot", "--", "true"], "'chroot' is not one of"),
        (["--"], "Missing command"),
    ],
)
def test_a_wrong_call_starts_nothing(words: list[str], why: str) -> None:
    result = interlock("run", *words)

    assert result.exit_code == 2
    assert why in result.output
    assert not Path(os.environ["INTERLOCK_LEDGER"]).exists()


@contextmanager
def _terminal() -> Generator[tuple[int, int]]:
    master, slave = pty.openpty()
    try:
        yield master, slave
    finally:
        os.close(master)
        os.close(slave)


def _resize(end: int, columns: int, lines: int) -> None:
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def _shown(master: int, text: bytes) -> None:
    """Wait until a terminal shows this."""
    shown = b""
    while text not in shown:
        assert select.select([master], [], [], LONG_ENOUGH_S)[0]
        shown += os.read(master, 4096)
