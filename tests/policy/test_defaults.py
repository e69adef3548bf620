"""The default policy: complete, documented, and protecting what lets an agent loosen its gate."""

from __future__ import annotations

import pytest

from interlock.model.verdict import Decision
from interlock.policy.config.document import KEYS
from interlock.policy.config.key import Entries, Key
from interlock.policy.config.layers import Role, default_layer
from interlock.policy.config.parser import read_layer
from policy.files import DEFAULTS, KNOWN, LISTS, condition_problem, merged

PROSE = " ".join(
    line.removeprefix("#").strip() for line in DEFAULTS.splitlines() if line.startswith("#")
)


def test_the_defaults_set_every_key():
    policy = merged()

    settings = {key.path for key in KEYS if not isinstance(key.shape, Entries)}
    unset = settings - {place.path for place in policy.places}
    assert unset == {
        "steps.max-total",
        "evaluators.max-changed-lines",
        "loop.model",
        "loop.base-url",
        "loop.api-key-variable",
        "notifications.webhook-url",
        "notifications.console-url",
        "ledger.keep-days",
        "ledger.archive-folder",
    }
    assert set(policy.origins.values()) == {"default"}


def test_the_defaults_of_the_fields_are_those_of_the_file_for_people():
    read = read_layer(
        "defaults.toml",
        DEFAULTS,
        Role.DEFAULT,
        known=KNOWN,
        compile_condition=condition_problem,
    )

    assert default_layer(LISTS) == read


def test_the_defaults_on_top_of_themselves_change_nothing():
    assert merged(DEFAULTS).hash == merged().hash


@pytest.mark.parametrize("key", KEYS, ids=[key.path for key in KEYS])
def test_the_defaults_say_what_each_key_means(key: Key):
    assert key.meaning in PROSE


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("**/interlock.toml", Decision.BLOCK),
        ("~/.config/interlock/**", Decision.BLOCK),
        ("~/.local/share/interlock/**", Decision.BLOCK),
        ("**/.claude/settings.json", Decision.BLOCK),
        ("**/.codex/config.toml", Decision.BLOCK),
        ("**/.gemini/settings.json", Decision.BLOCK),
        ("**/.github/hooks/**", Decision.BLOCK),
        ("**/.cursor/hooks.json", Decision.BLOCK),
        ("**/.opencode/**", Decision.BLOCK),
        ("**/hooks/hooks.json", Decision.BLOCK),
        ("~/.ssh/**", Decision.BLOCK),
        ("/etc/sudoers", Decision.BLOCK),
        ("/etc/**", Decision.REQUIRE_CONFIRMATION),
        ("~/.bashrc", Decision.REQUIRE_CONFIRMATION),
        ("**/.git/hooks/**", Decision.REQUIRE_CONFIRMATION),
    ],
)
def test_the_defaults_protect(path: str, decision: Decision):
    entries = {entry.path: entry for entry in merged().policy.protected_paths.entries}

    assert entries[path].decision is decision


def test_the_defaults_limit_no_spending():
    budgets = merged().policy.budgets

    assert (budgets.run, budgets.tree, budgets.agent, budgets.project_day) == ({}, {}, {}, {})
    assert budgets.prices == ()
    assert (budgets.lease_seconds, budgets.unpriced) == (900, "require-confirmation")


def test_every_protected_path_says_why():
    assert all(entry.reason for entry in merged().policy.protected_paths.entries)
