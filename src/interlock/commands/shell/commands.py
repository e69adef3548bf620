"""The lowered form of a command line: simple commands, and what each would do."""

from __future__ import annotations

import enum
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.commands.shell.invocation import Invocation
from interlock.commands.shell.provenance import UNSEEN, Stream
from interlock.commands.shell.words import Word


class Redirect(msgspec.Struct, frozen=True, gc=False):
    """One redirection: `2> file` has descriptor `2`, operator `>` and target `file`."""

    operator: str
    descriptor: str
    target: Word

    @property
    def takes_output(self) -> bool:
        """Whether what the command prints goes there."""
        return self.writes and self.descriptor in {"", "1"}

    @property
    def truncates(self) -> bool:
        """Whether the target loses what it held."""
        if self.operator == ">&":
            return not self.duplicates
        return self.operator in {">", ">|", "&>"}

    @property
    def duplicates(self) -> bool:
        """Whether it only points one descriptor at another, as in `2>&1`."""
        name = self.target.text.removesuffix("-")
        return self.operator in {"<&", ">&"} and (
            not name or name.isdigit() or not self.target.known
        )

    @property
    def writes(self) -> bool:
        """Whether bytes go into the target, as a file."""
        return self.truncates or self.operator in {">>", "&>>"}


class Frame(msgspec.Struct, frozen=True):
    """What surrounds a command: what flows in, where its output goes, how deep it stands."""

    stdin: Stream = UNSEEN
    printed: bool = True
    """Whether a reader sees what the command prints: not inside a pipe or `$(...)`."""
    depth: int = 0
    via: tuple[str, ...] = ()
    """The wrappers and interpreters that the command stands behind, outermost first."""
    background: bool = False
    piped: bool = False
    """Whether another command's output flows in."""
    maybe: bool = False
    """Whether it depends on something else if the command runs at all."""

    def fed(self, stdin: Stream) -> Frame:
        """Return the frame with something else flowing in."""
        return replace(self, stdin=stdin)

    def behind_pipe(self, stdin: Stream) -> Frame:
        """Return the frame of a command that another one feeds."""
        return replace(self, stdin=stdin, piped=True)

    def perhaps(self) -> Frame:
        """Return the frame of what may or may not run."""
        return self if self.maybe else replace(self, maybe=True)

    def unseen(self) -> Frame:
        """Return the frame of a command whose output nobody sees."""
        return replace(self, printed=False) if self.printed else self

    def deeper(self) -> Frame:
        """Return the frame one level further in."""
        return replace(self, depth=self.depth + 1)

    def behind(self, *names: str) -> Frame:
        """Return the frame behind a wrapper or interpreter."""
        return replace(self, via=(*self.via, *names))

    def in_background(self) -> Frame:
        """Return the frame of a job that nobody waits for."""
        return replace(self, background=True)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command as the shell would run it: words expanded, wrappers taken off."""

    program: str
    """The program's bare name in lower case; empty when only the run decides it."""
    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    invocation: Invocation
    frame: Frame = Frame()
    cwd: str | None = None
    text: str = ""

    @property
    def line(self) -> str:
        """The command as one line, for people."""
        return " ".join([word.text for word in self.argv])


class EffectKind(enum.Enum):
    """What a command does to the world."""

    DELETE = "delete"
    OVERWRITE = "overwrite"
    APPEND = "append"
    MOVE = "move"
    READ = "read"
    PERMIT = "permit"
    """Changes permissions or ownership."""
    SEND = "send"
    FETCH = "fetch"
    EXECUTE = "execute"
    """Runs bytes whose origin the labels tell."""
    SHOW = "show"
    """Prints what flows in, as it is."""
    FORK = "fork"
    """Starts processes without end."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a command does to one target."""

    kind: EffectKind
    target: str
    known: bool = True
    places: int = 0
    """Bits of `places`: what kind of place the target is."""
    recursive: bool = False
    forced: bool = False
    labels: int = 0
    command: Command


class Unresolved(msgspec.Struct, frozen=True, kw_only=True):
    """A command that cannot be judged because only the run decides what it is."""

    reason: str
    text: str
    too_much: bool = False
    """Whether it is its size or depth that keeps it from being judged."""


MAX_EXCERPT: Final = 120


def excerpt_of(text: str) -> str:
    """Return a short single line of `text`."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_EXCERPT else line[: MAX_EXCERPT - 1] + "…"
