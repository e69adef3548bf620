"""Trust in hooks of Codex: tables in its config.toml, put in and taken out as text."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.adapters.installation.codex_trust import (
    TrustedHook,
    trust_given,
    trust_taken_back,
)
from interlock.adapters.installation.hook_settings import FoundHook
from interlock.errors import InputError

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
    assert (home / ".codex/config.toml").is_file()
    trust_taken_back(path, found()).make()

    assert list(home.iterdir()) == []


def test_where_it_cannot_be_written_nothing_is(home: Path) -> None:
    config = home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text("hooks = {}\n")

    with pytest.raises(InputError, match="/hooks"):
        trust_given(seen(home / ".codex/hooks.json"))
