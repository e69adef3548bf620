"""What following a nested command needs of whoever follows the outer one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from interlock.commands.programs.places import Places
from interlock.commands.programs.program_tables import Programs
from interlock.commands.shell.command import Command, Effect, EffectKind, Frame
from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word

if TYPE_CHECKING:
    from interlock.commands.shell.command import SimpleCommand


class Simulator(Protocol):
    """Follows command lines and notes what they would do."""

    programs: Programs
    places: Places
    commands: list[Command]
    effects: list[Effect]

    def give_up(self, reason: str, text: str, *, too_much: bool = False) -> None:
        """Note that a part could not be followed."""

    def affords(self, text: str) -> bool:
        """Whether there is room to read a nested text of this length."""
        ...

    def run_text(self, text: str, scope: Scope, frame: Frame, *, via: str) -> Stream:
        """Follow a nested command line."""
        ...

    def resolve(
        self, argv: list[Word], simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> Stream:
        """Follow words as a simple command."""
        ...

    def note(self, program: str, words: list[Word], command: Command) -> None:
        """Note a command that another one would run, without following it further."""

    def note_effect(self, kind: EffectKind, target: Word, labels: int, command: Command) -> None:
        """Note an effect that has no place in the file system."""

    def store(self, target: Word, printed: Stream, scope: Scope, frame: Frame) -> None:
        """Remember what lies in a file from now on."""
