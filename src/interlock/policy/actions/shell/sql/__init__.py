"""What SQL would do, and what the commands of stores without SQL would."""

from interlock.policy.actions.shell.sql.operations import SqlKind, SqlOperation
from interlock.policy.actions.shell.sql.reading import operations_in

__all__ = ["SqlKind", "SqlOperation", "operations_in"]
