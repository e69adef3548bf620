"""Every mistake in a policy file is named, all at once, and each only once."""

from __future__ import annotations

import pytest
from policy.files import DEFAULTS, KNOWN, complaints, condition_problem, merged
from inline_snapshot import snapshot

from interlock.errors import PolicyError
from interlock.policy.layer import Source
from interlock.policy.layering import merge

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
type = "objekt"

[destructive-ops]
unresolved = "ask"
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
threshhold = 500

[[protected-paths.entries]]
path = "~/notes/**"
decision = "forbid"

[[rules]]
id = "No Deploys"
when = "size(("
decision = "block"
message = "no"
"""


def test_names_twenty_mistakes_at_once():
    assert complaints(user=TWENTY_MISTAKES) == snapshot(
        [
            "policy.toml: version: `2` is out of range; expected `1`",
            "policy.toml: colour: unknown key; expected `destructive-ops`, `diff-size`, `layers`, `limits`, `protected-paths`, `rules`, `secrets`, `tool-allowlist`, `tools` or `version`",
            'policy.toml: limits.command-bytes: `"64k"` is text; expected a whole number from 1024 to 1048576',
            "policy.toml: limits.nesting: `1000` is out of range; expected a whole number from 4 to 64",
            'policy.toml: tool-allowlist.enabled: `"yes"` is text; expected `true` or `false`',
            "policy.toml: tool-allowlist.allow[1]: `7` is a whole number; expected text",
            "policy.toml: tool-allowlist.denny: unknown key; did you mean `deny`?",
            "policy.toml: tools.schemas.fetch.type: not a JSON Schema: \"objekt\" is not valid under any of the schemas listed in the 'anyOf' keyword",
            'policy.toml: destructive-ops.unresolved: `"ask"` is unknown; expected `off`, `warn`, `require-confirmation` or `block`',
            'policy.toml: destructive-ops.scratch-folders: `"build"` is text; expected a list of texts',
            "policy.toml: destructive-ops.packs.gti: unknown pack; did you mean `git`?",
            'policy.toml: destructive-ops.rules."git.push-forc": unknown command rule; did you mean `git.push-force`?',
            'policy.toml: destructive-ops.rules."filesystem.rm-root": `"never"` is unknown; expected `off`, `warn`, `require-confirmation` or `block`',
            'policy.toml: secrets.allow[0]: `"test-(?=fixture)"` is not an RE2 pattern: lookaround is not supported at position 5',
            'policy.toml: secrets.allow[1]: `"[a-"` is not an RE2 pattern: missing ] at position 0',
            "policy.toml: secrets.fingerprint-key: the key has 5 characters; expected none or at least 32: `interlock init --user` writes a fresh one",
            "policy.toml: diff-size.threshhold: unknown key; did you mean `threshold`?",
            'policy.toml: protected-paths.entries[0].decision: `"forbid"` is unknown; expected `off`, `warn`, `require-confirmation` or `block`',
            'policy.toml: rules[0].id: `"No Deploys"` is not an id; expected an id of lower-case letters, digits, `.`, `_` and `-`',
            'policy.toml: rules[0].when: `"size(("` is not a CEL condition: missing `)`',
        ]
    )
    assert len(complaints(user=TWENTY_MISTAKES)) == 20
