"""`interlock check --jsonl`: a stream of questions, answered one by one, in order.

Lines are read in blocks and answers written in blocks, but no answer is held back while
the next question has yet to arrive: whatever is ready goes out before the next read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Final, cast

import msgspec

from interlock.errors import InputError
from interlock.model.action import action_from_request
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.parameters import kind_of
from interlock.policy.gates.judgement import judge
from interlock.views.json_text import json_text

_BLOCK: Final = 1 << 16
_MOST_PENDING: Final = 1 << 18


class _Failure(msgspec.Struct, frozen=True):
    """The answer to a line that cannot be read."""

    id: object
    error: str


class _Answer(msgspec.Struct, frozen=True):
    """The answer to a question: a verdict under the question's id."""

    id: object
    decision: object
    findings: object


def answer_lines(source: int, target: int, gates: CompiledPolicy) -> int:
    """Answer every line of one descriptor on the other; return how many could not be read."""
    bad = 0
    pending = bytearray()
    for number, line in enumerate(_lines(source, target, pending), start=1):
        if not line.strip():
            continue
        answer = _answer(line, number, gates)
        bad += isinstance(answer, _Failure)
        pending += _encoded(answer)
        if len(pending) >= _MOST_PENDING:
            _write(target, pending)
    _write(target, pending)
    return bad


def _lines(source: int, target: int, pending: bytearray) -> Iterator[bytes]:
    """Yield complete lines; before waiting for more input, let out what is pending."""
    rest: list[bytes] = []
    while True:
        _write(target, pending)
        block = os.read(source, _BLOCK)
        if not block:
            break
        head, *lines = block.split(b"\n")
        rest.append(head)
        if lines:
            yield b"".join(rest)
            yield from lines[:-1]
            rest = [lines[-1]]
    if any(rest):
        yield b"".join(rest)


def _answer(line: bytes, number: int, gates: CompiledPolicy) -> _Answer | _Failure:
    identity: object = None
    try:
        request = _request(line)
        identity = request.get("id")
        verdict = judge(action_from_request(request), gates)
    except InputError as error:
        return _Failure(identity, f"line {number}: {error}")
    return _Answer(identity, verdict.decision, verdict.findings)


def _request(line: bytes) -> Mapping[str, object]:
    request = _decoded(line)
    if not isinstance(request, dict):
        raise InputError(f"{kind_of(request)}, expected an object")
    return cast("Mapping[str, object]", request)


def _decoded(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8") from error
    except msgspec.DecodeError as error:
        return _decoded_leniently(line, str(error))
    except RecursionError as error:
        raise InputError("not read: nested too deeply") from error


def _decoded_leniently(line: bytes, complaint: str) -> object:
    """Read JSON with half a character in it, as cut-off text has, or raise with the complaint."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = complaint.removeprefix("JSON is malformed: ")
        raise InputError(f"not JSON: {reason[:1].lower()}{reason[1:]}") from error


def _encoded(answer: _Answer | _Failure) -> bytes:
    return json_text(answer).encode() + b"\n"


def _write(target: int, pending: bytearray) -> None:
    """Write everything and leave nothing pending."""
    while pending:
        del pending[: os.write(target, pending)]
