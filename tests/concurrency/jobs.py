"""What the members of a crew do: each job is one side of a race."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from concurrency.places import SECOND
from interlock import Answer, Approval, Budget
from interlock.model.budget import Amounts
from interlock.ports import Listener

if TYPE_CHECKING:
    from concurrency.member import Member


_LONGER_THAN_ANY_TEST_S = 3600.0


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """Ask until refused."""

    run: str
    tool: str = "search"
    expects_micros: int = 0
    spares: tuple[int, ...] = (0,)
    """By how much less each action costs than expected, in turn."""
    reports: bool = True
    """Whether what was allowed is reported on; else it stays promised."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking until refused."""

    admitted: int
    spent_micros: int
    refusal: Answer


def ask_until_refused(member: Member, task: Asking) -> Asked:
    run = member.interlock.resume(task.run)
    expects = Budget(cost_usd=_usd(task.expects_micros))
    admitted = spent = 0
    while True:
        answer = run.tool(task.tool, {"number": admitted}, expects=expects)
        if not answer.allowed:
            return Asked(admitted=admitted, spent_micros=spent, refusal=answer)
        cost = task.expects_micros - task.spares[admitted % len(task.spares)]
        admitted += 1
        if task.reports:
            run.observe(answer, cost_usd=_usd(cost))
            spent += cost


class Starting(msgspec.Struct, frozen=True, kw_only=True):
    """Start a run."""

    agent: str = "agent"
    project: str = "default"
    parent: str | None = None


def start(member: Member, task: Starting) -> str:
    fields = msgspec.structs.asdict(task)
    return member.interlock.run("one of many", **fields).id


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Ask the same so many times."""

    run: str
    command: str = ""
    tool: str = ""
    params: str = "{}"
    key: str | None = None
    times: int = 1


def ask(member: Member, task: Request) -> list[Answer]:
    run = member.interlock.resume(task.run)
    if task.tool:
        return [run.tool(task.tool, task.params, key=task.key) for _ in range(task.times)]
    return [run.command(task.command, key=task.key) for _ in range(task.times)]


def ask_and_tell(member: Member, task: Request) -> None:
    """Say every action id as soon as it is known, until somebody puts an end to this."""
    run = member.interlock.resume(task.run)
    while (answer := run.command(task.command)).allowed:
        member.tell(answer.action_id)


class Reporting(msgspec.Struct, frozen=True, kw_only=True):
    """Report on an action."""

    run: str
    action: str
    outcome: str = "ok"


def report(member: Member, task: Reporting) -> Amounts:
    run = member.interlock.resume(task.run)
    return run.observe(task.action, outcome=task.outcome).released


class Deciding(msgspec.Struct, frozen=True, kw_only=True):
    """Grant or deny an approval."""

    approval: str
    token: str
    grants: bool


def decide(member: Member, task: Deciding) -> Approval:
    if task.grants:
        return member.interlock.approve(task.approval, token=task.token)
    return member.interlock.deny(task.approval, token=task.token)


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Ask, and wait for a person."""

    run: str
    command: str


def ask_and_wait(member: Member, task: Waiting) -> Answer:
    """Say when the waiting begins; nothing but being woken ends it."""
    ledger = member.interlock.ledger
    listen = ledger.listen
    # On the object: whoever listens through this ledger listens so.
    setattr(ledger, "listen", lambda: _Sleeper(listen(), member))  # noqa: B010 - not its own
    try:
        run = member.interlock.resume(task.run)
        return run.command(task.command, wait_s=_LONGER_THAN_ANY_TEST_S)
    finally:
        delattr(ledger, "listen")


class _Sleeper:
    """Never looks up by itself."""

    def __init__(self, inner: Listener, member: Member) -> None:
        self._inner = inner
        self._member = member
        self._has_told = False

    def wait(self, timeout_s: float | None) -> bool:
        assert timeout_s is not None
        if not self._has_told:
            self._has_told = True
            self._member.tell("waiting")
        return self._inner.wait(_LONGER_THAN_ANY_TEST_S)

    def close(self) -> None:
        self._inner.close()


def _usd(micros: int) -> str:
    return f"{micros // SECOND}.{micros % SECOND:06}"
