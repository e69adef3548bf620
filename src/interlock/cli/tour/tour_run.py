"""A run from its first question to its report, played to a real ledger in memory."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from interlock.ledger.ledger import Ledger
from interlock.model.budget import Budget, TokenUsage
from interlock.model.events import ActorKind
from interlock.model.report import TestCounts
from interlock.model.run import RunState
from interlock.service.context import SystemClock
from interlock.service.credentials import grant, new_token
from interlock.service.interlock import Interlock, Run
from interlock.service.wiring import default_gates

ABOUT = (
    "Asked on the record, an answer belongs to a run: it counts against a budget, may wait for a "
    "person, and is durable before anybody hears it. This is `interlock show RUN` of a run that "
    "was just played to a ledger in memory; `interlock replay RUN` would decide it all again."
)


class Played(NamedTuple):
    """What is left of the run: the ledger, and its last state."""

    ledger: Ledger
    state: RunState


class PassingClock:
    """Starts a quarter of an hour ago and goes on when it is told to."""

    def __init__(self) -> None:
        self._now = SystemClock().now() - 15 * 60 * 1_000_000

    def now(self) -> int:
        """Return the time that it has come to."""
        return self._now

    def passes(self, seconds: int) -> None:
        """Go on by so many seconds."""
        self._now += seconds * 1_000_000


@contextmanager
def played_run() -> Generator[Played]:
    """Play the run; the ledger is gone afterwards."""
    clock = PassingClock()
    with Interlock.open(":memory:", gates=default_gates(), clock=clock) as interlock:
        run = interlock.run(
            "make the totals come out right",
            agent="coder",
            project="shop",
            budget=Budget(tool_calls=8, tokens=60_000, cost_usd="0.50"),
        )
        _find_the_mistake(run, clock)
        _ask_a_person(interlock, run, clock)
        run.finish()
        yield Played(interlock.ledger, interlock.governor.state(run.id))


def first_operator(interlock: Interlock, name: str) -> str:
    """Let somebody decide in a ledger that has no operator yet; return the token."""
    token, governor = new_token(), interlock.governor
    governor.done(grant(governor.context, kind=ActorKind.OPERATOR, name=name, token=token, by=None))
    return token


def _find_the_mistake(run: Run, clock: PassingClock) -> None:
    run.usage(TokenUsage(input_tokens=18_400, output_tokens=900), model="claude-sonnet-4-5")
    clock.passes(6)
    answer = run.command("pytest -q tests/test_cart.py")
    clock.passes(9)
    run.observe(answer, exit_code=1, duration_ms=8_700, tests=TestCounts(passed=11, failed=1))
    answer = run.edit(
        "src/cart.py", "total = sum(item.price for item in items)\n", old="total = items[0].price\n"
    )
    clock.passes(1)
    run.observe(answer)
    run.usage(TokenUsage(input_tokens=22_100, output_tokens=1_300), model="claude-sonnet-4-5")
    clock.passes(5)
    answer = run.tool("Bash", {"command": "pytest -q"})
    clock.passes(10)
    run.observe(answer, exit_code=0, duration_ms=9_400, tests=TestCounts(passed=12))


def _ask_a_person(interlock: Interlock, run: Run, clock: PassingClock) -> None:
    token = first_operator(interlock, "ada")
    clock.passes(3)
    run.command("rm -rf ~")
    clock.passes(2)
    line = "git push --force origin totals"
    answer = run.command(line)
    clock.passes(41)
    interlock.approve(answer.approval_id or "", token=token, note="it is your own branch")
    answer = run.command(line)
    clock.passes(2)
    run.observe(answer, exit_code=0, duration_ms=1_900)
