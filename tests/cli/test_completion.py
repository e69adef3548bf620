"""`interlock completion`: what a shell completes, installed once, shown first, and removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.asking import (
    completed_by_bash,
    interlock,
    without_colour,
)
from terminal import interlock_at_terminal


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/usr/bin/bash")
    return tmp_path


@pytest.mark.parametrize(("shell", "startup"), [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_it_is_installed_once_and_removed_again(shell: str, startup: str, home: Path) -> None:
    (home / startup).write_text("alias ll='ls -l'")

    first = interlock("completion", shell, "--yes")
    text = (home / startup).read_text()
    again = interlock("completion", shell, "--yes")

    script = home / ".local" / "share" / "interlock" / f"completion.{shell}"
    assert first.stdout == f"INSTALLED  open another {shell}, and press Tab\n"
    assert f"write {script}\n" in first.stderr
    assert f"+. {script} # interlock completion\n" in first.stderr
    assert text == f"alias ll='ls -l'\n. {script} # interlock completion\n"
    assert "_INTERLOCK_COMPLETE" in script.read_text()
    assert again.stdout == f"UNCHANGED  {shell} has it already\n"
    assert (home / startup).read_text() == text

    removed = interlock("completion", shell, "--remove", "--yes")

    assert removed.stdout == f"REMOVED  {shell} completes it no more\n"
    assert (home / startup).read_text() == "alias ll='ls -l'\n"
    assert not script.exists()
    assert "has it not already" in interlock("completion", shell, "--remove").stdout


def test_fish_finds_its_script_by_itself(home: Path) -> None:
    result = interlock("completion", "fish", "--yes", "--json")

    script = home / ".config" / "fish" / "completions" / "interlock.fish"
    assert json.loads(result.stdout) == {"shell": "fish", "changed": [str(script)]}
    assert "complete" in script.read_text()


def test_nothing_is_changed_unasked(home: Path) -> None:
    result = interlock("completion")
    refused = interlock_at_terminal(
        ["completion", "zsh"], ["n"], environment=without_colour(), stdin=None
    )

    assert result.exit_code == 2
    assert "`--yes` goes on without asking, `--print` only prints the script" in result.stderr
    assert refused.code == 2
    assert "nothing was changed" in refused.screen
    assert not (home / ".bashrc").exists()
    assert not (home / ".zshrc").exists()


def test_the_script_may_only_be_printed(home: Path) -> None:
    result = interlock("completion", "bash", "--print")

    assert "_INTERLOCK_COMPLETE=bash_complete" in result.stdout
    assert list(home.glob("**/completion.*")) == []


def test_a_shell_that_is_not_known_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")

    result = interlock("completion")

    assert result.exit_code == 2
    assert "your shell is `tcsh`, which completion is not known for: name one" in result.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("interlock rev", "review"),
        ("interlock loop log --dec", "--decision"),
        ("interlock nix x", ""),
    ],
    ids=["a command", "an option", "behind what is no command"],
)
def test_what_is_typed_is_completed(
    words: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    monkeypatch.setenv("_INTERLOCK_COMPLETE", "bash_complete")

    result = interlock()

    assert result.exit_code == 0, result.exception
    assert [line.partition(",")[2] for line in result.stdout.split()] == [found] * bool(found)
    assert result.stderr == ""


def test_bash_really_completes() -> None:
    done = completed_by_bash("interlock", "review", "su")

    assert "submit" in done.stdout.split(), done.stderr
