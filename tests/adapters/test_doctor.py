"""`interlock doctor`: hooks that are well, and every way in which one can silently not be."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from adapters.users import FILES, a_user
from cli.asking import interlock, make_operator
from interlock import Interlock, settings
from interlock.adapters.installation.canary import BrokenHookError, refusal_in
from interlock.adapters.installation.client_hooks import CLIENTS
from interlock.model.run import RunStatus
from interlock.service.whereabouts import Listening, running_server
from server.served import serving_apart, tokens_of


@pytest.fixture(scope="module")
def machine() -> Generator[Path]:
    """A machine with a user, whose server ends with the tests: a socket's path has to be short."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)
        server = _server(Path(folder))
        if server is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(server.pid, signal.SIGKILL)


def _server(machine: Path) -> Listening | None:
    with pytest.MonkeyPatch.context() as patched:
        a_user(machine, patched)
        place = settings.current_ledger_places().ledger
        return running_server(settings.current_server_places(place))


@pytest.fixture
def hooked(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of that user, with nothing but Claude Code installed."""
    home = a_user(machine, monkeypatch)
    for name in (".claude", ".codex", ".gemini", ".copilot", ".config/opencode"):
        shutil.rmtree(home / name, ignore_errors=True)
    for folder in (machine / "project", machine / "programs"):
        shutil.rmtree(folder)
        folder.mkdir()
    monkeypatch.chdir(machine / "project")
    interlock("install", "claude-code", "--yes")
    return home


def doctor() -> tuple[int, list[dict[str, str]]]:
    done = interlock("doctor", "--json")
    return done.exit_code, json.loads(done.stdout)["observations"]


def problems() -> str:
    code, seen = doctor()
    found = [each["text"] for each in seen if each["level"] == "problem"]
    assert (code == 1) == bool(found)
    return "\n".join(found)


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_every_client_is_tried_and_no_canary_stays(hooked: Path) -> None:
    interlock("install", *CLIENTS, "--yes")

    code, seen = doctor()
    if any("gave no answer within" in each["text"] for each in seen):
        # True on a machine that is too busy, and not what is asked here.
        code, seen = doctor()

    well = [each["client"] for each in seen if each["level"] == "ok"]
    assert (code, well) == (0, list(CLIENTS)), seen
    with Interlock.open() as opened:
        found = [opened.governor.run(each.id) for each in opened.ledger.rows.runs(limit=100)]
        canaries = [each for each in found if each.client in CLIENTS]
        assert {each.client for each in canaries} == set(CLIENTS)
        assert RunStatus.RUNNING not in {each.status for each in canaries}
    assert hooked.is_dir()


def test_nothing_installed_is_said(home: Path) -> None:
    (home / ".gemini").mkdir()

    code, seen = doctor()

    shown = interlock("doctor").stdout

    assert code == 1
    assert [(each["level"], each["client"]) for each in seen] == [
        ("note", "gemini"),
        ("note", ""),
    ]
    assert "NOTE  nothing is installed: agents act unasked" in shown
    assert shown.endswith("next  interlock install  puts the hooks in\n")


def test_that_no_session_was_ever_seen_is_said(hooked: Path) -> None:
    _, seen = doctor()
    standing = interlock("status").stdout
    with Interlock.open() as opened:
        for client in ("claude-code", "codex"):
            opened.run("work", client=client).finish()
    _, later = doctor()
    stands = interlock("status").stdout
    away = interlock("uninstall", "--yes").stdout

    never = "no session seen yet: start `claude` and ask it to list the files here"
    assert any(each["text"].startswith(never) for each in seen)
    assert never in " ".join(standing.split())
    assert not any(each["text"].startswith(never) for each in later)
    assert never not in " ".join(stands.split())
    server = _server(hooked.parent)
    assert server is not None
    assert f"process {server.pid} still runs" in away
    assert f"`kill {server.pid}` ends it now" in " ".join(away.split())
    ledger, keys = settings.current_ledger_places()[:2]
    told = " ".join(away.split())
    assert f"kept the record of what happened: {ledger} the keys that seal it: {keys} " in told
    assert f"delete rm -r {ledger} {keys}" in told


def test_whoever_installs_is_told_to_set_up_first(hooked: Path) -> None:
    (hooked / FILES["claude-code"]).unlink()
    first = interlock("install", "claude-code", "--yes").stdout
    make_operator(settings.current_ledger_places().ledger)
    (hooked / FILES["claude-code"]).unlink()
    later = interlock("install", "claude-code", "--yes").stdout

    told = [line.split("  ")[1] for line in first.splitlines() if line.startswith("next")]
    assert told == ["interlock setup", "interlock doctor"]
    assert "interlock setup" not in later


def test_a_hook_that_is_missing_is_named(hooked: Path) -> None:
    path = hooked / FILES["claude-code"]
    changed(path, lambda value: value["hooks"].pop("Stop"))

    assert "no hook for `Stop`" in problems()
    interlock("install", "claude-code", "--yes")
    assert problems() == ""


def _loosen(value: dict[str, Any]) -> None:
    value["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = 20


def _misplace(value: dict[str, Any]) -> None:
    value["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = "/gone/python"


def _unquote(value: dict[str, Any]) -> None:
    hook = value["hooks"]["PreToolUse"][0]["hooks"][0]
    hook["command"] = "'" + " ".join([hook["command"], *hook.pop("args")])


def _misname(value: dict[str, Any]) -> None:
    value["hooks"]["PreToolUsed"] = value["hooks"]["SessionEnd"]


def _let_all_through(value: dict[str, Any]) -> None:
    hook = value["hooks"]["PreToolUse"][0]["hooks"][0]
    hook |= {"command": "/bin/true", "args": ["/x/interlock/hook_entry.py"]}


def _switch_off(value: dict[str, Any]) -> None:
    value["disableAllHooks"] = True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_loosen, "`PreToolUse`: the client waits 20 s and the hook takes up to 25 s"),
        (_misplace, "canary: `PreToolUse`: could not be run"),
        (_misplace, "`/gone/python` is gone"),
        (_unquote, "canary: `PreToolUse`: "),
        (_misname, "a hook for `PreToolUsed`, which is no event"),
        (_let_all_through, "canary: `PreToolUse`: `rm -rf / --no-preserve-root` was let through"),
        (_switch_off, "`disableAllHooks`: hooks are turned off"),
    ],
)
def test_what_is_wrong_with_a_hook_is_said(
    hooked: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    changed(hooked / FILES["claude-code"], change)

    assert said in problems()


def test_a_file_that_does_not_parse_is_said_with_its_place(hooked: Path) -> None:
    (hooked / FILES["claude-code"]).write_text('{"hooks": \n]')

    assert "settings.json`:2:1: " in problems()


def test_a_policy_that_refuses_everything_is_told_from_a_broken_hook(hooked: Path) -> None:
    Path("interlock.toml").write_text(
        '[[commands.rules]]\nid = "no"\npattern = "canary"\ndecision = "block"\nmessage = "no"\n'
    )

    assert "`echo canary` was refused: " in problems()
    assert hooked.is_dir()


def test_switches_of_the_environment_and_of_other_files_count(
    hooked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    Path(".claude").mkdir()
    Path(".claude/settings.local.json").write_text('{"disableAllHooks": true}')
    interlock("install", "gemini", "--yes")
    changed(
        hooked / FILES["gemini"],
        lambda value: value.update(hooksConfig={"enabled": False, "disabled": ["interlock"]}),
    )

    found = problems()

    assert "CLAUDE_CODE_SIMPLE is set" in found
    assert "settings.local.json` has `disableAllHooks`" in found
    assert "`hooksConfig.enabled = false`" in found
    assert "`interlock` in `hooksConfig.disabled`" in found


def test_a_version_that_takes_failure_for_a_yes_is_named(hooked: Path) -> None:
    claude = hooked.parent / "programs" / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.294 (Claude Code)'\n")
    claude.chmod(0o755)

    assert "version 2.1.294 takes a hook that fails for a yes" in problems()


def test_what_fires_twice_is_noted(hooked: Path) -> None:
    interlock("install", "copilot", "--yes")
    interlock("install", "claude-code", "--scope", "project", "--yes")

    code, seen = doctor()

    notes = "\n".join(each["text"] for each in seen if each["level"] == "note")
    assert code == 0, seen
    assert "asked about twice" in notes
    assert "Copilot runs the hooks of this project's .claude/settings.json" in notes
    assert hooked.is_dir()


def test_over_http_without_a_server_it_says_so(hooked: Path) -> None:
    interlock("install", "claude-code", "--transport", "http", "--yes")
    path = hooked / FILES["claude-code"]
    path.write_text(path.read_text().replace(":7420/", ":9/"))

    found = problems()

    assert "canary: `PreToolUse`: no server answered" in found
    assert "`interlock serve`" in found


def test_over_http_the_canary_shows_its_token(
    hooked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interlock("install", "claude-code", "--transport", "http", "--yes")
    path = hooked / FILES["claude-code"]
    with Interlock.open(tmp_path / "ledger.db", keys=tmp_path / "config/keys") as opened:
        token = tokens_of(opened)["agent"]

    with serving_apart(tmp_path) as served:
        port = served.address[1]
        path.write_text(path.read_text().replace(":7420/", f":{port}/"))
        without = problems()
        monkeypatch.setenv("INTERLOCK_TOKEN", token)
        found = problems()

    assert "the server answered 401: is INTERLOCK_TOKEN set" in without
    assert found == ""
    assert token not in path.read_text()


DENY = b'{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}'
FLAT = b'{"permissionDecision": "deny", "permissionDecisionReason": "no"}'


@pytest.mark.parametrize(
    ("client", "code", "stdout", "stderr", "refused"),
    [
        ("claude-code", 0, DENY, b"", "no"),
        ("claude-code", 2, b"", b"no\n", "no"),
        ("claude-code", 0, b"", b"", None),
        ("codex", 0, DENY, b"", "no"),
        ("copilot", 0, FLAT, b"", "no"),
        ("copilot", 0, DENY, b"", None),
        ("claude-code", 0, FLAT, b"", None),
        ("gemini", 0, b'{"decision": "deny", "reason": "no"}', b"", "no"),
        ("gemini", 0, b"{}", b"", None),
        ("opencode", 0, b'{"decision": "allow", "reason": ""}', b"", None),
    ],
)
def test_an_answer_is_read_as_the_client_reads_it(
    client: str, code: int, stdout: bytes, stderr: bytes, refused: str | None
) -> None:
    assert refusal_in(client, code, stdout, stderr) == refused


@pytest.mark.parametrize(
    ("client", "code", "stdout", "said"),
    [
        ("claude-code", 1, b"", "exit code 1"),
        ("codex", 2, b"", "exit code 2"),
        ("claude-code", 0, b"hello {}", "not one JSON object"),
        ("gemini", 0, b'{"decision": "den', "not one JSON object"),
        ("codex", 0, b'{"decision": "block"}', "without a reason"),
        ("codex", 0, DENY.replace(b"deny", b"ask"), "does not know"),
        ("copilot", 0, FLAT.replace(b"deny", b"blocked"), "does not know"),
    ],
)
def test_an_answer_that_the_client_would_not_obey_is_broken(
    client: str, code: int, stdout: bytes, said: str
) -> None:
    with pytest.raises(BrokenHookError, match=said):
        refusal_in(client, code, stdout, b"")


def test_a_policy_that_does_not_load_is_one_finding_among_others(
    hooked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("mode = 'obsrve'\n[stepz]\n")
    monkeypatch.setenv("INTERLOCK_POLICY", str(file))

    code, seen = doctor()
    told = interlock("doctor")

    first, *others = seen
    assert (code, first["level"]) == (1, "problem")
    assert first["text"].startswith(f"the policy does not load: {file}: ")
    assert first["text"].endswith("; and 1 more complaint: `interlock policy show`")
    assert [each["client"] for each in others] == ["claude-code"]
    assert told.stdout.splitlines()[-1].startswith("next  interlock policy show ")
    assert hooked.exists()
