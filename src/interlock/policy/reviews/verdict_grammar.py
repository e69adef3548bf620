"""What does a verdict say? Read from a table, from JSON or a text: its first line is the whole.

Every line is searched for what is said of single gates. What does not fit is never guessed at: it
is unreadable, and the reason says what would be read.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from interlock.model.review import GateVerdict, Overall, ReviewVerdict, Unreadable
from interlock.policy.config.complaints import as_clause, one_line
from interlock.policy.reviews.spoken_failures import (
    NamedGate,
    SpokenFailure,
    failures_in,
    gates_named,
    plain_line,
)

ReadVerdict = ReviewVerdict | Unreadable
"""What was read of a verdict."""

EXPECTED: Final = "`GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - why`"
_EXPECTED_TABLE: Final = (
    '`{"overall": "FAIL", "rationale": "why", "per_gate": [{"gate": "id", "passed": false,'
    ' "rationale": "why"}]}`'
)
_MOST_READ: Final = 64 * 1024
_MOST_PER_GATE: Final = 200
_LONGEST_RATIONALE: Final = 2_000
_LONGEST_REASON: Final = 600
_SHOWN: Final = 80

_ANY_CASE: Final = re.IGNORECASE | re.ASCII
_MARKED: Final = re.compile(r"(?:GATE_REVIEW[ \t]*:|GATE[ \t])[ \t]*(.*)", _ANY_CASE)
_WORD: Final = re.compile(r"(PASS|FAIL)\b(.*)", _ANY_CASE)
# A hyphen needs room on one side: `PASS-through` is no verdict.
_BECAUSE: Final = re.compile(r"(?:\s*[:\u2013\u2014]|\s+-+|\s*-+(?=\s))\s*(.*)")
_HEADER: Final = re.compile(
    r"[\s#>+-]*(?:per[ _-]?)?(?:gates?|criteri(?:on|a))[ _-]*(?:verdicts?|results?)", _ANY_CASE
)
_OF_A_GATE: Final = re.compile(
    r"[\s>+-]*(?:\[[ \t]*([A-Z0-9._/-]+)[ \t]*\]|([0-9]{1,4})(?!\w|\.\d))[.):]*[ \t]*"
    r"(PASS(?:ED|ES)?\b)?(.*)",
    _ANY_CASE,
)
_SHOUTED: Final = re.compile(r"[ \t:-]*[A-Z]{2,}(?![\w.-])")


class VerdictSource(enum.Enum):
    """Where a text stands, and so how plainly it has to say that it is a verdict."""

    VERDICT = "verdict"
    """Whoever calls hands it over as the verdict: `PASS - why` is enough."""
    REPLY = "reply"
    """It is what the agent wrote: only a line that is marked as a verdict counts."""


def gate_verdict_from(given: object, source: VerdictSource) -> ReadVerdict:
    """Return the verdict that a text or a table holds; never raise."""
    try:
        if isinstance(given, Mapping):
            return _with_reasons(msgspec.convert(given, _Table))
        if not isinstance(given, str):
            return _unreadable(f"it is neither text nor a table: expected {_EXPECTED_TABLE}")
        if len(given) > _MOST_READ:
            return _unreadable(f"it has {len(given)} characters, at most {_MOST_READ} are read")
        text = given.strip()
        if text.startswith("{"):
            return _with_reasons(_TABLES.decode(text.encode("utf-8", "replace")))
        return _from_text(text, source)
    except msgspec.MsgspecError as error:
        return _not_the_table(error)


def with_ids(verdict: ReadVerdict, gates: Sequence[NamedGate]) -> ReadVerdict:
    """Return the verdict with the ids of its gates in place of their numbers and titles."""
    if isinstance(verdict, Unreadable):
        return verdict
    per_gate: list[GateVerdict] = []
    for each in verdict.per_gate:
        named = gates_named(each.gate, gates, exactly=each.passed or each.only_if_named)
        if not named and not each.only_if_named:
            known = ", ".join([f"[{place}] `{gate.id}`" for place, gate in enumerate(gates, 1)])
            name = one_line(each.gate, _SHOWN)
            return _unreadable(f"it names a gate `{name}`; the gates are {known}")
        per_gate += [
            GateVerdict(gate=name, passed=each.passed, rationale=each.rationale) for name in named
        ]
    return replace(verdict, per_gate=tuple(per_gate))


def with_failures(verdict: ReviewVerdict, text: str) -> ReadVerdict:
    """Return a verdict with everything in a text that reads like a FAIL.

    One that names nothing contradicts a PASS as a whole: such a verdict cannot be read. A verdict
    that is a FAIL anyway only takes from the text which gates it speaks of.
    """
    fails = verdict.overall is Overall.FAIL
    found: list[GateVerdict] = []
    for each in failures_in(text):
        sure = each.placed if fails else each.sure
        why = _rationale(each.why)
        if sure and not fails and not (each.subject and why):
            return _unclear(each)
        if each.subject:
            claim = GateVerdict(
                gate=each.subject,
                passed=False,
                rationale=why or verdict.rationale,
                only_if_named=not sure,
            )
            found.append(claim)
    count = len(verdict.per_gate) + len(found)
    if count > _MOST_PER_GATE:
        return _too_many(count)
    return replace(verdict, per_gate=(*verdict.per_gate, *found))


def _unclear(said: SpokenFailure) -> Unreadable:
    line = one_line(said.line, _SHOWN)
    if said.subject:
        return _unreadable(f"`{line}` says not why: expected `[1] FAIL - why`")
    return _unreadable(
        f"it is a PASS, and `{line}` reads like a FAIL: say of which gate, `[1] FAIL - why`, or"
        " make the whole a FAIL; what is no verdict stands in small letters"
    )


def as_said(verdict: ReviewVerdict) -> ReadVerdict:
    """Return a structured verdict with what its reasons say against what it passes."""
    reasons = [each.rationale for each in verdict.per_gate if each.passed]
    return _weighed(verdict, "\n".join([verdict.rationale, *reasons]))


def _weighed(verdict: ReviewVerdict, reasons: str) -> ReadVerdict:
    passed = _passed(reasons.splitlines())
    return passed if isinstance(passed, Unreadable) else with_failures(verdict, reasons)


class _GateTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a structured verdict says of a gate."""

    gate: str | Annotated[int, msgspec.Meta(ge=1, le=_MOST_PER_GATE)]
    passed: bool
    rationale: str


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A structured verdict. A key that nobody knows could be a misspelt FAIL: it is refused."""

    overall: str
    rationale: str
    per_gate: tuple[_GateTable, ...] = ()


_TABLES: Final = msgspec.json.Decoder(_Table)


def _not_the_table(error: Exception) -> Unreadable:
    problem, _, place = str(error).partition(" - at ")
    where = f" at {place}" if place else ""
    return _unreadable(f"{as_clause(problem)}{where}: expected {_EXPECTED_TABLE}")


def _with_reasons(table: _Table) -> ReadVerdict:
    """Return what a table says, with what its reasons say against what it passes."""
    verdict = _from_table(table)
    if isinstance(verdict, Unreadable):
        return verdict
    reasons = [each.rationale for each in table.per_gate if each.passed]
    return _weighed(verdict, "\n".join([table.rationale, *reasons]))


def _from_table(table: _Table) -> ReadVerdict:
    overall = Overall.__members__.get(table.overall.strip().upper())
    if overall is None:
        shown = one_line(table.overall, _SHOWN)
        return _unreadable(f"`overall` is `{shown}`, expected `PASS` or `FAIL`")
    rationale = _rationale(table.rationale)
    if rationale is None:
        return _unreadable(f"`rationale` is empty: say why it is a {overall.value}")
    if len(table.per_gate) > _MOST_PER_GATE:
        return _too_many(len(table.per_gate))
    per_gate: list[GateVerdict] = []
    for place, each in enumerate(table.per_gate):
        why = _rationale(each.rationale)
        if why is None:
            return _unreadable(f"`per_gate[{place}].rationale` is empty: say why")
        per_gate.append(GateVerdict(gate=str(each.gate), passed=each.passed, rationale=why))
    return ReviewVerdict(overall=overall, rationale=rationale, per_gate=tuple(per_gate))


def _from_text(text: str, source: VerdictSource) -> ReadVerdict:
    lines = [stripped for line in text.splitlines() if (stripped := line.strip())]
    if not lines:
        return _unreadable(f"it is empty: expected {EXPECTED}")
    spoken = _spoken(lines[0], source)
    if spoken is None:
        shown = one_line(lines[0], _SHOWN)
        return _unreadable(f"its first line is `{shown}`: expected {EXPECTED}")
    overall, rationale = spoken
    if rationale is None:
        return _unreadable(f"it says {overall.value} and not why: expected {EXPECTED}")
    passed = _passed(lines[1:])
    if isinstance(passed, Unreadable):
        return passed
    verdict = ReviewVerdict(overall=overall, rationale=rationale, per_gate=passed)
    return with_failures(verdict, text)


def _spoken(line: str, source: VerdictSource) -> tuple[Overall, str | None] | None:
    """Return what a line says and why; None where it is no verdict."""
    if marked := _MARKED.fullmatch(line):
        return _judgement(marked[1])
    return _judgement(line) if source is VerdictSource.VERDICT else None


def _judgement(words: str) -> tuple[Overall, str | None] | None:
    judged = _WORD.fullmatch(words)
    if judged is None:
        return None
    overall = Overall(judged[1].upper())
    if not judged[2].strip():
        return overall, None
    because = _BECAUSE.fullmatch(judged[2])
    return None if because is None else (overall, _rationale(because[1]))


def _passed(lines: Sequence[str]) -> tuple[GateVerdict, ...] | Unreadable:
    """Return the gates that are passed; below a header, each line of a gate must say something."""
    found: list[GateVerdict] = []
    headed, told = False, True
    for line in map(plain_line, lines):
        if _HEADER.fullmatch(line):
            headed, told = True, False
            continue
        of_a_gate = _OF_A_GATE.match(line)
        if of_a_gate is None:
            continue
        name, number, word, because = of_a_gate.groups()
        if word is None:
            unclear = headed or (name is not None and _SHOUTED.match(because))
            if unclear and not any(failures_in(line)):
                return _says_too_little(line, "neither PASS nor FAIL")
        elif (why := _BECAUSE.fullmatch(because)) is not None and _rationale(why[1]):
            gate = GateVerdict(gate=name or number, passed=True, rationale=_rationale(why[1]) or "")
            found.append(gate)
        elif headed or name is not None:
            return _says_too_little(line, "not why")
        told = True
    if not told:
        return _unreadable("no line such as `[1] PASS - why` stands below `GATE_VERDICTS:`")
    return tuple(found)


def _says_too_little(line: str, what: str) -> Unreadable:
    return _unreadable(f"`{one_line(line, _SHOWN)}` says {what}: expected `[1] PASS - why`")


def _rationale(text: str) -> str | None:
    """Return a reason as one line that fits on the record; None where it has no word."""
    rationale = one_line(text, _LONGEST_RATIONALE)
    return rationale if any(map(str.isalnum, rationale)) else None


def _too_many(count: int) -> Unreadable:
    return _unreadable(f"it names {count} gates, at most {_MOST_PER_GATE} are read")


def _unreadable(reason: str) -> Unreadable:
    return Unreadable(reason=reason[:_LONGEST_REASON])
