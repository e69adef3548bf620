"""A policy made ready to judge: what the file says, and everything that is built from it once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interlock.commands.programs.places import Places
from interlock.commands.programs.program_tables import Programs
from interlock.model.review import ReviewGate
from interlock.policy.actions.conditions import Condition
from interlock.policy.actions.parameters import ToolSchema
from interlock.policy.actions.path_guard import PathGuard
from interlock.policy.actions.rulebook import Rulebook
from interlock.policy.config.action_sections import UserRule
from interlock.policy.config.document import Policy
from interlock.policy.config.layers import MergedPolicy
from interlock.secrets.scanner import SecretScanner


class CompiledPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy made ready to judge."""

    config: Policy
    hash: str
    merged: MergedPolicy
    programs: Programs
    places: Places
    rulebook: Rulebook
    scanner: SecretScanner
    guard: PathGuard
    schemas: Mapping[str, ToolSchema]
    user_rules: tuple[tuple[UserRule, Condition], ...]
    review_gates: Mapping[str, ReviewGate]
    """By their ids."""
