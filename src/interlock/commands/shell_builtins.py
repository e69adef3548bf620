"""The shell's own commands: they change what the shell knows, and run nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from interlock.commands.programs.outputs import printf_text
from interlock.commands.programs.places import CREDENTIAL, OUTSIDE, SYSTEM, SYSTEM_ROOT, Places
from interlock.commands.shell.assignment import Assignment
from interlock.commands.shell.command import Command, EffectKind
from interlock.commands.shell.provenance import ENVIRON, MANY, NOTHING, UNSEEN, Stream
from interlock.commands.shell.scope import UNKNOWN_INDEX, Scope
from interlock.commands.shell.words import Word, labels_of, literal, unknown
from interlock.commands.simulation import Simulation

_WITHOUT_TRACE: Final = (
    ": true false wait shopt umask ulimit test [ return exit break continue disown sleep"
).split()

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN: Final = frozenset(("local", "declare", "typeset"))
_SHAPING: Final = frozenset(("-i", "-l", "-u", "-c"))
_ALL_NAMES: Final = frozenset(("-p", "-x"))
_PLAIN_READ: Final = frozenset(("-r", "-a", "-u", "-p", "-s", "-e"))
"""Options of `read` with which a line is a line."""

_BRACED: Final = 2
"""Where the command begins in `coproc { command`."""
_PART_OF_LINES: Final = frozenset(("-d", "-n", "-O", "-s"))

Builtin = Callable[[Simulation, Command, Scope], Stream]


def _cd(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    target = (command.invocation.operands or [literal("~")])[0]
    scope.change_folder(target)
    _adopt_project(scope, simulation.places)
    return NOTHING


def _popd(_simulation: Simulation, _command: Command, scope: Scope) -> Stream:
    """Go back to where the last `pushd` came from; from there on nobody remembers more."""
    scope.cwd, scope.previous = scope.previous, None
    return NOTHING


def _adopt_project(scope: Scope, places: Places) -> None:
    """Where nobody said where the project lies, an agent that goes to a folder works there."""
    if scope.project is None and scope.cwd and scope.cwd.startswith(("/", "~")):
        bits = places.of(scope.cwd)
        if bits & OUTSIDE and not bits & (SYSTEM | SYSTEM_ROOT | CREDENTIAL):
            scope.project = scope.cwd


def _declare(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Note attributes, and assignments that are words: the walker has made the others already."""
    flags = command.invocation.flags
    if not command.invocation.operands and flags <= _ALL_NAMES:
        return Stream(ENVIRON)
    if "-p" in flags:
        return UNSEEN
    made = dict(command.assignments)
    for word in command.invocation.operands:
        name, equals, _ = word.text.partition("=")
        plain = name.removesuffix("+")
        if name not in made and _NAME.fullmatch(plain.partition("[")[0]):
            if equals:
                _set(
                    simulation, plain, word.tail(len(name) + 1), command, scope, adds=plain != name
                )
            made[plain] = word.tail(len(name) + 1)
    for name, value in made.items():
        _shape(name, value, command, scope)
        simulation.follow_variable(name, value, scope, command.frame)
    return NOTHING


def _shape(name: str, value: Word, command: Command, scope: Scope) -> None:
    flags = command.invocation.flags
    if command.program in _OWN and "-g" not in flags:
        scope.own_names.add(name)
    if "-A" in flags:
        scope.tables.setdefault(name, {})
    if not _SHAPING.isdisjoint(flags):
        scope.own().shaped.add(name)
    if "-n" in flags:
        scope.unset(name)
        scope.own().references[name] = value.text if value.known else ""
    if command.program == "readonly" or "-r" in flags:
        scope.own().readonly.add(name)


def _set(
    simulation: Simulation,
    name: str,
    value: Word,
    command: Command,
    scope: Scope,
    *,
    adds: bool = False,
) -> None:
    """Set a variable, or an element: which one is not worked out."""
    plain, bracket, _ = name.partition("[")
    if bracket:
        scope.set_element(plain, UNKNOWN_INDEX, value)
    else:
        Assignment(name, value, adds=adds).make(scope, simulation.budget, maybe=command.frame.maybe)


def _give(simulation: Simulation, name: str, value: Word, command: Command, scope: Scope) -> None:
    """Set a variable as an assignment does, with all that follows from it."""
    _set(simulation, name, value, command, scope)
    simulation.note_assignment(name, value, command.text, scope, command.frame)


def _read(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`read A B`: the first line's words, as far as the input is known."""
    stream = _fed_by(command, scope)
    names = [word.text for word in command.invocation.operands] or ["REPLY"]
    array = command.invocation.value("-a")
    fields = _line_read(stream, command, scope, None if array is not None else len(names))
    if array is not None:
        values = [unknown(f"${array.text}")] if fields is None else map(literal, fields)
        scope.lists[array.text] = list(values)
        return NOTHING
    lines = stream.text.split() if stream.text and stream.labels & MANY else []
    if len(lines) == len(names) == 1:
        # Each round reads another name of the same kind: what it was before does not matter.
        found = Word(lines[0].rstrip("\0"), known=False, labels=stream.labels)
        scope.assign(names[0], found)
        simulation.note_assignment(names[0], found, command.text, scope, command.frame)
        return NOTHING
    for index, name in enumerate(names):
        field = None if fields is None else "".join(fields[index : index + 1])
        _give(simulation, name, _value(name, field, stream), command, scope)
    return NOTHING


def _line_read(
    stream: Stream, command: Command, scope: Scope, count: int | None
) -> list[str] | None:
    """Return the words of the line that is read; None where they are not known."""
    ifs = scope.value("IFS")
    if stream.text is None or not stream.exact or ifs is None or not ifs.known:
        return None
    if not _PLAIN_READ.issuperset(command.invocation.flags):
        return None
    line, newline, _ = stream.text.partition("\n")
    if "\\" in line and "-r" not in command.invocation.flags:
        return None
    if not newline and not line:
        return []
    if not set(ifs.text) <= set(" \t\n"):
        return _divided(line, ifs.text, count)
    if not ifs.text:
        return [line]
    line = line.strip(ifs.text)
    return line.split(None, -1 if count is None else count - 1)


def _divided(line: str, ifs: str, count: int | None) -> list[str] | None:
    """Return what stands between characters that are no blanks; None where blanks are among them.

    A mark at the end may count or not, which is not worked out.
    """
    if not any(char in line for char in ifs):
        return [line]
    if any(char.isspace() for char in ifs) or line[-1] in ifs:
        return None
    fields = re.split(f"[{re.escape(ifs)}]", line, maxsplit=0 if count is None else count - 1)
    return fields if count != 1 else [line]


def _value(name: str, text: str | None, origin: Stream) -> Word:
    """Return what a variable holds from now on, where that is known."""
    return unknown(f"${name}", origin.labels) if text is None else literal(text, origin.labels)


def _mapfile(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    stream = _fed_by(command, scope)
    invocation = command.invocation
    name = invocation.operands[-1].text if invocation.operands else "MAPFILE"
    known = stream.text is not None and stream.exact and _PART_OF_LINES.isdisjoint(invocation.flags)
    if not known:
        scope.lists[name] = [_value(name, None, stream)]
    else:
        lines = (stream.text or "").splitlines(keepends="-t" not in invocation.flags)
        scope.lists[name] = [_value(name, line, stream) for line in lines]
    for callback in invocation.all_values("-C"):
        simulation.run_nested(callback.text, scope.copy(), command.frame, via="mapfile")
    return NOTHING


def _let(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    for word in command.argv[1:]:
        simulation.computed(word.text, scope, command.frame)
    return NOTHING


def _enable(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`enable -f library name` loads code into the shell."""
    for library in command.invocation.all_values("-f"):
        simulation.give_up(f"it loads code from `{library.text}`", command.text, asks=True)
    return NOTHING


def _getopts(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    for word in command.invocation.operands[1:2]:
        _give(simulation, word.text, unknown(f"${word.text}"), command, scope)
    return NOTHING


def _unset(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Forget variables, elements of arrays, or functions."""
    for word in command.invocation.operands:
        name, bracket, _ = word.text.partition("[")
        if "-f" in command.invocation.flags:
            scope.own().functions.pop(name, None)
        elif bracket:
            scope.set_element(name, UNKNOWN_INDEX, unknown(f"${name}"))
        else:
            scope.unset(name, maybe=command.frame.maybe)
    return NOTHING


def _fed_by(command: Command, scope: Scope) -> Stream:
    """Return the input: standard input, or the descriptor that `-u` names."""
    for index, word in enumerate(command.argv):
        if word.text.startswith("-") and word.text.endswith("u") and index + 1 < len(command.argv):
            return scope.defined.descriptors.get(command.argv[index + 1].text, UNSEEN)
        if word.text.startswith("-") and "u" in word.text:
            named = scope.defined.descriptors.get(word.text.partition("u")[2])
            if named is not None:
                return named
    return command.frame.stdin


def _printf(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    words = list(command.argv[1:])
    named: Word | None = None
    while words and words[0].known and words[0].text.startswith("-") and words[0].text != "-":
        option = words.pop(0)
        if option.text == "--":
            break
        if not option.text.startswith("-v"):
            # The shell's own refuses it, the program of that name prints it.
            return Stream(labels_of(words))
        attached = option.text != "-v"
        named = option.tail(2) if attached or not words else words.pop(0)
    printed = printf_text(words)
    if named is None:
        return printed
    _give(simulation, named.text, _value(named.text, printed.text, printed), command, scope)
    return NOTHING


def _alias(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    for word in command.invocation.operands:
        name, equals, text = word.text.partition("=")
        if equals:
            scope.own().aliases[name] = text
    return NOTHING


def _hash(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`hash -p /bin/rm echo`: the name runs another program from now on."""
    if command.invocation.has("-p") and len(command.invocation.operands) > 1:
        program, name = command.invocation.operands[:2]
        scope.own().programs[name.text] = program.text.rpartition("/")[2].lower()
    return NOTHING


def _trap(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    handler = command.invocation.operands[:1]
    if handler and handler[0].text not in {"", "-"}:
        simulation.run_nested(handler[0].text, scope.copy(), command.frame, via="trap")
    return NOTHING


def _source(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`. file`: run it here, where what it holds is known."""
    if len(command.argv) < 2:
        return NOTHING
    target = command.argv[1]
    opened = scope.defined.descriptors.get(target.text.rpartition("/")[2])
    if target.text == "/dev/stdin":
        opened = command.frame.stdin
    held = opened or simulation.places.stream(target, scope)
    simulation.note_effect(EffectKind.EXECUTE, target, held.labels, command)
    simulation.doubt(target, command)
    if held.text is not None:
        return simulation.run_nested(held.text, scope, command.frame, via="source")
    return UNSEEN


def _exec(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`exec 3< file` and `exec {fd}> file`: descriptors for the rest of the line."""
    named = next((word.text[1:-1] for word in command.argv[1:] if word.text.startswith("{")), "")
    for redirect in command.redirects:
        descriptor = named or redirect.descriptor or "0"
        target = redirect.target
        if redirect.operator in {"<<<", "<<"}:
            scope.own().descriptors[descriptor] = Stream(
                target.labels, target.text if target.known else None
            )
        elif redirect.operator in {"<&", ">&"}:
            _duplicate(descriptor, target.text.removesuffix("-"), scope)
        else:
            # A connection is read from as well, whichever way it was opened.
            if redirect.operator == "<" or target.text.startswith("/dev/"):
                scope.own().descriptors[descriptor] = simulation.places.stream(target, scope)
            if redirect.operator != "<":
                scope.own().outputs[descriptor] = target
    if named:
        scope.assign(named, literal(named))
    return NOTHING


def _duplicate(descriptor: str, source: str, scope: Scope) -> None:
    if source in scope.defined.descriptors:
        scope.own().descriptors[descriptor] = scope.defined.descriptors[source]
    if source in scope.defined.outputs:
        scope.own().outputs[descriptor] = scope.defined.outputs[source]


def _arguments(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`set -- a b` and `set a b` give the shell new arguments."""
    words = list(command.argv[1:])
    if not words:
        return Stream(ENVIRON)
    index = 0
    while index < len(words) and words[index].known and words[index].text[:1] in {"-", "+"}:
        text = words[index].text
        index += 1
        if text in {"--", "-"}:
            if text == "--" or words[index:]:
                scope.set_arguments(words[index:])
            return UNSEEN
        if "o" in text:
            index += 1
    if words[index:]:
        scope.set_arguments(words[index:])
    return UNSEEN


def _shift(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`shift` drops the shell's first arguments; more than there are is an error."""
    count = (command.argv[1:2] or (literal("1"),))[0]
    arguments = scope.lists.get("@")
    if arguments is None:
        return NOTHING
    if not count.known or not count.text.isdigit() or command.frame.maybe:
        scope.set_arguments([unknown("$@")])
    elif int(count.text) <= len(arguments):
        scope.set_arguments(arguments[int(count.text) :])
    return NOTHING


def _coprocess(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """What `coproc NAME { command; }` prints, flows out of `${NAME[0]}`."""
    texts = [word.text for word in command.argv]
    start = texts.index("{") + 1 if "{" in texts else 1
    name = texts[1] if start > _BRACED else "COPROC"
    unseen = replace(command, frame=command.frame.unseen())
    printed = simulation.run_words(list(command.argv[start:]), unseen, scope)
    scope.lists[name] = [literal(f"{name}-output"), literal(f"{name}-input")]
    scope.own().descriptors[f"{name}-output"] = printed
    return NOTHING


BUILTINS: Final[dict[str, Builtin]] = {
    "cd": _cd,
    "coproc": _coprocess,
    "pushd": _cd,
    "popd": _popd,
    "export": _declare,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "readonly": _declare,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "printf": _printf,
    "alias": _alias,
    "hash": _hash,
    "trap": _trap,
    "source": _source,
    ".": _source,
    "exec": _exec,
    "set": _arguments,
    "shift": _shift,
    "let": _let,
    "getopts": _getopts,
    "enable": _enable,
    "unset": _unset,
    **dict.fromkeys(_WITHOUT_TRACE, lambda _simulation, _command, _scope: NOTHING),
}  # fmt: skip
