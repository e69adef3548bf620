"""A durable engine in memory, with the promises of the real one, whose steps a test takes.

Every turn does a flow from its beginning: steps that came to something are not done again, one
more is done, and the flow is left. So a flow is cut off between any two of its steps, and whoever
takes the next turn may be another worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Self

import msgspec

from interlock.errors import InterlockError, UnavailableError
from interlock.loop.engine import Body, Cron, JsonValue


class Crash(BaseException):
    """The process dies here; nothing of it says so to anybody."""


class _Left(BaseException):
    """A flow is left until its next turn."""


class Flow:
    """What is kept of a flow."""

    def __init__(self, name: str, argument: JsonValue) -> None:
        self.name: Final = name
        self.argument: Final = argument
        self.kept: list[tuple[str, dict[str, JsonValue]]] = []
        """What its steps came to, by their names."""
        self.is_over = False


class VirtualEngine:
    """What outlives every worker."""

    def __init__(self) -> None:
        self.flows: dict[str, Flow] = {}
        self.bugs: list[str] = []
        """What steps failed of that nothing may ever fail of."""

    def going(self) -> list[str]:
        """Return the flows that are not over, in the order in which they were begun."""
        return [flow_id for flow_id, flow in self.flows.items() if not flow.is_over]


class EngineHand:
    """One worker's hold on an engine."""

    def __init__(
        self, engine: VirtualEngine, flows: Mapping[str, Body], _crons: Mapping[str, Cron]
    ) -> None:
        self._engine = engine
        self._flows = flows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def begin(self, flow: str, flow_id: str, argument: JsonValue) -> None:
        self._engine.flows.setdefault(flow_id, Flow(flow, argument))

    def prune(self, *, keep_s: float) -> int:
        return 0

    def turn(self, flow_id: str, *, dies_unkept: bool = False) -> None:
        """Take one more step of a flow; what it came to is lost if the worker dies just then."""
        flow = self._engine.flows[flow_id]
        try:
            self._flows[flow.name](_Turn(flow, self._engine, dies_unkept), flow.argument)
        except _Left:
            return
        except UnavailableError:
            pass
        flow.is_over = True


class _Turn:
    """The steps of a flow, up to the first one that was not done before."""

    def __init__(self, flow: Flow, engine: VirtualEngine, dies_unkept: bool) -> None:
        self._flow = flow
        self._engine = engine
        self._dies_unkept = dies_unkept
        self._place = 0
        self._has_done_one = False

    def run(self, name: str, perform: Callable[[], JsonValue], *, attempts: int = 1) -> JsonValue:
        if self._place == len(self._flow.kept):
            if self._has_done_one:
                raise _Left
            outcome = self._performed(perform, attempts)
            if self._dies_unkept:
                raise Crash
            self._flow.kept.append((name, outcome))
            self._has_done_one = True
        known, kept = self._flow.kept[self._place]
        assert known == name, "a flow takes other steps than before"
        self._place += 1
        if "error" in kept:
            raise UnavailableError(f"step `{name}` failed: {kept['error']}")
        return kept["value"]

    def _performed(self, perform: Callable[[], JsonValue], attempts: int) -> dict[str, JsonValue]:
        said = ""
        for _ in range(attempts):
            try:
                return {"value": msgspec.json.decode(msgspec.json.encode(perform()))}
            except Exception as error:  # noqa: BLE001 - as the real one: it is the step's outcome
                said = f"{type(error).__name__}: {error}"
                if not isinstance(error, (InterlockError, OSError)):
                    self._engine.bugs.append(said)
        return {"error": said}
