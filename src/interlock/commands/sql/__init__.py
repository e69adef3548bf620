"""What a text of SQL would do."""

from interlock.commands.sql.looks import looks_like_sql
from interlock.commands.sql.operations import SqlKind, SqlOperation
from interlock.commands.sql.reading import operations_in

__all__ = ["SqlKind", "SqlOperation", "looks_like_sql", "operations_in"]
