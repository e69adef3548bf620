"""What everything that is recorded has in common."""

from __future__ import annotations

import msgspec


class DomainEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """Something that happened: frozen, named by its `type`, and says nothing twice."""
