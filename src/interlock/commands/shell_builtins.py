"""The shell's own commands: they change what the shell knows, and run nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from interlock.commands.programs.outputs import printf_text
from interlock.commands.programs.places import CREDENTIAL, OUTSIDE, SYSTEM, SYSTEM_ROOT, Places
from interlock.commands.shell.command import Command, EffectKind
from interlock.commands.shell.provenance import NOTHING, UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, literal, unknown
from interlock.commands.simulation import Simulation

_WITHOUT_TRACE: Final = (
    "unset : true false wait shopt enable umask ulimit test [ let return exit break continue disown"
    " popd sleep"
).split()

Builtin = Callable[[Simulation, Command, Scope], Stream]


def _cd(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    target = (command.invocation.operands or [literal("~")])[0]
    scope.change_folder(target)
    _adopt_project(scope, simulation.places)
    return NOTHING


def _adopt_project(scope: Scope, places: Places) -> None:
    """Where nobody said where the project lies, an agent that goes to a folder works there."""
    if scope.project is None and scope.cwd and scope.cwd.startswith(("/", "~")):
        bits = places.of(scope.cwd)
        if bits & OUTSIDE and not bits & (SYSTEM | SYSTEM_ROOT | CREDENTIAL):
            scope.project = scope.cwd


def _declare(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Note attributes: the walker has made the assignments already."""
    flags = command.invocation.flags
    if "-p" in flags or len(command.argv) == 1:
        return UNSEEN
    for name, value in command.assignments:
        if "-n" in flags:
            scope.unset(name)
            scope.own().references[name] = value.text
        if command.program == "readonly" or "-r" in flags:
            scope.own().readonly.add(name)
    return NOTHING


def _read(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`read A B`: the first line's words, as far as the input is known."""
    stream = _fed_by(command, scope)
    names = [word.text for word in command.invocation.operands] or ["REPLY"]
    fields = None
    if stream.text is not None:
        fields = stream.text.partition("\n")[0].split(None, len(names) - 1)
    for index, name in enumerate(names):
        field = None if fields is None else "".join(fields[index : index + 1])
        scope.assign(name, _value(name, field, stream))
    return NOTHING


def _value(name: str, text: str | None, origin: Stream) -> Word:
    """Return what a variable holds from now on, where that is known."""
    return unknown(f"${name}", origin.labels) if text is None else literal(text, origin.labels)


def _mapfile(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    stream = _fed_by(command, scope)
    name = command.invocation.operands[-1].text if command.invocation.operands else "MAPFILE"
    lines = [None] if stream.text is None else stream.text.splitlines()
    scope.lists[name] = [_value(name, line, stream) for line in lines]
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
    if len(words) > 2 and words[0].text == "-v":
        printed = printf_text(words[2:])
        scope.assign(words[1].text, _value(words[1].text, printed.text, printed))
        return NOTHING
    return printf_text(words)


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
        elif redirect.operator == "<":
            scope.own().descriptors[descriptor] = simulation.places.stream(target, scope)
        else:
            scope.own().outputs[descriptor] = target
    if named:
        scope.assign(named, literal(named))
    return NOTHING


def _duplicate(descriptor: str, source: str, scope: Scope) -> None:
    if source in scope.defined.descriptors:
        scope.own().descriptors[descriptor] = scope.defined.descriptors[source]
    if source in scope.defined.outputs:
        scope.own().outputs[descriptor] = scope.defined.outputs[source]


def _set(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`set -- a b` gives the shell new arguments."""
    texts = [word.text for word in command.argv]
    if "--" in texts:
        scope.set_arguments(list(command.argv[texts.index("--") + 1 :]))
    return UNSEEN


def _shift(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`shift` drops the shell's first arguments."""
    count = command.invocation.operands[0].text if command.invocation.operands else "1"
    arguments = scope.lists.get("@")
    if arguments is not None and count.isdigit():
        scope.set_arguments(arguments[int(count) :])
    return NOTHING


BUILTINS: Final[dict[str, Builtin]] = {
    "cd": _cd,
    "pushd": _cd,
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
    "set": _set,
    "shift": _shift,
    **dict.fromkeys(_WITHOUT_TRACE, lambda _simulation, _command, _scope: NOTHING),
}  # fmt: skip
