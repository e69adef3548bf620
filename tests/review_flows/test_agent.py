"""An agent at work on a small package: it claims too much, mends what fails, and is done."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from interlock import Run
from interlock.backtest.run_replay import replay_run
from interlock.errors import UnfinishedError
from interlock.model.review import EntryKind, ReviewOutcome, TestCounts, Witness
from interlock.model.run import RunStatus
from interlock.values import Course
from review_flows.checking import ran
from review_flows.conftest import OpenWorkshop
from review_flows.workshop import DONE, PASS, Workshop
from warm_python import run_python

_POLICY = f"""
[reviews]
completion = ["unit-tests"]
[[reviews.gates]]
id = "unit-tests"
criteria = ["every test passes"]
severity = "critical"
check = [{json.dumps(sys.executable)}, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
    "--disable-plugin-autoload"]
[[reviews.gates]]
id = "names"
criteria = ["names say what they mean"]
severity = "medium"
"""
_PACKAGE = {
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ''\n",
    "prices/__init__.py": "",
    "prices/total.py": "def total(prices):\n    return sum(prices[1:])\n",
    "test_total.py": (
        "from prices.total import total\n\n\n"
        "def test_of_nothing():\n    assert total([]) == 0\n\n\n"
        "def test_of_some():\n    assert total([1, 2, 3]) == 6\n"
    ),
}
_MENDED = "def total(prices):\n    return sum(prices)\n"


@pytest.fixture
def package(new_workshop: OpenWorkshop) -> Workshop:
    """A workspace with a real package, one of whose two tests fails."""
    workshop = new_workshop(policy=_POLICY)
    for path, text in _PACKAGE.items():
        file = workshop.folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return workshop


def _mend(run: Run, folder: Path) -> None:
    file = folder / "prices/total.py"
    answer = run.may_edit(str(file), _MENDED, old=file.read_text())
    assert answer.allowed
    file.write_text(_MENDED)
    run.observe(answer, outcome="ok")


def test_an_agent_that_claims_too_much_is_sent_on_until_its_tests_pass(package: Workshop) -> None:
    package.does(lambda run: run.review("work", ["unit-tests", "names"], subject="the sum"))
    claimed = package.says(PASS)
    ended_early = package.does(lambda run: run.stopped(DONE))
    with pytest.raises(UnfinishedError, match="no verdict on review `work` has passed yet"):
        package.does(lambda run: run.finish())
    package.does(lambda run: _mend(run, package.folder))
    passed = package.says(
        "GATE_REVIEW: PASS - the slice is gone\nGATE_VERDICTS:\n[1] PASS - ran\n[2] FAIL - short"
    )
    done = package.does(lambda run: run.stopped("The sum starts at the first price again. Done."))
    package.does(lambda run: run.finish())

    assert claimed.outcome is ReviewOutcome.RETRY
    assert claimed.detail.contradicted == ("unit-tests",)
    assert "exit code 1 (1 test failed, 1 passed)" in claimed.reason
    guidance = claimed.guidance or ""
    assert "FAILED test_total.py::test_of_some" in guidance
    assert ended_early.completion is not None
    assert ended_early.completion.outcome is not ReviewOutcome.ADVANCE
    assert passed.advances
    assert [each.witness for each in passed.coverage] == [Witness.CHECK, Witness.VERDICT]
    assert passed.footer == "Advisory gate warnings:\n- gate `names` failed: short"
    assert done.ruling.course is Course.FINISH
    state = package.state
    assert (state.status, state.outcome) == (RunStatus.FINISHED, "completed")
    assert [each.kind for each in state.reviews.closed] == [EntryKind.PASSED] * 2
    counts = [each.result.tests for each in ran(package)]
    assert counts[0] == TestCounts(passed=1, failed=1)
    assert counts[-1] == TestCounts(passed=2)
    assert state.tests == TestCounts(passed=2)
    with package.opened() as interlock:
        replayed = list(replay_run(interlock.ledger.rows, package.run_id))
    assert len(replayed) > 5
    assert [each for each in replayed if not each.is_same] == []
    assert package.is_sound()


def test_the_record_of_it_is_found_whole_by_the_command(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop(policy=_POLICY)
    workshop.does(lambda run: run.review("work", ["names"]))
    workshop.says("FAIL - short")
    ledger = workshop.folder.parent / "ledger.db"
    done = run_python(
        *("-m", "interlock", "verify", "--ledger", str(ledger)),
        environment={"INTERLOCK_CONFIG_HOME": str(ledger.parent), "PATH": "/usr/bin:/bin"},
    )

    assert done.returncode == 0, done.stdout + done.stderr
