"""Trust in hooks of Codex: tables in its config.toml, put in and taken out as text."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.asking import interlock
from interlock.adapters.installation.client_hooks import CLIENTS
from interlock.adapters.installation.codex_trust import (
    Codex,
    TrustedHook,
    trust_given,
    trust_taken_back,
)
from interlock.adapters.installation.hook_settings import FoundHook
from interlock.errors import InputError
from terminal import interlock_at_terminal

EVENTS = {"PreToolUse": "pre_tool_use", "SessionEnd": "session_end", "Stop": "stop"}
CONFIGS = st.lists(
    st.sampled_from(
        [
            'model = "x" # mine',
            "",
            "[features]",
            "search = true",
            '[projects."/a b"]',
            'trust_level = "trusted"',
            "# [hooks.state.none]",
        ]
    ),
    unique=True,
)


def seen(path: Path, digest: str = "1") -> list[TrustedHook]:
    return [
        TrustedHook(key=f"{path}:{each}:0:0", current_hash=f"sha256:{digest}", trust_status="new")
        for each in EVENTS.values()
    ]


def found() -> list[FoundHook]:
    return [FoundHook(each, 0, 0, {}, {}) for each in EVENTS]


@given(lines=CONFIGS, newline=st.sampled_from(["\n", "\r\n"]), ended=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_trust_comes_and_goes_and_every_byte_stays(
    home: Path, lines: list[str], newline: str, *, ended: bool
) -> None:
    config, path = home / ".codex/config.toml", home / ".codex/hooks.json"
    config.parent.mkdir(exist_ok=True)
    before = (newline.join(lines) + (newline if ended else "")).encode()
    config.write_bytes(before)

    for digest in ("1", "2"):
        trust_given(seen(path, digest)).make()
        states = tomllib.loads(config.read_text())["hooks"]["state"]
        assert {each["trusted_hash"] for each in states.values()} == {f"sha256:{digest}"}
        assert set(states) == {each.key for each in seen(path)}
    trust_taken_back(path, found()).make()

    assert config.read_bytes() == before
    assert list(config.parent.iterdir()) == [config]


def test_trust_that_others_gave_stays(home: Path) -> None:
    config, path = home / ".codex/config.toml", home / ".codex/hooks.json"
    config.parent.mkdir()
    theirs = f'[hooks.state."{path}:stop:1:0"]\ntrusted_hash = "sha256:9"\nenabled = true\n'
    config.write_text(theirs)

    trust_given(seen(path)).make()
    trust_taken_back(path, found()).make()

    assert config.read_text() == theirs


def test_a_file_that_was_made_for_it_goes(home: Path) -> None:
    path = home / ".codex/hooks.json"

    trust_given(seen(path)).make()
    trust_given(seen(path, "2")).make()
    assert (home / ".codex/config.toml").is_file()
    trust_taken_back(path, found()).make()

    assert list(home.iterdir()) == []


def test_where_it_cannot_be_written_nothing_is(home: Path) -> None:
    config = home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text("hooks = {}\n")

    with pytest.raises(InputError, match="/hooks"):
        trust_given(seen(home / ".codex/hooks.json"))


# What Codex answers about hooks, as it was measured: it reads both files, and compares hashes.
_STAND_IN = """import hashlib, json, pathlib, re, sys, tomllib

folder = pathlib.Path.home() / ".codex"
hooks = folder / "hooks.json"
config = folder / "config.toml"
state = tomllib.loads(config.read_text())["hooks"]["state"] if config.exists() else {}
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
        print(json.dumps({"method": "remoteControl/status/changed", "params": {}}), flush=True)
    elif asked.get("method") == "hooks/list":
        seen = []
        for event, groups in json.loads(hooks.read_text())["hooks"].items():
            snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", event).lower()
            for number, group in enumerate(groups):
                key = f"{hooks}:{snake}:{number}:0"
                digest = "sha256:" + hashlib.sha256(json.dumps(group).encode()).hexdigest()
                trusted = state.get(key, {}).get("trusted_hash")
                seen.append({
                    "key": key, "currentHash": digest, "sourcePath": str(hooks), "enabled": True,
                    "command": group["hooks"][0]["command"],
                    "trustStatus": "trusted" if trusted == digest else "untrusted",
                })
        data = [{"cwd": asked["params"]["cwds"][0], "hooks": seen}]
        print(json.dumps({"id": asked["id"], "result": {"data": data}}), flush=True)
"""


@pytest.fixture
def codex(home: Path) -> Path:
    """A program that answers as Codex does."""
    program = home.parent / "programs" / "codex"
    script = program.with_suffix(".py")
    script.write_text(_STAND_IN)
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(script)])} "$@"\n')
    program.chmod(0o755)
    return program


def test_codex_itself_says_what_is_to_be_trusted(home: Path, codex: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/hooks.json").write_text(
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}'
    )

    done = interlock("install", "codex", "--yes")

    states = tomllib.loads((home / ".codex/config.toml").read_text())["hooks"]["state"]
    assert len(states) == len(CLIENTS["codex"].events)
    assert f"{home}/.codex/hooks.json:stop:1:0" in states
    assert f"{home}/.codex/hooks.json:stop:0:0" not in states
    assert "Codex trusts these hooks now" in " ".join(done.output.split())
    assert interlock("install", "codex", "--yes", "--json").stdout.count("Codex") == 0
    interlock("uninstall", "codex", "--yes")
    assert [each.name for each in (home / ".codex").iterdir()] == ["hooks.json"]
    assert codex.is_file()


def test_a_person_may_install_and_not_trust(home: Path, codex: Path) -> None:
    done = interlock_at_terminal(["install", "codex"], ["y", "n"], stdin=None)

    assert "Trust these hooks now?" in done.screen
    assert "type `/hooks`" in " ".join(done.screen.split())
    assert (home / ".codex/hooks.json").is_file()
    assert not (home / ".codex/config.toml").exists()
    untrusted = [each.trust_status for each in Codex(str(codex)).hooks(home / ".codex/hooks.json")]
    assert untrusted == ["untrusted"] * len(CLIENTS["codex"].events)


def test_where_codex_does_not_answer_a_person_is_told_how(home: Path, codex: Path) -> None:
    codex.write_text("#!/bin/sh\nexit 3\n")

    done = interlock("install", "codex", "--yes", "--json")

    assert done.exit_code == 0
    assert "`codex app-server`" in done.stdout
    assert "`/hooks`" in done.stdout
    assert not (home / ".codex/config.toml").exists()
