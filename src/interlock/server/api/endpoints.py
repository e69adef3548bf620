"""Everything that can be asked over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec

from interlock.server.api.access_endpoints import ACCESS_ENDPOINTS
from interlock.server.api.approval_endpoints import APPROVAL_ENDPOINTS
from interlock.server.api.budget_endpoints import BUDGET_ENDPOINTS
from interlock.server.api.history_endpoints import HISTORY_ENDPOINTS
from interlock.server.api.hook_endpoints import HOOK_ENDPOINTS
from interlock.server.api.ledger_endpoints import LEDGER_ENDPOINTS
from interlock.server.api.loop_endpoints import LOOP_ENDPOINTS
from interlock.server.api.openapi import openapi_of
from interlock.server.api.policy_endpoints import POLICY_ENDPOINTS
from interlock.server.api.run_endpoints import RUN_ENDPOINTS
from interlock.server.api.system_endpoints import SYSTEM_ENDPOINTS
from interlock.server.desk.endpoint import Call, Endpoint

_ASKED: Final[Sequence[Endpoint]] = (
    *RUN_ENDPOINTS,
    *HOOK_ENDPOINTS,
    *HISTORY_ENDPOINTS,
    *APPROVAL_ENDPOINTS,
    *BUDGET_ENDPOINTS,
    *POLICY_ENDPOINTS,
    *LOOP_ENDPOINTS,
    *LEDGER_ENDPOINTS,
    *ACCESS_ENDPOINTS,
    *SYSTEM_ENDPOINTS,
)


@cache
def _document() -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(openapi_of(ENDPOINTS)))


async def _openapi(call: Call) -> object:
    return await call.look(_document)


ENDPOINTS: Final[Sequence[Endpoint]] = (
    *_ASKED,
    Endpoint(
        method="GET",
        path="/v1/openapi.json",
        scope=None,
        summary="Everything that can be asked here, as OpenAPI 3.1",
        perform=_openapi,
        answer=dict[str, object],
    ),
)
