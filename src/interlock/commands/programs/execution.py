"""One command at the moment it would run: in its shell, among known places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from interlock.commands.programs.places import Places
from interlock.commands.shell.cmdlets import cmdlet_of, is_item
from interlock.commands.shell.command import Command, Effect, EffectKind, Invocation
from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word


class Execution(msgspec.Struct, frozen=True, gc=False):
    """All that is asked of what a program would do."""

    command: Command
    invocation: Invocation
    """The command line, taken apart."""
    scope: Scope
    places: Places

    @property
    def operands(self) -> list[Word]:
        """What is no option and no value of one."""
        return self.invocation.operands

    @property
    def words(self) -> tuple[Word, ...]:
        """Everything behind the program."""
        return self.command.argv[1:]

    @property
    def stdin(self) -> Stream:
        """What flows in."""
        return self.command.frame.stdin

    def file(self, word: Word) -> Stream:
        """Return what lies in the file that a word names."""
        return self.places.stream(word, self.scope)

    def store(self, name: str, stream: Stream) -> None:
        """Remember what lies in a file from now on."""
        self.scope.files[self.scope.path(name)] = stream

    def fill(self, folder: Word | None, stream: Stream) -> None:
        """Remember where files come from that now lie in a folder, or where one stands."""
        self.scope.fill("." if folder is None else folder.text, stream, mixed=folder is None)

    def effect(
        self, kind: EffectKind, target: Word, *, recursive: bool = False, forced: bool = False
    ) -> Effect:
        """Return what it does to the file or folder that a word names."""
        place = self.places.at(target.text, self.scope)
        return Effect(kind, target, self.command, place, target.labels, recursive, forced)

    def effects(
        self,
        kind: EffectKind,
        targets: Iterable[Word],
        *,
        recursive: bool = False,
        forced: bool = False,
    ) -> Iterator[Effect]:
        """Return what it does to each of several."""
        for target in targets:
            yield self.effect(kind, target, recursive=recursive, forced=forced)


def cmdlet_targets(run: Execution) -> list[Word]:
    """Return the files that a command of PowerShell names, or else those that flow in."""
    given = cmdlet_of(run.command)
    paths = [word for word in given.paths if not is_item(word)]
    if paths or given.operands or not run.command.frame.piped:
        return paths
    names = (run.stdin.text or "$_").split("\n")
    known = run.stdin.text is not None
    labels = run.stdin.labels
    return [Word(name, known=known, glob=known, labels=labels) for name in names if name]
