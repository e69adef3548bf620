"""What comes with Interlock: rules for commands, kinds of credentials, tables of programs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from interlock.commands.programs.places import PlaceList
from interlock.commands.programs.program_tables import Program, Programs
from interlock.policy.actions.rule_packs import Pack
from interlock.policy.config.document import Policy
from interlock.secrets.credential_rules import CredentialPack, SecretRule
from interlock.service.policies.rule_compiler import (
    COMPILED,
    KEYS,
    PACKAGE,
    POLICY,
    CompiledFile,
    Document,
    checksum_of,
    documents_in,
    file_of,
    rule_texts,
)

if TYPE_CHECKING:
    from interlock.policy.config.layers import KnownRules, Layer


_Scopes = dict[str, dict[str, object]]


class ProgramTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of programs and of places."""

    programs: Mapping[str, Program]
    places: Mapping[str, PlaceList]


class DefaultPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The policy that counts where no file says anything."""

    policy: Policy
    hash: str


class PolicyTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the policy says where no file does and a field would be too small for it."""

    defaults: Mapping[str, object]
    presets: Mapping[str, Mapping[str, object]]
    merged: DefaultPolicy | None = None
    """None where it has to be merged first."""


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that comes with Interlock, by the names of its files."""

    packs: Mapping[str, Pack]
    secrets: Mapping[str, CredentialPack]
    programs: ProgramTables
    policy: PolicyTables


def command_packs() -> tuple[Pack, ...]:
    """Return the packs that judge commands; their examples may be left out."""
    return tuple(builtin_tables().packs.values())


@cache
def packs_with_examples() -> tuple[Pack, ...]:
    """Return the same packs with the examples that test them."""
    from interlock.service.policies.builtin_files import pack_from_toml  # noqa: PLC0415 - most processes need no examples

    packs = rule_texts()["packs"]
    return tuple(pack_from_toml(file_of("packs", name), text) for name, text in packs.items())


@cache
def secret_rules() -> tuple[SecretRule, ...]:
    """Return the rules that find credentials; their examples may be left out."""
    return tuple(rule for file in builtin_tables().secrets.values() for rule in file.rules())


@cache
def programs() -> Programs:
    """Return what is known of programs."""
    return Programs(builtin_tables().programs.programs)


@cache
def known_rules() -> KnownRules:
    """Return the ids that a policy may name."""
    from interlock.policy.config.layers import KnownRules  # noqa: PLC0415 - most processes read no file

    packs = command_packs()
    return KnownRules(
        packs=frozenset(pack.id for pack in packs),
        commands={
            f"{pack.id}.{rule.id}": rule.decision.value for pack in packs for rule in pack.rules
        },
        secrets=frozenset(rule.name for rule in secret_rules()),
    )


def default_lists() -> Mapping[str, object]:
    """Return the defaults of the policy that stand in no field."""
    return builtin_tables().policy.defaults


def preset_limits(preset: str) -> Mapping[str, object]:
    """Return what one run may spend by a preset, as its file says it."""
    budgets = msgspec.convert(builtin_tables().policy.presets[preset]["budgets"], _Scopes)
    return budgets["run"]


def builtin_layer() -> Layer:
    """Return what holds where no file says otherwise, with what each preset says instead."""
    from interlock.policy.config.layers import default_layer  # noqa: PLC0415 - most processes read no file

    tables = builtin_tables().policy
    return default_layer(tables.defaults, tables.presets)


@cache
def rules_digest() -> bytes:
    """Return what stands for all rules and tables, to the byte."""
    import hashlib  # noqa: PLC0415 - only what is recorded says by which rules it was judged

    digest = hashlib.sha256()
    for kind, texts in rule_texts().items():
        for name, text in texts.items() if kind not in (POLICY, KEYS) else ():
            digest.update(f"{kind}/{name}/{len(text)}/".encode())
            digest.update(text)
    return digest.digest()


@cache
def builtin_tables() -> Tables:
    """Return everything that comes with Interlock."""
    texts = rule_texts()
    compiled = PACKAGE / COMPILED
    # What is not there, or was made by another version, does not count.
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        file = msgspec.msgpack.decode(compiled.read_bytes(), type=CompiledFile)
        if file.checksum == checksum_of(texts):
            return msgspec.msgpack.decode(file.tables, type=Tables)
    return tables_from(documents_in(texts))


def tables_from(documents: Mapping[str, Mapping[str, Document]]) -> Tables:
    """Return the tables in the parsed TOML files; raise RulesError for a file with a mistake."""
    from interlock.service.policies import builtin_files  # noqa: PLC0415 - most processes read the compiled file

    packs, secrets = documents["packs"], documents["secrets"]
    known, policy = documents["programs"], documents[POLICY]
    builtin_files.check_defaults(file_of(POLICY, "defaults"), policy["defaults"])
    builtin_files.check_presets(file_of(POLICY, "presets"), policy["presets"], policy["defaults"])
    return Tables(
        packs={
            name: builtin_files.pack_from_document(file_of("packs", name), document)
            for name, document in packs.items()
        },
        secrets={
            name: builtin_files.credentials_from_document(file_of("secrets", name), document)
            for name, document in secrets.items()
        },
        programs=ProgramTables(
            programs=builtin_files.convert_document(
                file_of("programs", "programs"), known["programs"], dict[str, Program]
            ),
            places=builtin_files.places_from_document(
                file_of("programs", "places"), known["places"]
            ),
        ),
        policy=msgspec.convert(policy, PolicyTables),
    )
