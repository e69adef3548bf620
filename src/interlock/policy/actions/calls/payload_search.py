"""What a tool call carries, wherever it stands: found by the kinds of names, and by value.

The table of carriers says exactly which parameter of which tool holds what. Here everything else
is looked through: objects in objects, lists of lists, JSON in text, a call inside of a call. What
is found under a name that says what it is, in a tool that does such things, is judged like the
same thing anywhere. What is only likely counts from a certain decision on, so that prose, search
patterns and contents of files stay free.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from interlock.commands.programs.program_tables import Programs
from interlock.commands.shell.words import argv_line, quoted
from interlock.commands.sql.graph_text import changed_fields, deletes_all
from interlock.commands.sql.sql_script import holds_sql, looks_like_sql
from interlock.model.unchanged_lines import changed_lines
from interlock.model.verdict import Decision
from interlock.policy.actions.calls.found_payloads import LONGEST_CODE, Found
from interlock.policy.actions.calls.json_text import name_given_twice, object_or_list
from interlock.policy.actions.calls.parameter_parts import (
    UNSEEN,
    Part,
    as_words,
    begins_with_a_program,
    database_in,
    exports,
    fed,
    files_by_name,
    first_text,
    is_sent,
    joined_texts,
    lines_by_name,
    may_be_path,
    paths_of,
    said,
    searches_of,
    settings_of,
    told_by,
    told_to_do,
    unread,
    wiped_by,
    words_of,
)
from interlock.policy.actions.calls.payload import (
    Payload,
    files_in_patch,
    is_arrival,
    is_patch,
    path_of,
    spelt,
)
from interlock.policy.actions.calls.tool_vocabulary import Role, Vocabulary, is_plural, program_of

_MOST_NODES: Final = 20_000
_MOST_LINES: Final = 128
_PROMPT: Final = re.compile(r"(?m)^[ \t]*[$%#] (?=\S)")
_FENCE: Final = re.compile(r"\s*```[ \t]*\w*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_IMPORT: Final = re.compile(r"\s*(?:import|from)\s+\w[\w.]*(?:\s+import\s|\s*[;,\n])")
_CELL_COMMANDS: Final = re.compile(
    r"(?m)^[ \t]*(?:!{1,2}|%sx |%system )(.+)$"
    r"|\A\s*%%(?:bash|sh|script|system|sx)\b[^\n]*\n([\s\S]+)"
)
"""What a cell of a notebook gives to a shell."""
_BOTH: Final = ("python", "node")
"""What code is read as where nothing says its language."""
_STORES: Final = frozenset(("mongosh", "redis-cli"))
"""Clients of databases that speak no SQL."""
_STATEMENT: Final = ("statement", "stmt")
_STATEMENTS: Final = frozenset("queries query sql statement statements stmt".split())
_SOMEWHERE: Final = "upload.invalid:"
_NO_KINDS: Final = frozenset[str]()
_SPOKEN: Final = frozenset(("code", "query"))
_MEANT: Final = frozenset(("command", "patch", *_SPOKEN))
"""Kinds that hold for everything below them, unless a name says otherwise."""
_OWN_MEANING: Final = _MEANT | {"folder", "environment", "arguments", "reference"}
_NAMING: Final = frozenset(("reference", "operation", "language", "tool"))
"""Kinds whose values name something, as long as they are single words."""
_LEFT_ALONE: Final = UNSEEN | {"path"}
_SAYING: Final = frozenset(
    "echo printf grep egrep fgrep rg ag ack logger say expr test man apropos".split()
)
"""Programs that are given texts, which may be lines that are only mentioned."""
_LOOKED_INTO: Final = (str, Mapping, list, tuple)
_PLAIN_WORD: Final = re.compile(r"[a-z0-9]+")


class _Node(NamedTuple):
    """Something that is still to be looked at, and what stands around it."""

    value: object
    role: Role
    kinds: frozenset[str]
    cwd: str | None
    name: str
    database: str = ""
    """The file of the database that stands beside what it is asked."""
    language: str = ""
    """The language of the code, where nobody here reads it."""
    path: str = ""
    """The file that is named beside what may be done to it."""


def search(
    tool: str,
    params: Mapping[str, object],
    *,
    vocabulary: Vocabulary,
    programs: Programs,
    carried: Sequence[Payload],
) -> Found:
    """Look through a call's parameters; `carried` is what the policy's table found already."""
    return _Search(vocabulary, programs, carried).through(tool, params)


class _Search:
    def __init__(
        self, vocabulary: Vocabulary, programs: Programs, carried: Sequence[Payload]
    ) -> None:
        self._vocabulary = vocabulary
        self._programs = programs
        self._carried = frozenset(each.command for each in carried if each.command is not None)
        self._lines: set[str] = {*self._carried}
        self._paths = {each.path for each in carried if each.path is not None}
        self._payloads: list[Payload] = []
        self._searches: list[Payload] = []
        self._guesses: list[Payload] = []
        self._unclear: list[tuple[str, Role, str | None]] = []
        self._waiting: list[_Node] = []
        self._roles: list[Role] = []
        self._count = 0
        self._is_understood = bool(carried)
        self._has_text = False
        self._is_excessive = False
        self._twice: str | None = None
        self._deleting: str | None = None
        self._wiped = ""
        self._sent: dict[str, None] = {}

    def through(self, tool: str, params: Mapping[str, object]) -> Found:
        """Look at every object, list and text once, however deep it stands."""
        role = self._vocabulary.role_of(tool)
        self._waiting.append(_Node(params, role, _NO_KINDS, None, ""))
        # By identity; what is kept here keeps its identity to itself.
        seen: dict[int, object] = {}
        while self._waiting:
            node = self._waiting.pop()
            if isinstance(node.value, str):
                self._text(node.value, node)
            elif id(node.value) not in seen:
                # Parameters may contain themselves: once is enough.
                seen[id(node.value)] = node.value
                self._container(node)
            self._count += 1
            lines = len(self._payloads) + len(self._guesses)
            if self._count > _MOST_NODES or lines > _MOST_LINES:
                self._is_excessive = True
                break
        self._look_at_the_rest()
        if self._sent:
            line = argv_line(["scp", "--", *self._sent, _SOMEWHERE])
            ask = Decision.REQUIRE_CONFIRMATION
            self._guesses.append(Payload(command=line, least=ask))
        return Found(
            payloads=tuple(self._payloads),
            guesses=tuple(self._guesses),
            is_opaque=self._is_opaque(role),
            is_excessive=self._is_excessive,
            twice=self._twice,
            deleting=self._deleting,
            wiped=self._wiped,
            searches=tuple(self._searches),
        )

    def _is_opaque(self, role: Role) -> bool:
        if self._is_understood or self._payloads:
            return False
        roles = self._roles if role.calls and self._roles else [role, *self._roles]
        return any(each.shows_nothing or (each.must_show and self._has_text) for each in roles)

    def _container(self, node: _Node) -> None:
        if isinstance(node.value, Mapping):
            self._object(cast("Mapping[str, object]", node.value), node)
        elif isinstance(node.value, list | tuple):
            self._list(list(cast("Sequence[object]", node.value)), node)

    # Objects: what stands side by side belongs together.

    def _object(self, entries: Mapping[str, object], node: _Node) -> None:
        parts = [
            Part(name, self._meant(name, node), value)
            for name, value in ((str(key), value) for key, value in entries.items())
        ]
        told = told_to_do(parts, node.role, self._vocabulary)
        node = _Node(
            node.value,
            told_by(parts, node.role, told),
            node.kinds,
            first_text(parts, "folder") or node.cwd,
            node.name,
            database_in(parts, node.role) or node.database,
            node.language,
            first_text(parts, "path") or node.path,
        )
        self._wiped = self._wiped or wiped_by(parts, node.role, told, self._vocabulary)
        called = self._called(parts, node)
        is_line = self._commands_of(parts, node)
        self._edits_of(parts, node)
        if node.role.sets or ("environment" in node.kinds and not node.role.runs):
            self._guess("".join(settings_of(parts)), node, Decision.REQUIRE_CONFIRMATION)
        if not node.role.writes:
            self._searches.extend(searches_of(parts, node.role, node.cwd))
        for part in reversed(parts):
            is_word = is_line and "arguments" in part.kinds
            is_plain = not isinstance(part.value, _LOOKED_INTO)
            self._count += is_plain
            is_done = part in called or (is_word and not isinstance(part.value, Mapping))
            if not is_plain and not is_done:
                self._waiting.append(self._below(part, parts, node))

    def _meant(self, name: str, node: _Node) -> frozenset[str]:
        """Return what a name says, or else what the names above it say."""
        kinds = self._vocabulary.kinds_of(name)
        inherited = node.kinds & _MEANT
        return inherited if inherited and not kinds & _OWN_MEANING else kinds

    def _below(self, part: Part, parts: Sequence[Part], node: _Node) -> _Node:
        role = node.role
        program = language = ""
        if part.kinds & _SPOKEN:
            language = first_text(parts, "language") or ""
            program = program_of(_PLAIN_WORD.findall(f"{language} {part.name}".lower()))
        if "sent" in part.kinds:
            role = msgspec.structs.replace(role, sends=True)
        if program:
            role = msgspec.structs.replace(role, program=program)
        language = "" if role.program else language or node.language or unread(part, role)
        return _Node(
            part.value, role, part.kinds, node.cwd, part.name, node.database, language, node.path
        )

    def _called(self, parts: Sequence[Part], node: _Node) -> list[Part]:
        """Look through a call inside of a call as that tool; return its arguments."""
        if (tool := first_text(parts, "tool")) is None:
            return []
        given = [each for each in parts if "arguments" in each.kinds and each.value]
        if not given:
            return []
        role = self._vocabulary.role_of(tool).within(node.role)
        if node.role.calls or role.must_show:
            self._roles.append(role)
        self._waiting.extend(node._replace(value=each.value, role=role, name="") for each in given)
        return given

    # Commands, code and queries.

    def _commands_of(self, parts: Sequence[Part], node: _Node) -> bool:
        """Read a program and its arguments, which may stand apart, as one line."""
        run = [part for part in parts if "command" in part.kinds]
        ways = [way for part in run if (way := list(self._lines_of(part, node.role)))]
        heads = [way[0] for way in ways]
        words = [line for part in parts if "arguments" in part.kinds for line in words_of(part)]
        for line in (line for way in ways for line in way):
            self._command(line, node)
        if heads and (words or len(heads) > 1):
            self._command(" ".join([*heads, *words]), node)
        typed = first_text(parts, "stdin") if heads else None
        for head in heads if typed is not None else ():
            self._command(fed(head, typed or ""), node)
        if heads and (setting := exports(parts)):
            self._command(setting + "\n".join(heads), node)
        if node.role.queries:
            for head in heads:
                self._query(head, node, certain=False)
        # What a tool edits by what is known of it, it does not do as a program of that name.
        is_known = bool(self._paths) or node.role.reads or bool(node.name)
        if not is_known:
            known = self._programs.entries
            for line in lines_by_name(parts, heads, words, node.role, known):
                self._guess(line, node, Decision.REQUIRE_CONFIRMATION)
        return bool(heads)

    def _lines_of(self, part: Part, role: Role) -> Iterator[str]:
        """Yield a command: a line, a list of words, or a list of lines where it may be one."""
        value = part.value
        if isinstance(value, str):
            if (role.runs or not is_patch(value)) and object_or_list(value) is None:
                yield value
        elif isinstance(value, list | tuple) and value:
            items = list(cast("Sequence[object]", value))
            if any(isinstance(item, list | tuple) for item in items):
                yield "\n".join([argv_line(as_words(item)) for item in items])
            elif not any(isinstance(item, Mapping) for item in items):
                words = [said(item) for item in items]
                yield spelt(items) or argv_line(words)
                if is_plural(part.name) or self._are_lines(words):
                    yield "\n".join(words)

    def _are_lines(self, words: list[str]) -> bool:
        """Whether each word could be a command by itself, and one is more than a word."""
        if " " in words[0].strip():
            return True
        has_line = any(" " in word.strip() for word in words)
        return has_line and words[0] not in _SAYING and all(map(self._begins_with_a_program, words))

    def _command(self, line: str, node: _Node, least: Decision = Decision.ALLOW) -> None:
        """Add a line that stands under a name for what is run."""
        role = node.role
        if role.runs:
            self._add(line, node.cwd)
        elif role.reads:
            self._guess(line, node, Decision.BLOCK)
        elif role.writes:
            # A tool that writes may call what it does its command.
            self._guess(line, node, Decision.REQUIRE_CONFIRMATION)
        else:
            self._guess(line, node, least)

    def _add(self, line: str, cwd: str | None) -> None:
        self._is_understood = True
        if line not in self._lines:
            self._lines.add(line)
            self._payloads.append(Payload(command=line, cwd=cwd))

    def _guess(self, line: str, node: _Node, least: Decision) -> None:
        if line.strip() and line not in self._lines:
            self._lines.add(line)
            self._guesses.append(Payload(command=line, cwd=node.cwd, least=least))

    def _spoken(self, text: str, node: _Node) -> None:
        """Read code or statements, unless they are longer than anybody looks through."""
        if len(text) > LONGEST_CODE:
            self._is_excessive = True
        elif "code" in node.kinds:
            self._code(text, node)
        else:
            name, role = node.name.lower(), node.role
            is_said = "sql" in name or (role.queries and name.startswith(_STATEMENT))
            self._query(text, node, certain=role.runs or is_said or role.asks_store)

    def _code(self, text: str, node: _Node) -> None:
        """Read code as the program of its language would."""
        program = node.role.program
        if "do shell script" in text:
            self._guess(fed("osascript", text), node, Decision.REQUIRE_CONFIRMATION)
        if program == "bash":
            self._command(text, node, Decision.REQUIRE_CONFIRMATION)
            return
        if node.language:
            # It runs all the same: the tool does not show what it would do.
            self._has_text = True
            for each in _BOTH:
                self._guess(fed(each, text), node, Decision.REQUIRE_CONFIRMATION)
            return
        for each in (program,) if program else _BOTH:
            self._command(fed(each, text), node, Decision.REQUIRE_CONFIRMATION)
        if shell := "\n".join([found[1] or found[2] for found in _CELL_COMMANDS.finditer(text)]):
            self._command(shell, node, Decision.REQUIRE_CONFIRMATION)
        if not program and self._begins_with_a_program(text):
            self._guess(text, node, Decision.REQUIRE_CONFIRMATION)
        elif not program and node.role.words[:1] and node.role.words[0] in self._programs.entries:
            # `npm_run {script: "test"}`
            line = " ".join([*node.role.words, text])
            self._guess(line, node, Decision.REQUIRE_CONFIRMATION)

    def _query(self, text: str, node: _Node, *, certain: bool) -> None:
        """Read statements as a client of the database would."""
        role = node.role
        program = "psql" if role.program in {"", "bash", *_BOTH} else role.program
        if node.database:
            program = f"sqlite3 {quoted(node.database)}"
        if deletes_all(text):
            self._wiped = self._wiped or "every node that it matches"
        if certain or role.program in _STORES or holds_sql(text):
            if role.reads and not _STATEMENTS.isdisjoint(role.words):
                # Also what only reads by its name may be asked for what writes.
                self._guess(fed(program, text), node, Decision.REQUIRE_CONFIRMATION)
            self._command(fed(program, text), node, Decision.REQUIRE_CONFIRMATION)

    # Texts.

    def _text(self, text: str, node: _Node) -> None:
        """Look at a text by what its name says, and by what it is itself."""
        kinds, role = node.kinds, node.role
        if role.sends and not kinds & {"content", "old"} and is_sent(node.name, text):
            self._sent[path_of(text)] = None
        if not role.writes and len(text) <= LONGEST_CODE:
            self._document(text)
        if not kinds & UNSEEN:
            if is_patch(text, whole=role.runs):
                self._patch(text, node)
                if not role.runs:
                    return
            elif self._is_json(text, node):
                return
        is_written = role.writes and bool(kinds & {"path", "content"})
        if kinds & _SPOKEN and not is_written:
            self._spoken(text, node)
        elif not kinds & {"command", "folder"} and not ("path" in kinds and " " not in text):
            self._other(text, node)

    def _other(self, text: str, node: _Node) -> None:
        """Look at a text whose name says nothing: any text may be a command where things run."""
        role, kinds = node.role, node.kinds
        if kinds & _NAMING and " " not in text:
            return
        asks = role.queries and not (role.writes and kinds & UNSEEN) and holds_sql(text)
        if asks:
            self._is_understood = True
            self._query(text, node, certain=True)
        elif kinds & {"data", "content", "old"}:
            self._has_text = self._has_text or role.runs
            self._unclear.append((text, role, node.cwd))
            if role.types:
                self._by_value(text, node)
            return
        self._has_text = self._has_text or bool(text.strip())
        if asks or role.reads:
            return
        if role.runs:
            self._is_understood = self._is_understood or self._begins_with_a_program(text)
            self._guess(text, node, Decision.REQUIRE_CONFIRMATION)
        elif role.writes:
            self._unclear.append((text, role, node.cwd))
        else:
            self._by_value(text, node)

    def _by_value(self, text: str, node: _Node) -> None:
        """Look at a text that could be anything: only what is unmistakable counts."""
        fence = _FENCE.fullmatch(text[:LONGEST_CODE])
        line = _PROMPT.sub("", text if fence is None else fence[1])
        if _IMPORT.match(line):
            self._guess(fed(_BOTH[0], line), node, Decision.BLOCK)
        elif line.rstrip().endswith(";") and looks_like_sql(line):
            self._guess(fed("psql", line), node, Decision.REQUIRE_CONFIRMATION)
        elif self._begins_with_a_program(line):
            self._guess(line, node, Decision.BLOCK)

    def _document(self, text: str) -> None:
        """Look for what a GraphQL document deletes, also where it is the body of a request."""
        body, texts = object_or_list(text), [text]
        if isinstance(body, Mapping):
            values = cast("Mapping[str, object]", body).values()
            texts = [each for each in values if isinstance(each, str)]
        for field in (field for each in texts for field in changed_fields(each)):
            role = self._vocabulary.role_of(field)
            if role.deletes or role.shows_nothing:
                self._deleting = field

    def _is_json(self, text: str, node: _Node) -> bool:
        """Whether a text is itself JSON: then what it says is looked through."""
        value = object_or_list(text)
        if value is None:
            return False
        self._note_twice(text)
        self._waiting.append(node._replace(value=value))
        return True

    def _note_twice(self, text: str) -> None:
        if self._twice is None:
            self._twice = name_given_twice(text)

    def _begins_with_a_program(self, text: str) -> bool:
        return begins_with_a_program(text, self._programs.entries)

    def _look_at_the_rest(self) -> None:
        """Where nothing else was found, even a description may be what the tool is about."""
        if self._is_understood or self._payloads:
            return
        for text, role, cwd in self._unclear[:_MOST_LINES]:
            node = _Node(text, role, _NO_KINDS, cwd, "")
            if role.runs and not role.reads and self._begins_with_a_program(text):
                self._guess(text, node, Decision.REQUIRE_CONFIRMATION)
            elif role.writes and is_patch(text):
                self._patch(text, node)
            elif role.writes and may_be_path(text):
                self._guesses.append(
                    Payload(path=text, cwd=cwd, least=Decision.REQUIRE_CONFIRMATION)
                )

    # Lists.

    def _list(self, items: list[object], node: _Node) -> None:
        """Read a list as the words of one command, as lines, or as what each of it is."""
        kinds, role = node.kinds, node.role
        texts = cast("list[str]", items) if all(isinstance(each, str) for each in items) else []
        if "command" in kinds:
            for line in self._lines_of(Part(node.name, kinds, items), role):
                self._command(line, node)
        elif texts and kinds & _SPOKEN:
            self._text("\n".join(texts), node)
            return
        elif texts and not role.reads and not kinds & _LEFT_ALONE and self._is_argv(texts):
            self._is_understood = self._is_understood or role.runs
            least = Decision.REQUIRE_CONFIRMATION if role.runs else Decision.BLOCK
            self._guess(argv_line(texts), node, least)
            return
        elif texts and role.runs and not role.reads and not kinds & _LEFT_ALONE:
            self._guess("\n".join(texts), node, Decision.REQUIRE_CONFIRMATION)
        self._waiting.extend(node._replace(value=item) for item in reversed(items))

    def _is_argv(self, texts: list[str]) -> bool:
        """Whether a list is a program and its arguments."""
        first = texts[0]
        return len(texts) > 1 and " " not in first and self._begins_with_a_program(first)

    # Edits and patches.

    def _patch(self, text: str, node: _Node) -> None:
        self._has_text = True
        for each in files_in_patch(text, node.path or None):
            self._edit(each, node, certain=node.role.writes)

    def _edits_of(self, parts: Sequence[Part], node: _Node) -> None:
        """Read a path and the text beside it as an edit."""
        role, done = node.role, self._operations_of(parts)
        content, old = joined_texts(parts, "content"), joined_texts(parts, "old")
        writes = role.writes or any(each.writes for each in done)
        if not writes and (role.reads or content is None):
            return
        only_views = bool(done) and all(each.reads and not each.writes for each in done)
        if content is None and old is None and only_views:
            self._is_understood = True
            return
        paths = list(paths_of(parts))
        self._is_understood = self._is_understood or bool(paths)
        removes = any(each.removes for each in (role, *done))
        # What nothing is moved away from is no arrival: `delete(target=...)`.
        moves = not all(is_arrival(name) for name, _ in paths)
        arrival = next((path for name, path in paths if is_arrival(name)), None)
        new = [(name, path) for name, path in paths if path not in self._paths]
        changed = changed_lines(old or "", content or "") if new else 0
        for name, path in new:
            edit = Payload(
                path=path,
                cwd=node.cwd,
                content=content or "",
                old=old,
                changed=changed,
                removes=removes and not (moves and is_arrival(name)),
                arrival=arrival if moves else None,
            )
            self._edit(edit, node, certain=role.writes)
        for path, text in files_by_name(parts):
            edit = Payload(path=path, content=text, changed=changed_lines("", text))
            self._edit(edit, node, certain=role.writes)

    def _edit(self, edit: Payload, node: _Node, *, certain: bool) -> None:
        self._is_understood = True
        if edit.path in self._paths:
            return
        self._paths.add(edit.path or "")
        if certain and not node.role.reads:
            self._payloads.append(edit)
        else:
            least = Decision.REQUIRE_CONFIRMATION
            self._guesses.append(msgspec.structs.replace(edit, least=least))

    def _operations_of(self, parts: Sequence[Part]) -> list[Role]:
        """Return what a tool that can do several things is told to do; a line is no such name."""
        said = [each.value for each in parts if each.kinds & {"command", "operation"}]
        return [
            self._vocabulary.role_of(each)
            for each in said
            if isinstance(each, str) and each not in self._carried
        ]
