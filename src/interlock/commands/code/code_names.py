"""What the names in a snippet mean, and what else they may mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from interlock.commands.code.code_values import UNKNOWN, Value, attribute_of, named_value

# What stands in these is what everybody can call without them.
_TRANSPARENT: Final = frozenset(
    {"builtins", "__builtins__", "pathlib", "Kernel", "globalThis", "window", "global", "CORE"}
)


_Place = tuple[str, int]
"""A name, and the how-manieth time it was certainly given a new meaning."""
_MAX_CHOICES: Final = 256
_MAX_COMBINED: Final = 32


class Names:
    """The meaning of names, filled while a snippet is read.

    A name that may hold one of several things, as a loop, a branch or a function has it, holds one
    of them in each reading of the snippet: `choices` says which.
    """

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self._imported: dict[str, Value] = {}
        self._times: dict[str, int] = {}
        self._found: dict[_Place, dict[Value, None]] = {}
        self._chosen: Mapping[_Place, Value] = {}
        self._with: dict[str, str] = {}
        self.is_full = False
        """Whether a name may hold more than is kept."""
        self.functions: dict[str, list[str]] = {}
        """The names of the parameters of each function; of those without a name too."""

    def begin(self, chosen: Mapping[_Place, Value]) -> None:
        """Begin another reading, in which names hold what was chosen."""
        self._chosen = chosen
        self._times = {}
        self._values = dict(self._imported)
        for (name, times), found in self._found.items():
            if not times:
                self._set(name, chosen.get((name, times)) or next(iter(found)))

    def choices(self, first: int = 0) -> Iterator[dict[_Place, Value]]:
        """Return what names may hold at a time: each thing at least once, from the `first` on."""
        several = {place: list(found) for place, found in self._found.items() if len(found) > 1}
        longest = max(map(len, several.values()), default=0)
        for index in range(first, longest):
            yield {place: each[index % len(each)] for place, each in several.items()}
        leaders = {self._with.get(name, name): len(each) for (name, _), each in several.items()}
        if not first and len(leaders) > 1 and prod(leaders.values()) <= _MAX_COMBINED:
            for indices in product(*map(range, leaders.values())):
                at = dict(zip(leaders, indices, strict=True))
                yield {
                    place: each[at[self._with.get(place[0], place[0])] % len(each)]
                    for place, each in several.items()
                }

    def most(self) -> int:
        """Return how many things a name may hold at most."""
        return max(map(len, self._found.values()), default=0)

    def bind(self, name: str, value: Value | None, *, surely: bool = False) -> None:
        """Give the name a new meaning; if not `surely`, then it may keep the one that it has."""
        if surely:
            self._times[name] = self._times.get(name, 0) + 1
        self.bind_each(name, (value or UNKNOWN,))

    def bind_each(self, name: str, values: tuple[Value, ...], leader: str = "") -> Value:
        """Let the name hold any of the values, and return the one that it holds.

        Which of them goes with which one of the `leader`, where there is one.
        """
        place = (name, self._times.get(name, 0))
        found = self._found.setdefault(place, {})
        self.is_full |= max(len(found), len(values)) >= _MAX_CHOICES
        if len(found) < _MAX_CHOICES:
            found.update(dict.fromkeys(values))
        if leader:
            self._with[name] = leader
        value = self._chosen.get(place) or values[0]
        self._set(name, value)
        return value

    def _set(self, name: str, value: Value) -> None:
        """Let the name mean the value; one of which nothing is known leaves only the name."""
        if value.known or value.text or value.items or value.path:
            self._values[name] = value
        else:
            self._values.pop(name, None)

    def bind_path(self, name: str, path: str) -> None:
        """Let the name stand for a module or for something in it."""
        self._values[name] = self._imported[name] = Value(path=canonical(path))

    def change(self, name: str, old: Value, new: Value, *, surely: bool) -> None:
        """Let the name, and every other one of the very same list, mean what became of it."""
        for each in [each for each, value in self._values.items() if value is old or each == name]:
            self.bind(each, new, surely=surely)

    def get(self, name: str) -> Value | None:
        """Return what the snippet gave the name, if anything."""
        return self._values.get(name)

    def meaning(self, path: str) -> Value:
        """Return what a dotted name means."""
        path = path.replace(".__dict__", "")
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
