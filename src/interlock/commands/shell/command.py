"""Simple commands as written and as the shell would run them, and what each would do."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.commands.shell.provenance import UNSEEN, Stream
from interlock.commands.shell.words import Word

_WHOLE: Final = frozenset(
    "--all --force --delete --prune --remove --recursive --dry --no --export".split()
)
"""Options that mean themselves, although longer ones begin the same."""


class Redirect(msgspec.Struct, frozen=True, gc=False):
    """One redirection: `2> file` has descriptor `2`, operator `>` and target `file`."""

    operator: str
    descriptor: str
    target: Word

    @property
    def flows_in(self) -> bool:
        """Whether what lies there is what the command reads."""
        return self.operator in {"<", "<&"} and self.descriptor in {"", "0"}

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


class Frame(msgspec.Struct, frozen=True, gc=False):
    """What surrounds a command: what flows in, where its output goes, how deep it stands."""

    stdin: Stream = UNSEEN
    printed: bool = True
    """Whether a reader sees what the command prints: not inside a pipe or `$(...)`."""
    piped_on: bool = False
    """Whether that reader sees it through others that only show what flows in: `env | cat`."""
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

    def of_script(self) -> Frame:
        """Return the frame inside a script: what flowed in was the script itself."""
        return replace(self, stdin=UNSEEN, piped=False)

    def behind_pipe(self, stdin: Stream) -> Frame:
        """Return the frame of a command that another one feeds."""
        return replace(self, stdin=stdin, piped=True)

    def perhaps(self) -> Frame:
        """Return the frame of what may or may not run."""
        return self if self.maybe else replace(self, maybe=True)

    def unseen(self) -> Frame:
        """Return the frame of a command whose output nobody sees."""
        return replace(self, printed=False) if self.printed else self

    def in_front_of(self, names: Iterable[str], showing: frozenset[str]) -> Frame:
        """Return the frame of a command whose output flows through programs, some of which show."""
        if self.printed and showing.issuperset(names):
            return replace(self, piped_on=True)
        return self.unseen()

    def deeper(self) -> Frame:
        """Return the frame one level further in."""
        return replace(self, depth=self.depth + 1)

    def behind(self, *names: str) -> Frame:
        """Return the frame behind a wrapper or interpreter."""
        return replace(self, via=(*self.via, *names))

    def in_background(self) -> Frame:
        """Return the frame of a job that nobody waits for."""
        return replace(self, background=True)


class Invocation(msgspec.Struct, eq=False):
    """One program's command line, taken apart the way the program would."""

    program: str
    flags: set[str] = set()
    """Every option, short ones taken out of their clusters, without values; for a program
    with verbs, those behind the verb."""
    values: dict[str, list[Word]] = {}
    operands: list[Word] = []
    harmless: str = ""
    """Why nothing is lost by it whatever its words say; rules about it keep silent then."""

    def has(self, *names: str) -> bool:
        """Whether one of the options was given, long ones also when cut short."""
        flags = self.flags
        if not flags:
            return False
        if not flags.isdisjoint(names):
            return True
        # Programs accept `--rec` for `--recursive`.
        cut = [flag for flag in flags if flag[:2] == "--" and len(flag) > 3 and flag not in _WHOLE]
        return bool(cut) and any(name.startswith(tuple(cut)) for name in names)

    def value(self, *names: str) -> Word | None:
        """Return the last value given to one of the options."""
        found = [word for name in names for word in self.values.get(name, ())]
        return found[-1] if found else None

    def all_values(self, *names: str) -> list[Word]:
        """Return every value given to one of the options."""
        return [word for name in names for word in self.values.get(name, ())]


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    wraps: bool = False
    """Whether some of its words are a command by itself, which is judged by itself."""
    fetched: frozenset[str] = frozenset()
    """Its words, in lower case, that name files which came from another machine on this line."""

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

    # By its name, as enums do it, takes longer than what is looked up.
    __hash__ = object.__hash__


WRITES: Final = {
    EffectKind.DELETE: "deletes",
    EffectKind.OVERWRITE: "writes to",
    EffectKind.APPEND: "writes to",
    EffectKind.MOVE: "moves",
    EffectKind.PERMIT: "changes the permissions of",
}
"""What leaves a file other than it was, in words."""


class Effect(msgspec.Struct, frozen=True, gc=False):
    """One thing that a command does to one target."""

    kind: EffectKind
    word: Word
    """The target as the command names it."""
    command: Command
    places: int = 0
    """Bits of `places`: what kind of place the target is."""
    labels: int = 0
    recursive: bool = False
    forced: bool = False

    @property
    def target(self) -> str:
        """What it is done to."""
        return self.word.text

    @property
    def known(self) -> bool:
        """Whether the target is known before it runs."""
        return self.word.known


class Unresolved(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A command that cannot be judged because only the run decides what it is."""

    reason: str
    text: str
    too_much: bool = False
    """Whether it is its size or depth that keeps it from being judged."""
    asks: bool = False
    """Whether it runs code that stands nowhere on the line, or is put together out of sight."""


class SimpleCommand(msgspec.Struct):
    """A simple command: words expanded, not yet resolved."""

    argv: list[Word]
    text: str
    assignments: list[tuple[str, Word]] = []
    redirects: list[Redirect] = []
    stdin: Stream | None = None
    declares: bool = False
    """Whether the assignments are the command's own work, as in `export A=b`."""

    @property
    def takes_output(self) -> bool:
        """Whether what it prints goes into a file."""
        return any(redirect.takes_output for redirect in self.redirects)
