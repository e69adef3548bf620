"""What came back reports a failure or none, in the words of many tools, and nobody flags it.

Beside each kind of failure stands what looks like it and is none.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.evidence.tool_output import counts_in
from interlock.policy.steps.call_observation import call_seen


def is_failure(tool: str, arguments: str, result: str) -> bool:
    written = arguments if arguments.startswith("{") else json.dumps({"command": arguments})
    tests = counts_in(result)
    return call_seen(tool, arguments=written, result=result, tests=tests).error is not None


RAN_AND_FAILED = (
    ("cargo check", "   Checking shop v1\nerror[E0599]: no method `sum`\n --> src/a.rs:2:5\n"),
    ("go build ./...", "# shop/cart\ncart/cart.go:8:4: undefined: total"),
    ("cc -c a.c", "a.c: In function 'total':\na.c:8:4: error: expected ';'\n    8 | int x"),
    ("make 2>&1 | tail -5", "cc -c a.c\nmake: *** [Makefile:2: a.o] Error 1"),
    ("npx tsc -p .", "src/cart.ts(8,4): error TS2339: Property 'sum' does not exist."),
    ("node a.js", "/w/a.js:8\nsum()\n^\n\nReferenceError: sum is not defined\n    at a.js:8\n"),
    ("python a.py", '  File "a.py", line 8\n    x = (\n        ^\nSyntaxError: never closed'),
    ("ruby a.rb", "a.rb:8:in `total': undefined method `sum' (NoMethodError)"),
    ("terraform apply", "data.x: Reading...\n\n\u2502 Error: no access to the bucket\n\u2502"),
    ("git merge main", "Auto-merging a.py\nCONFLICT (content): Merge conflict in a.py"),
    ("npx playwright test", "  \u2718  1 cart.spec.ts:8 \u203a sums up (9s)\n\n  1 failed\n"),
    ("python train.py", "epoch 1\nKilled"),
    ("./a.out", "Segmentation fault (core dumped)"),
    ("apt-get install fooo", "Reading package lists...\nE: Unable to locate package fooo"),
    ("pre-commit run", "ruff.................Failed\n- hook id: ruff"),
    ("ssh build", "ssh: connect to host build port 22: no route"),
    ("cd /w && sudo reboot", "sudo: a password is required"),
    ("npx eslint web", "main.js\n  1:1  error  no\n\n\u2716 2 problems (2 errors, 0 warnings)"),
    ("ruff check .", "a.py:1:1: F401 unused\nFound 2 errors."),
    ("make", "x" * 3000 + "\nmake: *** [all] Error 2"),
)


@pytest.mark.parametrize(("command", "result"), RAN_AND_FAILED)
def test_what_ran_and_failed_says_so_somewhere(command: str, result: str) -> None:
    assert is_failure("Bash", command, result)


@pytest.mark.parametrize(("command", "result"), RAN_AND_FAILED)
def test_the_same_lines_in_a_file_that_is_shown_report_nothing(command: str, result: str) -> None:
    log = f"log of `{command}`\n{result}\n"

    assert not is_failure("Bash", "cd /w && cat build.log | tail -50", log)
    assert not is_failure("Read", '{"file_path": "build.log"}', log)


@pytest.mark.parametrize(
    ("command", "result"),
    [
        (
            "npm test",
            "PASS cart.test.js\n  Error: shown on purpose\n\nTests:       5 passed, 5 total",
        ),
        (
            "cargo test",
            "test fails_on_zero ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored",
        ),
        ("make", "cc -c error.c -o failed.o\ncc -Werror -o app failed.o"),
        ("make", "make: Nothing to be done for 'all'."),
        ("tar czf a.tgz /srv/a", "tar: Removing leading `/' from member names"),
        ("cc a.c", "a.c:8:4: warning: unused variable 'x'"),
        ("./import.sh", "ERROR one row was broken, it was left out\nall others were written\ndone"),
        ("ansible-playbook a.yml", "PLAY RECAP\nweb : ok=3 changed=1 unreachable=0 failed=0"),
        ("python bench.py", "error rate: 0.3\nfailure count: 0\nfinished"),
        ("python check.py", "0 errors found"),
        ("git commit -m x", "[main 3f9] Say what failed: error 3\n 1 file changed"),
        ("pip list", "error-pages 1.0\nfail2ban 2"),
    ],
)
def test_what_ran_well_may_speak_of_errors(command: str, result: str) -> None:
    assert not is_failure("Bash", command, result)


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("submit_flag", '{"flag": "a"}', "Incorrect flag, try again."),
        ("submit", '{"answer": "a"}', "Wrong answer. 3 attempts are left."),
        ("apply_block", '{"file": "a"}', "# 1 SEARCH/REPLACE block failed to match!\n\n## a.py"),
        ("replace_in_file", '{"path": "a"}', "<error_details>\nNo similar match found\n"),
        ("goto", '{"line": 3}', "No file open. Use the open command first."),
        ("Read", '{"file_path": "a"}', "File does not exist."),
        ("browser_click", '{"ref": "e3"}', "Ref e3 not found in the current page snapshot."),
        ("fetch", '{"url": "a"}', "Request failed with status code 403"),
        ("http_get", '{"url": "a"}', "HTTP 500: Internal Server Error"),
        ("insert_content", '{"line": 9}', "Line 9 is out of range: the file has 2 lines."),
        ("finish", "{}", "Tool call rejected: the argument `answer` is missing."),
        ("foo", "{}", "Unknown tool: foo"),
        ("bash", '{"command": "sleep 999"}', "Command timed out after 120 seconds"),
        ("book_seat", '{"seat": 3}', '{"success": false, "message": "the seat is taken"}'),
        ("call_api", "{}", '{"status": 401, "error": "unauthorized"}'),
        ("transfer", "{}", '{"result": "failure", "reason": "no funds"}'),
        (
            "shell",
            '{"command": ["apply_patch", "x"]}',
            '{"output":"lines not found in a.rs","metadata":{"exit_code":1,"duration":0.0}}',
        ),
        ("execute_bash", "./a", "half of it\n[Python: /usr/bin/python]\n[Command: exit code 2]"),
    ],
)
def test_a_sentence_or_an_answer_says_that_it_was_not_done(
    tool: str, arguments: str, result: str
) -> None:
    assert is_failure(tool, arguments, result)


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("submit_flag", '{"flag": "a"}', "Correct! Well done."),
        ("classify", '{"text": "a"}', "Denied"),
        ("classify", '{"text": "a"}', "incorrect"),
        ("ask_person", "{}", "no, that is the wrong one, take the blue one"),
        ("send_mail", "{}", 'Sent to ann: "Your request failed"'),
        ("get_order", "{}", '{"id": 3, "error": null, "status": "failed"}'),
        ("get_order", "{}", '{"error": null, "items": [1, 2]}'),
        ("list_jobs", "{}", '{"jobs": [{"id": 1, "status": "error"}]}'),
        ("get_logs", "{}", '["ERROR one", "INFO two"]'),
        ("search_web", "{}", '1. How to mend "Error: cannot find module"\n2. npm ERR'),
        ("find_user", '{"name": "ann"}', "User not found"),
        ("Task", "{}", "The error is raised in a.py because the key is missing."),
        ("Task", "{}", "The file a.py does not exist in this branch; b.py has taken its place."),
        ("bash", "ls", "error.log\nerrors.py"),
        ("bash", '[ -f a ] && echo yes || echo "not found"', "not found"),
        ("shell", "{}", '{"output":"all well","metadata":{"exit_code":0,"duration":0.1}}'),
        (
            "Edit",
            '{"file_path": "a"}',
            "The file a has been updated:\n 3 raise Taken('not unique')",
        ),
    ],
)
def test_an_answer_that_speaks_of_failures_is_none(tool: str, arguments: str, result: str) -> None:
    assert not is_failure(tool, arguments, result)


@pytest.mark.parametrize(
    "shown",
    [
        "ERROR: permission denied for table t\nSTATEMENT: DROP TABLE t",
        "Traceback (most recent call last):\n  in total\nKeyError: 'a'",
        "KeyError: 'a' was raised",
        "# Error: keep this line",
    ],
)
def test_what_a_command_shows_is_no_failure_unless_it_says_so_itself(shown: str) -> None:
    assert not is_failure("Bash", "zgrep -h total logs/7.gz | tail -2", shown)
    assert is_failure("Bash", "zgrep -h total a", "zgrep: a: No such file or directory")
    assert is_failure("Bash", "cat a", "bash: line 1: cat: Permission denied")
    assert is_failure("Bash", "git diff main", "fatal: not a git repository")
    assert is_failure("Bash", "cat a", "Exit code: 1\nOutput:\n")


@given(st.text(max_size=3_000), st.text(max_size=100))
def test_reads_whatever_came_back(result: str, arguments: str) -> None:
    assert is_failure("Bash", arguments, result) in (True, False)


def test_an_edit_that_is_refused_behind_a_tag_failed() -> None:
    changes = '{"path": "a.py", "old_string": "a", "new_string": "b"}'

    assert is_failure("edit_file", changes, "<result>\nThe text to replace must be unique.\n")
    assert not is_failure("edit_file", changes, "<result>\nThe file was edited.\n")
