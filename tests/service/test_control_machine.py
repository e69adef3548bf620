"""Whatever happens to runs in whatever order: a stop lasts, a pause waits, nothing soft lifts them.

The machine keeps its own small account of what holds each run, and compares every answer with it.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from effort import examples, rounds
from gates.policies import gates_with
from interlock import (
    Budget,
    Decision,
    InputError,
    Interlock,
    NotPermittedError,
    Run,
    StepAnswer,
    StepDecision,
    StopAnswer,
    TokenUsage,
)
from interlock.model.approval import Approval, Subject
from interlock.model.arbitration import Authority
from interlock.model.facts import HoldKind
from interlock.model.principal import PrincipalKind
from interlock.model.stop import StopOutcome, StopVeto
from interlock.values import Course, StepFields, StopFields
from service.ledgers import HandClock, another, kinds_of, operator_of, person_speaks
from service.stepping_runs import check_record

pytestmark = pytest.mark.soak
_RETRIES, _CREDIT = 2, 3
_POLICY = (
    "[approvals]\nexpires-seconds = 600\n"
    f"[stops]\nmax-retries = {_RETRIES}\ncredit = {_CREDIT}\n"
    '[steps]\nmax-total = 30\ncheckpoint-interval = 5\ncheckpoint-command = "none"\n'
)
_OTHER_POLICY = _POLICY + "max-uncertainty-percent = 60\n"

_LINES = st.sampled_from(["ls", "cat a.py", "pytest", "rm -rf build", "echo x > b.py", "rm -rf /"])
_OUTPUTS = st.sampled_from(
    ["", "ok", "1 failed, 3 passed in 0.1s", "Error: no such file `a`", "a" * 60, "b" * 60]
)
_WORDS = st.sampled_from(
    [
        None,
        "Now let me run the tests.",
        "The task is complete. I changed the parser and all tests pass.",
        "Should I delete the database?",
        "I will continue with the next file.",
    ]
)
_ASIDES = (
    "doubt",
    "break_a_rule",
    "use_tokens",
    "hear_a_person",
    "finish",
    "try_to_lift_it",
)
_REASONS = st.sampled_from([None, "stop", "tool_calls", "length", "content_filter"])
_TURNS = st.sampled_from(["aaaaa", "aadaada", "adadada", "d"])
"""Turns in a row: `a` announces calls, `d` is done."""
_COURSES = {
    HoldKind.PAUSE: Course.AWAIT_PERSON,
    HoldKind.STOP: Course.HALT,
    HoldKind.PERSON_STOP: Course.HALT,
}


class _Held:
    """What the machine knows of one run."""

    def __init__(self, run: Run, above: _Held | None) -> None:
        self.run = run
        self.above = above
        self.kind: HoldKind | None = None
        self.question: str | None = None
        self.in_a_row = 0
        self.unpaid = 0
        self.is_finished = False

    def lifted(self) -> None:
        self.kind = self.question = None
        self.touched()

    def touched(self) -> None:
        self.in_a_row = self.unpaid = 0

    def everything_above(self) -> list[_Held]:
        return [self] if self.above is None else [self, *self.above.everything_above()]

    @property
    def strictest(self) -> HoldKind | None:
        kinds = [each.kind for each in self.everything_above() if each.kind is not None]
        return max(kinds, key=lambda kind: kind.rank, default=None)


class GoingMachine(RuleBasedStateMachine):
    """Runs on a ledger in memory, and everything that can happen to them."""

    runs: Bundle[_Held] = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.stack = ExitStack()
        self.policy = _POLICY
        self.interlock = self.opened()
        self.operator = operator_of(self.interlock)
        self.agent = another(self.interlock, PrincipalKind.AGENT, "eve")
        self.known: dict[str, _Held] = {}

    def opened(self) -> Interlock:
        """Open the ledger that this machine works on."""
        place = Path("nothing-is-written-here")
        gates = gates_with(self.policy)
        return self.stack.enter_context(
            Interlock.open(":memory:", policy=gates, clock=self.clock, keys=place)
        )

    def teardown(self) -> None:
        """Whatever happened, the record is whole, and tells and decides the same again."""
        try:
            check_record(self.interlock)
        finally:
            self.stack.close()

    # Runs come and go.

    @initialize(target=runs)
    def start(self) -> MultipleResults[_Held]:
        above = self._noted(self.interlock.run("t", budget=Budget(tokens=500)), None)
        return multiple(above, self._noted(above.run.child("c"), above))

    @rule(target=runs, above=runs)
    def start_below(self, above: _Held) -> _Held:
        if len(self.known) >= 3 or above.is_finished:
            return above
        return self._noted(above.run.child("c"), above)

    # What an agent does.

    @rule(held=runs, said=_WORDS, times=st.integers(1, 4))
    def step(self, held: _Held, said: str | None, times: int) -> None:
        for _ in range(times):
            self._step(held, said, {})
            self.clock.forward(seconds=6)

    @rule(held=runs, score=st.sampled_from([0.1, 0.9]))
    def step_with_bad_figures(self, held: _Held, score: float) -> None:
        """A coherence of 0.1 stops a run, an uncertainty of 0.9 pauses it."""
        self.clock.forward(seconds=6)
        is_low = score < 0.5
        figures: StepFields = {"coherence_score": score}
        self._step(held, None, figures if is_low else {"uncertainty_score": score})

    def _step(self, held: _Held, said: str | None, fields: StepFields) -> None:
        if held.is_finished:
            return
        self._ran_out(held)
        before = self._questions(held)
        answer = held.run.step(said, **fields)
        if held.strictest is None:
            self._note_step(held, answer, before)
        else:
            assert answer.decision is _decision(held.strictest)
            assert answer.ruling.course is _COURSES[held.strictest]
            assert self._questions(held) == before
        assert answer.goes_on == (held.strictest is None)

    def _note_step(self, held: _Held, answer: StepAnswer, before: int) -> None:
        if answer.decision.rank >= StepDecision.PAUSE.rank:
            is_pause = answer.decision is StepDecision.PAUSE
            held.kind = HoldKind.PAUSE if is_pause else HoldKind.STOP
            held.question = answer.approval_id
            assert answer.ruling.course is _COURSES[held.kind]
            assert held.question is not None
        assert self._questions(held) == before + (held.kind is not None)

    @rule(
        held=runs,
        text=_WORDS,
        finish_reason=_REASONS,
        todos=st.sampled_from([(), ("write the tests",)]),
        waiting=st.sampled_from([None, None, "the build"]),
    )
    def end_a_turn(
        self,
        held: _Held,
        text: str | None,
        finish_reason: str | None,
        todos: tuple[str, ...],
        waiting: str | None,
    ) -> None:
        if not held.is_finished:
            fields: StopFields = {"todos": todos}
            if finish_reason is not None:
                fields["finish_reason"] = finish_reason
            if waiting is not None:
                fields["waiting_for"] = waiting
            self._end_turn(held, text, fields)

    @rule(held=runs, turns=_TURNS)
    def insist(self, held: _Held, turns: str) -> None:
        """End turn after turn without a word: some announce calls, some are done."""
        for turn in turns:
            if not held.is_finished:
                reason = "tool_calls" if turn == "a" else "stop"
                self._end_turn(held, None, {"finish_reason": reason})

    def _end_turn(self, held: _Held, text: str | None, fields: StopFields) -> None:
        self._ran_out(held)
        before = self._questions(held)
        answer = held.run.stopped(text, **fields)
        if held.strictest is not None:
            assert not answer.goes_on
            assert answer.detail.veto is StopVeto.HARD_STOP
            assert answer.ruling.course is _COURSES[held.strictest]
            assert self._questions(held) == before
            return
        self._note_stop(held, answer)
        assert self._questions(held) == before + (held.kind is not None)

    def _note_stop(self, held: _Held, answer: StopAnswer) -> None:
        course, by = answer.ruling.course, answer.ruling.by
        if by is Authority.STEP and course in (Course.HALT, Course.AWAIT_PERSON):
            held.kind = HoldKind.STOP if course is Course.HALT else HoldKind.PAUSE
            held.question = answer.approval_id
        if answer.goes_on:
            assert answer.detail.outcome is not StopOutcome.ACTS
            assert answer.nudge
            held.in_a_row += 1
            held.unpaid += 1
        exhausted = (StopVeto.RETRIES_EXHAUSTED, StopVeto.PROTOCOL_VIOLATION)
        is_normal = course is Course.FINISH and by is Authority.STOP
        if is_normal and answer.detail.veto not in exhausted:
            held.in_a_row = 0
        assert held.in_a_row <= _RETRIES
        assert held.unpaid <= _CREDIT

    @rule(
        held=runs,
        line=_LINES,
        output=_OUTPUTS,
        exit_code=st.integers(0, 1),
        is_keyed=st.booleans(),
    )
    def act(self, held: _Held, line: str, output: str, exit_code: int, *, is_keyed: bool) -> None:
        if held.is_finished:
            return
        self._ran_out(held)
        answer = held.run.command(line, key=f"key of {line}" if is_keyed else None)
        told = [each.rule for each in answer.verdict.findings if each.gate == "continue"]
        if held.strictest is None:
            assert told == []
        else:
            assert answer.decision is Decision.BLOCK
            assert told == [f"continue.{held.strictest.value}"]
        if answer.allowed and not answer.repeated:
            seen = held.run.observe(answer, output=output, exit_code=exit_code)
            if seen.progressed:
                held.in_a_row, held.unpaid = 0, max(0, held.unpaid - 1)

    @rule(held=runs, what=st.sampled_from(_ASIDES))
    def do_something_besides(self, held: _Held, what: str) -> None:
        if not held.is_finished:
            getattr(self, f"_{what}")(held)

    def _doubt(self, held: _Held) -> None:
        held.run.belief("it works", supporting=1, opposing=15)

    def _break_a_rule(self, held: _Held) -> None:
        held.run.violation("style", "too long")

    def _use_tokens(self, held: _Held) -> None:
        held.run.usage(TokenUsage(output_tokens=90))

    def _hear_a_person(self, held: _Held) -> None:
        person_speaks(held.run)
        held.touched()

    def _finish(self, held: _Held) -> None:
        if held.above is not None:
            held.run.finish()
            held.is_finished = True
            self._refused(held, held.question)

    def _try_to_lift_it(self, held: _Held) -> None:
        """An agent's own token does none of what only people may."""
        before = kinds_of(self.interlock.ledger, held.run.id)
        with pytest.raises(NotPermittedError):
            self.interlock.lift(held.run.id, token=self.agent, reason="I am fine")
        with pytest.raises(NotPermittedError):
            self.interlock.halt(held.run.id, token=self.agent, reason="it is in my way")
        for question in self.interlock.approvals(None):
            with pytest.raises(NotPermittedError):
                self.interlock.approve(question.id, token=self.agent, note="I am fine")
        assert kinds_of(self.interlock.ledger, held.run.id) == before

    # What people do.

    @rule(note=st.sampled_from([None, " ", "it may go on", "it may go on"]))
    def say_yes(self, note: str | None) -> None:
        for question in self.interlock.approvals():
            held = self.known[question.run_id]
            if self._needs_reason(held, question) and not (note or "").strip():
                with pytest.raises(InputError, match="say why it may go on"):
                    self.interlock.approve(question.id, token=self.operator, note=note)
                continue
            self.interlock.approve(question.id, token=self.operator, note=note)
            if question.id == held.question:
                held.lifted()

    @rule()
    def say_no(self) -> None:
        for question in self.interlock.approvals():
            self.interlock.deny(question.id, token=self.operator)
            self._refused(self.known[question.run_id], question.id)

    def _needs_reason(self, held: _Held, question: Approval) -> bool:
        return question.subject is Subject.RESUME and held.kind is HoldKind.STOP

    @rule(seconds=st.sampled_from([1, 6, 30, 600, 600]))
    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds=seconds)

    @rule(held=runs, chance=st.integers(0, 2))
    def halt(self, held: _Held, chance: int) -> None:
        if chance == 0 and not held.is_finished:
            self.interlock.halt(held.run.id, token=self.operator, reason="look at this")
            held.kind, held.question = HoldKind.PERSON_STOP, None

    @rule(held=runs)
    def lift(self, held: _Held) -> None:
        if held.is_finished:
            return
        if held.kind is None:
            with pytest.raises(InputError, match=r"nothing to resume|resume that one"):
                self.interlock.lift(held.run.id, token=self.operator, reason="go on")
            return
        self.interlock.lift(held.run.id, token=self.operator, reason="go on")
        held.lifted()

    @rule(held=runs, tokens=st.sampled_from([None, 0, 5000, 5000]))
    def change_the_rules(self, held: _Held, tokens: int | None) -> None:
        if tokens is not None:
            scope = f"run/{held.run.id}"
            self.interlock.set_budget(scope, Budget(tokens=tokens), token=self.operator)
            return
        self.policy = _OTHER_POLICY if self.policy == _POLICY else _POLICY
        self.interlock.adopt(gates_with(self.policy), token=self.operator)

    # What is always so.

    @invariant()
    def what_is_kept_is_what_is_known(self) -> None:
        for held in self.known.values():
            hold = held.run.state.control.hold
            kind = None if hold is None else hold.kind
            if self._has_run_out(held):
                assert kind in (HoldKind.PAUSE, HoldKind.STOP)
            else:
                assert kind is held.kind

    def _noted(self, run: Run, above: _Held | None) -> _Held:
        held = _Held(run, above)
        self.known[run.id] = held
        return held

    def _ran_out(self, held: _Held) -> None:
        """Take note that nobody has answered in time, here or above."""
        for each in held.everything_above():
            if self._has_run_out(each):
                self._refused(each, each.question)

    def _has_run_out(self, held: _Held) -> bool:
        if held.question is None or held.is_finished:
            return False
        question = self.interlock.ledger.rows.approval(held.question)
        assert question is not None
        return not question.is_open_at(self.clock.now())

    def _refused(self, held: _Held, question: str | None) -> None:
        if question == held.question:
            held.question = None
            if held.kind is HoldKind.PAUSE:
                held.kind = HoldKind.STOP

    def _questions(self, held: _Held) -> int:
        found = self.interlock.ledger.rows.approvals(run_id=held.run.id)
        return len([each for each in found if each.subject is Subject.RESUME])


class ReopeningMachine(GoingMachine):
    """The same in a file that is closed and opened again in between."""

    def opened(self) -> Interlock:
        if not hasattr(self, "folder"):
            self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        gates = gates_with(self.policy)
        self.current = self.stack.enter_context(ExitStack())
        return self.current.enter_context(
            Interlock.open(
                self.folder / "ledger.db",
                policy=gates,
                clock=self.clock,
                keys=self.folder / "keys",
            )
        )

    @precondition(lambda self: bool(self.known))
    @rule()
    def reopen(self) -> None:
        self.current.close()
        self.interlock = self.opened()
        for held in self.known.values():
            held.run = self.interlock.resume(held.run.id)


def _decision(kind: HoldKind) -> StepDecision:
    return StepDecision.PAUSE if kind is HoldKind.PAUSE else StepDecision.STOP


TestGoingOnAndBeingDone = GoingMachine.TestCase
TestGoingOnAndBeingDone.settings = settings(
    examples(12, soak=500),
    stateful_step_count=rounds(short=40, soak=60),
)
TestAcrossReopening = ReopeningMachine.TestCase
TestAcrossReopening.settings = settings(
    examples(6, soak=100),
    stateful_step_count=rounds(short=30, soak=60),
)
