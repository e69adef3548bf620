"""What is different between two policies, told line by line."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from inline_snapshot import snapshot

from effort import examples
from interlock.policy.config.document import policy_from_stored, stored_bytes
from interlock.policy.config.policy_changes import (
    held_to,
    loosenings_between,
    policy_changes_between,
)
from policy.documents import Document, documents, loaded
from policy.files import KNOWN, merged, toml, wrapped

slow = examples(15, soak=500)
KEY = "not-to-be-shown-to-anybody-0123456789"

OLD = """\
[tool-allowlist]
deny = ["Bash", "Read"]
[tools.schemas.fetch]
type = "object"
maxProperties = 3
[[tools.carriers]]
tools = ["deploy"]
command = ["line"]
[destructive-ops.rules]
"git.push-force" = "warn"
[diff-size]
threshold = 300
[[protected-paths.entries]]
path = "~/diary"
decision = "warn"
[budgets.run]
tool-calls = 10
cost-usd = 2.5
[[budgets.prices]]
model = "small"
input-usd = 0.5
output-usd = 1
[[rules]]
id = "old"
when = "true"
decision = "warn"
message = "no"
"""

NEW = """\
[tool-allowlist]
deny = ["Read", "Write"]
[tools.schemas.fetch]
type = "object"
required = ["url"]
[[tools.carriers]]
tools = ["deploy"]
command = ["line"]
[[tools.carriers]]
tools = ["deploy"]
patch = ["diff"]
[diff-size]
threshold = 200
enabled = false
[[protected-paths.entries]]
path = "~/diary"
decision = "block"
reason = "it is private"
[budgets.run]
tokens = 100_000
cost-usd = 10
[[budgets.prices]]
model = "small"
input-usd = 0.25
output-usd = 1
[evaluators]
forbidden-commands = ["sudo"]
[[rules]]
id = "new"
when = "false"
decision = "block"
message = "no"
"""


def changes(old: str, new: str) -> list[str]:
    return list(policy_changes_between(merged(old).policy, merged(new).policy))


def test_tells_every_change_once():
    assert wrapped(changes(OLD, NEW)) == snapshot("""\
`tool-allowlist.deny`: adds "Write"; takes away "Bash"
`tools.carriers.deploy`: adds {"patch":["diff"]}
`tools.schemas.fetch`: maxProperties 3 → nothing; required nothing → ["url"]
`destructive-ops.rules."git.push-force"`: taken away (was "warn")
`diff-size.enabled`: true → false
`diff-size.threshold`: 300 → 200
`protected-paths.entries."~/diary"`: decision "warn" → "block"; reason "the policy protects
    it" → "it is private"
`budgets.run.cost-usd`: 2.5 → 10
`budgets.run.tokens`: set to 100000
`budgets.run.tool-calls`: taken away (was 10)
`budgets.prices.small`: input-usd 0.5 → 0.25
`evaluators.forbidden-commands`: adds "sudo"
`rules.new`: set to deny when false
`rules.old`: taken away (was warn when true)\
""")


def test_tells_the_way_back_as_well():
    assert len(changes(NEW, OLD)) == len(changes(OLD, NEW))
    assert "`diff-size.threshold`: 200 → 300" in changes(NEW, OLD)


def test_tells_nothing_of_the_fingerprint_key():
    keyed = f"[secrets]\nfingerprint-key = '{KEY}'\n"

    assert changes("", keyed) == []
    assert changes(keyed, keyed.replace("shown", "known")) == []


def test_two_long_texts_with_the_same_beginning_are_two():
    old, new = (f"[secrets]\nallow = ['{'a' * 100}{end}']" for end in "bc")

    assert changes(old, new) == [f'`secrets.allow`: adds "{"a" * 79}...; takes away "{"a" * 79}...']


def test_in_a_schema_true_is_not_one():
    old, new = (f"[tools.schemas.fetch]\nconst = {value}" for value in ("1", "true"))

    assert changes(old, new) == ["`tools.schemas.fetch`: const 1 → true"]


def test_the_order_of_carriers_is_no_change():
    command = "[[tools.carriers]]\ntools = ['x']\ncommand = ['p']\n"
    patch = "[[tools.carriers]]\ntools = ['x']\npatch = ['p']\n"
    # A policy sorts its carriers by their tools first: `y` moves one of them to the front.
    patch_for_both = patch.replace("['x']", "['x', 'y']")

    assert changes(command + patch, command + patch_for_both) == [
        "`tools.carriers.y`: set to patch"
    ]


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("['say', 'b', 'a']", '["say","a","b"] → ["say","b","a"]'),
        ("['say', 'a', 'b', 'b']", '["say","a","b"] → ["say","a","b","b"]'),
        ("['say', 'a', 'c']", 'adds "c"; takes away "b"'),
    ],
)
def test_the_order_of_words_is_a_change_where_it_counts(new: str, told: str):
    old = "[notifications]\ncommand = ['say', 'a', 'b']"

    assert changes(old, f"[notifications]\ncommand = {new}") == [f"`notifications.command`: {told}"]


@slow
@given(documents(), documents())
def test_tells_something_exactly_where_something_differs(one: Document, other: Document):
    old, new = loaded(one).policy, loaded(other).policy
    told = policy_changes_between(old, new)

    assert (told == ()) == (stored_bytes(old) == stored_bytes(new))
    assert all(": " in line and not line.endswith(": ") for line in told)


@slow
@given(documents(), documents())
def test_a_stored_policy_is_compared_like_the_one_that_was_stored(one: Document, other: Document):
    old, new = loaded(one).policy, loaded(other).policy
    stored = policy_from_stored(stored_bytes(old), merged("").policy)

    assert policy_changes_between(stored, new) == policy_changes_between(old, new)


@pytest.mark.parametrize(
    ("tool", "place"), [("fetch", "fetch"), ("a.b", '"a.b"'), ("two words", '"two words"')]
)
def test_a_place_is_named_as_it_is_written(tool: str, place: str):
    old = toml({"tools": {"schemas": {tool: {"type": "object"}}}})

    assert changes(old, "") == [f'`tools.schemas.{place}`: taken away (was {{"type":"object"}})']


_PRICE = "[[budgets.prices]]\nmodel = 'm'\ninput-usd = 1\noutput-usd = 2\n"
_RULE_A = "[[rules]]\nid = 'a'\nwhen = 'true'\ndecision = 'warn'\nmessage = 'm'\n"


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        (_RULE_A, "", ["rules.a"]),
        ("", _RULE_A, []),
        (_RULE_A, _RULE_A.replace("warn", "block"), []),
        (_RULE_A.replace("warn", "block"), _RULE_A, ["rules.a"]),
        ("[budgets.run]\ntokens = 5", "", ["budgets.run.tokens"]),
        ("", "[budgets.run]\ntokens = 5", []),
        ("", _PRICE, ["budgets.prices.m"]),
        (_PRICE, "", ["budgets.prices.m"]),
        (
            "[destructive-ops.rules]\n'git.push-force' = 'block'",
            "",
            ['destructive-ops.rules."git.push-force"'],
        ),
        ("[destructive-ops.rules]\n'git.push-force' = 'warn'", "", []),
        ("[secrets.rules]\nprivate-key = false", "", []),
        ("", "[secrets.rules]\nprivate-key = false", ["secrets.rules.private-key"]),
        ("[secrets]\nenabled = false\nallow = []", "[secrets]\nenabled = false\nallow = ['x']", []),
        ("", f"[secrets]\nfingerprint-key = '{'k' * 32}'", []),
        ("[steps]\nmax-total = 9", "", ["steps.max-total"]),
        ("", "[steps]\nmax-total = 9", []),
        (
            "",
            "[layers]\nproject-may-loosen = ['diff-size.threshold']",
            ["layers.project-may-loosen"],
        ),
        ("[tools.schemas.Bash]\ntype = 'object'", "", ["tools.schemas.Bash"]),
    ],
)
def test_what_is_looser_than_before_is_told(old: str, new: str, places: list[str]) -> None:
    before, after = merged(old).policy, merged(new).policy

    told = loosenings_between(before, after, KNOWN)

    assert [line.split("`")[1] for line in told] == places
    assert set(told) <= set(policy_changes_between(before, after))
    assert loosenings_between(before, before, KNOWN) == ()


def test_of_long_texts_the_part_is_shown_that_differs() -> None:
    rule = "[[rules]]\nid = 'r'\nwhen = '{}'\ndecision = 'warn'\nmessage = 'm'\n"
    many = " || ".join(f'tool == "word{number}"' for number in range(9))
    old, new = (f'{many} || cwd == "{folder}" || {many}' for folder in ("/src/one", "/src/two"))
    before, after = merged(rule.format(old)).policy, merged(rule.format(new)).policy

    assert policy_changes_between(before, after) == (
        '`rules.r`: when …d == \\"/src/one\\" || tool =… → …d == \\"/src/two\\" || tool =…',
    )


@slow
@given(documents(), documents())
def test_a_policy_that_is_held_is_looser_in_no_place_and_as_tight_as_it_was(
    one: Document, other: Document
) -> None:
    counts, policy = loaded(one), loaded(other)
    held = held_to(counts.policy, policy, KNOWN)

    assert loosenings_between(counts.policy, held.policy, KNOWN) == ()
    waiting = policy_changes_between(held.policy, policy.policy)
    assert len(waiting) == len(loosenings_between(counts.policy, policy.policy, KNOWN))
    assert held.policy.secrets.fingerprint_key == policy.policy.secrets.fingerprint_key


def test_only_what_is_looser_is_held() -> None:
    rule = "[[rules]]\nid = 'r'\nwhen = '{}'\ndecision = 'warn'\nmessage = 'm'\n"
    counts = merged("[limits]\nnesting = 20\n" + rule.format("true"))
    new = "[limits]\nnesting = 30\n[diff-size]\nthreshold = 9\n" + rule.format("false")
    file = merged(new + "[destructive-ops.rules]\n'git.push-force' = 'off'")
    held = held_to(counts.policy, file, KNOWN)

    assert policy_changes_between(counts.policy, held.policy) == ("`diff-size.threshold`: 300 → 9",)
    both = msgspec.structs.replace(file, find_user_level=lambda: counts)
    assert held_to(counts.policy, both, KNOWN).user_level.hash == counts.hash


_PRICED = "[[budgets.prices]]\nmodel = 'mine'\ninput-usd = {}\noutput-usd = {}\n"


@pytest.mark.parametrize(
    ("old", "new", "is_looser"),
    [
        ("", _PRICED.format(1, 2), False),
        ("", _PRICED.format(0, 0), True),
        (_PRICED.format(1, 2), _PRICED.format(1, 1), True),
        (_PRICED.format(1, 2), "", True),
    ],
    ids=["a first price", "for free", "a lower one", "taken away"],
)
def test_a_first_price_is_not_looser_than_none(old: str, new: str, *, is_looser: bool) -> None:
    before, after = merged(old).policy, merged(new).policy
    unpriced = msgspec.structs.replace(KNOWN, unpriced_models=frozenset({"mine"}))

    assert bool(loosenings_between(before, after, unpriced)) is is_looser
    assert loosenings_between(before, after, KNOWN) != ()


def test_the_users_policy_is_what_is_left_without_the_projects() -> None:
    both, alone = merged("[limits]\nnesting = 20", "[limits]\nnesting = 8"), merged("")
    found = msgspec.structs.replace(both, find_user_level=lambda: alone)

    assert both.user_level is both
    assert found.user_level is alone
