"""Which program a word is; where only the run decides it, which it may be by its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from interlock.commands.programs.globs import may_fit
from interlock.commands.programs.program_tables import UNKNOWN_PROGRAM, Programs
from interlock.commands.shell.scope import OWN_PROGRAM
from interlock.commands.shell.words import Word, literal

RUN_TIME: Final = "a program known only at run time"
"""What a command is said to stand behind that is one of several guesses."""
_FEARED: Final = ("rm", "dd", "mkfs", "shred", "chmod", "chown", "mv", "bash", "sh", "curl", "git")
"""What a program written as a glob is taken for, if it can be: `/bin/r?`."""
_DECIDES: Final = frozenset(
    "approve deny halt resume budget setup operator token policy ledger".split()
)
"""Verbs of Interlock's own program that are a person's, or have some that are."""
_CACHED: Final = 256
_NAME: Final = r"\$\{?([A-Za-z_]\w{0,63})\W?"
_NAMELESS: Final = (
    r"(?:^|_)(?:cmd|command|bin|binary|cli|exe|exec|executable|path|prog|program|tool)$"
)
_NOT_NAMED: Final = "program"
_SHORT_NAMES: Final = {
    "compose": "docker-compose",
    "dc": "docker-compose",
    "mongo": "mongosh",
    "pg": "psql",
    "postgres": "psql",
    "redis": "redis-cli",
    "sqlite": "sqlite3",
    "tf": "terraform",
}
_ONLY_VARIABLES: Final = r"\s*(?:\$(?:\w{1,64}|[@*]|\{[^{}]{1,200}\}|\([^()]{0,4096}\))\s*)+"
_STATEMENT_END: Final = r"[;\n]"
_REMOVES: Final = r"-[RrfdivI]+|--rec\w*|--for\w*|--no-pres[\w-]*|--one-[\w-]*|--verb\w*|--"
_RECURSIVE: Final = r"-[a-zA-Z]*[rR]|--rec"
_MODE: Final = r"[0-7]{3,4}|[ugoa]*[-+=][rwxXst]+"
_VERBS: Final = {
    verb: program
    for program, verbs in (
        ("git", "reset push clean branch checkout restore stash reflog update-ref filter-branch"),
        ("docker", "rm rmi system volume image container network"),
        ("docker-compose", "down"),
        ("terraform", "apply"),
        ("kubectl", "drain"),
        ("aws", "s3 s3api ec2"),
        ("npm", "publish"),
        ("redis-cli", "flushall flushdb shutdown"),
    )
    for verb in verbs.split()
}
"""Verbs with which only one program means something that cannot be undone.

`delete` and its like mean it in any program, and are read so.
"""


def bare_name(head: Word, versioned: frozenset[str]) -> str:
    """Return a program's plain name; empty when only the run decides it."""
    if head.glob:
        pattern = head.text.rpartition("/")[2]
        return next((name for name in _FEARED if may_fit(name, pattern)), "")
    if not head.known and "$" in head.text.rpartition("/")[2]:
        return ""
    return _last_name(head.text, versioned)


@lru_cache(maxsize=_CACHED)
def _last_name(path: str, versioned: frozenset[str]) -> str:
    name = path.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    # `=rm` is where zsh finds `rm`.
    name = name.removeprefix("=") or name
    # `python3.11` is `python`.
    plain = name.rstrip("0123456789.") if name[-1:].isdigit() else name
    return plain if plain in versioned else name


def may_decide(argv: Sequence[Word]) -> bool:
    """Whether words are a person's decision, if their program should be Interlock's own."""
    return any(word.text in _DECIDES for word in argv[1:3])


def own_program(argv: Sequence[Word]) -> str | None:
    """Return Interlock's own program, where a glob may stand for it and a decision follows."""
    if not argv[0].glob or not may_decide(argv):
        return None
    return OWN_PROGRAM if may_fit(OWN_PROGRAM, argv[0].text.rpartition("/")[2]) else None


def is_only_variables(text: str) -> bool:
    """Whether a statement of the text is nothing but what variables hold: `$CODE`."""
    return "$" in text and any(
        re.fullmatch(_ONLY_VARIABLES, part) for part in re.split(_STATEMENT_END, text)
    )


def candidates(argv: Sequence[Word], programs: Programs, *, is_fed: bool) -> Iterator[list[Word]]:
    """Yield the commands that the words may be: by the variable's name, or by what they say."""
    name = _named(argv[0].text, programs)
    rest = list(argv[1:])
    yield [literal(name), *rest]
    if programs.of(name) is UNKNOWN_PROGRAM:
        yield from _by_arguments(rest)
        if is_fed:
            yield [literal("psql")]


def _named(text: str, programs: Programs) -> str:
    """Return the program that a variable is named after: `$GIT`, `${KUBECTL_BIN}`."""
    found = re.fullmatch(_NAME, text)
    if found is None:
        return _NOT_NAMED
    plain = re.sub(_NAMELESS, "", found[1].lower().strip("_")) or _NOT_NAMED
    dashed = plain.replace("_", "-")
    known = dashed if programs.of(dashed) is not UNKNOWN_PROGRAM else plain
    return _SHORT_NAMES.get(plain, known)


def _by_arguments(rest: list[Word]) -> Iterator[list[Word]]:
    texts = [word.text for word in rest]
    options = [text for text in texts if text[:1] == "-"]
    operands = [word for word in rest if word.text[:1] != "-"]
    if any(re.match(_RECURSIVE, option) for option in options):
        is_in_front = texts[: len(options)] == options
        if is_in_front and all(re.fullmatch(_REMOVES, option) for option in options):
            yield [literal("rm"), *rest]
        if operands and re.fullmatch(_MODE, operands[0].text):
            yield [literal("chmod"), *rest]
    if any(text.startswith("of=") for text in texts):
        yield [literal("dd"), *rest]
    if not {"-delete", "-exec", "-execdir"}.isdisjoint(options):
        yield [literal("find"), *rest]
    for program in dict.fromkeys(filter(None, [_VERBS.get(text.lower()) for text in texts])):
        yield [literal(program), *rest]
    for word in rest:
        if " " in word.text:
            yield [literal("psql"), literal("-c"), word]
    # It may only run what follows, as `$SUDO` does.
    start = next((at for at, text in enumerate(texts) if text[:1] != "-"), len(texts))
    if start < len(texts):
        yield rest[start:]
