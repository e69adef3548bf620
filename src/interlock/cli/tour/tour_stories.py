"""The stories of the tour: runs that are played to a real ledger in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from interlock.cli.text.render import Line, Span, Tone, wrapped_lines
from interlock.cli.text.run_page import run_lines
from interlock.ledger.chain import decoded
from interlock.loop.control_loop import ControlLoop
from interlock.model.answers import StepAnswer
from interlock.model.budget import Budget, TokenUsage
from interlock.model.events import ActionJudged, ApprovalOpened, RunStarted
from interlock.model.loop_events import CycleDecided
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.review import Check, ReviewGate, ReviewMode, TestCounts
from interlock.model.system_loop import DEFAULT_SCOPE, LOOP_RUN
from interlock.service.interlock import Interlock, Run
from interlock.service.policies.policy_files import default_policy, load_policy
from interlock.service.records.context import SystemClock
from interlock.views.run_view import run_view
from interlock.views.timeline import Timeline
from interlock.views.timeline_entry import Entry

RUN_ABOUT: Final = (
    "Asked on the record, an answer belongs to a run: it counts against a budget, may wait for a "
    "person, and is durable before anybody hears it. This is `interlock show RUN` of a run that "
    "was just played to a ledger in memory; `interlock replay RUN` would decide it all again."
)

_PASSPHRASE: Final = "for a ledger in memory"  # noqa: S105 - which is gone with the tour


class PassingClock:
    """Starts a quarter of an hour ago and goes on when it should."""

    def __init__(self) -> None:
        self._now = SystemClock().now() - 15 * 60 * 1_000_000

    def now(self) -> int:
        """Return the time that it has come to."""
        return self._now

    def passes(self, seconds: int) -> None:
        """Go on by so many seconds."""
        self._now += seconds * 1_000_000


@contextmanager
def _opened(
    *, budget: Budget | None = None, workspace: str | None = None
) -> Generator[tuple[Interlock, Run, PassingClock]]:
    """Open a run to be played; the ledger is gone afterwards."""
    clock = PassingClock()
    with Interlock.open(":memory:", policy=default_policy(), clock=clock) as interlock:
        task = "make the totals come out right"
        run = interlock.run(
            task, agent="coder", project="shop", budget=budget or Budget(), workspace=workspace
        )
        yield interlock, run, clock


def run_story(*, width: int | None = None) -> Sequence[Line]:
    """Play a run from its beginning to its end; return its page."""
    budget = Budget(tool_calls=8, tokens=60_000, cost_usd="0.50")
    with _opened(budget=budget) as (interlock, run, clock):
        _find_the_mistake(run, clock)
        _ask_a_person(interlock, run, clock)
        run.finish()
        ledger, state = interlock.ledger, interlock.governor.state(run.id)
        entries = Timeline(ledger.rows).of_run(state.id, after=0, last=state.seq)
        view = run_view(ledger, state, SystemClock().now())
        return tuple(run_lines(view, entries, width=width))


def _first_operator(interlock: Interlock, name: str) -> str:
    """Let somebody decide in a ledger that has no operator yet; return the token."""
    interlock.set_up(name, _PASSPHRASE, cost=2)
    return interlock.unlock(name, _PASSPHRASE)


def _find_the_mistake(run: Run, clock: PassingClock) -> None:
    run.usage(TokenUsage(input_tokens=18_400, output_tokens=900), model="claude-sonnet-4-5")
    clock.passes(6)
    answer = run.command("pytest -q tests/test_cart.py")
    clock.passes(9)
    run.observe(answer, exit_code=1, duration_ms=8_700, tests=TestCounts(passed=11, failed=1))
    answer = run.may_edit(
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
    token = _first_operator(interlock, "ada")
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


_STEPS_ABOUT: Final = (
    "Before each step, and whenever the agent ends its turn, one arbiter decides from what it "
    "has seen itself: repeats, rework, progress, budgets. A run was just played; this is what it "
    "was told. `interlock watch RUN` shows it live, `interlock explain RUN` everything behind it."
)
_SUITE: Final = "pytest -q tests/test_totals.py"
_FAILED: Final = (
    "FAILED tests/test_totals.py::test_vat - assert 11 == 12\n1 failed, 11 passed in 0.61s"
)
_MARK: Final = 10
_SEEN_BEFORE: Final = (RunStarted, ActionJudged, ApprovalOpened)
"""What a visitor has seen in the chapter before."""


class Beat(NamedTuple):
    """A part of the story: a word on it, and what was recorded meanwhile."""

    note: str
    entries: tuple[Entry, ...]


def _beats(interlock: Interlock, run_id: str, notes: Iterator[str]) -> Iterator[Beat]:
    """Yield a beat for each part of a story that plays while its notes are asked for."""
    rows, seen = interlock.ledger.rows, 0
    timeline = Timeline(rows)
    for note in notes:
        fresh = rows.records(run_id, after=seen)
        seen = fresh[-1].seq
        records = [decoded(row.body) for row in fresh]
        news = [each for each in records if not isinstance(each.event, _SEEN_BEFORE)]
        yield Beat(note, tuple(map(timeline.entry, news)))


def _steps_story() -> Sequence[Beat]:
    """Play a run that gets stuck, is helped, and stops before it is done."""
    with _opened() as (interlock, run, clock):
        return tuple(_beats(interlock, run.id, _steps_played(interlock, run, clock)))


def _steps_played(interlock: Interlock, run: Run, clock: PassingClock) -> Iterator[str]:
    paused = _gets_stuck(run, clock)
    yield "It runs the same tests again and again: it is warned, then paused"
    clock.passes(50)
    token = _first_operator(interlock, "ada")
    interlock.approve(paused.approval_id or "", token=token, note="look at the rounding")
    yield "A person lets it go on, with a hint"
    _mends_it(run, clock)
    run.stopped(
        "The rounding was wrong. Now let me run the whole suite:",
        finish_reason="stop",
        todos=["run the whole suite"],
    )
    yield "It stops half-way: what is left is named, and it is sent on"
    clock.passes(5)
    run.step()
    answer = run.command("pytest -q")
    clock.passes(9)
    run.observe(answer, output="212 passed in 8.40s", exit_code=0, duration_ms=8_400)
    run.stopped(
        "All 212 tests pass; in summary, the VAT is rounded once, at the end.", finish_reason="stop"
    )
    yield "It is done, and may be"


def _gets_stuck(run: Run, clock: PassingClock) -> StepAnswer:
    """Run the same tests until somebody says stop."""
    answer = run.step()
    while answer.goes_on:
        clock.passes(6)
        asked = run.command(_SUITE)
        clock.passes(2)
        run.observe(asked, output=_FAILED, exit_code=1, duration_ms=610)
        answer = run.step()
    return answer


def _mends_it(run: Run, clock: PassingClock) -> None:
    run.step()
    clock.passes(7)
    answer = run.may_edit("src/vat.py", "vat = round(sum(parts), 2)\n", old="vat = sum(rounded)\n")
    clock.passes(1)
    run.observe(answer)
    run.step()
    clock.passes(3)
    answer = run.command(_SUITE)
    clock.passes(1)
    run.observe(answer, output="12 passed in 0.60s", exit_code=0, duration_ms=600)
    clock.passes(2)


def beat_lines(beat: Beat, *, width: int) -> Iterator[Line]:
    """Yield what was recorded, with every reason in full."""
    for entry in beat.entries:
        text = "  ".join(filter(None, (entry.text, entry.facts)))
        head = (Span(f"{entry.mark:<{_MARK}}", Tone[entry.accent.name]),)
        yield from wrapped_lines(head, text, width=width)
        for reason in entry.reasons:
            yield from wrapped_lines((Span(" " * _MARK),), reason, Tone.FAINT, width=width)


_REVIEWS_ABOUT: Final = (
    "Done means that the evidence says so. A gate has criteria for whoever reviews the work, and a "
    "check that Interlock runs itself: here a real test, in a folder that is gone afterwards. "
    "`interlock review open` and `interlock review submit` do the same from any agent."
)
_TEST: Final = """\
import unittest

from vat import vat


class Totals(unittest.TestCase):
    def test_rounds_once_at_the_end(self):
        self.assertEqual(vat([1.004, 1.004]), 2.01)

    def test_nothing_is_nothing(self):
        self.assertEqual(vat([]), 0)
"""
_WRONG: Final = "def vat(parts):\n    return sum(round(part, 2) for part in parts)\n"
_RIGHT: Final = "def vat(parts):\n    return round(sum(parts), 2)\n"
_GATES: Final = (
    ReviewGate(
        id="tests",
        criteria=("every test passes",),
        mode=ReviewMode.BLOCKING,
        check=Check(argv=("python3", "-m", "unittest", "-q")),
    ),
    ReviewGate(id="readable", criteria=("a newcomer can follow it",), mode=ReviewMode.ADVISORY),
)


def _reviews_story() -> Sequence[Beat]:
    """Play work that is held against a check, and mended; its folder is gone afterwards."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _opened(workspace=folder) as (interlock, run, clock),
    ):
        return tuple(_beats(interlock, run.id, _review_played(run, clock, Path(folder))))


def _review_played(run: Run, clock: PassingClock, folder: Path) -> Iterator[str]:
    (folder / "test_vat.py").write_text(_TEST)
    (folder / "vat.py").write_text(_WRONG)
    run.review("before-merge", _GATES, subject="the VAT is right")
    clock.passes(20)
    run.verdict("GATE_REVIEW: PASS - the totals are right now, every test passes")
    yield "It says that every test passes; its word is held against the check"
    clock.passes(60)
    (folder / "vat.py").write_text(_RIGHT)
    run.verdict(
        "GATE_REVIEW: PASS - rounded once, at the end\n"
        "GATE_VERDICTS:\n[1] PASS - both cases\n[2] FAIL - `parts` says little"
    )
    yield "It mends the mistake: the check agrees, and what only advises is told"


_LOOP_ABOUT: Final = (
    "The system asks itself what comes next: something happens, it looks around, one action of a "
    "closed set is chosen, and rails stand before whatever it would do. A loop was just played "
    "with a rule for one job; `interlock loop run` is the real one, `interlock loop log` its log."
)
_LOOP_POLICY: Final = """\
[[loop.jobs]]
name = "mend-the-build"
command = ["echo", "mended"]
on = ["ci/build.failed"]
"""


def _loop_story() -> Sequence[Beat]:
    """Play a loop that takes a note, tells of a failure, asks before a job, and is frozen."""
    clock = PassingClock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.toml").write_text(_LOOP_POLICY)
        policy = load_policy(user=folder / "policy.toml")
        with Interlock.open(":memory:", policy=policy, clock=clock) as interlock:
            loop = ControlLoop(interlock.governor, folder=folder)
            return tuple(_beats(interlock, LOOP_RUN, _loop_played(interlock, loop, clock)))


def _loop_played(interlock: Interlock, loop: ControlLoop, clock: PassingClock) -> Iterator[str]:
    loop.chain.add_note("the certificate ends on Friday", source="ada")
    _answers(loop, clock)
    yield "Somebody leaves a note: it is taken from the queue"
    loop.send("ci/nightly.failed", '{"log": "ci.example/7"}')
    _answers(loop, clock)
    yield "A build fails that no job is for: nothing is started, people are told"
    loop.send("ci/build.failed")
    [decided] = _answers(loop, clock)
    yield "Another one has a job: before it starts, a person is asked"
    token = _first_operator(interlock, "ada")
    interlock.approve(decided.approval or "", token=token, note="go on")
    loop.note_decisions()
    _answers(loop, clock)
    loop.jobs.wait()
    yield "She agrees: the job runs, as a run of its own"
    loop.chain.freeze("a release is on", Principal(kind=PrincipalKind.OPERATOR, name="ada"))
    loop.send("ci/nightly.failed", '{"log": "ci.example/8"}')
    _answers(loop, clock)
    yield "She freezes it: what happens is still on record, and nothing is let out"


def _answers(loop: ControlLoop, clock: PassingClock) -> Sequence[CycleDecided]:
    clock.passes(5)
    return loop.answer(DEFAULT_SCOPE)


class Story(NamedTuple):
    """A chapter that is played when it is shown."""

    title: str
    about: str
    play: Callable[[], Sequence[Beat]]


STORIES: Final = (
    Story("Should it go on? Is it really done?", _STEPS_ABOUT, _steps_story),
    Story("Was it good enough?", _REVIEWS_ABOUT, _reviews_story),
    Story("What next?", _LOOP_ABOUT, _loop_story),
)
