"""Real ledgers for the command line to look at, with times that a test can foretell."""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from interlock import Budget, Interlock, Run, TokenUsage
from interlock.model.short_code import CODE_LENGTH, code_of
from interlock.values import TestCounts


class SetClock:
    """Tells the time that it was set to."""

    def __init__(self, *, ago_s: float = 0.0) -> None:
        self._now = time.time_ns() // 1000 - int(ago_s * 1_000_000)

    def now(self) -> int:
        return self._now

    def passes(self, seconds: float) -> None:
        self._now += int(seconds * 1_000_000)


class Story(NamedTuple):
    """What happened in a ledger, for tests to name."""

    place: str
    checkout: str
    history: str
    changelog: str
    approval: str


def a_story(place: str) -> Story:
    """Write three runs: one that waits for a person, one below it, and a finished one."""
    # Half a minute off any full minute, so that ages come out the same in a slow test.
    clock = SetClock(ago_s=7 * 60 + 30)
    with Interlock.open(place, clock=clock) as interlock:
        checkout = a_run(
            interlock,
            "fix the checkout: totals are off by one cent",
            budget=Budget(tokens=100_000, tool_calls=20),
        )
        clock.passes(3)
        answer = checkout.command("pytest -q")
        clock.passes(2)
        counts = TestCounts(passed=10, failed=2)
        checkout.observe(answer, exit_code=1, duration_ms=2300, tests=counts)
        answer = checkout.may_edit("src/cart.py", "total = sum(items)\n", old="total = 0\n")
        checkout.observe(answer)
        clock.passes(4)
        checkout.usage(TokenUsage(input_tokens=60_000, output_tokens=18_000), model="nobody-knows")
        history = a_run(interlock, "look through the history", parent=checkout.id)
        answer = history.command("git log --oneline")
        history.observe(answer, exit_code=0, duration_ms=40)
        history.finish()
        clock.passes(60)
        checkout.violation("no-print", "a debugging print was left in", location="src/cart.py:3")
        checkout.command("rm -rf /")
        asked = checkout.command("git push --force origin topic")
        changelog = a_run(interlock, "write the changelog")
        changelog.finish()
    assert asked.approval_id is not None
    return Story(place, checkout.id, history.id, changelog.id, asked.approval_id)


def a_run(
    interlock: Interlock,
    task: str,
    *,
    parent: str | None = None,
    budget: Budget | None = None,
    tree_budget: Budget | None = None,
) -> Run:
    """Start a run of an agent in a project."""
    return interlock.run(
        task,
        agent="claude",
        client="claude-code",
        project="shop",
        parent=parent,
        budget=budget or Budget(),
        tree_budget=tree_budget or Budget(),
    )


@contextmanager
def a_question(place: str) -> Generator[str]:
    """Let an agent ask what a person has to decide, and keep its ledger open."""
    with Interlock.open(place) as interlock:
        run = a_run(interlock, "push it")
        answer = run.command("git push --force origin topic")
        assert answer.approval_id is not None
        yield answer.approval_id


def told(text: str, story: Story) -> str:
    """Return an output with the ids replaced by names of the same length."""
    for name, value in story._asdict().items():
        if name != "place":
            text = text.replace(value, f"<{name}{'.' * 34}"[: len(value) - 1] + ">")
            text = text.replace(code_of(value), f"<{name[: CODE_LENGTH - 2]}>")
    return re.sub(r"until \d\d:\d\d:\d\d", "until <time>", text)
