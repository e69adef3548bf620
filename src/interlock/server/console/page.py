"""What a page is: a template and the values that it shows; and what a form comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from interlock.server.access.identity import Identity
from interlock.server.desk.desk import Desk


class Visit(NamedTuple):
    """What a page may know of a request."""

    desk: Desk
    who: Identity
    params: Mapping[str, str]
    """What stands in the path."""
    query: Mapping[str, str]
    theme: str | None = None
    """`light` or `dark`, where somebody chose one."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A template and what it shows."""

    template: str
    title: str
    values: Mapping[str, object]
    status: int = 200


class Done(NamedTuple):
    """A form was carried out: where to look now."""

    to: str


PageFunction = Callable[[Visit], Page]
"""Called on a thread of its own; it only reads."""
ActFunction = Callable[[Visit, Mapping[str, str]], Done | Page]
"""Carries out what a form says, on a thread of its own."""
