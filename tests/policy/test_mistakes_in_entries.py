"""An entry that is wrong is named with its place and what was expected."""

from __future__ import annotations

import pytest

from policy.files import complaints

RULE = "[[rules]]\nid = 'a'\nwhen = 'true'\ndecision = 'warn'\nmessage = 'm'\n"
ENTRY = "[[protected-paths.entries]]\npath = 'x'\n"
CARRIER = "[[tools.carriers]]\ntools = ['x']\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "[destructive-ops]\npacks = ['git']",
            "destructive-ops.packs: `[...]` is a list; expected a table, `[destructive-ops.packs]`",
            id="a-list-of-packs",
        ),
        pytest.param(
            "[destructive-ops.packs]\nkubernetes = false",
            "destructive-ops.packs.kubernetes: unknown pack; expected `filesystem`, `git` or `sql`",
            id="an-unknown-pack",
        ),
        pytest.param(
            "[destructive-ops.packs]\ngit = 'off'",
            'destructive-ops.packs.git: `"off"` is text; expected `true` or `false`',
            id="a-word-for-a-flag",
        ),
        pytest.param(
            "[destructive-ops.rules]\n'git.push-forced' = 'off'",
            'destructive-ops.rules."git.push-forced": unknown command rule; '
            "did you mean `git.push-force`?",
            id="an-unknown-rule",
        ),
        pytest.param(
            "[destructive-ops.rules]\n'git.push-force' = false",
            'destructive-ops.rules."git.push-force": `false` is a truth value; '
            "expected `off`, `observe`, `warn`, `allow-with-undo`, `ask` or `deny`",
            id="a-flag-for-a-decision",
        ),
        pytest.param(
            "[secrets.rules]\naws = false",
            "secrets.rules.aws: unknown secret rule; expected `aws-access-key` or `private-key`",
            id="an-unknown-kind-of-secret",
        ),
        pytest.param(
            "[tools]\ncarriers = 1",
            "tools.carriers: `1` is a whole number; expected a list, `[[tools.carriers]]`",
            id="a-number-for-carriers",
        ),
        pytest.param(
            "[tools.carriers]\ntools = ['x']",
            "tools.carriers: `{...}` is a table; expected a list, `[[tools.carriers]]`",
            id="one-carrier-for-a-list",
        ),
        pytest.param(
            "[tools]\ncarriers = ['Bash']",
            'tools.carriers[0]: `"Bash"` is text; expected a table',
            id="a-text-for-a-carrier",
        ),
        pytest.param(
            f"[protected-paths]\nentries = [{'{},' * 501}]",
            "protected-paths.entries: 501 entries; expected at most 500",
            id="an-endless-list-of-tables",
        ),
        pytest.param(
            "[[tools.carriers]]\ncommand = ['cmd']",
            "tools.carriers[0]: the key `tools` is missing",
            id="a-carrier-without-tools",
        ),
        pytest.param(
            "[[tools.carriers]]\ntools = []",
            "tools.carriers[0].tools: `[]` is empty; expected at least one tool",
            id="a-carrier-with-no-tool",
        ),
        pytest.param(
            CARRIER + "command = 'cmd'",
            'tools.carriers[0].command: `"cmd"` is text; expected a list',
            id="a-text-for-parameters",
        ),
        pytest.param(
            CARRIER + "command = [1]",
            "tools.carriers[0].command[0]: `1` is a whole number; expected text",
            id="a-number-for-a-parameter",
        ),
        pytest.param(
            CARRIER + "cwd = ['cwd']",
            "tools.carriers[0].cwd: needs `command`, `path`, `edits` or `patch` beside it",
            id="a-folder-without-a-command",
        ),
        pytest.param(
            CARRIER + "content = ['text']",
            "tools.carriers[0].content: needs `path` beside it",
            id="content-without-a-path",
        ),
        pytest.param(
            ENTRY + "decisin = 'block'",
            "protected-paths.entries[0].decisin: unknown key; did you mean `decision`?",
            id="a-misspelt-field-is-not-missing-as-well",
        ),
        pytest.param(
            ENTRY,
            "protected-paths.entries[0]: the key `decision` is missing",
            id="a-missing-field",
        ),
        pytest.param(
            f"{ENTRY}decision = 'block'\n{ENTRY}decision = 'warn'",
            'protected-paths.entries[1].path: `"x"` is already the path of '
            "`protected-paths.entries[0]`",
            id="the-same-path-twice",
        ),
        pytest.param(
            RULE + RULE,
            'rules[1].id: `"a"` is already the id of `rules[0]`',
            id="the-same-rule-twice",
        ),
        pytest.param(
            RULE.replace("'a'", "'git.push-force'"),
            'rules[0].id: `"git.push-force"` is already the id of a built-in rule',
            id="the-id-of-a-built-in-rule",
        ),
        pytest.param(
            RULE.replace("'a'", "1"),
            "rules[0].id: `1` is a whole number; expected text",
            id="a-number-for-an-id",
        ),
        pytest.param(
            RULE + "not-match = []",
            "rules[0].not-match: unknown key; did you mean `not_match`?",
            id="a-hyphen-for-an-underscore",
        ),
        pytest.param(
            RULE + "match = 'ls'",
            'rules[0].match: `"ls"` is text; expected a list',
            id="a-text-for-examples",
        ),
        pytest.param(
            RULE + "match = [3]",
            "rules[0].match[0]: `3` is a whole number; expected a command line or a table",
            id="a-number-for-an-example",
        ),
        pytest.param(
            RULE + "match = [{ name = 'Bash' }]",
            "rules[0].match[0]: expected exactly one of the keys `command`, `tool` or `path`",
            id="an-example-of-nothing",
        ),
        pytest.param(
            RULE + "match = [{ tool = 'Bash', param = {} }]",
            "rules[0].match[0].param: unknown key beside `tool`; did you mean `params`?",
            id="an-example-with-an-unknown-key",
        ),
        pytest.param(
            RULE + "match = [{ command = ['ls'] }]",
            "rules[0].match[0].command: `[...]` is a list; expected text",
            id="an-example-with-a-list-for-a-command",
        ),
        pytest.param(
            RULE + "match = [{ tool = 'Bash', params = { at = 12:00:00 } }]",
            "rules[0].match[0].params.at: `12:00:00` is a date or time; "
            "expected what JSON knows, such as text",
            id="an-example-that-is-not-json",
        ),
    ],
)
def test_names_a_wrong_entry(text: str, complaint: str):
    assert complaints(user=text) == [f"policy.toml: {complaint}"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("diff-size.thresh-old", "is not a key of the policy; did you mean `diff-size.threshold`?"),
        ("diff-size", "is a table; write `diff-size.*` for everything in it"),
        (
            "destructive-ops.rules",
            "is a table; write `destructive-ops.rules.*` for everything in it",
        ),
        ("*", "is not a key of the policy"),
        ("diffsize.*", "is not a table of the policy; did you mean `diff-size.*`?"),
        ("zzz.*", "is not a table of the policy"),
        ("layers.*", "is not a table of the policy"),
        (
            "secrets.fingerprint-key",
            "may be set in the user's file only and cannot be left to a project",
        ),
    ],
)
def test_names_what_cannot_be_left_to_a_project(entry: str, problem: str):
    text = f"[layers]\nproject-may-loosen = ['{entry}']"

    assert complaints(user=text) == [
        f'policy.toml: layers.project-may-loosen[0]: `"{entry}"` {problem}'
    ]
