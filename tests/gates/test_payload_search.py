"""What a call carries is found by the kinds of names, and by value."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples, rounds
from gates.policies import gates_with, rules_of
from interlock import Decision, evaluate_command, evaluate_edit, evaluate_tool_use
from interlock.commands.affected_paths import Unknown
from interlock.commands.sql.graph_text import changed_fields
from interlock.model.action import ToolAction
from interlock.policy.actions.calls.found_payloads import NOTHING
from interlock.policy.actions.calls.tool_vocabulary import is_plural
from interlock.policy.actions.inspection import Call, inspect
from interlock.policy.actions.undo_eligibility import touched_by
from interlock.service.policies.policy_files import default_policy

_ASK = Decision.REQUIRE_CONFIRMATION
_ROLES = default_policy().vocabulary().role_of
_KINDS = default_policy().vocabulary().kinds_of
_SEARCH = "<<<<<<< SEARCH\n"
_BLOCK = f"{_SEARCH}x\n=======\ny\n>>>>>>> REPLACE\n"
_PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch\n"


def _call(tool: str, params: dict[str, object]) -> Call:
    call = inspect(ToolAction(name=tool, params=params), default_policy()).call
    assert call is not None
    return call


def _lines(tool: str, params: dict[str, object]) -> list[str | None]:
    return [each.command for each in _call(tool, params).payloads]


def _likely(tool: str, params: dict[str, object]) -> list[tuple[str | None, Decision]]:
    guesses = _call(tool, params).found.guesses
    return [
        (each.command if each.command is not None else each.path, each.least) for each in guesses
    ]


@pytest.mark.parametrize(
    ("params", "lines"),
    [
        ({"a": {"cmd": "ls"}}, ["ls"]),
        ({"command": {"value": "ls"}}, ["ls"]),
        ({"commands": ["ls", "pwd"]}, ["ls pwd", "ls\npwd"]),
        ({"command": ["ls -l", "pwd"]}, ["'ls -l' pwd", "ls -l\npwd"]),
        ({"cmd": [["ls"], "pwd"]}, ["ls\npwd", "ls"]),
        ({"cmd": [{"program": "ls", "args": ["-l", {"a": 1}]}]}, ["ls", "ls -l"]),
        ({"cmd": ("kill", 1)}, ["kill 1"]),
        ({"cmd": []}, []),
        ({"cmd": 7}, []),
        ({"cmd": [108, 115]}, ["ls"]),
        ({"cmd": [{"cmd": [108, 115]}]}, ["ls"]),
        ({"cmd": "sh", "stdin_data": "ls"}, ["sh", "sh <<'END'\nls\nEND\n"]),
        ({"code": "x", "runtime": "python3.11"}, ["python <<'END'\nx\nEND\n"]),
        ({"code": "x", "runtime": "nodejs20.x"}, ["node <<'END'\nx\nEND\n"]),
        ({"program": "ls", "flags": "-l"}, ["ls", "ls -l"]),
        ({"program": "ls", "flags": '["-l"]'}, ["ls"]),
        ({"program": "ls", "flags": 7}, ["ls"]),
        ({"program": "ls", "binary": "pwd"}, ["ls", "pwd", "ls pwd"]),
        ({"cmd": "ls", "env": {"A": "b c", "1": "x", "B": 2}}, ["ls", "export A='b c'\nls"]),
        ({"cmd": "ls", "env": "A=b"}, ["ls"]),
        ({"cmd": '{"cmd": "ls"}'}, ["ls"]),
        ({"cmd": "[1"}, ["[1"]),
        ({"code": "x", "language": "bash"}, ["x"]),
        ({"code": "x", "language": "python"}, ["python <<'END'\nx\nEND\n"]),
        ({"code": ["x", "END"], "lang": "ruby"}, ["ruby <<'END_'\nx\nEND\nEND_\n"]),
        ({"js_code": "x"}, ["node <<'END'\nx\nEND\n"]),
        ({"code": "x"}, ["python <<'END'\nx\nEND\n", "node <<'END'\nx\nEND\n"]),
        (
            {"code": "x\n !ls\n", "lang": "py"},
            ["python <<'END'\nx\n !ls\n\nEND\n", "ls"],
        ),
        (
            {"code": "%%bash -e\nls\npwd", "lang": "py"},
            ["python <<'END'\n%%bash -e\nls\npwd\nEND\n", "ls\npwd"],
        ),
        ({"query": "x"}, ["psql <<'END'\nx\nEND\n"]),
    ],
)
def test_commands_are_found_by_their_names(params: dict[str, object], lines: list[str]):
    assert _lines("execute", params) == lines


@pytest.mark.parametrize(
    ("tool", "params", "likely"),
    [
        ("execute", {"x": "ls -l"}, [("ls -l", _ASK)]),
        ("execute", {"x": ["ls", "-l"]}, [("ls -l", _ASK)]),
        ("execute", {"x": ["a b", "c"]}, [("a b\nc", _ASK), ("a b", _ASK), ("c", _ASK)]),
        ("execute", {"code": "ls -l"}, [("ls -l", _ASK)]),
        ("execute", {"x": _PATCH}, [("a.py", _ASK), (_PATCH, _ASK)]),
        ("execute", {"message": "ls -l"}, [("ls -l", _ASK)]),
        ("frob", {"x": ":(){ :|:& };:"}, [(":(){ :|:& };:", Decision.BLOCK)]),
        ("frob", {"cmd": "ls"}, [("ls", Decision.ALLOW)]),
        ("frob", {"code": "x", "language": "bash"}, [("x", _ASK)]),
        ("frob", {"x": "ls -l"}, [("ls -l", Decision.BLOCK)]),
        ("frob", {"x": "A=1 (ls -l)"}, [("A=1 (ls -l)", Decision.BLOCK)]),
        ("frob", {"x": ["ls", "-l"]}, [("ls -l", Decision.BLOCK)]),
        ("frob", {"x": "words of prose", "y": "", "z": ["a", "b"]}, []),
        ("frob", {"path": "a", "content": ["x", "y"]}, [("a", _ASK)]),
        ("frob", {"path": "a", "content": [], "text": 7}, []),
        ("frob", {"path": "a"}, []),
        ("frob", {"statement": "some words"}, []),
        ("frob", {"x": "$ ls -l"}, [("ls -l", Decision.BLOCK)]),
        ("frob", {"x": "```sh\nls -l\n```"}, [("ls -l", Decision.BLOCK)]),
        ("frob", {"x": "$(ls -l)"}, [("$(ls -l)", Decision.BLOCK)]),
        ("frob", {"x": "if true; then ls; fi"}, [("if true; then ls; fi", Decision.BLOCK)]),
        ("frob", {"x": "if you like"}, []),
        (
            "frob",
            {"x": "import os; os"},
            [("python <<'END'\nimport os; os\nEND\n", Decision.BLOCK)],
        ),
        ("frob", {"x": "import the data"}, []),
        ("frob", {"x": "DROP TABLE a;"}, [("psql <<'END'\nDROP TABLE a;\nEND\n", _ASK)]),
        ("frob", {"x": "DROP TABLE a"}, []),
        ("run", {"code": "x", "language": "go"}, [("python <<'END'\nx\nEND\n", _ASK)]),
        ("frob", {"sql": "VACUUM"}, [("psql <<'END'\nVACUUM\nEND\n", _ASK)]),
        (
            "frob",
            {"query": "/* a */ DROP TABLE a"},
            [("psql <<'END'\n/* a */ DROP TABLE a\nEND\n", _ASK)],
        ),
        ("my_pg", {"text": "DROP TABLE a"}, [("psql <<'END'\nDROP TABLE a\nEND\n", _ASK)]),
        ("update_db", {"text": "DROP TABLE a"}, []),
        ("my_redis", {"command": "FLUSHALL"}, [("redis-cli <<'END'\nFLUSHALL\nEND\n", _ASK)]),
        (
            "frob",
            {"db": "a.db", "x": {"sql": "VACUUM"}},
            [("sqlite3 a.db <<'END'\nVACUUM\nEND\n", _ASK)],
        ),
        (
            "db_query",
            {"path": "sqlite:///a/b.db", "sql": "VACUUM"},
            [("sqlite3 /a/b.db <<'END'\nVACUUM\nEND\n", _ASK)],
        ),
        (
            "frob",
            {"dsn": "postgres://h/d", "sql": "VACUUM"},
            [("psql <<'END'\nVACUUM\nEND\n", _ASK)],
        ),
        ("git", {"command": "push", "args": ["--tags"]}, [("git push --tags", _ASK)]),
        ("git", {"command": "push", "force": True}, [("git push --force", _ASK)]),
        ("git_push", {"force": "TRUE", "b": "x", "cwd": "/r"}, [("git push --force x", _ASK)]),
        ("mcp__git__push", {"forceWithLease": True}, [("git push --force-with-lease", _ASK)]),
        ("git_clean", {"f": True, "x": False}, [("git clean -f", _ASK)]),
        ("git_reset", {"mode": "hard"}, [("git reset hard", _ASK), ("git reset --hard", _ASK)]),
        ("chmod", {"mode": 777, "path": "a"}, [("chmod 777 a", _ASK)]),
        ("rm", {"paths": '["a", "b"]'}, [("rm a b", _ASK)]),
        ("rm", {"options": "-r", "path": "a"}, [("rm -r", _ASK)]),
        ("frob", {"patch": "nothing"}, []),
        ("read", {"cmd": "ls"}, [("ls", Decision.BLOCK)]),
        ("read", {"x": "ls -l", "path": "a", "content": "b"}, []),
        ("edit", {"cmd": "ls", "path": "a"}, [("ls", _ASK)]),
        ("edit", {"x": "~/.bashrc", "y": "two words", "z": "word"}, [("~/.bashrc", _ASK)]),
        ("git", {"args": ["push"]}, [("git push", _ASK)]),
        ("git", {"x": "status", "y": ["-s", 1], "z": 2, "message": "m"}, [("git status -s", _ASK)]),
        ("database", {"x": "DROP TABLE a"}, [("psql <<'END'\nDROP TABLE a\nEND\n", _ASK)]),
        ("redis_query", {"query": "GET a"}, [("redis-cli <<'END'\nGET a\nEND\n", _ASK)]),
        ("fs", {"op": "unlink", "path": "a"}, [("a", _ASK)]),
        ("frob", {"action": "view", "path": "a"}, []),
        ("execute", {"name": "read", "arguments": {"x": "ls -l"}}, [("ls -l", _ASK)]),
        ("agent", {"tool": "read", "input": {"x": "ls -l"}}, []),
        ("agent", {"tool": "exec", "input": "ls -l"}, [("ls -l", _ASK)]),
    ],
)
def test_what_is_likely_counts_from_a_decision_on(
    tool: str, params: dict[str, object], likely: list[tuple[str, Decision]]
):
    assert [each for each in _likely(tool, params) if each in likely] == likely
    assert len(_likely(tool, params)) <= len(likely) + 2 * bool(likely)


@pytest.mark.parametrize(
    ("tool", "params", "paths"),
    [
        ("write_it", {"path": "a", "content": "x"}, ["a"]),
        ("write_it", {"a": [{"path": "a"}, {"path": "b"}, {"path": "a"}]}, ["b", "a"]),
        ("write_it", {"files": {"a.py": "x", "b c": "y", "d.py": 1}}, ["a.py"]),
        ("write_it", {"paths": ["a", 1, "b\n"]}, ["a"]),
        ("write_it", {"path": 7, "source": "x"}, ["x"]),
        ("edit_it", {"command": "view", "path": "a"}, []),
        ("edit_it", {"command": "view", "path": "a", "content": ""}, ["a"]),
        ("edit_it", {"action": "insert", "path": "a"}, ["a"]),
        ("edit_it", {"x": _PATCH}, ["a.py"]),
        ("read_edit", {"x": _PATCH}, []),
    ],
)
def test_edits_are_found_by_their_names(tool: str, params: dict[str, object], paths: list[str]):
    assert sorted(each.path or "" for each in _call(tool, params).payloads) == sorted(paths)


def test_no_text_takes_long_to_be_given_to_a_program():
    text = "END" + "_" * 60_000

    (line, _) = _lines("execute", {"code": text})
    assert line == f"python <<'{text}_'\n{text}\n{text}_\n"


def test_a_call_inside_of_one_that_runs_things_runs_things():
    params: dict[str, object] = {"command": {"tool": "Read", "arguments": {"x": "ls -l"}}}

    assert _likely("Bash", params) == [("ls -l", _ASK)]


def test_what_may_carry_more_cannot_be_put_back():
    action = ToolAction(name="Bash", params={"command": "rm -r a", "x": "rm -r b"})

    assert isinstance(touched_by(inspect(action, default_policy())), Unknown)


def test_the_folder_goes_along_and_may_stand_above():
    (payload,) = _call("execute", {"cwd": "/srv", "a": {"cmd": "ls"}}).payloads

    assert payload.cwd == "/srv"


@pytest.mark.parametrize(
    ("tool", "params", "is_opaque"),
    [
        ("run", {"x": "ab cd"}, True),
        ("run", {"message": "ab cd"}, True),
        ("run", {"x": "ls"}, False),
        ("run", {"x": ["ls", "-l"]}, False),
        ("run", {"x": 7, "y": None, "z": ""}, False),
        ("run", {"id": "a", "mode": "fast"}, False),
        ("run", {}, False),
        ("deploy", {}, True),
        ("write", {"x": "ab cd"}, True),
        ("write", {"file_id": "1", "content": "ab cd"}, False),
        ("write_letter", {"x": "ab cd"}, False),
        ("write_blob", {"x": "ab cd"}, True),
        ("flash_write", {"x": "ab cd"}, True),
        ("save_settings", {"x": "ab cd"}, True),
        ("save_settings", {"path": "a.ini", "x": "ab cd"}, False),
        ("write_blob", {"body": "ab cd"}, False),
        ("write_blob", {"x": 7}, False),
        ("update_settings", {"x": "ab cd"}, False),
        ("save_memory", {"fact": "ab cd"}, False),
        ("write_todos", {"x": "ab cd"}, False),
        ("TodoWrite", {"todos": [{"content": "ab cd", "status": "pending"}]}, False),
        ("run_tests", {"verbose": True}, False),
        ("write", {"text": f"{_SEARCH}x\n"}, True),
        ("call_tool", {"x": "ab cd"}, True),
        ("call_tool", {"name": "read", "arguments": {"x": "ab cd"}}, False),
        ("call_tool", {"name": "exec", "arguments": '{"x": "ab cd"}'}, True),
        ("frob", {"tool": "exec", "input": {"x": "ab cd"}}, True),
        ("list_commands", {"x": "ab cd"}, False),
        ("database_query", {"x": "select 1"}, False),
        ("patch", {"patch": "ab cd"}, True),
        ("Bash", {"command": 3}, True),
        ("Bash", {"command": True, "timeout": 9}, True),
        ("Bash", {"command": None, "timeout": 9}, False),
        ("Bash", {"command": [3]}, False),
        ("Bash", {"cmd": 3.5, "command": "ls"}, False),
        ("run_workflow", {"run": 3, "dry_run": True}, False),
    ],
)
def test_a_tool_that_must_show_what_it_does_and_does_not_is_opaque(
    tool: str, params: dict[str, object], is_opaque: bool
):
    verdict = evaluate_tool_use(tool, params)

    assert ("tool-content.opaque" in rules_of(verdict)) is is_opaque
    assert (verdict.decision is _ASK) is is_opaque


@pytest.mark.parametrize("policy", ["opaque = 'off'", "trusted = ['run']", "trusted = ['r*']"])
def test_the_policy_says_which_tools_need_not_show_what_they_do(policy: str):
    gates = gates_with(f"[tool-names]\n{policy}\n")

    assert evaluate_tool_use("run", {"x": "ab cd"}, policy=gates).findings == ()


def test_a_key_that_stands_twice_in_json_in_text_blocks():
    inner = '{"cmd": "ls", "cmd": "pwd"}'
    for params in ({"x": inner, "y": inner}, {"name": "a", "arguments": inner}):
        verdict = evaluate_tool_use("frob", params)

        assert rules_of(verdict) == ["tool-content.duplicate-key"]
        assert verdict.decision is Decision.BLOCK


def test_more_than_is_looked_through_asks():
    verdict = evaluate_tool_use("exec", {"commands": [{"cmd": f"a{n}"} for n in range(200)]})

    assert rules_of(verdict) == ["tool-content.too-complex"]

    for name in ("code", "sql"):
        verdict = evaluate_tool_use("frob", {name: "x" * 70_000})
        assert rules_of(verdict) == ["tool-content.too-complex"]


def test_a_finding_that_was_made_before_is_not_made_again():
    params = {"command": ["apply_patch", _PATCH.replace("a.py", "interlock.toml")]}

    assert rules_of(evaluate_tool_use("shell", params)) == ["protected-paths.**/interlock.toml"]


@pytest.mark.parametrize(
    "line",
    [
        "apply_patch '{}'",
        "apply_patch <<'EOF'\n{}EOF",
        "git apply <<'EOF'\n{}EOF",
        "cat <<'EOF' | patch -p1\n{}EOF",
    ],
)
def test_a_patch_that_a_command_applies_is_an_edit(line: str):
    patch = _PATCH.replace("a.py", "interlock.toml")

    assert "protected-paths.**/interlock.toml" in rules_of(evaluate_command(line.format(patch)))
    assert evaluate_command(line.format(_PATCH)).decision.rank < _ASK.rank


@pytest.mark.parametrize(
    "line",
    [
        "cat > x.patch <<'EOF'\n{}EOF",
        "git commit -F - <<'EOF'\n{}EOF",
        "echo '{}'",
        "git apply x.patch; echo '{}'",
        "patch -p1 <<'EOF'\nnothing\nEOF\necho '{}'",
    ],
)
def test_a_patch_that_is_only_mentioned_is_none(line: str):
    patch = _PATCH.replace("a.py", "interlock.toml")

    assert evaluate_command(line.format(patch)).findings == ()


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("runTerminalCmd", "runs must_show"),
        ("runterminalcmd", "runs must_show"),
        ("MCP:Bash", "runs must_show"),
        ("mcp_box_shell", "runs must_show"),
        ("mcp__shell__send", "runs"),
        ("mcp__shell__read_it", "reads"),
        ("bash_output", "runs reads"),
        ("run_tool", "calls must_show"),
        ("run_bash_tool", "runs must_show"),
        ("invoke", "calls must_show"),
        ("python", "runs must_show"),
        ("the_tool", ""),
        ("write_file", "writes must_show"),
        ("write_letter", "writes"),
        ("write_blob", "writes must_show"),
        ("find_and_replace", "writes"),
        ("delete_all_files", "writes removes must_show"),
        ("destroy_it", "shows_nothing"),
        ("delete_database", "queries writes removes shows_nothing"),
        ("volume_remove_by_name", "writes removes shows_nothing"),
        ("delete_table_row", "writes removes"),
        ("remove_user_from_account", "writes removes"),
        ("delete", "writes removes must_show"),
        ("execute_sql", "runs queries must_show"),
        ("\uff42\uff41\uff53\uff48", "runs must_show"),
        ("", ""),
    ],
)
def test_what_a_tool_can_do_shows_in_its_name(name: str, facts: str):
    role = _ROLES(name)
    every = ("runs", "queries", "writes", "removes", "reads", "calls", "must_show", "shows_nothing")

    assert " ".join(fact for fact in every if getattr(role, fact)) == " ".join(
        fact for fact in every if fact in facts.split()
    )


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("shell-command", {"command"}),
        ("COMMANDS", {"command"}),
        ("command_id", {"reference"}),
        ("oldFilePath", {"path"}),
        ("nobody", set[str]()),
        ("", set[str]()),
    ],
)
def test_what_a_parameter_holds_shows_in_its_name(name: str, kinds: set[str]):
    assert _KINDS(name) == kinds
    assert is_plural("commandList")


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("FILE:///etc/pass%77d", Decision.BLOCK),
        ("file:/etc/passwd", Decision.BLOCK),
        ("/proc/self/root/etc/passwd", Decision.BLOCK),
        ("/proc/self/root", Decision.ALLOW),
        ("/proc/7/cwd/interlock.toml", Decision.BLOCK),
        ("/proc/7/cwd", Decision.ALLOW),
        ("/private/etc/sudoers", Decision.BLOCK),
        ("/proc/cpuinfo", Decision.ALLOW),
        ("../../.ssh/id_rsa", Decision.BLOCK),
        ("../../../../etc/hosts", _ASK),
        ("../etc/hosts", Decision.ALLOW),
        ("../a.py", Decision.ALLOW),
        (".git", _ASK),
    ],
)
def test_other_spellings_of_a_path_are_the_same_path(path: str, decision: Decision):
    assert evaluate_edit(path, "x").decision is decision


def test_a_folder_that_is_taken_away_takes_everything_in_it_along():
    for tool in ("delete_file", "remove_tree"):
        assert evaluate_tool_use(tool, {"path": "/etc/sudoers.d"}).decision is Decision.BLOCK
    assert evaluate_tool_use("move_file", {"source": "a", "destination": ".github"}).findings == ()
    assert evaluate_tool_use("mkdir", {"path": ".github"}).findings == ()


@pytest.mark.parametrize(
    ("tool", "params", "rule", "decision"),
    [
        ("delete_file", {"path": "/"}, "filesystem.delete-root", Decision.BLOCK),
        ("remove", {"path": "~"}, "filesystem.delete-root", Decision.BLOCK),
        ("remove", {"path": "file:///home"}, "filesystem.delete-root", Decision.BLOCK),
        ("delete_all", {"target": "/"}, "filesystem.delete-root", Decision.BLOCK),
        ("fs", {"op": "delete", "paths": '["/"]'}, "filesystem.delete-root", Decision.BLOCK),
        (
            "move_file",
            {"source": "/", "destination": "/tmp/x"},
            "filesystem.move-sensitive",
            Decision.BLOCK,
        ),
        ("rename", {"from": "/home", "to": "/tmp/x"}, "filesystem.move-sensitive", _ASK),
        ("delete_folder", {"folder": "~/.local"}, "protected-paths", Decision.BLOCK),
        ("mv_it", {"src": "/", "dst": "/x"}, "protected-paths.interlock", Decision.BLOCK),
    ],
)
def test_what_a_tool_takes_away_is_judged_like_the_command(
    tool: str, params: dict[str, object], rule: str, decision: Decision
):
    verdict = evaluate_tool_use(tool, params)

    assert verdict.decision is decision
    assert any(each.rule.startswith(rule) for each in verdict.findings), verdict.findings


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("delete_file", {"path": "src"}),
        ("remove", {"path": "-rf", "recursive": True}),
        ("move_file", {"source": "a.py", "destination": "b.py"}),
        ("rename", {"to": "b.py"}),
    ],
)
def test_what_a_tool_takes_away_in_a_project_is_its_own_affair(
    tool: str, params: dict[str, object]
):
    assert evaluate_tool_use(tool, params).findings == ()


@pytest.mark.parametrize("name", ["database", "dbPath", "db_file", "path"])
def test_a_tool_that_asks_a_database_is_held_to_the_file_it_is_kept_in(name: str):
    asked = {name: "~/.local/state/interlock/ledger.db", "sql": "INSERT INTO a VALUES (1)"}

    assert "protected-paths.interlock" in rules_of(evaluate_tool_use("sqlite", asked))
    assert rules_of(evaluate_tool_use("sqlite", asked | {name: "app.db"})) == []


def test_code_in_a_language_that_nobody_reads_asks():
    code = {"language": "go", "code": "fmt.Println(1)"}

    assert rules_of(evaluate_tool_use("run_code", code)) == ["tool-content.opaque"]
    assert rules_of(evaluate_tool_use("run_python", code | {"language": "default"})) == []


@pytest.mark.parametrize(
    "patch",
    [
        '--- "a/\\151nterlock.toml"\n+++ "b/\\151nterlock.toml"\n@@ -1 +1 @@\n-a\n+b\n',
        'diff --git "a/\\151nterlock.toml" "b/\\151nterlock.toml"\nold mode 1\n',
        '--- "a/\\interlock.toml"\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n',
        "*** a/interlock.toml\t1\n--- b/interlock.toml\t1\n***************\n*** 1 ****\n! a\n"
        "--- 1 ----\n! b\n",
        "*** interlock.toml\n--- /dev/null\n***************\n*** 1 ****\n- a\n--- 0 ----\n",
        f"interlock.toml\n{_BLOCK}",
        f"interlock.toml\n```toml\n{_BLOCK}```\n",
        f"```toml\ninterlock.toml\n\n{_BLOCK}```\n",
        f"First:\n### `./interlock.toml`:\n{_BLOCK}",
        f"File: interlock.toml\n{_BLOCK}",
        f"interlock.toml\n{_BLOCK}Then this.\n{_BLOCK}",
        f"a.py\n{_BLOCK}interlock.toml\n{_BLOCK}",
        f"{_SEARCH.strip()} interlock.toml\n{_BLOCK.removeprefix(_SEARCH)}",
        "interlock.toml\n------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n",
    ],
)
@pytest.mark.parametrize("tool", ["apply_patch", "frob"])
def test_every_form_of_a_patch_names_its_files(tool: str, patch: str):
    assert evaluate_tool_use(tool, {"input": patch}).decision is Decision.BLOCK
    other = patch.replace("nterlock.toml", "n.py")
    assert evaluate_tool_use(tool, {"input": other}).findings == ()


@pytest.mark.parametrize("folder", ["cwd", "base", "dir"])
def test_a_file_is_written_in_the_folder_that_is_named_beside_it(folder: str):
    edit = {"path": "passwd", "content": "x", folder: "/etc"}

    assert evaluate_tool_use("write_file", edit).decision is Decision.BLOCK
    assert evaluate_tool_use("write_file", edit | {folder: "/repo"}).findings == ()


def test_blocks_that_name_no_file_change_the_one_beside_them():
    blocks = f"This comes first:\n{_BLOCK}{_BLOCK}"

    both = [("b.py", _ASK), ("a.py", _ASK)]
    assert _likely("frob", {"input": blocks, "path": "a.py"}) == [("a.py", _ASK)]
    assert _likely("frob", {"path": "a.py", "edits": [{"input": blocks}]}) == [("a.py", _ASK)]
    assert _likely("frob", {"path": "a.py", "input": f"b.py\n{blocks}"}) == [("a.py", _ASK)]
    assert _likely("frob", {"path": "a.py", "input": f"b.py\n{_BLOCK}"}) == both
    assert _likely("frob", {"input": blocks}) == []
    assert _likely("frob", {"input": f"a.py\n{_SEARCH}x\n>>>>>>> REPLACE\n"}) == []


def test_all_that_is_replaced_in_a_file_counts():
    blocks = f"a.py\n{_BLOCK}{_BLOCK}"
    edits = _call("edit_file", {"input": blocks}).payloads

    assert [(each.path, each.old, each.content, each.changed) for each in edits] == [
        ("a.py", "x\nx", "y\ny", 4)
    ]


def test_contents_are_a_patch_where_a_writer_names_no_file():
    for patch in (_PATCH.replace("a.py", "interlock.toml"), f"interlock.toml\n{_BLOCK}"):
        written: dict[str, object] = {"content": patch}

        assert evaluate_tool_use("edit_file", written).decision is Decision.BLOCK
        assert evaluate_tool_use("edit_file", written | {"path": "a.md"}).findings == ()
        assert evaluate_tool_use("post_message", written).findings == ()


@pytest.mark.parametrize("line", ["cd /etc && patch -p1", "patch -d /etc", "git -C /etc apply"])
def test_a_patch_that_flows_in_changes_files_below_the_folder(line: str):
    patch = "--- a/passwd\n+++ b/passwd\n@@ -1 +1 @@\n-a\n+b\n"

    assert evaluate_command(f"{line} <<'END'\n{patch}END").decision is Decision.BLOCK
    assert evaluate_command(f"patch -p1 <<'END'\n{patch}END").findings == ()


_TOOLS = st.sampled_from(
    "Bash Edit Read Write Grep shell run_shell_command apply_patch view_file read_file bash_output"
    " str_replace_editor create_file delete_file mcp__files__read mcp__box__exec query upload"
    " send_message set_env read_terminal run_python git_run mcp__aws__run_command".split()
)
_NAMES = st.sampled_from(
    "command cmd cwd workdir path file_path target content new_string old_string description type"
    " timeout pattern glob args env operation text code query tool value".split()
)
_TEXTS = st.sampled_from(
    (
        "ls -la",
        "rm -rf ~",
        "s3 rb s3://prod --force",
        "/home/ada/shop/a.py",
        "a b.py",
        "~/.ssh/id_rsa",
        "",
        "{",
        '{"command": "rm -rf ~"}',
        '["rm", "-rf", "~"]',
        "*** Begin Patch\n*** Delete File: a.py\n*** End Patch",
        "--- a.py\n+++ b.py\n+x",
        "mutation { deleteRepository(id: 1) { id } }",
        "DROP TABLE orders;",
        "import os; os.remove('a')",
        "delete",
        "*",
    )
)


@examples(150, soak=50_000)
@given(_TOOLS, st.dictionaries(_NAMES, _TEXTS | st.integers() | st.booleans() | st.none()))
def test_a_call_that_is_not_searched_holds_nothing_that_a_search_would_find(
    tool: str, params: dict[str, object]
) -> None:
    # Whatever holds a list is searched, and an empty one says nothing.
    searched = _call(tool, {**params, "zz": []}).found

    assert _call(tool, params).found == searched


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("NotebookEdit", {"description": "~/.ssh/id_rsa"}),
        ("Write", {"file_path": "a.py", "target": "~/.ssh/id_rsa", "content": ""}),
        ("run_shell_command", {"cmd": "rm -rf", "command": "ls ~"}),
        ("run_shell_command", {"cmd": "delete", "description": "*"}),
        ("mcp__aws__run_command", {"command": "s3 rb s3://prod --force"}),
        ("Bash", {"command": "curl x", "description": "mutation { deleteOrder(id: 1) { id } }"}),
        ("Bash", {"command": '["rm", "-rf", "~"]'}),
        ("Bash", {"command": _PATCH}),
        ("Bash", {"command": "git log", **{f"n{number}": number for number in range(64)}}),
        ("Read", {"file_path": "a.py", "pattern": "password"}),
        ("Read", {"file_path": ["a.py"]}),
        ("Bash", {"command": f"echo {'a' * 70_000}"}),
    ],
)
def test_a_call_that_says_more_is_searched(tool: str, params: dict[str, object]) -> None:
    assert _call(tool, params).found is not NOTHING


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("Bash", {"command": "git status", "cwd": "/home/ada", "timeout": 9}),
        ("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b", "replace_all": True}),
        ("Read", {"file_path": "a.py", "limit": 20}),
    ],
)
def test_what_is_known_without_a_search_is_not_searched(
    tool: str, params: dict[str, object]
) -> None:
    assert _call(tool, params).found is NOTHING
    assert _call(tool, {**params, "zz": []}).found is not NOTHING


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("git_push_update", {"text": "origin main", "force": True}),
        ("kubectl_apply", {"text": "a b", "prune": True}),
    ],
)
def test_a_tool_that_writes_and_carries_only_a_line_is_searched(
    tool: str, params: dict[str, object]
) -> None:
    own = '[[tools.carriers]]\ntools = ["git_*", "*_apply"]\ncommand = ["text"]\n'

    call = inspect(ToolAction(name=tool, params=params), gates_with(own)).call

    assert call is not None
    assert call.found.guesses


@pytest.mark.parametrize("size", [60_000, rounds(short=200_000, soak=1_000_000)])
@pytest.mark.parametrize("hostile", ['"\\', '\\"', '"""a', '"', "{", "a{"])
def test_a_document_that_never_ends_is_read_once(hostile: str, size: int) -> None:
    text = 'mutation{a "' + hostile * (size // len(hostile))

    # Whoever reads it again from every quote on takes hours.
    changed_fields(text)
    _call("Bash", {"command": "ls -la", "description": text}).found  # noqa: B018 - it comes to an end


def test_a_name_that_is_no_text_is_read_as_one() -> None:
    params = cast("dict[str, object]", {"file_path": "a.py", "content": "x", 1: "y"})

    assert _lines("Write", params) == [None]
