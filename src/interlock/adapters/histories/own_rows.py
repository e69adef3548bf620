"""Interlock's own rows: one line of JSON is a run, with its steps.

    {"run_id": "a1", "steps": [
      {"role": "user", "text": "fix the test"},
      {"role": "assistant", "tool": "Bash", "args": "pytest", "result_excerpt": "1 failed"}]}

Texts may be cut; then their digests and lengths stand beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from interlock.adapters.clients.client_event import action_of, open_todos
from interlock.adapters.clients.model_usage import believed
from interlock.adapters.histories.packed_json import (
    Table,
    decoded,
    fields,
    mended,
    microseconds,
    params_from,
    text,
    truth,
    whole,
    words,
)
from interlock.adapters.histories.run_files import RunLines, Source, is_lines
from interlock.adapters.histories.turn_queue import tells_of_person
from interlock.errors import InputError
from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastRun, PastStep

_CUT: Final = re.compile(r"…(?:\[\+\d+\])?$")
"""How a text ends of which only the beginning is given."""
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""How half a character is written, or each half of a whole one."""
_CUT_INSIDE: Final = re.compile(r"…\[\+\d+\]|…$")
_SHELLS: Final = frozenset("Bash bash shell run_shell_command powershell PowerShell".split())
_WRITERS: Final = ("agent", "client", "source")
"""Who wrote it down, by whichever of these names somebody has said it."""


class OwnRun(PastRun, frozen=True, kw_only=True):
    """A past run that is known whole."""

    run_id: object
    """Its name as it is written."""
    steps: tuple[PastStep, ...]


class OwnRows(RunLines):
    """Reads our own rows: the format in which anybody can hand in runs."""

    name: str = "interlock"

    def _is_its(self, path: Path, beginning: bytes) -> bool:
        return is_lines(path, beginning) and b'"steps"' in beginning

    def _run(self, line: bytes, source: Source) -> PastRun:
        return run_from_json(line, source.place)


def run_from_json(line: bytes, number: int | None = None) -> OwnRun:
    """Return the run that a line of JSON describes; the line may be known by its number."""
    written = _object(decoded(line), "a run")
    row = mended(written) if _HALF.search(line) else written
    steps = row.get("steps")
    if not isinstance(steps, list):
        raise InputError('`steps` is not a list: expected {"run_id": ..., "steps": [...]}')
    rows = cast("Sequence[object]", steps)
    client = next(filter(None, (text(row.get(each)) for each in _WRITERS)), "")
    return OwnRun(
        id=text(row.get("run_id")),
        run_id=written.get("run_id"),
        steps=tuple(
            _step(_object(step, f"steps[{place}]"), client, number)
            for place, step in enumerate(rows)
        ),
        client=client,
        project=text(row.get("repo")),
        model=words(row.get("model")),
        group=text(row.get("group")),
        success=truth(row.get("success")),
    )


def _step(row: Table, client: str, number: int | None) -> PastStep:
    arguments, result = text(row.get("args")), row.get("result_excerpt")
    tool = row.get("tool")
    given = (result, row.get("result_h"), row.get("result_len"))
    is_seen = any(each is not None for each in given)
    is_refused = row.get("rejected") is True
    is_cut = not arguments or _CUT.search(arguments) is not None
    params = None if tool is None else _params(text(tool), arguments, row)
    return PastStep(
        role=text(row.get("role")) or "assistant",
        text=text(row.get("text")),
        tool=None if tool is None else text(tool),
        action=None if params is None else action_of(text(tool), params, client, None),
        arguments=arguments,
        arguments_digest=words(row.get("args_h")) if is_cut else None,
        result=_CUT.sub("", text(result)) if is_seen else None,
        result_digest=words(row.get("result_h")),
        result_size=whole(row.get("result_len")),
        failed=truth(row.get("err")),
        ran=not is_refused,
        declined=is_refused and tells_of_person(text(result)),
        todos=open_todos(params),
        usage=_usage(row.get("tokens")),
        model=words(row.get("model")),
        finish_reason=words(row.get("finish_reason")),
        turn=whole(row.get("turn")),
        at=microseconds(row.get("ts")),
        line=number,
    )


def _params(tool: str, arguments: str, row: Table) -> Table | None:
    """Return the parameters of a call; None where not all of them are given."""
    if _CUT_INSIDE.search(arguments) or (not arguments and row.get("args_h") is not None):
        return None
    found = params_from(arguments)
    return {"command" if tool in _SHELLS else "input": found} if isinstance(found, str) else found


def _object(found: object, place: str) -> Table:
    if not isinstance(found, dict):
        raise InputError(f"{place} is not an object")
    return cast("Table", found)


def _usage(told: object) -> TokenUsage | None:
    """Return what the model was given and made; None where neither is known, or can be true."""
    counts = fields(told)
    given, made = whole(counts.get("in")), whole(counts.get("out"))
    if given is None and made is None:
        return None
    return believed(
        input_tokens=given or 0,
        output_tokens=made or 0,
        cache_read_tokens=whole(counts.get("cache_read")) or 0,
    )
