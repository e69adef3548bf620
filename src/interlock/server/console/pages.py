"""Every page and every form, by its address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.server.console.page import ActFunction, PageFunction

PAGES: Final[Sequence[tuple[str, PageFunction]]] = ()
ACTS: Final[Sequence[tuple[str, ActFunction]]] = ()
