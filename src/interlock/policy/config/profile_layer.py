"""The chosen profile as a layer of the policy: above the defaults, below the user's file."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.policy.config.key import Key
from interlock.policy.config.layer import Layer, Leaf, Role, Value
from interlock.policy.config.stop_keys import PROFILE_KEYS
from interlock.policy.stops.settings import PROFILES

_PROFILE = Leaf("stops.profile")


def with_profile(layers: Sequence[Layer]) -> Sequence[Layer]:
    """Return the layers with what the chosen profile says right above the defaults."""
    defaults, *files = layers
    chosen = [str(layer.values[_PROFILE]) for layer in layers if _PROFILE in layer.values]
    is_doubtful = any(_PROFILE.key_path in layer.doubtful for layer in layers)
    if is_doubtful or not chosen:
        return (defaults, _of_no_profile(), *files)
    return (defaults, _of_profile(chosen[-1]), *files)


def profile_value(profile: str, key: Key) -> Value:
    """Return what a profile has under a key; lists are sets, as they are in a file."""
    value: int | tuple[str, ...] = getattr(PROFILES[profile], key.name.replace("-", "_"))
    return tuple(sorted(set(value))) if isinstance(value, tuple) else value


def _of_profile(profile: str) -> Layer:
    return Layer(
        role=Role.DEFAULT,
        name=f"the profile `{profile}`",
        values={Leaf(key.path): profile_value(profile, key) for key in PROFILE_KEYS},
        complaints=(),
        doubtful=frozenset(),
    )


def _of_no_profile() -> Layer:
    """Return that nothing is certain where it is not known which profile counts."""
    return Layer(
        role=Role.DEFAULT,
        name="no profile",
        values={},
        complaints=(),
        doubtful=frozenset(key.path for key in PROFILE_KEYS),
    )
