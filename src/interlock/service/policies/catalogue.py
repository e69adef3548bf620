"""Every rule there is, and what the policy makes of it: for listings and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from interlock.model.verdict import DESTRUCTIVE_OPS, USER_RULES, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.rule_packs import Pack
from interlock.policy.config.action_sections import DestructiveOps
from interlock.policy.config.key import OBSERVE
from interlock.policy.gates.judgement import is_observed
from interlock.service.policies.builtin_rules import (
    command_packs,
    packs_with_examples,
    secret_rules,
)
from interlock.service.policies.rule_tests import shown

SECRETS: Final = "secrets"
OWN_RULES: Final = "rules"
_OFF: Final = "off"


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One rule as the policy has it."""

    id: str
    pack: str
    decision: str
    """A decision, `allow-with-undo`, `observe` or `off`."""
    mode: str = "enforce"
    """`observe` where it is only observed: it tells what it would have done."""
    severity: Severity
    reason: str
    remediation: str
    when: str = ""
    """The condition of a rule that somebody wrote; a built-in one reads commands another way."""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


def catalogue(gates: CompiledPolicy) -> tuple[CatalogueEntry, ...]:
    """Return the rules of all packs, then the kinds of credentials, then the user's own rules."""
    settings = gates.config.destructive_ops
    entries = [entry for pack in packs_with_examples() for entry in _of_pack(pack, settings)]
    every = (*entries, *_of_secrets(gates), *_of_user(gates))
    return tuple(
        msgspec.structs.replace(entry, mode=OBSERVE) if _is_observed(entry, gates) else entry
        for entry in every
    )


def _is_observed(entry: CatalogueEntry, gates: CompiledPolicy) -> bool:
    gate = {SECRETS: SECRETS, OWN_RULES: USER_RULES}.get(entry.pack, DESTRUCTIVE_OPS)
    return entry.decision != _OFF and is_observed(gate, entry.id, entry.severity, gates)


def pack_titles() -> dict[str, str]:
    """Return every pack with what it is about, in the order of the catalogue."""
    titles = {pack.id: f"{pack.head.title}. {pack.head.about}" for pack in command_packs()}
    return {
        **titles,
        SECRETS: "Credentials. What stands in commands, parameters and files and must not.",
        OWN_RULES: "Your own rules. Conditions written in the policy.",
    }


def _of_pack(pack: Pack, settings: DestructiveOps) -> Iterator[CatalogueEntry]:
    is_on = settings.enabled and settings.packs.get(pack.id, True)
    for rule in pack.rules:
        rule_id = f"{pack.id}.{rule.id}"
        yield CatalogueEntry(
            id=rule_id,
            pack=pack.id,
            decision=settings.rules.get(rule_id, rule.decision.value) if is_on else _OFF,
            severity=rule.severity,
            reason=rule.reason,
            remediation=rule.remediation,
            match=rule.match,
            not_match=rule.not_match,
        )


def _of_secrets(gates: CompiledPolicy) -> Iterator[CatalogueEntry]:
    settings = gates.config.secrets
    for rule in secret_rules():
        is_on = settings.enabled and settings.rules.get(rule.name, True)
        yield CatalogueEntry(
            id=f"{SECRETS}.{rule.name}",
            pack=SECRETS,
            decision=settings.decision.value if is_on else _OFF,
            severity=rule.severity,
            reason=rule.title,
            remediation=rule.remediation or "read it from the environment or a secret store",
        )


def _of_user(gates: CompiledPolicy) -> Iterator[CatalogueEntry]:
    for rule in gates.config.rules:
        yield CatalogueEntry(
            id=rule.id,
            pack=OWN_RULES,
            decision=rule.on_match or rule.decision.value,
            severity=rule.severity,
            reason=rule.message,
            remediation=rule.remediation,
            when=rule.when,
            match=tuple(map(shown, rule.match)),
            not_match=tuple(map(shown, rule.not_match)),
        )
