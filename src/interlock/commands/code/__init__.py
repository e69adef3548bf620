"""What a snippet of code would call, and what those calls would do."""

from interlock.commands.code.calls import Call, CodeArgument
from interlock.commands.code.effects import effects_in, effects_of
from interlock.commands.code.kinds import CodeEffect, CodeEffectKind
from interlock.commands.code.looks import looks_like_code
from interlock.commands.code.reader import calls_in
from interlock.commands.code.tokens import Language

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
