"""What a simple command does to files: which it deletes, overwrites, reads, opens up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Final

from interlock.commands.programs.archives import Archive, seven_zip, tar, unzip, zip_archive
from interlock.commands.programs.credential_reads import credential_reads
from interlock.commands.programs.network_effects import NETWORK_WAYS, is_remote
from interlock.commands.programs.outputs import packed_labels, stream_of_file
from interlock.commands.programs.places import HOME, Places
from interlock.commands.programs.program_tables import Program
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.provenance import ARCHIVE, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word

_TIGHT_MODES: Final = frozenset("600 0600 400 0400 700 0700 500 go-rwx go= og-rwx o-rwx".split())
_NAME_TESTS: Final = frozenset(("-name", "-iname", "-path", "-wholename"))
_FIND_OPTIONS: Final = frozenset(("-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x"))
_FILE_ENDINGS: Final = frozenset(
    "json lock log txt md zip tgz gz tar yaml yml toml py js ts tsx go rs csv out tmp bak".split()
)


def effects_of(command: Command, known: Program, scope: Scope, places: Places) -> list[Effect]:
    """Return what the command does to files and over the network."""
    effects: list[Effect] = []
    if known.files:
        effects.extend(FILE_WAYS[known.files](command, scope, places))
    if known.network:
        effects.extend(NETWORK_WAYS[known.network](command, scope, places))
    if known.reads:
        effects.extend(credential_reads(command, known.reads, scope, places))
    return effects


def _effect(
    command: Command,
    scope: Scope,
    places: Places,
    kind: EffectKind,
    target: Word,
    *,
    recursive: bool = False,
    forced: bool = False,
) -> Effect:
    place = places.at(target.text, scope)
    return Effect.on(
        target,
        kind,
        command,
        places=place,
        labels=target.labels,
        recursive=recursive,
        forced=forced,
    )


def _remove(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    invocation = command.invocation
    spread = "find" in command.frame.via
    recursive = invocation.has("-r", "-R", "--recursive") or spread
    forced = invocation.has("-f", "--force")
    for target in invocation.operands:
        tree = recursive and (spread or not _is_one_file(target))
        yield _effect(
            command, scope, places, EffectKind.DELETE, target, recursive=tree, forced=forced
        )


def _is_one_file(target: Word) -> bool:
    """`rm -rf package-lock.json` deletes one file, not a tree."""
    name = target.text.rpartition("/")[2]
    return not target.glob and target.known and name.rpartition(".")[2] in _FILE_ENDINGS


def _unlink(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    for target in command.invocation.operands:
        yield _effect(command, scope, places, EffectKind.DELETE, target)


def _shred(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """Unlike a plain delete, what was shredded cannot be found again."""
    for target in command.invocation.operands:
        yield _effect(command, scope, places, EffectKind.OVERWRITE, target)
        yield _effect(
            command, scope, places, EffectKind.DELETE, target, recursive=True, forced=True
        )


def _truncate(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    for target in command.invocation.operands:
        yield _effect(command, scope, places, EffectKind.OVERWRITE, target, forced=True)


def _move(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    sources, _ = _sources_and_destination(command)
    for source in sources:
        yield _effect(command, scope, places, EffectKind.MOVE, source, recursive=True)
    yield from _copy(command, scope, places)


def _copy(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    sources, destination = _sources_and_destination(command)
    if destination is None:
        return
    yield _effect(command, scope, places, EffectKind.OVERWRITE, destination)
    if destination.text.endswith((".", "/")) or command.invocation.has("-t", "--target-directory"):
        for source in sources:
            name = source.text.rstrip("/").rpartition("/")[2]
            inside = Word(f"{destination.text.rstrip('/')}/{name}", known=source.known)
            yield _effect(command, scope, places, EffectKind.OVERWRITE, inside)
    _carry(sources, destination, command, scope, places)


def _link(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    sources, destination = _sources_and_destination(command)
    if destination is not None:
        if command.invocation.has("-f", "--force"):
            yield _effect(command, scope, places, EffectKind.OVERWRITE, destination, forced=True)
        else:
            yield _effect(command, scope, places, EffectKind.APPEND, destination)
        _carry(sources, destination, command, scope, places)


def _sources_and_destination(command: Command) -> tuple[list[Word], Word | None]:
    operands = command.invocation.operands
    folder = command.invocation.value("-t", "--target-directory")
    if folder is not None:
        return operands, folder
    return (operands[:-1], operands[-1]) if len(operands) > 1 else ([], None)


def _carry(
    sources: list[Word], destination: Word, command: Command, scope: Scope, places: Places
) -> None:
    """A copy of a secret is a secret."""
    for source in sources:
        stream = command.frame.stdin
        if source.text != "/dev/stdin":
            stream = stream_of_file(source, scope, places)
        if stream.labels or stream.text is not None:
            scope.files[scope.path(destination.text)] = stream
            name = source.text.rpartition("/")[2]
            scope.files[scope.path(f"{destination.text}/{name}")] = stream


def _dd(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    for word in command.argv[1:]:
        if word.text.startswith("of="):
            yield _effect(command, scope, places, EffectKind.OVERWRITE, word.tail(3), forced=True)


def _tee(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    kind = EffectKind.APPEND if command.invocation.has("-a", "--append") else EffectKind.OVERWRITE
    for target in command.invocation.operands:
        scope.files[scope.path(target.text)] = command.frame.stdin
        yield _effect(command, scope, places, kind, target)


def _in_place(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """`sed -i` and `perl -pi` rewrite their files."""
    if not any(_edits_in_place(word.text) for word in command.argv[1:]):
        return
    for target in command.invocation.operands:
        yield _effect(command, scope, places, EffectKind.OVERWRITE, target)


def _awk(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    if any(word.text == "inplace" for word in command.invocation.all_values("-i")):
        for target in command.invocation.operands[1:]:
            yield _effect(command, scope, places, EffectKind.OVERWRITE, target)


def _edits_in_place(text: str) -> bool:
    return text.startswith("--in-place") or (
        text[:1] == "-" and text[:2] != "--" and "i" in text[:4].lower()
    )


def _permissions(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    operands = command.invocation.operands
    if operands and operands[0].text in _TIGHT_MODES:
        return
    recursive = command.invocation.has("-R", "--recursive", "-r") or "find" in command.frame.via
    for target in command.invocation.operands[1:] or command.invocation.operands:
        yield _effect(command, scope, places, EffectKind.PERMIT, target, recursive=recursive)


def _find(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    if "-delete" in command.invocation.flags and not _runs_it_first(command):
        for target in found_by(command):
            yield _effect(
                command, scope, places, EffectKind.DELETE, target, recursive=True, forced=True
            )


def _runs_it_first(command: Command) -> bool:
    """`find . -exec echo -delete` only prints the word."""
    texts = [word.text for word in command.argv]
    delete = texts.index("-delete")
    starts = [
        index
        for index, text in enumerate(texts)
        if text in {"-exec", "-execdir", "-ok", "-okdir"} and index < delete
    ]
    return any(not {";", "+", "\\;"} & set(texts[start:delete]) for start in starts)


def found_by(command: Command) -> list[Word]:
    """Return what `find` finds: its names below its roots, or everything below them."""
    names = [word.text for before, word in pairwise(command.argv) if before.text in _NAME_TESTS]
    return [
        Word(f"{root.text.rstrip('/')}/{name}", known=root.known, glob=True, labels=root.labels)
        for root in _find_roots(command)
        for name in names or ["*"]
    ]


def _find_roots(command: Command) -> list[Word]:
    """Return where `find` starts: the words before its first expression."""
    roots: list[Word] = []
    for word in command.argv[1:]:
        if word.text[:1] not in {"-", "(", "!"}:
            roots.append(word)
        elif roots or word.text not in _FIND_OPTIONS:
            break
    return roots or [Word(".")]


def _git(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    operands = command.invocation.operands
    if (
        operands
        and operands[0].text == "rm"
        and not command.invocation.has("--cached", "-n", "--dry-run")
    ):
        for target in operands[1:]:
            yield _effect(command, scope, places, EffectKind.DELETE, target)
    elif [word.text for word in operands[:2]] == ["bundle", "create"] and len(operands) > 2:
        scope.files[scope.path(operands[2].text)] = Stream(ARCHIVE)
    elif operands and operands[0].text == "mv":
        for target in operands[1:]:
            yield _effect(command, scope, places, EffectKind.MOVE, target)


def _rsync(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """Mirroring deletes at the destination what the source does not have."""
    invocation = command.invocation
    operands = invocation.operands
    if invocation.has("-n", "--dry-run") or len(operands) < 2:
        return
    if not is_remote(operands[-1].text):
        yield _effect(command, scope, places, EffectKind.OVERWRITE, operands[-1])
    if any(flag.startswith("--del") for flag in invocation.flags):
        yield _effect(
            command, scope, places, EffectKind.DELETE, operands[-1], recursive=True, forced=True
        )
    if invocation.has("--remove-source-files", "--remove-sent-files"):
        for source in operands[:-1]:
            yield _effect(
                command, scope, places, EffectKind.DELETE, source, recursive=True, forced=True
            )


def _archived(
    archive_of: Callable[[Command], Archive], command: Command, scope: Scope, places: Places
) -> Iterator[Effect]:
    """An archive holds what was packed into it; unpacking writes below a folder."""
    archive = archive_of(command)
    if archive.packs and archive.file is not None:
        labels = packed_labels(archive, command, scope, places)
        scope.files[scope.path(archive.file.text)] = Stream(labels)
        yield _effect(command, scope, places, EffectKind.OVERWRITE, archive.file)
    if archive.unpacks and archive.folder is not None:
        effect = _effect(command, scope, places, EffectKind.OVERWRITE, archive.folder)
        if not effect.places & HOME:
            yield effect


Way = Callable[[Command, Scope, Places], Iterable[Effect]]

FILE_WAYS: Final[dict[str, Way]] = {
    "remove": _remove,
    "unlink": _unlink,
    "shred": _shred,
    "truncate": _truncate,
    "move": _move,
    "copy": _copy,
    "link": _link,
    "dd": _dd,
    "tee": _tee,
    "edit-in-place": _in_place,
    "awk": _awk,
    "permit": _permissions,
    "find": _find,
    "git": _git,
    "mirror": _rsync,
    "tar": partial(_archived, tar),
    "zip": partial(_archived, zip_archive),
    "7z": partial(_archived, seven_zip),
    "unzip": partial(_archived, unzip),
}
"""What an entry of a program may say under `files`."""
