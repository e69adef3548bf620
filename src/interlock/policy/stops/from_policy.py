"""What the policy says about being done, as the stop gate wants it told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.policy.config.parser import INHERITED
from interlock.policy.config.stop_section import Stops
from interlock.policy.stops.closing_text import straightened
from interlock.policy.stops.settings import PROFILES, StopOverride, StopSettings

_HARD_SPACE: Final = "\xa0"
_THRESHOLDS: Final = ("continue_at", "warn_at")

_Values = dict[str, int | tuple[str, ...]]


def stop_settings(stops: Stops) -> StopSettings:
    """Return points, thresholds and phrases: the profile's, with what the policy says instead."""
    names = StopOverride.__struct_fields__
    everywhere: _Values = {name: _comparable(getattr(stops, name)) for name in names}
    models = {
        pattern: _override(table, everywhere) for pattern, table in sorted(stops.models.items())
    }
    return replace(PROFILES[stops.profile], **everywhere, models=models)


def _override(table: Mapping[str, int | tuple[str, ...]], everywhere: _Values) -> StopOverride:
    named = {name.replace("-", "_"): value for name, value in table.items()}
    own: _Values = {name: _completed(value, everywhere[name]) for name, value in named.items()}
    # Of several patterns that fit a model one may set the first threshold and one the second;
    # whichever has the last word has it on both, so that they always go together.
    if not own.keys().isdisjoint(_THRESHOLDS):
        own = {**{name: everywhere[name] for name in _THRESHOLDS}, **own}
    return msgspec.convert(own, StopOverride)


def _completed(
    value: int | tuple[str, ...], elsewhere: int | tuple[str, ...]
) -> int | tuple[str, ...]:
    """Return the value with the list that holds elsewhere in the place of `...`."""
    if isinstance(value, tuple) and isinstance(elsewhere, tuple) and INHERITED in value:
        value = tuple(sorted({*value, *elsewhere} - {INHERITED}))
    return _comparable(value)


def _comparable(value: int | tuple[str, ...]) -> int | tuple[str, ...]:
    """Return phrases with the straight apostrophes of the text that they are looked for in."""
    if isinstance(value, tuple):
        return tuple(straightened(phrase).replace(_HARD_SPACE, " ") for phrase in value)
    return value
