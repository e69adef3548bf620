"""What a server tells whoever runs it: counts, traces by the GenAI conventions, and logs."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from interlock import Interlock, TokenUsage
from interlock.server.telemetry.logs import REQUEST_ID, log_as_json, stop_logging
from interlock.server.telemetry.metrics import Metrics
from interlock.server.telemetry.record_feed import RecordFeed, traces_are_asked_for
from interlock.server.telemetry.traces import FixedIds, Traces
from service.ledgers import HandClock, in_memory


class Watched:
    """A ledger whose records are counted and traced."""

    def __init__(self, interlock: Interlock, clock: HandClock) -> None:
        self.interlock = interlock
        self.clock = clock
        self.metrics = Metrics()
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        ids = FixedIds()
        tracers = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        traces = Traces(interlock.ledger.rows, tracers, meters, ids)
        self._feed = RecordFeed([self.metrics, traces])
        self._feed.start()
        interlock.ledger.when_committed = self._feed.put

    def spans(self) -> dict[str, ReadableSpan]:
        self._feed.close()
        # Of two of one name, the first.
        return {span.name: span for span in reversed(self._spans.get_finished_spans())}

    def text(self) -> str:
        self._feed.close()
        return self.metrics.text({"interlock_approvals_waiting": ("What waits.", 1)})

    def measured(self) -> dict[str, list[tuple[dict[str, object], float]]]:
        self._feed.close()
        data = self._reader.get_metrics_data()
        assert data is not None
        found = json.loads(data.to_json())
        metrics = found["resource_metrics"][0]["scope_metrics"][0]["metrics"]
        return {
            each["name"]: [
                (point["attributes"], point.get("sum", point.get("value")))
                for point in each["data"]["data_points"]
            ]
            for each in metrics
        }


@pytest.fixture
def watched() -> Iterator[Watched]:
    clock = HandClock()
    with in_memory(clock=clock) as interlock:
        yield Watched(interlock, clock)


def a_story(watched: Watched) -> tuple[str, str]:
    interlock, clock = watched.interlock, watched.clock
    above = interlock.run("above", agent="lead", project="shop")
    run = above.child("below", agent="coder", project="shop")
    clock.forward(seconds=1)
    answer = run.command("pytest -q")
    clock.forward(seconds=3)
    usage = TokenUsage(input_tokens=900, output_tokens=60)
    run.observe(answer, exit_code=0, duration_ms=2500, usage=usage, model="claude-sonnet-4-5")
    run.command("rm -rf /")
    run.finish()
    above.finish()
    return above.id, run.id


def test_an_action_is_a_span_from_the_answer_to_the_report(watched: Watched) -> None:
    above, run = a_story(watched)
    started = watched.interlock.ledger.rows.run(run)
    spans = watched.spans()
    agent, lead = spans["invoke_agent coder"], spans["invoke_agent lead"]
    ran = next(each for name, each in spans.items() if name.startswith("execute_tool "))

    assert started is not None
    assert (ran.end_time or 0) - (ran.start_time or 0) == 3_000_000_000
    assert ran.attributes is not None
    assert (
        dict(ran.attributes).items()
        >= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": f"{run}:2",
            "gen_ai.agent.name": "coder",
            "gen_ai.conversation.id": run,
            "interlock.decision": "allow",
            "interlock.run.id": run,
        }.items()
    )
    assert "pytest" not in str(dict(ran.attributes))
    assert ran.parent is not None
    assert agent.context is not None
    assert lead.context is not None
    assert ran.parent.span_id == agent.context.span_id
    assert agent.parent is not None
    assert agent.parent.span_id == lead.context.span_id
    assert lead.parent is None
    assert len({each.context.trace_id for each in (ran, agent, lead) if each.context}) == 1
    assert agent.start_time == started.started_at * 1000
    assert above != run


def test_a_refused_action_is_a_span_with_an_error(watched: Watched) -> None:
    watched.interlock.run("t", agent="coder").command("rm -rf /")
    [span] = watched.spans().values()

    assert span.attributes is not None
    assert span.name == "execute_tool command"
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "interlock.block"
    assert span.attributes["interlock.rule"]


def test_the_same_record_has_the_same_ids_wherever_it_is_told_of(watched: Watched) -> None:
    run = watched.interlock.run("t", agent="coder")
    run.command("rm -rf /")
    rows = watched.interlock.ledger.rows.records(run.id)
    told: list[tuple[int, int]] = []
    for _ in range(2):
        exporter, ids = InMemorySpanExporter(), FixedIds()
        tracers = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(exporter))
        meters = MeterProvider(shutdown_on_exit=False)
        traces = Traces(watched.interlock.ledger.rows, tracers, meters, ids)
        for row in rows:
            traces.take(row)
        [span] = exporter.get_finished_spans()
        assert span.context is not None
        told.append((span.context.trace_id, span.context.span_id))

    assert told[0] == told[1]


def test_tokens_cost_and_decisions_are_measured(watched: Watched) -> None:
    a_story(watched)
    measured = watched.measured()

    tokens = {
        point["gen_ai.token.type"]: total for point, total in measured["gen_ai.client.token.usage"]
    }
    assert tokens == {"input": 900, "output": 60}
    [(_, seconds)] = measured["gen_ai.client.operation.duration"]
    assert seconds == 2.5
    [(_, usd)] = measured["interlock.cost"]
    assert usd == pytest.approx(0.0036)
    decisions = {point["interlock.decision"]: n for point, n in measured["interlock.decisions"]}
    assert decisions == {"allow": 1, "block": 1}


def test_prometheus_reads_what_was_counted(watched: Watched) -> None:
    a_story(watched)
    watched.metrics.note_request("POST", '/v1/"runs"\n', 200, 0.004)
    watched.metrics.note_request("POST", '/v1/"runs"\n', 200, 60)
    text = watched.text()

    for line in (
        'interlock_decisions_total{question="action",decision="block"} 1',
        'interlock_records_total{kind="run-started"} 2',
        'interlock_tokens_total{type="input"} 900',
        "interlock_cost_usd_total 0.0036",
        "interlock_approvals_waiting 1",
        'interlock_request_duration_seconds_bucket{method="POST",route="/v1/\\"runs\\"\\n",'
        'status="200",le="0.005"} 1',
        'interlock_request_duration_seconds_bucket{method="POST",route="/v1/\\"runs\\"\\n",'
        'status="200",le="+Inf"} 2',
        "# TYPE interlock_request_duration_seconds histogram",
    ):
        assert f"{line}\n" in text


def test_steps_stops_and_people_are_counted(watched: Watched) -> None:
    run = watched.interlock.run("t", agent="coder")
    run.step("on it")
    run.stopped("done")
    text = watched.text()

    assert 'interlock_decisions_total{question="step",decision="continue"} 1\n' in text
    assert 'interlock_decisions_total{question="stop",' in text


def test_who_cannot_keep_up_stops_nobody(watched: Watched) -> None:
    class Broken:
        def take(self, row: object) -> None:
            raise RuntimeError(str(row)[:20])

    feed = RecordFeed([Broken(), counted := Metrics()])
    rows = watched.interlock.ledger.rows.records(watched.interlock.run("t").id)
    feed.put(rows)
    feed.start()
    feed.close()

    assert 'kind="run-started"} 1' in counted.text({})


@pytest.mark.parametrize(
    ("environment", "is_asked_for"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_traces_are_sent_only_where_somebody_asks(
    environment: dict[str, str], is_asked_for: bool
) -> None:
    assert traces_are_asked_for(environment) is is_asked_for


def test_a_log_is_lines_of_json() -> None:
    stream = io.StringIO()
    handler = log_as_json("info", stream)
    token = REQUEST_ID.set("r-1")
    try:
        log = logging.getLogger("interlock.server")
        log.info("told \x1b[31mred", extra={"fields": {"route": "/v1/runs", "level": "x"}})
        log.debug("not told")
        try:
            int("no")
        except ValueError:
            log.exception("failed")
    finally:
        REQUEST_ID.reset(token)
        stop_logging(handler)

    told, failed = map(json.loads, stream.getvalue().splitlines())
    assert (told["message"], told["route"], told["request_id"]) == (
        "told \x1b[31mred",
        "/v1/runs",
        "r-1",
    )
    assert told["level"] == "info"
    assert "\x1b" not in stream.getvalue()
    assert "ValueError: invalid literal" in failed["error"]
