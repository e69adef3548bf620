"""What this process records, handed to whoever counts and traces it, behind the answers' backs.

Only what was committed here is handed on: of several servers on one ledger each tells its own.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from interlock.model.rows import RecordRow

_MOST_WAITING: Final = 10_000
"""So many groups; what comes while they are not taken is not told of."""
_ASKED_BY: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_log: Final = logging.getLogger(__name__)


def traces_are_asked_for(environment: Mapping[str, str]) -> bool:
    """Whether the environment names somebody to send traces to."""
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not is_off and any(environment.get(name) for name in _ASKED_BY)


class Taker(Protocol):
    """Somebody who is shown every record."""

    def take(self, row: RecordRow) -> None:
        """Look at one more record."""
        ...


class RecordFeed:
    """One thread that shows records to everybody who takes them."""

    def __init__(self, takers: Sequence[Taker]) -> None:
        self._takers = takers
        self._groups: queue.Queue[Sequence[RecordRow] | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._serve, name="interlock-feed", daemon=True)
        self.missed = 0
        """How many records nobody was shown."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put(self, rows: Sequence[RecordRow]) -> None:
        """Hand over what was committed; nobody waits for anybody here."""
        try:
            self._groups.put_nowait(rows)
        except queue.Full:
            self.missed += len(rows)

    def close(self) -> None:
        """Show what is left, and end."""
        self._groups.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (rows := self._groups.get()) is not None:
            for row in rows:
                for taker in self._takers:
                    try:
                        taker.take(row)
                    except Exception:  # noqa: BLE001 - whoever counts must stop nobody
                        _log.exception("a record could not be counted or traced")
