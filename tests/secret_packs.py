"""All rules for credentials, one scanner with all of them, and the corpus of cases."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import msgspec

from interlock.secrets.credential_rules import CredentialPack, SecretRule
from interlock.secrets.scanner import SecretScanner
from secret_generator import examples_of, from_template

_ROOT = Path(__file__).parents[1]
PACKS = sorted((_ROOT / "src/interlock/secrets/packs").glob("*.toml"))


def rules_from_toml(text: str) -> list[SecretRule]:
    """Return the rules of a pack."""
    return msgspec.toml.decode(text, type=CredentialPack).rules()


RULES: tuple[SecretRule, ...] = tuple(
    rule for path in PACKS for rule in rules_from_toml(path.read_text("utf-8"))
)
SCANNER = SecretScanner(RULES)


class Case(NamedTuple):
    """A text with what must be said to it, credentials filled in."""

    id: str
    text: str
    expect: str


def cases() -> list[Case]:
    """Return the corpus, with made-up credentials in place of their names."""
    document = tomllib.loads((_ROOT / "tests/cases/secrets.toml").read_text("utf-8"))
    return [Case(case["id"], filled_in(case["text"]), case["expect"]) for case in document["case"]]


def filled_in(text: str) -> str:
    """Replace `<<rule-id>>` and `<<gen:TEMPLATE>>`, every place with its own seed."""
    return re.sub(r"<<(.+?)>>", lambda match: _made_up(match[1], match.start()), text)


def _made_up(name: str, seed: int) -> str:
    if name.startswith("gen:"):
        return from_template(name.removeprefix("gen:"), seed)
    rule = next(rule for rule in RULES if rule.id == name)
    return examples_of(rule, seed)[0]
