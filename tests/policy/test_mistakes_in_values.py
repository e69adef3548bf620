"""A key or value that is wrong is named with its place and what was expected."""

from __future__ import annotations

import pytest

from policy.files import complaints

RULE = "[[rules]]\nid = 'a'\nwhen = 'true'\ndecision = 'warn'\nmessage = 'm'\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "limits = 3",
            "limits: `3` is a whole number; expected a table, `[limits]`",
            id="a-number-for-a-table",
        ),
        pytest.param(
            "[[limits]]\nnesting = 5",
            "limits: `[...]` is a list; expected a table, `[limits]`",
            id="a-list-for-a-table",
        ),
        pytest.param(
            '"diff-size.threshold" = 3',
            '"diff-size.threshold": unknown key; did you mean `diff-size.threshold`?',
            id="a-quoted-path",
        ),
        pytest.param(
            "threshold = 3",
            "threshold: unknown key; did you mean `diff-size.threshold`?",
            id="a-key-outside-of-its-table",
        ),
        pytest.param(
            "[diffsize]\nthreshold = 3",
            "diffsize: unknown key; did you mean `diff-size`?",
            id="a-misspelt-table",
        ),
        pytest.param(
            "[diff-size]\ncolour = 3",
            "diff-size.colour: unknown key; expected `decision`, `enabled` or `threshold`",
            id="a-key-like-no-other",
        ),
        pytest.param(
            f"[diff-size]\n{'x' * 100} = 3",
            f"diff-size.{'x' * 70}...: unknown key; expected `decision`, `enabled` or `threshold`",
            id="an-endless-name",
        ),
        pytest.param(
            "[diff-size]\nthreshold = true",
            "diff-size.threshold: `true` is a truth value; "
            "expected a whole number from 1 to 1000000",
            id="true-for-a-number",
        ),
        pytest.param(
            "[diff-size]\nthreshold = 3.5",
            "diff-size.threshold: `3.5` is a number with a fraction; "
            "expected a whole number from 1 to 1000000",
            id="a-fraction",
        ),
        pytest.param(
            "[diff-size]\nthreshold = 2026-01-01",
            "diff-size.threshold: `2026-01-01` is a date or time; "
            "expected a whole number from 1 to 1000000",
            id="a-date",
        ),
        pytest.param(
            "[diff-size]\nthreshold = 0",
            "diff-size.threshold: `0` is out of range; expected a whole number from 1 to 1000000",
            id="too-small",
        ),
        pytest.param(
            "[diff-size]\nthreshold = 0xffffffffffffffffffff",
            "diff-size.threshold: `0xffffffffffffffffffff` is out of range; "
            "expected a whole number from 1 to 1000000",
            id="far-too-large",
        ),
        pytest.param(
            "[secrets]\ndecision = ['block']",
            "secrets.decision: `[...]` is a list; expected `warn`, `ask` or `deny`",
            id="a-list-for-a-word",
        ),
        pytest.param(
            "[secrets]\ndecision = {}",
            "secrets.decision: `{...}` is a table; expected `warn`, `ask` or `deny`",
            id="a-table-for-a-word",
        ),
        pytest.param(
            "[secrets]\ndecision = 'Block'",
            'secrets.decision: `"Block"` is unknown; '
            "expected `warn`, `ask` or `deny`; did you mean `block`?",
            id="a-misspelt-word",
        ),
        pytest.param(
            "[secrets]\ndecision = 'allow'",
            'secrets.decision: `"allow"` is unknown; expected `warn`, `ask` or `deny`',
            id="allow-is-no-decision",
        ),
        pytest.param(
            "[destructive-ops.rules]\n'git.push-force' = 'allow'",
            'destructive-ops.rules."git.push-force": `"allow"` is unknown; expected `off`,'
            " `observe`, `warn`, `allow-with-undo`, `ask` or `deny`: a rule never allows, and `off`"
            " switches it off",
            id="a-built-in-rule-never-allows",
        ),
        pytest.param(
            f"[secrets]\ndecision = '{'b' * 100}\\'",
            f'secrets.decision: `"{"b" * 79}...` is unknown; expected `warn`, `ask` or `deny`',
            id="an-endless-value",
        ),
        pytest.param(
            '[secrets]\ndecision = "\\u001b[2J"',
            'secrets.decision: `"\\u001b[2J"` is unknown; expected `warn`, `ask` or `deny`',
            id="a-value-that-a-terminal-would-obey",
        ),
        pytest.param(
            "[tool-allowlist]\ndeny = 'Bash'",
            'tool-allowlist.deny: `"Bash"` is text; expected a list',
            id="a-text-for-a-list",
        ),
        pytest.param(
            "[tool-allowlist]\ndeny = [' ']",
            'tool-allowlist.deny[0]: `" "` is empty; '
            "expected a name, or a glob where a `*` is written",
            id="an-empty-name",
        ),
        pytest.param(
            f"[tool-allowlist]\ndeny = [{'1,' * 501}]",
            "tool-allowlist.deny: 501 entries; expected at most 500",
            id="an-endless-list",
        ),
    ],
)
def test_names_a_wrong_key_or_value(text: str, complaint: str):
    assert complaints(user=text) == [f"policy.toml: {complaint}"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "[secrets]\nallow = ['ab(c']",
            'secrets.allow[0]: `"ab(c"` is not an RE2 pattern: missing ) at position 0',
            id="an-open-group",
        ),
        pytest.param(
            "[secrets]\nallow = ['a(?<!b)']",
            'secrets.allow[0]: `"a(?<!b)"` is not an RE2 pattern: '
            "lookaround is not supported at position 1",
            id="lookaround",
        ),
        pytest.param(
            "[secrets]\nallow = ['(a)\\1']",
            'secrets.allow[0]: `"(a)\\\\1"` is not an RE2 pattern: '
            "invalid escape sequence at position 3",
            id="a-back-reference",
        ),
        pytest.param(
            f"[secrets]\nallow = ['{'a' * 1001}']",
            "secrets.allow[0]: a pattern of 1001 characters; expected at most 1000: "
            "split it into several",
            id="an-endless-pattern",
        ),
        pytest.param(
            "[secrets]\nallow = ['\\pL{1,1000}']",
            'secrets.allow[0]: `"\\\\pL{1,1000}"` is not an RE2 pattern: '
            "pattern too large - compile failed",
            id="a-pattern-that-costs-too-much",
        ),
        pytest.param(
            f"[secrets]\nallow = [{'1,' * 101}]",
            "secrets.allow: 101 entries; expected at most 100",
            id="too-many-patterns",
        ),
        pytest.param(
            "[tools.schemas]\nfetch = 'object'",
            'tools.schemas.fetch: `"object"` is text; expected a table',
            id="a-text-for-a-schema",
        ),
        pytest.param(
            "[tools.schemas.fetch]\nproperties.url.minLength = '1'",
            "tools.schemas.fetch.properties.url.minLength: not a JSON Schema: "
            '"1" is not of type "integer"',
            id="no-schema",
        ),
        pytest.param(
            "[tools.schemas.fetch]\nallOf = [{ required = true }]",
            'tools.schemas.fetch.allOf[0].required: not a JSON Schema: true is not of type "array"',
            id="no-schema-inside-of-a-list",
        ),
        pytest.param(
            "[tools.schemas.fetch]\n'$ref' = 'https://example.com/x.json'",
            "tools.schemas.fetch: not a JSON Schema: resource 'https://example.com/x.json' is "
            "not present in a registry and retrieving it failed: Retrieval is disabled, "
            "cannot fetch https://example.com/x.json",
            id="a-schema-from-elsewhere",
        ),
        pytest.param(
            "[tools.schemas.fetch]\nproperties.url.pattern = '(?=a)'",
            "tools.schemas.fetch.properties.url.pattern: not a JSON Schema: not a pattern; "
            "lookaround and back-references are not supported",
            id="a-schema-with-lookaround",
        ),
        pytest.param(
            "[tools.schemas.fetch]\nenum = [2026-01-01]",
            "tools.schemas.fetch.enum[0]: `2026-01-01` is a date or time; "
            "expected what JSON knows, such as text",
            id="a-schema-with-a-date",
        ),
        pytest.param(
            "[tools.schemas.fetch]\nmaximum = nan",
            "tools.schemas.fetch.maximum: `nan` does not fit; expected a number of at most 64 bits",
            id="a-schema-with-no-number",
        ),
        pytest.param(
            "[tools.schemas.fetch]\nmaximum = 0xffffffffffffffffff",
            "tools.schemas.fetch.maximum: `0xffffffffffffffffff` does not fit; "
            "expected a number of at most 64 bits",
            id="a-schema-with-a-number-too-large",
        ),
        pytest.param(
            RULE.replace("'true'", "'size(('"),
            "rules[0].when: missing `)`",
            id="a-condition-that-does-not-compile",
        ),
        pytest.param(
            RULE.replace("'true'", "''"),
            'rules[0].when: `""` is empty; expected a CEL condition',
            id="no-condition",
        ),
    ],
)
def test_names_what_does_not_compile(text: str, complaint: str):
    assert complaints(user=text) == [f"policy.toml: {complaint}"]
