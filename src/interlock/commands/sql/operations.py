"""What a statement of SQL can be found to do."""

from __future__ import annotations

import enum

import msgspec


class SqlKind(enum.Enum):
    """What happens to the data, or to the machine that holds it."""

    DROP = "drop"
    TRUNCATE = "truncate"
    DELETE_ALL = "delete-all"
    """Deletes every row: no condition, or one that always holds."""
    DELETE_SOME = "delete-some"
    UPDATE_ALL = "update-all"
    """Rewrites every row: no condition, or one that always holds."""
    UPDATE_SOME = "update-some"
    ALTER_DROP = "alter-drop"
    """Takes a column, a partition or a constraint out of a table."""
    GRANT_ALL = "grant-all"
    """Hands out the whole server: every right on everything, or a superuser."""
    GRANT_SOME = "grant-some"
    REVOKE = "revoke"
    SHUTDOWN = "shutdown"
    ADMIN = "admin"
    """Throws away logs or replication, or loosens what the server may run."""
    FILE_READ = "file-read"
    FILE_WRITE = "file-write"
    EXECUTE = "execute"
    """Runs a program on the machine; the target is its command line."""


class SqlOperation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a statement would do."""

    kind: SqlKind
    object: str = ""
    """What kind of thing is meant: `table`, `database`, `column`..."""
    target: str
    excerpt: str
    """The statement in short, without the text of its strings."""
    reason: str
