"""A rule may allow what can be put back: how that is written, and who may write it."""

from __future__ import annotations

import tomllib

import jsonschema_rs
import pytest

from gates.policies import gates_with
from interlock import Decision
from interlock.policy.config.reference import policy_json_schema
from interlock.service.policies.catalogue import catalogue
from policy.files import LISTS, complaints, merged
from undo_snapshots.workplace import POLICY, RULE

OWN = "[[rules]]\nid = 'a'\nwhen = 'true'\nmessage = 'm'\n"
PACKED = "[destructive-ops.rules]\n'git.push-force' = "
SCHEMA = jsonschema_rs.Draft202012Validator(policy_json_schema(LISTS))


def test_nothing_is_allowed_with_undo_by_itself():
    policy = merged().policy

    assert policy.destructive_ops.rules == {}
    assert policy.rules == ()


def test_a_rule_of_a_pack_may_allow_with_undo():
    policy = merged(PACKED + "'allow-with-undo'").policy

    assert policy.destructive_ops.rules == {"git.push-force": "allow-with-undo"}


@pytest.mark.parametrize("decision", ["", "decision = 'require-confirmation'\n"])
def test_a_rule_of_ones_own_may_allow_with_undo(decision: str):
    [rule] = merged(f"{OWN}{decision}on_match = 'allow-with-undo'").policy.rules

    assert rule.on_match == "allow-with-undo"
    assert rule.decision is Decision.REQUIRE_CONFIRMATION


def test_a_rule_that_says_nothing_of_it_does_not():
    [rule] = merged(f"{OWN}decision = 'block'").policy.rules

    assert rule.on_match is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (OWN, "rules[0]: the key `decision` is missing"),
        (
            f"{OWN}decision = 'block'\non_match = 'allow-with-undo'",
            'rules[0].on_match: `"allow-with-undo"` asks a person where nothing can be copied, and'
            ' does not go with `"block"`; leave `decision` out',
        ),
        (
            f"{OWN}on_match = 'allow'",
            'rules[0].on_match: `"allow"` is unknown; expected `allow-with-undo`',
        ),
        (
            f"{OWN}decision = 'allow-with-undo'",
            'rules[0].decision: `"allow-with-undo"` is unknown; expected `warn`, `ask` or `deny`',
        ),
        (f"{OWN}on-match = 'allow-with-undo'", "rules[0].on-match: unknown key"),
        (
            "[secrets]\ndecision = 'allow-with-undo'",
            'secrets.decision: `"allow-with-undo"` is unknown',
        ),
        (
            PACKED + "{ on_match = 'allow-with-undo' }",
            'destructive-ops.rules."git.push-force": `{...}` is a table; expected `off`,'
            " `observe`, `warn`, `allow-with-undo`, `ask` or `deny`",
        ),
    ],
)
def test_a_wrong_way_to_write_it_is_named(text: str, complaint: str):
    [told, *_] = complaints(user=text)

    assert told.startswith(f"policy.toml: {complaint}")


@pytest.mark.parametrize(
    ("below", "above", "allowed"),
    [
        ("warn", "allow-with-undo", True),
        ("off", "allow-with-undo", True),
        ("allow-with-undo", "require-confirmation", True),
        ("allow-with-undo", "block", True),
        ("allow-with-undo", "allow-with-undo", True),
        ("allow-with-undo", "warn", False),
        ("require-confirmation", "allow-with-undo", False),
        ("block", "allow-with-undo", False),
    ],
)
def test_it_is_stricter_than_a_warning_and_looser_than_a_question(
    below: str, above: str, allowed: bool
):
    user, project = f"{PACKED}'{below}'", f"{PACKED}'{above}'"

    if allowed:
        rules = merged(user, project).policy.destructive_ops.rules
        assert rules["git.push-force"] == above
    else:
        [complaint] = complaints(user, project)
        short = {"require-confirmation": "ask", "block": "deny"}.get(below, below)
        assert f'`"{above}"` is looser than `"{short}"` of policy.toml' in complaint


def test_a_project_may_not_spare_itself_the_question():
    [complaint] = complaints(project=PACKED + "'allow-with-undo'")

    assert "is looser than" in complaint
    assert "a project may only tighten" in complaint


def test_a_project_may_not_loosen_the_users_own_rule():
    asks = f"{OWN}decision = 'require-confirmation'"

    [complaint] = complaints(asks, f"{OWN}on_match = 'allow-with-undo'")

    assert "differs from the entry of the same name" in complaint


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (PACKED + "'allow-with-undo'", True),
        (f"{OWN}on_match = 'allow-with-undo'", True),
        (f"{OWN}decision = 'warn'", True),
        (OWN, False),
        (f"{OWN}on_match = 'warn'", False),
    ],
)
def test_editors_know_it_too(text: str, valid: bool):
    assert SCHEMA.is_valid(tomllib.loads(text)) is valid


def test_the_catalogue_shows_it():
    shown = {entry.id: entry.decision for entry in catalogue(gates_with(POLICY))}

    assert shown[RULE] == "allow-with-undo"
    assert shown["mind-files"] == "allow-with-undo"
