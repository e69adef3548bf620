"""What a command sends over the network, and what it fetches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from interlock.commands.programs.archives import tar
from interlock.commands.programs.outputs import packed_labels, stream_of_file
from interlock.commands.programs.places import Places
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.provenance import ARCHIVE, REMOTE, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word

_CURL_DATA: Final = (
    "-d",
    "--data",
    "--data-binary",
    "--data-ascii",
    "--data-urlencode",
    "--json",
    "-F",
    "--form",
    "-T",
    "--upload-file",
)


def _curl(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    invocation = command.invocation
    labels = _argument_labels(command)
    sends = False
    for value in invocation.all_values(*_CURL_DATA):
        sends = True
        labels |= _posted(value, command, scope, places)
    for value in invocation.all_values("-T", "--upload-file"):
        labels |= _stream(value, command, scope, places).labels
    url = _url(command)
    if sends or labels:
        yield _sent(command, url, labels)
    output = invocation.value("-o", "--output")
    if output is None and invocation.has("-O", "--remote-name"):
        output = Word(url.text.rpartition("/")[2])
    if output is not None and output.text != "-":
        yield _downloaded(command, output, scope, places)
    yield Effect.on(url, EffectKind.FETCH, command)


def _downloaded(command: Command, output: Word, scope: Scope, places: Places) -> Effect:
    """A download overwrites a file, and what lies there is remote from now on."""
    scope.files[scope.path(output.text)] = Stream(REMOTE)
    return Effect.on(output, EffectKind.OVERWRITE, command, places=places.at(output.text, scope))


def _posted(value: Word, command: Command, scope: Scope, places: Places) -> int:
    """Return the labels of what `@file`, `name=@file` or `@-` stands for."""
    before, at, rest = value.text.partition("@")
    if not at or (before and not before.endswith("=")):
        return value.labels
    name = rest.partition(";")[0].partition(",")[0]
    known = value.known or "$" not in name
    return value.labels | _stream(Word(name, known), command, scope, places).labels


def _stream(word: Word, command: Command, scope: Scope, places: Places) -> Stream:
    return (
        command.frame.stdin
        if word.text in {"-", ".", "/dev/stdin"}
        else stream_of_file(word, scope, places)
    )


def _wget(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    invocation = command.invocation
    url = _url(command)
    labels = _argument_labels(command)
    for value in invocation.all_values("--post-file", "--body-file"):
        labels |= _stream(value, command, scope, places).labels
    if labels:
        yield _sent(command, url, labels)
    output = next(
        (
            word
            for name, words in invocation.values.items()
            if name == "-O" or name.startswith("--output-d")
            for word in words
        ),
        None,
    )
    if output is None:
        output = Word(url.text.rpartition("/")[2])
    if output.text != "-":
        yield _downloaded(command, output, scope, places)
    yield Effect.on(url, EffectKind.FETCH, command)


def _stdin_sender(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """`nc`, `ssh`, `mail` and the like send what flows into them."""
    labels = command.frame.stdin.labels | _argument_labels(command)
    for word in command.argv[1:]:
        if word.text.startswith("@"):
            labels |= stream_of_file(word.tail(1), scope, places).labels
    if labels and command.invocation.operands:
        yield _sent(command, command.invocation.operands[0], labels)


def _socat(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    labels = command.frame.stdin.labels
    network = None
    for word in command.invocation.operands:
        upper = word.text.upper()
        if any(
            kind in upper
            for kind in ("TCP", "UDP", "SSL", "OPENSSL", "VSOCK", "DCCP", "SCTP", "SOCKS", "PROXY")
        ):
            network = word
        kind, _, name = word.text.partition(":")
        if kind.upper() in {"OPEN", "FILE", "GOPEN", "PIPE"} or not name:
            path, _, options = name.strip("'\"").partition(",")
            folder = options.partition("chdir=")[2].partition(",")[0]
            labels |= stream_of_file(
                Word(f"{folder}/{path}" if folder else path or word.text), scope, places
            ).labels
        elif kind.upper() in {"EXEC", "SYSTEM"}:
            for part in name.replace('"', " ").replace("'", " ").split():
                labels |= stream_of_file(Word(part), scope, places).labels
    if network is not None and labels:
        yield _sent(command, network, labels)


def _copier(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """`scp` and `rsync`: files that go to another machine."""
    operands = command.invocation.operands
    if len(operands) < 2 or not is_remote(operands[-1].text):
        return
    recursive = command.program == "rsync" or command.invocation.has("-r")
    labels = ARCHIVE if recursive else 0
    for source in operands[:-1]:
        if not is_remote(source.text):
            labels |= stream_of_file(source, scope, places).labels
    yield _sent(command, operands[-1], labels)


def is_remote(text: str) -> bool:
    """Whether `host:path` names another machine."""
    host, colon, _ = text.partition(":")
    return (bool(colon) and "/" not in host and len(host) > 1) or text.startswith(
        ("rsync://", "scp://")
    )


def _tar(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """`tar -f host:file` writes to another machine."""
    archive = tar(command)
    file = archive.file
    if file is None:
        inherited = scope.value("TAR_OPTIONS")
        if inherited is not None and "--file=" in inherited.text:
            file = Word(inherited.text.partition("--file=")[2])
    if file is not None and is_remote(file.text):
        yield _sent(command, file, packed_labels(archive, command, scope, places))


def _lookup(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """A name that is looked up can carry data to whoever answers for the domain."""
    labels = _argument_labels(command)
    if labels:
        yield _sent(command, command.argv[-1], labels)


def _sent(command: Command, target: Word, labels: int) -> Effect:
    return Effect.on(target, EffectKind.SEND, command, labels=labels)


def _argument_labels(command: Command) -> int:
    labels = 0
    for word in command.argv[1:]:
        labels |= word.labels
    return labels


def _url(command: Command) -> Word:
    operands = command.invocation.operands
    given = command.invocation.value("--url")
    return given or (operands[0] if operands else Word(""))


Way = Callable[[Command, Scope, Places], Iterator[Effect]]

NETWORK_WAYS: Final[dict[str, Way]] = {
    "curl": _curl,
    "wget": _wget,
    "send-input": _stdin_sender,
    "socat": _socat,
    "copy": _copier,
    "tar": _tar,
    "look-up": _lookup,
}
"""What an entry of a program may say under `network`."""
