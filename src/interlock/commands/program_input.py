"""What a program is given: which words name what was fetched, whether it shows what flows in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.commands.programs.program_tables import Program, Programs
from interlock.commands.programs.withheld_values import withholds_values
from interlock.commands.shell.command import Command, Redirect
from interlock.commands.shell.provenance import (
    ARCHIVE,
    EMPTY,
    MANY,
    REMOTE,
    STAND_IN,
    UNKNOWN_FILE,
    UNSEEN,
    Stream,
)
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, literal, unknown

STANDARD_INPUT: Final = literal("standard input")
_CREDENTIAL_WORDS: Final = (
    *("key", "token", "secret", "pass", "cred", "auth"),
    *("aws", "openai", "anthropic", "stripe"),
)
"""What variables with a credential are called, or are called after."""
_NO_FILE: Final = ""
"""Of what flows in no name tells that names stand before values: only a count withholds these."""
_PROMPTS: Final = {
    **dict.fromkeys("psql mysql mariadb pgcli mycli usql clickhouse-client".split(), 2),
    **dict.fromkeys("ssh mosh telnet sqlite3 duckdb mongosh mongo".split(), 1),
    **dict.fromkeys("redis-cli valkey-cli sudo doas su irb pry iex ghci tmux screen".split(), 0),
    **dict.fromkeys(
        "gdb lldb script expect machinectl nsenter vi vim nvim ed ex emacs".split(), 99
    ),
}
"""Programs with a prompt of their own, and how many words they take and still show it."""
_NO_PROMPT: Final = (
    *("-c", "-e", "-f", "-N", "-W", "-Q", "--command", "--execute", "--eval", "--file"),
    *("--query", "--help", "--version", "-V", "-l", "--list", "--batch", "-k", "-K", "-v"),
)
"""Options with which they show none: what to run stands in the line, or there is nothing to."""

_SHELLS: Final = frozenset("sh bash dash zsh ksh ash fish csh tcsh".split())
_GIVEN: Final = ("-c", "-n", "--version", "--help", "--command")
_FED: Final = ("input", "stdin")
"""What code says that gives a shell its lines, which are followed by themselves."""
_LENDERS: Final = frozenset(
    (
        "sudo doas pkexec run0 gksudo ksu find vi vim nvim view ex vimdiff rvim rview emacs nano ed"
        " lftp ftp gdb lldb man less more mysql mariadb psql sqlite3 tcpdump zip rpm split gcc"
        " awk gawk mawk nawk"
    ).split()
)
"""Programs that start a shell with all rights, or on the side of what they are there for."""
_SPEAKS: Final = frozenset(("echo", "printf"))
_HERE: Final = ("/dev/tcp/localhost/", "/dev/tcp/127.0.0.1/", "/dev/tcp/::1/")


def only_knocks(redirect: Redirect, argv: Sequence[Word], labels: int) -> bool:
    """Whether a connection says nothing, or talks to this machine on a line of its own."""
    target = redirect.target.text
    if labels & EMPTY:
        return target.startswith("/dev/tcp/")
    spoken = bool(argv) and argv[0].text in _SPEAKS
    # What `exec` opens beside the standard ones is told apart by who uses it.
    opened = [word.text for word in argv] == ["exec"]
    opened = opened and redirect.descriptor not in {"", "0", "1", "2"}
    return (spoken or opened) and target.startswith(_HERE)


def fetched_files(argv: Sequence[Word], scope: Scope) -> frozenset[str]:
    """Return the words, in lower case, that name files which this line had from another machine."""
    names = [word.text.rpartition("=")[2] for word in argv[1:]]
    held = [(name, scope.files.get(scope.path(name))) for name in names]
    return frozenset(name.lower() for name, stream in held if stream and stream.labels & REMOTE)


def is_fed_unseen(command: Command) -> bool:
    """Whether another command prints what flows in, and nothing is known of it."""
    stdin = command.frame.stdin
    doubtful = _is_unseen(stdin) or not stdin.exact or bool(stdin.labels & MANY)
    return command.frame.piped and doubtful


def doubtful_sources(command: Command) -> list[Word]:
    """Return what flows in by redirection where only the run decides it, as it is written."""
    stdin = command.frame.stdin
    if not _is_unseen(stdin) and stdin.exact:
        return []
    fed = (each.target for each in command.redirects if each.operator in {"<", "<<<", "<<"})
    return [unknown(target.text, target.labels) for target in fed]


def _is_unseen(stdin: Stream) -> bool:
    return stdin.text is None and not stdin.labels & ~(STAND_IN | UNKNOWN_FILE | ARCHIVE)


def shows(command: Command, known: Program) -> bool:
    """Whether a command prints what flows in, or picks the credentials out of it."""
    if known.shows:
        return True
    if withholds_values(command.invocation, known, _NO_FILE):
        return False
    words = " ".join([word.text.lower() for word in command.argv[1:]])
    return any(word in words for word in _CREDENTIAL_WORDS)


def waits_for_lines(command: Command) -> bool:
    """Whether a program would run what is typed into it, and was given nothing else to run."""
    most = _PROMPTS.get(command.program)
    given = command.invocation
    return most is not None and len(given.operands) <= most and not given.has(*_NO_PROMPT)


def opens_shell(command: Command, programs: Programs) -> bool:
    """Whether a shell waits for lines that has all rights, or was started on the side.

    `sudo bash` and `find . -exec sh` run what is typed; a container's shell, and one that a plain
    wrapper starts, are what they say.
    """
    frame, given = command.frame, command.invocation
    if frame.piped or frame.stdin is not UNSEEN or given.operands:
        return False
    if command.program not in _SHELLS or given.has(*_GIVEN):
        return False
    for name in reversed(frame.via):
        known = programs.of(name)
        if name in _LENDERS:
            return True
        if known.code is not None:
            return not any(word in command.text for word in _FED)
        if known.wraps is None or known.wraps.remote or known.wraps.by_verb:
            return False
    return False
