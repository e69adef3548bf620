"""Events for tests: one realistic event of each kind, and strategies for all of them."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from typing import TypeVar, cast

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from interlock.errors import InputError
from interlock.ledger.chain import SealKey, check_head, check_seal, read_chain
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.ledger import Outcome as WorkOutcome
from interlock.ledger.transaction import Transaction
from interlock.model.action import CommandAction, EditAction, ToolAction
from interlock.model.approval import ApprovalState, Subject
from interlock.model.budget import Alert, Amounts, BudgetBalance, Dimension, Limits, TokenUsage
from interlock.model.events import (
    AccessRefused,
    ActionJudged,
    ActionObserved,
    ApprovalDecided,
    ApprovalOpened,
    ApprovalUsed,
    BudgetAlerted,
    BudgetChanged,
    CredentialGranted,
    CredentialRevoked,
    Event,
    FileChange,
    LedgerAccepted,
    LedgerArchived,
    LedgerRestored,
    Outcome,
    PersonNotified,
    PolicyAdopted,
    Record,
    ReservationLapsed,
    RunFinished,
    RunResumed,
    RunStarted,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.facts import Denial, Facts, Withheld
from interlock.model.principal import (
    CredentialMethod,
    PassphraseCost,
    Principal,
    PrincipalKind,
)
from interlock.model.review import Evaluation, PendingGateReview, Report, ReviewGate, TestCounts
from interlock.model.rows import PolicyRow
from interlock.model.run import RunState, folded
from interlock.model.verdict import Decision, Finding, Severity, Verdict
from interlock.ports import Rows
from ledger.cycle_events import CYCLE_EVENTS
from ledger.going_events import GOING_EVENTS
from ledger.review_events import A_REVIEW, REVIEW_EVENTS, THE_STYLE, THE_TESTS, USED_UP

T = TypeVar("T")

KEY = SealKey(b"only for tests")
AGENT = Principal(kind=PrincipalKind.AGENT, name="coder")
PERSON = Principal(kind=PrincipalKind.OPERATOR, name="ada")
NOON = 1_700_000_000_000_000
POLICY_BODY = b'{"gates":{}}'
POLICY = PolicyRow("p1", POLICY_BODY)

A_FINDING = Finding(
    gate="commands",
    rule="commands.destructive",
    decision=Decision.REQUIRE_CONFIRMATION,
    severity=Severity.HIGH,
    message="removes `build` with everything in it",
    remediation="remove single files, or ask a person",
    excerpt="rm -r build",
)
A_SCOPE = ("run/r1", "tree/r1", "agent/coder")
ONE_CALL = Amounts(tool_calls=1, tokens=400)


def a_start(*, task: str = "mend the build", agent: str = "coder", parent: str = "") -> RunStarted:
    return RunStarted(
        task=task,
        agent=agent,
        client="claude-code",
        project="shop",
        policy_hash=POLICY.hash,
        engine="0.1.0",
        ancestors=(parent,) if parent else (),
        limits=Limits(tokens=100_000, tool_calls=200),
        tree_limits=Limits(cost_micros=5_000_000),
    )


def a_judgement(
    *,
    key: str | None = None,
    digest: str = "d1",
    scopes: tuple[str, ...] = A_SCOPE,
    lease_until: int | None = None,
    command: str = "make test",
) -> ActionJudged:
    return ActionJudged(
        action=CommandAction(command=command, cwd="/srv/shop"),
        digest=digest,
        key=key,
        facts=Facts(balances=(BudgetBalance(scope=scopes[0], limits=Limits(tool_calls=200)),)),
        verdict=Verdict(decision=Decision.ALLOW, findings=(), policy_hash=POLICY.hash),
        decision=Decision.ALLOW,
        scopes=scopes,
        reserved=ONE_CALL,
        lease_until=lease_until,
    )


def an_observation(of: int | None, *, scopes: tuple[str, ...] = A_SCOPE) -> ActionObserved:
    return ActionObserved(
        of=of,
        tool="bash",
        outcome=Outcome.OK,
        exit_code=0,
        duration_ms=1_250,
        usage=TokenUsage(input_tokens=900, output_tokens=120, cache_read_tokens=300),
        model="sonnet",
        cost_micros=4_500,
        changes=(FileChange(path="src/cart.py", added=3, removed=1, rework=1, wrote=(17, 23)),),
        tests=TestCounts(passed=41, skipped=1),
        scopes=scopes,
        released=ONE_CALL,
        spent=Amounts(tool_calls=1, tokens=1_020, wall_time_ms=1_250, cost_micros=4_500),
    )


def a_violation(message: str = "touched a generated file") -> ViolationRecorded:
    return ViolationRecorded(rule="no-generated", message=message, location="src/api.py:1")


def an_opening(approval_id: str, *, digest: str = "d1", uses: int = 1) -> ApprovalOpened:
    return ApprovalOpened(
        id=approval_id,
        subject=Subject.ACTION,
        digest=digest,
        summary="rm -r build",
        findings=(A_FINDING,),
        policy_hash=POLICY.hash,
        expires_at=NOON + 900_000_000,
        uses=uses,
    )


def an_adoption(row: PolicyRow = POLICY) -> PolicyAdopted:
    return PolicyAdopted(
        policy_hash=row.hash,
        body_digest=hashlib.sha256(row.body).hexdigest(),
        engine="0.1.0",
        before="p0",
        changes=("gates.commands: allow -> block",),
    )


ONE_OF_EACH: Mapping[str, Event] = {
    "credential-granted": CredentialGranted(
        digest="0a" * 32,
        kind=PrincipalKind.OPERATOR,
        name="ada",
        method=CredentialMethod.PASSPHRASE,
        cost=PassphraseCost(salt="0b" * 16, n=65536, r=8, p=1),
    ),
    "credential-revoked": CredentialRevoked(digest="0a" * 32, name="ada"),
    "access-refused": AccessRefused(operation="approve", reason="no credential", name="ada"),
    "person-notified": PersonNotified(
        approval="a1", channel="webhook", attempt=2, retry_at=NOON + 5_000_000
    ),
    "ledger-archived": LedgerArchived(
        file="archive-2f6a.ndjson.gz", digest="2f6a", runs=2, records=31, policies=("p1",)
    ),
    "ledger-restored": LedgerRestored(archive=4, digest="2f6a"),
    "ledger-accepted": LedgerAccepted(
        problems=("2 records of 9 are missing",), known=9, records=7, hash="0c" * 32
    ),
    "run-started": a_start(parent="r0"),
    "run-resumed": RunResumed(process="b0/7/8"),
    "action-judged": msgspec.structs.replace(
        a_judgement(key="toolu_01", lease_until=NOON + 60_000_000),
        action=ToolAction(name="Bash", params='{"command":"rm -r build"}'),
        facts=Facts(
            balances=(BudgetBalance(scope="run/r1", used=ONE_CALL, limits=Limits(tool_calls=200)),),
            asked=ONE_CALL,
            granted="a1",
            denied=Denial(approval="a0", note="not on a Friday"),
            withheld=Withheld(instead=(A_FINDING,)),
        ),
        verdict=Verdict(
            decision=Decision.REQUIRE_CONFIRMATION, findings=(A_FINDING,), policy_hash="p1"
        ),
        approval="a1",
        replaces=2,
        returned=ONE_CALL,
    ),
    "action-observed": msgspec.structs.replace(
        an_observation(2),
        action=EditAction(path="src/cart.py", content="total = 0\n", old="total = 1\n"),
        output_bytes=2_048,
        output_digest="0f" * 32,
        dependencies=("requests",),
        forbidden=("`curl` was run although it is denied",),
        digest="5e" * 32,
        forgets="toolu_01",
    ),
    "usage-reported": UsageReported(
        usage=TokenUsage(input_tokens=5, output_tokens=7, cache_write_tokens=2),
        model="unknown-model",
        scopes=A_SCOPE,
        spent=Amounts(tokens=12),
    ),
    "reservation-lapsed": ReservationLapsed(of=2, scopes=A_SCOPE, released=ONE_CALL),
    "violation-recorded": msgspec.structs.replace(
        a_violation(), severity=Severity.CRITICAL, corrected=True
    ),
    "budget-changed": BudgetChanged(
        scope="run/r1", dimension=Dimension.COST, before=None, after=9_000_000, note="one more try"
    ),
    "budget-alerted": BudgetAlerted(
        alert=Alert(
            scope="run/r1", dimension=Dimension.TOKENS, percent=75, used=75_100, limit=100_000
        )
    ),
    "approval-opened": an_opening("a1"),
    "approval-decided": ApprovalDecided(
        id="a1", state=ApprovalState.GRANTED, note="it is only a cache", always=True
    ),
    "approval-used": ApprovalUsed(id="a1"),
    "policy-adopted": an_adoption(),
    "run-finished": RunFinished(
        outcome="success",
        report=Report(
            evaluations=(
                Evaluation(evaluator="tests-pass", passed=True, score=1000),
                Evaluation(
                    evaluator="diff-quality", passed=False, score=310, evidence=("40 of 90 lines",)
                ),
            )
        ),
    ),
    **GOING_EVENTS,
    **REVIEW_EVENTS,
    **CYCLE_EVENTS,
}


def appending(
    run_id: str, *events: Event, at: int = NOON, by: Principal = AGENT
) -> Work[list[Record]]:
    """Work that adds events to one run."""

    def plan(transaction: Transaction) -> list[Record]:
        return [
            transaction.append(run_id, event, at=at + place, by=by)
            for place, event in enumerate(events)
        ]

    return Work(plan, locks=(f"run/{run_id}", *(lock for each in events for lock in _locks(each))))


def submitted(ledger: Ledger, work: Work[T]) -> Future[T]:
    """Have work done on the ledger's thread; the future holds what becomes of it."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    ledger.submit(work, _settle, future)
    return future


def _settle(outcomes: Sequence[WorkOutcome]) -> None:
    for ticket, result, error in outcomes:
        future = cast("Future[object]", ticket)
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _locks(event: Event) -> tuple[str, ...]:
    match event:
        case BudgetChanged(scope=scope) | BudgetAlerted(alert=Alert(scope=scope)):
            return (scope,)
        case _:
            return getattr(event, "scopes", ())


def all_records(ledger: Ledger, run_id: str) -> list[bytes]:
    return [row.body for row in ledger.rows.records(run_id, limit=100_000)]


def state_of(run_id: str, records: list[Record]) -> RunState:
    """The state as the records tell it, without any store."""
    state = RunState(id=run_id)
    for record in records:
        state = folded(state, record)
    return state


def a_started(ledger: Ledger, run_id: str = "r1") -> Ledger:
    ledger.execute(appending(run_id, a_start()))
    return ledger


def planned(plan: Callable[[Transaction], object], *locks: str) -> Work[object]:
    return Work(plan, locks=locks or ("run/r1",))


def checked_chain(rows: Rows, run_id: str) -> int:
    """Verify a chain with its head and its seals; return its length."""
    records = rows.records(run_id, limit=100_000)
    chain = {record.seq: (head, record.at) for record, head in read_chain(records, run_id)}
    run = rows.run(run_id)
    assert run is not None
    check_head(run, len(chain), chain[len(chain)][0], KEY)
    for seal in rows.seals(run_id):
        check_seal(seal, chain, KEY)
    return len(chain)


# Strategies follow the types themselves: a new field is tried out as soon as it exists.

_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
_NUMBERS = st.one_of(st.integers(0, 1_000), st.integers(-(2**40), 2**40))
_PARAMS = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXTS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
)

_PLAIN: Mapping[type[inspect.Type], st.SearchStrategy] = {
    inspect.StrType: _TEXTS,
    inspect.IntType: _NUMBERS,
    inspect.FloatType: st.floats(0, 1, exclude_min=True),
    inspect.BoolType: st.booleans(),
    inspect.NoneType: st.none(),
    inspect.CustomType: _PARAMS,
}


@cache
def events() -> st.SearchStrategy[Event]:
    """Any event whatever."""
    return st.one_of(*(_values(inspect.type_info(kind)) for kind in Event.__args__))


@cache
def actors() -> st.SearchStrategy[Principal]:
    """Whoever can make things happen."""
    return _values(inspect.type_info(Principal))


_DEMANDING: Mapping[type[msgspec.Struct], st.SearchStrategy] = {
    PendingGateReview: st.sampled_from([A_REVIEW, USED_UP]),
    ReviewGate: st.sampled_from([THE_TESTS, THE_STYLE]),
}
"""What few values are good for."""


def _values(kind: inspect.Type) -> st.SearchStrategy:
    match kind:
        case inspect.StructType(cls=struct) if struct in _DEMANDING:
            return _DEMANDING[struct]
        case inspect.StructType(cls=struct, fields=fields):
            values = {each.name: _values(each.type) for each in fields}
            return st.builds(_built, st.just(struct), st.fixed_dictionaries(values))
        case inspect.UnionType(types=types):
            return st.one_of(*map(_values, types))
        case inspect.VarTupleType(item_type=item):
            return st.lists(_values(item), max_size=2).map(tuple)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(_values(key), _values(value), max_size=2)
        case inspect.EnumType(cls=members):
            return st.sampled_from(members)
        case _:
            return _PLAIN[type(kind)]


def _built(struct: type[msgspec.Struct], values: Mapping[str, object]) -> msgspec.Struct:
    """Make a value; where it refuses its figures, with figures that any value takes."""
    try:
        return struct(**values)
    except InputError:
        fitting = {name: _fitting(value) for name, value in values.items()}
        return struct(**fitting)


def _fitting(value: object) -> object:
    match value:
        case bool() | enum.Enum():
            return value
        case int() | float():
            return type(value)(1)
        case tuple():
            return tuple(map(_fitting, cast("tuple[object, ...]", value)))
        case str() if not value.isalnum():
            return "something"
        case _:
            return value
