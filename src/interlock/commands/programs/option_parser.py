"""A program's words → its flags, their values, and what is left: verbs and operands."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.commands.programs.program_tables import Program, Programs
from interlock.commands.shell.command import Invocation
from interlock.commands.shell.syntax import plain_flag
from interlock.commands.shell.words import Word


def invocation_of(program: str, words: Sequence[Word], programs: Programs) -> Invocation:
    """Take the words behind the program's name apart."""
    invocation = Invocation(program)
    known = programs.of(program)
    if not words:
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
    name, equals, _ = text.partition("=")
    invocation.flags.add(name)
    if equals:
        invocation.values.setdefault(name, []).append(words[index].tail(len(name) + 1))
        return index + 1
    return _take_value(name, words, index + 1, known, invocation)


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
