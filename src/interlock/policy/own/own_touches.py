"""Which commands touch Interlock's own files: by an effect, by a word, by where they run.

What a command would do to a file is known of many programs, and of more it is not. So a place of
Interlock's own counts as touched where it is named at all, unless the program only reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.programs.file_effects import EXEC_FLAGS, FIND_OUTPUTS
from interlock.commands.programs.network_effects import is_remote
from interlock.commands.programs.places import MAX_PATH
from interlock.commands.programs.program_tables import Program, Programs
from interlock.commands.programs.read_only import only_reads, runs, sed_is_plain
from interlock.commands.shell.command import WRITES, Command, Effect, EffectKind
from interlock.commands.shell.provenance import MANY
from interlock.commands.shell.scope import OWN_PROGRAM
from interlock.commands.shell.words import Word, excerpt_of
from interlock.model.verdict import Decision
from interlock.policy.own.own_guard import (
    BY_EFFECT,
    HOLDERS,
    OWN_FOLDERS,
    OwnGuard,
    Relation,
    finds_own_code,
    may_reach_code,
    placed,
)
from interlock.policy.own.whole_folders import (
    FINDERS,
    LOSES,
    SEARCHERS,
    UNPACKERS,
    does_more_than_name,
    finds_any_line,
    loses_code,
    loses_holder,
    names_no_folder,
    serves,
    takes_tree,
)


class Touch(NamedTuple):
    """One thing that a command does to Interlock's own files."""

    decision: Decision
    does: str
    target: str


_NOTED: Final = frozenset(("sql", "code"))
"""What stands among the commands for something that was found in another one."""
_TELLING: Final = frozenset(
    "ls stat test [ [[ du df cd pushd popd echo printf realpath readlink dirname basename tree true"
    " which type command file exa eza dir vdir hash alias export history namei".split()
)
"""Programs that tell of a file without its content, or only take its name."""
_TELLS_MORE_WITH: Final = {
    "file": ("-f", "--files-from", "-m", "--magic-file"),
    "du": ("--files0-from", "-X", "--exclude-from"),
    "tree": ("--fromfile", "-o"),
    "history": ("-r", "-n", "-w", "-a"),
}
"""Options with which they take the content of a file as well."""
_TELLING_OF_PACKAGES: Final = frozenset("pip pip3 uv which type command whereis".split())
"""Programs that tell where a package or a program lies."""
_COUNTING: Final = frozenset("wc tr tee read while".split())
_PIPED: Final = frozenset("sort uniq head tail nl tac cut".split())
"""Programs that read what flows in, unless an operand names a file."""
_EDITORS: Final = frozenset("vim vi nvim ex ed view emacs emacsclient kak".split())
_SCRIPTED: Final = _EDITORS.union(
    "awk gawk mawk nawk sed gsed gdb lldb m4 gnuplot bc expect tclsh wish jq".split()
)
"""Programs of which a word may be a script that opens files."""
_PROSE: Final = SEARCHERS.union(
    "git gh glab hub hg svn jj mail logger notify-send say wall curl wget http xh".split()
)
"""Programs to which a text is a text: a message, a pattern, a body."""
_NAMES_FROM_INPUT: Final = frozenset("cpio pax xargs parallel".split())
_NAMES_FROM_INPUT_WITH: Final = {
    "tar": ("-T", "--files-from"),
    "bsdtar": ("-T", "--files-from"),
    "gtar": ("-T", "--files-from"),
    "zip": ("-@", "--names-stdin"),
    "rsync": ("--files-from",),
    "wc": ("--files0-from",),
    "sort": ("--files0-from",),
}
"""Programs that open the files whose names flow in, and options with which others do."""
_LINKERS: Final = frozenset("ln link mount".split())
_REMOTE_COPIERS: Final = frozenset(("rsync", "scp"))
_THIS_MACHINE: Final = r"(?i)(?:[a-z]+://)?(?:[^/@]*@)?(?:localhost|127[.0-9]*|0[.0]*|\[[^\]]*\]|[^/]*[$`*?\\][^/]*)[:/]"
"""Names of the machine itself, and those that nobody can read."""
_WAYS_TO_A_HOST: Final = ("-e", "--rsh", "--rsync-path", "-o", "-S", "-F", "-J")
"""Options that say how another machine is reached: it may be this one."""
_GLOB_OPTIONS: Final = ("-g", "--glob", "--iglob", "--include")
"""Options that say which files are searched."""
_EXECUTES: Final = EXEC_FLAGS | FIND_OUTPUTS | {"-delete"}
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
_KEY_NAMES: Final = ("ledger.key", "operator-token")
_SOME_NAMES: Final = ("a", "a.b")
"""What a glob fits that fits everything."""
_SQL_WRITES: Final = (
    r"(?i)\b(?:insert|update|delete|drop|truncate|alter|create|grant|revoke|merge|replace|vacuum"
    r"|reindex|attach|detach|restore|import|call|do|copy|lock|set)\b"
)
_READ_ONLY: Final = ("-readonly", "--readonly", "-ro")
_READ_ONLY_URI: Final = ("mode=ro", "immutable=1")
_SEPARATORS: Final = re.compile(r"[=:,@]")
_STARTS_OF_PATHS: Final = frozenset("~$*?[")
_STARTS_OF_NAMES: Final = frozenset("/~.$")
_PRINTED: Final = "$(…)"
"""How a word says what only the run of another command decides."""
_MAX_PIECES: Final = 8
_MAX_NAMES: Final = 64


def worst_touch(found: CommandAnalysis, programs: Programs, guard: OwnGuard) -> Touch | None:
    """Return the worst that a command line does to Interlock's own files; one reason will do."""
    touches = _touches(found, programs, guard)
    return max(touches, key=lambda touch: touch.decision.rank, default=None)


def _touches(found: CommandAnalysis, programs: Programs, guard: OwnGuard) -> Iterator[Touch]:
    for effect in found.effects:
        if effect.target:
            yield from _by_effect(effect, guard)
    if len(found.commands) > 1:
        yield from _by_computed_names(found)
    line = _Line(found.commands)
    for index, command in enumerate(found.commands):
        yield from _by_redirects(command, guard)
        if command.program.partition(".")[0] == OWN_PROGRAM or command.program in _NOTED:
            continue
        if _only_tells(command):
            yield from _by_names_handed_on(index, line, guard)
            continue
        stdin = command.frame.stdin
        if stdin.text is not None and not stdin.labels & MANY:
            yield from _by_names_flowing_in(command, stdin.text, guard)
        if guard.databases:
            yield from _by_database(command, programs, guard)
        if command.program in SEARCHERS:
            yield from _by_globs(command, guard)
        yield from _by_words(index, line, programs, guard)


def _by_computed_names(found: CommandAnalysis) -> Iterator[Touch]:
    """Say what it means that a line writes where code of it said that Interlock lies."""
    written = [
        (effect.kind, effect.target)
        for effect in found.effects
        if effect.kind in WRITES and _is_computed(effect)
    ]
    unpacked = [
        (EffectKind.OVERWRITE, command.cwd)
        for command in found.commands
        if command.program in UNPACKERS and command.cwd is not None and _PRINTED in command.cwd
    ]
    if (written or unpacked) and any(map(_prints_where_code_is, found.commands)):
        for kind, target in (*written, *unpacked):
            yield Touch(Decision.REQUIRE_CONFIRMATION, WRITES[kind], target)


def _is_computed(effect: Effect) -> bool:
    """Whether another command says where an effect is, or that may be: `which` prints a name."""
    return _PRINTED in f"{effect.target} {effect.command.cwd}" or effect.target == OWN_PROGRAM


def _prints_where_code_is(command: Command) -> bool:
    texts = [word.text for word in command.argv[1:]]
    if command.program in _TELLING_OF_PACKAGES:
        return OWN_PROGRAM in texts
    return command.program == "site" or any(map(finds_own_code, texts))


def _only_tells(command: Command) -> bool:
    program = command.program
    return program in _TELLING and not command.invocation.has(*_TELLS_MORE_WITH.get(program, ()))


def _by_redirects(command: Command, guard: OwnGuard) -> Iterator[Touch]:
    """Say what a command is given to read, on whatever descriptor."""
    for redirect in command.redirects:
        target = redirect.target.text
        is_read = redirect.operator == "<"
        if is_read and guard.relation(placed(target, command.cwd)) is Relation.SECRET:
            yield Touch(Decision.BLOCK, "reads", target)


def _by_names_flowing_in(command: Command, given: str, guard: OwnGuard) -> Iterator[Touch]:
    """Say what it means that the names of files flow into what opens them."""
    if not _opens_names_of_input(command):
        return
    for name in given.split()[:_MAX_NAMES]:
        relation = guard.relation(placed(name, command.cwd))
        if relation is Relation.SECRET:
            yield Touch(Decision.BLOCK, "reads", name)
        elif relation in HOLDERS:
            yield Touch(Decision.REQUIRE_CONFIRMATION, "takes along", name)


def _opens_names_of_input(command: Command) -> bool:
    options = _NAMES_FROM_INPUT_WITH.get(command.program, ())
    return command.program in _NAMES_FROM_INPUT or command.invocation.has(*options)


class _Line:
    """The commands of a line, and which of them open the files that others name."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = commands

    def following(self, index: int) -> Command | None:
        """Return the command behind another one."""
        return self.commands[index + 1] if index + 1 < len(self.commands) else None

    def are_names_opened(self, index: int) -> bool:
        """Whether names that a command prints reach one that opens them.

        They do through a pipe, to whatever stands in it; or as words of the next command, where
        they were printed for it.
        """
        following = self.following(index)
        if following is None:
            return False
        if following.frame.piped:
            return self._opened_from[index + 1]
        has_printed = any(_PRINTED in word.text for word in following.argv[1:])
        return has_printed and _shows_content(following)

    @cached_property
    def work_trees(self) -> Sequence[Word]:
        """The folders that variables name for `git` to work on."""
        values = (each for command in self.commands for each in command.assignments)
        return [value for name, value in values if name == "GIT_WORK_TREE"]

    @cached_property
    def _opened_from(self) -> Sequence[bool]:
        """For each command in a pipe, whether it or one behind it opens what is named to it."""
        opened = [False]
        for command in reversed(self.commands):
            opens = opened[-1] or _opens_what_is_named(command)
            opened.append(command.frame.piped and opens)
        return opened[:0:-1]


def _by_names_handed_on(index: int, line: _Line, guard: OwnGuard) -> Iterator[Touch]:
    """Say what it means that the names of secrets go to a program that opens files."""
    command = line.commands[index]
    is_above = command.program == "dirname"
    for word in command.argv[1:]:
        paths = _paths_in(word, (), command.cwd)
        relations = [
            guard.relation(placed(f"{each}/..", None) if is_above else each) for each in paths
        ]
        if Relation.SECRET in relations and line.are_names_opened(index):
            yield Touch(Decision.BLOCK, "hands on the names of", word.text)


def _opens_what_is_named(command: Command) -> bool:
    if command.program in _NAMES_FROM_INPUT:
        # What they run stands behind them.
        return command.program in {"cpio", "pax"}
    if _opens_names_of_input(command):
        return True
    words = command.invocation.operands if command.program in _PIPED else command.argv[1:]
    return any(not word.known for word in words) and _shows_content(command)


def _shows_content(command: Command) -> bool:
    """Whether a command does more with a file than to tell of it, or to search it."""
    if command.program in SEARCHERS:
        return finds_any_line(command, command.invocation.operands)
    return command.program not in _COUNTING and not _only_tells(command)


def leads_to_own(path: str, cwd: str | None, guard: OwnGuard) -> bool:
    """Whether a path is a folder on the way to Interlock's own files."""
    return guard.relation(placed(path, cwd)) in HOLDERS


def own_edit(path: str, guard: OwnGuard) -> Decision:
    """Return what an edit of this path means for Interlock itself."""
    relation = guard.relation(path)
    if relation is Relation.ENVIRONMENT:
        return Decision.REQUIRE_CONFIRMATION
    is_free = relation is None or relation in HOLDERS or relation in BY_EFFECT
    return Decision.ALLOW if is_free else Decision.BLOCK


def _by_effect(effect: Effect, guard: OwnGuard) -> Iterator[Touch]:
    relation = guard.relation(placed(effect.target, effect.command.cwd))
    if relation is None:
        return
    verb = WRITES.get(effect.kind)
    if verb is None:
        if effect.kind is EffectKind.READ and relation is Relation.SECRET:
            yield Touch(Decision.BLOCK, "reads", effect.target)
        elif effect.recursive and relation is Relation.SHARED:
            yield Touch(Decision.REQUIRE_CONFIRMATION, "takes along", effect.target)
    elif relation in {Relation.ENVIRONMENT, Relation.AROUND}:
        if loses_code(effect, relation):
            yield Touch(Decision.REQUIRE_CONFIRMATION, verb, effect.target)
    elif relation is Relation.LIBRARY:
        decision = Decision.BLOCK if effect.kind in LOSES else Decision.REQUIRE_CONFIRMATION
        yield Touch(decision, verb, effect.target)
    elif relation not in HOLDERS:
        yield Touch(Decision.BLOCK, verb, effect.target)
    elif loses_holder(effect, relation):
        decision = Decision.BLOCK if effect.kind in LOSES else Decision.REQUIRE_CONFIRMATION
        yield Touch(decision, verb, effect.target)


def _by_words(index: int, line: _Line, programs: Programs, guard: OwnGuard) -> Iterator[Touch]:
    """Say what it means that a command names one of the places, or runs in one."""
    command, following = line.commands[index], line.following(index)
    known = programs.of(command.program)
    yield from _by_script(command, known, guard)
    here = None if command.cwd is None else guard.relation(placed(".", command.cwd))
    folders: list[Word] = []
    if command.invocation.values:
        folders += command.invocation.all_values("-C", "--directory", "--work-tree")
    if command.program == "git":
        folders += line.work_trees
    is_near = here is not None or bool(folders)
    is_search = here is not None and command.program in SEARCHERS
    # What fits anywhere below a folder is no path there.
    globs = command.invocation.all_values(*_GLOB_OPTIONS) if is_search else ()
    anywhere = tuple([glob.text for glob in globs if glob.text[:3] == "**/"]) if globs else ()
    named = [
        (word, relation)
        for word in command.argv[1:]
        if is_near or "/" in word.text or word.text[:1] in _STARTS_OF_PATHS
        # Names that another command finds are judged where it looks for them.
        if not word.labels & MANY
        if not (anywhere and word.text.endswith(anywhere))
        for path in _paths_in(word, folders, command.cwd)
        if (relation := guard.relation(path)) is not None and relation not in BY_EFFECT
    ]
    if here in HOLDERS and serves(command) and names_no_folder(command):
        yield Touch(Decision.REQUIRE_CONFIRMATION, "shows to others", command.cwd or "")
    is_inside = here in OWN_FOLDERS
    if not named and not is_inside:
        return
    reads = only_reads(command, following, programs)
    may_write = not reads and (not known.files or command.program in UNPACKERS)
    # What stands inside of a wrapper is judged by itself.
    inner = following.argv if following is not None and runs(command, following) else ()
    for word, relation in named:
        # A folder of another machine leads to nothing here.
        is_elsewhere = relation in HOLDERS and _is_on_other_machine(word, command)
        if word not in inner and not is_elsewhere:
            if relation is Relation.SHARED and does_more_than_name(command, known):
                yield Touch(Decision.REQUIRE_CONFIRMATION, "may take along", word.text)
            yield from _by_word(relation, word, index, line, may_write=may_write)
    if may_write and is_inside and not known.shell:
        yield Touch(_by_what_is_known(command), "can write to", command.cwd or "")


def _by_script(command: Command, known: Program, guard: OwnGuard) -> Iterator[Touch]:
    """Say what it means that a script in a word, or one that flows in, names one of the places."""
    runs_code = known.code is not None or known.sql is not None
    is_scripted = command.program in _SCRIPTED and not _only_replaces(command)
    if known.shell or (known.wraps is not None and not runs_code) or command.program in _PROSE:
        return
    for word in command.argv[1:]:
        text = word.text
        is_script = is_scripted and text[:1] not in _STARTS_OF_NAMES
        if not is_script and not _is_code(text):
            continue
        if guard.is_named_in(text, edits=command.program in _EDITORS):
            decides = runs_code or is_scripted
            decision = Decision.BLOCK if decides else Decision.REQUIRE_CONFIRMATION
            yield Touch(decision, "reaches by code into", excerpt_of(text))
        elif runs_code and may_reach_code(text):
            decision = Decision.REQUIRE_CONFIRMATION
            yield Touch(decision, "may reach by code into", excerpt_of(text))
        elif runs_code and guard.is_taken_in(text):
            yield Touch(Decision.REQUIRE_CONFIRMATION, "takes along by code", excerpt_of(text))
    given = command.frame.stdin.text or ""
    if (runs_code or is_scripted) and _is_code(given) and guard.is_named_in(given):
        yield Touch(Decision.BLOCK, "reaches by code into", excerpt_of(given))
    elif runs_code and _is_code(given) and guard.is_taken_in(given):
        yield Touch(Decision.REQUIRE_CONFIRMATION, "takes along by code", excerpt_of(given))


def _only_replaces(command: Command) -> bool:
    """Whether `sed` runs a script in which a path is no more than a text."""
    return command.program in {"sed", "gsed"} and sed_is_plain(command.invocation)


def _by_word(
    relation: Relation,
    word: Word,
    index: int,
    line: _Line,
    *,
    may_write: bool,
) -> Iterator[Touch]:
    command = line.commands[index]
    is_holder = relation in HOLDERS
    if relation is Relation.SECRET:
        yield Touch(Decision.BLOCK, "reads", word.text)
    elif command.program in _LINKERS:
        decision = Decision.REQUIRE_CONFIRMATION if is_holder else Decision.BLOCK
        yield Touch(decision, "makes another way to", word.text)
    elif is_holder and (takes_tree(command, word) or _hands_on(index, line)):
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
    if command.program in UNPACKERS:
        return Decision.BLOCK
    return Decision.BLOCK if _opens_for_writing(command) else Decision.REQUIRE_CONFIRMATION


def _opens_for_writing(command: Command) -> bool:
    """Whether a client opens a database file other than to read it."""
    if "sql" not in command.program:
        return False
    texts = [word.text for word in command.argv[1:]]
    is_read_only = command.invocation.has(*_READ_ONLY)
    return not is_read_only and not any(mark in text for text in texts for mark in _READ_ONLY_URI)


def _by_globs(command: Command, guard: OwnGuard) -> Iterator[Touch]:
    """Say what it means that only certain files below a folder are searched."""
    invocation = command.invocation
    for glob in invocation.all_values(*_GLOB_OPTIONS):
        name = glob.text.removeprefix("**/")
        is_any = any(fnmatchcase(each, name) for each in _SOME_NAMES)
        is_key = not is_any and any(fnmatchcase(each, name) for each in _KEY_NAMES)
        for folder in (*invocation.operands, Word(".")):
            if not leads_to_own(folder.text, command.cwd, guard):
                continue
            if guard.is_secret_below(placed(folder.text, command.cwd), glob.text):
                yield Touch(Decision.BLOCK, "reads", f"{folder.text}/{glob.text}")
            elif is_key and not invocation.has("--files"):
                yield Touch(Decision.REQUIRE_CONFIRMATION, "takes along", folder.text)


def _hands_on(index: int, line: _Line) -> bool:
    """Whether `find` does something with what it finds that may be one of the own files."""
    command, following = line.commands[index], line.following(index)
    if command.program in SEARCHERS:
        return command.invocation.has("--files") and line.are_names_opened(index)
    if command.program not in FINDERS:
        return False
    names = [word.text for before, word in pairwise(command.argv) if before.text in _NAME_TESTS]
    may_be_own = not names or any(fnmatchcase(own, name) for own in _OWN_NAMES for name in names)
    if not _EXECUTES.isdisjoint(command.invocation.flags):
        return may_be_own
    # A list of everything is no more than a list, until something opens what it names.
    is_handed_on = following is not None and following.frame.piped
    return may_be_own and ((is_handed_on and bool(names)) or line.are_names_opened(index))


def _is_code(text: str) -> bool:
    return " " in text or "(" in text or "\n" in text


def _paths_in(word: Word, folders: Sequence[Word], cwd: str | None) -> Iterator[str]:
    """Yield every path that a word may hold: `--to=X`, `host:X`, `file=@X`, `file:///X`."""
    text = word.text
    if len(text) > MAX_PATH or "\n" in text:
        return
    pieces = [text if text[:1] != "-" else text[2:]]
    if _SEPARATORS.search(text) is not None:
        pieces += _SEPARATORS.split(text)[:_MAX_PIECES]
    for piece in filter(None, pieces):
        yield placed(piece, cwd)
        for folder in folders:
            yield placed(f"{folder.text}/{piece}", cwd)


def _by_database(command: Command, programs: Programs, guard: OwnGuard) -> Iterator[Touch]:
    """Say what a client does to a database that holds the ledger."""
    if programs.of(command.program).sql is None:
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
