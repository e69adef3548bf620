"""Which policy is in force here, in a few figures: for `status`, `init` and whoever asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from interlock.model.budget import Dimension
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.settings import Places
from interlock.views import units


class PolicySummary(msgspec.Struct, frozen=True, kw_only=True):
    """The policy that is in force."""

    preset: str
    origin: str
    """Whose file chose the preset: `default`, `user` or `project`."""
    mode: str
    files: tuple[str, ...]
    """The files that were read, the user's first."""
    hash: str
    rules: int
    """How many built-in rules about commands are on."""
    own_rules: int
    observed_rules: tuple[str, ...]
    """The rules that are tried out: they tell what they would have done."""
    limits: Mapping[str, int]
    """What one run may spend, by dimension; money in millionths of a US dollar."""

    @property
    def limits_text(self) -> str:
        """What one run may spend, in words."""
        amounts = (_amount(Dimension(name), limit) for name, limit in self.limits.items())
        return ", ".join(amounts) or "as much as it likes"

    @property
    def rules_text(self) -> str:
        """How many rules there are, in words."""
        own = f", {units.counted(self.own_rules, 'rule')} of your own" if self.own_rules else ""
        return f"{self.rules:,} built-in rules{own}"


def _amount(dimension: Dimension, limit: int) -> str:
    if dimension is Dimension.COST:
        return units.dollars(limit)
    if dimension is Dimension.WALL_TIME:
        return units.duration(limit * dimension.scale)
    return f"{limit:,} {dimension.unit}"


def policy_summary(policy: CompiledPolicy, places: Places) -> PolicySummary:
    """Return the figures of a policy that was read from these places."""
    config = policy.config
    found: Sequence[object] = (places.user, *places.project)
    return PolicySummary(
        preset=config.preset,
        origin=policy.merged.origins["preset"],
        mode=config.mode,
        files=tuple(str(each) for each in found if each is not None),
        hash=policy.hash,
        rules=len(policy.rulebook.rules),
        own_rules=len(config.rules),
        observed_rules=tuple(sorted(policy.observed_rules)),
        limits=dict(config.budgets.run),
    )
