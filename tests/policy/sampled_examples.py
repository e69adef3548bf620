"""Fewer examples of the built-in rules, for tests about the command that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from msgspec.structs import replace

from effort import rounds
from interlock.policy.actions.rule_packs import Pack
from interlock.service.policies import builtin_rules

_ALL_PACKS = builtin_rules.packs_with_examples


def sample_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `policy test` run the examples of some rules of each pack: all of them take seconds."""
    monkeypatch.setattr(builtin_rules, "packs_with_examples", _sampled_packs)


@cache
def _sampled_packs() -> Sequence[Pack]:
    every = rounds(short=6, soak=1)
    return tuple(replace(each, rules=each.rules[::every]) for each in _ALL_PACKS())
