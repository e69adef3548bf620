"""What a command prints, as far as it can be known: its text, or at least where it is from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from interlock.commands.programs.archives import Archive, archive_of
from interlock.commands.programs.places import CREDENTIAL, HISTORY, SYSTEM, Places
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
_FETCHERS: Final = frozenset(
    (
        "curl wget http https xh fetch aria2c lynx links w3m ftp tftp nc ncat netcat socat "
        "telnet ssh gh hub s3cmd axel"
    ).split()
)
_SILENT: Final = frozenset(
    (
        "wc sha256sum sha1sum md5sum shasum cksum b2sum diff cmp ls stat file du rm mkdir "
        "touch chmod chown kill git test"
    ).split()
)
_PASS_THROUGH: Final = frozenset(
    (
        "cat tee head tail sort uniq grep rg egrep zcat gunzip gzip xz bzip2 zstd less more "
        "pv buffer sponge dos2unix nl tac"
    ).split()
)
_FILTERS: Final = frozenset("grep egrep fgrep rg ag awk gawk cut sed perl jq".split())
_PATH_CHARS: Final = frozenset("/._~")
_MAX_NAME: Final = 1024


def output_of(command: Command, scope: Scope, places: Places) -> Stream:
    """Return what a command prints."""
    reader = _PRINTERS.get(command.program)
    if reader is not None:
        return reader(command, scope, places)
    if command.program in _FETCHERS:
        return Stream(REMOTE | command.frame.stdin.labels)
    if command.program in _SILENT:
        return UNSEEN
    labels = _labels_of_operands(command, scope, places)
    if command.program in _FILTERS and command.frame.stdin.labels & ENVIRON:
        return Stream((labels | command.frame.stdin.labels | PICKED) & ~ENVIRON)
    if command.program in _PASS_THROUGH and not command.invocation.operands:
        return Stream(labels | command.frame.stdin.labels, command.frame.stdin.text)
    return Stream(labels | command.frame.stdin.labels)


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


def _archiver(command: Command, scope: Scope, places: Places) -> Stream:
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


Printer = Callable[[Command, Scope, Places], Stream]

_PRINTERS: Final[dict[str, Printer]] = {
    "echo": _echo,
    "cat": _cat,
    "pwd": _pwd,
    "mktemp": _mktemp,
    "env": _environment,
    "printenv": _environment,
    "export": _environment,
    "base64": _decoder,
    "base32": _decoder,
    "openssl": _decoder,
    "xxd": _decoder,
    "uudecode": _scrambler,
    "rev": _scrambler,
    "tr": _scrambler,
    "tar": _archiver,
    "gtar": _archiver,
    "bsdtar": _archiver,
    "zip": _archiver,
    "git": _git,
    "which": _last_name,
    "command": _last_name,
    "type": _last_name,
    "realpath": _same_name,
    "readlink": _same_name,
}
