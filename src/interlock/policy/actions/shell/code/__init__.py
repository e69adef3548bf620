"""What a snippet of code would call, and what those calls would do."""

from interlock.policy.actions.shell.code.calls import Call, CodeArgument
from interlock.policy.actions.shell.code.reader import calls_in
from interlock.policy.actions.shell.code.tokens import Language

__all__ = ["Call", "CodeArgument", "Language", "calls_in"]
