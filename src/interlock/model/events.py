"""Everything that can happen to a run: a closed set of frozen values.

An event says what happened, completely: whoever reads the events of a ledger in order can
rebuild every account, approval and run state from them and from nothing else.
"""

from __future__ import annotations

import enum

import msgspec

from interlock.model.action import Action
from interlock.model.approval import ApprovalState, Subject
from interlock.model.arbitration import Hard, Ruling, Waiting
from interlock.model.budget import (
    NOTHING,
    Alert,
    Amounts,
    Dimension,
    Limits,
    TokenUsage,
)
from interlock.model.domain_event import DomainEvent
from interlock.model.edit import Applied
from interlock.model.facts import Facts, Layer
from interlock.model.loop_events import LoopEvent
from interlock.model.own_places import NOWHERE, OwnPlaces
from interlock.model.principal import (
    CredentialMethod,
    PassphraseCost,
    Principal,
    PrincipalKind,
)
from interlock.model.progress_meter import Observation
from interlock.model.review import (
    CheckResult,
    GateAction,
    GateCoverage,
    PendingGateReview,
    Report,
    ReviewDecision,
    ReviewGate,
    ReviewPurpose,
    ReviewVerdict,
    TestCounts,
)
from interlock.model.step import Belief, Checkpoint, ContinueDecision, StepContext
from interlock.model.stop import StopContext, StopDecision
from interlock.model.verdict import Decision, Finding, Severity, Verdict


class EditsApplied(DomainEvent, frozen=True, kw_only=True, tag="edits-applied"):
    """A set of edits was applied; its id puts it back."""

    of: int
    """The record that judged it."""
    applied: Applied
    layers: tuple[Layer, ...] = ()
    """How the texts to be replaced were found, from sure to likely."""


class UndoKind(enum.StrEnum):
    """What was put back."""

    EDITS = "edits"
    SNAPSHOT = "snapshot"


class Undone(DomainEvent, frozen=True, kw_only=True, tag="undone"):
    """Files were put back to what they were."""

    id: str
    kind: UndoKind
    paths: tuple[str, ...]
    undo_id: str | None = None
    """What would put it back again, where that is stored."""
    digest: str | None = None
    """What the manifest of that is known by, where it is a snapshot."""


class ReviewOpened(DomainEvent, frozen=True, kw_only=True, tag="review-opened"):
    """Work waits for a review from here on."""

    review: PendingGateReview
    gates: tuple[ReviewGate, ...]
    """As they were then: another policy does not change what was asked."""
    purpose: ReviewPurpose = ReviewPurpose.WORK
    subject: str = ""
    """What is reviewed, in words and without secrets."""


class CheckRan(DomainEvent, frozen=True, kw_only=True, tag="check-ran"):
    """A gate's check was run, or could not be."""

    review: str
    result: CheckResult
    command: str
    """What was run; a check with a secret in it is refused before."""
    findings: tuple[Finding, ...] = ()
    """Why the policy did not let it run."""
    duration_ms: int = 0
    measured: Observation | None = None
    """What the progress meter is given."""
    progressed: bool = False
    """Whether fewer tests fail than ever before in this run."""


class ReviewJudged(DomainEvent, frozen=True, kw_only=True, tag="review-judged"):
    """Was it good enough? was asked and answered."""

    review: str
    key: str | None = None
    """The client's name for this verdict: sent again, it gets the same answer."""
    digest: str = ""
    verdict: ReviewVerdict | None = None
    """What was said, without secrets; None where it could not be read."""
    unreadable: str | None = None
    """Why it could not be read."""
    decision: ReviewDecision
    coverage: tuple[GateCoverage, ...] = ()
    """What was known of each gate besides what was said."""
    approval: str | None = None
    """The question to a person whose choice moves the review."""


class ReviewChosen(DomainEvent, frozen=True, kw_only=True, tag="review-chosen"):
    """A person chose how a review goes on whose attempts are used up."""

    review: str
    action: GateAction
    instructions: str | None = None
    decision: ReviewDecision
    approval: str | None = None
    """The question that was answered."""


class RunStarted(DomainEvent, frozen=True, kw_only=True, tag="run-started"):
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
    own_places: OwnPlaces = NOWHERE
    """Where Interlock itself is: its files are protected there while the run goes on."""
    process: str = ""
    """The process that it was started for, with its machine's boot and its own start."""


class RunResumed(DomainEvent, frozen=True, kw_only=True, tag="run-resumed"):
    """Another process went on with a run, after the one that it was started for had ended."""

    process: str


class ActionJudged(DomainEvent, frozen=True, kw_only=True, tag="action-judged"):
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
    """The record of an earlier answer to the same key, whose reservation is released."""
    returned: Amounts = NOTHING
    """What that earlier answer had reserved."""
    alerts: tuple[Alert, ...] = ()
    """The limits that came near, as the answer says."""


class Outcome(enum.StrEnum):
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


class ActionObserved(DomainEvent, frozen=True, kw_only=True, tag="action-observed"):
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
    """Digest of the report, by which the same one sent twice is not taken for a second one."""
    forgets: str | None = None
    """The request key whose answer must not be given again, because the action failed."""
    measured: Observation | None = None
    """What the progress meter is given."""
    coherence: float | None = None
    """How coherent the run is after it."""
    progressed: bool = False
    """Whether something came of it that can be verified: new content, or better test results."""
    scopes: tuple[str, ...] = ()
    released: Amounts = NOTHING
    spent: Amounts = NOTHING


class UsageReported(DomainEvent, frozen=True, kw_only=True, tag="usage-reported"):
    """A model was called outside of any action."""

    usage: TokenUsage
    model: str | None = None
    cost_micros: int | None = None
    scopes: tuple[str, ...] = ()
    spent: Amounts = NOTHING
    key: str | None = None
    digest: str = ""
    """Keyed digest of exactly what was reported, for a report that has a key."""


class ReservationLapsed(DomainEvent, frozen=True, kw_only=True, tag="reservation-lapsed"):
    """Nobody reported on an action in time: what it held goes back."""

    of: int
    scopes: tuple[str, ...]
    released: Amounts


class ViolationRecorded(DomainEvent, frozen=True, kw_only=True, tag="violation-recorded"):
    """Somebody says that a rule was broken."""

    rule: str
    message: str
    severity: Severity = Severity.MEDIUM
    location: str | None = None
    corrected: bool = False


class BudgetChanged(DomainEvent, frozen=True, kw_only=True, tag="budget-changed"):
    """A person set another limit."""

    scope: str
    dimension: Dimension
    before: int | None
    after: int | None
    note: str | None = None


class BudgetAlerted(DomainEvent, frozen=True, kw_only=True, tag="budget-alerted"):
    """An account came close to a limit, or reached it."""

    alert: Alert


class ApprovalOpened(DomainEvent, frozen=True, kw_only=True, tag="approval-opened"):
    """A person is asked."""

    id: str
    subject: Subject
    digest: str
    summary: str
    findings: tuple[Finding, ...]
    policy_hash: str
    expires_at: int
    uses: int


class ApprovalDecided(DomainEvent, frozen=True, kw_only=True, tag="approval-decided"):
    """A question to a person came to its one end."""

    id: str
    state: ApprovalState
    note: str | None = None
    always: bool = False


class ApprovalUsed(DomainEvent, frozen=True, kw_only=True, tag="approval-used"):
    """An approval let its action through."""

    id: str


class PolicyAdopted(DomainEvent, frozen=True, kw_only=True, tag="policy-adopted"):
    """Decisions are made under another policy from here on."""

    policy_hash: str
    body_digest: str
    engine: str
    before: str | None = None
    changes: tuple[str, ...] = ()
    project: str | None = None
    """The project that it counts for; None where it counts by default, or for one run."""


class CredentialGranted(DomainEvent, frozen=True, kw_only=True, tag="credential-granted"):
    """Somebody can prove who they are from here on."""

    digest: str
    """Of the token: nothing here gives the token away."""
    kind: PrincipalKind
    name: str
    method: CredentialMethod
    cost: PassphraseCost | None = None
    """How the token follows from a passphrase."""


class CredentialRevoked(DomainEvent, frozen=True, kw_only=True, tag="credential-revoked"):
    """A credential opens nothing from here on."""

    digest: str
    name: str


class AccessRefused(DomainEvent, frozen=True, kw_only=True, tag="access-refused"):
    """Somebody wanted to do what only an operator may, and did not prove to be one."""

    operation: str
    reason: str
    name: str | None = None
    """Who they said to be."""


class LedgerAccepted(DomainEvent, frozen=True, kw_only=True, tag="ledger-accepted"):
    """A person let the ledger count as it was found, although it was not what was written."""

    problems: tuple[str, ...]
    """What did not hold."""
    known: int | None = None
    """How many records there were by the anchor; None where it was gone or unreadable."""
    records: int
    """How many there were in the ledger."""
    hash: str
    """What those come to."""


class PersonNotified(DomainEvent, frozen=True, kw_only=True, tag="person-notified"):
    """Somebody was told, or is being told, that a question waits for a person."""

    approval: str
    channel: str
    """`webhook` or `command`."""
    attempt: int
    retry_at: int | None = None
    """When it is tried again, by whichever server then looks; None where it has arrived."""


class LedgerArchived(DomainEvent, frozen=True, kw_only=True, tag="ledger-archived"):
    """The records of finished runs were taken out of the ledger into an archive."""

    file: str
    """What the archive was called when it was written."""
    digest: str
    """SHA-256 of what is in it."""
    runs: int
    records: int
    policies: tuple[str, ...] = ()
    """The policies that those records name; they stay in the ledger."""


class LedgerRestored(DomainEvent, frozen=True, kw_only=True, tag="ledger-restored"):
    """The records of an archive are in the ledger again."""

    archive: int
    """The record that tells of the archive."""
    digest: str


class StepJudged(DomainEvent, frozen=True, kw_only=True, tag="step-judged"):
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


class StopJudged(DomainEvent, frozen=True, kw_only=True, tag="stop-judged"):
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


class BeliefHeld(DomainEvent, frozen=True, kw_only=True, tag="belief-held"):
    """The agent says what it takes to be true, and how sure that is."""

    belief: Belief
    because: str = ""
    """What was seen, without secrets."""


class PersonSpoke(DomainEvent, frozen=True, kw_only=True, tag="person-spoke"):
    """A person said something to the agent."""


class CheckpointTaken(DomainEvent, frozen=True, kw_only=True, tag="checkpoint-taken"):
    """The work was saved, or could not be."""

    checkpoint: Checkpoint


class RunHalted(DomainEvent, frozen=True, kw_only=True, tag="run-halted"):
    """A person stopped the run."""

    reason: str


class RunLifted(DomainEvent, frozen=True, kw_only=True, tag="run-lifted"):
    """A person let the run go on."""

    reason: str


class RunFinished(DomainEvent, frozen=True, kw_only=True, tag="run-finished"):
    """A run was closed."""

    outcome: str
    report: Report


Event = (
    RunStarted
    | RunResumed
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
    | CredentialGranted
    | CredentialRevoked
    | AccessRefused
    | LedgerAccepted
    | PersonNotified
    | LedgerArchived
    | LedgerRestored
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
    | LoopEvent
)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One event in its place: whose, which, when, by whom, and after what."""

    v: int
    run: str
    seq: int
    at: int
    """Microseconds since 1970, UTC."""
    by: Principal
    prev: str
    """The hash of the record before it in this run; empty for the first."""
    event: Event
