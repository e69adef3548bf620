"""What each client writes down of the tokens that a call of a model used, as all count them."""

from __future__ import annotations

import msgspec

from interlock.errors import InputError
from interlock.model.budget import TokenUsage

Tokens = int | float | None
"""A number as some say it: nothing is none of them, and one that was computed may have a point."""


class ClaudeUsage(msgspec.Struct, frozen=True):
    """Claude Code's: its input leaves out what came from the cache."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_creation_input_tokens: Tokens = 0
    cache_read_input_tokens: Tokens = 0

    def counted(self) -> TokenUsage:
        """Return it as everybody counts."""
        written, read = self.cache_creation_input_tokens, self.cache_read_input_tokens
        return _counted(
            input_tokens=_sum(self.input_tokens, written, read),
            output_tokens=_sum(self.output_tokens),
            cache_write_tokens=_sum(written),
            cache_read_tokens=_sum(read),
        )


class CodexUsage(msgspec.Struct, frozen=True):
    """Codex's: what was thought is part of its output."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cached_input_tokens: Tokens = 0
    cache_write_input_tokens: Tokens = 0
    total_tokens: Tokens = 0

    def counted(self) -> TokenUsage:
        """Return it as everybody counts."""
        return _counted(
            input_tokens=_sum(self.input_tokens),
            output_tokens=_sum(self.output_tokens),
            cache_read_tokens=_sum(self.cached_input_tokens),
            cache_write_tokens=_sum(self.cache_write_input_tokens),
        )


class CodexCount(msgspec.Struct, frozen=True):
    """What Codex counts after each call: it says the same again whenever a limit changes."""

    total_token_usage: CodexUsage
    last_token_usage: CodexUsage


class GeminiTokens(msgspec.Struct, frozen=True):
    """Gemini CLI's: what was thought is counted by itself."""

    input: Tokens = 0
    output: Tokens = 0
    cached: Tokens = 0
    thoughts: Tokens = 0

    def counted(self) -> TokenUsage:
        """Return it as everybody counts."""
        return _counted(
            input_tokens=_sum(self.input),
            output_tokens=_sum(self.output, self.thoughts),
            cache_read_tokens=_sum(self.cached),
        )


class CopilotUsage(msgspec.Struct, frozen=True, rename="camel"):
    """Copilot CLI's, with the name of the call."""

    api_call_id: str
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_tokens: Tokens = 0
    cache_write_tokens: Tokens = 0
    model: str | None = None
    finish_reason: str | None = None

    def counted(self) -> TokenUsage:
        """Return it as everybody counts."""
        return _counted(
            input_tokens=_sum(self.input_tokens),
            output_tokens=_sum(self.output_tokens),
            cache_read_tokens=_sum(self.cache_read_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens),
        )


class OpencodeCache(msgspec.Struct, frozen=True):
    """What opencode counts of the cache."""

    read: Tokens = 0
    write: Tokens = 0


class OpencodeTokens(msgspec.Struct, frozen=True):
    """opencode's: neither its input nor its output is all of it."""

    input: Tokens = 0
    output: Tokens = 0
    reasoning: Tokens = 0
    cache: OpencodeCache = OpencodeCache()

    def counted(self) -> TokenUsage:
        """Return it as everybody counts."""
        return _counted(
            input_tokens=_sum(self.input, self.cache.read, self.cache.write),
            output_tokens=_sum(self.output, self.reasoning),
            cache_read_tokens=_sum(self.cache.read),
            cache_write_tokens=_sum(self.cache.write),
        )


def believed(**given: int) -> TokenUsage | None:
    """Return what was used, by the fields of that; None where it is more than can be true."""
    try:
        return _counted(**given)
    except InputError:
        return None


def _sum(*given: Tokens) -> int:
    """Return how many they are; below nothing where one of them is, which nobody believes."""
    total = 0
    for each in given:
        count = each if type(each) is int else round(each or 0)
        if count < 0:
            return count
        total += count
    return total


def _counted(**given: int) -> TokenUsage:
    """Return what was used; a history holds a million of these, so they are made at once."""
    try:
        return msgspec.convert(given, TokenUsage)
    except msgspec.ValidationError as error:
        raise InputError(f"what a model used cannot be read: {error}") from None
