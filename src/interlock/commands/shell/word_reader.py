"""One text of the shell → pieces: quotes off, values put in, exactly as bash does or unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from interlock.commands.shell.pieces import BREAK, Kind, Piece, brace_expanded, one_word, piece_of
from interlock.commands.shell.provenance import STAND_IN, Stream
from interlock.commands.shell.scope import UNKNOWN_INDEX, UNSET, Function, Shell
from interlock.commands.shell.words import (
    Word,
    decode_ansi_c,
    labels_of,
    literal,
    may_run,
    unknown,
    without_hidden,
)
from interlock.commands.values.arithmetic import NotComputed, assigned_in, computed
from interlock.commands.values.brackets import Brackets, end_of
from interlock.commands.values.parameter_forms import (
    cut,
    recased,
    replaced,
    sliced,
    substring,
    transformed,
)
from interlock.commands.values.patterns import Pattern, pattern_of

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_SIMPLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_ESCAPED_IN_QUOTES: Final = frozenset('$`"\\\n')
_BYTES: Final = re.compile(r"\\[x0-7]")
_ALL: Final = frozenset("@*")
_BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)|,.*\}", re.DOTALL)
_BRACKETS: Final = frozenset("{([")
_OF_DEFAULTS: Final = frozenset("-=+?")
_DOUBLED: Final = frozenset("## %% // /# /% ^^ ,, ~~".split())
_MAX_DEPTH: Final = 48


class Mode(NamedTuple):
    """In which surroundings a text is read."""

    quoted: bool
    special: re.Pattern[str]
    quotes: bool
    """Whether quotes are taken off: not in here-documents and arithmetic."""
    as_written: bool = False
    """Whether what is not known stays as it was written, for whoever expands it again."""


PLAIN: Final = Mode(quoted=False, special=re.compile(r"[\\'\"$`<>]"), quotes=True)
_QUOTED: Final = Mode(quoted=True, special=re.compile(r"[\\\"$`]"), quotes=True)
TEXT: Final = Mode(quoted=True, special=re.compile(r"[\\$`]"), quotes=False)
BODY: Final = TEXT._replace(as_written=True)


class _Spot(NamedTuple):
    """Where the operator behind a name stands, and how its result is put in."""

    start: int
    end: int
    mode: Mode
    joined: bool


class WordReader:
    """Reads one text; `commands` are the substitutions that the grammar found in it."""

    __slots__ = ("_brackets", "_commands", "_depth", "_shell", "_text")

    def __init__(
        self,
        text: str,
        shell: Shell,
        commands: Mapping[int, tuple[int, Function]] = {},
        depth: int = 0,
    ) -> None:
        """`commands` says where each substitution begins and ends."""
        self._text = text
        self._shell = shell
        self._commands = commands
        self._depth = depth
        ends = {start: end for start, (end, _) in commands.items()} if commands else {}
        self._brackets = Brackets(text, ends)

    def pieces(self, mode: Mode) -> list[Piece]:
        """Return the pieces of the whole text."""
        found: list[Piece] = []
        self._read(0, len(self._text), mode, found)
        return found

    def brace_expanded(self) -> list[WordReader]:
        """Return a reader for each word that braces make: they go by what is written."""
        if not _BRACES.search(self._text):
            return [self]
        atoms: list[Piece] = []
        end = len(self._text)
        index = 0
        while index < end:
            special = PLAIN.special.search(self._text, index)
            stop = special.start() if special else end
            atoms += [Piece(Kind.LITERAL, char) for char in self._text[index:stop]]
            index = stop if special is None else self._brackets.behind(stop, end)
            if index > stop:
                atoms.append(Piece(Kind.QUOTED, self._text[stop:index]))
        made = brace_expanded(atoms, self._shell.budget)
        if len(made) == 1:
            return [self]
        texts = ["".join([piece.text for piece in each]) for each in made]
        self._shell.budget.read(sum(map(len, texts)))
        return [WordReader(text, self._shell) for text in texts]

    def _read(self, start: int, end: int, mode: Mode, found: list[Piece]) -> None:
        """Read from `start` to `end`; what is quoted there is no business of the caller."""
        text = self._text
        plain = Kind.QUOTED if mode.quoted else Kind.LITERAL
        index = start
        while index < end:
            special = mode.special.search(text, index, end)
            stop = special.start() if special else end
            if stop > index:
                found.append(Piece(plain, text[index:stop]))
            if special is None:
                return
            index = self._special(stop, end, mode, found)

    def _special(self, index: int, end: int, mode: Mode, found: list[Piece]) -> int:
        """Read what begins with a character that means something; return where it ends."""
        text = self._text
        char = text[index]
        if char == "\\":
            following = text[index + 1 : index + 2] if index + 1 < end else ""
            if following != "\n" and not (mode.quoted and following not in _ESCAPED_IN_QUOTES):
                if mode.quoted and following == '"' and not mode.quotes:
                    following = '\\"'
                found.append(Piece(Kind.QUOTED, following))
            elif following != "\n":
                found.append(Piece(Kind.QUOTED, "\\" + following))
            return index + 2
        if char == "'":
            close = text.find("'", index + 1, end)
            close = end if close < 0 else close
            found.append(Piece(Kind.QUOTED, text[index + 1 : close]))
            return close + 1
        if char == '"':
            close = self._brackets.closing(index + 1, end, '"', quoted=True)
            found.append(Piece(Kind.QUOTED))
            before = len(found)
            self._read(index + 1, close, _QUOTED, found)
            if len(found) == before and close > index + 1:
                # `"$@"` without arguments is no word at all.
                found.pop()
            return close + 1
        if char == "$":
            return self._dollar(index, end, mode, found)
        if char == "`":
            return self._backquoted(index, end, mode, found)
        return self._process(index, found)

    def _dollar(self, index: int, end: int, mode: Mode, found: list[Piece]) -> int:
        text = self._text
        if index in self._commands:
            return self._substituted(index, mode, found)
        following = text[index + 1 : min(index + 3, end)]
        opener = following[:1]
        if opener in _BRACKETS:
            return self._bracketed(index, end, mode, found)
        if not mode.quoted and opener == "'":
            close = end_of(text, "'", index + 2, end)
            raw = text[index + 2 : close]
            decoded, nul, _ = decode_ansi_c(raw).partition("\0")
            known = decoded.isascii() or not _BYTES.search(raw)
            found.append(Piece(Kind.QUOTED, decoded, known or bool(nul)))
            return close + 1
        if not mode.quoted and opener == '"':
            return self._special(index + 1, end, mode, found)
        name = _SIMPLE.match(text, index + 1, end)
        if name is None:
            found.append(Piece(Kind.QUOTED if mode.quoted else Kind.LITERAL, "$"))
            return index + 1
        self._value(name[0], index, name.end(), mode, found)
        return name.end()

    def _bracketed(self, index: int, end: int, mode: Mode, found: list[Piece]) -> int:
        """`${...}`, `$((...))`, `$[...]`, or `$(...)` where the grammar did not see one."""
        text = self._text
        if text[index + 1] == "{":
            close = self._brackets.closing(index + 2, end, "}", quoted=mode.quoted)
            self._nested(self._parameter, index + 2, close, mode, found)
            return close + 1
        if text[index + 1] == "[":
            close = self._brackets.closing(index + 2, end, "]")
            self._nested(self._arithmetic, index + 2, close, mode, found)
            return close + 1
        if text.startswith("((", index + 1):
            close = self._brackets.closing(index + 3, end, "))")
            if close < end - 1:
                self._nested(self._arithmetic, index + 3, close, mode, found)
                return close + 2
        close = self._brackets.closing(index + 2, end, ")")
        self._put(self._captured(text[index + 2 : close]), index, close + 1, mode, found)
        return close + 1

    def _nested(
        self,
        part: Callable[[int, int, Mode, list[Piece]], None],
        start: int,
        end: int,
        mode: Mode,
        found: list[Piece],
    ) -> None:
        """Read a part one level deeper; too deep is too much."""
        self._shell.budget.spend()
        if self._depth > _MAX_DEPTH:
            self._shell.budget.exhaust()
        self._depth += 1
        part(start, end, mode, found)
        self._depth -= 1

    def _deeper(self, text: str, mode: Mode) -> list[Piece]:
        """Return the pieces of another text, one level deeper."""
        return WordReader(text, self._shell, depth=self._depth + 1).pieces(mode)

    def _put(self, word: Word, start: int, end: int, mode: Mode, found: list[Piece]) -> None:
        """Add a value that was written between `start` and `end`."""
        piece = piece_of(word, quoted=mode.quoted)
        if mode.as_written and not word.known:
            piece = piece._replace(text=self._text[start:end])
        found.append(piece)

    def _value(self, name: str, start: int, end: int, mode: Mode, found: list[Piece]) -> None:
        """`$name`, or `$@`."""
        items = self._shell.scope.lists.get(name)
        if items is not None and (name in _ALL or not mode.quoted):
            # Another shell than bash puts all elements in for the name alone.
            found += self._all(items, quoted=mode.quoted, joined=name == "*" and mode.quoted)
            return
        self._put(self._scalar(name), start, end, mode, found)

    def _all(self, items: Sequence[Word], *, quoted: bool, joined: bool) -> list[Piece]:
        """Return the elements of a list: words of their own, or joined to one."""
        self._shell.budget.spend(len(items))
        separator = BREAK
        if joined:
            ifs = self._shell.scope.value("IFS") or unknown("$IFS")
            separator = Piece(Kind.QUOTED, ifs.text[:1], ifs.known)
        found = [Piece(Kind.QUOTED)] if joined else []
        for index, item in enumerate(items):
            if index:
                found.append(separator)
            found.append(piece_of(item, quoted=quoted))
        return found

    def _scalar(self, name: str) -> Word:
        scope = self._shell.scope
        self._shell.meet(name)
        value = scope.parameter(name)
        return unknown(f"${name}") if value is None else value

    def _substituted(self, index: int, mode: Mode, found: list[Piece]) -> int:
        end, function = self._commands[index]
        self._put(
            self._printed(self._shell.capture(function, self._shell.scope)), index, end, mode, found
        )
        return end

    def _captured(self, text: str) -> Word:
        return self._printed(self._shell.capture(text, self._shell.scope))

    def _printed(self, printed: Stream) -> Word:
        if printed.text is None or not printed.exact:
            return unknown("$(…)", printed.labels)
        text = printed.text.replace("\0", "").rstrip("\n")
        self._shell.budget.read(len(text))
        return literal(text, printed.labels)

    def _backquoted(self, index: int, end: int, mode: Mode, found: list[Piece]) -> int:
        if index in self._commands:
            return self._substituted(index, mode, found)
        close = end_of(self._text, "`", index + 1, end)
        inside = without_hidden(self._text[index + 1 : close])
        self._put(self._captured(inside), index, close + 1, mode, found)
        return close + 1

    def _process(self, index: int, found: list[Piece]) -> int:
        """`<(...)` and `>(...)`: a name that stands for what runs inside."""
        if index not in self._commands:
            found.append(Piece(Kind.LITERAL, self._text[index]))
            return index + 1
        end, function = self._commands[index]
        scope = self._shell.scope
        printed = self._shell.capture(function, scope)
        name = f"/dev/fd/substitution-{len(scope.files) + len(scope.sinks)}"
        if self._text[index] == ">":
            scope.sinks[name] = function
            found.append(Piece(Kind.QUOTED, name))
        else:
            scope.files[name] = printed
            found.append(Piece(Kind.QUOTED, name, labels=printed.labels))
        return end

    # `${...}`.

    def _parameter(self, start: int, end: int, mode: Mode, found: list[Piece]) -> None:
        """Read what stands in the braces, and add what it becomes."""
        text = self._text
        mark = text[start : start + 1]
        if mark == "#" and (named := _PARAMETER.match(text, start + 1, end)):
            index, behind = self._subscript(named[0], named.end(), end)
            if behind == end:
                self._put(self._length(named[0], index), start - 2, end + 1, mode, found)
                return
        indirect = mark == "!" and bool(_PARAMETER.match(text, start + 1, end))
        named = _PARAMETER.match(text, start + indirect, end)
        if named is None:
            self._put(unknown("${…}"), start - 2, end + 1, mode, found)
            return
        name = named[0]
        index, behind = self._subscript(name, named.end(), end)
        if indirect:
            if index in _ALL or text[end - 1] in _ALL:
                self._put(unknown(f"${{!{name}…}}"), start - 2, end + 1, mode, found)
                return
            name, index = self._referred(name, index)
        spot = _Spot(behind, end, mode, joined=mode.quoted and "*" in {name, index})
        made = self._formed(name, self._values(name, index), spot)
        if isinstance(made, Word):
            self._put(made, start - 2, end + 1, mode, found)
        else:
            found += made

    def _subscript(self, name: str, start: int, end: int) -> tuple[str | None, int]:
        """Return what stands in brackets behind a name, expanded, and where it ends."""
        if not self._text.startswith("[", start) or start >= end or not _NAME.match(name):
            return None, start
        close = self._brackets.closing(start + 1, end, "]")
        inside = self._text[start + 1 : close]
        if inside in _ALL:
            return inside, min(close + 1, end)
        return self.index_of(name, inside), min(close + 1, end)

    def index_of(self, name: str, inside: str) -> str:
        """Return which element a subscript names: a number, a key, or nothing that is known."""
        shell = self._shell
        if name in shell.scope.tables:
            word = one_word(self._deeper(inside, PLAIN), shell.budget)
        else:
            word = self.computed(inside)
        return word.text if word.known else UNKNOWN_INDEX

    def _referred(self, name: str, index: str | None) -> tuple[str, str | None]:
        """Return what `${!name}` stands for."""
        word = self._element(name, index) if index is not None else self._scalar(name)
        named = _PARAMETER.match(word.text)
        if not word.known or named is None:
            return "?", None
        rest = word.text[named.end() :]
        if rest.startswith("[") and rest.endswith("]"):
            inside = rest[1:-1]
            return named[0], inside if inside in _ALL else self.index_of(named[0], inside)
        return ("?", None) if rest else (named[0], None)

    def _length(self, name: str, index: str | None) -> Word:
        scope = self._shell.scope
        if name in _ALL or index in _ALL:
            items = scope.lists.get(name)
            known = items is not None and all(item.known for item in items)
            return literal(str(len(items or ()))) if known else unknown("${#…}")
        value = self._element(name, index) if index is not None else scope.parameter(name)
        if value is None or not value.known or value.labels & STAND_IN:
            return unknown("${#…}")
        return literal(str(len(value.text)))

    def _element(self, name: str, index: str | None) -> Word:
        value = self._shell.scope.element(name, index or "0")
        return unknown(f"${{{name}…}}") if value is None else value

    def _values(self, name: str, index: str | None) -> Values:
        """Return the elements of a list, or one value; None where the line does not say."""
        scope = self._shell.scope
        if scope.variables.get(name) is UNSET:
            return UNSET
        if index in _ALL or name in _ALL:
            items = scope.lists.get(name)
            if items is None and index is not None and name in scope.variables:
                return [scope.variables[name]]
            return items
        self._shell.meet(name)
        return scope.parameter(name) if index is None else scope.element(name, index)

    def _formed(self, name: str, values: Values, spot: _Spot) -> Word | list[Piece]:
        """Apply what stands behind the name."""
        text = self._text
        start, end, mode, joined = spot
        colon = text.startswith(":", start) and text[start + 1 : start + 2] in _OF_DEFAULTS
        if start < end and text[start + colon] in _OF_DEFAULTS:
            return self._defaulted(name, values, spot, colon=colon)
        if start >= end:
            if isinstance(values, list):
                return self._all(values, quoted=mode.quoted, joined=joined)
            return unknown(f"${name}") if values is None else values
        form = self._form(start, end)
        if not isinstance(values, list):
            return _made(name, values, form)
        made = [_made(name, value, form) for value in values]
        if text[start] == ":":
            numbers = self._range(text[start:end])
            # `$0` stands in front of the arguments.
            items = [self._scalar("0"), *values] if name in _ALL else values
            part = None if numbers is None else sliced(items, *numbers)
            if part is None:
                return unknown(f"${{{name}…}}", labels_of(values))
            made = list(part)
        return self._all(made, quoted=mode.quoted, joined=joined)

    def _form(self, start: int, end: int) -> Form | None:
        """Return what the operator makes of a text; None for one that is not understood."""
        written = self._text[start:end]
        operator = written[:2] if written[:2] in _DOUBLED else written[:1]
        first = start + len(operator)
        if operator == ":":
            numbers = self._range(written)
            return None if numbers is None else lambda value: substring(value, *numbers)
        if operator == "@":
            return self._transformation(written[1:])
        if operator[0] == "/":
            return self._substitution(operator, first, end)
        if operator[0] not in "#%^,~":
            return None
        pattern = self._pattern(first, end)
        if pattern is None:
            return None
        if operator[0] in "#%":
            return lambda value: cut(value, operator, pattern)
        return lambda value: recased(value, operator, None if pattern.is_empty else pattern)

    def _substitution(self, operator: str, first: int, end: int) -> Form | None:
        """`${x/pattern/replacement}`."""
        middle = self._brackets.closing(first, end, "/")
        pattern = self._pattern(first, middle)
        replacement = self._replacement(middle + 1, end) if middle < end else literal("")
        if pattern is None or replacement is None or not replacement.known:
            return None
        if pattern.is_empty and operator in {"/", "//"}:
            return lambda value: value
        return lambda value: replaced(value, operator, pattern, replacement.text)

    def _transformation(self, letter: str) -> Form:
        """`${x@E}` and its kind; a prompt (`@P`) is expanded, commands included."""

        def as_prompt(value: str) -> None:
            self._deeper(value, TEXT)

        forms: dict[str, Form] = {"E": decode_ansi_c, "P": as_prompt}
        return forms.get(letter) or partial(transformed, letter=letter)

    def _argument(self, start: int, end: int) -> list[Piece]:
        pieces: list[Piece] = []
        self._read(start, end, PLAIN, pieces)
        return pieces

    def _pattern(self, start: int, end: int) -> Pattern | None:
        pieces = self._argument(start, end)
        if not all(piece.known for piece in pieces):
            return None
        parts = [(piece.text, piece.kind is Kind.QUOTED) for piece in pieces]
        return pattern_of(parts, self._shell.budget)

    def _replacement(self, start: int, end: int) -> Word | None:
        pieces = self._argument(start, end)
        if any("&" in piece.text and piece.kind is not Kind.QUOTED for piece in pieces):
            # Newer versions put the match in its place.
            return None
        return one_word(pieces, self._shell.budget)

    def _range(self, written: str) -> tuple[int, int | None] | None:
        """Return the offset and the length of `:offset:length`."""
        first, colon, second = written[1:].partition(":")
        offset = self.computed(first)
        length = self.computed(second) if colon else None
        if (
            "?" in written
            or "(" in first
            or not offset.known
            or (length is not None and not length.known)
        ):
            return None
        return int(offset.text), None if length is None else int(length.text)

    def _defaulted(
        self, name: str, values: Values, spot: _Spot, *, colon: bool
    ) -> Word | list[Piece]:
        """`${x:-default}` and its kind: a default counts also where the name is unknown."""
        operator = self._text[spot.start + colon]
        is_set = values is not None and not _is_empty(values, colon=colon)
        doubted = values is None and self._shell.doubt_unset(name, if_set=operator == "+")
        takes = operator in {"-", "="} and not is_set
        takes = takes or (operator == "+" and (is_set or values is None))
        pieces = self._argument_of(spot, spot.start + colon + 1, counts=takes)
        if takes and operator == "=":
            word = one_word(pieces, self._shell.budget)
            self._shell.scope.assign(name, word, maybe=doubted or self._shell.maybe)
            return word
        if takes:
            # What is written there is split like any other value.
            return [
                piece._replace(kind=Kind.EXPANDED) if piece.kind is Kind.LITERAL else piece
                for piece in pieces
            ] or literal("")
        if operator == "+":
            return literal("")
        if values is None or not is_set:
            return unknown(f"${name}")
        if isinstance(values, list):
            return self._all(values, quoted=spot.mode.quoted, joined=spot.joined)
        return values

    def _argument_of(self, spot: _Spot, start: int, *, counts: bool) -> list[Piece]:
        """Read an argument; one that is not put in is looked at, but changes nothing out here."""
        reader = self
        if not counts:
            shell = self._shell._replace(scope=self._shell.scope.copy())
            reader = WordReader(self._text, shell, self._commands, self._depth)
        pieces: list[Piece] = []
        reader._read(start, spot.end, _QUOTED if spot.mode.quoted else PLAIN, pieces)
        return pieces

    # Arithmetic.

    def _arithmetic(self, start: int, end: int, mode: Mode, found: list[Piece]) -> None:
        pieces: list[Piece] = []
        self._read(start, end, TEXT, pieces)
        expression = one_word(pieces, self._shell.budget)
        word = self._computed(expression, self._text[start:end])
        outer = start - 3 if self._text.startswith("$((", start - 3) else start - 2
        self._put(word, outer, end + start - outer - 1, mode, found)

    def computed(self, text: str) -> Word:
        """Return what an expression comes to, unknown if only the run says that."""
        return self._computed(one_word(self._deeper(text, TEXT), self._shell.budget), text)

    def _computed(self, expression: Word, written: str) -> Word:
        if expression.known:
            try:
                text = expression.text.replace('"', "")
                return literal(str(computed(text, self, self._shell.budget)))
            except NotComputed:
                pass
        for name in (*assigned_in(written), *assigned_in(expression.text)):
            self._shell.scope.assign(name, unknown(f"${name}"))
        return unknown("$((…))", expression.labels)

    def text(self, name: str, index: str | None) -> str | None:
        """Return the text of a variable in an expression; commands in it are followed."""
        word = (
            self._scalar(name) if index is None else self._element(name, self.index_of(name, index))
        )
        if may_run(word.text):
            self._deeper(word.text, TEXT)
        return word.text if word.known else None

    def assign(self, name: str, index: str | None, text: str) -> None:
        """Set a variable or an element to what an expression came to."""
        shell = self._shell
        if index is None:
            shell.scope.assign(name, literal(text), maybe=shell.maybe)
        else:
            shell.scope.set_element(name, self.index_of(name, index), literal(text))


Form = Callable[[str], "str | None"]
Values = list[Word] | Word | None
"""The elements of a list, or one value; None where the line does not say."""


def _made(name: str, value: Word | None, form: Form | None) -> Word:
    labels = 0 if value is None else value.labels
    text = None
    if form is not None and value is not None and value.known and not labels & STAND_IN:
        text = form(value.text)
    if text is not None:
        return literal(text, labels)
    if value is None:
        return unknown(f"${name}")
    # What was unknown before goes on under its own name.
    kept = not value.known and value.text.startswith("$")
    return unknown(value.text if kept else f"${{{name}…}}", labels & ~STAND_IN)


def _is_empty(values: list[Word] | Word, *, colon: bool) -> bool:
    if isinstance(values, list):
        return not values
    return values is UNSET or (colon and values.known and not values.text)
