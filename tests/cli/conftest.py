from __future__ import annotations

from pathlib import Path

import pytest

from cli.ledgers import Story, a_story

_RULE = """\
[[rules]]
id = "no-deploys"
when = 'commands.exists(c, c.program == "deploy")'
decision = "{decision}"
severity = "high"
message = "deploys need a person"
remediation = "ask for the deploy to be done"
match = ["deploy web", "sudo deploy"]
not_match = ["echo deploy"]
"""


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Start every test in an empty folder, without anybody's own settings."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A user's policy with one rule that blocks deploys."""
    file = tmp_path / "policy.toml"
    file.write_text(_RULE.format(decision="block"))
    return file


@pytest.fixture
def asking_policy(tmp_path: Path) -> Path:
    """A user's policy with one rule that asks about deploys."""
    file = tmp_path / "asking.toml"
    file.write_text(_RULE.format(decision="require-confirmation"))
    return file


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of the ledger that counts, where none is yet."""
    file = str(tmp_path / "state" / "ledger.db")
    monkeypatch.setenv("INTERLOCK_LEDGER", file)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("INTERLOCK_TOKEN", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return file


@pytest.fixture(params=["sqlite", "postgres"])
def any_place(request: pytest.FixtureRequest, place: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ledger that counts: a file, and then a database."""
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_ledger_url")
        monkeypatch.setenv("INTERLOCK_LEDGER", place)
    return place


@pytest.fixture
def story(place: str) -> Story:
    """A ledger in which a few things have happened."""
    return a_story(place)
