"""A workshop for reviews: whoever comes in opens the ledger, does one thing, and leaves again.

Nothing is carried from one call to the next but what the ledger keeps. What a run's state is
before the ledger is closed it is also for the next who opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, Unpack

from gates.policies import gates_with
from interlock import Approval, Interlock, Run
from interlock.model.answers import ReviewAnswer
from interlock.model.control_state import OpenReview
from interlock.model.events import Event
from interlock.model.question_fields import RunFields
from interlock.model.review import GateAction, ReviewMode
from interlock.model.run import RunState
from service.ledgers import HandClock, events_of, kinds_of, operator_of
from service.stepping_runs import check_record

T = TypeVar("T")

FAIL = "GATE_REVIEW: FAIL - two cases are missing"
PASS = "GATE_REVIEW: PASS - all cases are there"
DONE = "All done. Everything is finished and every test passes."
ASKED = "Which of the two databases should I use?"
ANNOUNCED = "Now let me fix the parser."

CHECK = ["grep", "-q", "good", "work.txt"]
"""Passes once the work says that it is good."""
GATES = """
[[reviews.gates]]
id = "tests"
criteria = ["every test passes", "new code has a test"]
severity = "critical"
check = ["grep", "-q", "good", "work.txt"]
[[reviews.gates]]
id = "plan"
criteria = ["the plan names every file"]
[[reviews.gates]]
id = "style"
criteria = ["it reads well"]
severity = "medium"
[[reviews.gates]]
id = "notes"
criteria = ["there are notes"]
severity = "low"
"""
COMPLETION = '[reviews]\ncompletion = ["tests"]\n' + GATES


class Workshop:
    """One run in a ledger that is opened anew for everything that is done to it."""

    def __init__(
        self,
        place: str,
        folder: Path,
        *,
        policy: str = GATES,
        clock: HandClock | None = None,
        **fields: Unpack[RunFields],
    ) -> None:
        self.folder = folder / "workspace"
        self.folder.mkdir(exist_ok=True)
        self.policy = policy
        self.clock = clock or HandClock()
        self._place = place
        self._outside = folder
        with self.opened() as interlock:
            self.operator = operator_of(interlock)
            told: RunFields = {"workspace": self.folder, **fields}
            self.run_id = interlock.run("mend the parser", **told).id

    def opened(self) -> Interlock:
        return Interlock.open(
            self._place,
            policy=gates_with(self.policy),
            clock=self.clock,
            keys=self._outside / "keys",
            undo_store=self._outside / "undo",
        )

    def does(self, what: Callable[[Run], T]) -> T:
        """Let the agent do one thing, and leave; what it leaves behind is there for the next."""
        return self.uses(lambda interlock: what(interlock.resume(self.run_id)))

    def uses(self, what: Callable[[Interlock], T]) -> T:
        """Do the same with everything that can be done to a ledger."""
        with self.opened() as interlock:
            try:
                return what(interlock)
            finally:
                left = interlock.resume(self.run_id).state
                interlock.close()
                assert self.state == left

    # What an agent does.

    def review(self, *gates: str, review_id: str = "first", subject: str = "") -> None:
        self.does(lambda run: run.review(review_id, gates, subject=subject))

    def says(self, verdict: str, key: str | None = None) -> ReviewAnswer:
        if key is None:
            return self.does(lambda run: run.verdict(verdict))
        return self.does(lambda run: run.verdict(verdict, key=key))

    def works(self, text: str = "good") -> None:
        """Change the work without telling anybody."""
        (self.folder / "work.txt").write_text(text)

    def acts(self, line: str = "ls") -> None:
        self.does(lambda run: run.observe(run.command(line), exit_code=0))

    # What a person does.

    def chooses(
        self,
        approval_id: str | None,
        action: GateAction | str,
        *,
        instructions: str | None = None,
        token: str | None = None,
    ) -> ReviewAnswer:
        assert approval_id is not None
        by = self.operator if token is None else token
        return self.uses(
            lambda interlock: interlock.choose(
                approval_id, action, token=by, instructions=instructions
            )
        )

    # What is kept.

    @property
    def state(self) -> RunState:
        with self.opened() as interlock:
            return interlock.resume(self.run_id).state

    @property
    def pending(self) -> OpenReview:
        (found,) = self.state.reviews.pending.values()
        return found

    @property
    def inbox(self) -> Sequence[Approval]:
        with self.opened() as interlock:
            return interlock.approvals()

    def question(self, approval_id: str) -> Approval:
        with self.opened() as interlock:
            found = interlock.ledger.rows.approval(approval_id)
            assert found is not None
            return found

    @property
    def events(self) -> list[Event]:
        with self.opened() as interlock:
            return events_of(interlock.ledger, self.run_id)

    @property
    def kinds(self) -> list[str]:
        with self.opened() as interlock:
            return kinds_of(interlock.ledger, self.run_id)

    def is_sound(self) -> bool:
        """Whether the chains are whole, tell the states that are kept, and decide the same."""
        with self.opened() as interlock:
            check_record(interlock)
        return True


def counted(workshop: Workshop) -> tuple[int, int, ReviewMode]:
    """Return how many attempts were counted, how many resets, and how strict the review is."""
    review = workshop.pending.review
    return review.attempt_count, review.resets, review.mode


def used_up(workshop: Workshop, *gates: str) -> str:
    """Use up the attempts of a review; return the question to a person."""
    workshop.review(*(gates or ("plan",)))
    workshop.says(FAIL)
    answer = workshop.says(FAIL)
    assert answer.approval_id is not None
    return answer.approval_id
