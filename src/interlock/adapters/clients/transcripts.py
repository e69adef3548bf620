"""What clients write down of a session themselves: there alone stands what the models used.

They write it as they go, and not always at once: what is read is what is there by now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from interlock.adapters.clients.model_usage import (
    ClaudeUsage,
    CodexCount,
    CopilotUsage,
    GeminiTokens,
)
from interlock.errors import InputError
from interlock.model.hook import ModelCall

_MOST_READ: Final = 32 * 2**20
"""Of a long transcript that was never looked at the end is read."""
_MOST_KEPT: Final = 1_000
_MOST_FILES: Final = 200
_COPILOT_WITHIN_S: Final = 2.0
"""So long its last words are waited for; they take a tenth of a second."""
_NAP_S: Final = 0.02

T = TypeVar("T")
Lines = Callable[[bytes], ModelCall | None]
"""Reads one line: a call of a model, or something else."""


class _Place(msgspec.Struct):
    """How far a transcript was read, and what stood there."""

    offset: int
    calls: dict[str, ModelCall]


class TranscriptReader:
    """Reads transcripts on from where it was."""

    def __init__(self, read_line: Lines) -> None:
        self._read_line = read_line
        self._places: dict[str, _Place] = {}

    def calls(self, path: str, *, is_over: bool) -> Sequence[ModelCall]:
        """Return the latest calls, the oldest first; one that may still be written only at the end.

        A client writes the same call several times, as it gets to know more of it: what it says
        most counts. An agent can write there as well, and neither hides what it used by that nor
        has its hooks fail.
        """
        place = self._places.get(path)
        if place is None:
            if len(self._places) >= _MOST_FILES:
                self._places.clear()
            place = self._places[path] = _Place(_beginning(path), {})
        for line in _lines(path, place):
            found = self._call_in(line)
            before = None if found is None else place.calls.get(found.key)
            if found is not None and (before is None or found.usage.total >= before.usage.total):
                place.calls[found.key] = found
        for key in list(place.calls)[:-_MOST_KEPT]:
            del place.calls[key]
        known = list(place.calls.values())
        return known if is_over else known[:-1]

    def _call_in(self, line: bytes) -> ModelCall | None:
        try:
            found = self._read_line(line)
        except InputError:
            return None
        return found if found is not None and found.key else None


def _beginning(path: str) -> int:
    try:
        return max(0, Path(path).stat().st_size - _MOST_READ)
    except OSError:
        return 0


def _lines(path: str, place: _Place) -> Iterator[bytes]:
    """Yield every line that was finished since the last time; a transcript may not be there yet."""
    try:
        if not Path(path).is_file():
            return
        with Path(path).open("rb") as file:
            file.seek(place.offset)
            new = file.read(_MOST_READ)
    except OSError:
        return
    whole = new.rfind(b"\n") + 1
    place.offset += whole
    yield from new[:whole].splitlines()


class _ClaudeMessage(msgspec.Struct):
    id: str
    usage: ClaudeUsage
    model: str | None = None


class _ClaudeLine(msgspec.Struct):
    message: _ClaudeMessage


def claude_calls(line: bytes) -> ModelCall | None:
    """Read a line of Claude Code's."""
    found = _decoded(line, b'"usage"', _ClaudeLine)
    if found is None:
        return None
    message = found.message
    return ModelCall(key=message.id, usage=message.usage.counted(), model=message.model)


class _CodexPayload(msgspec.Struct):
    info: CodexCount


class _CodexLine(msgspec.Struct):
    payload: _CodexPayload


def codex_calls(line: bytes) -> ModelCall | None:
    """Read a line of Codex's: what was used last, named by what was used in all."""
    found = _decoded(line, b'"token_count"', _CodexLine)
    if found is None:
        return None
    info = found.payload.info
    key = f"total-{info.total_token_usage.total_tokens}"
    return ModelCall(key=key, usage=info.last_token_usage.counted())


class _GeminiLine(msgspec.Struct):
    id: str
    tokens: GeminiTokens
    model: str | None = None


def gemini_calls(line: bytes) -> ModelCall | None:
    """Read a line of Gemini CLI's."""
    found = _decoded(line, b'"tokens"', _GeminiLine)
    if found is None:
        return None
    return ModelCall(key=found.id, usage=found.tokens.counted(), model=found.model)


class _CopilotData(msgspec.Struct):
    usage: CopilotUsage


class _CopilotLine(msgspec.Struct):
    data: _CopilotData


def copilot_calls(line: bytes) -> ModelCall | None:
    """Read a line of Copilot CLI's."""
    found = _decoded(line, b'"session.usage_record"', _CopilotLine)
    if found is None:
        return None
    used = found.data.usage
    return ModelCall(key=used.api_call_id, usage=used.counted(), model=used.model)


class _CopilotInput(msgspec.Struct, frozen=True):
    timestamp: int | str = 0


class _CopilotEntryData(msgspec.Struct):
    content: str = ""
    hookType: str = ""  # noqa: N815 - as it is written there
    input: _CopilotInput = _CopilotInput()


class _CopilotEntry(msgspec.Struct):
    type: str
    data: _CopilotEntryData


def copilot_last_words(path: str, stopped_at: int | str) -> str | None:
    """Return what Copilot's agent said before it stopped, which its hook is not told.

    It is written down a moment after the hook has begun, and with it that the hook has begun: as
    long as that is missing, what stands there is older than the end of this turn.
    """
    until = time.monotonic() + _COPILOT_WITHIN_S
    while Path(path).parent.is_dir():
        words, known_at = _copilot_words(path)
        if known_at >= _moment_ms(stopped_at):
            return words
        if time.monotonic() >= until:
            break
        time.sleep(_NAP_S)
    return None


def _copilot_words(path: str) -> tuple[str | None, int]:
    """Return what was said last, and when the agent stopped last, as far as it stands there."""
    words, stopped_at = None, -1
    for line in _lines(path, _Place(_beginning(path), {})):
        if (said := _decoded(line, b'"assistant.message"', _CopilotEntry)) is not None:
            words = said.data.content if said.type == "assistant.message" else words
        hook = _decoded(line, b'"agentStop"', _CopilotEntry)
        if hook is not None and (hook.type, hook.data.hookType) == ("hook.start", "agentStop"):
            stopped_at = _moment_ms(hook.data.input.timestamp)
    return words, stopped_at


def _moment_ms(stamp: int | str) -> int:
    """Return a moment as it is written there, or as those hooks are told it that are Claude's."""
    if isinstance(stamp, int):
        return stamp
    try:
        return round(datetime.fromisoformat(stamp).timestamp() * 1000)
    except ValueError:
        return 0


def _decoded(line: bytes, mark: bytes, shape: type[T]) -> T | None:
    """Return what a line says, where it is of this shape; most are not, and are not read."""
    if mark not in line:
        return None
    try:
        return msgspec.json.decode(line, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
