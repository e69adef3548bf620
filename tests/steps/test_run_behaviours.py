"""Whole runs as coding, browsing and serving agents make them: which are held, and which never.

None of them is taken from anywhere: each is made from what such runs have in common, in the words
of several kinds of harness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from steps.step_rows import Row, a_call, a_message, judge

Run = Sequence[Row]

PYTEST = "pytest -q tests/test_orders.py"
FILES = tuple(f"src/shop/{name}.py" for name in "cart price order stock user mail tax ship".split())


def an_edit(place: str, version: int, result: str = "", **more: object) -> Row:
    told = result or f"The file {place} has been edited: now {version}."
    new = f"def f():\n    return {version}"
    args = {"path": place, "command": "str_replace", "old_str": f"v{version}", "new_str": new}
    return a_call("str_replace_editor", args, told, **more)


def a_check(result: str, command: str = PYTEST, **more: object) -> Row:
    return a_call("bash", {"command": command}, result, **more)


def a_look(number: int) -> Row:
    return a_call("Read", {"path": f"src/module_{number}.py"}, f"class Part{number}:\n" * 20)


def failing(failed: int, passed: int = 20, test: str = "test_total") -> str:
    return (
        f"FAILED tests/test_orders.py::{test} - AssertionError: totals differ\n"
        f"{failed} failed, {passed} passed in 0.{failed + 11}s"
    )


def another_file_and_the_same_failing_test() -> Run:
    rounds = ((an_edit(FILES[n % 8], n), a_check(failing(1))) for n in range(40))
    return [row for each in rounds for row in each]


def the_same_failing_test_with_looks_in_between() -> Run:
    rounds = ((a_look(n), an_edit(FILES[n % 8], n), a_check(failing(2))) for n in range(13))
    return [row for each in rounds for row in each]


def a_script_that_never_runs() -> Run:
    trace = (
        "python reproduce.py\nTraceback (most recent call last):\n  File 'reproduce.py', line {}\n"
        "RuntimeError: the model declares no label and is in no installed app"
    )
    rounds = (
        (
            an_edit("reproduce.py", n),
            a_check(trace.format(n), "python reproduce.py", err=True),
        )
        for n in range(20)
    )
    return [row for each in rounds for row in each]


def ever_new_errors_at_one_place() -> Run:
    names = "Key Value Type Name Attribute Index Import Lookup Runtime Assertion Arithmetic".split()
    rounds = (
        (
            an_edit("src/parser.py", n),
            a_check(f"{name}Error: the {name.lower()} is wrong", f"python -c 'parse({n})'"),
        )
        for n, name in enumerate(names)
    )
    return [row for each in rounds for row in each]


def edits_that_are_taken_back() -> Run:
    one, other = an_edit("src/a.py", 1), an_edit("src/a.py", 2)
    return [one, other] * 8


def a_refused_edit_tried_again() -> Run:
    refused = "No replacement was performed, old_str did not appear verbatim in src/a.py."
    return [an_edit("src/a.py", 1, refused)] * 10


def a_refused_edit_in_other_words() -> Run:
    refused = "Your proposed edit has introduced new syntax error(s). Please fix them and retry."
    return [an_edit("src/a.py", n, refused) for n in range(12)]


def refused_edits_with_looks_in_between() -> Run:
    refused = "No replacement was performed, old_str did not appear verbatim in src/a.py."
    rounds = ((an_edit("src/a.py", n, refused), a_look(n)) for n in range(12))
    return [row for each in rounds for row in each]


def a_search_in_other_words_with_the_same_finds() -> Run:
    found = "src/app.py:12: def imported_members(self, options):\nsrc/app.py:40: imported_members"
    return [a_call("search_code", {"query": f"imported members {n}"}, found) for n in range(20)]


def two_commands_in_turn_that_fail() -> Run:
    one = a_check("make: *** No rule to make target 'all'.  Stop.", "make all", err=True)
    other = a_check("sh: ./build.sh: not found", "./build.sh", err=True)
    return [one, other] * 8


def the_same_page_again() -> Run:
    page = "Results for hotels in Lyon. Page 1 of 1. No rooms are left on these days."
    return [a_call("click", {"element": "Search"}, page)] * 6


def the_same_look_here_and_there() -> Run:
    def look(name: str) -> Row:
        return a_call("get_order", {"id": name}, f"order {name}: 3 items, delivered on 4 May")

    return [look(name) for name in "abcabcdabcdeabcde"]


def the_same_search_with_other_thoughts_in_between() -> Run:
    found = "src/app.py:12: def imported_members(self, options)\nsrc/app.py:40: imported_members"
    search = a_call("search_code", {"query": "imported members"}, found)
    thoughts = (a_call("think", {"note": n}, f"noted: thought {n} on it") for n in range(9))
    return [row for thought in thoughts for row in (search, thought)]


def ever_new_ways_that_it_says_do_not_work() -> Run:
    words = (
        "The first query did not yield the table. Next comes the schema.",
        "That host is still not reachable, so I look at the routes.",
        "Let me try the replica instead.",
        "I couldn't find the dump there either.",
        "I need a different approach: the archive.",
    )
    return [
        a_call("ask", {"what": f"part {n}"}, f"part {n}: {'x' * n} rows", text=text)
        for n, text in enumerate(words)
    ]


def a_script_run_with_the_same_words_after_every_edit() -> Run:
    rounds = (
        (
            an_edit("scene.py", n, text=f"Part {n} of the scene has to come first."),
            a_check(f"drew {n * 3} lines", "python scene.py", text="Now let us run the scene:"),
        )
        for n in range(9)
    )
    return [row for each in rounds for row in each]


def the_same_words_and_nothing_else() -> Run:
    return [a_message("I will now continue with the implementation of the parser.")] * 5


def a_compiler_that_says_the_same_of_ever_other_lines() -> Run:
    told = "cart.ts({}): error TS2345: `string` is not assignable to `number`."
    rounds = (
        (an_edit("cart.ts", n), a_check(told.format(f"{n + 3},7"), "npx tsc -p . | head"))
        for n in range(12)
    )
    return [row for each in rounds for row in each]


def answers_that_are_all_refused() -> Run:
    rounds = (
        (
            a_check(f"{n * 7919}", f"python guess.py {n}"),
            a_call("submit_answer", {"answer": n * 7919}, "Incorrect answer, try again."),
        )
        for n in range(12)
    )
    return [row for each in rounds for row in each]


def blocks_that_never_match() -> Run:
    refused = "# 1 SEARCH/REPLACE block failed to match!\n\n## a.py has no such lines"
    return [a_call("apply_block", {"file": "a.py", "search": n}, refused) for n in range(9)]


def plans_that_are_refused_after_every_change() -> Run:
    told = "zone.a: Refreshing...\n\n\u2502 Error: no access to zone a (request {})\n\u2502"
    rounds = (
        (an_edit("main.tf", n), a_check(told.format(f"{n * 7919:x}"), "terraform plan"))
        for n in range(12)
    )
    return [row for each in rounds for row in each]


def findings_that_no_change_moves() -> Run:
    told = (
        "/w/main.js\n  1:1  error  Parsing failed\n\n\u2716 14 problems (14 errors, 0 warnings)\n"
    )
    rounds = (
        (
            a_call("replace_in_file", {"path": file, "diff": n}, f"{file} was saved."),
            a_call("execute_command", {"command": "npx eslint web"}, f"Output:\n{told}"),
        )
        for n, file in enumerate(FILES * 2)
    )
    return [row for each in rounds for row in each]


def a_file_written_anew_while_its_tests_fail() -> Run:
    told = (
        "  quiz\n    1) counts\n\n\n  1 passing (9ms)\n  2 failing\n\n  1) expected {} to equal 5"
    )
    rounds = (
        (
            a_call("create_file", {"filePath": "quiz.js", "content": n}, "File written."),
            a_check(told.format(n * 7), f"npm test -- --seed={n}"),
        )
        for n in range(12)
    )
    return [row for each in rounds for row in each]


def a_page_that_never_opens() -> Run:
    return [
        a_call("browser_navigate", {"url": f"https://a.test/{n}"}, "Navigation timeout exceeded")
        for n in range(12)
    ]


STUCK = (
    findings_that_no_change_moves,
    a_file_written_anew_while_its_tests_fail,
    a_page_that_never_opens,
    a_compiler_that_says_the_same_of_ever_other_lines,
    answers_that_are_all_refused,
    blocks_that_never_match,
    plans_that_are_refused_after_every_change,
    another_file_and_the_same_failing_test,
    the_same_failing_test_with_looks_in_between,
    a_script_that_never_runs,
    ever_new_errors_at_one_place,
    edits_that_are_taken_back,
    a_refused_edit_tried_again,
    a_refused_edit_in_other_words,
    refused_edits_with_looks_in_between,
    a_search_in_other_words_with_the_same_finds,
    two_commands_in_turn_that_fail,
    the_same_page_again,
    the_same_look_here_and_there,
    the_same_search_with_other_thoughts_in_between,
    ever_new_ways_that_it_says_do_not_work,
    a_script_run_with_the_same_words_after_every_edit,
    the_same_words_and_nothing_else,
)


@pytest.mark.parametrize("run", STUCK)
def test_a_run_that_goes_round_is_held_before_its_end(run: Callable[[], Run]) -> None:
    steps = run()
    held = judge(steps).stop_at

    assert held is not None
    assert held < len(steps) - 1


@pytest.mark.parametrize("run", STUCK)
def test_who_is_held_is_told_why_and_what_to_do(run: Callable[[], Run]) -> None:
    reasons = judge(run()).reasons

    assert any("step" in each.message or "rework" in each.message for each in reasons)
    assert all(each.remediation for each in reasons)


@pytest.mark.parametrize("looks", [0, 1, 5, 20])
@pytest.mark.parametrize("run", STUCK)
def test_honest_work_before_it_hides_nothing(run: Callable[[], Run], looks: int) -> None:
    steps = [*(a_look(1000 + n) for n in range(looks)), *run()]
    held = judge(steps).stop_at

    assert held is not None
    assert held >= looks


def a_build_that_takes_its_time() -> Run:
    return [
        a_call("Bash", "gh run view 7", "status: in_progress", ts=60 * n) for n in range(20)
    ] + [a_call("Bash", "gh run view 7", "status: completed, conclusion: success", ts=1300)]


def a_build_whose_log_grows() -> Run:
    return [
        a_call("Bash", "tail -3 build.log", f"[{n}/90] Compiling part_{n}", ts=n) for n in range(60)
    ]


def a_long_refactoring() -> Run:
    rounds = (
        (
            a_look(n),
            an_edit(f"src/part_{n % 30}.py", n),
            a_check("20 passed in 0.31s"),
            a_check("All checks passed!", "ruff check ."),
        )
        for n in range(60)
    )
    return [row for each in rounds for row in each]


def many_edits_of_one_file() -> Run:
    return [an_edit("src/large.py", n) for n in range(30)] + [a_check("20 passed in 0.31s")]


def failing_tests_that_shrink() -> Run:
    rounds = (
        (an_edit("src/orders.py", n), a_check(failing(n, 20 - n), err=True))
        for n in range(19, 0, -1)
    )
    return [*(row for each in rounds for row in each), a_check("20 passed in 0.31s")]


def complaints_of_a_checker_that_shrink() -> Run:
    def found(errors: int) -> str:
        lines = "\n".join(f"a.py:{n}: error: wrong type" for n in range(1, errors + 1))
        return f"{lines}\nFound {errors} errors in 1 file (checked 9 source files)"

    rounds = (
        (an_edit("src/a.py", n), a_check(found(n), "mypy .", err=True)) for n in range(16, 0, -1)
    )
    return [row for each in rounds for row in each]


def one_test_after_the_other() -> Run:
    rounds = (
        (
            a_check(
                f"AssertionError: test {n}: it is not written yet", f"pytest -k t{n}", err=True
            ),
            an_edit(FILES[n % 8], n),
            a_check("1 passed in 0.1s", f"pytest -k t{n}"),
        )
        for n in range(25)
    )
    return [row for each in rounds for row in each]


def a_few_tries_and_then_it_works() -> Run:
    rounds = ((an_edit("src/a.py", n), a_check(failing(1))) for n in range(3))
    return [*(row for each in rounds for row in each), an_edit("src/a.py", 9), a_check("1 passed")]


def searches_that_find_nothing() -> Run:
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
    return [a_call("Bash", f"grep -rn {word} src", "", err=True) for word in words] + [
        a_call("Grep", {"pattern": word}, "No matches found", err=True) for word in words
    ]


def calls_side_by_side_that_fail_together() -> Run:
    def together(turn: int) -> Run:
        missing = "Error: no such file or directory"
        return [a_call("Read", {"path": f"{turn}/{n}"}, missing, turn=turn) for n in range(8)]

    return [*together(1), a_look(1), a_look(2), *together(2), a_look(3)]


def a_service_that_is_down_for_a_moment() -> Run:
    down = a_call("get_order", {"id": 1}, "Error: 503 Service Unavailable")
    return [down, down, a_call("get_order", {"id": 1}, "order 1: 3 items, sent on 4 May 2026")]


def one_row_after_the_other() -> Run:
    return [a_call("add_user", {"name": f"user {n}", "group": "staff"}, "ok") for n in range(40)]


def a_check_after_every_change() -> Run:
    rounds = (
        (
            an_edit(FILES[n % 8], n),
            a_check("M src/shop/cart.py\nM src/shop/price.py", "git status --short"),
            a_check("Success: no issues found in 9 source files", "mypy ."),
        )
        for n in range(30)
    )
    return [row for each in rounds for row in each]


def setbacks_that_a_green_check_follows() -> Run:
    rounds = (
        (
            an_edit(FILES[n % 8], n, text=f"Case {n} still fails, because of the rounding."),
            a_check("20 passed in 0.31s", text="Let me try the whole suite."),
        )
        for n in range(12)
    )
    return [row for each in rounds for row in each]


def a_list_with_the_same_words_for_each_entry() -> Run:
    text = "This one is complete. Let me look at the next one."
    return [{**a_look(n), "text": text} for n in range(20)]


def a_bug_that_is_described() -> Run:
    text = "`part_{}` doesn't work with bytes, and the error is raised when its list is empty."
    return [{**a_look(n), "text": text.format(n)} for n in range(20)]


def a_failure_that_is_not_its_own() -> Run:
    rounds = ((an_edit(FILES[n % 8], n), a_check(failing(1, 20 + n))) for n in range(25))
    return [row for each in rounds for row in each]


def a_test_first_and_then_the_code() -> Run:
    rounds = (
        (
            an_edit("tests/test_orders.py", n),
            a_check(f"FAILED test_{n} - NameError: no part {n}\n1 failed, {n} passed in 0.1s"),
            an_edit("src/orders.py", n),
            a_check(f"{n + 1} passed in 0.1s"),
        )
        for n in range(20)
    )
    return [row for each in rounds for row in each]


def a_hunt_for_the_commit() -> Run:
    good = (False, True, True, False, False, True, False, False, False, True)
    rounds = (
        (
            a_check(
                f"Bisecting: {512 >> n} revisions left", f"git bisect {'good' if ok else 'bad'}"
            ),
            a_check("1 passed in 0.1s" if ok else failing(1, 0)),
        )
        for n, ok in enumerate(good)
    )
    return [row for each in rounds for row in each]


def one_compile_error_after_the_other() -> Run:
    said = "undefined: {0}", "cannot use {0} as int", "missing return in {0}", "{0} is unused"
    rounds = (
        (
            a_check(f"{file}:{n}:4: {said[n % 4].format(file)}", "go build ./..."),
            an_edit(file, n),
        )
        for n, file in enumerate(FILES * 2)
    )
    return [row for each in rounds for row in each]


def answers_that_are_taken() -> Run:
    return [a_call("submit_answer", {"answer": n}, f"Correct: {n} points") for n in range(20)]


def logs_full_of_errors_that_are_read() -> Run:
    told = "ERROR request {} failed\nERROR: could not connect\nINFO served"
    return [a_check(told.format(n), f"tail -3 logs/{n}.log") for n in range(20)]


def retries_that_work_in_the_end() -> Run:
    down = "npm ERR! code E503\nnpm ERR! the registry is not there just now"
    rounds = (
        (
            a_check(down, f"npm publish packages/{n}"),
            a_check(f"+ @shop/part-{n}@1.0.0", f"npm publish packages/{n}"),
        )
        for n in range(14)
    )
    return [row for each in rounds for row in each]


def the_same_on_every_machine() -> Run:
    done = "0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded."
    rounds = (
        (
            a_check(done, f"ssh {name} sudo apt-get upgrade"),
            a_check("active", f"ssh {name} systemctl is-active nginx"),
        )
        for name in "ash beech birch cedar elm fir hazel larch lime oak pine rowan yew".split()
    )
    return [row for each in rounds for row in each]


def failed_jobs_that_are_read() -> Run:
    told = "test ({}) FAILED test_total - it differs\nError: Process completed with exit code 1."
    return [a_check(told.format(n), f"gh run view {n * 7919} --log-failed") for n in range(20)]


def mail_about_failures() -> Run:
    told = "Subject: Delivery failed\nParcel {} could not be delivered."
    return [a_call("read_email", {"id": n}, told.format(n)) for n in range(20)]


AT_WORK = (
    retries_that_work_in_the_end,
    the_same_on_every_machine,
    failed_jobs_that_are_read,
    mail_about_failures,
    a_failure_that_is_not_its_own,
    a_test_first_and_then_the_code,
    a_hunt_for_the_commit,
    one_compile_error_after_the_other,
    answers_that_are_taken,
    logs_full_of_errors_that_are_read,
    setbacks_that_a_green_check_follows,
    a_list_with_the_same_words_for_each_entry,
    a_bug_that_is_described,
    a_build_that_takes_its_time,
    a_build_whose_log_grows,
    a_long_refactoring,
    many_edits_of_one_file,
    failing_tests_that_shrink,
    complaints_of_a_checker_that_shrink,
    one_test_after_the_other,
    a_few_tries_and_then_it_works,
    searches_that_find_nothing,
    calls_side_by_side_that_fail_together,
    a_service_that_is_down_for_a_moment,
    one_row_after_the_other,
    a_check_after_every_change,
)


@pytest.mark.parametrize("run", AT_WORK)
def test_a_run_that_gets_on_is_never_held(run: Callable[[], Run]) -> None:
    answer = judge(run())

    assert (answer.stop_at, answer.reasons) == (None, ())


@pytest.mark.parametrize("run", AT_WORK)
def test_a_run_that_gets_on_may_do_so_for_long(run: Callable[[], Run]) -> None:
    looks = [a_look(1000 + n) for n in range(150)]

    assert judge([*looks, *run()]).stop_at is None
