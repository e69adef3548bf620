"""Everything that can be asked over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.server.api.run_endpoints import RUN_ENDPOINTS
from interlock.server.api.system_endpoints import SYSTEM_ENDPOINTS
from interlock.server.endpoint import Endpoint

ENDPOINTS: Final[Sequence[Endpoint]] = (*SYSTEM_ENDPOINTS, *RUN_ENDPOINTS)
