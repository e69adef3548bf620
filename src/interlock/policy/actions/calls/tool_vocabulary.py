"""What the names of tools and of their parameters say: which tool runs things, which name a path.

Names are read as words, whatever their case and whatever stands between them: `runCommand`,
`run-command`, `RUN_COMMAND` and `runcommand` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec

from interlock.policy.config.action_sections import ParameterNames, ToolNames

_WORD: Final = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"
_JOINING: Final = frozenset(("and", "or", "then"))
_LAST_WORDS: Final = frozenset(
    "output outputs status history log logs search lookup grep glob find finder".split()
)
"""A name that ends with one of these looks at what is there, and runs nothing."""
_REMOVALS: Final = frozenset("delete erase move mv remove rename rm rmdir trash unlink".split())
_DELETIONS: Final = frozenset("delete del erase remove trash unlink".split())
_TYPES: Final = frozenset("keyboard keypress keys keystroke keystrokes paste type typing".split())
_UPLOADS: Final = frozenset("attach attachment attachments upload uploads".split())
_SENDS: Final = frozenset("publish send share transfer".split())
_ENVIRONMENT: Final = frozenset("env environ environment envvar envvars".split())
_MANAGES: Final = frozenset("admin manage management manager operation operations ops".split())
"""What stands in the name of a tool that is told what to do to what else it is named after."""
_ASKS: Final = frozenset("queries query".split())
"""Words that say of a tool that it asks, and not what."""
_KEEPS: Final = frozenset(("overwrite", "save", "write"))
"""What a tool does to files, whatever it calls them."""
_IN_MIND: Final = frozenset(
    """
    answer article bookmark checkpoint comment comments context conversation description docs
    draft email essay event fact facts feedback goal goals idea insight journal knowledge lesson
    letter mail memo memories memory message messages note notes observation outline page plan
    plans post preference preferences progress prompt reply report review reviews search section
    session state step steps story summary task tasks thinking thought thoughts ticket todo todos
    """.split()
)
"""What is written down somewhere else than in a file that the caller names."""
_ABOUT: Final = frozenset("by for from in of on to with".split())
_CALL_VERBS: Final = frozenset("call use invoke dispatch run exec execute batch parallel".split())
_CALL_NOUNS: Final = frozenset("tool tools mcp function functions method rpc".split())
_FILLERS: Final = frozenset(
    """
    a all and at based block by content contents editor from in into line lines multi new of on or
    range str string text the to tool
    """.split()
)
_LANGUAGES: Final = {
    name: program
    for program, names in (
        ("python", "python python3 py ipython jupyter pandas"),
        ("node", "javascript js node nodejs typescript ts deno bun jsx tsx"),
        ("ruby", "ruby rb"),
        ("perl", "perl"),
        ("php", "php"),
        ("lua", "lua"),
        ("rscript", "r rscript"),
        ("bash", "bash sh zsh ksh dash shell shellscript terminal console powershell pwsh cmd"),
        ("psql", "sql pg postgres postgresql plpgsql"),
        ("sqlite3", "sqlite sqlite3 duckdb"),
        ("mysql", "mysql mariadb"),
        ("mongosh", "mongo mongodb mongosh"),
        ("redis-cli", "redis"),
    )
    for name in names.split()
}
_UNREAD: Final = frozenset(
    """
    applescript autohotkey clojure cobol csharp dart elixir erlang fortran fsharp golang groovy
    haskell java jxa kotlin matlab ocaml octave osascript pascal rust scala swift tcl vba
    vbscript
    """.split()
)
"""Languages that nobody here reads."""
_OTHER_KINDS: Final = {
    "folder": (
        "cwd workdir workingdir workingdirectory cd dirpath dir directory folder"
        " workspacefolder projectroot rootdir repopath repositorypath base basepath basedir"
        " root"
    ),
    "database": "database db dbname dbpath dbfile databasepath databasefile dsn connectionstring",
    "old": "oldstring oldstr oldtext oldcontent oldsource old search find targetcontent",
    "stdin": "stdin stdindata stdintext standardinput inputtext inputdata heredoc pipedinput",
    "environment": "env environ environment envvars environmentvariables",
    "tool": "tool toolname name function functionname recipientname method recipient",
    "reference": (
        "id uuid guid pid status state type kind level ref tag version format encoding date time"
        " timestamp"
    ),
    "operation": "action operation op mode verb subcommand",
    "method": "method httpmethod requestmethod",
    "filter": "condition conditions criteria filter match matchall q query selector where",
    "sent": "attach attachedfile attachment upload",
    "glob": "glob include pattern",
    "sought": "pattern regex regexp query search needle keyword",
    "language": "language lang kernel runtime interpreter syntax dialect shell",
}
_CACHED: Final = 1024
_LONGEST_NAME: Final = 256
_SHORTEST_JOINED: Final = 5


class Role(msgspec.Struct, frozen=True):
    """What a tool can do by its name."""

    runs: bool = False
    """It runs commands, code or statements."""
    queries: bool = False
    asks_store: bool = False
    """It asks a database, by the name of one."""
    writes: bool = False
    """It writes, moves or removes."""
    removes: bool = False
    """It takes away what it is given, with everything in it."""
    deletes: bool = False
    """The same, for good."""
    types: bool = False
    """It types, wherever that arrives."""
    sends: bool = False
    """It sends the files that it is given."""
    sets: bool = False
    """It sets the environment of what runs later."""
    reads: bool = False
    """It only looks."""
    calls: bool = False
    """It calls another tool, which its parameters name."""
    must_show: bool = False
    """Whether it must show what it would do: otherwise nobody can tell."""
    shows_nothing: bool = False
    """Whether it does something that no parameter has to tell."""
    program: str = ""
    """The program that runs the language that it is named after."""
    language: str = ""
    """The language that it is named after, where nobody reads it."""
    words: tuple[str, ...] = ()
    """Its own name, without the words for files."""
    others: tuple[str, ...] = ()
    """The words of its own name and of its server's that do not say that it runs something."""
    server: str = ""
    """The last word of its server's name."""

    @property
    def does_one_thing(self) -> bool:
        """Whether it only runs, only writes or only reads what it is given, and nothing besides."""
        more = self.queries or self.asks_store or self.removes or self.deletes or self.types
        more = more or self.sends or self.sets or self.calls or self.shows_nothing
        more = more or (self.reads and self.must_show) or (self.runs and bool(self.others))
        return not more and (self.runs, self.writes, self.reads).count(True) == 1

    def within(self, outer: Role) -> Role:
        """Return what is true of a call inside of another: a disguise takes nothing away."""
        if outer.calls or not (outer.runs or outer.writes):
            return self
        return Role(
            runs=self.runs or outer.runs,
            queries=self.queries or outer.queries,
            writes=self.writes or outer.writes,
            removes=self.removes or outer.removes,
            deletes=self.deletes or outer.deletes,
            types=self.types or outer.types,
            sends=self.sends or outer.sends,
            sets=self.sets or outer.sets,
            must_show=True,
            program=self.program or outer.program,
            language=self.language or outer.language,
        )


class Vocabulary:
    """The words of one policy, ready to be asked."""

    def __init__(self, tools: ToolNames, parameters: ParameterNames) -> None:
        self._runs = frozenset(tools.runs)
        self._queries = frozenset(tools.queries)
        self._writes = frozenset(tools.writes)
        self._files = frozenset(tools.files)
        self._acts = frozenset(tools.acts)
        self._stores = frozenset(tools.stores)
        self._reads = frozenset(tools.reads)
        every = (self._queries, self._writes, self._files, self._acts, self._reads)
        self._words = self._runs.union(*every, _CALL_NOUNS, _CALL_VERBS, _FILLERS, _LANGUAGES)
        named: dict[str, set[str]] = {}
        own = {key.name: getattr(parameters, key.field) for key in ParameterNames.keys}
        others = {kind: names.split() for kind, names in _OTHER_KINDS.items()}
        for kind, names in (*own.items(), *others.items()):
            for name in names:
                named.setdefault(name, set()).add(kind)
        self._kinds = {name: frozenset(kinds) for name, kinds in named.items()}
        self.role_of = lru_cache(_CACHED)(self._role_of)
        self.kinds_of = lru_cache(_CACHED)(self._kinds_of)

    def _role_of(self, name: str) -> Role:
        """Return what a tool can do, by its own name and that of its server."""
        server, own = self._parts(name)
        words = frozenset(own)
        reads = bool(own) and (verbs_in(own) <= self._reads or own[-1] in _LAST_WORDS)
        running = words & self._runs
        calls = running <= _CALL_VERBS and _is_call(own)
        is_language = not words.isdisjoint(_LANGUAGES) and words <= _LANGUAGES.keys() | _FILLERS
        runs = bool(running) or is_language
        writes = not words.isdisjoint(self._writes)
        beside = not reads and not writes and not frozenset(server).isdisjoint(self._runs)
        together = [first + second for first, second in pairwise(own)]
        acts = not reads and (
            not self._acts.isdisjoint((*own, *together)) or self._removes_much(own)
        )
        keeps = not _KEEPS.isdisjoint((*own[:1], *own[-1:])) and words.isdisjoint(_IN_MIND)
        only_files = words - self._writes <= (self._files | _FILLERS)
        every = (*own, *server)
        is_file = not words.isdisjoint(self._files)
        return Role(
            runs=not calls and (runs or beside),
            queries=not self._queries.isdisjoint(every),
            asks_store=not (self._queries - _ASKS).isdisjoint(every),
            writes=writes,
            removes=not words.isdisjoint(_REMOVALS),
            deletes=not words.isdisjoint(_DELETIONS),
            types=not words.isdisjoint(_TYPES),
            sends=not words.isdisjoint(_UPLOADS) or (is_file and not words.isdisjoint(_SENDS)),
            sets=not reads and not words.isdisjoint(_ENVIRONMENT),
            reads=reads,
            calls=calls,
            must_show=not reads and (runs or calls or (writes and (only_files or keeps))),
            shows_nothing=acts,
            program=program_of(every),
            language=next((word for word in every if word in _UNREAD), ""),
            words=tuple([word for word in own if word not in self._files] or own),
            others=tuple([word for word in every if word not in self._runs]),
            server=server[-1] if server else "",
        )

    def told(self, role: Role, operation: str) -> Role:
        """Return what a tool can do that is told what to do: `{operation: "drain"}`."""
        if len(operation) > _LONGEST_NAME or " " in operation:
            return Role()
        about = [word for word in role.words if word not in _MANAGES]
        found = self.role_of("_".join([operation, *about]))
        if "drop" in found.words and not role.queries and self._stores.isdisjoint(found.words):
            # What is dragged is dropped as well.
            return msgspec.structs.replace(found, shows_nothing=False)
        return found

    def is_store(self, word: str) -> bool:
        """Whether something that holds much is called so."""
        return word.lower() in self._stores

    def _removes_much(self, own: list[str]) -> bool:
        """`delete_database`, but not `delete_database_row`."""
        about = next((at for at, word in enumerate(own) if word in _ABOUT), len(own))
        last = frozenset([word for word in own[:about] if word not in _FILLERS][-2:])
        return not (last.isdisjoint(_DELETIONS) or last.isdisjoint(self._stores))

    def _parts(self, name: str) -> tuple[list[str], list[str]]:
        """Return the words of a tool's server, and those of its own name."""
        pieces = name_parts(_plain(name))
        own = self._words_of(pieces[-1])
        server = [word for piece in pieces[:-1] for word in self._words_of(piece)]
        if own[:1] == ["mcp"] and len(own) > 2:
            server, own = [*server, own[1]], own[2:]
        return server, own

    def _words_of(self, name: str) -> list[str]:
        return [part for word in words_in(name) for part in self._taken_apart(word)]

    def _taken_apart(self, word: str) -> list[str]:
        """`runterminalcmd` is three words that are known, written as one."""
        if word in self._words or len(word) < _SHORTEST_JOINED:
            return [word]
        ways: list[list[str] | None] = [[]]
        for end in range(1, len(word) + 1):
            starts = (at for at in range(end) if ways[at] is not None)
            at = next((at for at in starts if word[at:end] in self._words), None)
            ways.append(None if at is None else [*(ways[at] or ()), word[at:end]])
        return ways[-1] or [word]

    def _kinds_of(self, name: str) -> frozenset[str]:
        """Return what a parameter may hold, by its whole name or else by its last word."""
        words = words_in(_plain(name))
        if not words:
            return frozenset()
        for candidate in ("".join(words), words[-1]):
            for spelling in (candidate, candidate.removesuffix("s")):
                if spelling in self._kinds:
                    return self._kinds[spelling]
        return frozenset()


def name_parts(name: str) -> list[str]:
    """Return a tool's name and those of its servers: `mcp__files__read_file` ends with its own."""
    return re.split(r"__|[.:/]", name)


def words_in(name: str) -> list[str]:
    """`WebFetch` and `web_fetch` are the words `web` and `fetch`."""
    return [word.lower() for word in re.findall(_WORD, name)]


def verbs_in(words: Sequence[str]) -> frozenset[str]:
    """Return the words that say what is done: the first, and each behind an `and` or `or`."""
    behind = [word for before, word in pairwise(words) if before in _JOINING]
    return frozenset((*words[:1], *behind))


def option_of(name: str) -> str:
    """Return the option that a parameter is: `autoApprove` is `--auto-approve`, `f` is `-f`."""
    words = "-".join(words_in(_plain(name)))
    return f"--{words}" if len(words) > 1 else f"-{name}"


def program_of(words: Iterable[str]) -> str:
    """Return the program that runs the first language that is named."""
    named = (each for word in words for each in (word, word.rstrip("0123456789")))
    return next((_LANGUAGES[each] for each in named if each in _LANGUAGES), "")


def is_plural(name: str) -> bool:
    """Whether a name stands for several things."""
    return _plain(name).lower().endswith(("s", "list"))


def _plain(name: str) -> str:
    """Return a name in plain letters; of a very long one as much as matters."""
    name = name[:_LONGEST_NAME]
    if name.isascii():
        return name
    import unicodedata  # noqa: PLC0415 - names are plain nearly always

    return unicodedata.normalize("NFKC", name)


def _is_call(words: list[str]) -> bool:
    found = frozenset(words)
    return not found.isdisjoint(_CALL_VERBS) and (
        not found.isdisjoint(_CALL_NOUNS)
        or found <= _CALL_VERBS - {"run", "exec", "execute", "use"} | {"multi"}
    )
