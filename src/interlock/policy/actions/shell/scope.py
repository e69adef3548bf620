"""What a shell knows while it runs: variables, functions, aliases, files, the folder."""

from __future__ import annotations

from typing import Final

from tree_sitter import Node

from interlock.policy.actions.shell.provenance import Stream
from interlock.policy.actions.shell.syntax import Tree
from interlock.policy.actions.shell.words import Word

_HOME_NAMES: Final = ("HOME", "USERPROFILE")


class Function:
    """A function's definition, or a substitution that runs later, in its tree."""

    __slots__ = ("node", "tree")

    def __init__(self, tree: Tree, node: Node) -> None:
        self.tree = tree
        self.node = node


class Scope:
    """One shell's state. A subshell gets a copy; a sourced file shares it."""

    __slots__ = tuple(
        (
            "aliases cwd descriptors files functions lists outputs previous programs project"
            " readonly references sinks variables"
        ).split()
    )

    def __init__(self, cwd: str | None = None, project: str | None = None) -> None:
        self.cwd = cwd
        """The folder as far as it is known; None is the project's own folder."""
        self.previous = cwd
        """Where `cd -` goes."""
        self.project = project
        """Where the project lies, as far as that is known."""
        self.variables: dict[str, Word] = {"IFS": Word(" ")}
        self.lists: dict[str, list[Word]] = {}
        self.functions: dict[str, Function] = {}
        self.aliases: dict[str, str] = {}
        self.programs: dict[str, str] = {}
        """Names that `hash -p` bound to another program."""
        self.files: dict[str, Stream] = {}
        """Files written so far on this line, and what lies in them."""
        self.descriptors: dict[str, Stream] = {}
        self.outputs: dict[str, Word] = {}
        """Descriptors opened for writing, and the file behind them."""
        self.sinks: dict[str, Function] = {}
        """`>(...)` substitutions that wait for what is written to them."""
        self.references: dict[str, str] = {}
        self.readonly: set[str] = set()

    def copy(self) -> Scope:
        """Return the scope of a subshell: it sees everything, and changes nothing out here."""
        child = Scope(self.cwd, self.project)
        child.previous = self.previous
        child.variables = dict(self.variables)
        child.lists = dict(self.lists)
        child.functions = dict(self.functions)
        child.aliases = dict(self.aliases)
        child.programs = dict(self.programs)
        # Files outlive the subshell that wrote them.
        child.files = self.files
        child.descriptors = dict(self.descriptors)
        child.outputs = dict(self.outputs)
        child.sinks = self.sinks
        child.references = dict(self.references)
        child.readonly = set(self.readonly)
        return child

    def assign(self, name: str, word: Word) -> None:
        """Set a variable, through a name reference if there is one."""
        name = self.references.get(name, name)
        if name not in self.readonly:
            self.variables[name] = word

    def value(self, name: str) -> Word | None:
        """Return what a variable holds, where this line says so."""
        if name == "PWD" and self.cwd is not None:
            return Word(self.cwd)
        return self.variables.get(self.references.get(name, name))

    def unset(self, name: str) -> None:
        """Forget a variable unless it is read-only."""
        if name not in self.readonly:
            self.variables.pop(name, None)
            self.lists.pop(name, None)

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
