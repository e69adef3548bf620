from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, with nobody's settings and no client on the path."""
    home, project, programs = tmp_path / "home", tmp_path / "project", tmp_path / "programs"
    for folder in (home, project, programs):
        folder.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "INTERLOCK_RUN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("INTERLOCK_TOKEN", "INTERLOCK_LEDGER", "INTERLOCK_POLICY", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "INTERLOCK_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.chdir(project)
    return home
