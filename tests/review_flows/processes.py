"""What a process of its own does to a review: each job is one step, or one side of a race."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock import StopAnswer
from interlock.model.answers import ReviewAnswer, ReviewOpening
from interlock.model.run import RunState

if TYPE_CHECKING:
    from concurrency.member import Member


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """Open a review."""

    run: str
    gates: tuple[str, ...] = ("plan",)


def open_review(member: Member, task: Opening) -> ReviewOpening:
    return member.interlock.resume(task.run).review("first", task.gates)


class Saying(msgspec.Struct, frozen=True, kw_only=True):
    """Give a verdict."""

    run: str
    said: str
    key: str | None = None


def say(member: Member, task: Saying) -> ReviewAnswer:
    run = member.interlock.resume(task.run)
    return run.verdict(task.said) if task.key is None else run.verdict(task.said, key=task.key)


class Choosing(msgspec.Struct, frozen=True, kw_only=True):
    """Choose how a review goes on."""

    approval: str
    action: str
    token: str
    instructions: str | None = None


def choose(member: Member, task: Choosing) -> ReviewAnswer:
    return member.interlock.choose(
        task.approval, task.action, token=task.token, instructions=task.instructions
    )


def end_turn(member: Member, task: Saying) -> StopAnswer:
    run = member.interlock.resume(task.run)
    return run.stopped(task.said, key=task.key) if task.key else run.stopped(task.said)


def finish(member: Member, task: str) -> RunState:
    run = member.interlock.resume(task)
    run.finish()
    return run.state


def look(member: Member, task: str) -> RunState:
    return member.interlock.resume(task).state
