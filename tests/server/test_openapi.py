"""The description of the API: it is valid, it tells everything, and the server keeps to it."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import settings
from schemathesis import checks
from schemathesis.specs.openapi import checks as described

from effort import SOAK, rounds
from interlock.model.principal import Scope
from interlock.server.api.endpoints import ENDPOINTS
from interlock.server.api.openapi import openapi_of
from patience import LONG_ENOUGH_S
from server.served import Served

schema = schemathesis.openapi.from_dict(openapi_of(ENDPOINTS)).exclude(path="/v1/stream")
# Every edge of every field, thousands of requests: at length only.
schema.config.phases.coverage.enabled = SOAK
CHECKS: list[Any] = [
    checks.not_a_server_error,
    described.status_code_conformance,
    described.content_type_conformance,
    described.response_headers_conformance,
    described.response_schema_conformance,
]


@schema.parametrize()  # pyright: ignore[reportUntypedFunctionDecorator] - as the library has it
@settings(max_examples=rounds(short=4, soak=300))
def test_whatever_is_asked_is_answered_as_described(case: Any, shared: Served):
    if "run" in case.path_parameters:
        case.path_parameters["run"] = a_run(shared)
    # Nobody comes to decide: whoever waits would wait in vain.
    if isinstance(case.body, dict):
        case.body.pop("wait_s", None)
    case.query.pop("seconds", None)
    who = "agent" if scope_of(case) is Scope.AGENT else "ada"

    case.call_and_validate(
        base_url=shared.listening.url,
        headers={"Authorization": f"Bearer {shared.tokens[who]}"},
        checks=CHECKS,
        timeout=LONG_ENOUGH_S,
    )


def a_run(server: Served) -> str:
    """Return a run that is at work: what is drawn may have finished the last one."""
    found = server.get("/v1/runs?state=running&agent=agent&limit=1").value["runs"]
    return found[0]["id"] if found else server.run()


def scope_of(case: Any) -> Scope | None:
    method, path = case.operation.method.upper(), case.operation.path
    return next(
        each.scope
        for each in ENDPOINTS
        if (each.method, each.path.replace(":path", "")) == (method, path)
    )
