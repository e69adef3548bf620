"""A policy as it is kept beside the decisions that were made under it."""

from __future__ import annotations

import msgspec

from interlock.errors import PolicyError
from interlock.policy.config.assembly import canonical_bytes
from interlock.policy.config.document import Policy
from interlock.policy.config.syntax import is_table


def stored_bytes(policy: Policy) -> bytes:
    """Return the policy as canonical JSON, without the fingerprint key: nobody may find it there.

    Two policies that differ in nothing else have the same bytes, but not the same hash.
    """
    secrets = msgspec.structs.replace(policy.secrets, fingerprint_key="")
    return canonical_bytes(msgspec.structs.replace(policy, secrets=secrets))


def policy_from_stored(body: bytes, defaults: Policy) -> Policy:
    """Return the policy that was stored, with no fingerprint key; raise where it is none.

    What was not a key yet when it was stored is as the defaults have it.
    """
    try:
        kept = msgspec.json.decode(body, type=dict[str, object])
        every = msgspec.json.decode(stored_bytes(defaults), type=dict[str, object])
        return msgspec.convert(_completed(kept, every), Policy)
    except (ValueError, RecursionError) as error:
        problem = f"{str(error)[:1].lower()}{str(error)[1:]}"
        raise PolicyError([f"stored policy: cannot be read: {problem}"]) from error


def _completed(kept: dict[str, object], defaults: dict[str, object]) -> dict[str, object]:
    """Return every section with every key; what stands outside of sections is never made up."""
    sections = {name: section for name, section in defaults.items() if is_table(section)}
    return kept | {
        name: {**section, **own} if is_table(own := kept.get(name, {})) else own
        for name, section in sections.items()
    }
