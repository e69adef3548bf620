"""Commands that run other commands or code: shells, interpreters, `xargs`, `find -exec`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from interlock.policy.actions.programs import Interpreter, SqlClient
from interlock.policy.actions.shell.commands import Command, EffectKind
from interlock.policy.actions.shell.effects import found_by
from interlock.policy.actions.shell.machine import Machine
from interlock.policy.actions.shell.provenance import NOTHING, SHELL, UNSEEN, Stream
from interlock.policy.actions.shell.scope import Scope
from interlock.policy.actions.shell.snippets import follow_code, follow_sql
from interlock.policy.actions.shell.streams import stream_of_file
from interlock.policy.actions.shell.walk import Simple
from interlock.policy.actions.shell.words import Word, literal, unknown

_MAX_ALTERNATIVES: Final = 3
_FOREIGN_CODE: Final = ("-c", "-command", "/c", "/k", "-encodedcommand")
_MONGO_CALLS: Final = (
    ("dropDatabase(", "drop"),
    (".drop(", "drop"),
    (".dropIndexes(", "drop"),
    (".deleteMany({})", "delete-all"),
    (".remove({})", "delete-all"),
    (".updateMany({},", "update-all"),
    (".shutdownServer(", "shutdown"),
)
_MAX_LINES: Final = 64
_GIT_PROGRAMS: Final = frozenset(
    "core.pager core.editor core.sshcommand core.fsmonitor diff.external sequence.editor".split()
)
_EXEC_FLAGS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_FD_EXEC_FLAGS: Final = frozenset(("-x", "-X", "--exec", "--exec-batch"))


def follow(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """Follow what the command runs in turn; None when it runs nothing but itself."""
    program = command.program
    follower = _FOLLOWERS.get(program)
    if follower is not None:
        return follower(machine, command, scope)
    shells = machine.programs.shells
    if program in shells.names:
        return _shell(machine, command, scope)
    if program in shells.foreign.names:
        return _foreign_shell(machine, command, scope)
    interpreter = machine.programs.interpreters.get(program) or machine.programs.interpreters.get(
        _unversioned(program)
    )
    if interpreter is not None:
        return _interpreter(machine, command, interpreter, scope)
    client = machine.programs.sql_clients.get(program)
    if client is not None:
        return _sql_client(machine, command, client, scope)
    return _script(machine, command, scope)


def _unversioned(program: str) -> str:
    """`python3.11` is `python`."""
    return program.rstrip("0123456789.") if program[-1:].isdigit() else program


def _script(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """A file that this very line wrote or fetched, run by its name."""
    head = command.argv[0]
    if not scope.files or "/" not in head.text:
        return None
    held = scope.files.get(scope.path(head.text))
    if held is None:
        return None
    return _run_held(machine, command, head, held, scope)


def _run_held(
    machine: Machine, command: Command, source: Word, held: Stream, scope: Scope
) -> Stream:
    """Run bytes whose origin is known, and their text too where it is."""
    if held.labels:
        machine.note_effect(EffectKind.EXECUTE, source, held.labels, command)
    if held.text is not None:
        frame = command.frame.fed(UNSEEN)
        return machine.run_text(held.text, scope.copy(), frame, via=command.program)
    return Stream(held.labels)


def _shell(machine: Machine, command: Command, scope: Scope) -> Stream:
    code, rest = _shell_code(command, machine.programs.shells.values)
    if _reads_stdin(command):
        return _run_stdin(machine, command, scope)
    if code is not None:
        inner = scope.copy()
        inner.lists["@"] = rest[1:]
        for index, word in enumerate(rest[:10]):
            inner.variables[str(index)] = word
        if code.labels:
            machine.note_effect(EffectKind.EXECUTE, code, code.labels, command)
        return machine.run_text(code.text, inner, command.frame, via=f"{command.program} -c")
    if rest:
        held = _held(rest[0], command, scope, machine)
        return _run_held(machine, command, rest[0], held, scope)
    if _only_checks(command):
        return NOTHING
    return _run_stdin(machine, command, scope)


def _held(target: Word, command: Command, scope: Scope, machine: Machine) -> Stream:
    if target.text in {"-", "/dev/stdin"}:
        return command.frame.stdin
    opened = (
        scope.descriptors.get(target.text.rpartition("/")[2])
        if target.text.startswith(("/dev/fd/", "/proc/"))
        else None
    )
    return opened or stream_of_file(target, scope, machine.places)


def _shell_code(command: Command, values: frozenset[str]) -> tuple[Word | None, list[Word]]:
    """Return the `-c` code with its arguments, or None and the script with its."""
    words = list(command.argv[1:])
    index = 0
    has_code = False
    while index < len(words):
        text = words[index].text
        if text == "--":
            index += 1
            break
        if text[:1] not in {"-", "+"} or text == "-":
            break
        has_code = has_code or (text[:1] == "-" and text[:2] != "--" and "c" in text)
        index += 2 if text in values else 1
    rest = words[index:]
    if has_code and rest:
        return rest[0], rest[1:]
    return None, [] if has_code else rest


def _reads_stdin(command: Command) -> bool:
    """`sh -s arguments` reads its script from standard input."""
    for word in command.argv[1:]:
        if word.text[:1] != "-" or word.text == "--":
            return False
        if word.text[:2] != "--" and "s" in word.text and "c" not in word.text:
            return True
    return False


def _only_checks(command: Command) -> bool:
    texts = [word.text for word in command.argv[1:]]
    return "-n" in texts and "+n" not in texts


def _run_stdin(machine: Machine, command: Command, scope: Scope) -> Stream:
    stdin = command.frame.stdin
    if stdin.labels:
        machine.note_effect(EffectKind.EXECUTE, literal("standard input"), stdin.labels, command)
    if stdin.text is not None:
        frame = command.frame.fed(UNSEEN)
        return machine.run_text(stdin.text, scope.copy(), frame, via=command.program)
    if stdin is not UNSEEN and not stdin.labels:
        machine.give_up("it runs what another command prints", command.text)
    return Stream(stdin.labels | SHELL)


def _foreign_shell(machine: Machine, command: Command, scope: Scope) -> Stream:
    if command.frame.stdin.labels:
        machine.note_effect(
            EffectKind.EXECUTE, literal("standard input"), command.frame.stdin.labels, command
        )
    texts = [word.text.lower() for word in command.argv]
    start = next((texts.index(flag) for flag in _FOREIGN_CODE if flag in texts), None)
    if start is not None:
        line = " ".join([word.text for word in command.argv[start + 1 :]])
        machine.run_text(line, scope.copy(), command.frame, via=command.program)
    return UNSEEN


def _interpreter(
    machine: Machine, command: Command, interpreter: Interpreter, scope: Scope
) -> Stream:
    codes = command.invocation.all_values(*interpreter.code)
    operands = command.invocation.operands
    if interpreter.verbs and operands and operands[0].text in interpreter.verbs:
        codes = operands[1:2]
    for code in codes:
        if code.labels:
            machine.note_effect(EffectKind.EXECUTE, code, code.labels, command)
        follow_code(machine, code.text, interpreter.language, command, scope)
    if codes or command.invocation.has("-m"):
        return Stream(command.frame.stdin.labels)
    source = operands[0] if operands and operands[0].text != "-" else None
    held = command.frame.stdin if source is None else _held(source, command, scope, machine)
    if held.labels:
        machine.note_effect(
            EffectKind.EXECUTE, source or literal("standard input"), held.labels, command
        )
    if held.text is not None:
        follow_code(machine, held.text, interpreter.language, command, scope)
    return Stream(command.frame.stdin.labels)


def _sql_client(machine: Machine, command: Command, client: SqlClient, scope: Scope) -> Stream:
    texts = [word.text for word in command.invocation.all_values(*client.code)]
    operands = command.invocation.operands
    if client.operand is not None:
        texts += [word.text for word in operands[client.operand :]]
    for source in command.invocation.all_values(*client.files):
        texts.append(stream_of_file(source, scope, machine.places).text or "")
    if command.frame.stdin.text is not None:
        texts.append(command.frame.stdin.text)
    for text in texts:
        follow_sql(machine, text, command)
    return UNSEEN


def _xargs(machine: Machine, command: Command, scope: Scope) -> Stream:
    """The words behind the options, with what flows in appended or put in place."""
    words, placeholder = _xargs_command(command, machine)
    if not words:
        return Stream(command.frame.stdin.labels, command.frame.stdin.text)
    printed: Stream = UNSEEN
    for argument in _arguments_from(command.frame.stdin):
        if placeholder and any(placeholder in word.text for word in words):
            argv = [_filled(word, placeholder, argument) for word in words]
        else:
            argv = [*words, argument]
        printed = _run_words(machine, argv, command, scope, via="xargs")
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
    return [literal(field, stdin.labels) for field in fields[:_MAX_ALTERNATIVES]]


def _filled(word: Word, placeholder: str, argument: Word) -> Word:
    if placeholder not in word.text:
        return word
    text = word.text.replace(placeholder, argument.text)
    return Word(text, word.known and argument.known, word.glob, word.labels | argument.labels)


def _run_words(
    machine: Machine, argv: list[Word], command: Command, scope: Scope, *, via: str
) -> Stream:
    inner = command.frame.fed(UNSEEN).deeper().behind(via)
    return machine.resolve(argv, Simple(argv, command.text), scope.copy(), inner)


def _find(machine: Machine, command: Command, scope: Scope) -> Stream:
    """Follow each `-exec` with the found name standing for everything below the roots."""
    words = list(command.argv)
    found = found_by(command)
    index = 0
    while index < len(words):
        if words[index].text in _EXEC_FLAGS:
            end = _exec_end(words, index + 1)
            for below in found[:_MAX_ALTERNATIVES]:
                argv = [_filled(word, "{}", below) for word in words[index + 1 : end]]
                _run_words(machine, argv, command, scope, via="find")
            index = end
        index += 1
    return UNSEEN


def _fd(machine: Machine, command: Command, scope: Scope) -> Stream | None:
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
    return _run_words(machine, argv, command, scope, via="find")


def _exec_end(words: list[Word], start: int) -> int:
    for index in range(start, len(words)):
        if words[index].text in {";", "\\;", "+"}:
            return index
    return len(words)


def _parallel(machine: Machine, command: Command, scope: Scope) -> Stream:
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
    for argument in arguments[: _MAX_ALTERNATIVES + 1]:
        if any("{}" in word.text for word in template):
            argv = [_filled(word, "{}", argument) for word in template]
        else:
            argv = [*template, argument]
        if len(argv) == 1:
            machine.run_text(argv[0].text, scope.copy(), command.frame, via="parallel")
        else:
            _run_words(machine, argv, command, scope, via="parallel")
    return UNSEEN


def _parallel_command(command: Command, machine: Machine) -> tuple[list[Word], int]:
    values = machine.programs.options_of("parallel").values
    words = list(command.argv[1:])
    index = 0
    while index < len(words) and words[index].text[:1] == "-":
        index += 2 if words[index].text in values else 1
    return words[index:], index


def _line_values(*names: str) -> Callable[[Machine, Command, Scope], Stream | None]:
    """Options whose value is a command line of its own."""

    def follow_values(machine: Machine, command: Command, scope: Scope) -> Stream | None:
        for value in command.invocation.all_values(*names):
            line = value.text.removeprefix("exec=").removeprefix("sh -c ")
            machine.run_text(line, scope.copy(), command.frame, via=command.program)
        return None

    return follow_values


def _socat(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    for word in command.invocation.operands:
        kind, _, line = word.text.partition(":")
        if kind.upper() in {"EXEC", "SYSTEM"}:
            plain = line.partition(",")[0].replace("\\", "").strip("'\"")
            machine.run_text(plain, scope.copy(), command.frame, via="socat")
    return None


def _git(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`git submodule foreach`, `git bisect run`, `git rebase --exec` run what follows."""
    operands = command.invocation.operands
    verbs = [word.text for word in operands[:2]]
    if verbs in (["submodule", "foreach"], ["bisect", "run"]):
        _run_rest(machine, command, verbs[1], scope)
    for value in command.invocation.all_values("-x", "--exec"):
        machine.run_text(value.text, scope.copy(), command.frame, via="git rebase --exec")
    for value in command.invocation.all_values("-c"):
        name, _, line = value.text.partition("=")
        if line.startswith("!") or name.lower() in _GIT_PROGRAMS:
            machine.run_text(line.lstrip("!"), scope.copy(), command.frame, via=f"git -c {name}")
    return None


def _run_rest(machine: Machine, command: Command, verb: str, scope: Scope) -> None:
    """Follow the words behind a verb: one is a shell line, several are a command."""
    texts = [word.text for word in command.argv]
    words = [word for word in command.argv[texts.index(verb) + 1 :] if word.text != "--recursive"]
    if len(words) == 1:
        machine.run_text(words[0].text, scope.copy(), command.frame, via=f"git {verb}")
    elif words:
        _run_words(machine, words, command, scope, via=f"git {verb}")


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
            machine.run_text(line[1:], scope.copy(), command.frame, via=command.program)
    return None


def _make(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """A makefile that flows in: its recipes are shell lines."""
    for line in (command.frame.stdin.text or "").splitlines():
        if line.startswith("\t"):
            recipe = line.strip().lstrip("@-+")
            machine.run_text(recipe, scope.copy(), command.frame.fed(UNSEEN), via="make")
    return None


def _sed(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`sed '1e command'` runs the command."""
    for word in command.argv[1:]:
        script = word.text.lstrip("0123456789,$ ")
        if script.startswith("e "):
            machine.run_text(script[2:], scope.copy(), command.frame, via="sed")
    return None


def _osascript(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    for word in command.argv[1:]:
        _, found, rest = word.text.partition("do shell script ")
        if found:
            line = rest.strip("\"'")
            machine.run_text(line, scope.copy(), command.frame, via="osascript")
    return None


def _awk(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """`awk 'BEGIN { system("...") }'` runs a shell."""
    for word in command.argv[1:]:
        if "system(" in word.text:
            follow_code(machine, word.text, "perl", command, scope)
    return None


def _mongo(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """Statements for MongoDB: what drops or empties is named like SQL's."""
    texts = [word.text for word in command.invocation.all_values("--eval")]
    texts.append(command.frame.stdin.text or "")
    for text in texts:
        plain = "".join(text.split())
        for call, kind in _MONGO_CALLS:
            if call in plain:
                machine.note("sql", [literal(kind), literal("collection")], command)
    return None


def _redis(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """Commands for the store that flow in, one a line."""
    for line in (command.frame.stdin.text or "").splitlines()[:_MAX_LINES]:
        machine.note("redis", [literal(word) for word in line.split()], command)
    return None


Follower = Callable[[Machine, Command, Scope], "Stream | None"]

_FOLLOWERS: Final[dict[str, Follower]] = {
    "xargs": _xargs,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "ssh": _ssh,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "ex": _editor,
    "make": _make,
    "parallel": _parallel,
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
