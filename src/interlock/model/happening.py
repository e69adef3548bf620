"""What every event has in common: it is frozen, named by its `type`, and says nothing twice."""

from __future__ import annotations

import msgspec


class Happening(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """Something that happened."""
