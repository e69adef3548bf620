"""Everything that can happen to a run: a closed set of frozen values.

An event says what happened, completely: whoever reads the events of a ledger in order can
rebuild every account, approval and run state from them and from nothing else.
"""

from __future__ import annotations

import enum

import msgspec

from interlock.model.action import Action
from interlock.model.approval import ApprovalState, Subject
from interlock.model.belief import Belief
from interlock.model.budget import Alert, BudgetBalance
from interlock.model.checkpoint import Checkpoint
from interlock.model.edit_events import EditsApplied, Undoable, Undone
from interlock.model.happening import Happening
from interlock.model.hold import Hold
from interlock.model.progress import Observation
from interlock.model.report import Report, TestCounts
from interlock.model.review import ReviewDecision
from interlock.model.review_events import CheckRan, ReviewChosen, ReviewJudged, ReviewOpened
from interlock.model.ruling import Hard, Ruling, Waiting
from interlock.model.step import ContinueDecision, StepContext
from interlock.model.stop import StopContext, StopDecision
from interlock.model.usage import NOTHING, Amounts, Dimension, Limits, TokenUsage
from interlock.model.verdict import Decision, Finding, Severity, Verdict


class ActorKind(enum.Enum):
    """Who can make things happen."""

    AGENT = "agent"
    OPERATOR = "operator"
    SYSTEM = "system"


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever made it happen."""

    kind: ActorKind
    name: str


class RunStarted(Happening, frozen=True, kw_only=True, tag="run-started"):
    """A run was opened."""

    task: str
    agent: str
    client: str
    project: str
    policy_hash: str
    engine: str
    """The version of Interlock and of its built-in rules."""
    ancestors: tuple[str, ...] = ()
    """The runs above this one, nearest first."""
    limits: Limits = Limits()
    tree_limits: Limits = Limits()
    workspace: str | None = None
    """The folder that it works in, where checkpoints are taken."""


class Withheld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of an answer hangs on text that is not kept, because it held a secret.

    The recorded input gives the findings `instead`; the whole input gave the recorded verdict.
    """

    instead: tuple[Finding, ...] = ()


class Denial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person was asked about exactly this action and said no."""

    approval: str
    note: str | None = None


class Privilege(msgspec.Struct, frozen=True, kw_only=True):
    """How much a run may still do by itself, and what kind of action it wants to do."""

    band: str
    coherence: float
    nature: str


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was known of the run when an action was judged."""

    standings: tuple[BudgetBalance, ...] = ()
    """The accounts that have a limit."""
    asked: Amounts = NOTHING
    granted: str | None = None
    """A granted approval for exactly this action."""
    denied: Denial | None = None
    withheld: Withheld | None = None
    hold: Hold | None = None
    """What keeps the run, or one above it, from going on."""
    privilege: Privilege | None = None
    """None while nothing is taken from the run."""
    undo: Undoable | None = None
    """None where no rule lets an action through because it can be put back."""


class ActionJudged(Happening, frozen=True, kw_only=True, tag="action-judged"):
    """May it do this? was asked and answered."""

    action: Action
    """What was asked, without secrets; the parameters of a tool as JSON text."""
    digest: str
    """Keyed digest of exactly what was asked, before anything was taken out."""
    key: str | None = None
    facts: Facts
    verdict: Verdict
    decision: Decision
    """The answer: the verdict's, unless a person had approved."""
    scopes: tuple[str, ...] = ()
    reserved: Amounts = NOTHING
    lease_until: int | None = None
    approval: str | None = None
    """The approval that a person is asked for, or that let the action through."""
    replaces: int | None = None
    """The record of an earlier answer to the same key, whose promise is taken back."""
    returned: Amounts = NOTHING
    """What that earlier answer had promised."""
    alerts: tuple[Alert, ...] = ()
    """What was told with the answer about limits that came near."""


class Outcome(enum.Enum):
    """What became of an action."""

    OK = "ok"
    FAILED = "failed"
    NOT_RUN = "not-run"


class FileChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an edit did to one file, in lines."""

    path: str
    added: int = 0
    removed: int = 0
    rework: int = 0
    """Lines among the removed that this run had written itself."""
    wrote: tuple[int, ...] = ()
    """Fingerprints of the lines that are new, to know them again."""
    gone: tuple[int, ...] = ()
    """Fingerprints of the run's own lines that the file no longer has."""


class ActionObserved(Happening, frozen=True, kw_only=True, tag="action-observed"):
    """What an action did."""

    of: int | None = None
    """The record that judged it; None where nobody had asked."""
    action: Action | None = None
    """What ran, where nobody had asked."""
    tool: str
    outcome: Outcome
    exit_code: int | None = None
    duration_ms: int = 0
    usage: TokenUsage | None = None
    model: str | None = None
    cost_micros: int | None = None
    """None where the price is not known."""
    output_bytes: int = 0
    output_digest: str | None = None
    changes: tuple[FileChange, ...] = ()
    tests: TestCounts | None = None
    dependencies: tuple[str, ...] = ()
    """Packages that a changed manifest asks for."""
    forbidden: tuple[str, ...] = ()
    """Why it should not have run, if it should not have."""
    digest: str = ""
    """Digest of the report, to tell the same one sent twice from a second one."""
    forgets: str | None = None
    """The request key whose answer must not be given again, because the action failed."""
    measured: Observation | None = None
    """What the progress meter is told."""
    coherence: float | None = None
    """How coherent the run is after it."""
    progressed: bool = False
    """Whether something came of it that can be verified: new content, or better test results."""
    scopes: tuple[str, ...] = ()
    released: Amounts = NOTHING
    spent: Amounts = NOTHING


class UsageReported(Happening, frozen=True, kw_only=True, tag="usage-reported"):
    """A model was called outside of any action."""

    usage: TokenUsage
    model: str | None = None
    cost_micros: int | None = None
    scopes: tuple[str, ...] = ()
    spent: Amounts = NOTHING


class ReservationLapsed(Happening, frozen=True, kw_only=True, tag="reservation-lapsed"):
    """Nobody reported on an action in time: what it held goes back."""

    of: int
    scopes: tuple[str, ...]
    released: Amounts


class ViolationRecorded(Happening, frozen=True, kw_only=True, tag="violation-recorded"):
    """Somebody says that a rule was broken."""

    rule: str
    message: str
    severity: Severity = Severity.MEDIUM
    location: str | None = None
    corrected: bool = False


class BudgetChanged(Happening, frozen=True, kw_only=True, tag="budget-changed"):
    """A person set another limit."""

    scope: str
    dimension: Dimension
    before: int | None
    after: int | None
    note: str | None = None


class BudgetAlerted(Happening, frozen=True, kw_only=True, tag="budget-alerted"):
    """An account came close to a limit, or reached it."""

    alert: Alert


class ApprovalOpened(Happening, frozen=True, kw_only=True, tag="approval-opened"):
    """A person is asked."""

    id: str
    subject: Subject
    digest: str
    summary: str
    findings: tuple[Finding, ...]
    policy_hash: str
    expires_at: int
    uses: int


class ApprovalDecided(Happening, frozen=True, kw_only=True, tag="approval-decided"):
    """A question to a person came to its one end."""

    id: str
    state: ApprovalState
    note: str | None = None
    always: bool = False


class ApprovalUsed(Happening, frozen=True, kw_only=True, tag="approval-used"):
    """An approval let its action through."""

    id: str


class PolicyAdopted(Happening, frozen=True, kw_only=True, tag="policy-adopted"):
    """Decisions are made under another policy from here on."""

    policy_hash: str
    body_digest: str
    engine: str
    before: str | None = None
    changes: tuple[str, ...] = ()


class StepJudged(Happening, frozen=True, kw_only=True, tag="step-judged"):
    """Should it go on? was asked and answered."""

    key: str | None = None
    """The client's name for this question: asked again, it gets the same answer."""
    digest: str = ""
    """Keyed digest of exactly what was asked, for a question that has a key."""
    said: str | None = None
    """What the agent said on the way, without secrets."""
    context: StepContext
    """What was known, and what the detectors made of it."""
    throttled_before: int = 0
    hard: tuple[Hard, ...] = ()
    """What held it anyway."""
    waiting: Waiting | None = None
    credit: int
    decision: ContinueDecision
    ruling: Ruling
    approval: str | None = None
    """The question to a person whose answer lets it go on."""

    @property
    def held(self) -> bool:
        """Whether it could not have gone on whatever the gate said: no step was taken."""
        return bool(self.hard)


class StopJudged(Happening, frozen=True, kw_only=True, tag="stop-judged"):
    """Is it really done? was asked and answered."""

    key: str | None = None
    digest: str = ""
    context: StopContext
    facts: StepContext
    """What was known of the run besides its last words."""
    throttled_before: int = 0
    hard: tuple[Hard, ...] = ()
    waiting: Waiting | None = None
    credit: int
    step: ContinueDecision
    """What the continue gate said about going on."""
    decision: StopDecision
    completion: ReviewDecision | None = None
    """What the checks said that must pass before a run may finish, where it came to that."""
    ruling: Ruling
    approval: str | None = None


class BeliefHeld(Happening, frozen=True, kw_only=True, tag="belief-held"):
    """The agent says what it takes to be true, and how sure that is."""

    belief: Belief
    because: str = ""
    """What was seen, without secrets."""


class PersonSpoke(Happening, frozen=True, kw_only=True, tag="person-spoke"):
    """A person said something to the agent."""


class CheckpointTaken(Happening, frozen=True, kw_only=True, tag="checkpoint-taken"):
    """The work was saved, or could not be."""

    checkpoint: Checkpoint


class RunHalted(Happening, frozen=True, kw_only=True, tag="run-halted"):
    """A person stopped the run."""

    reason: str


class RunLifted(Happening, frozen=True, kw_only=True, tag="run-lifted"):
    """A person let the run go on."""

    reason: str


class RunFinished(Happening, frozen=True, kw_only=True, tag="run-finished"):
    """A run was closed."""

    outcome: str
    report: Report


Event = (
    RunStarted
    | ActionJudged
    | ActionObserved
    | UsageReported
    | ReservationLapsed
    | ViolationRecorded
    | BudgetChanged
    | BudgetAlerted
    | ApprovalOpened
    | ApprovalDecided
    | ApprovalUsed
    | PolicyAdopted
    | StepJudged
    | StopJudged
    | BeliefHeld
    | PersonSpoke
    | CheckpointTaken
    | RunHalted
    | RunLifted
    | ReviewOpened
    | CheckRan
    | ReviewJudged
    | ReviewChosen
    | EditsApplied
    | Undone
    | RunFinished
)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One event in its place: whose, which, when, by whom, and after what."""

    v: int
    run: str
    seq: int
    at: int
    """Microseconds since 1970, UTC."""
    by: Actor
    prev: str
    """The hash of the record before it in this run; empty for the first."""
    event: Event
