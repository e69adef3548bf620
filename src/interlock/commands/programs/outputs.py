"""What a command prints, as far as it can be known: its text, or at least where it is from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from interlock.commands.programs.execution import Execution
from interlock.commands.programs.program_tables import Program
from interlock.commands.shell.command import Command
from interlock.commands.shell.provenance import (
    ARCHIVE,
    DECODED,
    ENVIRON,
    NOTHING,
    PICKED,
    REMOTE,
    SCRATCH,
    SECRET,
    UNSEEN,
    Stream,
    joined,
)
from interlock.commands.shell.words import Word, decode_ansi_c, labels_of

_MADE_BY_MKTEMP: Final = "/tmp/made-by-mktemp"  # noqa: S108 - a name for what mktemp would make
_PATH_CHARS: Final = frozenset("/._~")
_MAX_NAME: Final = 1024
_WIDTH: Final = re.compile(r"-?[1-9][0-9]{0,2}(?![0-9])")
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_TAR_LETTERS: Final = frozenset("cxtruAdfzjJvkpPmwhlonsWOaCZ")


def output_of(run: Execution, known: Program) -> Stream:
    """Return what a command prints."""
    if known.picks and run.stdin.labels & ENVIRON:
        labels = _labels_of_operands(run) | run.stdin.labels
        return Stream((labels | PICKED) & ~ENVIRON)
    return OUTPUT_WAYS[known.prints](run)


def printf_text(words: Sequence[Word]) -> Stream:
    """Return what `printf` prints for literal words; formats are applied over and over."""
    if not words:
        return NOTHING
    labels = labels_of(words)
    if not all(word.known for word in words):
        return Stream(labels)
    # Every round of the format takes some of the arguments, so this ends.
    template = decode_ansi_c(words[0].text)
    arguments = [word.text for word in words[1:]]
    parts: list[str] = []
    while True:
        text, used = _formatted(template, arguments)
        if text is None:
            return Stream(labels)
        parts.append(text)
        arguments = arguments[used:]
        if not used or not arguments:
            return Stream(labels, "".join(parts))


def _formatted(template: str, arguments: Sequence[str]) -> tuple[str | None, int]:
    """Put arguments into one round of the template; return how many it took."""
    out: list[str] = []
    used = 0
    index = 0
    while index < len(template):
        char = template[index]
        index += 1
        if char != "%":
            out.append(char)
            continue
        if template.startswith("%", index):
            out.append("%")
            index += 1
            continue
        found = _WIDTH.match(template, index)
        width = found[0] if found else ""
        kind = template[index + len(width) : index + len(width) + 1]
        index += len(width) + 1
        argument = arguments[used] if used < len(arguments) else ""
        used += 1
        if kind == "b":
            argument = decode_ansi_c(argument)
        elif kind != "s" and not (kind in {"d", "i"} and _NUMBER.fullmatch(argument)):
            # Other conversions are not computed.
            return None, used
        out.append(_padded(argument, width))
    return "".join(out), used


def _padded(text: str, width: str) -> str:
    size = int(width.lstrip("-") or "0")
    return text.ljust(size) if width.startswith("-") else text.rjust(size)


def _something(run: Execution) -> Stream:
    return Stream(_labels_of_operands(run) | run.stdin.labels)


def _input(run: Execution) -> Stream:
    """What flows in, unless files are named."""
    return Stream(_something(run).labels, None if run.operands else run.stdin.text)


def _echo(run: Execution) -> Stream:
    words = list(run.words)
    escapes = False
    while words and words[0].text in {"-n", "-e", "-E", "-ne", "-en"}:
        escapes = escapes or "e" in words[0].text
        words.pop(0)
    if not all(word.known for word in words):
        return Stream(labels_of(words))
    text = " ".join([word.text for word in words])
    return Stream(labels_of(words), (decode_ansi_c(text) if escapes else text) + "\n")


def _cat(run: Execution) -> Stream:
    if not run.operands:
        return run.stdin
    return joined([run.stdin if word.text == "-" else run.file(word) for word in run.operands])


def _mktemp(run: Execution) -> Stream:
    folder = run.invocation.value("-p", "--tmpdir")
    template = run.operands[0].text if run.operands else ""
    if template.startswith(("/", "$", "~")):
        return Stream(SCRATCH, template)
    return Stream(SCRATCH, f"{folder.text}/made-by-mktemp" if folder else _MADE_BY_MKTEMP)


def _decoder(run: Execution) -> Stream:
    if run.operands[:1] == [Word("s_client")]:
        return Stream(REMOTE)
    decodes = run.invocation.has("-d", "-D", "--decode", "-r", "-rp", "-di")
    return Stream(_something(run).labels | (DECODED if decodes else 0))


def _git(run: Execution) -> Stream:
    verb = run.operands[0].text if run.operands else ""
    if verb == "rev-parse" and run.invocation.has("--show-toplevel"):
        return Stream(0, ".")
    return Stream(ARCHIVE if verb == "archive" else _labels_of_operands(run))


def _same_name(run: Execution) -> Stream:
    """`realpath X` and the like print a name that stands for the same place."""
    if len(run.operands) == 1 and run.operands[0].known:
        return Stream(run.operands[0].labels, run.operands[0].text)
    return UNSEEN


def _parent(run: Execution) -> Stream:
    """`dirname X` prints the folder that X lies in."""
    if len(run.operands) == 1 and run.operands[0].known:
        folder, slash, _ = run.operands[0].text.rstrip("/").rpartition("/")
        return Stream(run.operands[0].labels, folder or slash or ".")
    return UNSEEN


def _last_name(run: Execution) -> Stream:
    """`$(which rm)` is `rm`."""
    return Stream(0, run.words[-1].text) if run.words else UNSEEN


def _labels_of_operands(run: Execution) -> int:
    labels = labels_of(run.words)
    files = run.scope.files
    for word in run.words:
        if files and word.text in files:
            labels |= files[word.text].labels
        if _may_be_path(word) and run.places.is_credential(run.scope.path(word.text)):
            labels |= SECRET
    return labels


def _may_be_path(word: Word) -> bool:
    text = word.text
    if not word.known or text[:1] == "-" or len(text) > _MAX_NAME:
        return False
    return not _PATH_CHARS.isdisjoint(text)


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an archiver."""

    packs: bool = False
    unpacks: bool = False
    file: Word | None = None
    """The archive; None for standard input or output."""
    members: tuple[Word, ...] = ()
    folder: Word | None = None
    """Where it unpacks to, if that is said."""


def tar(command: Command) -> Archive:
    """Return what `tar` would do; `tar czf` without a dash is the old spelling of `tar -czf`."""
    invocation = command.invocation
    operands = list(invocation.operands)
    letters = ""
    if (
        operands
        and command.argv[1:2] == (operands[0],)
        and _TAR_LETTERS.issuperset(operands[0].text)
    ):
        letters = operands.pop(0).text
    file = invocation.value("-f", "--file")
    if "f" in letters and operands:
        file = operands.pop(0)
    # What is packed with its whole path goes where it was.
    absolute = "P" in letters or invocation.has("-P", "--absolute-names", "--absolute-paths")
    return Archive(
        packs="c" in letters or invocation.has("-c", "-r", "-u", "--create", "--append"),
        unpacks="x" in letters or invocation.has("-x", "--extract", "--get"),
        file=None if file is None or file.text == "-" else file,
        members=tuple(operands),
        folder=Word("/") if absolute else invocation.value("-C", "--directory"),
    )


def zip_archive(command: Command) -> Archive:
    """Return what `zip` would do."""
    return _packed(command.invocation.operands)


def seven_zip(command: Command) -> Archive:
    """Return what `7z` would do: the first word says whether it packs."""
    verb, *operands = command.invocation.operands or [Word("")]
    if verb.text in {"x", "e"}:
        return Archive(unpacks=True, file=operands[0] if operands else None)
    return _packed(operands)


def unzip(command: Command) -> Archive:
    """Return what `unzip` would do."""
    return Archive(unpacks=True, folder=command.invocation.value("-d"))


def python_archive(command: Command) -> Archive:
    """Return what `python -m zipfile` and `python -m tarfile` would do."""
    folder = next(iter(command.invocation.operands[1:]), None)
    return Archive(unpacks=command.invocation.has("-e", "--extract"), folder=folder)


def _packed(operands: Sequence[Word]) -> Archive:
    file = operands[0] if operands and operands[0].text != "-" else None
    return Archive(packs=True, file=file, members=tuple(operands[1:]))


def _archiver(archive_of: Callable[[Command], Archive], run: Execution) -> Stream:
    archive = archive_of(run.command)
    if not archive.packs:
        return UNSEEN
    return Stream(packed_labels(archive, run)) if archive.file is None else NOTHING


def packed_labels(archive: Archive, run: Execution) -> int:
    """Return where what is packed comes from."""
    names = [Word(name) for name in (run.stdin.text or "").split()[:16]]
    labels = ARCHIVE | run.stdin.labels
    for word in (*archive.members, *names):
        labels |= run.file(word).labels
    return labels


OUTPUT_WAYS: Final[dict[str, Callable[[Execution], Stream]]] = {
    "": _something,
    "words": _echo,
    "files": _cat,
    "folder": lambda run: Stream(0, run.scope.cwd or "."),
    "temporary-name": _mktemp,
    "environment": lambda run: Stream(0 if run.operands else ENVIRON),
    "decoded": _decoder,
    "scrambled": lambda run: Stream(run.stdin.labels | DECODED),
    "tar": partial(_archiver, tar),
    "zip": partial(_archiver, zip_archive),
    "git": _git,
    "last-word": _last_name,
    "same-name": _same_name,
    "parent": _parent,
    "fetched": lambda run: Stream(run.stdin.labels | REMOTE),
    "unseen": lambda _run: UNSEEN,
    "input": _input,
}
"""What an entry of a program may say under `prints`."""
