"""What is concluded from the words of a call and of what came back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.progress_meter import ChangedFile, Observation
from interlock.model.review import TestCounts
from interlock.policy.steps.call_failure import complaint_of, error_of, signature
from interlock.policy.steps.call_observation import call_seen


def seen(
    tool: str = "Bash", arguments: str = "ls", result: str | None = "x", **more: Any
) -> Observation:
    return call_seen(tool, arguments=arguments, result=result, **more)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}'),
        ('{"q": "x", "request_id": "1"}', '{"q": "x", "request_id": "2"}'),
        ('{"q": "x", "sent_timestamp": 5}', '{"q": "x"}'),
        ("ls   -l", "ls -l"),
    ],
)
def test_the_same_call_has_the_same_fingerprint(one: str, other: str) -> None:
    assert seen(arguments=one).call == seen(arguments=other).call


@pytest.mark.parametrize(
    ("one", "other"),
    [('{"a": 1}', '{"a": 2}'), ("ls", "ls -l"), ('{"a": 1', '{"a": 2'), ("[1]", "[2]")],
)
def test_another_call_has_another_fingerprint(one: str, other: str) -> None:
    assert seen(arguments=one).call != seen(arguments=other).call


def test_declared_names_are_volatile_too() -> None:
    one, other = ('{"q": 1, "ticket": 7}', '{"q": 1, "ticket": 8}')
    declared: dict[str, Any] = {"volatile": ("tick*",)}

    assert seen(arguments=one).call != seen(arguments=other).call
    assert seen(arguments=one, **declared).call == seen(arguments=other, **declared).call


def test_digests_stand_for_what_was_cut_off() -> None:
    one = seen(arguments="begin", arguments_digest="a", result_digest="r")
    other = seen(arguments="begin", arguments_digest="b", result_digest="r")

    assert one.call != other.call
    assert one.result == other.result == "r"


def test_takes_the_numbers_out_of_the_shape() -> None:
    one, other = seen(arguments='{"page": 1, "of": 9}'), seen(arguments='{"page": 12, "of": 9}')

    assert one.shape == other.shape
    assert (one.numbers, other.numbers) == ((9, 1), (9, 12))


def test_a_tool_of_another_name_is_another_call() -> None:
    assert seen("Read").call != seen("Grep").call


@given(st.text())
def test_reads_whatever_arguments_there_are(arguments: str) -> None:
    assert len(seen(arguments="{" + arguments, result=arguments).call) == 12


@pytest.mark.parametrize("result", ["", "ok", "OK.", "null", "{}", "[]", "File saved successfully"])
def test_an_acknowledgement_says_nothing(result: str) -> None:
    assert seen(result=result).silent


@pytest.mark.parametrize("result", ["available", "3 files", "not found in cache"])
def test_an_answer_says_something(result: str) -> None:
    assert not seen(result=result).silent


@pytest.mark.parametrize(
    ("result", "passes"),
    [("Error: 503 Service Unavailable", True), ("error: timed out", True), ("Error: x", False)],
)
def test_some_troubles_pass_by_themselves(result: str, passes: bool) -> None:
    assert seen(result=result).silent is passes


@pytest.mark.parametrize(
    "waits",
    [
        {"result": "status: pending"},
        {"result": '{"state": "in_progress"}'},
        {"result": "running"},
        {"result": "the build is still going on"},
        {"result": "pod-1 0/1 ContainerCreating 0 5s"},
        {"tool": "ci_status"},
        {"tool": "getJobStatus"},
        {"arguments": "sleep 30; gh run view 7"},
    ],
)
def test_knows_who_looks_how_far_something_is(waits: dict[str, Any]) -> None:
    assert seen(**waits).waiting


@pytest.mark.parametrize(
    "looks",
    [
        {"result": "Here is the result of running `cat -n`"},
        {"result": "pending", "result_size": 5000},
        {"result": "error: still running", "failed": True},
        {"result": None},
    ],
)
def test_knows_who_does_not(looks: dict[str, Any]) -> None:
    assert not seen(**looks).waiting


def test_a_declared_tool_polls_whatever_comes_back() -> None:
    assert seen("Look", polling=("Lo*",)).waiting
    assert not seen("Look").waiting


@pytest.mark.parametrize(
    ("tool", "arguments", "changes"),
    [
        ("Write", "{}", True),
        ("update_reservation", "{}", True),
        ("EditCode", "{}", True),
        ("get_user", "{}", False),
        ("get_order_details", "{}", False),
        ("mcp__shop__list_returns_by_order", "{}", False),
        ("can_send_mms", "{}", False),
        ("get_or_create_user", "{}", True),
        ("order_list_items", "{}", True),
        ("toggle_roaming", "{}", True),
        ("str_replace_editor", '{"command": "view", "path": "a"}', False),
        ("str_replace_editor", '{"command": "create", "path": "a"}', True),
        ("Bash", "sed -i s/a/b/ a.py", True),
        ("Bash", "cat a > b", True),
        ("Bash", "git commit -m x", True),
        ("Bash", "git bisect good", True),
        ("Bash", "npm publish packages/a", True),
        ("Bash", "kubectl apply -f a.yml", True),
        ("Bash", "kubectl get pods", False),
        ("Bash", "pytest 2>&1 | tail", False),
        ("Bash", "ls 2>/dev/null", False),
        ("Bash", "python run.py", False),
        ("Grep", "sed -i s/a/b/ a.py", False),
    ],
)
def test_tells_from_its_words_whether_a_call_changes_something(
    tool: str, arguments: str, changes: bool
) -> None:
    assert seen(tool, arguments).changed is changes


def test_believes_who_knows_whether_it_changed_something() -> None:
    files = (ChangedFile("a", "1", "2"),)

    assert seen("Read", changed=True).changed
    assert not seen("Write", changed=False).changed
    assert seen("Read", files=files).changed
    assert not seen("Write", result="Error: no space left").changed


@pytest.mark.parametrize(
    "result",
    [
        "Error executing query: Table 'a.b' doesn't exist",
        "ValueError: Contact not found",
        "Traceback (most recent call last):",
        "bash: foo: command not found",
        "ls: cannot access '/a': No such file or directory",
        "fatal: not a git repository",
        "Malformed command",
        "unknown option --x",
    ],
)
def test_knows_an_error_by_how_it_begins(result: str) -> None:
    assert error_of(result, failed=None) is not None


@pytest.mark.parametrize(
    "result",
    [
        "",
        "available",
        "errors_total 0 in the log of yesterday",
        "12: raise ValueError('no such name')",
        '{"message": "the error handling was added"}',
        "All tests passed, 0 errors",
    ],
)
def test_does_not_take_every_mention_for_an_error(result: str) -> None:
    assert error_of(result, failed=False) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Error: table 'users' doesn't exist", "Error: table 'people' doesn't exist"),
        ("cat: /a/b.py: No such file", "cat: /c/d/e.txt: No such file"),
        ("Error: line 12, column 5", "Error: line 7,  column 81"),
        ("ERROR:\nInvalid `a` parameter", "ERROR:\nInvalid `b` parameter"),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'a'",
            "Traceback (most recent call last):\n  File \"b.py\", line 9\n    x\nKeyError: 'b'",
        ),
    ],
)
def test_the_same_trouble_has_the_same_signature(one: str, other: str) -> None:
    assert signature(one) == signature(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Error: no such table", "Error: no such column"),
        ("ERROR:\nInvalid path", "ERROR:\nMissing path"),
        (
            "Traceback (most recent call last):\nKeyError: 'a'",
            "Traceback (most recent\nTypeError: 'a'",
        ),
    ],
)
def test_another_trouble_has_another_signature(one: str, other: str) -> None:
    assert signature(one) != signature(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("ERROR:", "error:"),
        ("Traceback (most recent call last):", "traceback (most recent call last):"),
        ("Traceback (most recent call last):\n  in main", "in main"),
        ("3 of 4 checks did not agree", "# of # checks did not agree"),
        ("first\nthe request was refused\nlast", "the request was refused"),
    ],
)
def test_quotes_the_line_that_tells_most(text: str, expected: str) -> None:
    assert signature(text) == expected


TRACE = "Traceback (most recent call last):\n  File 'a.py', line 7, in <module>"


@pytest.mark.parametrize(
    "result",
    [
        f"$ python a.py\nloading\n{TRACE}\nKeyError: 'total'\n",
        "collected 0 items\n[The command completed with exit code 2.]",
        "half of it was written\n(exit status 1)",
        "subprocess: make returned non-zero exit status 2.",
        "Exit code: 1\nWall time: 0.2 seconds\nOutput:\nsrc/a.py is not formatted",
        "<returncode>2</returncode>\n<output>\nwhat it said\n</output>",
        '{"exit_code": 1, "output": "what it said"}',
        "Process exited with code 1\nwhat it said",
    ],
)
def test_knows_an_error_by_the_code_or_by_how_it_ends(result: str) -> None:
    assert error_of(result, failed=None) is not None


@pytest.mark.parametrize(
    "result",
    [
        f"the log of yesterday\n{TRACE}\nKeyError: 'total'\nstarted again, 5 orders were served",
        "[The command completed with exit code 0.]",
        "Exit code: 0\nOutput:\nall of it is formatted",
        '{"exit_code": 0, "output": "what it said"}',
        "it will exit with code 3 when the file is missing, and go on otherwise",
        "exit\nexit code",
    ],
)
def test_what_ends_well_is_no_error(result: str) -> None:
    assert error_of(result, failed=None) is None


REFUSALS = (
    "No replacement was performed, old_str `x` did not appear verbatim in a.py.",
    "Your proposed edit has introduced new syntax error(s).",
    "The edit was not applied: the text to replace was not found in the file",
    "1 out of 1 hunk FAILED -- saving rejects to file a.py.rej; hunk #1 failed",
    "old_string and new_string are exactly the same",
)


@pytest.mark.parametrize("result", REFUSALS)
def test_an_edit_that_was_refused_changes_nothing_in_whatever_words(result: str) -> None:
    edit = seen("edit_file", '{"path": "a.py", "new": "x"}', result)

    assert edit.error is not None
    assert not edit.changed


def test_what_an_edit_shows_of_the_file_is_no_refusal() -> None:
    shown = "The file a.py has been edited. Here is a part of it:\n3  raise Taken('already exists')"

    assert seen("edit_file", '{"path": "a.py", "new": "x"}', shown).changed


@pytest.mark.parametrize("result", REFUSALS)
def test_the_same_words_in_what_was_read_are_no_refusal(result: str) -> None:
    assert seen("Read", '{"path": "notes.md"}', result).error is None


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("Bash", "grep -rn name src", ""),
        ("Bash", "rg name | sort", "Exit code 1"),
        ("Grep", '{"pattern": "name"}', "No matches found"),
        ("search_code", '{"query": "name"}', "no results for `name`"),
        ("glob", "**/*.rb", "No files found"),
    ],
)
def test_a_search_that_finds_nothing_has_not_failed(tool: str, arguments: str, result: str) -> None:
    assert seen(tool, arguments, result, failed=True).error is None
    assert seen(tool, arguments, result).error is None


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("Bash", "grep -rn name src", "grep: src: No such file or directory"),
        ("Bash", "make all", "Exit code 1"),
        ("search_code", '{"query": "name"}', "Error: the index is gone"),
        ("Bash", "grep -rn name src", "x" * 400),
    ],
)
def test_another_failure_is_one(tool: str, arguments: str, result: str) -> None:
    assert seen(tool, arguments, result, failed=True).error is not None


def test_a_call_that_was_taken_back_because_of_another_has_not_failed() -> None:
    told = "<tool_use_error>Sibling tool call errored</tool_use_error>"

    assert seen(result=told, failed=True).error is None


def test_failing_tests_are_an_error_though_nobody_says_so() -> None:
    failed = seen("Bash", "pytest", "1 failed, 3 passed", tests=TestCounts(passed=3, failed=1))
    passed = seen("Bash", "pytest", "4 passed", tests=TestCounts(passed=4))

    assert (failed.error, failed.failing) == ("# failed, # passed", 1)
    assert (passed.error, passed.failing) == (None, 0)


def test_what_a_checker_counted_is_known() -> None:
    told = "a.py:3: error: wrong type\nFound 1 error in 1 file (checked 9 source files)"

    assert seen("Bash", "mypy .", told, failed=True).failing == 1
    assert seen("Bash", "mypy .", "Error: killed", failed=True).failing is None
    assert seen("Bash", "mypy . | tail", told, failed=False).failing == 1
    assert seen("Bash", "cat mypy.log", told, failed=False).failing is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Error: 3 tables are missing in 0.31s", "Error: 3 tables are missing in 1.2 s"),
        ("Error: no lock was free at 12:01:33", "Error: no lock was free at 12:07:59"),
        ("AssertionError: the totals differ\nx", "first\nAssertionError: the totals differ"),
        ("a.ts(3,7): error TS2: the types differ", "a.ts(12,9): error TS2: the types differ"),
        ("a.go:3:7: undefined: the total", "a.go:12:9: undefined: the total"),
        ("Error: unknown name at line 3 of it", "Error: unknown name at line 12 of it"),
        (
            "error[E1]: the borrow is too long\n --> a.rs:3\nerror: could not compile the crate",
            "error[E1]: the borrow is too long\n --> a.rs:12\nerror: could not compile the app",
        ),
    ],
)
def test_the_same_complaint_is_known_again_whatever_time_it_took(one: str, other: str) -> None:
    assert complaint_of(one) == complaint_of(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Error: 3 tables are missing", "Error: 2 tables are missing"),
        ("KeyError: the name 'a' is missing", "KeyError: the name 'b' is missing"),
        (
            "=== FAILURES ===\nFAILED a.py::test_one - it differs",
            "=== FAILURES ===\nFAILED a.py::test_two - it differs",
        ),
        (
            "error[E1]: the borrow is too long\nerror: could not compile due to 1 error",
            "error[E2]: the name was not found\nerror: could not compile due to 1 error",
        ),
    ],
)
def test_another_figure_or_name_is_another_complaint(one: str, other: str) -> None:
    assert complaint_of(one) != complaint_of(other)


def test_few_words_complain_only_of_the_call_that_they_answer() -> None:
    one, other = (seen(arguments=name, result="Error: 1", failed=True) for name in ("a", "b"))

    assert one.complaint != other.complaint != ""
    assert seen(result="x").complaint == seen(result=None, failed=True).complaint == ""


@pytest.mark.parametrize(
    ("tool", "one", "other"),
    [
        ("Edit", '{"file_path": "a.py", "new": 1}', '{"file_path": "a.py", "new": 2}'),
        ("str_replace_editor", '{"path": "a.py", "command": "insert"}', '{"path": "a.py"}'),
        ("create_file", '{"filePath": "a.py", "x": "1 2"}', '{"filePath": "a.py", "x": "3 4"}'),
        ("write", "a.py", "a.py"),
    ],
)
def test_knows_the_place_that_is_changed(tool: str, one: str, other: str) -> None:
    first, second = (seen(tool, arguments, changed=True) for arguments in (one, other))

    assert first.place == second.place != ""
    assert seen(tool, one.replace("a.py", "b.py"), changed=True).place != first.place


def test_the_place_may_be_known_from_the_file_or_not_at_all() -> None:
    file = ChangedFile("p", None, "new")

    assert seen("Edit", '{"path": "a"}', files=(file,)).place == "p"
    assert seen("Bash", "sed -i s/a/b/ x.py").place == ""
    assert seen("bash", "./fix", changed=True).place == ""
    assert seen("Read", '{"path": "a"}').place == ""


def test_a_failure_that_nobody_saw_is_an_error_all_the_same() -> None:
    assert seen(result=None, failed=True).error == "failed"
    assert seen(result=None).error is None
