"""`interlock status`: what runs, what waits, what is left; with a server and without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.asking import interlock
from cli.ledgers import Story
from server.served import serving_apart


def test_without_a_server_it_shows_what_waits(story: Story) -> None:
    shown = interlock("status")
    value = json.loads(interlock("status", "--json").stdout)

    assert shown.exit_code == 0, shown.stderr
    assert "no server runs" in shown.stdout
    assert "git push --force origin topic" in shown.stdout
    assert (value["server"], value["running"], len(value["waiting"])) == (None, 1, 1)
    assert value["waiting"][0]["approval"] == story.approval


def test_without_a_ledger_it_says_so(place: str) -> None:
    refused = interlock("status")

    assert refused.exit_code == 1
    assert "there is no ledger" in refused.stderr
    assert not Path(place).exists()


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
