"""What is known about each program, the entries of `programs.toml`, and its words taken apart.

The entries say what is true of a program; ways that need code of their own are only named there.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

import msgspec

from interlock.commands.shell.command import Invocation
from interlock.commands.shell.syntax import plain_flag
from interlock.commands.shell.words import Word

_CACHED: Final = 1024
_LEAST_CUT: Final = len("--us")
_NEGATING: Final = frozenset(("rsync", "git", "npm", "pnpm", "yarn"))
"""Programs whose `--no-x` takes an `--x` before it back."""
_SWITCHING: Final = frozenset(
    "docker docker-compose podman nerdctl kubectl oc helm terraform tofu gh npm pnpm yarn".split()
)
"""Programs to which `--x=false` says that `--x` is not meant; to others it may be any text."""
_REHEARSALS: Final = ("--dry-run", "--dryrun", "-n")


class _Entry(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, gc=False):
    pass


class Wrapper(_Entry, frozen=True):
    """Where the command stands that a program runs."""

    operands: int = 0
    assignments: bool = False
    line: bool = False
    line_options: tuple[str, ...] = ()
    argv_options: tuple[str, ...] = ()
    folder_options: tuple[str, ...] = ()
    module_options: tuple[str, ...] = ()
    splits: bool = False
    """Whether `line-options` carry words like its own, with those behind them: `env -S`."""
    clears: tuple[str, ...] = ()
    """Options with which it runs the command without any variable."""
    versions: bool = False
    environments: bool = False
    after: bool = False
    divided: bool = False
    """Whether `argv-options` name the program, and its words stand behind a `--`."""
    remote: bool = False
    verbs: tuple[str, ...] = ()
    """Words of its own that may stand in front of the command."""
    stops: tuple[str, ...] = ()
    """Words that make it no wrapper at all."""
    by_verb: bool = False
    """Whether only a verb of it is a wrapper."""
    shell_with: tuple[str, ...] = ()
    """Letters and options with which it starts a shell where no command stands; `*`: always."""


class Interpreter(_Entry, frozen=True):
    """Where the code stands that a program runs, and its language."""

    language: str
    options: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    operands: bool = False
    """Whether every operand is code as well."""
    consoles: tuple[str, ...] = ()
    """Verbs behind which code flows in; a program that has them runs nothing else as code."""


class SqlClient(_Entry, frozen=True):
    """Where the SQL stands that a program sends to a database."""

    code: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    operand: int | None = None
    """Which operand is SQL itself, where one is."""
    verbs: tuple[str, ...] = ()
    """Verbs without which it is no client of a database."""
    only_code: bool = False
    """Whether it is none without one of these options either."""


class Transparent(_Entry, frozen=True):
    """Does what the command inside does, unless one of these options is given."""

    unless: frozenset[str] = frozenset()


class OnlyReads(_Entry, frozen=True):
    """When a program leaves everything as it is; one way is enough."""

    always: bool = False
    """Whatever stands behind it: what it writes goes through a redirection, which is seen."""
    unless: frozenset[str] | None = None
    with_options: tuple[str, ...] = msgspec.field(default=(), name="with")
    operands: int | None = None
    """As long as it has no more operands: the next one would be written."""
    verbs: frozenset[str] = frozenset()
    lists: frozenset[str] | None = None
    """Of a verb: when nothing but these options stands behind it."""
    script: str = ""
    """The language of a script that may only print."""


class ReachesOut(_Entry, frozen=True):
    """When a program talks to other machines."""

    always: bool = False
    verbs: frozenset[str] = frozenset()
    remote_operands: bool = False


class AffectedPathsRule(_Entry, frozen=True):
    """How to tell which paths lose what they hold; other options than these may change that."""

    how: str
    options: frozenset[str] = frozenset()


class Program(_Entry, frozen=True, kw_only=True):
    """Everything that is known about one program, or one verb of it."""

    aliases: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    single_dash: bool = False
    verbs: int = 0
    choices: Mapping[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict[str, tuple[str, ...]]
    )
    versioned: bool = False
    shell: Literal["", "posix", "foreign"] = ""
    code: Interpreter | None = None
    sql: SqlClient | None = None
    wraps: Wrapper | None = None
    transparent: Transparent | None = None
    runs: str = ""
    runs_values: tuple[str, ...] = ()
    runs_behind: Mapping[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict[str, tuple[str, ...]]
    )
    loads_values: tuple[str, ...] = ()
    loads_behind: Mapping[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict[str, tuple[str, ...]]
    )
    rehearses: tuple[str, ...] = ()
    files: str = ""
    affects: AffectedPathsRule | None = None
    network: str = ""
    reaches_out: ReachesOut | None = None
    prints: str = ""
    prints_logins: tuple[str, ...] = ()
    prints_settings: tuple[str, ...] = ()
    picks: bool = False
    shows: bool = False
    withholds: str = ""
    reads: str = ""
    only_reads: OnlyReads | None = None
    changes_what_follows: bool = False
    finds_by: tuple[str, ...] = ()

    @property
    def reads_code(self) -> bool:
        """Whether it runs code that it is given; not all such programs stop at `--help`."""
        return bool(self.code or self.sql or self.shell or self.runs not in {"", "git", "config"})

    @property
    def hands_on(self) -> bool:
        """Whether it prints what it reads, or a part of it, and does nothing else with it."""
        prints = self.shows or self.picks or self.prints == "scrambled"
        return prints and not (self.files or self.runs)

    @property
    def lends_its_values(self) -> bool:
        """Whether the value of an option may be a command line, or name code to load."""
        return bool(self.runs_values or self.runs_behind or self.loads_values or self.loads_behind)


UNKNOWN_PROGRAM: Final = Program()


class _Entries(dict[str, Program]):
    def __missing__(self, name: str) -> Program:
        return UNKNOWN_PROGRAM


class Programs:
    """All entries, found by a program's name, or by its name and verb."""

    __slots__ = ("entries", "of", "showing", "versioned")

    of: Callable[[str], Program]
    """Returns what is known about a name: `git`, `git push`."""

    def __init__(self, entries: Mapping[str, Program]) -> None:
        self.entries = _Entries(
            (name, entry) for key, entry in entries.items() for name in (key, *entry.aliases)
        )
        self.versioned = frozenset(name for name, entry in self.entries.items() if entry.versioned)
        self.showing = frozenset(name for name, entry in self.entries.items() if entry.shows)
        self.of = self.entries.__getitem__


def invocation_of(program: str, words: Sequence[Word], programs: Programs) -> Invocation:
    """Take the words behind the program's name apart."""
    invocation = Invocation(program)
    known = programs.of(program)
    if not words:
        return invocation
    if words[0].text == "--help" and not known.reads_code:
        # Whatever stands behind it, nothing is done.
        invocation.flags.add("--help")
        return invocation
    if not known.verbs:
        _read(words, 0, known, invocation, single_dash=known.single_dash)
        return invocation
    position = _read(words, 0, known, invocation, single_dash=known.single_dash, until_operand=True)
    if position < len(words):
        invocation.flags = set()
        verb = words[position]
        invocation.operands.append(verb)
        # A verb's own options count behind it; the spelling is the program's.
        behind = programs.of(f"{program} {verb.text}")
        _read(words, position + 1, behind, invocation, single_dash=known.single_dash)
    return invocation


def _read(
    words: Sequence[Word],
    start: int,
    known: Program,
    invocation: Invocation,
    *,
    single_dash: bool,
    until_operand: bool = False,
) -> int:
    """Read words from `start`; return where it stopped."""
    index = start
    count = len(words)
    operands = invocation.operands
    while index < count:
        word = words[index]
        text = word.text
        first = text[:1]
        if first != "-" and first <= "\x7f":
            if until_operand:
                return index
            operands.append(word)
            index += 1
            continue
        if text == "--":
            operands.extend(words[index + 1 :])
            return count
        if not text.isascii():
            text = plain_flag(text)
        if text[:1] != "-" or text == "-":
            operands.append(word)
            index += 1
        elif single_dash or text.startswith("--"):
            index = _read_long(text, words, index, known, invocation)
        else:
            index = _read_cluster(text, words, index, known, invocation)
    return index


def _read_long(
    text: str, words: Sequence[Word], index: int, known: Program, invocation: Invocation
) -> int:
    given, equals, _ = text.partition("=")
    name = whole_option(given, known.values, attached=bool(equals))
    if name[2:5] == "no-" and invocation.program in _NEGATING:
        invocation.flags -= _taken_back(name[5:])
    if not equals:
        invocation.flags.add(name)
        return _take_value(name, words, index + 1, known, invocation)
    value = words[index].tail(len(given) + 1)
    invocation.values.setdefault(name, []).append(value)
    is_switch = name not in known.values and invocation.program in _SWITCHING
    if is_switch and value.text.lower() == "false":
        invocation.flags.discard(name)
    else:
        invocation.flags.add(name)
    return index + 1


def _taken_back(name: str) -> set[str]:
    """Return the options before `--no-NAME` that it takes back; it may be cut short.

    What is cut short is believed only where it makes a rehearsal the real thing.
    """
    is_rehearsal = name == "n" or any(each[2:].startswith(name) for each in _REHEARSALS[:2])
    return {f"--{name}", *(_REHEARSALS if is_rehearsal else ())}


@lru_cache(maxsize=_CACHED)
def whole_option(name: str, values: frozenset[str], *, attached: bool = False) -> str:
    """Return the option with a value that a name cut short can only stand for, or the name itself.

    `--to-com` is `--to-command`; `--backup` may be an option of its own beside `--backup-dir`,
    unless a value is attached to it.
    """
    if name in values or len(name) < _LEAST_CUT or not name.startswith("--"):
        return name
    longer = [each for each in values if each.startswith(name)]
    is_cut = len(longer) == 1 and (attached or longer[0][len(name)] != "-")
    return longer[0] if is_cut else name


def _read_cluster(
    text: str, words: Sequence[Word], index: int, known: Program, invocation: Invocation
) -> int:
    """`-rf` is `-r -f`; in `-ofile` the rest is the value."""
    if text in known.values:
        invocation.flags.add(text)
        return _take_value(text, words, index + 1, known, invocation)
    for position in range(1, len(text)):
        flag = "-" + text[position]
        invocation.flags.add(flag)
        if flag in known.values:
            if position + 1 < len(text):
                rest = words[index].tail(position + 1)
                invocation.values.setdefault(flag, []).append(rest)
                return index + 1
            return _take_value(flag, words, index + 1, known, invocation)
    return index + 1


def _take_value(
    name: str, words: Sequence[Word], index: int, known: Program, invocation: Invocation
) -> int:
    if index >= len(words):
        return index
    takes_it = name in known.values or words[index].text in known.choices.get(name, ())
    if takes_it:
        invocation.values.setdefault(name, []).append(words[index])
        return index + 1
    return index
