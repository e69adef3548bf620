"""Archivers: what a command packs, where to, and where it unpacks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.commands.shell.command import Command
from interlock.commands.shell.words import Word

_TAR_LETTERS = frozenset("cxtruAdfzjJvkpPmwhlonsWOaCZ")


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
    return Archive(
        packs="c" in letters or invocation.has("-c", "-r", "-u", "--create", "--append"),
        unpacks="x" in letters or invocation.has("-x", "--extract", "--get"),
        file=None if file is None or file.text == "-" else file,
        members=tuple(operands),
        folder=invocation.value("-C", "--directory"),
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


def _packed(operands: Sequence[Word]) -> Archive:
    file = operands[0] if operands and operands[0].text != "-" else None
    return Archive(packs=True, file=file, members=tuple(operands[1:]))
