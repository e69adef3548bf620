"""Plays the stories of the demo: some of it as if it had happened, the rest as it happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count
from typing import Final, NamedTuple

from interlock.cli.demo.demo_stories import STORIES, Deed, Story
from interlock.client import Client, ClientRun
from interlock.errors import InterlockError
from interlock.model.answers import Answer
from interlock.model.budget import Budget, TokenUsage
from interlock.model.question_fields import Seen
from interlock.model.review import TestCounts
from interlock.service.interlock import Interlock, Run
from interlock.service.questions.run_entries import starting
from interlock.service.records.context import SystemClock
from interlock.service.records.runs import ELSEWHERE, NewRun

_MODEL: Final = "claude-sonnet-4-5"
_MINUTE: Final = 60 * 1_000_000
_PACE_S: Final = 5.0
_PATIENCE_S: Final = 3_600.0
_AGAIN_S: Final = 30.0


class DemoClock:
    """Tells the time that it is told to, and then the real one."""

    def __init__(self) -> None:
        self._real = SystemClock()
        self.at: int | None = None

    def now(self) -> int:
        """Return the time."""
        return self._real.now() if self.at is None else self.at


class _Moment(NamedTuple):
    at: int
    story: Story
    deed: Deed


def play_past(interlock: Interlock, clock: DemoClock, token: str) -> dict[str, Run]:
    """Play what happened before anybody looked; return the runs by their tasks.

    Whoever has the token answered what was answered by then.
    """
    now = clock.now()
    runs: dict[str, Run] = {}
    held: set[str] = set()
    for moment in sorted(_moments(now), key=lambda each: each.at):
        clock.at = moment.at
        story = moment.story
        if story.task not in runs:
            runs[story.task] = _begun(interlock, story, runs)
        run = runs[story.task]
        if story.task not in held and not play(run, moment.deed):
            held.add(story.task)
            if story.answer:
                _answer(interlock, run, story, token)
                play(run, moment.deed)
        if story.is_over and moment.deed is story.before[-1]:
            run.finish()
    clock.at = None
    return runs


def _moments(now: int) -> Iterator[_Moment]:
    """Yield everything that happened, spread over the time until a little ago."""
    for number, story in enumerate(STORIES):
        begun = now - story.began_min * _MINUTE
        ended = now - _MINUTE * (story.ended_min or 1 + number)
        for place, deed in enumerate(story.before):
            yield _Moment(begun + place * (ended - begun) // len(story.before), story, deed)


def _answer(interlock: Interlock, run: Run, story: Story, token: str) -> None:
    """Let a person say what was said to what the run asks."""
    decide = interlock.approve if story.is_granted else interlock.deny
    for each in interlock.approvals():
        if each.run_id == run.id:
            decide(each.id, token=token, note=story.answer)


def _begun(interlock: Interlock, story: Story, runs: dict[str, Run]) -> Run:
    above = runs.get(story.below)
    new = NewRun(
        task=story.task,
        agent=story.agent,
        client=story.client,
        project=story.project,
        budget=Budget(cost_usd=story.dollars),
        parent=None if above is None else above.id,
        # Whoever looks at the demo decides: nobody descends from these agents.
        process=ELSEWHERE,
    )
    return Run(interlock.governor, interlock.governor.answer(starting(new), None).id)


def play(run: Run | ClientRun, deed: Deed, wait_s: float | None = None) -> bool:
    """Do one thing, if it may be done; return False where the run has to wait for a person."""
    if not run.step(deed.says or None, wait_s=wait_s):
        return False
    output = deed.tokens // 12
    run.usage(TokenUsage(input_tokens=deed.tokens - output, output_tokens=output), model=_MODEL)
    answer = _asked(run, deed, wait_s)
    if answer.allowed:
        seen: Seen = {"exit_code": deed.exit_code, "duration_ms": int(1000 * deed.seconds)}
        if deed.passed is not None:
            seen["tests"] = TestCounts(passed=deed.passed, failed=deed.failed)
        run.observe(answer, **seen)
    return not answer.waits_for_person


def _asked(run: Run | ClientRun, deed: Deed, wait_s: float | None) -> Answer:
    if deed.path:
        return run.may_edit(deed.path, deed.content, wait_s=wait_s)
    if deed.tool:
        return run.tool(deed.tool, deed.params, wait_s=wait_s)
    return run.command(deed.command, wait_s=wait_s)


class LiveAgents:
    """Agents that ask over the server's own socket, until it is enough."""

    def __init__(self, connect: Callable[[], Client], runs: dict[str, Run]) -> None:
        self._connect = connect
        self._ids = {task: run.id for task, run in runs.items()}
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Let every agent go on, each on a thread of its own."""
        for number, story in enumerate(each for each in STORIES if not each.is_over):
            args = (story, number * _PACE_S / len(STORIES))
            thread = threading.Thread(target=self._live, args=args, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Let it be enough; whoever waits for a person is not waited for."""
        self._over.set()

    def _live(self, story: Story, late_s: float) -> None:
        if self._over.wait(late_s):
            return
        # A server that ends takes its agents with it: nobody has to hear of that.
        try:
            with self._connect() as client:
                self._go_on(client.resume(self._ids[story.task]), what_is_left(story))
        except (InterlockError, OSError):
            self._over.wait(_AGAIN_S)

    def _go_on(self, run: ClientRun, deeds: Iterable[Deed]) -> None:
        for deed in deeds:
            if not play(run, deed, _PATIENCE_S) or self._over.wait(_PACE_S):
                return
        run.finish()


def what_is_left(story: Story) -> Iterator[Deed]:
    """Yield what an agent does from now on: what it waits for, then turn after turn."""
    turns = count() if story.after else ()
    return chain(story.before[-1:], (deed.again(turn) for turn in turns for deed in story.after))
