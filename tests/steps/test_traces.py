"""Runs that are stuck, and runs that only look like it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from interlock.model.step import StepDecision
from steps.step_rows import Row, a_call, a_message, a_person, judge

Trace = Callable[[], Sequence[Row]]

TASK = a_person("fix the failing test and open a pull request")


def listing(number: int) -> str:
    return f"def function_{number}():\n    return {number}\n" * 5


def edit(old: str, new: str) -> Row:
    args = {"file_path": "a.py", "old_string": old, "new_string": new}
    return a_call("Edit", args, "The file a.py has been updated.")


def run_of_tests(failed: int) -> Row:
    lines = "".join(f"FAILED tests/test_a.py::test_{each}\n" for each in range(failed))
    closing = f"{failed} failed, {20 - failed} passed in 1.31s"
    return a_call("Bash", {"command": "pytest"}, f"{lines}{closing}", err=failed > 0)


def at(second: int) -> dict[str, object]:
    return {"ts": 1_700_000_000 + second}


def identical_call() -> list[Row]:
    return [a_call("Read", {"path": "a.py"}, listing(1)) for _ in range(8)]


def identical_failing_edit() -> list[Row]:
    args = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
    return [a_call("Edit", args, "Error: old_string not found in a.py", err=True)] * 8


def back_and_forth() -> list[Row]:
    ways = [a_call("Read", {"path": "a.py"}, listing(1)), a_call("Grep", {"q": "x"}, listing(2))]
    return ways * 6


def a_counter_without_effect() -> list[Row]:
    return [a_call("fetch", {"attempt": n}, "the cache was not warm " * 4) for n in range(1, 12)]


def a_counter_on_a_page() -> list[Row]:
    return [
        a_call("fetch_page", {"page": n}, "the very same first page " * 4) for n in range(1, 12)
    ]


def same_error_with_new_arguments() -> list[Row]:
    tables = "users people members accounts customers persons clients contacts".split()
    return [
        a_call("sql", f"SELECT name FROM {table}", f"ERROR: table '{table}' doesn't exist")
        for table in tables
    ]


def edit_and_revert() -> list[Row]:
    return [edit("x = 1", "x = 2"), edit("x = 2", "x = 1")] * 8


def edit_test_and_revert() -> list[Row]:
    return [edit("x = 1", "x = 2"), run_of_tests(3), edit("x = 2", "x = 1"), run_of_tests(4)] * 8


def five_files_over_and_over() -> list[Row]:
    return [a_call("Read", {"path": f"{n % 5}.py"}, listing(n % 5)) for n in range(30)]


def five_files_in_any_order() -> list[Row]:
    order = [0, 1, 2, 3, 4, 2, 0, 4, 1, 3, 3, 0, 2, 1, 4, 0, 3, 1, 2, 4, 1, 0]
    return [a_call("Read", {"path": f"{n}.py"}, listing(n)) for n in order]


def nearly_the_same_words() -> list[Row]:
    return [
        a_message(f"I will now look into the configuration of the server once more ({n}).")
        for n in range(6)
    ]


def the_same_words_and_a_failing_call() -> list[Row]:
    return [
        a_call("Bash", f"run --try {n * n}", "Error: no route", text="Let me try another way now.")
        for n in range(8)
    ]


def only_volatile_arguments_differ() -> list[Row]:
    return [
        a_call("search", {"q": "x", "request_id": f"{n:08x}", "timestamp": n}, listing(1))
        for n in range(8)
    ]


def three_calls_after_some_work() -> list[Row]:
    work = [a_call("Read", {"path": f"{n}.py"}, listing(n)) for n in range(7)]
    ways = [a_call(name, {"path": name}, listing(50 + len(name))) for name in ("Ls", "Cat", "Find")]
    return work + ways * 4


def one_failure_after_the_other() -> list[Row]:
    troubles = "no such file|is a directory|permission denied|invalid option|bad address|not a tty"
    return [
        a_call("Bash", f"cmd{n}", f"cmd: {trouble}", err=True)
        for n, trouble in enumerate(f"{troubles}|bad magic number".split("|"))
    ]


def polling_without_a_pause() -> list[Row]:
    return [
        a_call("ci_status", {"run": 7}, "pending", ts=1_700_000_000 + n / 100) for n in range(9)
    ]


def polling_for_ever() -> list[Row]:
    return [a_call("ci_status", {"run": 7}, "pending", **at(60 * n)) for n in range(80)]


STUCK = (
    identical_call,
    identical_failing_edit,
    back_and_forth,
    a_counter_without_effect,
    a_counter_on_a_page,
    same_error_with_new_arguments,
    edit_and_revert,
    edit_test_and_revert,
    five_files_over_and_over,
    five_files_in_any_order,
    nearly_the_same_words,
    the_same_words_and_a_failing_call,
    only_volatile_arguments_differ,
    three_calls_after_some_work,
    one_failure_after_the_other,
    polling_without_a_pause,
    polling_for_ever,
)


def a_batch_of_files() -> list[Row]:
    return [
        a_call("Write", {"path": f"part_{n}.py", "content": listing(n)}, "File written.")
        for n in range(25)
    ]


def a_batch_by_shell() -> list[Row]:
    return [a_call("Bash", f"convert in_{n}.png out_{n}.jpg", "") for n in range(25)]


def a_batch_with_a_word_for_each() -> list[Row]:
    return [a_call("process_image", {"name": f"image_{n}.png"}, "ok") for n in range(25)]


def fewer_failures_each_time() -> list[Row]:
    rounds = [(edit(f"x = {n}", f"x = {n + 1}"), run_of_tests(12 - n)) for n in range(12)]
    return [step for pair in rounds for step in pair]


def fewer_failures_by_shell() -> list[Row]:
    rounds = [
        (a_call("Bash", f"python fix.py --rule {n * n}", f"rule {n}: ok"), run_of_tests(12 - n))
        for n in range(12)
    ]
    return [step for pair in rounds for step in pair]


def polling_that_changes() -> list[Row]:
    return [
        a_call("Bash", "gh run view 7", f"build in progress, {n} of 12 jobs done", **at(30 * n))
        for n in range(12)
    ]


def polling_that_stays_pending() -> list[Row]:
    waits = [a_call("Bash", "gh run view 7", "status: pending", **at(30 * n)) for n in range(20)]
    return [*waits, a_call("Bash", "gh run view 7", "status: success", **at(700))]


def polling_without_times() -> list[Row]:
    waits = [a_call("Bash", "sleep 60; gh pr checks 7", "build\tin_progress\t0") for _ in range(15)]
    return [*waits, a_call("Bash", "sleep 60; gh pr checks 7", "build\tpass\t8m")]


def reading_many_files() -> list[Row]:
    return [a_call("Read", {"path": f"{n}.py"}, listing(n)) for n in range(30)]


def an_ordinary_run() -> list[Row]:
    steps = [a_call("Read", {"path": f"{n}.py"}, listing(n), text="Let me look.") for n in range(8)]
    for n in range(8):
        steps += [
            a_call("Grep", {"pattern": f"function_{n}"}, f"{n}.py:1: def function_{n}()"),
            edit(f"function_{n}", f"better_{n}"),
            run_of_tests(9 if n < 4 else 8),
            a_call("Bash", {"command": "git status --short"}, f" M a.py\n?? {n}.txt"),
        ]
    return [*steps, a_message("All tests but one pass now; the last one needs a decision.")]


def paging_through_a_list() -> list[Row]:
    return [a_call("list_issues", {"page": n}, f"issue {n * 30}\n" * 9) for n in range(1, 30)]


def the_same_answer_for_different_questions() -> list[Row]:
    flights = [n * n + 100 for n in range(20)]
    return [a_call("seats_left", {"flight": f"HAT{n:03}"}, "available") for n in flights]


def a_retry_that_succeeds() -> list[Row]:
    args = {"command": "curl -s https://registry.example/pkg"}
    trouble = [a_call("Bash", args, "Error: 503 Service Unavailable", err=True)] * 3
    return [*trouble, a_call("Bash", args, listing(3)), *reading_many_files()]


def the_same_step_for_a_person_each_time() -> list[Row]:
    steps: list[Row] = []
    for n in range(10):
        steps += [
            a_person(f"and now? it is {n} o'clock"),
            a_call("Read", {"path": "a"}, listing(1)),
        ]
    return steps


def checking_one_after_the_other() -> list[Row]:
    return [
        a_call(
            "get_reservation",
            {"id": f"R{n * 37}"},
            listing(n),
            text="This one has two passengers. Let me check the next one.",
        )
        for n in range(12)
    ]


PRODUCTIVE = (
    a_batch_of_files,
    a_batch_by_shell,
    a_batch_with_a_word_for_each,
    fewer_failures_each_time,
    fewer_failures_by_shell,
    polling_that_changes,
    polling_that_stays_pending,
    polling_without_times,
    reading_many_files,
    an_ordinary_run,
    paging_through_a_list,
    the_same_answer_for_different_questions,
    a_retry_that_succeeds,
    the_same_step_for_a_person_each_time,
    checking_one_after_the_other,
)


def name_of(trace: Trace) -> str:
    return trace.__name__


@pytest.mark.parametrize("trace", STUCK, ids=name_of)
def test_holds_a_run_that_is_stuck(trace: Trace) -> None:
    answer = judge([TASK, *trace()])

    assert answer.decision in (StepDecision.PAUSE, StepDecision.STOP)
    assert answer.reasons[0].remediation


@pytest.mark.parametrize("trace", PRODUCTIVE, ids=name_of)
def test_never_holds_a_run_that_gets_on(trace: Trace) -> None:
    answer = judge([TASK, *trace()])

    assert (answer.stop_at, answer.reasons) == (None, ())


@pytest.mark.parametrize("trace", STUCK, ids=name_of)
def test_holds_a_run_that_gets_stuck_after_it_got_on(trace: Trace) -> None:
    work = [TASK, *reading_many_files(), *a_batch_of_files()]
    answer = judge([*work, *trace()])

    assert answer.stop_at is not None
    assert answer.stop_at >= len(work)


@pytest.mark.parametrize("trace", PRODUCTIVE, ids=name_of)
def test_never_holds_a_run_for_what_it_was_stuck_with_before_a_person_spoke(trace: Trace) -> None:
    before = [TASK, *identical_call()[:2], *same_error_with_new_arguments()[:3]]
    answer = judge([*before, a_person("try something else, please"), *trace()])

    assert answer.stop_at is None
