"""`interlock install` and `uninstall`: real files in a home folder of their own."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.users import FILES
from cli.asking import interlock
from interlock import hook_entry
from interlock.adapters.installation.client_hooks import CLIENTS
from interlock.adapters.installation.file_change import FileChange
from interlock.errors import InputError
from terminal import interlock_at_terminal

PROJECT_FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/hooks/interlock.json",
    "opencode": ".opencode/plugins/interlock.js",
}
MINE = {
    "claude-code": b'\xef\xbb\xbf{\r\n\t"hooks": {"PreToolUse": []}\r\n}',
    "codex": b'\r\n{ "hooks":\n { "Stop" :[{"hooks": []}]}\n\n}',
    "gemini": b'{\n // "mine",\n    "hooks": {"BeforeTool": []} /* mine */}',
}


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return every file with what it holds, and every folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def hooks_in(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())["hooks"]


def words_of(client: str, path: Path) -> dict[str, list[str]]:
    """Return the words that each event runs."""
    found: dict[str, list[str]] = {}
    for event, (entry,) in hooks_in(path).items():
        (hook,) = entry.get("hooks", [entry])
        line = hook.get("bash") or hook["command"]
        found[event] = [line, *hook["args"]] if "args" in hook else shlex.split(line)
        assert hook["type"] == "command", client
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_what_was_made_goes_again(home: Path, client: str) -> None:
    done = interlock("install", client, "--yes")
    assert done.exit_code == 0, done.output
    assert (home / FILES[client]).is_file()

    assert interlock("uninstall", client, "--yes").exit_code == 0
    assert contents(home) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_project_is_the_folder_that_one_stands_in(home: Path, client: str) -> None:
    done = interlock("install", client, "--scope", "project", "--yes")

    assert Path(PROJECT_FILES[client]).is_file()
    assert contents(home) == {}
    assert "note" in done.output
    interlock("uninstall", client, "--scope", "project", "--yes")
    assert contents(Path.cwd()) == {}


@pytest.mark.parametrize("client", MINE)
def test_what_was_there_is_kept_and_comes_back(home: Path, client: str) -> None:
    path = home / FILES[client]
    path.parent.mkdir()
    path.write_bytes(MINE[client])
    path.chmod(0o640)
    before = contents(home)

    interlock("install", client, "--yes")
    assert path.with_name(f"{path.name}.interlock-backup").read_bytes() == MINE[client]
    beside = path.with_name(f"{path.name}.interlock-backup")
    # A settings file may hold keys: whoever may not read it may not read what is kept of it.
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, beside)] == [0o640, 0o640]
    interlock("install", client, "--yes", "--wait", "60")
    assert path.with_name(f"{path.name}.interlock-backup").read_bytes() == MINE[client]

    interlock("uninstall", "--yes")
    assert contents(home) == before


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b" {\n}\n", b'{"a":1}'])
def test_the_smallest_files_come_back_too(home: Path, content: bytes) -> None:
    path = home / FILES["gemini"]
    path.parent.mkdir()
    path.write_bytes(content)

    interlock("install", "gemini", "--yes")
    assert set(hooks_in(path)) == set(CLIENTS["gemini"].events)
    interlock("uninstall", "gemini", "--yes")

    assert contents(home) == {".gemini": None, ".gemini/settings.json": content}


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini", "copilot"])
def test_every_event_runs_the_entry_and_says_what_it_is(home: Path, client: str) -> None:
    interlock("install", client, "--yes")

    found = words_of(client, home / FILES[client])
    known = CLIENTS[client]
    start = [sys.executable, "-I", "-S", str(Path(hook_entry.__file__).resolve()), client]
    assert set(found) == set(known.events)
    for event, words in found.items():
        assert words[:5] == start
        assert ("stop" in words) == (event in known.stops)
        assert ("told" in words) == (event in known.tells)
        assert (f"--event={event}" in words) == (client == "copilot")
        # Where a shell runs it, one whose file is gone keeps no turn from ending.
        has_shell = client != "claude-code"
        assert (words[-2:] == ["||", "true"]) == (has_shell and event not in known.decides)


def test_the_hook_ends_before_the_client_stops_waiting(home: Path) -> None:
    interlock("install", "claude-code", "codex", "gemini", "copilot", "--yes", "--wait", "120")

    claude, codex = (hooks_in(home / FILES[each]) for each in ("claude-code", "codex"))
    (asked,), (told,) = (claude[each][0]["hooks"] for each in ("PreToolUse", "SessionStart"))
    assert (asked["timeout"], asked["onFailure"]) == (135, "block")
    assert asked["args"][-2:] == ["--deadline=130", "--wait=120"]
    assert (told["timeout"], told["args"][-1], "onFailure" in told) == (30, "--deadline=25", False)
    (ended,) = codex["SessionEnd"][0]["hooks"]
    assert (ended["timeout"], ended["command"].endswith("--deadline=2 || true")) == (3, True)
    before = hooks_in(home / FILES["gemini"])["BeforeTool"][0]
    assert (before["sequential"], before["hooks"][0]["timeout"]) == (True, 135_000)
    assert hooks_in(home / FILES["copilot"])["preToolUse"][0]["timeoutSec"] == 135


def test_http_hooks_name_variables_and_no_secret(home: Path) -> None:
    done = interlock("install", "claude-code", "--transport", "http", "--yes")

    (hook,) = hooks_in(home / FILES["claude-code"])["PreToolUse"][0]["hooks"]
    assert hook == {
        "type": "http",
        "url": "http://127.0.0.1:7420/v1/hooks/claude-code",
        "headers": {
            "Authorization": "Bearer $INTERLOCK_TOKEN",
            "Interlock-Attended": "$CLAUDE_CODE_SESSION_ATTENDED",
        },
        "allowedEnvVars": ["INTERLOCK_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED"],
        "timeout": 30,
        "onFailure": "block",
    }
    assert "interlock serve" in done.output
    interlock("install", "claude-code", "--yes")
    assert "http" not in (home / FILES["claude-code"]).read_text()
    interlock("uninstall", "--yes")
    assert contents(home) == {}


def test_http_hooks_are_for_claude_code_only(home: Path) -> None:
    refused = interlock("install", "gemini", "--transport", "http", "--yes")

    assert refused.exit_code == 2
    assert "claude-code` only" in refused.stderr
    assert contents(home) == {}


def test_the_folders_that_variables_name_count(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {
        "CLAUDE_CONFIG_DIR": "settings.json",
        "CODEX_HOME": "hooks.json",
        "COPILOT_HOME": "hooks/interlock.json",
        "XDG_CONFIG_HOME": "opencode/plugins/interlock.js",
    }
    for name in named:
        monkeypatch.setenv(name, str(tmp_path / name))

    interlock("install", "claude-code", "codex", "copilot", "opencode", "--yes")

    assert all((tmp_path / name / file).is_file() for name, file in named.items())
    assert contents(home) == {}


def test_a_link_stays_a_link(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    link = home / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to(real)

    interlock("install", "claude-code", "--yes")
    assert link.is_symlink()
    assert "PreToolUse" in hooks_in(real)
    interlock("uninstall", "claude-code", "--yes")

    assert (link.is_symlink(), real.read_text()) == (True, "{}\n")


def test_a_file_that_cannot_be_read_is_left_alone(home: Path) -> None:
    path = home / FILES["claude-code"]
    path.parent.mkdir()
    for content, place in ((b'{\n  "a": }', "2:8"), (b'{"a":\n "\xff"}', "2:3")):
        path.write_bytes(content)

        refused = interlock("install", "claude-code", "--yes")

        assert refused.exit_code == 2
        assert f"settings.json`:{place}: " in refused.stderr
        assert contents(path.parent) == {"settings.json": content}


@pytest.mark.parametrize(
    ("client", "content", "place"),
    [
        ("claude-code", b"{\n  // mine\n}", "2:3"),
        ("claude-code", b'{"a": 1,}', "1:"),
        ("codex", b"\xef\xbb\xbf{}", "1:1"),
        ("codex", b"{} /* mine */", "1:4"),
        ("gemini", b'{"a": "// no",}', "1:"),
        ("gemini", b"\xef\xbb\xbf{}", "1:1"),
    ],
)
def test_what_the_client_itself_does_not_read_gets_no_hooks(
    home: Path, client: str, content: bytes, place: str
) -> None:
    path = home / FILES[client]
    path.parent.mkdir()
    path.write_bytes(content)

    refused = interlock("install", client, "--yes")

    assert refused.exit_code == 2
    assert f"{path.name}`:{place}" in refused.stderr
    assert f": {client} cannot read " in refused.stderr
    assert contents(path.parent) == {path.name: content}


def test_a_plugin_of_somebody_else_is_left_alone(home: Path) -> None:
    path = home / FILES["opencode"]
    path.parent.mkdir(parents=True)
    path.write_text("export const mine = 1\n")

    assert interlock("install", "opencode", "--yes").exit_code == 2
    assert interlock("uninstall", "opencode", "--yes").exit_code == 0
    assert path.read_text() == "export const mine = 1\n"


def test_nothing_is_written_in_a_dry_run(home: Path) -> None:
    shown = interlock("install", "claude-code", "--dry-run")

    assert shown.exit_code == 0
    assert "settings.json: 9 hooks added; `--diff` shows the lines\n" in shown.output
    assert "PreToolUse" not in shown.output
    assert contents(home) == {}


def test_without_a_terminal_a_script_says_yes(home: Path) -> None:
    refused = interlock("install", "claude-code", stdin="y\n")

    assert refused.exit_code == 2
    assert "`--yes`" in refused.stderr
    assert contents(home) == {}


def test_a_person_is_shown_the_change_and_asked(home: Path) -> None:
    (home / ".gemini").mkdir()

    left = interlock_at_terminal(["install"], ["n"], stdin=None)
    done = interlock_at_terminal(["install"], ["y"], stdin=None)

    assert "Install this?" in left.screen
    assert "LEFT ALONE" in left.screen
    assert "INSTALLED" in done.screen
    assert set(hooks_in(home / FILES["gemini"])) == set(CLIENTS["gemini"].events)


def test_the_clients_of_this_machine_are_found(home: Path) -> None:
    none = interlock("install", "--yes")
    assert none.exit_code == 2
    assert "no agent client is found" in none.stderr

    (home / ".claude").mkdir()
    copilot = home.parent / "programs" / "copilot"
    copilot.symlink_to("/bin/true")
    done = json.loads(interlock("install", "--yes", "--json").stdout)
    again = json.loads(interlock("install", "--yes", "--json").stdout)

    assert [(each["client"], each["outcome"]) for each in done] == [
        ("claude-code", "installed"),
        ("copilot", "installed"),
    ]
    assert {each["outcome"] for each in again} == {"already installed"}
    assert interlock("uninstall", "--yes").exit_code == 0
    assert "nothing of Interlock" in interlock("uninstall", "--yes").output


def test_one_whose_settings_cannot_be_read_keeps_no_other_from_its_hooks(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".gemini").mkdir()
    (home / FILES["claude-code"]).write_text("{")

    done = interlock("install", "--yes", "--json")

    assert done.exit_code == 1
    told = {each["client"]: each for each in json.loads(done.stdout)}
    assert told["claude-code"]["outcome"] == "refused"
    assert "settings.json`:1:2: " in told["claude-code"]["notes"][0]
    assert told["gemini"]["outcome"] == "installed"
    assert (home / FILES["claude-code"]).read_text() == "{"


def test_what_was_changed_since_it_was_shown_is_not_overwritten(home: Path) -> None:
    path = home / "settings.json"
    path.write_text("{}")
    change = FileChange(path, b"{}", b"{ }", is_first=True)
    path.write_text("[]")

    with pytest.raises(InputError, match="changed meanwhile"):
        change.make()
    assert contents(home) == {"settings.json": b"[]"}


def test_what_cannot_be_written_leaves_nothing_behind(home: Path) -> None:
    (home / "real.json").mkdir()
    (home / "settings.json").symlink_to(home / "real.json")

    with pytest.raises(IsADirectoryError):
        FileChange(home / "settings.json", None, b"{ }").make()
    (home / "settings.json").unlink()
    assert contents(home) == {"real.json": None}


def test_agents_install_and_remove_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interlock("install", "claude-code", "--yes")
    before = contents(home)
    monkeypatch.setenv("INTERLOCK_RUN", "01a1")

    for command in ("install", "uninstall"):
        refused = interlock(command, "claude-code", "--yes")
        assert refused.exit_code == 1
        assert "a person installs" in refused.stderr
    assert contents(home) == before


def test_an_unknown_client_is_told_with_those_that_are_known(home: Path) -> None:
    refused = interlock("install", "claude", "--yes")

    assert refused.exit_code == 2
    assert "`claude-code`" in refused.stderr
    assert contents(home) == {}


def test_what_lies_beside_the_settings_of_a_project_is_not_followed(home: Path) -> None:
    precious = home / "precious"
    precious.write_text("mine")
    folder = Path.cwd() / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text("{}")
    (folder / "settings.json.interlock-backup").symlink_to(precious)

    done = interlock("install", "claude-code", "--scope", "project", "--yes")

    assert done.exit_code == 0, done.output
    assert precious.read_text() == "mine"
    assert (folder / "settings.json.interlock-backup").read_text() == "{}"


@pytest.mark.parametrize("client", CLIENTS)
def test_settings_of_a_project_that_lead_out_of_it_are_left_alone(home: Path, client: str) -> None:
    path = Path.cwd() / PROJECT_FILES[client]
    path.parent.mkdir(parents=True)
    path.symlink_to(home / "elsewhere.json")

    done = interlock("install", client, "--scope", "project", "--yes")

    assert done.exit_code != 0
    assert "leads out of the project" in done.output
    assert contents(home) == {}


def test_settings_that_are_no_file_are_not_waited_for(home: Path) -> None:
    (home / ".claude").mkdir()
    os.mkfifo(home / FILES["claude-code"])

    done = interlock("install", "claude-code", "--yes")

    assert done.exit_code != 0
    assert "is no file" in done.output


def test_what_is_kept_beside_settings_is_as_private_as_they_are(home: Path) -> None:
    path = home / FILES["claude-code"]
    path.parent.mkdir()
    path.write_text('{"env": {"KEY": "secret"}}')
    path.chmod(0o600)
    interlock("install", "claude-code", "--yes")

    backup = path.with_name("settings.json.interlock-backup")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
