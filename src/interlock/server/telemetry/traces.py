"""Traces and metrics for OpenTelemetry, in the words of its GenAI conventions (1.41, development).

They follow from the records. A run is a span `invoke_agent`; an action that was reported on is a
span `execute_tool` below it, from the answer to the report, and a refused one is a short span with
an error. Ids follow from the run and the record: whichever server tells of it, it is one trace.
No argument and no text of an agent is ever sent.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from interlock.ledger.chain import decoded
from interlock.model import events
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.budget import TokenUsage
from interlock.model.rows import RecordRow
from interlock.model.verdict import Decision, Verdict
from interlock.ports import Rows

if TYPE_CHECKING:
    from opentelemetry.context import Context

_SCOPE: Final = "interlock"
_MOST_RUNS: Final = 4096
_NANOS: Final = 1000
_TOKEN_BOUNDS: Final = [4**power for power in range(14)]
_DURATION_BOUNDS: Final = [0.01 * 2**power for power in range(14)]

Attributes = Mapping[str, str | int | float]


class FixedIds(IdGenerator):
    """Ids that were chosen beforehand. INVARIANT: one thread at a time."""

    def __init__(self) -> None:
        self.trace_id = 0
        self.span_id = 0

    def generate_span_id(self) -> int:
        """Return the id of the next span."""
        return self.span_id

    def generate_trace_id(self) -> int:
        """Return the id of its trace."""
        return self.trace_id


class _Run(NamedTuple):
    """What every span of a run says."""

    id: str
    root: str
    parent: str | None
    started_at: int
    attributes: Attributes


class Traces:
    """Makes spans and measurements of records."""

    def __init__(
        self, rows: Rows, tracers: TracerProvider, meters: MeterProvider, ids: FixedIds
    ) -> None:
        self._rows = rows
        self._ids = ids
        self._ledger = rows.meta("id") or ""
        self._tracer = tracers.get_tracer(_SCOPE)
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        meter = meters.get_meter(_SCOPE)
        self._decisions = meter.create_counter(
            "interlock.decisions", unit="{decision}", description="Answers, by question."
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDS,
        )
        self._durations = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="How long what was let happen took.",
            explicit_bucket_boundaries_advisory=_DURATION_BOUNDS,
        )
        self._cost = meter.create_counter(
            "interlock.cost", unit="{USD}", description="What agents spent, where it is known."
        )

    def take(self, row: RecordRow) -> None:
        """Tell of one more record."""
        record = decoded(row.body)
        match record.event:
            case events.ActionJudged() as event:
                self._judged(record, event)
            case events.ActionObserved() as event:
                self._observed(record, event)
            case events.UsageReported(usage=usage, model=model, cost_micros=cost_micros):
                self._spent(usage, model, cost_micros, "chat")
            case events.StepJudged(decision=decision):
                self._answered(record, "step", decision.decision.value)
            case events.StopJudged(decision=decision):
                self._answered(record, "stop", decision.outcome.value)
            case events.ReviewJudged(decision=decision):
                self._answered(record, "review", decision.outcome.value)
            case events.RunFinished(outcome=outcome):
                self._finished(record, outcome)
            case _:
                pass

    def _judged(self, record: events.Record, event: events.ActionJudged) -> None:
        self._count("action", event.decision.value)
        if event.decision in (Decision.ALLOW, Decision.WARN):
            # Its span is told once it is known how that went.
            return
        attributes = _of_tool(_tool(event.action)) | _of_verdict(record, event)
        is_refused = event.decision is Decision.BLOCK
        error = f"interlock.{event.decision.value}" if is_refused else None
        self._span(record, f"execute_tool {_tool(event.action)}", attributes, error=error)

    def _observed(self, record: events.Record, event: events.ActionObserved) -> None:
        self._spent(event.usage, event.model, event.cost_micros, "execute_tool")
        row = None if event.of is None else self._rows.record(record.run, event.of)
        judged = None if row is None else decoded(row.body)
        attributes = _of_tool(event.tool)
        began = record.at - event.duration_ms * 1000
        if judged is not None and isinstance(judged.event, events.ActionJudged):
            attributes |= _of_verdict(judged, judged.event)
            began = judged.at
        attributes |= {"interlock.outcome": event.outcome.value}
        if event.exit_code is not None:
            attributes |= {"process.exit.code": event.exit_code}
        error = event.outcome.value if event.outcome is events.Outcome.FAILED else None
        self._span(record, f"execute_tool {event.tool}", attributes, began=began, error=error)
        took = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.tool}
        self._durations.record(event.duration_ms / 1000, took)

    def _answered(self, record: events.Record, question: str, decision: str) -> None:
        self._count(question, decision)
        self._span(record, f"interlock {question}", {"interlock.decision": decision})

    def _finished(self, record: events.Record, outcome: str) -> None:
        run = self._run(record.run)
        attributes = {"gen_ai.operation.name": "invoke_agent", "interlock.outcome": outcome}
        name = f"invoke_agent {run.attributes['gen_ai.agent.name']}"
        self._span(record, name, attributes, began=run.started_at, is_run=True)

    def _count(self, question: str, decision: str) -> None:
        self._decisions.add(1, {"interlock.question": question, "interlock.decision": decision})

    def _spent(
        self,
        usage: TokenUsage | None,
        model: str | None,
        cost_micros: int | None,
        operation: str,
    ) -> None:
        named = {"gen_ai.operation.name": operation, "gen_ai.provider.name": _SCOPE}
        if model is not None:
            named |= {"gen_ai.request.model": model}
        if usage is not None:
            for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                self._tokens.record(tokens, {**named, "gen_ai.token.type": kind})
        if cost_micros:
            self._cost.add(cost_micros / 1_000_000, named)

    def _span(
        self,
        record: events.Record,
        name: str,
        attributes: Attributes,
        *,
        began: int | None = None,
        error: str | None = None,
        is_run: bool = False,
    ) -> None:
        run = self._run(record.run)
        above = run.parent if is_run else run.id
        self._ids.trace_id = self._id(16, "trace", run.root)
        self._ids.span_id = self._run_span(run.id) if is_run else self._id(8, run.id, record.seq)
        failed = {"error.type": error} if error else {}
        span = self._tracer.start_span(
            name,
            context=self._below(above),
            kind=SpanKind.INTERNAL,
            attributes={**run.attributes, **attributes, "interlock.record": record.seq, **failed},
            start_time=(record.at if began is None else min(began, record.at)) * _NANOS,
        )
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(record.at * _NANOS)

    def _below(self, run_id: str | None) -> Context:
        """Return what stands above a span: that of a run, or nothing."""
        if run_id is None:
            return set_span_in_context(NonRecordingSpan(SpanContext(0, 0, is_remote=False)))
        above = SpanContext(
            self._ids.trace_id,
            self._run_span(run_id),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )
        return set_span_in_context(NonRecordingSpan(above))

    def _run_span(self, run_id: str) -> int:
        return self._id(8, "run", run_id)

    def _id(self, size: int, *named: object) -> int:
        text = "\0".join(map(str, (self._ledger, *named)))
        return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:size]) or 1

    def _run(self, run_id: str) -> _Run:
        known = self._runs.get(run_id)
        if known is None:
            known = self._runs[run_id] = self._found(run_id)
            while len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)
        return known

    def _found(self, run_id: str) -> _Run:
        row = self._rows.run(run_id)
        parent = None if row is None else row.parent
        attributes: Attributes = {
            "gen_ai.provider.name": _SCOPE,
            "gen_ai.agent.name": "" if row is None else row.agent,
            "gen_ai.conversation.id": run_id,
            "interlock.run.id": run_id,
            "interlock.project": "" if row is None else row.project,
        }
        root = run_id if parent is None else self._run(parent).root
        return _Run(run_id, root, parent, 0 if row is None else row.started_at, attributes)


def _tool(action: Action) -> str:
    match action:
        case ToolAction(name=name):
            return name
        case CommandAction():
            return "command"
        case EditAction():
            return "edit"


def _of_tool(tool: str) -> dict[str, str | int | float]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
    }


def _of_verdict(judged: events.Record, event: events.ActionJudged) -> dict[str, str | int | float]:
    return {
        "gen_ai.tool.call.id": f"{judged.run}:{judged.seq}",
        "interlock.decision": event.decision.value,
        "interlock.rule": _rule(event.verdict),
        "interlock.policy.hash": event.verdict.policy_hash,
    }


def _rule(verdict: Verdict) -> str:
    """Return the rule that decided, empty where nothing spoke against it."""
    deciding = [each.rule for each in verdict.findings if each.decision is verdict.decision]
    return deciding[0] if deciding else ""


class Telemetry(NamedTuple):
    """Traces on their way to a collector."""

    traces: Traces
    tracers: TracerProvider
    meters: MeterProvider

    def close(self) -> None:
        """Send what is left."""
        self.tracers.shutdown()
        self.meters.shutdown()


def sent_traces(rows: Rows) -> Telemetry:
    """Return traces that go where the `OTEL_*` variables say."""
    ids = FixedIds()
    about = Resource.create({"service.name": _SCOPE})
    tracers = TracerProvider(resource=about, id_generator=ids)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=about)
    return Telemetry(Traces(rows, tracers, meters, ids), tracers, meters)
