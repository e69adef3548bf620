"""Wrappers (`sudo`, `env`, `timeout`, `ssh`...) → the command inside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.commands.programs.program_tables import (
    UNKNOWN_PROGRAM,
    Program,
    Programs,
    Wrapper,
    whole_option,
)
from interlock.commands.shell.command import Frame, Invocation
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, labels_of, literal, quoted, unknown

_LINE_OPTIONS: Final = frozenset(
    "-c -lc -e -q -x --command --cmd --exec --execute --run --shell --sh --wrap".split()
)
_CARRYING: Final = ("-cmd", "-command", "_command", "pager", "askpass", "toolexec")
_TYPED_END: Final = r"(?:\\[nr]|\^M)+$"
"""How a line that is typed into a terminal is said to end."""
_SIGNS: Final = _LINE_OPTIONS.union(
    "-- exec execute run shell enter attach do ssh spawn launch".split()
)
_LINE: Final = r"(?:(?:sudo|doas)\s{1,9})?[\w./-]{1,80}\s{1,9}(?:[-/~.]|\w{1,20}=)"
"""How a word begins that is a line by itself: a program, and an option, a path or a setting."""
_TOLD: Final = frozenset(("command", "cmd", "script", "shell"))
_RUNS: Final = r"(?:run|exec|spawn|chroot|jail|attach|sudo|launch|inhibit|retry)\d?$"
"""How the names of programs end that run others."""
_VERSION: Final = r"@|\[|[=<>~!]="


class Inner(msgspec.Struct):
    """What a wrapper runs: words, or one line for a shell."""

    remote: bool
    argv: list[Word] = []
    line: Word | None = None
    assignments: list[tuple[str, Word]] = []
    folder: Word | None = None
    """Where the wrapper goes first."""


def unwrapped(program: str, argv: list[Word], programs: Programs) -> Inner | None:
    """Return the command inside a wrapper, or None when it wraps nothing here."""
    known = programs.of(program)
    wrapper = known.wraps
    start = 1
    if wrapper is not None and wrapper.by_verb:
        known, start = _behind_verbs(program, argv, programs)
        wrapper = known.wraps
    if wrapper is None or (len(argv) > 1 and argv[1].text in wrapper.stops):
        return None
    if wrapper.module_options:
        module = _module(argv, start, wrapper, known)
        if module is not None or known.code is not None:
            return module
    if wrapper.divided and (divided := _divided(argv, wrapper)) is not None:
        return divided
    if wrapper.after:
        return _behind_dashes(argv, start, wrapper, known.values)
    inner = _inner(argv, start, wrapper, known)
    return _shell_of(argv[start:], wrapper) if inner is None else inner


def values_behind(invocation: Invocation, marks: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield what stands behind a mark in the value of an option: `-o ProxyCommand=line`."""
    for option, beginnings in marks.items():
        for word in invocation.all_values(option):
            value = word.text.strip()
            for beginning in beginnings:
                if value.lower().startswith(beginning):
                    rest = value[len(beginning) :].lstrip("= \t")
                    if rest and rest.lower() != "none":
                        yield rest


def carries_lines(invocation: Invocation) -> bool:
    """Whether the name of an option says that its value is a command: `--sendmail-cmd`."""
    return any(name.endswith(_CARRYING) for name in invocation.values)


def carried_lines(invocation: Invocation, known: Program) -> Iterator[str]:
    """Yield the commands that options carry by their names, but for what is followed otherwise."""
    if known.sql is not None or known.code is not None:
        return
    seen = frozenset(known.runs_values).union(known.wraps.line_options if known.wraps else ())
    for name, words in invocation.values.items():
        if name.endswith(_CARRYING) and name not in seen:
            yield from (word.text for word in words)


def guessed_lines(argv: list[Word], start: int) -> Iterator[str]:
    """Yield the command lines among the words of a program of which nothing is known.

    They stand behind the options that most programs have for it: `-c 'line'`, `--command=line`,
    or as one word where it may run its words.
    """
    for at in range(start, len(argv)):
        text = argv[at].text
        if " " in text:
            told = any(word.text in _TOLD for word in argv[at - 2 : at])
            if told or re.match(_LINE, text):
                yield text
    for before, word in pairwise(argv):
        is_line = before.text in _LINE_OPTIONS or before.text.endswith(_CARRYING)
        if is_line and " " in word.text:
            yield word.text
    for word in argv:
        name, equals, line = word.text.partition("=")
        if equals and name in _LINE_OPTIONS and " " in line:
            yield line


def guessed_start(program: str, argv: list[Word]) -> int:
    """Return from where on such a program may run its words, which something must say.

    Its own name does (`mpirun`), an option, a verb (`exec`) or a `--`.
    """
    if re.search(_RUNS, program):
        return 1
    signs = (at for at, word in enumerate(argv) if at and word.text in _SIGNS)
    start = next(signs, len(argv)) + 1
    return start + (_text_at(argv, start) == "--")


def _behind_verbs(program: str, argv: list[Word], programs: Programs) -> tuple[Program, int]:
    """Return the wrapper that `docker exec` or `docker compose exec` names, and where it ends."""
    key = program
    known = programs.of(key)
    index = 1
    while index < len(argv):
        text = argv[index].text
        if text[:1] == "-":
            index += _option_width(text, known.values)
            continue
        key = f"{key} {text}"
        known = programs.of(key)
        index += 1
        if known.wraps is None or not known.wraps.by_verb:
            # A word right behind the verb may be one of its own: `interlock run exec`.
            word = argv[index].text if index < len(argv) else ""
            deeper = programs.entries.get(f"{key} {word}")
            return (known, index) if deeper is None else (deeper, index + 1)
    return UNKNOWN_PROGRAM, len(argv)


def _module(argv: list[Word], start: int, wrapper: Wrapper, known: Program) -> Inner | None:
    """Return the module that `python -m` runs as a program; None where none is named."""
    ends = () if known.code is None else known.code.options
    index = start
    while index < len(argv) and argv[index].text[:1] == "-":
        text = argv[index].text
        option, value = _first_valued(text, known.values.union(wrapper.module_options))
        if option in wrapper.module_options:
            # `-m interlock`, `-Im interlock` and `-minterlock`.
            attached = [argv[index].tail(value)] if value < len(text) else []
            rest = attached + argv[index + 1 :]
            return _filled(Inner(wrapper.remote), rest, wrapper, as_line=False)
        if option in ends:
            return None
        index += _option_width(text, known.values)
    return None


def _first_valued(text: str, values: frozenset[str]) -> tuple[str, int]:
    """Return the first option of a cluster that takes a value, and where the value begins."""
    name, equals, _ = text.partition("=")
    if name.startswith("--"):
        return whole_option(name, values, attached=bool(equals)), len(name) + len(equals)
    for at in range(1, len(text)):
        if f"-{text[at]}" in values:
            return f"-{text[at]}", at + 1
    return text, len(text)


def _inner(argv: list[Word], start: int, wrapper: Wrapper, known: Program) -> Inner | None:
    inner = Inner(wrapper.remote)
    operands = wrapper.operands
    index = start
    as_line = wrapper.line
    while index < len(argv):
        text = argv[index].text
        if text == "--":
            index += 1
            if not wrapper.assignments or not _is_assignment(_text_at(argv, index)):
                break
        elif text in wrapper.clears:
            # Where home is, is not known any more.
            inner.assignments.append(("HOME", unknown("$HOME")))
            index += 1
        elif text[:1] == "-" and len(text) > 1:
            inner.line = _line_option(argv, index, wrapper, known.values)
            if inner.line is not None:
                return inner
            if text in wrapper.argv_options:
                index, operands, as_line = index + 1, 0, False
                continue
            inner.folder = _option_value(argv, index, wrapper.folder_options, known.values)
            index += _option_width(text, known.values) + _is_chosen(argv, index, known)
        elif wrapper.assignments and _is_assignment(text):
            name, _, _ = text.partition("=")
            inner.assignments.append((name, argv[index].tail(len(name) + 1)))
            index += 1
        elif operands > 0:
            operands -= 1
            index += 1
        else:
            break
    return _filled(inner, argv[index:], wrapper, as_line=as_line)


def _shell_of(words: list[Word], wrapper: Wrapper) -> Inner | None:
    """`sudo -s` and `su` start a shell, which runs what flows in or is typed."""
    started = "*" in wrapper.shell_with
    for word in words if wrapper.shell_with and not started else ():
        text = word.text
        given = [text] if text.startswith("--") else text[1:] if text.startswith("-") else ""
        started = started or not set(wrapper.shell_with).isdisjoint(given)
    return Inner(wrapper.remote, [Word("sh")]) if started else None


def _text_at(argv: list[Word], index: int) -> str:
    return argv[index].text if index < len(argv) else ""


def _is_chosen(argv: list[Word], index: int, known: Program) -> bool:
    """Whether an option that may have a value is followed by one."""
    chosen = known.choices.get(argv[index].text, ())
    return index + 1 < len(argv) and argv[index + 1].text in chosen


def _filled(inner: Inner, rest: list[Word], wrapper: Wrapper, *, as_line: bool) -> Inner | None:
    if rest and rest[0].text in wrapper.verbs:
        rest = rest[2:] if len(rest) > 1 and rest[1].text == "--" else rest[1:]
    if not rest or (rest[0].text.startswith("{") and not as_line):
        return None
    if as_line or (rest[0].known and " " in rest[0].text):
        # No program has a blank in its name: such a word is a line by itself.
        inner.line = _line(rest)
    else:
        inner.argv = [_plain_program(rest[0], wrapper), *rest[1:]]
    return inner


def _plain_program(word: Word, wrapper: Wrapper) -> Word:
    """Return the program in `ruff@latest` and `ruff[extra]==0.5`, or in `test:ruff`.

    The `@` of `@scope/name` is the name's.
    """
    if wrapper.versions and (found := re.search(_VERSION, word.text[1:])) is not None:
        return literal(word.text[: found.start() + 1], word.labels)
    return word.tail(word.text.find(":") + 1) if wrapper.environments else word


def _line(words: list[Word]) -> Word:
    known = all(word.known for word in words)
    text = re.sub(_TYPED_END, "", " ".join([word.text for word in words]))
    return Word(text, known=known, labels=labels_of(words))


def _line_option(
    argv: list[Word], index: int, wrapper: Wrapper, values: frozenset[str]
) -> Word | None:
    """Return the shell line that the option at `index` carries, if it is such an option."""
    line = _option_value(argv, index, wrapper.line_options, values)
    text = argv[index].text
    if line is None and text[:2] != "--" and f"-{text[-1]}" in wrapper.line_options:
        # `-lc`, where `-l` may have a value.
        line = next(iter(argv[index + 1 : index + 2]), None)
    if line is None or not wrapper.splits:
        return line
    # `env -S 'A=b rm' -rf`: the line is read like the words around it.
    behind = argv[index + 1 :]
    if behind and behind[0] is line:
        del behind[0]
    words = [
        literal(argv[0].text),
        line,
        *(replace(word, text=quoted(word.text)) for word in behind),
    ]
    return _line(words)


def _option_value(
    argv: list[Word], index: int, options: tuple[str, ...], values: frozenset[str]
) -> Word | None:
    """Return the value of the option at `index`, attached or behind it, if it is one of these."""
    if not options:
        return None
    text = argv[index].text
    option, begin = _first_valued(text, values.union(options))
    if option not in options:
        return None
    if begin < len(text):
        return argv[index].tail(begin)
    return argv[index + 1] if index + 1 < len(argv) else None


def _option_width(text: str, values: frozenset[str]) -> int:
    """Return how many words the option takes up."""
    if text in values or whole_option(text, values) in values:
        return 2
    last = "-" + text[-1]
    clustered = not text.startswith("--") and len(text) > 2 and last in values
    attached = len(text) > 2 and text[:2] in values
    return 2 if clustered and not attached else 1


def _divided(argv: list[Word], wrapper: Wrapper) -> Inner | None:
    """Return the program that an option names, with the words behind a `--`."""
    texts = [word.text for word in argv]
    start = next((texts.index(name) for name in wrapper.argv_options if name in texts), None)
    if start is None or start + 1 >= len(argv):
        return None
    rest = argv[texts.index("--") + 1 :] if "--" in texts else argv[start + 2 :]
    return Inner(wrapper.remote, [argv[start + 1], *rest])


def _behind_dashes(
    argv: list[Word], start: int, wrapper: Wrapper, values: frozenset[str]
) -> Inner | None:
    for index in range(start, len(argv)):
        if argv[index].text == "--":
            rest = argv[index + 1 :]
            return Inner(wrapper.remote, rest) if rest else None
    for index in range(start, len(argv)):
        line = _line_option(argv, index, wrapper, values) if argv[index].text[:1] == "-" else None
        if line is not None:
            return Inner(wrapper.remote, line=line)
    return None


def _is_assignment(text: str) -> bool:
    """Whether `env` sets a variable: it takes any name, `a-b` and `_` too."""
    return text.find("=") > 0


def surroundings(inner: Inner, program: str, scope: Scope, frame: Frame) -> tuple[Scope, Frame]:
    """Return the surroundings of a wrapped command."""
    frame = frame.behind(program)
    if inner.remote:
        scope = Scope.begun("/remote/home")
    elif inner.assignments or inner.folder is not None:
        scope = scope.copy()
        for name, value in inner.assignments:
            scope.assign(name, value)
        if inner.folder is not None:
            scope.change_folder(inner.folder)
    return scope, frame
