"""Beside the answers: what ended long ago leaves the ledger, as the policy says."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from interlock.errors import InterlockError
from interlock.server.desk import Desk
from interlock.service.archives import ArchiveWritten, archive_as_policy_says
from interlock.views.grounds import Grounds

_FIRST_S: Final = 60.0
_EVERY_S: Final = 6 * 3600.0
"""Of several servers each looks by itself; what one has archived the others do not find."""

_log: Final = logging.getLogger(__name__)


async def archive_what_is_old(desk: Desk) -> None:
    """Archive what the policy does not want to be kept, now and then, until it is cancelled."""
    await asyncio.sleep(_FIRST_S)
    while True:
        try:
            # Away from the threads that answer: a large ledger is looked at for a while.
            for each in await asyncio.to_thread(archive_as_policy_says, desk.governor, Grounds):
                _log.info("archived", extra={"fields": _fields(each)})
        except InterlockError as error:
            _log.warning("nothing was archived", extra={"fields": {"error": str(error)}})
        await asyncio.sleep(_EVERY_S)


def _fields(written: ArchiveWritten) -> dict[str, object]:
    return {"file": written.file, "runs": written.runs, "records": written.records}
