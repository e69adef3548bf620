"""What a snippet of code would call, and what those calls would do."""

from interlock.commands.code.call_effects import effects_in, effects_of, looks_like_code
from interlock.commands.code.code_reader import calls_in
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.code_values import Call, CodeArgument
from interlock.commands.code.known_calls import CodeEffect, CodeEffectKind

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
