"""A policy kept in the ledger: all of it but its one secret, and readable again."""

from __future__ import annotations

import hashlib
import re

import msgspec
import pytest
from hypothesis import given

from interlock.errors import PolicyError
from interlock.policy.config.document import Policy, policy_from_stored, stored_bytes
from policy.documents import Document, documents, loaded
from policy.files import merged

DEFAULTS = merged("").policy
FINGERPRINT_KEY = "not-to-be-found-in-any-ledger-0123456789"


def without_key(policy: Policy) -> Policy:
    secrets = msgspec.structs.replace(policy.secrets, fingerprint_key="")
    return msgspec.structs.replace(policy, secrets=secrets)


@given(documents())
def test_a_stored_policy_is_the_same_when_read_again(document: Document):
    policy = loaded(document).policy

    assert policy_from_stored(stored_bytes(policy), DEFAULTS) == without_key(policy)


@given(documents())
def test_a_policy_that_was_read_again_is_stored_as_the_same_bytes(document: Document):
    body = stored_bytes(loaded(document).policy)

    assert stored_bytes(policy_from_stored(body, DEFAULTS)) == body


@given(documents())
def test_the_fingerprint_key_is_never_stored(document: Document):
    policy = loaded({**document, "secrets": {"fingerprint-key": FINGERPRINT_KEY}}).policy

    assert policy.secrets.fingerprint_key == FINGERPRINT_KEY
    assert FINGERPRINT_KEY.encode() not in stored_bytes(policy)


def test_without_a_fingerprint_key_the_bytes_are_what_the_hash_stands_for():
    policy = merged("[budgets.run]\ncost-usd = 0.1")

    assert hashlib.sha256(stored_bytes(policy.policy)).hexdigest() == policy.hash


def test_patterns_that_were_stored_without_names_are_read():
    body = stored_bytes(merged('[secrets]\npatterns = ["A"]').policy)
    before = re.sub(rb'"patterns":\[\{[^}]*\}\]', b'"patterns":["A"]', body)

    assert before != body
    assert stored_bytes(policy_from_stored(before, DEFAULTS)) == body


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(b"", "input data was truncated", id="nothing"),
        pytest.param(b"{}", "object missing required field `version`", id="empty"),
        pytest.param(
            stored_bytes(merged().policy).replace(b'"nesting":24', b'"nesting":"24"'),
            "expected `int`, got `str` - at `$.limits.nesting`",
            id="text for a number",
        ),
        pytest.param(
            b'{"version":1,"layers":{"project-may-loosen":["\xff"]}}',
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
            id="no text",
        ),
        pytest.param(
            b'{"tools":{"schemas":{"a":{"b":' + b"[" * 100_000,
            "maximum recursion depth exceeded while deserializing an object",
            id="endless",
        ),
    ],
)
def test_says_what_is_wrong_with_what_was_stored(body: bytes, problem: str):
    with pytest.raises(PolicyError) as caught:
        policy_from_stored(body, DEFAULTS)

    assert caught.value.complaints == (f"stored policy: cannot be read: {problem}",)


def test_what_was_not_a_key_yet_is_as_the_defaults_have_it():
    policy = merged("[diff-size]\nthreshold = 7").policy
    kept = msgspec.json.decode(stored_bytes(policy), type=dict[str, msgspec.Raw])
    del kept["approvals"]
    kept["diff-size"] = msgspec.Raw(b'{"threshold": 7}')

    read = policy_from_stored(msgspec.json.encode(kept), DEFAULTS)

    assert read == without_key(policy)
