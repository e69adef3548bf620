"""`make mutants` on a repository small enough to know what must become of every mutant."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import forked_workers
import mutants

FILE = "src/interlock/policy/shares.py"
SOURCE = '''"""Shares of a limit."""

from __future__ import annotations


def limit() -> int:
    return 10


LIMIT = limit()


def share(used: int, least: int = 0) -> float:
    if used < least:
        raise ValueError(f"{used + 0} is below {least}")
    return used / LIMIT


def is_near(used: int) -> bool:
    return share(used) > 0.8


def note(used: int, into: list[float]) -> None:
    into.append(share(used) + 1)
'''
TESTS = """
from interlock.policy.shares import is_near, note, share


def test_share():
    assert share(5) == 0.5


def test_limit():
    assert is_near(9)


def test_note():
    note(5, [])


def test_that_always_fails():
    assert note(1, []) is not None
"""
MAKEFILE = """
.venv/.installed:
\tmkdir -p .venv/bin
\tprintf '#!/bin/sh\\nPYTHONPATH=src exec "%s" "$$@"\\n' '{python}' > .venv/bin/python
\tchmod +x .venv/bin/python
"""
SUMMARY = """survived:
share: if used < least  ->  False
note: into.append(share(used) + 1)  ->  pass
share: used < least  ->  used <= least
note: share(used) + 1  ->  share(used) - 1
note: 1  ->  2
is_near: share(used) > 0.8  ->  share(used) >= 0.8
all: 7 of 13 killed (53.8%)
policy: 7 of 13 killed (53.8%)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for name, text in {
        "Makefile": MAKEFILE.format(python=sys.executable),
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["tests"]\n',
        "src/interlock/__init__.py": "",
        "src/interlock/policy/__init__.py": "",
        FILE: SOURCE,
        "tests/conftest.py": 'pytest_plugins = ["forked_workers"]\n',
        "tests/policy/test_shares.py": TESTS,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copy(forked_workers.__file__, root / "tests")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *command], cwd=root, check=True)
    return root


def test_what_no_test_notices_survives(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(mutants, "ROOT", repository)
    monkeypatch.setattr(sys, "argv", ["mutants", "--folder", str(tmp_path / "kept")])

    mutants.main()
    first = capfd.readouterr().out
    mutants.main()
    again = capfd.readouterr().out

    assert " killed by tests/policy/test_shares.py::test_share\n" in first
    assert re.sub(r"\d+ src\S+ ", "", again[again.index("survived:") :]) == SUMMARY
    assert "killed by" not in again  # nothing is tried twice


def test_a_mutant_is_found_again_in_a_source_that_moved(repository: Path) -> None:
    sample = mutants.draw(repository, ["policy"], count=20, seed=1)
    (repository / FILE).write_text(
        SOURCE.replace("if used < least", "if used + used < 0:\n        pass\n    if used < -1")
    )

    found = mutants.embed(repository, sample)

    lost = {mutant.text for n, mutant in enumerate(sample, start=1) if n not in found}
    assert lost == {"if used < least", "used < least"}
