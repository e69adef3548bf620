"""What the names of a snippet mean, as far as the snippet has said so by now."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from interlock.commands.code.results import attribute_of, named_value
from interlock.commands.code.values import Value

# What stands in these is what everybody can call without them.
_TRANSPARENT: Final = frozenset(
    {"builtins", "__builtins__", "pathlib", "Kernel", "globalThis", "window", "global", "CORE"}
)


class Names:
    """The meaning of names, filled while a snippet is read."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def bind(self, name: str, value: Value | None) -> None:
        """Give the name a new meaning; a value of which nothing is known leaves only the name."""
        if value is None or not (value.known or value.text or value.items or value.path):
            self._values.pop(name, None)
        else:
            self._values[name] = value

    def bind_path(self, name: str, path: str) -> None:
        """Let the name stand for a module or for something in it."""
        self._values[name] = Value(path=canonical(path))

    def get(self, name: str) -> Value | None:
        """Return what the snippet gave the name, if anything."""
        return self._values.get(name)

    def meaning(self, path: str) -> Value:
        """Return what a dotted name means."""
        value = self._values.get(path)
        if value is not None:
            return value
        first, dot, rest = path.partition(".")
        if not dot:
            return Value(path=path)
        owner = self._values.get(first)
        if owner is not None:
            return attribute_of(owner, rest)
        return named_value(path) or Value(path=rest if first in _TRANSPARENT else path)


def canonical(path: str) -> str:
    """Return the name without the modules that add nothing: `pathlib.Path` is `Path`."""
    first, dot, rest = path.partition(".")
    return rest if dot and first in _TRANSPARENT else path


def dotted(name: str) -> str:
    """Return a name with a dot for whatever the language writes: `File::Path` is `File.Path`."""
    return _separator().sub(".", name.replace("${", "$")).rstrip(".")


@cache
def _separator() -> re.Pattern[str]:
    return re.compile(r"\?\.|&\.|\??->|:+|\\|\{['\"]?|['\"]?\}")
