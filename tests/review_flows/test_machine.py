"""Whatever is said and chosen in whatever order: a review does what the rules say, restarts or not.

The machine keeps its own small account of one review, in plain Python and by the rules alone, and
compares every answer and every kept state with it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from effort import examples, rounds
from gates.policies import gates_with
from interlock import InputError, Interlock, NotPermittedError, Run
from interlock.model.answers import ReviewAnswer
from interlock.model.approval import Subject
from interlock.model.principal import PrincipalKind
from interlock.model.review import EntryKind, ReviewMode
from interlock.model.run import RunStatus
from service.ledgers import HandClock, another, operator_of
from service.stepping_runs import check_record

pytestmark = pytest.mark.soak
_MAX_RESETS, _USUAL_ATTEMPTS = 2, 2
_POLICY = f"[approvals]\nexpires-seconds = 600\n[reviews]\nmax-resets = {_MAX_RESETS}\n"
_RANKS = ["informational", "advisory", "blocking"]
_BY_SEVERITY = {
    "critical": "blocking",
    "high": "advisory",
    "medium": "advisory",
    "low": "informational",
    None: "blocking",
}
_CHECKS = {"none": None, "file": ["test", "-e", "good"], "broken": ["./no-such-program"]}


class _Gate:
    """One gate, as the rules see it."""

    def __init__(
        self, name: str, mode: str | None, severity: str | None, attempts: int | None, check: str
    ) -> None:
        self.name = name
        self.mode = mode or _BY_SEVERITY[severity]
        self.attempts = attempts or _USUAL_ATTEMPTS
        self.check = check
        argv = _CHECKS[check]
        self.table = {
            "id": name,
            "criteria": ["it holds"],
            "mode": mode,
            "severity": severity,
            "max_attempts": attempts,
            "check": None if argv is None else {"argv": argv},
        }

    def speaks_against(self, *, is_good: bool) -> bool:
        """Whether its check fails, or leaves the gate unverified."""
        return self.check == "broken" or (self.check == "file" and not is_good)


_GATES = st.lists(
    st.tuples(
        st.sampled_from([None, *_RANKS]),
        st.sampled_from([None, "critical", "high", "medium", "low"]),
        st.sampled_from([None, 1, 3]),
        st.sampled_from([*_CHECKS, "none", "file"]),
    ),
    min_size=1,
    max_size=3,
).map(lambda told: [_Gate(f"g{place}", *each) for place, each in enumerate(told, 1)])


class ReviewMachine(RuleBasedStateMachine):
    """One review after the other in a run whose ledger is opened anew again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="reviews-")
        self.workspace = Path(self.folder.name) / "workspace"
        self.workspace.mkdir()
        self.clock = HandClock()
        self.interlock = self.opened()
        self.operator = operator_of(self.interlock)
        self.agent = another(self.interlock, PrincipalKind.AGENT, "eve")
        self.run_id = self.interlock.run("t", workspace=self.workspace).id
        self.gates: list[_Gate] = []
        self.is_pending = self.is_over = False
        self.attempts = self.resets = self.limit = 0
        self.history: list[str] = []
        self.closed: list[str] = []

    def opened(self) -> Interlock:
        place = Path(self.folder.name)
        return Interlock.open(
            place / "ledger.db",
            policy=gates_with(_POLICY),
            clock=self.clock,
            keys=place / "keys",
            undo_store=place / "undo",
        )

    def teardown(self) -> None:
        """Whatever happened, the record is whole, and tells and decides the same again."""
        try:
            check_record(self.interlock)
        finally:
            self.interlock.close()
            self.folder.cleanup()

    @property
    def run(self) -> Run:
        return self.interlock.resume(self.run_id)

    @property
    def awaits(self) -> bool:
        return self.is_pending and self.attempts >= self.limit

    @property
    def mode(self) -> str:
        return max((gate.mode for gate in self.gates), key=_RANKS.index)

    @initialize(gates=_GATES)
    def begin(self, gates: list[_Gate]) -> None:
        self.open_one(gates)

    @precondition(lambda self: not self.is_pending and not self.is_over)
    @rule(gates=_GATES)
    def open_one(self, gates: list[_Gate]) -> None:
        opening = self.run.review("r", [gate.table for gate in gates])
        self.gates, self.is_pending = gates, True
        self.attempts = self.resets = 0
        self.history = []
        blocking = [gate.attempts for gate in gates if gate.mode == "blocking"]
        self.limit = min(blocking, default=_USUAL_ATTEMPTS)

        assert not opening.repeated
        assert (opening.review.mode, opening.review.max_attempts) == (
            ReviewMode(self.mode),
            self.limit,
        )

    @precondition(lambda self: self.is_pending)
    @rule(
        overall=st.sampled_from(["PASS", "FAIL", "FAIL", "looks fine"]),
        named=st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=3),
        is_good=st.booleans(),
    )
    def give_a_verdict(self, overall: str, named: list[tuple[int, bool]], is_good: bool) -> None:
        mark = self.workspace / "good"
        mark.touch() if is_good else mark.unlink(missing_ok=True)
        told = [(place, good) for place, good in named if place <= len(self.gates)]
        lines = [f"[{place}] {'PASS' if good else 'FAIL'} - so it is" for place, good in told]
        below = "\n".join(["", "GATE_VERDICTS:", *lines]) if lines else ""
        answer = self.run.verdict(f"{overall} - so it is{below}")
        if self.awaits:
            assert answer.outcome.value == "refused"
            assert answer.approval_id is not None
            return
        self._count(answer, overall, {place for place, good in told if not good}, is_good)

    def _count(self, answer: ReviewAnswer, overall: str, failed: set[int], is_good: bool) -> None:
        is_read, passes = overall in {"PASS", "FAIL"}, overall == "PASS"
        if not is_read:
            failed = set()
        elif not passes and not failed:
            failed = {place for place, _ in enumerate(self.gates, 1)}
        against = [
            gate
            for place, gate in enumerate(self.gates, 1)
            if place in failed or gate.speaks_against(is_good=is_good)
        ]
        is_held = any(gate.mode == "blocking" for gate in against)
        is_held = is_held or (self.mode == "blocking" and not passes)
        is_told = any(gate.mode == "advisory" for gate in against)
        is_told = is_told or (self.mode == "advisory" and not passes)
        self.attempts += is_held
        kind = self._kind(against, overall, failed)
        assert bool(answer.footer) == is_told
        assert answer.detail.entry is not None
        assert answer.detail.entry.kind.value == kind
        if not is_held:
            assert answer.outcome.value == "advance"
            self._closes(kind)
            return
        self.history.append(kind)
        assert answer.outcome.value == ("ask" if self.awaits else "retry")
        assert answer.detail.retry_limit_exceeded == self.awaits
        assert (answer.approval_id is not None) == self.awaits
        if not self.awaits:
            assert f"Attempt {self.attempts + 1} of {self.limit}" in (answer.guidance or "")

    def _kind(self, against: list[_Gate], overall: str, failed: set[int]) -> str:
        """Return what the history calls it: gates that are milder than the review do not count."""
        if overall == "FAIL":
            return "failed"
        if overall != "PASS":
            return "unreadable"
        names = {f"g{place}" for place in failed}
        counted = [gate for gate in against if gate.mode == self.mode]
        checked = [gate for gate in counted if gate.name not in names]
        if any(gate.check == "file" for gate in checked):
            return "contradicted"
        if any(gate.name in names for gate in counted):
            return "failed"
        return "unverified" if counted else "passed"

    def _closes(self, kind: str) -> None:
        self.closed.append(kind)
        self.is_pending = False

    @precondition(lambda self: self.is_pending)
    @rule(
        action=st.sampled_from(["retry", "retry", "retry", "skip", "abort"]),
        is_by_question=st.booleans(),
    )
    def choose(self, action: str, is_by_question: bool) -> None:
        questions = self.interlock.approvals()
        before = self.run.state
        if not self.awaits:
            with pytest.raises(InputError, match="only once they are used up"):
                self.interlock.choose_review(self.run_id, action, token=self.operator)
            assert questions == []
            assert self.run.state == before
            return
        if action == "retry" and self.resets >= _MAX_RESETS:
            with pytest.raises(InputError, match="choose `skip` or `abort`"):
                self._chosen(action, is_by_question=is_by_question)
            assert self.run.state == before
            return
        outcome = self._chosen(action, is_by_question=is_by_question).outcome.value
        if action == "retry":
            assert outcome == "retry"
            self.history.append("reset")
            self.attempts, self.resets = 0, self.resets + 1
        elif action == "skip":
            assert outcome == "advance"
            self._closes("skipped")
        else:
            assert outcome == "stopped"
            self._closes("aborted")
            self.is_over = True

    def _chosen(self, action: str, *, is_by_question: bool) -> ReviewAnswer:
        questions = self.interlock.approvals()
        if is_by_question and questions:
            (question,) = questions
            return self.interlock.choose(question.id, action, token=self.operator)
        return self.interlock.choose_review(self.run_id, action, token=self.operator)

    @precondition(lambda self: self.is_pending)
    @rule(action=st.sampled_from(["retry", "skip", "abort"]))
    def choose_as_an_agent(self, action: str) -> None:
        before = self.run.state
        with pytest.raises(NotPermittedError):
            self.interlock.choose_review(self.run_id, action, token=self.agent)
        for question in self.interlock.approvals():
            with pytest.raises(NotPermittedError):
                self.interlock.choose(question.id, action, token=self.agent)
        assert self.run.state == before

    @precondition(lambda self: self.is_pending)
    @rule()
    def open_it_again(self) -> None:
        before = self.run.state
        assert self.run.review("r", [gate.table for gate in self.gates]).repeated
        assert self.run.state == before

    @rule()
    def restart(self) -> None:
        before, questions = self.run.state, self.interlock.approvals()
        self.interlock.close()
        self.interlock = self.opened()
        assert self.run.state == before
        assert self.interlock.approvals() == questions

    @rule()
    def let_the_question_run_out(self) -> None:
        self.clock.forward(seconds=601)
        assert self.interlock.approvals() == []

    @invariant()
    def what_is_kept_is_what_is_known(self) -> None:
        state = self.run.state
        assert (state.status is RunStatus.FINISHED) == self.is_over
        assert [each.kind.value for each in state.reviews.closed] == self.closed[-50:]
        if not self.is_pending:
            assert state.reviews.pending == {}
            assert self.interlock.approvals() == []
            return
        review = state.reviews.pending["r"].review
        assert (review.attempt_count, review.resets) == (self.attempts, self.resets)
        assert [entry.kind.value for entry in review.history] == self.history
        assert review.awaiting_choice == self.awaits
        questions = self.interlock.approvals()
        assert len(questions) <= self.awaits
        assert all(each.subject is Subject.REVIEW for each in questions)
        assert all(kind in {each.value for each in EntryKind} for kind in self.history)


TestReviewMachine = ReviewMachine.TestCase
TestReviewMachine.settings = settings(
    examples(12, soak=400),
    stateful_step_count=rounds(short=25, soak=40),
)
