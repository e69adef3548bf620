"""Which commands touch Interlock's own files: by an effect, by a word, by where they run.

What a command would do to a file is known of many programs, and of more it is not. So a place of
Interlock's own counts as touched where it is named at all, unless the program only reads.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.programs.network_effects import is_remote
from interlock.commands.programs.places import HOME, ROOT, canonical_path
from interlock.commands.programs.program_tables import Programs
from interlock.commands.programs.read_only import only_reads, runs
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.scope import normal_path
from interlock.commands.shell.words import Word, excerpt_of
from interlock.model.own_places import OwnPlaces
from interlock.model.verdict import Decision

_EVERYWHERE: Final = (
    "~/.config/interlock",
    ".config/interlock",
    "~/.local/state/interlock",
    ".local/state/interlock",
)
"""What is Interlock's wherever the environment puts the rest; the first two hold its keys."""
_POLICIES: Final = ("~/.config/interlock/policy.toml", ".config/interlock/policy.toml")
_HOMES: Final = frozenset(("/root", "/var/root"))
_ROOTS: Final = frozenset(("/", "~"))
_GLOB_CHARS: Final = frozenset("*?[")
_PROCESS_ROOT: Final = r"^/proc/[^/]+/(?:task/[^/]+/)?root(?=/|$)"
_PTH_FILES: Final = "/*.pth"
_OWN_CODE: Final = r"\binterlock\.__(?:file|path|spec)__"
_CHANGES: Final = r"write|open\(|unlink|remove|rename|replace\(|rmtree|chmod|copy|move\(|truncate"
_CACHED: Final = 4096
_MAX_PATH: Final = 4096


class Relation(enum.Enum):
    """How a path stands to Interlock's own files."""

    SECRET = enum.auto()
    DATA = enum.auto()
    CODE = enum.auto()
    LIBRARY = enum.auto()
    """The folder of packages among which Interlock is one: what is put there can replace it."""
    HOLDER = enum.auto()
    """A folder on the way to them: what takes all of it takes them along."""


class OwnGuard:
    """Interlock's own places, ready to be asked about."""

    def __init__(self, places: OwnPlaces) -> None:
        self._secrets = _forms((*_EVERYWHERE[:2], *places.secrets))
        self._readable = _forms((*_POLICIES, *places.readable))
        self._data = _forms((*_EVERYWHERE, *places.data, *places.secrets))
        self._code = _forms(places.code)
        # Python looks for these files in folders of packages alone.
        pth_files = (place for place in self._code if place.endswith(_PTH_FILES))
        self._libraries = frozenset(place.removesuffix(_PTH_FILES) for place in pth_files)
        self._is_elsewhere = any(_OWN_PROGRAM not in place for place in self._data)
        self.databases = tuple(each.lower() for each in places.databases)
        """Ledgers in a database: `host/name`."""
        self.relation = lru_cache(maxsize=_CACHED)(self._relation)

    def _relation(self, path: str) -> Relation | None:
        """Return how a normalised path stands to Interlock's own files, if it does."""
        if len(path) > _MAX_PATH:
            return None
        path = _form(path)
        is_glob = not _GLOB_CHARS.isdisjoint(path) and path[0] in _ROOTS
        reaches = _reaches_by_glob if is_glob else _reaches
        if any(reaches(path, place) for place in self._data):
            may_be_read = not is_glob and any(_reaches(path, place) for place in self._readable)
            is_secret = any(reaches(path, place) for place in self._secrets)
            return Relation.SECRET if is_secret and not may_be_read else Relation.DATA
        if path[0] in _ROOTS and any(_reaches_by_glob(path, place) for place in self._code):
            return Relation.CODE
        if path in self._libraries:
            return Relation.LIBRARY
        leads = _leads_by_glob if is_glob else _leads
        return Relation.HOLDER if any(leads(path, place) for place in self._data) else None

    def is_named_in(self, code: str) -> bool:
        """Whether code, which is no path, names one of the places, or changes its own file."""
        if _OWN_PROGRAM not in code.lower() and not self._is_elsewhere:
            return False
        text = re.sub(r"/(?:\.?/)+", "/", code).lower()
        for place in self._readable:
            text = text.replace(place, "")
        is_named = any(place.removeprefix("~/") in text for place in self._data)
        return is_named or all(re.search(each, text) for each in (_OWN_CODE, _CHANGES))


@lru_cache(maxsize=16)
def own_guard(places: OwnPlaces) -> OwnGuard:
    """Return the places ready to be asked about: runs on one machine share them."""
    return OwnGuard(places)


def _forms(places: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_form, places)))


def _form(path: str) -> str:
    """Return a path as it is compared: some file systems do not tell `.Config` from `.config`."""
    if path.startswith("/proc/"):
        path = re.sub(_PROCESS_ROOT, "", path) or "/"
    path = canonical_path(path).lower()
    return "~" if path in _HOMES else path.rstrip("/") or "/"


def _reaches(path: str, place: str) -> bool:
    """Whether a path is the place, or inside of it, or one of a database's files beside it."""
    return path.startswith(place) and path[len(place) : len(place) + 1] in {"", "/", "-"}


def _leads(path: str, place: str) -> bool:
    """Whether a path is a folder on the way to the place."""
    is_anchored = path[0] in _ROOTS and place[0] in _ROOTS
    return is_anchored and (path in _ROOTS or place.startswith(f"{path}/"))


def _reaches_by_glob(path: str, place: str) -> bool:
    parts, wanted = path.split("/"), place.split("/")
    if "**" in parts:
        return _fit(parts[: parts.index("**")], wanted)
    return len(parts) >= len(wanted) and _fit(parts, wanted)


def _leads_by_glob(path: str, place: str) -> bool:
    parts, wanted = path.split("/"), place.split("/")
    return len(parts) < len(wanted) and _fit(parts, wanted)


def _fit(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    return all(map(_may_be, parts, wanted))


def _may_be(part: str, want: str) -> bool:
    """Whether one part of a path may be another; a leading `*` stands for no dot."""
    if want[:1] == "." and part[:1] in {"*", "?"}:
        return False
    return part == want or fnmatchcase(part, want) or fnmatchcase(want, part)


class Touch(NamedTuple):
    """One thing that a command does to Interlock's own files."""

    decision: Decision
    does: str
    target: str


_OWN_PROGRAM: Final = "interlock"
_NOTED: Final = frozenset(("sql", "code"))
"""What stands among the commands for something that was found in another one."""
_TELLING: Final = frozenset(
    "ls stat test [ [[ du df cd pushd popd echo printf realpath readlink dirname basename tree true"
    " which type command file exa eza dir vdir hash alias export history namei".split()
)
"""Programs that tell of a file without its content, or only take its name."""
_WRITES: Final = {
    EffectKind.DELETE: "deletes",
    EffectKind.OVERWRITE: "writes to",
    EffectKind.APPEND: "writes to",
    EffectKind.MOVE: "moves",
    EffectKind.PERMIT: "changes the permissions of",
}
_LOSES: Final = frozenset((EffectKind.MOVE, EffectKind.DELETE))
_UNPACKERS: Final = frozenset(
    "tar gtar bsdtar unzip 7z 7za 7zz cpio pax ar git patch rsync pip pip2 pip3".split()
)
"""Programs that write where they run, or where an option says, whatever else is known of them."""
_LINKERS: Final = frozenset("ln link mount".split())
_TREES: Final = frozenset(
    "tar gtar bsdtar zip unzip 7z 7za 7zz pax cpio borg restic rclone duplicity kopia docker podman"
    " nerdctl".split()
)
"""Programs that take a folder with everything in it."""
_COPIERS: Final = frozenset("cp rsync scp ditto xcopy robocopy mc".split())
_REMOTE_COPIERS: Final = frozenset(("rsync", "scp"))
_THIS_MACHINE: Final = r"(?i)(?:[a-z]+://)?(?:[^/@]*@)?(?:localhost|127[.0-9]*|0[.0]*|\[[^\]]*\]|[^/]*[$`*?\\][^/]*)[:/]"
"""Names of the machine itself, and those that nobody can read."""
_WAYS_TO_A_HOST: Final = ("-e", "--rsh", "--rsync-path", "-o", "-S", "-F", "-J")
"""Options that say how another machine is reached: it may be this one."""
_SEARCHERS: Final = frozenset("grep egrep fgrep zgrep rg ag ack".split())
_ANY_LINE: Final = r"[\s.^$*+?|()\\wSWDd]{0,40}|\[.{1,40}\][*+]?"
"""Patterns that nearly every line fits: whoever searches for that prints whole files."""
_RECURSIVE: Final = ("-r", "-R", "-a", "--recursive", "--archive", "--dereference-recursive")
_EXECUTES: Final = frozenset(
    "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls".split()
)
_NAME_TESTS: Final = frozenset("-name -iname -path -wholename -ipath -iwholename".split())
_OWN_NAMES: Final = (
    "operator-token",
    "ledger.db",
    "interlock",
    "ledger.key",
    "keys",
    "policy.toml",
)
"""What lies in the folders, for the tests of `find`."""
_SQL_WRITES: Final = (
    r"(?i)\b(?:insert|update|delete|drop|truncate|alter|create|grant|revoke|merge|replace|vacuum"
    r"|reindex|attach|detach|restore|import|call|do|copy|lock|set)\b"
)
_READ_ONLY: Final = ("-readonly", "--readonly", "-ro")
_READ_ONLY_URI: Final = ("mode=ro", "immutable=1")
_SEPARATORS: Final = r"[=:,@]"
_STARTS_OF_PATHS: Final = frozenset("~$*?[")
_MAX_PIECES: Final = 8


def worst_touch(found: CommandAnalysis, programs: Programs, guard: OwnGuard) -> Touch | None:
    """Return the worst that a command line does to Interlock's own files; one reason will do."""
    touches = _touches(found, programs, guard)
    return max(touches, key=lambda touch: touch.decision.rank, default=None)


def _touches(found: CommandAnalysis, programs: Programs, guard: OwnGuard) -> Iterator[Touch]:
    for effect in found.effects:
        yield from _by_effect(effect, guard)
    following = (*found.commands[1:], None)
    for command, next_one in zip(found.commands, following, strict=False):
        program = command.program
        if program.partition(".")[0] == _OWN_PROGRAM or program in _NOTED or program in _TELLING:
            continue
        yield from _by_database(command, programs, guard)
        yield from _by_words(command, next_one, programs, guard)


def reads_secret(path: str, guard: OwnGuard) -> bool:
    """Whether a path that some tool is given lies among what must not be read."""
    return guard.relation(normal_path(path, None)) is Relation.SECRET


def writes_own(path: str, guard: OwnGuard) -> bool:
    """Whether an edit of this path changes Interlock itself."""
    return guard.relation(path) not in {None, Relation.LIBRARY, Relation.HOLDER}


def _by_effect(effect: Effect, guard: OwnGuard) -> Iterator[Touch]:
    if not effect.target:
        return
    relation = guard.relation(_placed(effect.target, effect.command.cwd))
    if relation is None:
        return
    verb = _WRITES.get(effect.kind)
    if verb is None:
        if effect.kind is EffectKind.READ and relation is Relation.SECRET:
            yield Touch(Decision.BLOCK, "reads", effect.target)
    elif relation is Relation.LIBRARY:
        decision = Decision.BLOCK if effect.kind in _LOSES else Decision.REQUIRE_CONFIRMATION
        yield Touch(decision, verb, effect.target)
    elif relation is not Relation.HOLDER:
        yield Touch(Decision.BLOCK, verb, effect.target)
    elif effect.places & (ROOT | HOME) and effect.kind is EffectKind.DELETE:
        # Whoever deletes everything hears that from others.
        return
    elif effect.kind is EffectKind.MOVE or effect.recursive or effect.forced:
        is_lost = effect.kind in _LOSES
        decision = Decision.BLOCK if is_lost else Decision.REQUIRE_CONFIRMATION
        yield Touch(decision, verb, effect.target)


def _by_words(
    command: Command, following: Command | None, programs: Programs, guard: OwnGuard
) -> Iterator[Touch]:
    """Say what it means that a command names one of the places, or runs in one."""
    known = programs.of(command.program)
    if known.code is not None or known.sql is not None:
        for code in (*(word.text for word in command.argv[1:]), command.frame.stdin.text or ""):
            if _is_code(code) and guard.is_named_in(code):
                yield Touch(Decision.BLOCK, "reaches by code into", excerpt_of(code))
    here = None if command.cwd is None else guard.relation(_placed(".", command.cwd))
    folders = command.invocation.all_values("-C", "--directory")
    is_near = here is not None or bool(folders)
    named = [
        (word, relation)
        for word in command.argv[1:]
        if is_near or "/" in word.text or word.text[:1] in _STARTS_OF_PATHS
        for path in _paths_in(word, folders, command.cwd)
        if (relation := guard.relation(path)) is not None and relation is not Relation.LIBRARY
    ]
    is_inside = here in {Relation.DATA, Relation.SECRET}
    if not named and not is_inside:
        return
    reads = only_reads(command, following, programs)
    may_write = not reads and (not known.files or command.program in _UNPACKERS)
    # What stands inside of a wrapper is judged by itself.
    inner = following.argv if following is not None and runs(command, following) else ()
    for word, relation in named:
        # A folder of another machine leads to nothing here.
        is_elsewhere = relation is Relation.HOLDER and _is_on_other_machine(word, command)
        if word not in inner and not is_elsewhere:
            yield from _by_word(relation, word, command, following, may_write=may_write)
    if may_write and is_inside and not known.shell:
        yield Touch(_by_what_is_known(command), "can write to", command.cwd or "")


def _by_word(
    relation: Relation,
    word: Word,
    command: Command,
    following: Command | None,
    *,
    may_write: bool,
) -> Iterator[Touch]:
    is_holder = relation is Relation.HOLDER
    if relation is Relation.SECRET:
        yield Touch(Decision.BLOCK, "reads", word.text)
    elif command.program in _LINKERS:
        decision = Decision.REQUIRE_CONFIRMATION if is_holder else Decision.BLOCK
        yield Touch(decision, "makes another way to", word.text)
    elif is_holder and (_takes_tree(command) or _hands_on(command, following)):
        yield Touch(Decision.REQUIRE_CONFIRMATION, "takes along", word.text)
    elif not is_holder and may_write:
        yield Touch(_by_what_is_known(command), "can write to", word.text)


def _is_on_other_machine(word: Word, command: Command) -> bool:
    """Whether `host:path` names something elsewhere, and nothing says how the host is reached."""
    if command.program not in _REMOTE_COPIERS or not is_remote(word.text):
        return False
    is_here = re.match(_THIS_MACHINE, word.text) is not None
    return not is_here and not command.invocation.has(*_WAYS_TO_A_HOST)


def _by_what_is_known(command: Command) -> Decision:
    """A program that surely writes is refused; of which nothing is known, a person is asked."""
    if command.program in _UNPACKERS:
        return Decision.BLOCK
    return Decision.BLOCK if _opens_for_writing(command) else Decision.REQUIRE_CONFIRMATION


def _opens_for_writing(command: Command) -> bool:
    """Whether a client opens a database file other than to read it."""
    if "sql" not in command.program:
        return False
    texts = [word.text for word in command.argv[1:]]
    is_read_only = command.invocation.has(*_READ_ONLY)
    return not is_read_only and not any(mark in text for text in texts for mark in _READ_ONLY_URI)


def _takes_tree(command: Command) -> bool:
    """Whether a command takes a folder with everything in it."""
    program, invocation = command.program, command.invocation
    if program in _TREES:
        return True
    if not invocation.has(*_RECURSIVE):
        return False
    if program in _SEARCHERS:
        pattern = invocation.value("-e", "--regexp") or (invocation.operands or [Word("")])[0]
        return invocation.has("-v") or re.fullmatch(_ANY_LINE, pattern.text) is not None
    return program in _COPIERS and not invocation.has("-n", "--dry-run")


def _hands_on(command: Command, following: Command | None) -> bool:
    """Whether `find` does something with what it finds that may be one of the own files."""
    if command.program != "find":
        return False
    is_handed_on = following is not None and following.frame.piped
    names = [word.text for before, word in pairwise(command.argv) if before.text in _NAME_TESTS]
    may_be_own = not names or any(fnmatchcase(own, name) for own in _OWN_NAMES for name in names)
    if not _EXECUTES.isdisjoint(command.invocation.flags):
        return may_be_own
    # Every name that is printed and piped on is no more than a list.
    return is_handed_on and bool(names) and may_be_own


def _is_code(text: str) -> bool:
    return " " in text or "(" in text or "\n" in text


def _paths_in(word: Word, folders: Sequence[Word], cwd: str | None) -> Iterator[str]:
    """Yield every path that a word may hold: `--to=X`, `host:X`, `file=@X`, `file:///X`."""
    text = word.text
    if len(text) > _MAX_PATH or "\n" in text:
        return
    pieces = [text if text[:1] != "-" else text[2:]]
    if re.search(_SEPARATORS, text) is not None:
        pieces += re.split(_SEPARATORS, text)[:_MAX_PIECES]
    for piece in filter(None, pieces):
        yield _placed(piece, cwd)
        for folder in folders:
            yield _placed(f"{folder.text}/{piece}", cwd)


def _placed(text: str, cwd: str | None) -> str:
    """Return a path as seen from the folder that a command runs in."""
    if text.startswith("/proc/self/cwd") and cwd is not None:
        text = cwd + text.removeprefix("/proc/self/cwd")
    return normal_path(text, cwd)


def _by_database(command: Command, programs: Programs, guard: OwnGuard) -> Iterator[Touch]:
    """Say what a client does to a database that holds the ledger."""
    if not guard.databases or programs.of(command.program).sql is None:
        return
    named = [word.text for word in command.argv[1:]]
    named += [value.text for name, value in command.assignments if name.startswith("PG")]
    for database in guard.databases:
        host, _, name = database.rpartition("/")
        if any(_names_database(text.lower(), host, name) for text in named):
            text = " ".join([*named, command.frame.stdin.text or ""])
            writes = re.search(_SQL_WRITES, text) is not None or "-f" in command.invocation.flags
            decision = Decision.BLOCK if writes else Decision.REQUIRE_CONFIRMATION
            yield Touch(decision, "opens the ledger's database", database)


def _names_database(text: str, host: str, name: str) -> bool:
    if "://" in text:
        return text.partition("?")[0].endswith(f"/{name}") and host in text
    return text in {name, f"-d{name}", f"--dbname={name}"} or f"dbname={name}" in text.split()
