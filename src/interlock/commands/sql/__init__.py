"""What a text of SQL would do."""

from interlock.commands.sql.sql_script import looks_like_sql, operations_in
from interlock.commands.sql.sql_statement import SqlKind, SqlOperation

__all__ = ["SqlKind", "SqlOperation", "looks_like_sql", "operations_in"]
