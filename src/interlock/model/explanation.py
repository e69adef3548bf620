"""The way to an answer, step by step, for whoever asks why."""

from __future__ import annotations

import msgspec

from interlock.model.verdict import Verdict


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step: `stage` is `parse`, `effect`, `rule`, `silenced` or `gate`."""

    stage: str
    text: str
    depth: int = 0
    """How deep the command stands inside others: `bash -c` and `$(...)` add one."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict together with how it came about."""

    verdict: Verdict
    steps: tuple[Step, ...]
