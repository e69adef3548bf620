"""What is known while the statements of one text are read."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.commands.sql.operations import SqlKind, SqlOperation
from interlock.commands.sql.statement import Statement

_MAX_TARGET: Final = 200


class Script(msgspec.Struct):
    """What earlier statements of the same text have told."""

    temporary: set[str] = msgspec.field(default_factory=set[str])
    """Tables that end with the session: nothing is lost with them."""
    variables: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    nested: list[str] = msgspec.field(default_factory=list[str])
    """Texts of SQL that the statements run."""

    def is_scratch(self, name: str) -> bool:
        """Whether a table is gone with the session anyway."""
        plain = name.lower()
        return plain.startswith(("#", "@", "pg_temp.", "temp.")) or plain in self.temporary


def operation(
    kind: SqlKind, statement: Statement, target: str, reason: str, thing: str = ""
) -> SqlOperation:
    """Return what the statement does, with its text in short."""
    return SqlOperation(
        kind=kind,
        object=thing,
        target=target[:_MAX_TARGET],
        excerpt=statement.excerpt(),
        reason=reason,
    )
