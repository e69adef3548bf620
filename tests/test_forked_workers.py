"""Forked workers report what pytest itself reports, and a dead one loses a single test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from patience import LONG_ENOUGH_S

TESTS = Path(__file__).parent
CONFTEST = "from forked_workers import *"
CASES = """
import os, signal, warnings
from pathlib import Path
import pytest

@pytest.fixture(scope="session", autouse=True)
def noted():
    Path("began").open("a").write(f"{os.getpid()}\\n")
    yield
    Path("ended").open("a").write(f"{os.getpid()}\\n")

@pytest.fixture
def breaks_at_its_end():
    yield
    raise OSError("teardown")

@pytest.mark.parametrize("number", range(150))
def test_passes(number): pass

def test_fails(): print("printed"); assert 1 == 2

def test_is_skipped(): pytest.skip("no reason")

def test_is_torn_down(breaks_at_its_end): pass

def test_dies(): os.kill(os.getpid(), signal.SIGKILL)

def test_warns(): warnings.warn("a warning")

def test_has_a_folder(tmp_path): (tmp_path / "x").mkdir()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_cases.py").write_text(CASES)
    return tmp_path


def start(project: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with (project / "out").open("wb") as out:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "--rootdir", ".", "-p", "no:cacheprovider"),
                *arguments,
            ],
            cwd=project,
            env=os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with start(project, *arguments) as process:
        code = process.wait(LONG_ENOUGH_S)
    return subprocess.CompletedProcess(arguments, code, (project / "out").read_text())


def test_every_outcome_is_reported_and_every_worker_tears_down(project: Path):
    ended = run(project, "--workers", "3")

    assert ended.returncode == 1
    last = ended.stdout.splitlines()[-1]
    assert "2 failed, 153 passed, 1 skipped, 1 warning, 1 error" in last
    assert "the worker process died with exit code -9" in ended.stdout
    assert "printed" in ended.stdout
    assert "OSError: teardown" in ended.stdout
    began = (project / "began").read_text().split()
    torn_down = (project / "ended").read_text().split()
    # Only the worker that was killed could not.
    assert len(set(began) - set(torn_down)) == 1
    assert len(began) - len(torn_down) == 1


def test_it_ends_with_the_first_failure_where_that_was_asked_for(project: Path):
    ended = run(project, "--workers", "1", "-x", "--deselect", "test_cases.py::test_passes")

    assert "1 failed" in ended.stdout.splitlines()[-1]
    assert "test_dies" not in ended.stdout


def test_one_that_names_no_workers_runs_as_ever(project: Path):
    ended = run(project, "-k", "passes or has_a_folder")

    assert "151 passed" in ended.stdout
    assert (project / "ended").read_text().split() != []


DIES_BEFORE_ITS_FIRST_TEST = """
import os
os.register_at_fork(after_in_child=lambda: os._exit(3))
def test_it(): pass
"""
TWO_ARGUMENTS = """
import warnings
class Two(UserWarning):
    def __init__(self, a, b): super().__init__(f"{a} and {b}")
def test_it(): warnings.warn(Two("salt", "pepper"))
def test_more(): pass
"""
LOCAL_CLASS = """
import warnings
def test_it():
    class Local(UserWarning): pass
    warnings.warn(Local("salt and pepper"))
def test_more(): pass
"""
UNPICKLABLE = "def test_it(record_property): record_property('a', lambda: 1)\ndef test_more(): pass"
EXITS = "import pytest\ndef test_it(): pytest.exit('had enough')\ndef test_more(): pass"
ESCAPES = """
import os
def test_it():
    pid = os.fork()
    if pid: os.waitpid(pid, 0)
def test_more(): pass
"""
BREAKS_ITS_SESSION = """
import pytest
@pytest.fixture(scope="session", autouse=True)
def broken(): raise OSError("no session")
def test_it(): pass
def test_more(): pass
"""
HANGS = "import time\ndef test_it(): time.sleep(600)\ndef test_more(): pass"


@pytest.mark.parametrize(
    ("program", "last", "said"),
    [
        (DIES_BEFORE_ITS_FIRST_TEST, "1 error", "the worker process died with exit code 3"),
        (TWO_ARGUMENTS, "2 passed, 1 warning", "test_it\n"),
        (LOCAL_CLASS, "2 passed, 1 warning", "Local: salt and pepper"),
        (UNPICKLABLE, "1 failed, 1 passed", "pickle"),
        (EXITS, "1 failed, 1 passed", "had enough"),
        (ESCAPES, "2 passed", ""),
        (BREAKS_ITS_SESSION, "2 errors", "OSError: no session"),
        (HANGS, "1 failed, 1 passed", "Failed: Timeout"),
    ],
    ids=lambda value: "" if len(value) > 40 else None,
)
def test_the_end_says_what_happened_whatever_breaks(
    program: str, last: str, said: str, tmp_path: Path
):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_cases.py").write_text(program)

    ended = run(tmp_path, "--workers", "2", "-p", "pytest_timeout", "--timeout", "2")

    assert last in ended.stdout.splitlines()[-1]
    assert said in ended.stdout
    assert ended.returncode == (0 if last.startswith("2 passed") else 1)


def test_a_process_that_a_dead_worker_forked_keeps_nobody_waiting(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_cases.py").write_text("""
import os, signal
from pathlib import Path
def test_it():
    if pid := os.fork():
        Path("pid").write_text(str(pid))
        os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()
""")

    ended = run(tmp_path, "--workers", "1")

    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert "1 failed" in ended.stdout.splitlines()[-1]


def test_what_ends_a_job_interrupts_a_session_and_its_workers(project: Path):
    (project / "test_cases.py").write_text("""
import os, time
from pathlib import Path
import pytest
@pytest.fixture
def torn_down():
    yield
    Path("torn down").touch()
def test_it(torn_down):
    Path("pid").write_text(str(os.getpid()))
    os.kill(os.getppid(), 15)
    time.sleep(600)
def test_never_begun(): Path("too late").touch()
""")
    ended = run(project, "--workers", "1")

    assert ended.returncode == 2
    assert "KeyboardInterrupt" in ended.stdout
    assert "no tests ran" in ended.stdout.splitlines()[-1]
    assert (project / "torn down").exists()
    assert not (project / "too late").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((project / "pid").read_text()), 0)


def test_no_terminal_is_no_reason_not_to_run_the_tests(project: Path):
    assert run(project, "--workers", "2", "-p", "no:terminal").returncode == 1


def test_a_negative_number_of_workers_is_refused(project: Path):
    assert run(project, "--workers", "-1").returncode == 4


def test_workers_share_a_folder_for_temporary_files_without_emptying_it(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    case = "def test_it(tmp_path): (tmp_path / 'kept').touch()"
    for number in range(3):
        (tmp_path / f"test_{number}.py").write_text(case)

    ended = run(tmp_path, "--workers", "3", "--basetemp", "given")

    assert ended.returncode == 0
    assert len(list((tmp_path / "given").rglob("kept"))) == 3
