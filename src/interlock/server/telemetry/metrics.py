"""Counts of what a server answered, as Prometheus reads them (text format 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from interlock.model.rows import RecordRow

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_MICROS: Final = 1_000_000

Labels = tuple[tuple[str, str], ...]


class _Answer(msgspec.Struct):
    decision: str


class _Outcome(msgspec.Struct):
    outcome: str


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0


class _Judged(msgspec.Struct):
    decision: str | _Answer


class _Ruled(msgspec.Struct):
    decision: _Outcome


class _Spent(msgspec.Struct):
    usage: _Usage | None = None
    cost_micros: int | None = None


class _Decided(msgspec.Struct):
    state: str


class _JudgedRecord(msgspec.Struct):
    event: _Judged


class _RuledRecord(msgspec.Struct):
    event: _Ruled


class _SpentRecord(msgspec.Struct):
    event: _Spent


class _DecidedRecord(msgspec.Struct):
    event: _Decided


# Only what is counted is read: the whole of a record takes ten times as long.
_JUDGED: Final = msgspec.json.Decoder(_JudgedRecord)
_RULED: Final = msgspec.json.Decoder(_RuledRecord)
_SPENT: Final = msgspec.json.Decoder(_SpentRecord)
_DECIDED: Final = msgspec.json.Decoder(_DecidedRecord)


class Histogram:
    """How often something took how long, in seconds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count one more."""
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, labels: Labels) -> Iterator[str]:
        """Yield it as Prometheus reads it: each bucket has all that took no longer."""
        total = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), tuple(self._counts), strict=True):
            total += count
            yield _line(f"{name}_bucket", (*labels, ("le", bound)), total)
        yield _line(f"{name}_sum", labels, self._sum)
        yield _line(f"{name}_count", labels, total)


class Metrics:
    """What was counted since the server began.

    INVARIANT: records are taken on one thread, requests on another one; both only ever add.
    """

    def __init__(self) -> None:
        self._records: Counter[str] = Counter()
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._approvals: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._cost_micros = 0
        self._requests: dict[tuple[str, str, str], Histogram] = {}
        self._taken: Mapping[str, Callable[[bytes], None]] = {
            "action-judged": lambda body: self._judged("action", body),
            "step-judged": lambda body: self._judged("step", body),
            "stop-judged": lambda body: self._ruled("stop", body),
            "review-judged": lambda body: self._ruled("review", body),
            "action-observed": self._spent,
            "usage-reported": self._spent,
            "approval-decided": self._decided,
        }

    def take(self, row: RecordRow) -> None:
        """Count one more record."""
        self._records[row.kind] += 1
        taken = self._taken.get(row.kind)
        if taken is not None:
            taken(row.body)

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one more answer over HTTP."""
        key = (method, route, str(status))
        histogram = self._requests.get(key)
        if histogram is None:
            histogram = self._requests[key] = Histogram()
        histogram.observe(seconds)

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return everything as Prometheus reads it; `gauges` are what is so just now."""
        lines = [*_family("interlock_records_total", "counter", "What was recorded, by kind.")]
        lines += _counted("interlock_records_total", ("kind",), self._records)
        lines += _family("interlock_decisions_total", "counter", "Answers, by question.")
        lines += _counted("interlock_decisions_total", ("question", "decision"), self._decisions)
        lines += _family("interlock_approvals_total", "counter", "What people decided.")
        lines += _counted("interlock_approvals_total", ("state",), self._approvals)
        lines += _family("interlock_tokens_total", "counter", "Tokens that agents reported.")
        lines += _counted("interlock_tokens_total", ("type",), self._tokens)
        lines += _family("interlock_cost_usd_total", "counter", "What those cost, where known.")
        lines.append(_line("interlock_cost_usd_total", (), self._cost_micros / _MICROS))
        name = "interlock_request_duration_seconds"
        lines += _family(name, "histogram", "How long answers over HTTP took.")
        for (method, route, status), histogram in sorted(self._requests.items()):
            labels = (("method", method), ("route", route), ("status", status))
            lines += histogram.lines(name, labels)
        for name, (about, value) in gauges.items():
            lines += _family(name, "gauge", about)
            lines.append(_line(name, (), value))
        return "\n".join(lines) + "\n"

    def _judged(self, question: str, body: bytes) -> None:
        decision = _JUDGED.decode(body).event.decision
        named = decision if isinstance(decision, str) else decision.decision
        self._decisions[question, named] += 1

    def _ruled(self, question: str, body: bytes) -> None:
        self._decisions[question, _RULED.decode(body).event.decision.outcome] += 1

    def _decided(self, body: bytes) -> None:
        self._approvals[_DECIDED.decode(body).event.state] += 1

    def _spent(self, body: bytes) -> None:
        event = _SPENT.decode(body).event
        if event.usage is not None:
            self._tokens["input"] += event.usage.input_tokens
            self._tokens["output"] += event.usage.output_tokens
        self._cost_micros += event.cost_micros or 0


def _family(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _counted(
    name: str, labels: Sequence[str], counts: Counter[str] | Counter[tuple[str, str]]
) -> Iterable[str]:
    for key, count in sorted(counts.items()):
        values = (key,) if isinstance(key, str) else key
        yield _line(name, tuple(zip(labels, values, strict=True)), count)


def _line(name: str, labels: Labels, value: float) -> str:
    if not labels:
        return f"{name} {value}"
    named = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels)
    return f"{name}{{{named}}} {value}"
