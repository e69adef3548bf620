"""Users of clients, with a home folder of their own, and where each client keeps its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".copilot/hooks/interlock.json",
    "opencode": ".config/opencode/plugins/interlock.js",
}
_VARIABLES = (
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"),
    *("XDG_RUNTIME_DIR", "INTERLOCK_RUN", "INTERLOCK_TOKEN", "INTERLOCK_LEDGER"),
    *("INTERLOCK_POLICY", "INTERLOCK_CONFIG_HOME"),
)


def a_user(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be a user with nobody's settings and no client on the path; return the home folder."""
    for name in ("home", "project", "programs"):
        (machine / name).mkdir(exist_ok=True)
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(machine / "home"))
    monkeypatch.setenv("PATH", f"{machine / 'programs'}:/usr/bin:/bin")
    monkeypatch.chdir(machine / "project")
    return machine / "home"
