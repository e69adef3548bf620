"""Commands that run other commands or code: who follows which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from interlock.commands.interpreters import (
    follow_code,
    run_foreign_shell,
    run_interpreter,
    run_script,
    run_shell,
    run_sql_client,
)
from interlock.commands.programs.file_effects import found_by
from interlock.commands.programs.program_tables import Program
from interlock.commands.shell.command import Command, SimpleCommand
from interlock.commands.shell.provenance import UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, literal, unknown
from interlock.commands.simulator import Simulator
from interlock.commands.sql.sql_statement import SqlOperation
from interlock.commands.store_commands import mongo_operations_in, redis_operations_in


def follow(simulator: Simulator, command: Command, known: Program, scope: Scope) -> Stream | None:
    """Follow what the command runs in turn; None when it runs nothing but itself."""
    if known.runs:
        return FOLLOWING_WAYS[known.runs](simulator, command, scope)
    if known.runs_values:
        return _run_values(simulator, command, known.runs_values, scope)
    if known.shell:
        run = run_shell if known.shell == "posix" else run_foreign_shell
        return run(simulator, command, scope)
    if known.code is not None:
        return run_interpreter(simulator, command, known.code, scope)
    if known.sql is not None:
        return run_sql_client(simulator, command, known.sql, scope)
    return run_script(simulator, command, scope) if scope.files else None


def _run_values(
    simulator: Simulator, command: Command, names: Sequence[str], scope: Scope
) -> Stream | None:
    """Options whose value is a command line of its own."""
    for value in command.invocation.all_values(*names):
        line = value.text.removeprefix("exec=")
        simulator.run_text(line, scope.outside(), command.frame, via=command.program)
    return None


_EXEC_FLAGS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_FD_EXEC_FLAGS: Final = frozenset(("-x", "-X", "--exec", "--exec-batch"))


def _run_xargs(simulator: Simulator, command: Command, scope: Scope) -> Stream:
    """The words behind the options, with what flows in appended or put in place."""
    words, placeholder = _xargs_command(command, simulator)
    if not words:
        return Stream(command.frame.stdin.labels, command.frame.stdin.text)
    arguments = _arguments_from(command.frame.stdin)
    if not placeholder or not any(placeholder in word.text for word in words):
        return _run_words(simulator, [*words, *arguments], command, scope, via="xargs")
    printed: Stream = UNSEEN
    for argument in arguments:
        argv = [_filled(word, placeholder, argument) for word in words]
        printed = _run_words(simulator, argv, command, scope, via="xargs")
    return printed


def _xargs_command(command: Command, simulator: Simulator) -> tuple[list[Word], str]:
    values = simulator.programs.of("xargs").values
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


def _run_words(
    simulator: Simulator, argv: list[Word], command: Command, scope: Scope, *, via: str
) -> Stream:
    """Follow words as a command of their own, behind the one that runs them."""
    inner = command.frame.fed(UNSEEN).deeper().behind(via)
    return simulator.resolve(argv, SimpleCommand(argv, command.text), scope.outside(), inner)


def _run_find(simulator: Simulator, command: Command, scope: Scope) -> Stream:
    """Follow each `-exec` with the found name standing for everything below the roots."""
    words = list(command.argv)
    found = found_by(command)
    index = 0
    while index < len(words):
        if words[index].text in _EXEC_FLAGS:
            end = _exec_end(words, index + 1)
            for below in found:
                argv = [_filled(word, "{}", below) for word in words[index + 1 : end]]
                _run_words(simulator, argv, command, scope, via="find")
            index = end
        index += 1
    return UNSEEN


def _run_fd(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
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
    return _run_words(simulator, argv, command, scope, via="find")


def _exec_end(words: list[Word], start: int) -> int:
    for index in range(start, len(words)):
        if words[index].text in {";", "\\;", "+"}:
            return index
    return len(words)


def _run_parallel(simulator: Simulator, command: Command, scope: Scope) -> Stream:
    """GNU parallel: the command, then `:::` and its arguments, or lines of the input."""
    words, _ = _parallel_command(command, simulator)
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
            simulator.run_text(argv[0].text, scope.outside(), command.frame, via="parallel")
        else:
            _run_words(simulator, argv, command, scope, via="parallel")
    return UNSEEN


def _parallel_command(command: Command, simulator: Simulator) -> tuple[list[Word], int]:
    values = simulator.programs.of("parallel").values
    words = list(command.argv[1:])
    index = 0
    while index < len(words) and words[index].text[:1] == "-":
        index += 2 if words[index].text in values else 1
    return words[index:], index


_MAX_LINES: Final = 64
_GIT_PROGRAMS: Final = frozenset(
    "core.pager core.editor core.sshcommand core.fsmonitor diff.external sequence.editor".split()
)


def _socat(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    for word in command.invocation.operands:
        kind, _, line = word.text.partition(":")
        if kind.upper() in {"EXEC", "SYSTEM"}:
            plain = line.partition(",")[0].replace("\\", "").strip("'\"")
            simulator.run_text(plain, scope.outside(), command.frame, via="socat")
    return None


def _git(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """`git submodule foreach`, `git bisect run`, `git rebase --exec` run what follows."""
    operands = command.invocation.operands
    verbs = [word.text for word in operands[:2]]
    if verbs in (["submodule", "foreach"], ["bisect", "run"]):
        _run_rest(simulator, command, verbs[1], scope)
    for value in command.invocation.all_values("-x", "--exec"):
        simulator.run_text(value.text, scope.outside(), command.frame, via="git rebase --exec")
    for value in command.invocation.all_values("-c"):
        name, _, line = value.text.partition("=")
        if line.startswith("!") or name.lower() in _GIT_PROGRAMS:
            simulator.run_text(
                line.lstrip("!"), scope.outside(), command.frame, via=f"git -c {name}"
            )
    return None


def _run_rest(simulator: Simulator, command: Command, verb: str, scope: Scope) -> None:
    """Follow the words behind a verb: one is a shell line, several are a command."""
    texts = [word.text for word in command.argv]
    words = [word for word in command.argv[texts.index(verb) + 1 :] if word.text != "--recursive"]
    if len(words) == 1:
        simulator.run_text(words[0].text, scope.outside(), command.frame, via=f"git {verb}")
    elif words:
        _run_words(simulator, words, command, scope, via=f"git {verb}")


def _ssh(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """`ssh host < script`: what flows in is run over there."""
    if command.frame.stdin.text is not None and len(command.invocation.operands) == 1:
        frame = command.frame.fed(UNSEEN)
        simulator.run_text(command.frame.stdin.text, Scope(cwd="/remote/home"), frame, via="ssh")
    return None


def _editor(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """`vim -c '!command'` leaves the editor for a shell."""
    for word in command.argv[1:]:
        line = word.text.lstrip("+:")
        if line.startswith("!"):
            simulator.run_text(line[1:], scope.outside(), command.frame, via=command.program)
    return None


def _make(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """A makefile that flows in: its recipes are shell lines."""
    for line in (command.frame.stdin.text or "").splitlines():
        if line.startswith("\t"):
            recipe = line.strip().lstrip("@-+")
            simulator.run_text(recipe, scope.outside(), command.frame.fed(UNSEEN), via="make")
    return None


def _sed(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """`sed '1e command'` runs the command."""
    for word in command.argv[1:]:
        script = word.text.lstrip("0123456789,$ ")
        if script.startswith("e "):
            simulator.run_text(script[2:], scope.outside(), command.frame, via="sed")
    return None


def _osascript(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    for word in command.argv[1:]:
        _, found, rest = word.text.partition("do shell script ")
        if found:
            line = rest.strip("\"'")
            simulator.run_text(line, scope.outside(), command.frame, via="osascript")
    return None


def _awk(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """`awk 'BEGIN { system("...") }'` runs a shell."""
    for word in command.argv[1:]:
        if "system(" in word.text:
            follow_code(simulator, word.text, "perl", command, scope)
    return None


def _mongo(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    texts = [word.text for word in command.invocation.all_values("--eval")]
    texts.append(command.frame.stdin.text or "")
    for text in texts:
        if simulator.affords(text):
            _note_operations(simulator, mongo_operations_in(text), command)
    return None


def _redis(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """A command for the store on the line itself, or one on each line that flows in."""
    _note_operations(
        simulator, redis_operations_in([word.text for word in command.invocation.operands]), command
    )
    for line in (command.frame.stdin.text or "").splitlines()[:_MAX_LINES]:
        _note_operations(simulator, redis_operations_in(line.split()), command)
    return None


def _note_operations(
    simulator: Simulator, operations: list[SqlOperation], command: Command
) -> None:
    for operation in operations:
        words = [operation.kind.value, operation.object, operation.target]
        simulator.note("sql", [literal(word) for word in words], command)


Follower = Callable[[Simulator, Command, Scope], "Stream | None"]

FOLLOWING_WAYS: Final[dict[str, Follower]] = {
    "xargs": _run_xargs,
    "find": _run_find,
    "fd": _run_fd,
    "parallel": _run_parallel,
    "ssh": _ssh,
    "editor": _editor,
    "make": _make,
    "socat": _socat,
    "git": _git,
    "sed": _sed,
    "osascript": _osascript,
    "awk": _awk,
    "redis": _redis,
    "mongo": _mongo,
}
"""What an entry of a program may say under `runs`."""
