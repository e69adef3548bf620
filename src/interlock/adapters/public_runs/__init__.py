"""The formats in which public benchmarks and agents write down their runs, and our own.

Who reads a format more is an entry here.
"""

from __future__ import annotations

from typing import Final

from interlock.adapters.histories.own_rows import OwnRows
from interlock.adapters.public_runs.inspect_logs import InspectLogs
from interlock.adapters.public_runs.openhands import OpenHandsEvents, OpenHandsOutputs
from interlock.adapters.public_runs.swe_agent import SweAgent
from interlock.adapters.public_runs.tau_results import Tau2Results, TauResults
from interlock.ports import HistoryReader

PUBLIC_READERS: Final[tuple[HistoryReader, ...]] = (
    OwnRows(),
    SweAgent(),
    OpenHandsOutputs(),
    OpenHandsEvents(),
    TauResults(),
    Tau2Results(),
    InspectLogs(),
)
"""The first that reads a file has it."""
