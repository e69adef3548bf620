"""Which commands take, show or lose a folder with everything in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.commands.programs.places import HOME, ROOT
from interlock.commands.programs.program_tables import Program
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.words import Word
from interlock.policy.own.own_guard import Relation

_SEARCH_TREES: Final = frozenset("rg ag ack".split())
"""Programs that search folders without being told to."""
SEARCHERS: Final = _SEARCH_TREES.union("grep egrep fgrep zgrep".split())
LOSES: Final = frozenset((EffectKind.MOVE, EffectKind.DELETE))
_ARCHIVERS: Final = frozenset("tar gtar bsdtar unzip 7z 7za 7zz cpio pax".split())
UNPACKERS: Final = _ARCHIVERS.union("ar git patch rsync pip pip2 pip3".split())
"""Programs that write where they run, or where an option says, whatever else is known of them."""
_TREES: Final = _ARCHIVERS.union(
    "zip borg restic rclone duplicity kopia docker podman nerdctl tarfile zipfile wormhole croc"
    " azcopy".split()
)
"""Programs that take a folder with everything in it."""
_SENDERS: Final = frozenset("aws gsutil gcloud az kubectl oc s3cmd s5cmd mc b2 lftp".split())
_SENDING: Final = frozenset("cp mv sync rsync put upload mirror copy upload-batch".split())
"""Programs that do so with one of these verbs."""
_SERVERS: Final = frozenset(
    "http.server serve http-server live-server miniserve darkhttpd webfsd dufs updog servor sirv"
    " simplehttpserver local-web-server httpd".split()
)
_SERVES_WITH: Final = {"php": "-S", "caddy": "file-server"}
"""Programs that show a folder, or the one that they run in, to whoever asks."""
_NAMING: Final = frozenset(
    "mkdir touch env export local declare typeset readonly set open xdg-open code zoxide lsd"
    " getfacl lsattr mountpoint findmnt".split()
)
"""Programs to which a folder is a name, or a place for something new."""
_COPIERS: Final = frozenset("cp rsync scp ditto copy xcopy robocopy mc".split())
FINDERS: Final = frozenset("find gfind bfs fd fdfind".split())
_GIT_TAKES: Final = frozenset("add stage".split())
_ANY_LINE: Final = r"[\s.^$*+?|()\\wSWDd]{0,40}|\[.{1,40}\][*+]?"
"""Patterns that nearly every line fits: whoever searches for that prints whole files."""
_CHANGES_OWNER: Final = frozenset("chown chgrp chattr setfacl".split())
_MODE: Final = re.compile(r"([ugoa]*)([-=])([rwxXst]*)")
_LOOKS: Final = 5
"""The rights to read a folder and to go into it."""
_RECURSIVE: Final = ("-r", "-R", "-a", "--recursive", "--archive", "--dereference-recursive")


def loses_code(effect: Effect, relation: Relation) -> bool:
    """Whether the code that lies in a folder, or what it runs with, is gone or other afterwards."""
    if effect.kind is EffectKind.PERMIT:
        return _takes_rights(effect)
    if relation is Relation.ENVIRONMENT:
        return True
    return effect.kind is EffectKind.MOVE or (effect.kind is EffectKind.DELETE and effect.recursive)


def loses_holder(effect: Effect, relation: Relation) -> bool:
    """Whether what lies in a folder on the way to Interlock's files goes with it, or is opened."""
    if effect.places & (ROOT | HOME) and (effect.kind is EffectKind.DELETE or effect.word.glob):
        # Whoever takes away everything hears that from others.
        return False
    if effect.kind is EffectKind.MOVE or effect.recursive or effect.forced:
        return True
    if effect.kind is EffectKind.PERMIT:
        return _takes_rights(effect)
    return relation is Relation.SHARED and effect.command.program in UNPACKERS


def _takes_rights(effect: Effect) -> bool:
    """Whether the owner of a folder can no more look into it; what code sets is not seen."""
    command = effect.command
    if command.program != "chmod":
        return command.program not in _CHANGES_OWNER
    mode = command.invocation.operands[0].text
    if mode.isdecimal():
        return int(mode[-3:-2] or "0", 16) & _LOOKS != _LOOKS
    return any(_is_taken(*found.groups()) for found in _MODE.finditer(mode))


def _is_taken(who: str, sign: str, rights: str) -> bool:
    if {"u", "a"}.isdisjoint(who or "a"):
        return False
    looks, named = {"r", "x"}, set(rights.lower())
    return not looks <= named if sign == "=" else not looks.isdisjoint(named)


def takes_tree(command: Command, word: Word) -> bool:
    """Whether a command takes a folder with everything in it."""
    program, invocation = command.program, command.invocation
    if program in _TREES or serves(command):
        return True
    if program in _SENDERS:
        return not _SENDING.isdisjoint(each.text for each in invocation.operands[:3])
    if program == "git":
        verb, *paths = invocation.operands or [word]
        if invocation.has("--no-index"):
            return verb.text == "diff" or finds_any_line(command, paths)
        return verb.text in _GIT_TAKES and (word in paths or invocation.has("-A", "--all"))
    if program not in _SEARCH_TREES and not invocation.has(*_RECURSIVE):
        return False
    if program in SEARCHERS:
        return finds_any_line(command, invocation.operands)
    return program in _COPIERS and not invocation.has("-n", "--dry-run")


def serves(command: Command) -> bool:
    """Whether a command shows a folder to whoever asks."""
    mark = _SERVES_WITH.get(command.program)
    if mark is not None:
        return any(word.text == mark for word in command.argv[1:])
    return command.program in _SERVERS


def names_no_folder(command: Command) -> bool:
    """Whether no operand names what is served: a port or an address does not."""
    return all(word.text[-1:].isdigit() for word in command.invocation.operands)


def does_more_than_name(command: Command, known: Program) -> bool:
    """Whether a command may open what lies in a folder, and nothing else tells what it does."""
    program = command.program
    is_judged = program in SEARCHERS or program in FINDERS or program in _COPIERS
    return not (is_judged or known.files or known.shell or program in _NAMING)


def finds_any_line(command: Command, operands: Sequence[Word]) -> bool:
    """Whether a search prints whole files."""
    invocation = command.invocation
    pattern = invocation.value("-e", "--regexp") or (operands or [Word("")])[0]
    prints_all = invocation.has("-v", "--invert-match", "--passthru", "--passthrough")
    return prints_all or re.fullmatch(_ANY_LINE, pattern.text) is not None
