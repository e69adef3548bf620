"""Histories as clients write them, made small: a file of lines, and what a reader made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from interlock.model.action import ToolAction
from interlock.model.past_run import PastRun, PastStep, Unread
from interlock.ports import HistoryReader

WORK = "/home/me/shop"


class ReadRun(NamedTuple):
    """A run that was used up."""

    head: PastRun
    steps: Sequence[PastStep]

    @property
    def calls(self) -> Sequence[PastStep]:
        return [step for step in self.steps if step.tool is not None]

    @property
    def said(self) -> Sequence[tuple[str, str]]:
        return [(step.role, step.text) for step in self.steps if step.text]

    @property
    def tokens(self) -> int:
        return sum(step.tokens or 0 for step in self.steps)


class ReadHistory(NamedTuple):
    """What became of a file."""

    runs: Sequence[ReadRun]
    unread: Sequence[Unread]

    @property
    def only(self) -> ReadRun:
        (run,) = self.runs
        return run


def read(reader: HistoryReader, path: Path) -> ReadHistory:
    """Read a file, which stays as it is."""
    before = {each: each.stat().st_mtime_ns for each in path.parent.rglob("*")}
    unread: list[Unread] = []
    runs = [ReadRun(run, list(run.steps)) for run in reader.runs(path, unread.append)]
    assert {each: each.stat().st_mtime_ns for each in path.parent.rglob("*")} == before
    return ReadHistory(runs, unread)


def written(path: Path, lines: Iterable[object]) -> Path:
    """Write lines of JSON; what is bytes already is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(_line(each) for each in lines))
    return path


def _line(given: object) -> bytes:
    if isinstance(given, bytes):
        return given + b"\n"
    return json.dumps(given, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def asked(step: PastStep) -> tuple[str, Any]:
    """Return what would have been asked about."""
    assert isinstance(step.action, ToolAction)
    return step.action.name, step.action.params


def moment(second: int) -> str:
    """Return a moment as clients write it."""
    return f"2026-11-17T04:42:{second:02d}.500Z"


def at(second: int) -> int:
    """Return the same in microseconds."""
    return 1_794_890_520_500_000 + second * 1_000_000
