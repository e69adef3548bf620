"""How past runs ended: from a file, or from what people thought of the moments of an audit.

A file is CSV with a header, or JSON lines; a row has a run and how it ended:

    run_id,outcome                  {"run_id": "a1", "success": true}
    a1,success                      {"run_id": "a2", "outcome": "failure"}
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

import msgspec

from interlock.backtest.calibrate.calibration import is_beyond_chance
from interlock.errors import InputError
from interlock.model.audit import Mark, Marked, MomentKind
from interlock.model.past_run import Unread

_RUN: Final = ("run_id", "run", "id")
_OUTCOME: Final = ("success", "outcome", "passed", "result")
_WORDS: Final = {
    **dict.fromkeys(
        ("true", "1", "yes", "success", "succeeded", "pass", "passed", "good", "kept"), True
    ),
    **dict.fromkeys(("false", "0", "no", "failure", "failed", "fail", "bad", "lost"), False),
}


def outcomes_in(text: str, name: str) -> tuple[Mapping[str, bool], tuple[Unread, ...]]:
    """Return how each run of a file ended, and the rows that do not say so."""
    found: dict[str, bool] = {}
    bad: list[Unread] = []
    is_json = text.lstrip().startswith("{")
    for line, row in _json_rows(text) if is_json else _csv_rows(text):
        try:
            run, success = _outcome(row)
        except InputError as error:
            bad.append(Unread(path=name, line=line, reason=str(error)))
            continue
        if found.setdefault(run, success) is not success:
            twice = f"run `{run}` has another outcome further up, which counts"
            bad.append(Unread(path=name, line=line, reason=twice))
    return found, tuple(bad)


def _json_rows(text: str) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, InputError(f"not JSON: {error}")


def _csv_rows(text: str) -> Iterator[tuple[int, object]]:
    reader = csv.DictReader(text.splitlines(), strict=True)
    try:
        named = {each.strip().lower() for each in reader.fieldnames or ()}
        if named and not (named & {*_RUN} and named & {*_OUTCOME}):
            yield (
                1,
                InputError(
                    f"its header is {_named(sorted(named))}: expected one of {_named(_RUN)} and one"
                    f" of {_named(_OUTCOME)}"
                ),
            )
            return
        for row in reader:
            yield reader.line_num, {(key or "").strip().lower(): row[key] for key in row}
    except csv.Error as error:
        yield reader.line_num, InputError(f"not CSV: {error}")


def _outcome(row: object) -> tuple[str, bool]:
    if isinstance(row, InputError):
        raise row
    if not isinstance(row, dict):
        raise InputError("not an object with `run_id` and `success`")
    fields = cast("Mapping[str, object]", row)
    run = next((fields[each] for each in _RUN if fields.get(each) not in (None, "")), None)
    if not isinstance(run, str | int):
        raise InputError(f"no run: expected one of {_named(_RUN)}")
    told = next((fields[each] for each in _OUTCOME if fields.get(each) not in (None, "")), None)
    success = _WORDS.get(str(told).strip().lower())
    if success is None:
        raise InputError(
            f"how run `{run}` ended is `{'' if told is None else told}`:"
            f" expected `success` or `failure` under one of {_named(_OUTCOME)}"
        )
    return str(run), success


def _named(fields: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in fields)


class MarkedRule(msgspec.Struct, frozen=True, kw_only=True):
    """How often a rule was right, by what people thought."""

    rule: str
    right: int
    wrong: int
    is_suspect: bool
    """Whether it is wrong more often than right, beyond chance."""


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """What people's marks say of runs, of ends of turns, and of rules."""

    runs: Mapping[str, bool]
    """Whether to hold a run would have been wrong."""
    ends: Mapping[tuple[str, int], bool]
    """Whether the work was done, by the run and the step that ended its turn."""
    rules: tuple[MarkedRule, ...]


def marks_in(marks: Iterable[Marked]) -> Marks:
    """Return what marks say; of several on one run, that a hold was wrong counts more."""
    runs: dict[str, bool] = {}
    ends: dict[tuple[str, int], bool] = {}
    counts: Counter[tuple[str, Mark]] = Counter()
    for each in marks:
        moment, is_wrong = each.moment, each.mark is Mark.WRONG
        match moment.kind:
            case MomentKind.LOOP:
                runs[moment.run] = runs.get(moment.run, False) or is_wrong
            case MomentKind.EARLY_STOP | MomentKind.FALSE_DONE:
                ends[moment.run, moment.step] = is_wrong
            case MomentKind.ACTION | MomentKind.SECRET:
                counts[moment.rule, each.mark] += 1
    return Marks(runs=runs, ends=ends, rules=tuple(_rules(counts)))


def _rules(counts: Counter[tuple[str, Mark]]) -> Iterator[MarkedRule]:
    for rule in sorted({rule for rule, _ in counts}):
        right, wrong = counts[rule, Mark.RIGHT], counts[rule, Mark.WRONG]
        is_suspect = is_beyond_chance(wrong, right)
        yield MarkedRule(rule=rule, right=right, wrong=wrong, is_suspect=is_suspect)
