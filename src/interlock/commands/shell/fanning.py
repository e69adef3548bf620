"""`xargs`, `find -exec`, `fd -x`, `parallel`: one command for many arguments."""

from __future__ import annotations

from typing import Final

from interlock.commands.shell.commands import Command
from interlock.commands.shell.effects import found_by
from interlock.commands.shell.machine import Machine
from interlock.commands.shell.provenance import UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.simple import Simple
from interlock.commands.shell.words import Word, literal, unknown

_EXEC_FLAGS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_FD_EXEC_FLAGS: Final = frozenset(("-x", "-X", "--exec", "--exec-batch"))


def run_xargs(machine: Machine, command: Command, scope: Scope) -> Stream:
    """The words behind the options, with what flows in appended or put in place."""
    words, placeholder = _xargs_command(command, machine)
    if not words:
        return Stream(command.frame.stdin.labels, command.frame.stdin.text)
    arguments = _arguments_from(command.frame.stdin)
    if not placeholder or not any(placeholder in word.text for word in words):
        return run_words(machine, [*words, *arguments], command, scope, via="xargs")
    printed: Stream = UNSEEN
    for argument in arguments:
        argv = [_filled(word, placeholder, argument) for word in words]
        printed = run_words(machine, argv, command, scope, via="xargs")
    return printed


def _xargs_command(command: Command, machine: Machine) -> tuple[list[Word], str]:
    values = machine.programs.options_of("xargs").values
    words = list(command.argv[1:])
    placeholder = ""
    index = 0
    while index < len(words):
        text = words[index].text
        if text[:1] != "-":
            break
        if text in {"-I", "-J", "--replace"}:
            placeholder = (
                words[index + 1].text if text != "--replace" and index + 1 < len(words) else "{}"
            )
        elif text.startswith(("-I", "-i", "-J", "--replace=")):
            placeholder = text.partition("=")[2] if "=" in text else text[2:]
            placeholder = placeholder or "{}"
        index += 2 if text in values else 1
    return words[index:], placeholder


def _arguments_from(stdin: Stream) -> list[Word]:
    """Return the words that flow in; one unknown word when they are not known."""
    if stdin.text is None:
        return [unknown("$stdin", stdin.labels)]
    fields = stdin.text.split() or [""]
    return [literal(field, stdin.labels) for field in fields]


def _filled(word: Word, placeholder: str, argument: Word) -> Word:
    if placeholder not in word.text:
        return word
    text = word.text.replace(placeholder, argument.text)
    return Word(text, word.known and argument.known, word.glob, word.labels | argument.labels)


def run_words(
    machine: Machine, argv: list[Word], command: Command, scope: Scope, *, via: str
) -> Stream:
    """Follow words as a command of their own, behind the one that runs them."""
    inner = command.frame.fed(UNSEEN).deeper().behind(via)
    return machine.resolve(argv, Simple(argv, command.text), scope.outside(), inner)


def run_find(machine: Machine, command: Command, scope: Scope) -> Stream:
    """Follow each `-exec` with the found name standing for everything below the roots."""
    words = list(command.argv)
    found = found_by(command)
    index = 0
    while index < len(words):
        if words[index].text in _EXEC_FLAGS:
            end = _exec_end(words, index + 1)
            for below in found:
                argv = [_filled(word, "{}", below) for word in words[index + 1 : end]]
                run_words(machine, argv, command, scope, via="find")
            index = end
        index += 1
    return UNSEEN


def run_fd(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`fd PATTERN FOLDER -x COMMAND`."""
    texts = [word.text for word in command.argv]
    start = next((index for index, text in enumerate(texts) if text in _FD_EXEC_FLAGS), None)
    if start is None:
        return None
    folder = command.invocation.operands[1:2] or [literal(".")]
    below = Word(f"{folder[0].text.rstrip('/')}/*", known=folder[0].known, glob=True)
    words = list(command.argv[start + 1 :])
    named = any("{}" in word.text for word in words)
    argv = [_filled(word, "{}", below) for word in words] + ([] if named else [below])
    return run_words(machine, argv, command, scope, via="find")


def _exec_end(words: list[Word], start: int) -> int:
    for index in range(start, len(words)):
        if words[index].text in {";", "\\;", "+"}:
            return index
    return len(words)


def run_parallel(machine: Machine, command: Command, scope: Scope) -> Stream:
    """GNU parallel: the command, then `:::` and its arguments, or lines of the input."""
    words, _ = _parallel_command(command, machine)
    texts = [word.text for word in words]
    split = next(
        (index for index, text in enumerate(texts) if text in {":::", ":::+", "::::"}), len(words)
    )
    template, arguments = (
        words[:split],
        [word for word in words[split + 1 :] if not word.text.startswith(":::")],
    )
    if not arguments:
        arguments = _arguments_from(command.frame.stdin)
    for argument in arguments:
        if any("{}" in word.text for word in template):
            argv = [_filled(word, "{}", argument) for word in template]
        else:
            argv = [*template, argument]
        if len(argv) == 1:
            machine.run_text(argv[0].text, scope.outside(), command.frame, via="parallel")
        else:
            run_words(machine, argv, command, scope, via="parallel")
    return UNSEEN


def _parallel_command(command: Command, machine: Machine) -> tuple[list[Word], int]:
    values = machine.programs.options_of("parallel").values
    words = list(command.argv[1:])
    index = 0
    while index < len(words) and words[index].text[:1] == "-":
        index += 2 if words[index].text in values else 1
    return words[index:], index
