"""What a snippet of code would call, and what those calls would do."""

from interlock.policy.actions.shell.code.calls import Call, CodeArgument
from interlock.policy.actions.shell.code.effects import effects_in, effects_of
from interlock.policy.actions.shell.code.kinds import CodeEffect, CodeEffectKind
from interlock.policy.actions.shell.code.looks import looks_like_code
from interlock.policy.actions.shell.code.reader import calls_in
from interlock.policy.actions.shell.code.tokens import Language

__all__ = [
    "Call",
    "CodeArgument",
    "CodeEffect",
    "CodeEffectKind",
    "Language",
    "calls_in",
    "effects_in",
    "effects_of",
    "looks_like_code",
]
