"""Which words of a command name a file that it reads, and where credentials lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from interlock.commands.programs.execution import Execution
from interlock.commands.programs.places import CREDENTIAL
from interlock.commands.programs.program_tables import Program
from interlock.commands.programs.withheld_values import withholds_values
from interlock.commands.shell.command import Effect, EffectKind, Invocation
from interlock.commands.shell.words import Word

_NO_CONTENT_VERBS: Final = frozenset(
    (
        "add rm mv status check-ignore ls-files checkout restore commit log ignore config "
        "build run compose stash apply reset update-index pr issue diff"
    ).split()
)
_PATTERN_OPTIONS: Final = ("-e", "-f", "--regexp", "--file", "--expression", "--from-file")
_TEXT_OPTIONS: Final = frozenset("-e --regexp --expression -H --header -A --user-agent -m".split())
_USING_OPTIONS: Final = frozenset(
    (
        "-i -E --key --cert --cacert --kubeconfig --env-file --identity --private-key --ssh-key"
        " -u --user --netrc-file --password-file -keystore --keystore"
    ).split()
)
_LEAVING_OUT_OPTIONS: Final = frozenset(
    "--exclude --exclude-dir --exclude-glob --ignore --ignore-dir".split()
)
_NOT_READ_WITH: Final = _USING_OPTIONS | _TEXT_OPTIONS | _LEAVING_OUT_OPTIONS
_LEFT_OUT: Final = ("!", ":!", ":^", ":(exclude)")
"""How a glob says that what it fits is left out."""
_SPLIT: Final = "@=:,;<"
_SPLIT_CHARS: Final = frozenset(_SPLIT)
_NOT_IN_PLAIN_FLAGS: Final = frozenset("/.@=:")
_OF_WINDOWS: Final = re.compile(r"(?i)[a-z]:\\|\$env:\w{1,40}\\")
_MAX_WORD: Final = 1024
_HASHES: Final = re.compile(r"(?:@|file://)?(/etc/(?:g?shadow-?|master\.passwd))")
_LOOKS_AT_NAMES: Final = frozenset(
    (
        "ls stat test [ [[ echo printf touch find chmod chown chgrp getfacl lsattr namei realpath"
        " readlink basename dirname du rm mv mkdir rmdir ln cd man which type git true export set"
    ).split()
)


def hash_reads(run: Execution) -> Iterator[Effect]:
    """Yield a read of the hashes of all passwords, whatever program it is that is handed them."""
    if run.command.program in _LOOKS_AT_NAMES or run.command.wraps:
        return
    for word in run.words:
        found = _HASHES.fullmatch(word.text)
        if found is not None:
            yield Effect(EffectKind.READ, Word(found[1], known=word.known), run.command, CREDENTIAL)


def credential_reads(run: Execution, known: Program) -> Iterator[Effect]:
    """Yield a read for every word that names a place where credentials lie."""
    for word in READING_WAYS[known.reads](run.invocation):
        if word.glob:
            target = run.places.credential_like(run.scope.path(word.text))
        else:
            target = _credential_in(word.text, run)
        if target is not None and not withholds_values(run.invocation, known, target):
            read = Word(target, known=word.known)
            yield Effect(EffectKind.READ, read, run.command, CREDENTIAL)


def _words(invocation: Invocation, skipped: int = 0) -> list[Word]:
    """Every operand, and every value of an option, but for what is left out.

    A key that is handed to a program by an option is used, not read out.
    """
    values = [
        word
        for option, words in invocation.values.items()
        if option not in _NOT_READ_WITH
        for word in words
    ]
    words = invocation.operands[skipped:] + values
    return [word for word in words if not word.text.startswith(_LEFT_OUT)]


def _sources(invocation: Invocation) -> list[Word]:
    """The destination of a copy is written."""
    operands = invocation.operands
    return _copied(operands) if len(operands) > 1 else _words(invocation)


def _behind_pattern(invocation: Invocation) -> list[Word]:
    """The pattern of a search is no file."""
    return _words(invocation, 0 if invocation.has(*_PATTERN_OPTIONS) else 1)


def _by_verb(invocation: Invocation) -> list[Word]:
    verb = invocation.operands[0].text if invocation.operands else ""
    return [] if verb in _NO_CONTENT_VERBS else _words(invocation)


def _git_words(invocation: Invocation) -> list[Word]:
    """What a setting names is used: `-c core.sshCommand='ssh -i key'`."""
    verb = invocation.operands[0].text if invocation.operands else ""
    words = _words(invocation, 2) if verb == "grep" else _by_verb(invocation)
    settings = invocation.values.get("-c", ())
    return [word for word in words if word not in settings]


def _copied(operands: list[Word]) -> list[Word]:
    """The same file in another checkout is as safe or unsafe as the first one."""
    names = [word.text.rpartition("/")[2] for word in (operands[0], operands[-1])]
    return [] if len(operands) == 2 and names[0] == names[1] else operands[:-1]


def _credential_in(text: str, run: Execution) -> str | None:
    """Return the path in a word such as `file=@.env` or `HEAD:.ssh/id_rsa`, if it is sensitive."""
    if len(text) > _MAX_WORD or "\n" in text:
        return None
    if " " in text and "/" not in text and not _OF_WINDOWS.match(text):
        return None
    if text[:1] == "-" and _NOT_IN_PLAIN_FLAGS.isdisjoint(text):
        return None
    candidates = [text]
    if not _SPLIT_CHARS.isdisjoint(text):
        for char in _SPLIT:
            if char in text:
                candidates += [text.rpartition(char)[2], text.partition(char)[2]]
    for path in candidates:
        if path and run.places.is_credential(run.scope.path(path.strip("'\""))):
            return path
    return None


READING_WAYS: Final[dict[str, Callable[[Invocation], list[Word]]]] = {
    "words": _words,
    "operands": lambda invocation: invocation.operands,
    "sources": _sources,
    "behind-pattern": _behind_pattern,
    "by-verb": _by_verb,
    "git": _git_words,
}
"""What an entry of a program may say under `reads`."""
