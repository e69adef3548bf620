"""Which credentials a command reads: every word that names a place where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from interlock.commands.programs.places import CREDENTIAL, Places
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word

_NO_CONTENT_VERBS: Final = frozenset(
    (
        "add rm mv status check-ignore ls-files checkout restore commit log ignore config "
        "build run compose stash apply reset update-index pr issue diff"
    ).split()
)
_SEARCHERS: Final = frozenset("grep egrep fgrep zgrep rg ag ack sed awk gawk mawk jq yq tr".split())
_INTERPRETERS: Final = frozenset("perl python python3 ruby node php".split())
_PATTERN_OPTIONS: Final = ("-e", "-f", "--regexp", "--file", "--expression", "--from-file")
_TEXT_OPTIONS: Final = frozenset("-e --regexp --expression -H --header -A --user-agent -m".split())
_USING_OPTIONS: Final = frozenset(
    (
        "-i -E --key --cert --cacert --kubeconfig --env-file --identity --private-key --ssh-key"
        " -u --user --netrc-file --password-file"
    ).split()
)
_COPIERS: Final = frozenset(("cp", "mv", "ln", "link", "install"))
_SPLIT: Final = "@=:,;<"
_SPLIT_CHARS: Final = frozenset(_SPLIT)
_NOT_IN_PLAIN_FLAGS: Final = frozenset("/.@=:")
_SENSITIVE_NAMES: Final = (".env", "id_rsa", "credentials", ".netrc", "secrets.yaml")
_MAX_WORD: Final = 1024
_READERS: Final = frozenset(
    (
        "cat less more head tail bat batcat strings xxd od hexdump hd base64 base32 grep "
        "egrep fgrep rg ag ack awk gawk mawk sed sort uniq cut nl tac rev cp mv ln link "
        "install rsync scp sftp dd tar gtar bsdtar zip 7z 7za "
        "gzip bzip2 xz zstd jq yq source . vi vim nvim "
        "nano emacs code open pbcopy xclip xsel wl-copy split paste mail mailx mutt sendmail "
        "curl wget nc ncat netcat socat tee diff view most pr fold fmt column tr perl python "
        "python3 ruby node php gpg age uuencode iconv read mapfile pv csplit comm join look "
        "expand dotenv rclone aws gsutil az gcloud s3cmd http https ftp cpio pax ar lz4 zcat "
        "type get-content ssh-add keytool sqlite3 git gh docker kubectl osascript security "
        "certutil busybox"
    ).split()
)


def credential_reads(command: Command, scope: Scope, places: Places) -> Iterator[Effect]:
    """Yield a read for every word that names a place where credentials lie."""
    if command.program not in _READERS:
        return
    operands = command.invocation.operands
    if (
        operands
        and operands[0].text in _NO_CONTENT_VERBS
        and command.program in {"git", "gh", "docker", "kubectl"}
    ):
        return
    for word in _read_words(command):
        target = _credential_in(_likeliest(word), scope, places)
        if target is not None:
            yield Effect(
                kind=EffectKind.READ,
                target=target,
                known=word.known,
                places=CREDENTIAL,
                command=command,
            )


def _read_words(command: Command) -> list[Word]:
    """Return the words that may name a file whose content is read.

    The destination of a copy is written, the pattern of a search is no file, and a key that
    is handed to a program by an option is used, not read out.
    """
    invocation = command.invocation
    operands = invocation.operands
    if command.program in _COPIERS and len(operands) > 1:
        return _copied(operands)
    if command.program in _INTERPRETERS:
        return operands
    if command.program in _SEARCHERS and not invocation.has(*_PATTERN_OPTIONS):
        operands = operands[1:]
    elif command.program == "git" and operands and operands[0].text == "grep":
        operands = operands[2:]
    values = [
        word
        for option, words in invocation.values.items()
        if option not in _USING_OPTIONS and option not in _TEXT_OPTIONS
        for word in words
    ]
    return operands + values


def _copied(operands: list[Word]) -> list[Word]:
    """The same file in another checkout is as well or as badly kept as the first one."""
    names = [word.text.rpartition("/")[2] for word in (operands[0], operands[-1])]
    return [] if len(operands) == 2 and names[0] == names[1] else operands[:-1]


def _likeliest(word: Word) -> str:
    """Return what a glob is most likely meant for: `.e*` for `.env`."""
    if not word.glob:
        return word.text
    folder, slash, pattern = word.text.rpartition("/")
    for name in _SENSITIVE_NAMES:
        if pattern[:2] == name[:2] and fnmatchcase(name, pattern):
            return f"{folder}{slash}{name}"
    return word.text


def _credential_in(text: str, scope: Scope, places: Places) -> str | None:
    """Return the path in a word such as `file=@.env` or `HEAD:.ssh/id_rsa`, if it is sensitive."""
    if len(text) > _MAX_WORD or "\n" in text or (" " in text and "/" not in text):
        return None
    if text[:1] == "-" and _NOT_IN_PLAIN_FLAGS.isdisjoint(text):
        return None
    candidates = [text]
    if not _SPLIT_CHARS.isdisjoint(text):
        for char in _SPLIT:
            if char in text:
                candidates += [text.rpartition(char)[2], text.partition(char)[2]]
    return next(
        (
            path
            for path in candidates
            if path and places.is_credential(scope.path(path.strip("'\"")))
        ),
        None,
    )
