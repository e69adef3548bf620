"""Forked workers report what pytest itself reports, and a dead worker fails only one test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CONFTEST = "from forked_workers import *"
CASES = """
import os, signal, warnings
from pathlib import Path
import pytest

@pytest.fixture(scope="session", autouse=True)
def recorded_teardown():
    yield
    Path("teardowns").open("a").write(f"{os.getpid()}\\n")

@pytest.fixture
def failing_teardown():
    yield
    raise OSError("teardown")

@pytest.mark.parametrize("number", range(150))
def test_passes(number): pass

def test_fails(): print("printed"); assert 1 == 2

def test_is_skipped(): pytest.skip("no reason")

def test_is_torn_down(failing_teardown): pass

def test_dies(): os.kill(os.getpid(), signal.SIGKILL)

def test_warns(): warnings.warn("a warning")

def test_has_a_folder(tmp_path): (tmp_path / "x").mkdir()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_cases.py").write_text(CASES)
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", ".", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_outcome_is_reported_and_every_worker_tears_down(project: Path):
    ended = run(project, "--workers", "3")

    assert ended.returncode == 1
    last = ended.stdout.splitlines()[-1]
    assert "2 failed, 153 passed, 1 skipped, 1 warning, 1 error" in last
    assert "the worker process died with exit code -9" in ended.stdout
    assert "printed" in ended.stdout
    assert "OSError: teardown" in ended.stdout
    # Of four workers: the one that was killed tore nothing down, its replacement did.
    assert len((project / "teardowns").read_text().split()) == 3


def test_exitfirst_stops_at_the_first_failure(project: Path):
    ended = run(project, "--workers", "1", "-x", "--deselect", "test_cases.py::test_passes")

    assert "1 failed" in ended.stdout.splitlines()[-1]
    assert "test_dies" not in ended.stdout


def test_without_the_option_pytest_runs_the_tests_itself(project: Path):
    ended = run(project, "-k", "passes or has_a_folder")

    assert "151 passed" in ended.stdout
    assert (project / "teardowns").read_text().split() != []
