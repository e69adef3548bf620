"""An agent changes nothing of what has it ask: neither by a command of ours nor in the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import Decision, Interlock, evaluate_command
from interlock.adapters.installation.client_hooks import CLIENTS, Client, Scope, settings_file

LINES = ("rm {}", "echo x > {}", "sed -i s/block/allow/ {}", "mv {} /tmp/x", "cp /tmp/x {}")


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda each: each.name)
def test_the_files_of_every_client_are_protected(home: Path, client: Client, scope: Scope) -> None:
    path = settings_file(client, scope)
    for suffix in ("", ".interlock-backup", ".interlock-made"):
        for line in LINES:
            asked = evaluate_command(line.format(f"{path}{suffix}"), cwd="/")
            assert asked.decision is Decision.BLOCK, line
    assert evaluate_command(f"rm {home}/.codex/config.toml").decision is Decision.BLOCK


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("CLAUDE_CONFIG_DIR", "settings.json"),
        ("CODEX_HOME", "hooks.json"),
        ("CODEX_HOME", "config.toml"),
        ("COPILOT_HOME", "hooks/interlock.json"),
        ("XDG_CONFIG_HOME", "opencode/plugins/interlock.js"),
    ],
)
def test_they_are_where_variables_move_them(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    folder = home / "elsewhere"
    monkeypatch.setenv(variable, str(folder))

    with Interlock.open(home / "ledger.db") as opened:
        run = opened.run("look around")

        assert not run.command(f"echo x > {folder / name}").allowed
        assert run.command(f"echo x > {folder / 'notes.txt'}").allowed


@pytest.mark.parametrize("line", ["interlock uninstall --yes", "interlock install gemini --yes"])
def test_the_commands_are_for_people(line: str) -> None:
    assert evaluate_command(line).decision is Decision.BLOCK
    assert evaluate_command("interlock doctor --json").findings == ()
