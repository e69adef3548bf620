"""What a command prints, as far as it can be known: its text, or at least where it is from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from interlock.commands.programs.archives import Archive, tar, zip_archive
from interlock.commands.programs.places import CREDENTIAL, HISTORY, SYSTEM, Places
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
    SYSTEM_FILE,
    UNKNOWN_FILE,
    UNSEEN,
    Stream,
    joined,
)
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, decode_ansi_c

_DESCRIPTOR_FOLDERS: Final = ("/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/")
_MADE_BY_MKTEMP: Final = "/tmp/made-by-mktemp"  # noqa: S108 - a name for what mktemp would make
_PATH_CHARS: Final = frozenset("/._~")
_MAX_NAME: Final = 1024


def output_of(command: Command, known: Program, scope: Scope, places: Places) -> Stream:
    """Return what a command prints."""
    if known.picks and command.frame.stdin.labels & ENVIRON:
        labels = _labels_of_operands(command, scope, places)
        return Stream((labels | command.frame.stdin.labels | PICKED) & ~ENVIRON)
    return OUTPUT_WAYS[known.prints](command, scope, places)


def stream_of_file(target: Word, scope: Scope, places: Places) -> Stream:
    """Return what lies in a file: what this line wrote there, or what the place tells."""
    opened = scope.defined.descriptors.get(_descriptor(target.text))
    if opened is not None:
        return opened
    path = scope.path(target.text)
    written = scope.files.get(path)
    if written is not None:
        return Stream(written.labels | target.labels, written.text)
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return Stream(REMOTE)
    bits = places.of(path, scope.project)
    labels = target.labels | (SECRET if bits & CREDENTIAL else 0)
    if bits & (SYSTEM | HISTORY):
        labels |= SYSTEM_FILE
    return Stream(labels if target.known else labels | UNKNOWN_FILE)


def _descriptor(path: str) -> str:
    """`/dev/fd/3` is descriptor 3."""
    return path.rpartition("/")[2] if path.startswith(_DESCRIPTOR_FOLDERS) else path


def printf_text(words: Sequence[Word]) -> Stream:
    """Return what `printf` prints for literal words; formats are applied over and over."""
    if not words:
        return NOTHING
    labels = 0
    for word in words:
        labels |= word.labels
    if not all(word.known for word in words):
        return Stream(labels)
    template = decode_ansi_c(words[0].text)
    arguments = [word.text for word in words[1:]]
    text, used = _formatted(template, arguments)
    while 0 < used < len(arguments) and len(text) < 16384:
        arguments = arguments[used:]
        more, used = _formatted(template, arguments)
        text += more
    return Stream(labels, text)


def _formatted(template: str, arguments: Sequence[str]) -> tuple[str, int]:
    """Put arguments into one round of the template; return how many it took."""
    out: list[str] = []
    used = 0
    index = 0
    while index < len(template):
        char = template[index]
        if char != "%" or index + 1 >= len(template):
            out.append(char)
            index += 1
            continue
        index += 1
        while index < len(template) - 1 and template[index] in "-+ #0123456789.":
            index += 1
        kind = template[index]
        index += 1
        if kind == "%":
            out.append("%")
            continue
        argument = arguments[used] if used < len(arguments) else ""
        used += 1
        out.append(decode_ansi_c(argument) if kind == "b" else argument)
    return "".join(out), used


def _something(command: Command, scope: Scope, places: Places) -> Stream:
    return Stream(_labels_of_operands(command, scope, places) | command.frame.stdin.labels)


def _input(command: Command, scope: Scope, places: Places) -> Stream:
    """What flows in, unless files are named."""
    text = None if command.invocation.operands else command.frame.stdin.text
    return Stream(_something(command, scope, places).labels, text)


def _fetched(command: Command, scope: Scope, places: Places) -> Stream:
    return Stream(REMOTE | command.frame.stdin.labels)


def _unseen(command: Command, scope: Scope, places: Places) -> Stream:
    return UNSEEN


def _echo(command: Command, scope: Scope, places: Places) -> Stream:
    words = list(command.argv[1:])
    escapes = False
    while words and words[0].text in {"-n", "-e", "-E", "-ne", "-en"}:
        escapes = escapes or "e" in words[0].text
        words.pop(0)
    labels = 0
    for word in words:
        labels |= word.labels
    if not all(word.known for word in words):
        return Stream(labels)
    text = " ".join([word.text for word in words])
    return Stream(labels, (decode_ansi_c(text) if escapes else text) + "\n")


def _cat(command: Command, scope: Scope, places: Places) -> Stream:
    operands = command.invocation.operands
    if not operands:
        return command.frame.stdin
    return joined(
        [
            command.frame.stdin if word.text == "-" else stream_of_file(word, scope, places)
            for word in operands
        ]
    )


def _pwd(command: Command, scope: Scope, places: Places) -> Stream:
    return Stream(0, scope.cwd or ".")


def _mktemp(command: Command, scope: Scope, places: Places) -> Stream:
    folder = command.invocation.value("-p", "--tmpdir")
    template = command.invocation.operands[:1]
    if template and (template[0].text.startswith(("/", "$", "~")) or not folder):
        return Stream(
            SCRATCH,
            template[0].text if template[0].text.startswith(("/", "$", "~")) else _MADE_BY_MKTEMP,
        )
    return Stream(SCRATCH, f"{folder.text}/made-by-mktemp" if folder else _MADE_BY_MKTEMP)


def _environment(command: Command, scope: Scope, places: Places) -> Stream:
    return Stream(ENVIRON if not command.invocation.operands else 0)


def _decoder(command: Command, scope: Scope, places: Places) -> Stream:
    if command.invocation.operands[:1] == [Word("s_client")]:
        return Stream(REMOTE)
    decodes = command.invocation.has("-d", "-D", "--decode", "-r", "-rp", "-di")
    labels = _labels_of_operands(command, scope, places) | command.frame.stdin.labels
    return Stream(labels | DECODED if decodes else labels)


def _scrambler(command: Command, scope: Scope, places: Places) -> Stream:
    return Stream(command.frame.stdin.labels | DECODED)


def _archiver(
    archive_of: Callable[[Command], Archive], command: Command, scope: Scope, places: Places
) -> Stream:
    archive = archive_of(command)
    if not archive.packs:
        return UNSEEN
    if archive.file is not None:
        return NOTHING
    return Stream(packed_labels(archive, command, scope, places))


def packed_labels(archive: Archive, command: Command, scope: Scope, places: Places) -> int:
    """Return where what is packed comes from."""
    labels = ARCHIVE | command.frame.stdin.labels
    for word in (*archive.members, *_names_from(command.frame.stdin)):
        labels |= stream_of_file(word, scope, places).labels
    return labels


def _names_from(stdin: Stream) -> list[Word]:
    return [Word(line) for line in (stdin.text or "").split()[:16]]


def _git(command: Command, scope: Scope, places: Places) -> Stream:
    words = [word.text for word in command.invocation.operands]
    if words[:1] == ["rev-parse"] and command.invocation.has("--show-toplevel"):
        return Stream(0, ".")
    if words[:1] == ["archive"]:
        return Stream(ARCHIVE)
    return Stream(_labels_of_operands(command, scope, places))


def _same_name(command: Command, scope: Scope, places: Places) -> Stream:
    """`realpath X` and the like print a name that stands for the same place."""
    operands = command.invocation.operands
    return (
        Stream(operands[0].labels, operands[0].text)
        if len(operands) == 1 and operands[0].known
        else UNSEEN
    )


def _last_name(command: Command, scope: Scope, places: Places) -> Stream:
    """`$(which rm)` is `rm`."""
    return Stream(0, command.argv[-1].text) if len(command.argv) > 1 else UNSEEN


def _may_be_path(word: Word) -> bool:
    text = word.text
    if not word.known or text[:1] == "-" or len(text) > _MAX_NAME:
        return False
    return not _PATH_CHARS.isdisjoint(text)


def _labels_of_operands(command: Command, scope: Scope, places: Places) -> int:
    labels = 0
    for word in command.argv[1:]:
        labels |= word.labels
        if scope.files and word.text in scope.files:
            labels |= scope.files[word.text].labels
        if _may_be_path(word) and places.is_credential(scope.path(word.text)):
            labels |= SECRET
    return labels


Way = Callable[[Command, Scope, Places], Stream]

OUTPUT_WAYS: Final[dict[str, Way]] = {
    "": _something,
    "words": _echo,
    "files": _cat,
    "folder": _pwd,
    "temporary-name": _mktemp,
    "environment": _environment,
    "decoded": _decoder,
    "scrambled": _scrambler,
    "tar": partial(_archiver, tar),
    "zip": partial(_archiver, zip_archive),
    "git": _git,
    "last-word": _last_name,
    "same-name": _same_name,
    "fetched": _fetched,
    "unseen": _unseen,
    "input": _input,
}
"""What an entry of a program may say under `prints`."""
