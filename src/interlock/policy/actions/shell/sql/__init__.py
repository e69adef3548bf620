"""What a text of SQL would do."""

from interlock.policy.actions.shell.sql.looks import looks_like_sql
from interlock.policy.actions.shell.sql.operations import SqlKind, SqlOperation
from interlock.policy.actions.shell.sql.reading import operations_in

__all__ = ["SqlKind", "SqlOperation", "looks_like_sql", "operations_in"]
