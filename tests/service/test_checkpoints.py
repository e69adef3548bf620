"""Checkpoints that really happen: by git, by a command of the user's own, or not at all."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from interlock.checkpoints.bounded_command import Deadline, run_bounded
from interlock.checkpoints.workspace_checkpoint import (
    CheckpointOrder,
    restore_checkpoint,
    take_checkpoint,
)
from interlock.errors import CheckpointError
from interlock.model.step import Checkpoint, CheckpointKind
from patience import LONG_ENOUGH_S, in_time
from service.repositories import ENVIRONMENT, a_repository, files_on_disk, text


def taken(
    workspace: Path,
    command: str | Sequence[str],
    *,
    timeout_s: float = LONG_ENOUGH_S,
    environment: dict[str, str] = ENVIRONMENT,
) -> Checkpoint:
    order = CheckpointOrder(
        id="c1", run_id="r1", step=25, workspace=workspace, command=command, timeout_s=timeout_s
    )
    return take_checkpoint(order, environment)


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def test_git_keeps_the_files_under_the_names_of_run_and_checkpoint(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1")

    checkpoint = taken(top, "git")

    assert checkpoint.kind is CheckpointKind.GIT
    assert checkpoint.is_restorable
    assert checkpoint.ref == "refs/interlock/checkpoints/r1/c1"
    assert text(top, "rev-parse", checkpoint.ref) == checkpoint.commit
    assert text(top, "rev-parse", f"{checkpoint.commit}^{{tree}}") == checkpoint.tree
    assert "run r1, step 25" in text(top, "log", "-1", "--format=%B", checkpoint.ref)


def test_a_folder_that_git_cannot_keep_is_told_and_not_raised(tmp_path: Path) -> None:
    checkpoint = taken(tmp_path, "git")

    assert checkpoint.kind is CheckpointKind.GIT
    assert checkpoint.commit is None
    assert checkpoint.error is not None
    assert "not in a git repository" in checkpoint.error


def test_none_keeps_nothing_and_complains_about_nothing(tmp_path: Path) -> None:
    checkpoint = taken(tmp_path, "none")

    assert checkpoint == Checkpoint(
        id="c1", step=25, kind=CheckpointKind.NONE, workspace=str(tmp_path)
    )


def test_a_command_runs_in_the_workspace_and_knows_what_it_is_for(tmp_path: Path) -> None:
    code = (
        "import os; print(os.getcwd(), *[os.environ[n] for n in"
        " ('INTERLOCK_RUN', 'INTERLOCK_STEP', 'INTERLOCK_CHECKPOINT')])"
    )

    checkpoint = taken(tmp_path, python(code))

    assert checkpoint.kind is CheckpointKind.COMMAND
    assert checkpoint.output == f"{tmp_path} r1 25 c1\n"
    assert (checkpoint.exit_code, checkpoint.error) == (0, None)
    assert not checkpoint.is_restorable


def test_a_command_does_not_see_the_rest_of_the_environment(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "SECRET": "x", "GIT_DIR": "/x", "LC_TIME": "C", "LANG": "C"}

    checkpoint = taken(
        tmp_path, python("import os; print(*sorted(os.environ))"), environment=environment
    )

    known = {"HOME", "INTERLOCK_CHECKPOINT", "INTERLOCK_RUN", "INTERLOCK_STEP", "LANG", "PATH"}
    assert set(checkpoint.output.split()) == known | {"LC_ALL", "LC_TIME"}


def test_a_command_is_no_shell_line(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1:])"

    checkpoint = taken(tmp_path, python(code, "$HOME; touch x", "*"))

    assert checkpoint.output == "['$HOME; touch x', '*']\n"
    assert list(tmp_path.iterdir()) == []


def test_a_command_has_nothing_to_read(tmp_path: Path) -> None:
    checkpoint = taken(tmp_path, python("import sys; print(repr(sys.stdin.read()))"))

    assert checkpoint.output == "''\n"


def test_a_command_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    code = "import sys; print('out', flush=True); sys.stderr.write('err'); sys.exit(3)"

    checkpoint = taken(tmp_path, python(code))

    assert checkpoint.exit_code == 3
    assert checkpoint.error == f"`{sys.executable}` ended with 3, expected 0"
    assert checkpoint.output == "out\nerr"


def test_only_the_end_of_what_a_command_prints_is_kept(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(b'x' * 10_000_000 + b'the end \\xff')"

    checkpoint = taken(tmp_path, python(code))

    assert checkpoint.output.startswith("xxx")
    assert checkpoint.output.endswith("xxx" + "the end \\xff")
    assert 8192 <= len(checkpoint.output) < 8200


@pytest.fixture
def life(tmp_path: Path) -> Iterator[int]:
    """The reading end of a pipe called `life`: it is over when nobody holds it open any more."""
    os.mkfifo(tmp_path / "life")
    reading = os.open(tmp_path / "life", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    yield reading
    os.close(reading)


def test_a_command_that_takes_too_long_is_killed_with_its_children(
    tmp_path: Path, life: int
) -> None:
    code = (
        "import subprocess, sys;"
        "held = open('life', 'wb', buffering=0); held.write(b'x');"
        "child = [sys.executable, '-c', 'import signal; signal.pause()'];"
        "subprocess.Popen(child, pass_fds=[held.fileno()]).wait()"
    )

    def killed(limit_s: int) -> str | None:
        checkpoint = taken(tmp_path, python(code), timeout_s=limit_s)
        assert checkpoint.exit_code is None
        has_begun = os.read(life, 1) == b"x"
        return str(checkpoint.error).replace(f"{limit_s} s", "the limit") if has_begun else None

    assert in_time(killed) == f"`{sys.executable}` was killed: it took longer than the limit"
    assert os.read(life, 1) == b""


def test_a_command_that_never_stops_talking_is_killed(tmp_path: Path) -> None:
    def killed(limit_s: int) -> str | None:
        code = "while True: print('more ' * 1000)"
        checkpoint = taken(tmp_path, python(code), timeout_s=limit_s)
        return checkpoint.error if "more" in checkpoint.output else None

    assert "was killed" in in_time(killed)


def test_what_a_command_leaves_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys;"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()']);"
        "print(child.pid)"
    )

    checkpoint = taken(tmp_path, python(code))

    assert (checkpoint.exit_code, checkpoint.error) == (0, None)
    os.kill(int(checkpoint.output), signal.SIGKILL)


def test_a_command_that_dies_by_a_signal_is_told(tmp_path: Path) -> None:
    checkpoint = taken(tmp_path, python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"))

    assert checkpoint.exit_code == -signal.SIGTERM
    assert checkpoint.error == f"`{sys.executable}` ended with -15, expected 0"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["nonexistent-program"], r"cannot run `nonexistent-program` .*: No such file"),
        (["/"], r"cannot run `/` .*: Permission denied"),
        (["ls", "a\0b"], r"cannot run `ls` .*: embedded null byte"),
        ([], r'expected "git", "none" or a command'),
        ("git stash", r'`git stash`, expected "git", "none" or a command'),
    ],
    ids=["missing", "folder", "null", "empty", "line"],
)
def test_a_command_that_cannot_run_is_told(
    tmp_path: Path, command: str | list[str], complaint: str
) -> None:
    checkpoint = taken(tmp_path, command)

    assert checkpoint.kind is CheckpointKind.COMMAND
    assert checkpoint.exit_code is None
    with pytest.raises(CheckpointError, match=complaint):
        raise CheckpointError(checkpoint.error)


def test_a_workspace_that_is_gone_is_told(tmp_path: Path) -> None:
    checkpoint = taken(tmp_path / "gone", ["ls"])

    assert checkpoint.error is not None
    assert f"in `{tmp_path / 'gone'}`: No such file" in checkpoint.error


def test_restoring_tells_what_it_did_and_how_to_undo_it(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1")
    checkpoint = taken(top, "git")
    (top / "file").write_text("2")
    (top / "new").write_text("new")
    before = files_on_disk(top)

    done = restore_checkpoint(checkpoint, run_id="r1", safety_id="c2", environment=ENVIRONMENT)

    assert (done.written, done.removed, done.left) == (("file",), ("new",), ())
    assert (top / "file").read_text() == "1"
    assert done.safety.id == "c2"
    assert done.safety.ref == "refs/interlock/checkpoints/r1/c2"
    restore_checkpoint(done.safety, run_id="r1", safety_id="c3", environment=ENVIRONMENT)
    assert files_on_disk(top) == before


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (CheckpointKind.GIT, "was not taken: too large"),
        (CheckpointKind.COMMAND, "by a command of your own"),
        (CheckpointKind.NONE, 'kept nothing: `steps.checkpoint-command` was "none"'),
    ],
    ids=["git", "command", "none"],
)
def test_what_was_not_kept_cannot_be_restored(kind: CheckpointKind, why: str) -> None:
    error = "too large" if kind is CheckpointKind.GIT else None
    checkpoint = Checkpoint(id="c1", step=1, kind=kind, workspace="/", error=error)

    with pytest.raises(CheckpointError, match=why):
        restore_checkpoint(checkpoint, run_id="r1", safety_id="c2", environment=ENVIRONMENT)


def test_an_interrupted_wait_leaves_nothing_running(tmp_path: Path, life: int) -> None:
    def interrupt(_: int, frame: object) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGUSR1, interrupt)
    code = (
        "import os, signal; held = open('life', 'wb', buffering=0); held.write(b'x');"
        # Ends once we have read most of it, which we do only while we wait.
        "print('said ' * 100_000, flush=True);"
        f"os.kill({os.getpid()}, signal.SIGUSR1); signal.pause()"
    )
    try:
        with pytest.raises(KeyboardInterrupt):
            run_bounded(
                python(code),
                folder=tmp_path,
                environment=ENVIRONMENT,
                deadline=Deadline(LONG_ENOUGH_S),
                most_said=100,
            )
    finally:
        signal.signal(signal.SIGUSR1, earlier)

    assert os.read(life, 1) == b"x"
    assert os.read(life, 1) == b""
