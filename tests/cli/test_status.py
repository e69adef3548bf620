"""`interlock status`: what runs, what waits, what is left; with a server and without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.asking import interlock
from cli.ledgers import Story
from interlock import Interlock, load_policy
from server.served import serving_apart


def test_without_a_server_it_shows_what_waits(story: Story) -> None:
    shown = interlock("status")
    value = json.loads(interlock("status", "--json").stdout)

    assert shown.exit_code == 0, shown.stderr
    assert "no server runs" in shown.stdout
    assert "git push --force origin topic" in shown.stdout
    assert (value["server"], value["running"], len(value["waiting"])) == (None, 1, 1)
    assert value["waiting"][0]["approval"] == story.approval


def test_without_a_ledger_it_says_so_and_makes_none(place: str) -> None:
    shown = interlock("status")

    assert shown.exit_code == 0, shown.stderr
    assert "no ledger yet" in shown.stdout
    assert not Path(place).exists()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with one client in it, and nothing else on the machine."""
    for name in ("HOME", "XDG_CONFIG_HOME", "INTERLOCK_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    monkeypatch.setenv("INTERLOCK_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".claude").mkdir()
    return tmp_path


def test_it_says_what_is_governed_and_what_comes_next(home: Path) -> None:
    before = interlock("status").stdout
    interlock("install", "claude-code", "--yes")
    after = interlock("status").stdout
    value = json.loads(interlock("status", "--json").stdout)

    assert "OPEN  claude-code: no hooks, it acts unasked" in before
    assert before.splitlines()[-1].startswith("next  interlock install claude-code")
    assert "GOVERNED  claude-code: asks before it acts (user)" in after
    assert "preset balanced (the default)" in after
    assert after.splitlines()[-1].startswith("next  interlock setup")
    assert value["clients"] == [{"client": "claude-code", "scopes": ["user"], "problems": []}]
    assert (value["policy"]["preset"], value["next"]) == ("balanced", "interlock setup")

    settings = home / ".claude" / "settings.json"
    hooks = json.loads(settings.read_text())
    settings.write_text(json.dumps({**hooks, "disableAllHooks": True}))
    broken = interlock("status").stdout
    assert "BROKEN  claude-code: " in broken
    assert broken.splitlines()[-1].startswith("next  interlock doctor")

    settings.write_text("{")
    assert "BROKEN  claude-code: " in interlock("status").stdout


def test_it_counts_what_would_have_been_stopped(home: Path) -> None:
    interlock("init", "--preset", "observe")
    with Interlock.open(home / "ledger.db", policy=load_policy(project=None)) as opened:
        run = opened.run("t")
        run.command("git push --force")
        run.finish("done")
    shown = interlock("status").stdout
    value = json.loads(interlock("status", "--json").stdout)
    [listed] = json.loads(interlock("runs", "--json").stdout)

    assert "observed would ask 1\n  by rule  git.push-force 1\n" in shown
    assert value["would_have"] == listed["would_have"] == {"require_confirmation": 1}
    assert "would ask 1\n" in interlock("runs").stdout
    page = interlock("show", run.id).stdout
    assert "observed would ask 1\n" in page
    listed_there = page.partition("Questions and refusals")[2]
    assert "would ask $ git push --force\n" in listed_there
    assert "git.push-force: would have asked: " in listed_there


def test_a_server_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_apart(tmp_path) as served:
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(name, str(tmp_path))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setenv("INTERLOCK_LEDGER", str(tmp_path / "ledger.db"))
        value = json.loads(interlock("status", "--json").stdout)

        assert value["server"]["pid"] == served.process.pid
        assert value["server"]["url"] == served.listening.url


def test_looking_loads_no_web_server(story: Story) -> None:
    program = (
        "import sys; from interlock.cli.command_group import cli\n"
        "cli(['status'], standalone_mode=False)\n"
        "assert not {'uvicorn', 'starlette', 'jinja2'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert story.place
