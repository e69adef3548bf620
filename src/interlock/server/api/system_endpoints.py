"""Whether the server is there, and ready."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.server.endpoint import Call, Endpoint


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answers."""

    status: str


async def _health(_call: Call) -> Health:
    return Health(status="ok")


async def _ready(call: Call) -> Health:
    await call.desk.driver.outside(call.desk.ledger.rows.head)
    return Health(status="ready")


SYSTEM_ENDPOINTS: Final = (
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
