"""Every key has the direction that it says: which of two values is the stricter one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.config.document import KEYS, Policy
from interlock.policy.config.key import Choice, Flag, Key, Money, Number, Texts, Tighter
from interlock.policy.config.policy_changes import loosened_places
from policy.documents import FEW_DEFAULTS
from policy.files import KNOWN, merged, toml
from policy.strictness import loosened_parts

_UNDIRECTED = {Tighter.KEPT, Tighter.FIXED, Tighter.USER_ONLY}
_DIRECTED = Flag | Choice | Number | Money | Texts
_JUDGED = [
    key for key in KEYS if isinstance(key.shape, _DIRECTED) and key.tighter not in _UNDIRECTED
]
_BESIDE: Mapping[str, Mapping[str, object]] = {
    "tool-allowlist": {"allow": ["ANY_NAME"]},
    "reviews": {"gates": [{"id": each, "check": ["true"]} for each in ("ONE_NAME", "OTHER_NAME")]},
}
"""What a section cannot do without."""


@pytest.mark.parametrize("key", _JUDGED, ids=lambda key: key.path)
def test_a_key_is_tighter_the_way_it_says(key: Key) -> None:
    tight, loose = (_policy_with(key, value) for value in _tight_and_loose(key))

    assert loosened_parts(tight, loose) != set()
    assert loosened_parts(loose, tight) == set()
    assert [leaf.key_path for leaf in loosened_places(tight, loose, KNOWN)] == [key.path]
    assert list(loosened_places(loose, tight, KNOWN)) == []


def _tight_and_loose(key: Key) -> tuple[object, object]:
    match key.shape:
        case Flag():
            return True, False
        case Choice(values=values):
            return values[-1], values[0]
        case Number(minimum=minimum):
            if key.tighter is Tighter.LIMITED:
                return minimum, None
            assert isinstance(key.default, int)
            lower = max(minimum, key.default - 1)
            return (lower, lower + 1) if key.tighter is Tighter.SMALLER else (lower + 1, lower)
        case Money():
            return 0.5, 0.500001
        case _:
            fewer, more = ["ONE_NAME"], ["ONE_NAME", "OTHER_NAME"]
            return (more, fewer) if key.tighter is Tighter.MORE else (fewer, more)


def _policy_with(key: Key, value: object) -> Policy:
    section = dict(_BESIDE.get(key.section, {}))
    if key.switch is not None:
        section["enabled"] = True
    if value is not None:
        section[key.name] = value
    text = toml({key.section: section} if key.section else section)
    return merged(text, defaults=FEW_DEFAULTS).policy


_RULE: Mapping[str, object] = {"id": "own", "when": "true", "decision": "ask", "message": "no"}


@pytest.mark.parametrize(
    ("tight", "loose"),
    [
        ({"mode": "enforce"}, {"mode": "observe"}),
        ({}, {"mode": "observe"}),
        ({"decision": "deny"}, {}),
        ({}, {"decision": "warn"}),
        ({"severity": "high"}, {}),
        ({}, {"on_match": "allow-with-undo"}),
    ],
)
def test_of_two_rules_the_one_that_stops_more_is_stricter(
    tight: Mapping[str, object], loose: Mapping[str, object]
) -> None:
    one, other = (_policy_of({"rules": [{**_RULE, **each}]}) for each in (tight, loose))

    assert _loosened(one, other) == ["rules.own"]
    assert _loosened(other, one) == []
    assert loosened_parts(one, other) == {"rules"}
    assert loosened_parts(other, one) == set()


@given(
    st.sampled_from(["warn", "ask", "deny"]), st.sampled_from(["low", "medium", "high", "critical"])
)
def test_enforcing_what_was_observed_is_never_looser(decision: str, severity: str) -> None:
    rule = {**_RULE, "decision": decision, "severity": severity}
    observed = _policy_of({"rules": [{**rule, "mode": "observe"}]})
    enforced = _policy_of({"rules": [rule]})

    assert _loosened(observed, enforced) == []
    assert _loosened(enforced, observed) == ["rules.own"]


@pytest.mark.parametrize("field", ["match", "not_match"])
def test_the_examples_of_a_rule_make_it_neither_stricter_nor_looser(field: str) -> None:
    plain = _policy_of({"rules": [_RULE]})
    tested = _policy_of({"rules": [{**_RULE, field: ["make deploy"]}]})

    assert _loosened(plain, tested) == _loosened(tested, plain) == []


@pytest.mark.parametrize("field", ["when", "message", "remediation"])
def test_any_other_change_of_a_rule_counts_as_looser(field: str) -> None:
    changed = _policy_of({"rules": [{**_RULE, field: "1 < 2"}]})

    assert _loosened(_policy_of({"rules": [_RULE]}), changed) == ["rules.own"]


def _policy_of(document: Mapping[str, object]) -> Policy:
    return merged(toml(document)).policy


def _loosened(before: Policy, after: Policy) -> list[str]:
    return [leaf.path for leaf in loosened_places(before, after, KNOWN)]
