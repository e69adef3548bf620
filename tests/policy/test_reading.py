"""Every mistake in a policy file is named, all at once, and each only once."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from policy.files import complaints, merged, wrapped

TWENTY_MISTAKES = """\
version = 2
colour = "blue"

[limits]
command-bytes = "64k"
nesting = 1000

[tool-allowlist]
enabled = "yes"
allow = ["Bash", 7]
denny = []

[tools.schemas.fetch]
type = "record"

[destructive-ops]
unresolved = "perhaps"
scratch-folders = "build"

[destructive-ops.packs]
gti = false

[destructive-ops.rules]
"git.push-forc" = "block"
"filesystem.rm-root" = "never"

[secrets]
allow = ["test-(?=fixture)", "[a-"]
fingerprint-key = "short"

[diff-size]
thresh-old = 500

[[protected-paths.entries]]
path = "~/notes/**"
decision = "forbid"

[[rules]]
id = "No Deploys"
when = "size(("
decision = "block"
message = "no"
"""

RULE = "[[rules]]\nid = 'a'\nwhen = 'true'\ndecision = 'warn'\nmessage = 'm'\n"
ENTRY = "[[protected-paths.entries]]\npath = 'x'\n"


def test_names_twenty_mistakes_at_once():
    named = complaints(user=TWENTY_MISTAKES)

    assert len(named) == 20
    assert wrapped(named) == snapshot("""\
policy.toml: version: `2` is out of range; expected `1`
policy.toml: colour: unknown key; expected `approvals`, `budgets`, `destructive-ops`,
    `diff-size`, `edits`, `evaluators`, `layers`, `ledger`, `limits`, `loop`, `loops`,
    `mode`, `notifications`, `parameter-names`, `preset`, `protected-paths`, `reviews`,
    `rules`, `secrets`, `steps`, `stops`, `tool-allowlist`, `tool-names`, `tools`, `undo` or
    `version`
policy.toml: limits.command-bytes: `"64k"` is text; expected a whole number from 1024 to
    1048576
policy.toml: limits.nesting: `1000` is out of range; expected a whole number from 4 to 64
policy.toml: tool-allowlist.enabled: `"yes"` is text; expected `true` or `false`
policy.toml: tool-allowlist.allow[1]: `7` is a whole number; expected text
policy.toml: tool-allowlist.denny: unknown key; did you mean `deny`?
policy.toml: tools.schemas.fetch.type: not a JSON Schema: "record" is not valid under any of
    the schemas listed in the 'anyOf' keyword
policy.toml: destructive-ops.unresolved: `"perhaps"` is unknown; expected `off`, `warn`,
    `ask` or `deny`
policy.toml: destructive-ops.scratch-folders: `"build"` is text; expected a list
policy.toml: destructive-ops.packs.gti: unknown pack; did you mean `git`?
policy.toml: destructive-ops.rules."git.push-forc": unknown command rule; did you mean
    `git.push-force`?
policy.toml: destructive-ops.rules."filesystem.rm-root": `"never"` is unknown; expected
    `off`, `observe`, `warn`, `allow-with-undo`, `ask` or `deny`
policy.toml: secrets.allow[0]: `"test-(?=fixture)"` is not an RE2 pattern: lookaround is not
    supported at position 5
policy.toml: secrets.allow[1]: `"[a-"` is not an RE2 pattern: missing ] at position 0
policy.toml: secrets.fingerprint-key: the key has 5 characters; expected none or at least
    32: `interlock init --user` writes a fresh one
policy.toml: diff-size.thresh-old: unknown key; did you mean `threshold`?
policy.toml: protected-paths.entries[0].decision: `"forbid"` is unknown; expected `off`,
    `warn`, `ask` or `deny`
policy.toml: rules[0].id: `"No Deploys"` is not an id; expected an id of lower-case letters,
    digits, `.`, `_` and `-`
policy.toml: rules[0].when: missing `)`\
""")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "[limits\nnesting = 3",
            "line 1, column 8: not TOML: expected ']' at the end of a table declaration",
            id="syntax",
        ),
        pytest.param(
            "a = 1\nb =\n", "line 2, column 4: not TOML: invalid value", id="syntax-at-the-end"
        ),
        pytest.param(
            f"version = 1{'0' * 5000}",
            "whole file: not TOML: a number is too long",
            id="endless-number",
        ),
        pytest.param(
            f"a = {'[' * 3000}",
            "whole file: nested too deeply; expected at most 64 levels",
            id="endless-nesting-of-lists",
        ),
        pytest.param(
            f"[tools.schemas.x{'.a' * 70}]",
            "whole file: nested too deeply; expected at most 64 levels",
            id="endless-nesting-of-tables",
        ),
        pytest.param(
            f"a{'.a' * 300} = 1",
            "line 1: 300 dots in one line; expected at most 128: break the line",
            id="endless-key",
        ),
        pytest.param(
            "#" * 262_145,
            "whole file: 262145 characters long; expected at most 262144: "
            "a policy this long is not read",
            id="endless-file",
        ),
        pytest.param(
            "# fine: é\na = '\ud800'",
            "line 2, column 6: not Unicode text; save the file as UTF-8",
            id="half-a-character",
        ),
    ],
)
def test_a_file_that_cannot_be_parsed_is_one_mistake(text: str, complaint: str):
    assert complaints(user=text) == [f"policy.toml: {complaint}"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "[tool-allowlist]\nallow = ['Bash', 'Read', '...']\ndeny = ['Bash', '...']",
            'tool-allowlist.deny: `"Bash"` stands under `allow` as well; '
            "expected it in one of them",
            id="allowed-and-denied",
        ),
        pytest.param(
            "[tool-allowlist]\nenabled = true",
            "tool-allowlist.enabled: `true` with nothing under `tool-allowlist.allow` would "
            "refuse every tool; list the tools that may be called",
            id="nothing-allowed",
        ),
        pytest.param(
            "[tool-allowlist]\nenabled = true\nallow = [7]",
            "tool-allowlist.allow[0]: `7` is a whole number; expected text",
            id="nothing-is-concluded-from-a-list-that-is-wrong",
        ),
    ],
)
def test_names_contradictions(text: str, complaint: str):
    assert complaints(user=text) == [f"policy.toml: {complaint}"]


@pytest.mark.parametrize(
    "text",
    [
        "[layers]\nproject-may-loosen = []",
        f"[secrets]\nfingerprint-key = '{'k' * 32}'",
        "[[budgets.prices]]\nmodel = 'm'\ninput-usd = 0\noutput-usd = 0",
    ],
)
def test_a_project_cannot_set_what_is_the_users_alone(text: str):
    [complaint] = complaints(project=text)

    assert complaint.endswith(
        "may be set in the user's file only, because an agent can write the project's"
    )


def test_never_repeats_a_fingerprint_key():
    key = "k3y" * 9

    assert all(
        key not in complaint
        for complaint in complaints(user=f"[secrets]\nfingerprint-key = '{key}'")
    )
    assert complaints(user=f"[secrets]\nfingerprint-key = ['{key}']") == [
        "policy.toml: secrets.fingerprint-key: the value is a list; "
        "expected text, empty, or at least 32 characters"
    ]
    assert key not in repr(merged(user=f"[secrets]\nfingerprint-key = '{key * 2}'"))


def test_stops_at_two_hundred_mistakes():
    named = complaints(user="".join(f"key{number} = 1\n" for number in range(300)))

    assert len(named) == 201
    assert named[-1] == "policy.toml: too many mistakes: the rest was not read"


def test_complains_about_both_files_at_once():
    assert complaints(user="a = 1\n[layers", project="[diff-size]\nthreshold = 'x'") == [
        "policy.toml: line 2, column 8: not TOML: expected ']' at the end of a table declaration",
        'interlock.toml: diff-size.threshold: `"x"` is text; '
        "expected a whole number from 1 to 1000000",
    ]


def test_reads_a_rule_with_all_it_may_have():
    policy = merged(
        user=RULE
        + "remediation = 'do less'\nseverity = 'high'\n"
        + "match = ['ls', { command = 'ls', cwd = '/' }, { path = 'a', content = 'b' }]\n"
        + "not_match = [{ tool = 'Bash', params = { number = 1.0, list = [1, 2.5] } }]\n"
    ).policy

    [rule] = policy.rules
    assert rule.remediation == "do less"
    assert rule.match[1] == {"command": "ls", "cwd": "/"}
    assert rule.not_match == ({"tool": "Bash", "params": {"number": 1, "list": [1, 2.5]}},)


def test_a_protected_path_has_a_reason_even_where_none_was_given():
    policy = merged(user=ENTRY + "decision = 'warn'").policy

    [entry] = [entry for entry in policy.protected_paths.entries if entry.path == "x"]
    assert entry.reason == "the policy protects it"
