"""Programs that leave their own language for a shell, or send statements to a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from interlock.commands.shell.commands import Command
from interlock.commands.shell.fanning import run_words
from interlock.commands.shell.machine import Machine
from interlock.commands.shell.provenance import UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.snippets import follow_code
from interlock.commands.shell.stores import mongo_operations_in, redis_operations_in
from interlock.commands.shell.words import literal
from interlock.commands.sql.operations import SqlOperation

_MAX_LINES: Final = 64
_GIT_PROGRAMS: Final = frozenset(
    "core.pager core.editor core.sshcommand core.fsmonitor diff.external sequence.editor".split()
)


def _line_values(*names: str) -> Callable[[Machine, Command, Scope], Stream | None]:
    """Options whose value is a command line of its own."""

    def follow_values(machine: Machine, command: Command, scope: Scope) -> Stream | None:
        for value in command.invocation.all_values(*names):
            line = value.text.removeprefix("exec=")
            machine.run_text(line, scope.outside(), command.frame, via=command.program)
        return None

    return follow_values


def _socat(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    for word in command.invocation.operands:
        kind, _, line = word.text.partition(":")
        if kind.upper() in {"EXEC", "SYSTEM"}:
            plain = line.partition(",")[0].replace("\\", "").strip("'\"")
            machine.run_text(plain, scope.outside(), command.frame, via="socat")
    return None


def _git(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`git submodule foreach`, `git bisect run`, `git rebase --exec` run what follows."""
    operands = command.invocation.operands
    verbs = [word.text for word in operands[:2]]
    if verbs in (["submodule", "foreach"], ["bisect", "run"]):
        _run_rest(machine, command, verbs[1], scope)
    for value in command.invocation.all_values("-x", "--exec"):
        machine.run_text(value.text, scope.outside(), command.frame, via="git rebase --exec")
    for value in command.invocation.all_values("-c"):
        name, _, line = value.text.partition("=")
        if line.startswith("!") or name.lower() in _GIT_PROGRAMS:
            machine.run_text(line.lstrip("!"), scope.outside(), command.frame, via=f"git -c {name}")
    return None


def _run_rest(machine: Machine, command: Command, verb: str, scope: Scope) -> None:
    """Follow the words behind a verb: one is a shell line, several are a command."""
    texts = [word.text for word in command.argv]
    words = [word for word in command.argv[texts.index(verb) + 1 :] if word.text != "--recursive"]
    if len(words) == 1:
        machine.run_text(words[0].text, scope.outside(), command.frame, via=f"git {verb}")
    elif words:
        run_words(machine, words, command, scope, via=f"git {verb}")


def _ssh(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`ssh host < script`: what flows in is run over there."""
    if command.frame.stdin.text is not None and len(command.invocation.operands) == 1:
        frame = command.frame.fed(UNSEEN)
        machine.run_text(command.frame.stdin.text, Scope(cwd="/remote/home"), frame, via="ssh")
    return None


def _editor(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`vim -c '!command'` leaves the editor for a shell."""
    for word in command.argv[1:]:
        line = word.text.lstrip("+:")
        if line.startswith("!"):
            machine.run_text(line[1:], scope.outside(), command.frame, via=command.program)
    return None


def _make(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """A makefile that flows in: its recipes are shell lines."""
    for line in (command.frame.stdin.text or "").splitlines():
        if line.startswith("\t"):
            recipe = line.strip().lstrip("@-+")
            machine.run_text(recipe, scope.outside(), command.frame.fed(UNSEEN), via="make")
    return None


def _sed(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`sed '1e command'` runs the command."""
    for word in command.argv[1:]:
        script = word.text.lstrip("0123456789,$ ")
        if script.startswith("e "):
            machine.run_text(script[2:], scope.outside(), command.frame, via="sed")
    return None


def _osascript(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    for word in command.argv[1:]:
        _, found, rest = word.text.partition("do shell script ")
        if found:
            line = rest.strip("\"'")
            machine.run_text(line, scope.outside(), command.frame, via="osascript")
    return None


def _awk(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`awk 'BEGIN { system("...") }'` runs a shell."""
    for word in command.argv[1:]:
        if "system(" in word.text:
            follow_code(machine, word.text, "perl", command, scope)
    return None


def _mongo(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    texts = [word.text for word in command.invocation.all_values("--eval")]
    texts.append(command.frame.stdin.text or "")
    for text in texts:
        if machine.affords(text):
            _note_operations(machine, mongo_operations_in(text), command)
    return None


def _redis(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """A command for the store on the line itself, or one on each line that flows in."""
    _note_operations(
        machine, redis_operations_in([word.text for word in command.invocation.operands]), command
    )
    for line in (command.frame.stdin.text or "").splitlines()[:_MAX_LINES]:
        _note_operations(machine, redis_operations_in(line.split()), command)
    return None


def _note_operations(machine: Machine, operations: list[SqlOperation], command: Command) -> None:
    for operation in operations:
        words = [operation.kind.value, operation.object, operation.target]
        machine.note("sql", [literal(word) for word in words], command)


Escape = Callable[[Machine, Command, Scope], "Stream | None"]

ESCAPES: Final[dict[str, Escape]] = {
    "ssh": _ssh,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "ex": _editor,
    "make": _make,
    "socat": _socat,
    "git": _git,
    "sed": _sed,
    "osascript": _osascript,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "rsync": _line_values("-e", "--rsh", "--rsync-path"),
    "tar": _line_values("-I", "--use-compress-program", "--to-command", "--checkpoint-action"),
    "nc": _line_values("-e", "-c", "--exec", "--sh-exec"),
    "ncat": _line_values("-e", "-c", "--exec", "--sh-exec"),
    "netcat": _line_values("-e", "-c", "--exec", "--sh-exec"),
    "redis-cli": _redis,
    "valkey-cli": _redis,
    "keydb-cli": _redis,
    "mongosh": _mongo,
    "mongo": _mongo,
}
