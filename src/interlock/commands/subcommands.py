"""Commands that run other commands: fan-outs, and programs that shell out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise, takewhile
from typing import Final

from msgspec.structs import replace

from interlock.commands.build_programs import (
    follow_compiler,
    follow_make,
    follow_package,
    follow_recipes,
)
from interlock.commands.console_scripts import follow_console, is_console, may_be_asked
from interlock.commands.git_settings import follow_git, follow_hub
from interlock.commands.program_input import STANDARD_INPUT
from interlock.commands.programs.file_effects import (
    ASKING_FLAGS,
    ASKS_BACK,
    EXEC_ENDS,
    EXEC_FLAGS,
    FIND_OUTPUTS,
    found_by,
)
from interlock.commands.programs.program_tables import UNKNOWN_PROGRAM, Interpreter, Program
from interlock.commands.programs.scripts import (
    ran_by_call,
    ran_by_editor,
    ran_by_sed,
    without_calls,
    written_by_editor,
)
from interlock.commands.shell.cmdlets import cmdlet_of, is_item, same_words
from interlock.commands.shell.command import Command, Effect, EffectKind, Invocation
from interlock.commands.shell.provenance import (
    DECODED,
    MANY,
    PROCESS,
    REMOTE,
    UNSEEN,
    Stream,
    joined,
)
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, combined, literal, unknown
from interlock.commands.shell_builtins import BUILTINS
from interlock.commands.shell_programs import run_foreign_shell, run_script, run_shell
from interlock.commands.shown_variables import follow_filter, follow_processes
from interlock.commands.simulation import Follow, Simulation


def follow(simulation: Simulation, command: Command, known: Program, scope: Scope) -> Stream | None:
    """Follow what the command runs in turn; None when it runs nothing but itself."""
    if known.rehearses and command.invocation.has(*known.rehearses):
        return None
    way = BUILTINS.get(command.program) or FOLLOWING_WAYS.get(known.runs)
    if way is not None:
        if command.program in BUILTINS:
            _follow_subscripts(simulation, command, scope)
        return way(simulation, command, scope)
    if known.shell:
        run = run_shell if known.shell == "posix" else run_foreign_shell
        return run(simulation, command, scope)
    if known.runs or known.code is not None or known.sql is not None:
        return _snippet_follower()(simulation, command, known, scope)
    if known is UNKNOWN_PROGRAM:
        if may_be_asked(command):
            _snippet_follower()(simulation, command, known, scope)
        if command.frame.stdin.text is not None and is_console(command):
            follow_console(simulation, command, scope)
    return run_script(simulation, command, scope) if scope.files or scope.folders else None


def _follow_subscripts(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`read 'a[$(command)]'`: a builtin expands the subscripts of the names that it is given."""
    for word in command.argv[1:]:
        if "[" in word.text and re.match(_SUBSCRIPT, word.text):
            simulation.looked_into(word.text, scope.copy(), command.frame)


@cache
def _snippet_follower() -> Follow:
    from interlock.commands.snippets import follow_snippet  # noqa: PLC0415 - heavy, and rare

    return follow_snippet


_RUN_SETTING: Final = r"(?:^|[._:-])(?:hooks|commands?|cmd|editor|pager|askpass|tunnels)\b"
_SUBSCRIPT: Final = r"(?s)[A-Za-z_]\w*\[.*(?:\$\(|`)"
_DO_SHELL_SCRIPT: Final = r'do (?:shell )?script\s++"((?:\\.|[^"\\])*+)'
_JOINED: Final = r'"\s*&\s*"'
_NUL_DIVIDES: Final = r"-[rtpxo]{0,9}0|--null$"
_XARGS_ASKS: Final = r"-[0rtxo]{0,9}p|--interactive$"
_FD_EXEC_FLAGS: Final = frozenset(("-x", "-X", "--exec", "--exec-batch"))
_OPTION_LINE: Final = r"\s{0,9}-{0,2}(\w[\w-]{0,40})[\s=:]{0,9}(.*)"
_NOT_SHOWN: Final = REMOTE | DECODED
_ALL: Final = "*\n"
_PRINTS_NAMES: Final = re.compile(r"%p(?:\\n|\\0|\n)")
_PRINTS_OTHERWISE: Final = FIND_OUTPUTS | {"-printf", "-ls"}
_ARGUMENT_FILE: Final = frozenset(("-a", "--arg-file"))
_ONLY_SHOWS: Final = frozenset(("--dry-run", "--dryrun"))
"""Options of GNU parallel in front of its command."""


def _run_xargs(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """The words behind the options, with what flows in appended or put in place."""
    words, placeholder, divider = _xargs_command(command, simulation)
    options = command.argv[1 : len(command.argv) - len(words)]
    if any(re.match(_XARGS_ASKS, word.text) for word in options):
        command = _asked(command)
    file = next((word for before, word in pairwise(options) if before.text in _ARGUMENT_FILE), None)
    fed = command.frame.stdin if file is None else simulation.places.stream(file, scope)
    if not words:
        return Stream(fed.labels, fed.text)
    arguments = _arguments_from(fed, divider or ("\n" if placeholder else None))
    if not placeholder or not any(placeholder in word.text for word in words):
        return simulation.run_words([*words, *arguments], command, scope, via="xargs")
    printed: Stream = UNSEEN
    for argument in arguments:
        argv = [_filled(word, placeholder, argument) for word in words]
        printed = simulation.run_words(argv, command, scope, via="xargs")
    return printed


def _asked(command: Command) -> Command:
    """Return the command as one that asks before each run of another."""
    return replace(command, frame=command.frame.behind(ASKS_BACK))


def _xargs_command(command: Command, simulation: Simulation) -> tuple[list[Word], str, str | None]:
    """Return the command, what stands for an argument, and what divides the arguments."""
    values = simulation.programs.of("xargs").values
    words = list(command.argv[1:])
    placeholder = ""
    divider = None
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
            placeholder = (text.partition("=")[2] if "=" in text else text[2:]) or "{}"
        elif re.match(_NUL_DIVIDES, text):
            divider = "\0"
        elif text.startswith(("-d", "--delim")):
            given = text.partition("=")[2] if "=" in text else text[2:]
            divider = (
                given
                if text not in values
                else "".join(each.text for each in words[index + 1 : index + 2])
            )
            divider = divider.replace("\\n", "\n").replace("\\0", "\0") or None
        index += 2 if text in values else 1
    return words[index:], placeholder, divider


def _arguments_from(stdin: Stream, divider: str | None = None) -> list[Word]:
    """Return the words that flow in; one unknown word when they are not known."""
    if stdin.text is None:
        return [unknown("$stdin", stdin.labels)]
    fields = stdin.text.split(divider) or [""]
    if divider is not None and len(fields) > 1 and not fields[-1]:
        fields.pop()
    return [Word(field, known=stdin.exact, labels=stdin.labels) for field in fields]


def _filled(word: Word, placeholder: str, argument: Word) -> Word:
    if placeholder not in word.text:
        return word
    first, *others = [replace(word, text=text) for text in word.text.split(placeholder)]
    plain = replace(argument, glob=False)
    return combined([first, *(part for other in others for part in (plain, other))])


def _run_find(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Follow each `-exec` with the found name standing for everything below the roots."""
    found = found_by(command)
    printed: list[Stream] = []
    words = iter(command.argv)
    for word in words:
        if word.text in EXEC_FLAGS:
            template = list(takewhile(lambda word: word.text not in EXEC_ENDS, words))
            runner = _asked(command) if word.text in ASKING_FLAGS else command
            for below in found:
                argv = [_filled(word, "{}", below) for word in template]
                if template and template[0].text == "{}":
                    argv[0] = below
                ran = simulation.run_words(argv, runner, scope, via="find")
                # Names that are made of found ones lead elsewhere: `dirname {}`, `readlink {}`.
                made = any("{}" in word.text for word in template)
                printed.append(Stream(ran.labels) if made else ran)
    for word, behind in pairwise((*command.argv, command.argv[0])):
        if word.text in _PRINTS_OTHERWISE and not _PRINTS_NAMES.fullmatch(behind.text):
            printed.append(UNSEEN)
    if not printed or command.invocation.has("-print", "-print0"):
        ending = "\0" if "-print0" in command.invocation.flags else "\n"
        printed.append(Stream(0, "".join([f"{word.text}{ending}" for word in found]), exact=False))
    told = joined(printed)
    return Stream(told.labels | MANY, told.text, exact=False)


def _run_fd(simulation: Simulation, command: Command, scope: Scope) -> Stream | None:
    """`fd PATTERN FOLDER -x COMMAND`."""
    texts = [word.text for word in command.argv]
    start = next((index for index, text in enumerate(texts) if text in _FD_EXEC_FLAGS), None)
    if start is None:
        return None
    ending = command.invocation.value("-e", "--extension")
    told = [word for word in command.invocation.operands if word in command.argv[:start]]
    name, *folders = told or [literal("*")]
    if ending is not None:
        name = literal(f"*.{ending.text}")
    elif name.text.isalpha() or not simulation.places.is_scratch(name.text):
        # A pattern finds whatever holds it: `build` also `builder.py`, but `__pycache__` only that.
        name = literal("*")
    folder = folders[:1] or [literal(".")]
    root = folder[0].text.rstrip("/")
    below = Word(f"{root}/{name.text}", known=folder[0].known, glob=True)
    words = list(command.argv[start + 1 :])
    named = any("{}" in word.text for word in words)
    argv = [_filled(word, "{}", below) for word in words] + ([] if named else [below])
    return simulation.run_words(argv, command, scope, via="find")


def _children(_simulation: Simulation, command: Command, _scope: Scope) -> Stream:
    """`Get-ChildItem folder -Filter pattern` finds what lies there; `a.b` is a file."""
    below = [
        word.text
        if word.glob or "." in word.text.rpartition("/")[2].strip(".")
        else f"{word.text.rstrip('/')}/*"
        for word in cmdlet_of(command).paths or [literal(".")]
    ]
    many = MANY if any("*" in text for text in below) else 0
    return Stream(many, "".join([f"{text}\n" for text in below]), exact=False)


def _processes(_simulation: Simulation, command: Command, _scope: Scope) -> Stream:
    """`Get-Process` without a name finds all there are."""
    given = cmdlet_of(command)
    return UNSEEN if given.operands or given.values else Stream(MANY, _ALL, exact=False)


def _each(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """`ForEach-Object { command $_ }` runs a command for each of what flows in."""
    texts = [word.text for word in command.argv]
    if "{" not in texts:
        return UNSEEN
    template = command.argv[texts.index("{") + 1 :]
    if template and template[-1].text == "}":
        template = template[:-1]
    for argument in _arguments_from(command.frame.stdin, "\n"):
        argv = [argument if is_item(word) else word for word in template]
        line = " ".join([word.text for word in argv])
        simulation.run_words(argv, command, scope, text=line)
    return UNSEEN


def _config(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`curl -K file`: a file of options, which may say all that a line may."""
    for file in command.invocation.all_values("-K", "--config"):
        told = simulation.script(file, command, scope).text
        if told is not None:
            words = [literal(word) for line in told.splitlines() for word in _option(line)]
            simulation.run_words([command.argv[0], *words], command, scope)
        elif not command.invocation.operands and not command.invocation.has("--url"):
            reason = f"what it sends or fetches stands in `{file.text}`"
            simulation.give_up(reason, command.text, asks=True)


def _option(line: str) -> list[str]:
    """Return the words that a line of curl's file of options stands for."""
    found = re.match(_OPTION_LINE, line)
    if found is None:
        return []
    dashes = "-" if len(found[1]) == 1 else "--"
    return [dashes + found[1], *([found[2].strip("\"' ")] if found[2] else [])]


def _evaluated(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`iex (iwr address)`, `iwr address | iex`: what was fetched is run; so is Elixir's code."""
    simulation.doubt_input(command)
    for code in command.invocation.all_values("-e", "--eval"):
        simulation.follow_unread(code.text, command, scope)
    simulation.note_execution(STANDARD_INPUT, command.frame.stdin.labels & _NOT_SHOWN, command)
    for word in command.invocation.operands:
        simulation.doubt(word, command)
        labels = word.labels
        if word.text.startswith("("):
            inner = command.frame.unseen()
            text = word.text[1:].removesuffix(")")
            labels |= simulation.run_nested(text, scope.outside(), inner, via="iex").labels
        simulation.note_execution(word, labels & _NOT_SHOWN, command)


def _stopped(simulation: Simulation, command: Command, _scope: Scope) -> None:
    """`Get-Process | Stop-Process` ends them all."""
    stdin = command.frame.stdin
    if command.frame.piped and stdin.labels & MANY and stdin.text == _ALL:
        simulation.note("code", ["kill"], command)


def _run_parallel(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """GNU parallel: the command, then `:::` and its arguments, or lines of the input."""
    values = simulation.programs.of("parallel").values
    words = list(command.argv[1:])
    while words and words[0].text[:1] == "-":
        if words[0].text in _ONLY_SHOWS:
            return UNSEEN
        words = words[2 if words[0].text in values else 1 :]
    marks = (index for index, word in enumerate(words) if word.text in {":::", ":::+", "::::"})
    split = next(marks, len(words))
    template = words[:split]
    if not words:
        # Each line that flows in is a command.
        simulation.note_execution(STANDARD_INPUT, command.frame.stdin.labels, command)
    arguments = [word for word in words[split + 1 :] if not word.text.startswith(":::")]
    if not arguments:
        arguments = _arguments_from(command.frame.stdin, "\n")
    for argument in arguments:
        if any("{}" in word.text for word in template):
            argv = [_filled(word, "{}", argument) for word in template]
        else:
            argv = [*template, argument]
        if len(argv) == 1 or " " in argv[0].text:
            line = " ".join([word.text for word in argv])
            simulation.run_line(line, command, scope, via="parallel")
        else:
            simulation.run_words(argv, command, scope, via="parallel")
    return UNSEEN


_EXPECTED: Final = (
    r"(?:^|[;\n{\[])\s{0,99}(?:spawn|system|exec|send)(?: --?\w{0,20}){0,9}( [^;\n]{1,4096})"
)


def _socat(simulation: Simulation, command: Command, scope: Scope) -> None:
    for word in command.invocation.operands:
        kind, _, line = word.text.partition(":")
        if kind.upper() in {"EXEC", "SYSTEM"}:
            plain = line.partition(",")[0].replace("\\", "").strip("'\"")
            simulation.run_line(plain, command, scope, via="socat")


def _ssh(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`ssh host < script`: what flows in is run over there."""
    if len(command.invocation.operands) == 1:
        simulation.note_execution(STANDARD_INPUT, command.frame.stdin.labels & REMOTE, command)
    if command.frame.stdin.text is not None and len(command.invocation.operands) == 1:
        frame = command.frame.fed(UNSEEN)
        simulation.run_nested(
            command.frame.stdin.text, Scope.begun("/remote/home"), frame, via="ssh"
        )


def _editor(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`vim -c '!command'` leaves the editor for a shell; so may what flows in."""
    scripts = [word.text.lstrip("+:") for word in command.argv[1:]]
    for before, word in pairwise(command.argv):
        if before.text in {"-c", "--cmd"}:
            simulation.doubt(word, command)
        elif before.text in _EDITOR_FILES:
            scripts.append(simulation.script(word, command, scope).text or "")
    _run_scripts(simulation, scripts, ran_by_editor, command, scope)
    for script in (*scripts, command.frame.stdin.text or ""):
        for name in written_by_editor(script):
            for target in [literal(name)] if name else command.invocation.operands:
                place = simulation.places.at(target.text, scope)
                simulation.effects.append(Effect(EffectKind.OVERWRITE, target, command, place))
    for word in command.invocation.all_values("--eval", "-e", "--execute"):
        simulation.follow_unread(without_calls(word.text), command, scope)


_EDITOR_FILES: Final = frozenset(("-S", "-s", "-u", "-l", "--script", "--load"))


def _pager(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`less +'!command' file` begins with the command."""
    for word in command.argv[1:]:
        if word.text.startswith("+"):
            for line in ran_by_editor(word.text.lstrip("+")):
                simulation.run_line(line, command, scope)


def _calculator(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`dc`, `gnuplot` and `m4` run what their scripts call."""
    scripts = [word.text for word in command.invocation.all_values(*_SCRIPT_OPTIONS)]
    _run_scripts(simulation, scripts, ran_by_call, command, scope)


def _settings(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`hg --config alias.x='!line'`: settings whose names or values say that they are run."""
    for word in command.invocation.all_values("--config", "--config-option", "-e", "--execute"):
        name, _, line = word.text.partition("=")
        if line.startswith("!") or re.search(_RUN_SETTING, name):
            simulation.run_line(line.lstrip("!"), command, scope)


def _compgen(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`compgen -W words` expands them."""
    for word in command.invocation.all_values("-W"):
        simulation.looked_into(word.text, scope.copy(), command.frame)


def _sed(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`sed '1e command'` runs the command, `s/a/b/e` what comes of it."""
    files = command.invocation.all_values("-f", "--file")
    words = command.invocation.all_values("-e", "--expression")
    if not files:
        words = words or command.invocation.operands[:1]
    scripts = [word.text for word in words]
    scripts += [simulation.script(word, command, scope).text or "" for word in files]
    for script in scripts:
        simulation.follow_script(ran_by_sed(script), command, scope)


def _flatpak(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`flatpak run --command=sh app -c line`: another program than the app's own."""
    for program in command.invocation.all_values("--command"):
        words = iter(command.argv[2:])
        next((word for word in words if word.text[:1] != "-"), None)
        simulation.run_words([program, *words], command, scope, via="flatpak")


def _osascript(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`do shell script "line"`, in a word or in what flows in."""
    given = "\n".join([*(word.text for word in command.argv[1:]), command.frame.stdin.text or ""])
    for found in re.finditer(_DO_SHELL_SCRIPT, re.sub(_JOINED, "", given)):
        line = re.sub(r"\\(.)", r"\1", found[1])
        simulation.run_line(line, command, scope, via="osascript")


def _same(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Follow what another program would be told to do the same: `Move-Item` is `mv`."""
    words = same_words(command)
    if words:
        simulation.run_words(words, command, scope)


def _later(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`at` and `batch` read a script, from a file or from what flows in."""
    held = [simulation.script(word, command, scope) for word in command.invocation.all_values("-f")]
    for stream in held or [command.frame.stdin]:
        if stream.text is not None:
            simulation.run_line(stream.text, command, scope)


def _expect(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`expect` starts programs by `spawn`, and types what it sends into them; Tcl by `exec`."""
    codes = command.invocation.all_values("-c")
    for code in codes:
        simulation.doubt(code, command)
    scripts = [code.text for code in codes]
    files = [simulation.script(word, command, scope) for word in command.invocation.operands[:1]]
    scripts += [held.text or "" for held in files]
    if command.program != "expect":
        for script in (*scripts, command.frame.stdin.text or ""):
            simulation.follow_unread(script, command, scope)
    _run_scripts(simulation, scripts, _expected, command, scope)


def _expected(script: str) -> Iterator[str]:
    for statement in re.findall(_EXPECTED, script):
        yield re.sub(r"\\[rnt]", " ", statement).strip(" '\"{}")


def _run_scripts(
    simulation: Simulation,
    scripts: Iterable[str],
    lines_in: Callable[[str], Iterable[str]],
    command: Command,
    scope: Scope,
) -> None:
    """Follow the lines that scripts run: those in words, and one that flows in."""
    for script in (*scripts, command.frame.stdin.text or ""):
        for line in lines_in(script):
            simulation.run_line(line, command, scope)


def _cloud(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`aws ssm send-command --parameters commands=line` runs lines on other machines."""
    verbs = [word.text for word in command.invocation.operands[:2]]
    for word in command.invocation.all_values("--parameters") if verbs == _REMOTE_LINES else ():
        _, _, lines = word.text.partition("commands")
        frame = command.frame.fed(UNSEEN)
        for line in re.findall(r'"([^"]{2,})"', lines) or [lines.strip("'\":=[] ")]:
            simulation.run_nested(line, Scope.begun("/remote/home"), frame, via="ssh")


def _ended(simulation: Simulation, command: Command, _scope: Scope) -> None:
    """`kill $(pgrep cron)` ends what `pkill cron` does, whichever way it was searched for."""
    given = command.invocation
    if given.has("-0", "-l") or not any(word.labels & PROCESS for word in given.operands):
        return
    options = [f"-{word.text}" for word in given.all_values("-s", "-n", "--signal")]
    options = options or [word.text for word in command.argv[1:] if word.text[:1] == "-"]
    for name in [name for each in simulation.commands for name in _searched_for(each)]:
        simulation.note("pkill", [*options, name], command)


def _searched_for(command: Command) -> Iterator[str]:
    """Yield the names that a command picks out of a list of processes."""
    words = command.invocation.operands
    if command.program in _LISTS_BY_NAME:
        for owner in command.invocation.all_values("-u", "-U") if not words else ():
            yield f"-u{owner.text}"
        yield from (word.text for word in words)
    elif command.frame.stdin.labels & PROCESS and words and not command.invocation.has("-v"):
        script = words[0].text
        found = re.findall(_SEARCHED, script) if "{" in script else [script]
        yield from (re.sub(_NAME_MARKS, "", name) for name in found)


def _go(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`go run main.go` runs a program that this line may have written or fetched."""
    verb, *files = command.invocation.operands or [literal("")]
    if verb.text == "run" and (scope.files or scope.folders):
        run = replace(command, invocation=Invocation("go", operands=files))
        _snippet_follower()(simulation, run, _GO_PROGRAM, scope)


_GO_PROGRAM: Final = Program(code=Interpreter(language="go"))


def _manifest(simulation: Simulation, command: Command, _scope: Scope) -> None:
    """`kubectl apply -f -`: what flows in is run in the cluster."""
    given = command.invocation
    verb = given.operands[0].text if given.operands else ""
    files = given.all_values("-f", "--filename")
    if verb in _APPLIES and not given.has("--dry-run") and any(word.text == "-" for word in files):
        stdin = command.frame.stdin
        simulation.note_execution(STANDARD_INPUT, stdin.labels & REMOTE, command)
        if re.search(_UNCONFINED, stdin.text or ""):
            simulation.note("pod", ["privileged"], command)


_UNCONFINED: Final = (
    r"\b(?:privileged|hostPID|hostIPC)[\"']?:\s{0,9}true\b"
    r"|\bhostPath[\"']?:\s{0,99}\{?\s{0,99}[\"']?path[\"']?:\s{0,9}[\"']?"
    r"/(?:(?:etc|root|var/run/docker\.sock)\b|[\"'\s}]|$)"
)
"""What gives a pod the machine that it runs on."""
_APPLIES: Final = frozenset(("apply", "create", "replace"))
_LISTS_BY_NAME: Final = frozenset(("pgrep", "pidof"))
_SEARCHED: Final = r"(?:/|==?\s{0,9}\")([^/\"{}]{1,99})[/\"]"
_NAME_MARKS: Final = r"[\[\]^$\\]"
"""What is written around a name so that the search does not find itself."""
_REMOTE_LINES: Final = ["ssm", "send-command"]
_SCRIPT_OPTIONS: Final = ("-e", "--expression", "-D", "--define")

Follower = Callable[[Simulation, Command, Scope], "Stream | None"]

FOLLOWING_WAYS: Final[dict[str, Follower]] = {
    "xargs": _run_xargs,
    "find": _run_find,
    "fd": _run_fd,
    "parallel": _run_parallel,
    "ssh": _ssh,
    "editor": _editor,
    "pager": _pager,
    "calculator": _calculator,
    "compgen": _compgen,
    "make": follow_make,
    "recipes": follow_recipes,
    "socat": _socat,
    "git": follow_git,
    "hub": follow_hub,
    "sed": _sed,
    "osascript": _osascript,
    "flatpak": _flatpak,
    "later": _later,
    "expect": _expect,
    "compiler": follow_compiler,
    "cloud": _cloud,
    "package": follow_package,
    "ended": _ended,
    "manifest": _manifest,
    "console": follow_console,
    "settings": _settings,
    "go": _go,
    "children": _children,
    "processes": _processes,
    "process-list": follow_processes,
    "filter": follow_filter,
    "config": _config,
    "each": _each,
    "evaluated": _evaluated,
    "stopped": _stopped,
    "same": _same,
}
"""What an entry of a program may say under `runs`."""
