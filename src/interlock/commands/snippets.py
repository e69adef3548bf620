"""Code, SQL and other queries that a command is given to run: what they do, in effects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from interlock.commands.code.call_effects import effects_in, looks_like_code
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.known_calls import CallKind, CodeEffect
from interlock.commands.code.loaded_files import files_loaded, module_files
from interlock.commands.code.store_calls import mongo_operations_in, redis_operations_in
from interlock.commands.console_scripts import asked_in, follow_escapes
from interlock.commands.program_input import STANDARD_INPUT
from interlock.commands.programs.execution import counted
from interlock.commands.programs.places import OWN, TEMP
from interlock.commands.programs.program_tables import Interpreter, Program, SqlClient
from interlock.commands.programs.scripts import ran_by_awk
from interlock.commands.run_time_programs import may_decide
from interlock.commands.shell.cmdlets import static_calls
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.provenance import (
    ARCHIVE,
    DECODED,
    ENVIRON,
    LOGIN,
    MANY,
    PICKED,
    REMOTE,
    SECRET,
    UNSEEN,
    Stream,
    joined,
)
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, literal, unknown
from interlock.commands.shown_variables import shows_variables
from interlock.commands.simulation import Simulation
from interlock.commands.sql.graph_text import deletes_all
from interlock.commands.sql.sql_script import looks_like_sql, operations_in
from interlock.commands.sql.sql_verbs import SqlKind, SqlOperation

_EMBEDDED: Final = frozenset(("sqlite3", "sqlite", "duckdb"))
_SERVED: Final = frozenset(("psql", "mysql", "mariadb"))
_DATABASE: Final = ("-d", "--dbname", "-D", "--database")
_OF_A_TEST: Final = r"(?i)[\w-]{1,60}[_-]tests?|tests?[_-][\w-]{1,60}"
"""How databases are called that tests make for themselves."""
_OTHER_DATABASE: Final = r"(?i)\\c|\buse\b|\w\.\w{1,60}\.\w"
_BEFORE: Final = ("-cmd", "-init")
_TO_DATA: Final = frozenset(
    (SqlKind.DROP, SqlKind.TRUNCATE, SqlKind.DELETE_ALL, SqlKind.UPDATE_ALL, SqlKind.ALTER_DROP)
)
_CHOOSES: Final = r"\b(?:if|unless|filter|grep|select|where|endsWith|endswith|match|fnmatch|test)\b"
"""How code says which of the files it found are meant."""
_ENDLESS_FORKS: Final = (
    r"\b(?:while\s{0,9}\(?\s{0,9}(?:True|true|1)|loop|for\s{0,9}\(\s{0,9};\s{0,9};)[^\n]{0,99}"
    r"(?:\n[ \t]{1,40}[^\n]{0,99}){0,3}\bfork\b"
    r"|\bfork\b[\s;()]{0,9}while\s{0,9}\(?\s{0,9}(?:1|true)"
)
_ON_FILES: Final = frozenset("delete overwrite append move read permit".split())
_LOADING: Final = ("-r", "--require", "--import", "--loader", "--experimental-loader", "-M", "-l")
"""Options of interpreters that name modules."""
UNREAD: Final = "unread"
"""What an interpreter's language is called that is not understood."""
_MAX_LINES: Final = 64
_PROMPT_LINE: Final = r"(?m)^[ \t]{0,9}!([^\n=]{1,4096})$"
"""What Python's prompts give to a shell."""
_DROPS: Final = r"(?i)(?:^|[/_.-])(?:drop|wipe|purge|truncate|destroy|nuke|delete_?all)[^/]{0,80}$"
"""Names of files of SQL that say what they do."""
_HANDS_ON: Final = frozenset(("files", "filtered", "input"))
_DEBUGGER_LINES: Final = (
    *("-ex", "-iex", "--ex", "--eval-command", "-eval-command", "-o", "-O", "--one-line"),
)
_DEBUGGER_CODE: Final = r"\s{0,9}(?:python-interactive|python|py|pi|script)(?:\s{1,9}--)?\s{1,9}"
_AWK_RUNS: Final = r"\bsystem\s{0,9}\(|\|\s{0,9}\"(?:/bin/)?(?:ba|da|z|k)?sh\b"
_AWK_RUNS_VARIABLE: Final = r"\b(\w{1,40})\s{0,9}\|&?\s{0,9}getline|\bsystem\(\s{0,9}(\w{1,40})\b"
_DEBUGGED: Final = ("--args", "-args", "--")
_OWN_VARIABLE: Final = r"['\"]?(INTERLOCK_\w{1,40})['\"]?"
_SETS_OWN_VARIABLE: Final = "|".join(
    pattern.replace("NAME", _OWN_VARIABLE)
    for pattern in (
        r"(?:environ|ENV|env)(?:\[|\.)NAME\]?\s{0,9}=(?!=)",
        r"(?:del|delete)\s[^\n;]{0,20}(?:\[|\.)NAME",
        r"(?:putenv|unsetenv|setenv|pop|setdefault)\(NAME",
        r"[{,]\s{0,9}NAME\s{0,9}:",
        r"[(,]\s{0,9}NAME\s{0,9}=(?!=)",
    )
)
"""How code sets or drops one of Interlock's own variables; it may read them."""


def follow_snippet(
    simulation: Simulation, command: Command, known: Program, scope: Scope
) -> Stream | None:
    """Follow the code or the statements that a program is given."""
    if known.runs:
        SNIPPET_WAYS[known.runs](simulation, command, scope)
        return None
    if known.code is not None and known.code.consoles:
        _run_console(simulation, command, known.code, scope)
    elif known.code is not None:
        return _run_interpreter(simulation, command, known.code, scope)
    elif known.sql is None:
        # Of others, only what may be a query to a program that nobody knows comes here.
        _follow_queries(simulation, command, scope)
    return None if known.sql is None else _run_sql_client(simulation, command, known.sql, scope)


def follow_statement(simulation: Simulation, line: str, command: Command, scope: Scope) -> None:
    """Follow a line that was meant for a database or a program, not for a shell."""
    # What stands in quotes in quotes is read where it is run.
    for same in static_calls(line) if "]::" in line and "'\\''" not in line else ():
        simulation.run_line(same, command, scope)
    if looks_like_sql(line) or _is_bare_truncate(line):
        _follow_sql(simulation, line, command, scope)
    elif looks_like_code(line):
        _follow_code(simulation, line, Language.PYTHON, command, scope)


def _is_bare_truncate(line: str) -> bool:
    """`TRUNCATE users` is SQL; `truncate -s 0 file` is a program."""
    words = line.rstrip("; ").split()
    return len(words) == 2 and words[0] == "TRUNCATE" and not words[1].startswith("-")


def _run_interpreter(
    simulation: Simulation, command: Command, interpreter: Interpreter, scope: Scope
) -> Stream:
    """Follow `python -c`, a script by its name, or code that flows in."""
    language = None if interpreter.language == UNREAD else Language(interpreter.language)
    stdin = command.frame.stdin
    codes = command.invocation.all_values(*interpreter.options)
    operands = command.invocation.operands
    if interpreter.verbs and operands and operands[0].text in interpreter.verbs:
        codes = operands[1:2]
    if interpreter.operands:
        codes = [*codes, *operands]
    for code in codes:
        simulation.note_execution(code, code.labels, command)
        simulation.doubt(code, command)
        _follow_code(simulation, code.text, language, command, scope)
        if any(each.text == "un" for each in command.invocation.all_values("-r")):
            # `ruby -run -e rm -- -rf x`: a library of commands.
            simulation.run_words([code, *operands], command, scope)
    if scope.files and language is not None:
        _follow_modules(simulation, command, language, scope)
    if codes or command.invocation.has("-m"):
        return Stream(joined([stdin, *scope.held_in(operands)]).labels)
    _run_source(simulation, command, language, scope)
    return Stream(stdin.labels)


def _run_source(
    simulation: Simulation, command: Command, language: Language | None, scope: Scope
) -> None:
    """Follow a script by its name, or code that flows in."""
    stdin = command.frame.stdin
    operands = command.invocation.operands
    source = operands[0] if operands and operands[0].text != "-" else None
    if source is None and stdin.text is None and may_decide(operands):
        simulation.give_up("it runs what another command prints", command.text, asks=True)
    if source is None:
        simulation.doubt_input(command)
    held = stdin if source is None else simulation.script(source, command, scope)
    simulation.note_execution(source or STANDARD_INPUT, held.labels, command)
    if held.text is not None:
        _follow_code(simulation, held.text, language, command, scope)
    elif source is not None:
        _follow_script(simulation, source, language, command, scope)


def _run_console(
    simulation: Simulation, command: Command, console: Interpreter, scope: Scope
) -> None:
    """Follow the code that the console of a framework is given, or that flows into it."""
    operands = command.invocation.operands
    verb = operands[0].text if operands else ""
    if verb not in console.consoles:
        return
    codes = command.invocation.all_values(*console.options)
    if verb in console.verbs:
        codes = [*codes, *operands[1:2]]
    held = [Stream(code.labels, code.text) for code in codes] or [command.frame.stdin]
    for stream in held:
        simulation.note_execution(STANDARD_INPUT, stream.labels, command)
        if stream.text is not None:
            _follow_code(simulation, stream.text, Language(console.language), command, scope)


def _follow_script(
    simulation: Simulation,
    source: Word,
    language: Language | None,
    command: Command,
    scope: Scope,
) -> None:
    """A script may be an installed program: `python ~/.local/bin/tool`, `php artisan`."""
    path = source.text.removesuffix("/__main__.py").rstrip("/")
    name = path.rpartition("/")[2]
    is_program = language is Language.PYTHON and "." not in name
    console = simulation.programs.of(name).code
    if console is not None and console.consoles:
        is_program = True
    if not source.known or not is_program or source not in command.argv:
        return
    behind = command.argv[command.argv.index(source) + 1 :]
    may_be_own = source.glob and may_decide([source, *behind])
    argv = [Word(path, glob=may_be_own), *behind]
    simulation.run_words(argv, command, scope, stdin=command.frame.stdin)


def _run_sql_client(
    simulation: Simulation, command: Command, client: SqlClient, scope: Scope
) -> Stream | None:
    """Follow every statement that a client of a database is given."""
    operands = command.invocation.operands
    if client.verbs and not (operands and operands[0].text in client.verbs):
        return None
    codes = command.invocation.all_values(*client.code)
    if client.only_code and not codes:
        return None
    if client.operand is not None:
        codes += operands[client.operand :]
    for code in codes:
        simulation.doubt(code, command)
    texts = [code.text for code in codes]
    texts += _sql_in_files(simulation, command, client, scope)
    stdin = command.frame.stdin
    if not any(texts):
        # Where the line itself holds the statements, what flows in is data.
        simulation.note_execution(STANDARD_INPUT, stdin.labels & REMOTE, command)
    if not texts:
        simulation.doubt_input(command)
    if stdin.text is not None:
        texts.append(stdin.text)
    for text in texts:
        _follow_sql(simulation, text, command, scope)
    return UNSEEN if texts else None


def _follow_queries(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Follow the SQL in the words of a program that nobody knows, or that flows into one."""
    for text in asked_in(command):
        if looks_like_sql(text):
            _follow_sql(simulation, text, command, scope)


def _piped_files(simulation: Simulation) -> list[Word]:
    """Return the files that the command in front of this one hands on: `cat drop.sql | psql`."""
    before = simulation.commands[-2:-1]
    hands_on = any(simulation.programs.of(each.program).prints in _HANDS_ON for each in before)
    return before[0].invocation.operands if hands_on else []


def _sql_in_files(
    simulation: Simulation, command: Command, client: SqlClient, scope: Scope
) -> list[str]:
    """Return what is known of the files that a client runs; their names may say enough."""
    files = command.invocation.all_values(*client.files)
    fed = [each.target for each in command.redirects if each.operator == "<"]
    if command.frame.piped:
        fed += _piped_files(simulation)
    for name in (*files, *fed):
        if re.search(_DROPS, name.text):
            reason = f"by its name, `{name.text}` drops or deletes data"
            simulation.give_up(reason, command.text, asks=True)
    texts: list[str] = []
    for source in files:
        held = simulation.script(source, command, scope)
        simulation.note_execution(source, held.labels & REMOTE, command)
        texts.append(held.text or "")
    return texts


def _awk(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`awk 'BEGIN { system("...") }'` runs a shell, and so do its pipes."""
    invocation = command.invocation
    records = command.frame.stdin
    files = invocation.all_values("-f", "--file")
    held = [simulation.script(word, command, scope) for word in files]
    for word, stream in zip(files, held, strict=True):
        simulation.note_execution(word, stream.labels & REMOTE, command)
    scripts = [stream.text or "" for stream in held]
    if any(word.text in {"-", "/dev/stdin"} for word in files):
        records = UNSEEN
    words = invocation.all_values("-e", "--source")
    for word in words or ([] if files else invocation.operands[:1]):
        simulation.doubt(word, command)
        scripts.append(word.text)
    assignments = [word.text.partition("=") for word in invocation.all_values("-v", "--assign")]
    given = {name: value for name, _, value in assignments}
    for script in scripts:
        simulation.budget.read(len(script))
        simulation.follow_script(ran_by_awk(script, given, records.text), command, scope)
        if shows_variables(script):
            simulation.note("env", [], command)
        if "/inet" in script and _runs_what_it_reads(script):
            simulation.note("code", ["socket-shell"], command)
        if records.labels & REMOTE and re.search(_AWK_RUNS, script):
            simulation.note_execution(STANDARD_INPUT, REMOTE, command)


def _runs_what_it_reads(script: str) -> bool:
    """Whether an awk script reads a line into a variable, and runs that."""
    read = set(re.findall(r"\bgetline\s{1,9}(\w{1,40})", script))
    return any(not read.isdisjoint(each) for each in re.findall(_AWK_RUNS_VARIABLE, script))


def _debugger(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`gdb -ex 'python code'` runs code, and `gdb --args program` the program."""
    for word in command.invocation.all_values(*_DEBUGGER_LINES):
        found = re.match(_DEBUGGER_CODE, word.text)
        if found is not None:
            _follow_code(simulation, word.text[found.end() :], Language.PYTHON, command, scope)
    follow_escapes(simulation, command, scope)
    texts = [word.text for word in command.argv]
    start = next((texts.index(mark) for mark in _DEBUGGED if mark in texts), None)
    if start is not None:
        simulation.run_words(list(command.argv[start + 1 :]), command, scope)


def _graph(simulation: Simulation, command: Command, scope: Scope) -> None:
    """A query on the line itself, or what flows in."""
    operands = command.invocation.operands
    for word in operands:
        simulation.doubt(word, command)
    for text in [word.text for word in operands] or [command.frame.stdin.text or ""]:
        _follow_sql(simulation, text, command, scope)
        if deletes_all(text):
            simulation.note("sql", [SqlKind.DELETE_ALL.value, "graph", ""], command)


def _mongo(simulation: Simulation, command: Command, _scope: Scope) -> None:
    codes = command.invocation.all_values("--eval", "--javascript.execute-string")
    for code in codes:
        simulation.doubt(code, command)
    for text in (*(code.text for code in codes), command.frame.stdin.text or ""):
        simulation.budget.read(len(text))
        _note_operations(simulation, mongo_operations_in(text), command)


def _redis(simulation: Simulation, command: Command, _scope: Scope) -> None:
    """A command for the store on the line itself, or one on each line that flows in."""
    for word in command.invocation.operands[:1]:
        simulation.doubt(word, command)
    operands = [word.text for word in command.invocation.operands]
    lines = (command.frame.stdin.text or "").splitlines()[:_MAX_LINES]
    for words in (operands, *map(str.split, lines)):
        _note_operations(simulation, redis_operations_in(words), command)


SNIPPET_WAYS: Final[dict[str, Callable[[Simulation, Command, Scope], None]]] = {
    "awk": _awk,
    "debugger": _debugger,
    "graph": _graph,
    "mongo": _mongo,
    "redis": _redis,
}
"""What else an entry of a program may say under `runs`: these hold code."""


def _follow_sql(simulation: Simulation, text: str, command: Command, scope: Scope) -> None:
    """Note what SQL would do to the data."""
    simulation.budget.read(len(text))
    passing = _is_passing(simulation, text, command, scope)
    for operation in operations_in(text):
        if passing and operation.kind in _TO_DATA and operation.object != "database":
            continue
        if _saves(operation, command):
            _note_save(simulation, operation.target, command, scope)
            continue
        _note_operations(simulation, [operation], command)
        if operation.kind is SqlKind.EXECUTE:
            inside = scope.outside()
            simulation.run_nested(operation.target, inside, command.frame, via="sql")


def _is_passing(simulation: Simulation, text: str, command: Command, scope: Scope) -> bool:
    """Whether the data is a test's, or lies in memory or a temporary file; and no other is used."""
    invocation = command.invocation
    if command.program in _SERVED:
        named = invocation.all_values(*_DATABASE) or invocation.operands[:1]
        told = [re.fullmatch(_OF_A_TEST, word.text) for word in named if word.known]
        return any(told) and all(told) and not re.search(_OTHER_DATABASE, f"{command.line} {text}")
    if command.program not in _EMBEDDED or not invocation.operands or invocation.has(*_BEFORE):
        return False
    name = invocation.operands[0].text
    temporary = simulation.places.at(name, scope) & (TEMP | OWN) == TEMP
    return (
        (temporary or name == ":memory:") and "attach" not in text.lower() and ".open" not in text
    )


def _saves(operation: SqlOperation, command: Command) -> bool:
    """Whether a file is written by the client, or by a database that is a part of it."""
    if command.program in _EMBEDDED and operation.kind is SqlKind.FILE_WRITE:
        return True
    return operation.kind is SqlKind.SAVE


def _note_save(simulation: Simulation, target: str, command: Command, scope: Scope) -> None:
    """Behind words such as the name of a database, the file stands last."""
    name = target.strip().rpartition(" ")[2].strip("'\"")
    place = simulation.places.at(name, scope)
    simulation.effects.append(Effect(EffectKind.OVERWRITE, literal(name), command, place))


def _note_operations(
    simulation: Simulation, operations: Iterable[SqlOperation], command: Command
) -> None:
    for each in operations:
        simulation.note("sql", [each.kind.value, each.object, each.target], command)


def _follow_code(
    simulation: Simulation, code: str, language: Language | None, command: Command, scope: Scope
) -> None:
    """Note what a snippet in another language would do."""
    if language is None:
        simulation.follow_unread(code, command, scope)
        return
    simulation.budget.read(len(code))
    if language is Language.PYTHON and "!" in code:
        for line in re.findall(_PROMPT_LINE, code):
            simulation.run_line(line, command, scope)
    effects = effects_in(code, language)
    _note_in_text(simulation, code, command)
    is_chosen = re.search(_CHOOSES, code) is not None
    for effect in effects:
        if effect.kind.value not in _ON_FILES:
            _follow_effect(simulation, effect, command, scope)
        elif effect.target:
            _note_on_file(simulation, effect, command, scope, is_chosen=is_chosen)
    _note_together(simulation, effects, command, scope)
    if scope.files:
        loaded = [*files_loaded(code, language)]
        if any(effect.kind is CallKind.LOAD for effect in effects):
            loaded += [each.target for each in effects if each.kind is CallKind.READ]
        _follow_loaded(simulation, loaded, language, command, scope)


def _follow_modules(
    simulation: Simulation, command: Command, language: Language, scope: Scope
) -> None:
    """Follow the modules that options of an interpreter name: `node --import ./a.mjs`."""
    named = command.invocation.all_values(*_LOADING)
    files = [path for word in named for path in module_files(word.text, language)]
    _follow_loaded(simulation, files, language, command, scope)


def _follow_loaded(
    simulation: Simulation,
    names: Iterable[str],
    language: Language,
    command: Command,
    scope: Scope,
) -> None:
    """Follow the files that code runs, where this very line wrote or fetched them."""
    for path in dict.fromkeys(map(scope.path, names)):
        held = scope.files.get(path)
        if held is None:
            continue
        simulation.note_execution(literal(path), held.labels & REMOTE, command)
        if held.text:
            inside = scope.outside()
            # What loads itself does so once.
            inside.files = {name: each for name, each in scope.files.items() if name != path}
            _follow_code(simulation, held.text, language, command, inside)


def _note_together(
    simulation: Simulation, effects: list[CodeEffect], command: Command, scope: Scope
) -> None:
    """Note what effects come to with each other, and with what flows in."""
    kinds = {effect.kind for effect in effects}
    held = _held_by_code(simulation, effects, command, scope)
    if CallKind.SEND in kinds and held & _SECRETS:
        simulation.note("code", ["send-secret"], command)
    elif CallKind.SEND in kinds and held & LOGIN:
        simulation.note_effect(EffectKind.SEND, unknown("what it reads"), LOGIN, command)
    if CallKind.DELETE in kinds and command.frame.stdin.labels & MANY:
        # Which of the names that flow in are deleted, only the run knows.
        simulation.note_effect(EffectKind.DELETE, unknown("what flows in"), MANY, command)
    if held & REMOTE and kinds & {CallKind.EVAL, CallKind.REVIVE}:
        simulation.note_effect(EffectKind.EXECUTE, unknown("what it fetched"), REMOTE, command)


def _note_in_text(simulation: Simulation, code: str, command: Command) -> None:
    """Note what the text of code says without a call of its own."""
    for found in re.finditer(_SETS_OWN_VARIABLE, code):
        simulation.note("export", [f"{found[found.lastindex or 0]}="], command)
    if "fork" in code and re.search(_ENDLESS_FORKS, code):
        simulation.note_effect(EffectKind.FORK, literal(code), 0, command)
    if shows_variables(code):
        simulation.note("env", [], command)


def _note_on_file(
    simulation: Simulation,
    effect: CodeEffect,
    command: Command,
    scope: Scope,
    *,
    is_chosen: bool,
) -> None:
    """Note what code does to a file, or to all that it finds where it chooses none of them."""
    kind = EffectKind(effect.kind.value)
    word = Word(effect.target, effect.known)
    if kind is EffectKind.DELETE and not is_chosen:
        word = counted(word)
    place = simulation.places.at(effect.target, scope)
    tree = effect.recursive
    simulation.effects.append(Effect(kind, word, command, place, word.labels, tree, tree))


def _follow_effect(
    simulation: Simulation, effect: CodeEffect, command: Command, scope: Scope
) -> None:
    """Follow what is no effect on a file; sending, fetching, decoding count only with others."""
    match effect.kind:
        case CallKind.SHELL:
            _run_line(simulation, effect, command, scope)
        case CallKind.ARGV:
            _run_words(simulation, effect, command, scope)
        case CallKind.SQL:
            _follow_sql(simulation, effect.target, command, scope)
        case CallKind.UNSEEN:
            reason = "names in its code may hold more than can be looked at"
            simulation.give_up(reason, effect.excerpt, asks=True)
        case CallKind.EVAL if not effect.decoded:
            reason = "it evaluates code that only the run decides"
            simulation.give_up(reason, effect.excerpt)
        case _:
            noted = _noted(effect)
            if noted:
                simulation.note(noted[0], noted[1:], command)


def _noted(effect: CodeEffect) -> list[str]:
    """Return the command that an effect is noted as, for the rules to judge."""
    match effect.kind:
        case CallKind.EVAL:
            return ["code", "eval-decoded"]
        case CallKind.SOCKET_SHELL:
            return ["code", "socket-shell", effect.target]
        case CallKind.KILL if not effect.known:
            # A process by its number is the code's own business; one below one is everybody's.
            return ["code", "kill"]
        case CallKind.ENV_DUMP:
            return ["env"]
        case CallKind.LIBRARY:
            return ["code", "interlock", effect.target]
        case CallKind.VENDOR_DELETE:
            return ["api-call", "delete", effect.target]
        case _:
            return []


def _run_line(simulation: Simulation, effect: CodeEffect, command: Command, scope: Scope) -> None:
    if effect.decoded:
        simulation.note_effect(EffectKind.EXECUTE, unknown(effect.target), DECODED, command)
    elif effect.target.strip():
        line = effect.target if effect.known else f"{effect.target} $rest"
        frame = command.frame.fed(UNSEEN)
        simulation.run_nested(line, scope.outside(), frame, via=command.program)
    else:
        simulation.give_up("its code runs a command that only the run decides", effect.excerpt)


def _run_words(simulation: Simulation, effect: CodeEffect, command: Command, scope: Scope) -> None:
    words = [unknown("$argument") if word is None else literal(word) for word in effect.argv]
    simulation.run_words(words, command, scope, text=effect.excerpt)


_SECRETS: Final = SECRET | ENVIRON
_CARRIED: Final = _SECRETS | PICKED | LOGIN | ARCHIVE | REMOTE
_WRITES: Final = (CallKind.OVERWRITE, CallKind.APPEND)


def _held_by_code(
    simulation: Simulation, effects: list[CodeEffect], command: Command, scope: Scope
) -> int:
    """Return where what a snippet reads comes from; the files that it writes hold that."""
    labels = command.frame.stdin.labels & _CARRIED
    for effect in effects:
        if effect.kind is CallKind.READ:
            labels |= simulation.places.stream(literal(effect.target), scope).labels & _CARRIED
        elif effect.kind is CallKind.ENV_DUMP:
            labels |= ENVIRON
        elif effect.kind is CallKind.FETCH:
            labels |= REMOTE
    for effect in effects:
        if labels and effect.kind in _WRITES and effect.target:
            scope.files[scope.path(effect.target)] = Stream(labels)
    return labels
