"""What a call can be found to do."""

from __future__ import annotations

import enum

import msgspec


class CodeEffectKind(enum.Enum):
    """What happens when the call runs."""

    DELETE = "delete"
    OVERWRITE = "overwrite"
    APPEND = "append"
    MOVE = "move"
    """Takes a file away from its place; where it goes is an effect of its own."""
    READ = "read"
    PERMIT = "permit"
    """Changes permissions or ownership."""
    SHELL = "shell"
    """Hands a line to a shell; the target is the line."""
    ARGV = "argv"
    """Runs a program without a shell; `argv` is what it is given."""
    SEND = "send"
    FETCH = "fetch"
    EVAL = "eval"
    """Runs text as code that is not simply written down in the snippet."""
    DECODE = "decode"
    SOCKET_SHELL = "socket-shell"
    """Ties a shell to a connection."""
    ENV_DUMP = "env-dump"
    """Prints or sends the whole environment."""
    KILL = "kill"
    SQL = "sql"
    """Hands a text of SQL to a database; the target is the text."""
    VENDOR_DELETE = "vendor-delete"
    """Deletes something that a remote service holds."""


class CodeEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a call does to one target."""

    kind: CodeEffectKind
    target: str
    """What is meant; where it is not known, how it begins."""
    known: bool = True
    recursive: bool = False
    decoded: bool = False
    """Whether the target came out of a decoder."""
    argv: tuple[str | None, ...] = ()
    """The words of a program that is run; None for one that only the run decides."""
    excerpt: str
