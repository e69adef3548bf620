"""Mutation testing of a package small enough to know what must become of every mutant."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mutant_runs import Result, read_lines
from mutants import Bench, draw, plant, summary
from mutations import Mutant, sites

_FILE = "src/interlock/policy/shares.py"
_SOURCE = '''"""Shares of a limit."""

from __future__ import annotations

LIMIT: int = 10


def share(used: int) -> float:
    """Return the share used, which is never below 0."""
    if used < 0:
        raise ValueError(f"{used + 0} is below 0")
    return used / LIMIT


def is_near(used: int) -> bool:
    return share(used) > 0.8


def doubled(used: int) -> int:
    return used + used
'''
_PROGRAM = """
from interlock.policy.shares import is_near, share
print(share(5), is_near(9))
"""
_TESTS = """from interlock.policy.shares import is_near, share


def test_a_share_is_of_ten():
    assert share(5) == 0.5


def test_the_limit_is_near():
    assert is_near(9)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a package with one module, and tests that do not look at its bounds."""
    root = tmp_path / "build/tree"
    for name, text in {
        "src/interlock/__init__.py": "",
        "src/interlock/policy/__init__.py": "",
        _FILE: _SOURCE,
        "tests/policy/test_shares.py": _TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def drawn(root: Path, *changes: str) -> list[Mutant]:
    """Return the mutants that read like this once they are applied."""
    seeds = range(20)
    found = {each.change: each for seed in seeds for each in draw(root, ["policy"], 100, seed)}
    return [found[change] for change in changes]


def test_a_piece_of_source_is_changed_only_where_the_program_runs_it() -> None:
    found = [
        (site.function, site.text, [site.change_to(each) for each in site.alternatives])
        for site in sites(ast.parse(_SOURCE))
    ]

    assert found == [
        ("", "10", ["11"]),
        ("share", "if used < 0", ["used < 0 or True", "used < 0 and False"]),
        ("share", "used < 0", ["used <= 0", "used > 0"]),
        ("share", "0", ["1"]),
        ("share", "return used / LIMIT", ["return None"]),
        ("share", "used / LIMIT", ["used * LIMIT"]),
        ("is_near", "return share(used) > 0.8", ["return not share(used) > 0.8"]),
        ("is_near", "share(used) > 0.8", ["share(used) >= 0.8", "share(used) < 0.8"]),
        ("is_near", "0.8", ["1.8"]),
        ("doubled", "return used + used", ["return None"]),
        ("doubled", "used + used", ["used - used"]),
    ]


def test_the_same_seed_draws_the_same_mutants(root: Path) -> None:
    first = draw(root, ["policy"], count=4, seed=1)

    assert len(first) == 4
    assert draw(root, ["policy"], count=4, seed=1) == first
    assert draw(root, ["policy"], count=4, seed=2) != first


def test_a_mutant_is_found_again_in_a_source_that_moved(root: Path) -> None:
    sample = drawn(root, "used * LIMIT", "used > 0")
    (root / _FILE).write_text(
        _SOURCE.replace("if used < 0:", "if used + used < 0:\n        pass\n    if used < -1:")
    )

    assert [*plant(root, sample)] == [1]


@pytest.mark.parametrize(
    ("mutant", "printed"), [("0", "0.5 True"), ("1", "50 True"), ("2", "0.5 False")]
)
def test_one_mutant_at_a_time_changes_what_the_program_does(
    root: Path, mutant: str, printed: str
) -> None:
    plant(root, drawn(root, "used * LIMIT", "return not share(used) > 0.8"))

    ran = subprocess.run(
        [sys.executable, "-S", "-c", _PROGRAM],
        env={"PYTHONPATH": str(root / "src"), "INTERLOCK_MUTANT": mutant},
        check=True,
        capture_output=True,
        text=True,
    )

    assert ran.stdout == f"{printed}\n"


def test_what_no_test_notices_survives(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    sample = drawn(root, "used * LIMIT", "11", "share(used) >= 0.8", "used - used")
    bench = Bench(root.parent, root.parent)
    bench.python = Path(sys.executable)

    bench.embed(sample)
    bench.probe([])
    bench.kill(sample, 60, before={})

    results = {each.number: each for each in read_lines(root.parent / "mutants.jsonl", Result)}
    killer = "tests/policy/test_shares.py::test_a_share_is_of_ten"
    assert {n: (each.status, each.test, each.is_fresh) for n, each in results.items()} == {
        1: ("killed", killer, False),
        2: ("killed", killer, True),  # its value is computed while the module is imported
        3: ("survived", "", False),
        4: ("unreached", "", False),
    }
    assert summary(sample, results.values(), before={}).splitlines() == [
        f"{_FILE}:16 is_near (3, survived, 2 tests): share(used) > 0.8  ->  share(used) >= 0.8",
        f"{_FILE}:20 doubled (4, unreached, 0 tests): used + used  ->  used - used",
        "",
        "all: 2 of 4 killed (50.0%)",
        "policy: 2 of 4 killed (50.0%)",
        "2 killed, 1 survived, 1 unreached; 0 missing or not yet tried",
    ]
