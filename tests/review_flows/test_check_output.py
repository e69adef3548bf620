"""What a check sees, how it ends, and what is kept of what it printed."""

from __future__ import annotations

import os
import re
import select
import sys

import pytest

from interlock.model.answers import ReviewAnswer
from interlock.model.events import CheckRan
from interlock.model.review import LintCounts, TestCounts
from patience import LONG_ENOUGH_S, in_time
from review_flows.checking import SECRET, Gate, ran, scripted, shown
from review_flows.conftest import OpenWorkshop
from review_flows.workshop import ANNOUNCED, GATES, PASS, Workshop
from secret_generator import from_template
from service.ledgers import everything_stored

_KIND = "RSA PRIVATE KEY"

# What a check sees.


def test_a_check_sees_the_listed_part_of_the_environment_and_no_credential(
    file_workshop: OpenWorkshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = '["PATH", "SHOWN", "FAMILY_*", "LC_*"]'
    workshop = file_workshop(policy=f"[reviews]\ncheck-environment = {listed}\n{GATES}")
    for name in ("SHOWN", "HIDDEN", "FAMILY_NAME", "FAMILY_TOKEN", "FAMILY_API_KEY", "shown"):
        monkeypatch.setenv(name, f"value of {name}")
    monkeypatch.setenv("INTERLOCK_TOKEN", _agents_token(workshop))
    event = shown(workshop, "env | sed -n -e 's/=value of.*//p' -e 's/^INTERLOCK.*/&/p' | sort\n")

    assert event.result.tail.split() == ["FAMILY_NAME", "SHOWN"]


def _agents_token(workshop: Workshop) -> str:
    return workshop.uses(lambda each: each.add_agent("coder", token=workshop.operator))


def test_a_check_runs_in_the_workspace_and_reads_nothing(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    event = shown(workshop, "pwd; cat\n")

    assert event.result.tail.strip() == str(workshop.folder)
    assert event.result.passed


# How it ends.


def test_a_check_that_takes_too_long_is_killed_with_its_children(
    file_workshop: OpenWorkshop,
) -> None:
    def killed(limit_s: int) -> tuple[ReviewAnswer, CheckRan, int] | None:
        workshop = file_workshop()
        reader = _line_of_the_living(workshop)
        (workshop.folder / "check.sh").write_text(
            "exec 9>alive\nsleep 600 &\necho said before\necho started >&9\nwait\n"
        )
        gate: Gate = {"id": "slow", "check": {"argv": ["sh", "check.sh"], "timeout_s": limit_s}}
        workshop.does(lambda run: run.review("first", [gate]))
        answer = workshop.says(PASS)
        (event,) = ran(workshop)
        has_begun = _said_before_all_were_gone(reader) == b"started\n"
        return (answer, event, limit_s) if has_begun else None

    answer, event, limit_s = in_time(killed)

    assert answer.detail.contradicted == ("slow",)
    assert "the check timed out" in answer.reason
    assert (event.result.timed_out, event.result.exit_code) == (True, None)
    assert event.result.tail == "said before\n"
    assert event.duration_ms >= 1000 * limit_s


def test_what_a_check_leaves_behind_in_the_background_is_ended_with_it(
    file_workshop: OpenWorkshop,
) -> None:
    workshop = file_workshop()
    with os.fdopen(_line_of_the_living(workshop), "rb") as alive:
        event = shown(workshop, "exec 9>alive\nsleep 1000 &\nexit 0\n")
        line = select.poll()
        line.register(alive, select.POLLHUP)
        is_over = bool(line.poll(LONG_ENOUGH_S * 1_000))

    assert event.result.passed
    assert is_over


def test_a_check_that_is_ended_by_a_signal_does_not_pass(file_workshop: OpenWorkshop) -> None:
    event = shown(file_workshop(), "kill -9 $$\n")

    assert (event.result.exit_code, event.result.passed) == (-9, False)


# What is kept.


def test_only_the_end_of_the_output_is_kept(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop(policy=f"[reviews]\ncheck-tail-bytes = 100\n{GATES}")
    event = shown(
        workshop, "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done; exit 1\n"
    )

    assert len(event.result.tail.encode()) <= 100
    assert event.result.tail.endswith("line 298\nline 299\n")
    assert "line 100" not in event.result.tail
    assert len(workshop.pending.checks[0].tail) <= 100


@pytest.mark.parametrize("place", range(0, 120, 17))
def test_no_part_of_a_secret_at_the_edge_of_the_tail_is_kept(
    file_workshop: OpenWorkshop, place: int
) -> None:
    workshop = file_workshop(policy=f"[reviews]\ncheck-tail-bytes = 64\n{GATES}")
    (workshop.folder / "out").write_text(f"before\n{SECRET}\n{'.' * place}")
    shown(workshop, "cat out; exit 1\n")
    with workshop.opened() as interlock:
        stored = everything_stored(interlock.ledger).decode("utf-8", "replace")

    pieces = {SECRET[start : start + 8] for start in range(4, len(SECRET) - 8)}
    assert [piece for piece in pieces if piece in stored] == []


def test_no_half_of_a_secret_is_kept_where_the_reading_begins(file_workshop: OpenWorkshop) -> None:
    """What follows it is one secret so long that nothing else is left to be dropped."""
    workshop = file_workshop()
    line = from_template("MIIEpAIBAAKCAQEA[A-Za-z0-9]{48}", "lines")
    block = [f"-----BEGIN {_KIND}-----", *[line] * 1_100, f"-----END {_KIND}-----"]
    text = f"{'x' * 5_000} {SECRET} " + "\n".join(block)
    read = len(text) - text.index(SECRET) - 10
    (workshop.folder / "out").write_text(text + "." * (8_192 + 65_536 - read))
    event = shown(workshop, "cat out; exit 1\n")

    assert SECRET[12:] not in event.result.tail
    assert line not in event.result.tail


def test_output_of_any_kind_is_kept_on_each_store(workshop: Workshop) -> None:
    (workshop.folder / "out").write_bytes(b"a\0b \xff\xfe \xed\xa0\x80 \x1b[31mred\x1b[0m \xc3")
    event = shown(workshop, "cat out; exit 1\n")

    assert event.result.tail.startswith("a\0b \ufffd")
    gate = scripted(workshop, "cat out; exit 1\n")
    guidance = workshop.does(lambda run: run.review("first", [gate])).guidance
    assert "\x1b" not in guidance
    assert "\0" not in guidance
    assert workshop.is_sound()


def test_a_check_that_says_more_than_anybody_keeps_ends(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    event = shown(
        workshop, f"{sys.executable} -c \"print('x' * 5_000_000)\"; echo 3 passed in 1s\n"
    )

    assert event.result.passed
    assert len(event.result.tail.encode()) <= 8192
    assert event.result.tests == TestCounts(passed=3)


@pytest.mark.parametrize(
    ("said", "tests", "lint"),
    [
        ("=== 2 failed, 7 passed, 1 skipped in 0.31s ===", (7, 2, 1), None),
        ("Tests:       1 failed, 2 skipped, 3 passed, 6 total\nTime: 1 s", (3, 1, 2), None),
        (" Test Files  1 failed (1)\n      Tests  1 failed | 4 passed (5)", (4, 1, 0), None),
        (
            "=== RUN   TestA\n--- FAIL: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\n"
            "FAIL\nFAIL\texample/a\t0.01s\nFAIL",
            (1, 1, 0),
            None,
        ),
        (
            "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out;"
            " finished in 0.00s",
            (3, 2, 1),
            None,
        ),
        ("a.py:1:1: F401 `os` imported but unused\nFound 3 errors.", None, (3, 0)),
        ("\u2716 5 problems (2 errors, 3 warnings)", None, (2, 3)),
        ("a.py:1: error: x  [name-defined]\nFound 4 errors in 2 files (checked 9 source files)",
         None, (4, 0)),
        ("a.ts(1,1): error TS2304: Cannot find name 'x'.\na.ts(2,1): error TS1005: ';' expected.",
         None, (2, 0)),
    ],
    ids=["pytest", "jest", "vitest", "go", "cargo", "ruff", "eslint", "mypy", "tsc"],
)  # fmt: skip
def test_what_a_runner_counted_is_told(
    file_workshop: OpenWorkshop,
    said: str,
    tests: tuple[int, int, int] | None,
    lint: tuple[int, int] | None,
) -> None:
    workshop = file_workshop()
    (workshop.folder / "said").write_text(said + "\n")
    event = shown(workshop, "cat said; exit 1\n")

    counts = event.result.tests
    assert tests == (counts and (counts.passed, counts.failed, counts.skipped))
    assert event.result.lint == (lint and LintCounts(errors=lint[0], warnings=lint[1]))
    reason = workshop.pending.review.feedback or ""
    if tests is not None:
        assert re.search(rf"{tests[1]} tests? failed, {tests[0]} passed", reason)
        assert workshop.state.tests == counts
    if lint is not None:
        assert re.search(rf"{lint[0]} errors?, {lint[1]} warnings?", reason)


def test_better_results_pay_for_being_told_to_go_on(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    gate = scripted(workshop, "cat said; exit 1\n", max_attempts=9)
    workshop.does(lambda run: run.review("first", [gate]))

    def seen(said: str) -> tuple[int, int]:
        (workshop.folder / "said").write_text(said)
        workshop.says(PASS)
        control = workshop.state.control
        return control.credit_used, control.continuations

    seen("5 failed, 1 passed in 1s\n")
    for _ in range(2):
        assert workshop.does(lambda run: run.stopped(ANNOUNCED)).goes_on
    assert workshop.state.control.credit_used == 2
    assert seen("5 failed, 1 passed in 1s\n") == (2, 2)
    assert seen("4 failed, 2 passed in 1s\n") == (1, 0)
    assert seen("4 failed, 2 passed in 1s\n") == (1, 0)
    assert seen("6 passed in 1s\n") == (0, 0)
    assert [each.progressed for each in ran(workshop)][1:] == [False, True, False, True]
    assert workshop.is_sound()


def test_tests_that_fail_in_a_check_are_evidence_at_the_end_of_a_turn(workshop: Workshop) -> None:
    shown(workshop, "echo 2 failed, 3 passed in 1s; exit 1\n")
    answer = workshop.does(lambda run: run.stopped(ANNOUNCED))

    assert "2 of 5 tests failed" in (answer.nudge or "")
    assert "review first" in (answer.nudge or "")


def _line_of_the_living(workshop: Workshop) -> int:
    """Return a line that ends once nobody lives any more who was handed its other end."""
    fifo = workshop.folder / "alive"
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    return os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)


def _said_before_all_were_gone(reader: int) -> bytes:
    os.set_blocking(reader, True)
    with os.fdopen(reader, "rb") as alive:
        return alive.read()
