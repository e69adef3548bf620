"""What a line would run, as a tree: which command stands inside which, and where in the line.

The commands come in the order in which they would run, so that what stands in `$(...)` comes
before the command that it is part of. Here each is put below the one that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from interlock.commands.shell.command import Command


class PlacedCommand(NamedTuple):
    """A command in its place."""

    command: Command
    parent: Command | None
    """The one that it stands inside, or behind."""
    depth: int
    span: tuple[int, int] | None
    """Where it stands in the line; None where it does not stand there as it is run."""
    holds: bool
    """Whether it runs others, whose text is part of its own."""


def placed_commands(line: str, commands: Sequence[Command]) -> Sequence[PlacedCommand]:
    """Return the commands as a reader goes through them: each behind the one that holds it."""
    return list(_Tree(line, commands).placed(None, 0, (0, len(line))))


class _Tree:
    def __init__(self, line: str, commands: Sequence[Command]) -> None:
        self._line = line
        self._commands = commands
        self._below: dict[int | None, list[int]] = {}
        for at in range(len(commands)):
            self._below.setdefault(_parent(commands, at), []).append(at)

    def placed(
        self, parent: int | None, depth: int, bounds: tuple[int, int]
    ) -> Iterator[PlacedCommand]:
        """Yield everything below a command, which stands within these bounds of the line."""
        begin, end = bounds
        behind = begin
        above = None if parent is None else self._commands[parent]
        for at in self._below.get(parent, ()):
            command = self._commands[at]
            # In their order; where a loop runs one twice, it stands there once.
            span = self._found(command.text, behind, end) or self._found(command.text, begin, end)
            if span is not None:
                behind = span[1]
            inside = [self._commands[each] for each in self._below.get(at, ())]
            holds = any(_wraps(command, each) for each in inside)
            yield PlacedCommand(command, above, depth, span, holds)
            yield from self.placed(at, depth + 1, span or bounds)

    def _found(self, text: str, begin: int, end: int) -> tuple[int, int] | None:
        at = self._line.find(text, begin, end) if text else -1
        return None if at < 0 else (at, at + len(text))


def _parent(commands: Sequence[Command], at: int) -> int | None:
    """Return which command holds another one.

    Each has either fewer wrappers before it, or is less deep, or comes earlier: there is no circle.
    """
    own = commands[at]
    frame, before = own.frame, range(at - 1, -1, -1)
    if at and _is_told_again(commands[at - 1], own):
        return at - 1
    wraps = [each for each in before if _wraps(commands[each], own)]
    for each in wraps:
        if commands[each].text == own.text:
            return each
    for each in range(at + 1, len(commands)):
        other = commands[each]
        if (
            other.frame.via == frame.via
            and other.frame.depth < frame.depth
            and own.text in other.text
        ):
            return each
    return wraps[0] if wraps else None


def _is_told_again(first: Command, second: Command) -> bool:
    """Whether the second one is what the first one comes to, as rules read it."""
    is_same = first.text == second.text and first.frame == second.frame
    return is_same and first.program != second.program


def _wraps(outer: Command, inner: Command) -> bool:
    via = outer.frame.via
    return len(via) < len(inner.frame.via) and inner.frame.via[: len(via)] == via
