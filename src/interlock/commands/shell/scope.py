"""What a shell knows while it runs: variables, functions, aliases, files, the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.syntax import Tree
from interlock.commands.shell.words import Word
from interlock.commands.values.allowance import Budget

if TYPE_CHECKING:
    from tree_sitter import Node

_SET_BY_THE_SHELL: Final = {"IFS": Word(" \t\n")}
_CHANGES_BY_ITSELF: Final = frozenset(
    (
        "_ ? $ ! - RANDOM SRANDOM SECONDS LINENO EPOCHSECONDS EPOCHREALTIME BASHPID FUNCNAME"
        " BASH_COMMAND BASH_SUBSHELL HISTCMD PIPESTATUS OPTARG OPTIND DIRSTACK GROUPS"
    ).split()
)
UNKNOWN_INDEX: Final = "?"
"""In place of a subscript that is known only at run time."""
_MAX_DIGITS: Final = 9
_NO_TEXT: Final = Word("")
UNSET: Final = Word("")
"""Itself, not its like: what a variable holds that may not be set at all."""
_SET_OUTSIDE: Final = frozenset(
    "HOME USERPROFILE PWD OLDPWD XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME".split()
)
OWN_PROGRAM: Final = "interlock"
OWN_VARIABLES: Final = "INTERLOCK_"
"""What Interlock's own variables begin with."""
_MAX_DOUBTS: Final = 4
_PROJECT_FOLDERS: Final = frozenset(
    "src lib app apps bin cmd scripts script tools test tests spec examples packages pkg docs ci"
    " utils".split()
)
_PROJECT_ENDINGS: Final = frozenset("py js mjs ts tsx rb go rs php pl jl r java ipynb".split())
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
    shaped: set[str] = set()
    """Names whose values are changed on the way in: `declare -i`, `declare -u`."""

    def copy(self) -> Definitions:
        """Return definitions that can be changed by themselves."""
        return Definitions(*[each.copy() for each in msgspec.structs.astuple(self)])


# INVARIANT: never changed; a scope takes its own copy before it defines anything.
_NOTHING_DEFINED: Final = Definitions()


class Filled(NamedTuple):
    """What a folder was filled with."""

    stream: Stream
    mixed: bool
    """Whether the project's own files may lie beside."""


class Arrays(NamedTuple):
    """The arrays of a scope at one moment."""

    lists: Mapping[str, list[Word]]
    tables: Mapping[str, dict[str, Word]]


_NO_LISTS: Final[Mapping[str, list[Word]]] = {}
_NO_TABLES: Final[Mapping[str, dict[str, Word]]] = {}


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
    tables: dict[str, dict[str, Word]] = {}
    """Associative arrays."""
    own_names: set[str] = set()
    """What a function declared for itself: it does not outlive the call."""
    files: dict[str, Stream] = {}
    """Files written so far on this line, and what lies in them."""
    moved: dict[str, Word] = {}
    """What was moved to a temporary folder on this line: where it lies now, and where it lay."""
    links: dict[str, str] = {}
    """Links that were made on this line, and where they lead."""
    folders: dict[str, Filled] = {}
    """Folders filled so far on this line with files whose names nobody knows."""
    sinks: dict[str, Function] = {}
    """`>(...)` substitutions that wait for what is written to them."""
    doubts: dict[str, tuple[Word, ...]] = {}
    """What variables hold if assignments that may not happen do not."""
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
        return replace(
            self,
            variables=self.variables.copy(),
            lists=self.lists.copy(),
            tables=self.tables.copy(),
            own_names=set(),
        )

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
        if name in self.defined.shaped:
            word = Word(f"${{{name}…}}", known=False, labels=word.labels)
        if name in self.lists:
            self.set_element(name, "0", word)
            return
        before = self.variables.get(name)
        if maybe and before is not None and before != word:
            self._doubt(name, before)
        elif not maybe and name in self.doubts:
            self.doubts = {key: value for key, value in self.doubts.items() if key != name}
        self.variables[name] = word

    def _doubt(self, name: str, before: Word) -> None:
        earlier = self.doubts.get(name, ())
        if before in earlier:
            return
        if len(earlier) >= _MAX_DOUBTS:
            before = Word(f"${name}", known=False)
            earlier = earlier[1:]
        self.doubts = {**self.doubts, name: (*earlier, before)}

    def doubt(self, name: str, word: Word) -> None:
        """Note what a variable may hold as well."""
        name = self.defined.references.get(name, name)
        if self.variables.get(name) != word:
            self._doubt(name, word)

    def with_doubts(self, doubts: Mapping[str, tuple[Word, ...]]) -> Iterator[Scope]:
        """Yield the scopes in which what may not have happened has not."""
        for round_ in range(max(map(len, doubts.values()), default=0)):
            earlier = self.copy()
            for name, values in doubts.items():
                earlier.variables[name] = values[min(round_, len(values) - 1)]
            earlier.doubts = {}
            yield earlier

    def arrays(self) -> Arrays:
        """Return all lists and tables as they are now."""
        return Arrays(
            self.lists.copy() if self.lists else _NO_LISTS,
            self.tables.copy() if self.tables else _NO_TABLES,
        )

    def doubt_arrays(self, before: Arrays) -> None:
        """Hold in doubt how arrays have changed; what was only added to keeps its beginning."""
        for name in before.lists.keys() | self.lists.keys():
            items, now = before.lists.get(name), self.lists.get(name)
            if now is not items:
                gone = Word(f"${{{name}…}}", known=False)
                kept = items if items and now and now[: len(items)] == items else []
                self.lists[name] = [*kept, gone]
        for name, table in before.tables.items():
            now_table = self.tables.get(name, {})
            if now_table is not table:
                self.tables[name] = {
                    key: word if table.get(key) == word else Word(f"${{{name}…}}", known=False)
                    for key, word in {**table, **now_table}.items()
                }

    def set_element(self, name: str, index: str, word: Word) -> None:
        """Set one element of an array; where it is not known which one, all are unknown."""
        name = self.defined.references.get(name, name)
        if name in self.defined.readonly:
            return
        if name in self.tables:
            table = self.tables[name]
            if index == UNKNOWN_INDEX:
                table = dict.fromkeys(table, Word(f"${name}", known=False))
            self.tables[name] = {**table, index: word}
            return
        items = self.lists.get(name)
        if items is None:
            items = [self.variables.pop(name)] if name in self.variables else []
        place = int(index) if index.lstrip("-").isdigit() else len(items) + 1
        place = place + len(items) if place < 0 else place
        # An unknown element may stand for many.
        exact = all(item.known for item in items[: place + 1])
        if 0 <= place <= len(items) and exact:
            self.lists[name] = [*items[:place], word, *items[place + 1 :]]
        else:
            # Gaps are not kept.
            self.lists[name] = [Word(f"${name}", known=False, labels=word.labels)]

    def value(self, name: str) -> Word | None:
        """Return what a variable holds, where this line says so."""
        if name == "PWD" and self.cwd is not None:
            return Word(self.cwd)
        return self.variables.get(self.defined.references.get(name, name))

    def parameter(self, name: str) -> Word | None:
        """Return what `$name` stands for, the shell's arguments included."""
        if name in _CHANGES_BY_ITSELF:
            return None
        arguments = self.lists.get("@")
        if name == "#":
            return None if arguments is None else Word(str(len(arguments)))
        if name.isdigit() and name != "0":
            if arguments is None:
                return None
            place = int(name[:_MAX_DIGITS]) - 1
            return arguments[place] if place < len(arguments) else _NO_TEXT
        name = self.defined.references.get(name, name)
        if name in self.lists or name in self.tables:
            return self.element(name, "0")
        return self.value(name)

    def element(self, name: str, index: str) -> Word | None:
        """Return an element of an array; None where it is not known which, or what it holds."""
        name = self.defined.references.get(name, name)
        if index == UNKNOWN_INDEX:
            return None
        if name in self.tables:
            table = self.tables[name]
            return table.get(index, None if UNKNOWN_INDEX in table else _NO_TEXT)
        items = self.lists.get(name)
        if items is None:
            value = self.variables.get(name)
            return value if value is None or index in {"0", "-1"} else _NO_TEXT
        if not all(item.known for item in items):
            # Where the others stand depends on what the unknown one becomes.
            items = items[: [item.known for item in items].index(False)]
            place = int(index)
            return items[place] if 0 <= place < len(items) else None
        place = int(index)
        return items[place] if -len(items) <= place < len(items) else _NO_TEXT

    def unset(self, name: str, *, maybe: bool = False) -> None:
        """Forget a variable unless it is read-only."""
        if maybe and name in self.variables:
            self.assign(name, Word(f"${name}", known=False), maybe=True)
        elif name not in self.defined.readonly:
            self.variables.pop(name, None)
            self.lists.pop(name, None)
            self.tables.pop(name, None)

    def changes_since(self, before: Scope) -> frozenset[str]:
        """Return the names that do not hold any longer what they held."""
        pairs = (
            (before.variables, self.variables),
            (before.lists, self.lists),
            (before.tables, self.tables),
        )
        return frozenset(
            name
            for old, new in pairs
            for name in old.keys() | new.keys()
            if old.get(name) != new.get(name)
        )

    def forget(self, names: frozenset[str]) -> None:
        """Hold the names for set to what nobody knows."""
        for name in names:
            gone = Word(f"${{{name}…}}", known=False)
            if name in self.lists:
                self.lists[name] = [gone]
            elif name in self.tables:
                self.tables[name] = dict.fromkeys(self.tables[name], gone)
            else:
                self.assign(name, gone)

    def set_arguments(self, arguments: list[Word]) -> None:
        """Give the shell its arguments: `$@`, `$*`, `$1` and so on."""
        self.lists["@"] = self.lists["*"] = arguments

    def take_over(self, inner: Scope, *, maybe: bool) -> None:
        """Keep what a function left behind, but for its arguments and what it declared its own."""
        self.cwd = inner.cwd
        for name, word in inner.variables.items():
            if name not in inner.own_names and self.variables.get(name) != word:
                self.assign(name, word, maybe=maybe)
        for name in self.variables.keys() - inner.variables.keys() - inner.own_names:
            self.unset(name, maybe=maybe)
        mine = {"@", "*", *inner.own_names}
        for kept, left in ((self.lists, inner.lists), (self.tables, inner.tables)):
            for name in (kept.keys() | left.keys()) - mine:
                if name in left:
                    kept[name] = left[name]  # pyright: ignore[reportArgumentType] - of the same kind
                else:
                    del kept[name]
        if inner.defined is not self.defined:
            self.defined, self.borrowed = inner.defined, True

    def change_folder(self, target: Word) -> None:
        """Follow `cd`."""
        if target.text == "-":
            self.cwd, self.previous = self.previous, self.cwd
            return
        self.previous = self.cwd
        self.cwd = (
            self.followed(self.path(target.text))
            if target.known or target.text.startswith("$")
            else target.text
        )

    def move(self, source: Word, target: str, *, away: bool) -> None:
        """Remember where something lay that is moved away, to a temporary folder; or back."""
        lay_there = self.moved_to(source.text)
        for key in [key for key in self.moved if self._is_at(key, source.text)]:
            del self.moved[key]
        if away:
            name = source.text.rstrip("/").rpartition("/")[2]
            path = self.path(target).rstrip("/")
            keys = (f"{path}/{name}",) if target.endswith("/") else (f"{path}/{name}", path)
            # The line may go elsewhere before it deletes.
            origin = replace(source, text=self.path(source.text))
            self.moved.update(dict.fromkeys(keys, lay_there[0] if lay_there else origin))

    def moved_to(self, target: str) -> list[Word]:
        """Return what was moved to a place, or below it, as it was called where it lay."""
        found = [word for key, word in self.moved.items() if self._is_at(key, target)]
        return list(dict.fromkeys(found))

    def _is_at(self, path: str, target: str) -> bool:
        folder = self.path(target).removesuffix("/*").rstrip("/")
        return f"{path}/".startswith(f"{folder}/")

    def held(self, path: str) -> Stream | None:
        """Return what lies in a file, where this line wrote or fetched it."""
        found = self.files.get(path)
        if found is not None or not self.folders:
            return found
        for folder, filled in self.folders.items():
            inside = _inside(path, folder)
            if inside and not (filled.mixed and _looks_own(inside)):
                return filled.stream
        return None

    def held_in(self, words: Iterable[Word]) -> list[Stream]:
        """Return what lies in those files that this line wrote or fetched."""
        return [self.files[path] for word in words if (path := self.path(word.text)) in self.files]

    def fill(self, folder: str, stream: Stream, *, mixed: bool) -> None:
        """Remember where the files of a folder come from; mixed: others were there before."""
        self.folders[self.path(folder)] = Filled(stream, mixed=mixed)

    def link(self, target: str, name: str) -> None:
        """Remember where a link leads; a relative target is seen from where the link lies."""
        path = self.path(name)
        self.links[path] = normal_path(target, path.rpartition("/")[0] or self.cwd)

    def followed(self, path: str) -> str:
        """Return where a path leads through the links of this line; through no more than exist."""
        for _ in self.links:
            found = [link for link in self.links if f"{path}/".startswith(f"{link}/")]
            if not found:
                break
            path = self.links[found[0]] + path[len(found[0]) :]
        return path

    def path(self, text: str) -> str:
        """Return a path as seen from the current folder, without `.` and `..`."""
        return normal_path(text, self.cwd)


class Job(NamedTuple):
    """What was sent to the background, and what was known of files when it began."""

    run: Callable[[Scope], Stream]
    scope: Scope
    files: dict[str, Stream]


Capture = Callable[[Function | str, Scope], Stream]
"""Runs the commands of a substitution and returns what they print."""


class Shell(NamedTuple):
    """What a reader needs of the shell around it."""

    scope: Scope
    capture: Capture
    budget: Budget
    doubtful: dict[str, tuple[Word, ...]]
    """The variables met whose value depends on the run, and what else it may be."""
    maybe: bool = False
    """Whether it depends on something else if what is read is reached at all."""

    def doubt_unset(self, name: str, *, if_set: bool) -> bool:
        """Hold in doubt what a variable holds that the line does not set; False if that is none.

        Either it is not set where a text stands for its being so, or it says where something
        important lies. Any other is taken for a setting that has its default.
        """
        is_place = name in _SET_OUTSIDE or name.startswith(OWN_VARIABLES)
        if name in self.scope.variables or not (if_set or is_place):
            return False
        self.scope.doubt(name, UNSET if if_set else Word(f"${name}", known=False))
        self.meet(name)
        return True

    def meet(self, name: str) -> None:
        """Remember what else a variable may hold that a word names."""
        if name in self.scope.doubts:
            self.doubtful[name] = self.scope.doubts[name]


def _inside(path: str, folder: str) -> str:
    """Return the path seen from the folder; empty where it does not lie below."""
    if folder == ".":
        return "" if path.startswith(("/", "~", "$", "..")) else path
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else ""


def _looks_own(path: str) -> bool:
    """Whether a file rather is the project's than one that was unpacked beside it."""
    first, slash, _ = path.partition("/")
    if slash:
        return first in _PROJECT_FOLDERS
    return path.rpartition(".")[2] in _PROJECT_ENDINGS


# The same path is asked about several times on the way of a line.
@lru_cache(maxsize=_CACHED)
def normal_path(text: str, cwd: str | None) -> str:
    """Return `text` joined to `cwd` and normalised; relative to the project when cwd is None."""
    if text.startswith("$"):
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
    if text.startswith("/dev/fd/.."):
        # It is a link, and what lies above it is not `/dev`.
        text = f"/proc/self{text[len('/dev') :]}"
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
    for name in _HOME_NAMES:
        for spelling in (f"${name}", f"${{{name}}}"):
            if text == spelling or text.startswith(f"{spelling}/"):
                return "~" + text[len(spelling) :]
    return text
