"""Whether the server is there, and ready."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.ports import ALL
from interlock.server.desk.desk import Desk
from interlock.server.desk.endpoint import Call, Endpoint, PlainText
from interlock.server.telemetry.metrics import CONTENT_TYPE


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answers."""

    status: str


async def _health(_call: Call) -> Health:
    return Health(status="ok")


async def _ready(call: Call) -> Health:
    await call.desk.driver.outside(call.desk.ledger.rows.head)
    return Health(status="ready")


async def _metrics(call: Call) -> PlainText:
    gauges = await call.desk.driver.outside(lambda: _gauges(call.desk))
    return PlainText(call.desk.metrics.text(gauges), CONTENT_TYPE)


def _gauges(desk: Desk) -> dict[str, tuple[str, float]]:
    rows, now = desk.ledger.rows, desk.now()
    waiting = rows.approvals(state="pending", limit=ALL)
    since = 0 if desk.listening is None else desk.listening.since
    return {
        "interlock_approvals_waiting": (
            "Questions that wait for a person.",
            sum(each.is_open_at(now) for each in waiting),
        ),
        "interlock_ledger_records": ("Records that were ever written.", rows.head().records),
        "interlock_start_time_seconds": ("When the server began.", since / 1_000_000),
    }


SYSTEM_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/metrics",
        scope=None,
        summary="What was counted, as Prometheus reads it",
        perform=_metrics,
        answer=str,
        kind="text/plain",
    ),
    Endpoint(
        method="GET",
        path="/healthz",
        scope=None,
        summary="Whether the server answers",
        perform=_health,
        answer=Health,
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        scope=None,
        summary="Whether the ledger can be asked",
        perform=_ready,
        answer=Health,
    ),
)
