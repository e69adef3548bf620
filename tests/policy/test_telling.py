"""The policy as people meet it: the starter file, the reference and the printed rows."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from interlock.policy.config.document import KEYS
from interlock.policy.config.key import Budget, NamedTables, Tables
from interlock.policy.config.policy_changes import in_words
from interlock.policy.config.reference import (
    policy_reference_markdown,
    project_starter,
    user_starter,
)
from policy.files import DEFAULTS, LISTS, merged, wrapped

FINGERPRINT_KEY = "0f" * 32


def test_a_fresh_user_file_sets_nothing_but_the_fingerprint_key():
    policy = merged(user_starter(DEFAULTS, preset=None, fingerprint_key=FINGERPRINT_KEY))

    assert [path for path, origin in policy.origins.items() if origin == "user"] == [
        "secrets.fingerprint-key"
    ]
    assert policy.policy.secrets.fingerprint_key == FINGERPRINT_KEY


def test_a_fresh_user_file_without_its_key_equals_the_defaults():
    assert merged(user_starter(DEFAULTS, preset=None, fingerprint_key="")).hash == merged().hash


def test_a_fresh_project_file_equals_the_defaults():
    assert merged(project=project_starter(DEFAULTS, preset=None)).hash == merged().hash


@pytest.mark.parametrize(
    "starter",
    [
        user_starter(DEFAULTS, preset=None, fingerprint_key=FINGERPRINT_KEY),
        project_starter(DEFAULTS, preset=None),
    ],
    ids=["user", "project"],
)
def test_a_fresh_file_shows_every_line_of_the_defaults(starter: str):
    lines = [line for line in starter.splitlines() if line][3:]
    expected = [line for line in DEFAULTS.splitlines() if line]
    different = [
        (shown, line)
        for shown, line in zip(lines, expected, strict=True)
        if shown.removeprefix("#") != line.removeprefix("#")
    ]

    assert {line.partition(" = ")[0] for _, line in different} <= {
        "project-may-loosen",
        "fingerprint-key",
        "checkpoint-command",
        "checkpoint-pages",
        "profile",
        "auto-continue",
        "decider",
        "mode",
        "emit-alert",
        "emit-alert-per-hour",
        "webhook-secret-variable",
        "command",
        "timeout-seconds",
    }


def test_a_project_file_shows_no_key_that_it_may_not_set():
    starter = project_starter(DEFAULTS, preset=None)

    assert "# `project-may-loosen` may be set in the user's file only.\n" in starter
    assert "fingerprint-key =" not in starter


def test_the_reference_names_every_key_and_field():
    reference = policy_reference_markdown(LISTS)

    for key in KEYS:
        said = f"{key.meaning} {key.more}".strip()
        assert f"### `{key.path}`\n\n{said}\n" in reference
        if isinstance(key.shape, Tables | Budget | NamedTables):
            assert all(f"\n| `{field.name}` | " in reference for field in key.shape.keys)


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (
            "diff-size.threshold",
            snapshot("""\
- Takes: a whole number from 1 to 1000000
- Default: `300`
- In a project's file: a smaller number is stricter\
"""),
        ),
        (
            "loop.day-cost-usd",
            snapshot("""\
- Takes: US dollars from 0 to 1000000, with at most 6 decimal places
- Default: `1`
- In a project's file: a smaller number is stricter\
"""),
        ),
        (
            "tool-allowlist.allow",
            snapshot("""\
- Takes: a list, each entry a name, or a glob where a `*` is written
- Default: `[]`
- In a project's file: fewer entries are stricter\
"""),
        ),
        (
            "destructive-ops.packs",
            snapshot("""\
- Takes: a table from the name of a pack to `true` or `false`; what is not named stays on
- Default: none
- In a project's file: `true` is stricter\
"""),
        ),
        (
            "destructive-ops.rules",
            snapshot("""\
- Takes: a table from the name of a command rule to `off`, `observe`, `warn`,
    `allow-with-undo`, `ask` or `deny`; what is not named stays the rule's own decision
- Default: none
- In a project's file: a stronger decision is stricter\
"""),
        ),
        (
            "tools.schemas",
            snapshot("""\
- Takes: a table from the name of a tool to a JSON Schema
- Default: none
- In a project's file: a project may add entries, not loosen the ones below\
"""),
        ),
        (
            "budgets.run",
            snapshot("""\
- Takes: a table with the keys below; what is not named has no limit
- Default: as the preset says
- In a project's file: a smaller limit is stricter, and so is a limit where there was none\
"""),
        ),
        (
            "budgets.lease-seconds",
            snapshot("""\
- Takes: a whole number from 1 to 604800
- Default: `900`
- In a project's file: a larger number is stricter\
"""),
        ),
        (
            "rules",
            snapshot("""\
- Takes: a list of tables, with the keys below
- Default: none
- In a project's file: a project may add entries, not loosen the ones below\
"""),
        ),
    ],
)
def test_the_reference_tells_type_default_and_direction(path: str, lines: str):
    reference = policy_reference_markdown(LISTS)
    section = reference.partition(f"### `{path}`\n")[2].partition("\n#")[0]

    assert wrapped([line for line in section.splitlines() if line.startswith("- ")]) == lines


def test_the_reference_says_how_money_is_written():
    reference = policy_reference_markdown(LISTS)

    assert (
        "| `cost-usd` | US dollars from 0 to 1000000000, with at most 6 decimal places | "
        "What the tokens cost, by the price of their model. |\n"
    ) in reference
    assert "| `tokens` | a whole number from 0 to 1000000000000000 | " in reference


def test_the_reference_counts_what_is_too_long_to_list():
    folders = merged().policy.destructive_ops.scratch_folders

    assert f"- Default: {len(folders)} entries, listed in the default policy\n" in (
        policy_reference_markdown(LISTS)
    )


def test_rows_tell_each_value_and_whose_it_is():
    user = """\
[secrets]
fingerprint-key = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
[[tools.carriers]]
tools = ["deploy"]
command = ["line"]
cwd = ["folder"]
[[tools.carriers]]
tools = ["patch"]
[[protected-paths.entries]]
path = "~/.zshrc"
decision = "off"
[[protected-paths.entries]]
path = "~/diary"
decision = "block"
reason = "it is private"
[budgets.run]
tokens = 1000
cost-usd = 2.50
[budgets.tree]
cost-usd = 10
[[budgets.prices]]
model = "my-model"
input-usd = 0.000001
output-usd = 1.5
[[rules]]
id = "no-deploys"
when = "true"
decision = "warn"
message = "no"
"""
    rows = [
        f"{place.origin} {place.path} {in_words(place.value)}"
        for place in merged(user, "[diff-size]\nthreshold = 7").places
        if place.origin != "default" or place.path.startswith("diff-size")
    ]

    assert rows == snapshot(
        [
            "user tools.carriers.deploy command, cwd",
            "user tools.carriers.patch []",
            'user secrets.fingerprint-key "(set, not shown)"',
            "default diff-size.enabled true",
            "project diff-size.threshold 7",
            'default diff-size.decision "warn"',
            'user protected-paths.entries."~/.zshrc" off',
            'user protected-paths.entries."~/diary" deny: it is private',
            "user budgets.run.cost-usd 2.5",
            "user budgets.run.tokens 1000",
            "user budgets.tree.cost-usd 10",
            "user budgets.prices.my-model 0.000001 USD for a million tokens read, 1.5 USD written",
            "user rules.no-deploys warn when true",
        ]
    )
