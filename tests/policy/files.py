"""Building blocks for tests about policy files."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
import pytest

from interlock.errors import PolicyError
from interlock.policy.config.complaints import is_list, is_table
from interlock.policy.config.document import MergedPolicy
from interlock.policy.config.layers import KnownRules, Layer, Role, merge
from interlock.policy.config.parser import read_layer
from interlock.service.policies.builtin_rules import default_lists
from interlock.service.policies.policy_files import default_policy_text

DEFAULTS = default_policy_text()
LISTS = default_lists()

KNOWN = KnownRules(
    packs=frozenset({"filesystem", "git", "sql"}),
    commands={"git.push-force": "require-confirmation", "filesystem.rm-root": "block"},
    secrets=frozenset({"aws-access-key", "private-key"}),
)


def condition_problem(condition: str) -> str | None:
    """Stand in for the compiler of conditions: an open parenthesis is its only mistake."""
    return "missing `)`" if condition.count("(") > condition.count(")") else None


def merged(
    user: str | None = None, project: str | None = None, *, defaults: str = DEFAULTS
) -> MergedPolicy:
    files = (
        (Role.DEFAULT, "defaults.toml", defaults),
        (Role.USER, "policy.toml", user),
        (Role.PROJECT, "interlock.toml", project),
    )
    layers = [_layer(role, name, text) for role, name, text in files if text is not None]
    return merge(layers, KNOWN)


@lru_cache(maxsize=8)
def _layer(role: Role, name: str, text: str) -> Layer:
    # The defaults are by far the longest, and nearly always the same.
    return read_layer(name, text, role, known=KNOWN, compile_condition=condition_problem)


def complaints(user: str | None = None, project: str | None = None) -> list[str]:
    """Return what is wrong; fails where nothing is."""
    with pytest.raises(PolicyError) as caught:
        merged(user, project)
    return list(caught.value.complaints)


def wrapped(sentences: Sequence[str]) -> str:
    """Lay sentences out for a snapshot: one paragraph each, no line too long to read."""
    return "\n".join(
        textwrap.fill(
            sentence, 92, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
        for sentence in sentences
    )


def toml(document: Mapping[str, object]) -> str:
    """Write a document as TOML: one line per key, everything else inline."""
    lines = [f"{_text(name)} = {_inline(value)}" for name, value in document.items()]
    return "\n".join([*lines, ""])


def _inline(value: object) -> str:
    if is_table(value):
        pairs = (f"{_text(name)} = {_inline(item)}" for name, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if is_list(value):
        return f"[{', '.join(map(_inline, value))}]"
    return _text(value)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
