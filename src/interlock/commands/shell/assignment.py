"""One assignment, with its value expanded: `a=b`, `a+=b`, `a[1]=b`, `a=(b [3]=c)`."""

from __future__ import annotations

from itertools import zip_longest

import msgspec

from interlock.commands.shell.scope import UNKNOWN_INDEX, Scope
from interlock.commands.shell.words import Word, combined, unknown
from interlock.commands.values.allowance import Budget


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """What a name is set to."""

    name: str
    value: Word
    index: str | None = None
    adds: bool = False
    items: tuple[tuple[str | None, Word], ...] | None = None
    """The elements of an array with their subscripts, if they have any."""
    keyed: bool = False
    """Whether the array is an associative one."""

    def make(self, scope: Scope, budget: Budget, *, maybe: bool) -> None:
        """Set the name."""
        if self.items is not None:
            self._fill(scope)
        elif self.index is not None:
            before = scope.element(self.name, self.index) if self.adds else None
            scope.set_element(self.name, self.index, self._added(before, budget))
        else:
            settled = self.adds and self.name not in scope.doubts
            before = scope.parameter(self.name) if settled else None
            scope.assign(self.name, self._added(before, budget), maybe=maybe)

    def doubt(self, scope: Scope) -> None:
        """Note that this may be what the name is set to."""
        if self.items is not None or self.index is not None:
            scope.lists[self.name] = [unknown(f"${self.name}")]
        else:
            scope.doubt(self.name, self.value)

    def _added(self, before: Word | None, budget: Budget) -> Word:
        if not self.adds:
            return self.value
        if before is None:
            return unknown(f"${self.name}{self.value.text}", self.value.labels)
        budget.read(len(before.text))
        return combined([before, self.value])

    def _fill(self, scope: Scope) -> None:
        name = scope.defined.references.get(self.name, self.name)
        items = self.items or ()
        if self.keyed:
            table = dict(scope.tables.get(name, {})) if self.adds else {}
            table.update((key, word) for key, word in items if key is not None)
            # `(key value key value)`.
            plain = [word for key, word in items if key is None]
            for key, word in zip_longest(plain[::2], plain[1::2], fillvalue=Word("")):
                table[key.text if key.known else UNKNOWN_INDEX] = word
            scope.tables[name] = table
            return
        if not self.adds:
            scope.unset(name)
            scope.lists[name] = []
        elif name not in scope.lists:
            scope.lists[name] = [scope.variables.pop(name)] if name in scope.variables else []
        plain = [word for key, word in items if key is None]
        scope.lists[name] = [*scope.lists[name], *plain]
        if len(plain) == len(items):
            return
        if plain:
            # Where the others go depends on the order, which is not kept.
            scope.lists[name] = [unknown(f"${name}")]
            return
        keyed = [(key or UNKNOWN_INDEX, word) for key, word in items]
        if all(key.isdigit() for key, _ in keyed):
            keyed.sort(key=lambda item: int(item[0]))
        for key, word in keyed:
            scope.set_element(name, key, word)
