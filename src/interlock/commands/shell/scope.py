"""What a shell knows while it runs: variables, functions, aliases, files, the folder."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.syntax import Tree
from interlock.commands.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

_SET_BY_THE_SHELL: Final = {"IFS": Word(" ")}
_HOME_NAMES: Final = ("HOME", "USERPROFILE")
_CACHED: Final = 64


class Function(NamedTuple):
    """A function's definition, or a substitution that runs later, in its tree."""

    tree: Tree
    node: Node


class Definitions(msgspec.Struct, frozen=True):
    """What a line can define beside variables; most lines define nothing of it."""

    functions: dict[str, Function] = {}
    aliases: dict[str, str] = {}
    programs: dict[str, str] = {}
    """Names that `hash -p` bound to another program."""
    descriptors: dict[str, Stream] = {}
    outputs: dict[str, Word] = {}
    """Descriptors opened for writing, and the file behind them."""
    references: dict[str, str] = {}
    readonly: set[str] = set()

    def copy(self) -> Definitions:
        """Return definitions that can be changed by themselves."""
        return Definitions(*[each.copy() for each in msgspec.structs.astuple(self)])


# INVARIANT: never changed; a scope takes its own copy before it defines anything.
_NOTHING_DEFINED: Final = Definitions()


class Scope(msgspec.Struct):
    """One shell's state. A subshell gets a copy; a sourced file shares it."""

    cwd: str | None = None
    """The folder as far as it is known; None is the project's own folder."""
    project: str | None = None
    """Where the project lies, as far as that is known."""
    previous: str | None = None
    """Where `cd -` goes."""
    variables: dict[str, Word] = msgspec.field(default_factory=_SET_BY_THE_SHELL.copy)
    lists: dict[str, list[Word]] = {}
    files: dict[str, Stream] = {}
    """Files written so far on this line, and what lies in them."""
    sinks: dict[str, Function] = {}
    """`>(...)` substitutions that wait for what is written to them."""
    doubts: dict[str, Word] = {}
    """What variables hold if an assignment that may not happen does not."""
    defined: Definitions = _NOTHING_DEFINED
    borrowed: bool = True
    """Whether the definitions are also another's."""

    @classmethod
    def begun(cls, folder: str | None, *, project: str | None = None) -> Scope:
        """Return the scope of a shell that has been nowhere else yet."""
        return cls(folder, project, folder)

    def copy(self) -> Scope:
        """Return the scope of a subshell: it sees everything, and changes nothing out here."""
        self.borrowed = True
        # Files outlive the subshell that wrote them.
        return replace(self, variables=self.variables.copy(), lists=self.lists.copy())

    def outside(self) -> Scope:
        """Return the scope of another program: it sees variables, but no functions or aliases."""
        child = self.copy()
        child.defined = _NOTHING_DEFINED
        return child

    def own(self) -> Definitions:
        """Return the definitions, to be changed: nobody else sees them from now on."""
        if self.borrowed:
            self.defined = self.defined.copy()
            self.borrowed = False
        return self.defined

    def assign(self, name: str, word: Word, *, maybe: bool = False) -> None:
        """Set a variable, through a name reference if there is one.

        Where it is not certain that the assignment happens, the value before stays in doubt.
        """
        name = self.defined.references.get(name, name)
        if name in self.defined.readonly:
            return
        before = self.variables.get(name)
        if maybe and before is not None and before != word:
            self.doubts = {**self.doubts, name: before}
        elif not maybe and name in self.doubts:
            self.doubts = {key: value for key, value in self.doubts.items() if key != name}
        self.variables[name] = word

    def value(self, name: str) -> Word | None:
        """Return what a variable holds, where this line says so."""
        if name == "PWD" and self.cwd is not None:
            return Word(self.cwd)
        return self.variables.get(self.defined.references.get(name, name))

    def unset(self, name: str) -> None:
        """Forget a variable unless it is read-only."""
        if name not in self.defined.readonly:
            self.variables.pop(name, None)
            self.lists.pop(name, None)

    def set_arguments(self, arguments: list[Word]) -> None:
        """Give the shell its arguments: `$@`, `$*` and `$1` to `$9`."""
        self.lists["@"] = self.lists["*"] = arguments
        for index in range(1, 10):
            self.variables.pop(str(index), None)
        for index, word in enumerate(arguments[:9], 1):
            self.variables[str(index)] = word

    def change_folder(self, target: Word) -> None:
        """Follow `cd`."""
        if target.text == "-":
            self.cwd, self.previous = self.previous, self.cwd
            return
        self.previous = self.cwd
        self.cwd = (
            self.path(target.text) if target.known or target.text.startswith("$") else target.text
        )

    def path(self, text: str) -> str:
        """Return a path as seen from the current folder, without `.` and `..`."""
        return normal_path(text, self.cwd)


# The same path is asked about several times on the way of a line.
@lru_cache(maxsize=_CACHED)
def normal_path(text: str, cwd: str | None) -> str:
    """Return `text` joined to `cwd` and normalised; relative to the project when cwd is None."""
    text = _with_short_home(text)
    anchored = text.startswith(("/", "~", "$")) or text[1:3] in {":\\", ":/"}
    if not anchored and cwd:
        text = f"{cwd}/{text}"
    if (
        "/." not in text
        and "//" not in text
        and not text.startswith(".")
        and not text.endswith("/")
    ):
        return text
    parts: list[str] = []
    root = "/" if text.startswith("/") else ""
    for part in text.split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != ".." and not (len(parts) == 1 and parts[0][0] in "$~"):
            parts.pop()
        elif not root:
            parts.append(part)
    return (root + "/".join(parts)) or "."


def _with_short_home(text: str) -> str:
    """Write every spelling of the home folder as `~`."""
    if not text.startswith("$"):
        return text
    for name in _HOME_NAMES:
        for spelling in (f"${name}", f"${{{name}}}"):
            if text == spelling or text.startswith(f"{spelling}/"):
                return "~" + text[len(spelling) :]
    return text
