"""The bytes that a policy is known by."""

from __future__ import annotations

from interlock.policy.config.complaints import suggestion
from interlock.policy.config.document import canonical_bytes, policy_from_stored, stored_bytes
from policy.files import merged


def schema_with(number: str) -> str:
    return f"[tools.schemas.fetch]\nanyOf = [{{ maximum = {number} }}]\n"


def test_fractions_are_written_as_python_writes_them():
    assert b'"maximum":1e+300' in canonical_bytes(merged(schema_with("1e300")).policy)
    assert b'"maximum":0.1}' in canonical_bytes(merged(schema_with("0.1")).policy)


def test_a_whole_number_is_the_same_however_it_is_written():
    assert merged(schema_with("2.0")).hash == merged(schema_with("2")).hash


def test_a_fraction_is_not_the_text_of_it():
    number = merged("[tools.schemas.fetch]\nconst = 0.5")
    text = merged("[tools.schemas.fetch]\nconst = '0.5'")

    assert number.hash != text.hash


def test_a_text_and_a_switch_beside_a_fraction_stay_what_they_are():
    told = 'enum = ["a", true, 0.5]'
    policy = merged(f"[tools.schemas.fetch]\n{told}").policy

    stored = policy_from_stored(stored_bytes(policy), merged("").policy)

    assert stored == policy
    assert b'["a",true,0.5]' in canonical_bytes(policy)


def test_the_fingerprint_key_is_part_of_what_the_hash_stands_for():
    assert merged(f"[secrets]\nfingerprint-key = '{'k' * 32}'").hash != merged().hash


def test_a_suggestion_never_lists_a_whole_catalogue():
    many = [f"pack-{number:03}" for number in range(25)]

    assert suggestion("zzz", many) == ""
    assert suggestion("pack-0001", many) == "; did you mean `pack-001`?"
