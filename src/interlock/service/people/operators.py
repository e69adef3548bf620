"""Operators and agents: let in, let go, and asked for proof; all of it on the record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Final, TypeVar

from interlock import processes
from interlock.errors import InputError, LedgerError, NotPermittedError
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction
from interlock.model.access import NewOperator, Operator, Token
from interlock.model.events import AccessRefused, CredentialGranted, CredentialRevoked
from interlock.model.principal import (
    SYSTEM,
    CredentialMethod,
    Principal,
    PrincipalKind,
    Scope,
)
from interlock.model.rows import CredentialRow
from interlock.model.run import LEDGER_RUN
from interlock.ports import ALL, Rows
from interlock.service.people.credentials import (
    authenticated,
    checked_passphrase,
    code_digest,
    credential_id,
    derived_token,
    has_operator,
    how_to_decide,
    is_sealed,
    new_cost,
    new_recovery_code,
    new_token,
    operators,
    passphrase_token,
    require_operator,
    token_digest,
    valid_credential,
)
from interlock.service.records.adoption import take_user_level
from interlock.service.records.context import SECOND, Context, checked_name

T = TypeVar("T")

_LOCKS: Final = (f"run/{LEDGER_RUN}", "credentials")
_DECIDING: Final = (PrincipalKind.OPERATOR, PrincipalKind.ADMIN)
_MOST_REFUSALS: Final = 20
_MINUTE: Final = 60 * SECOND


# Proof.


def proven(
    context: Context, token: str | None, operation: str, needed: Scope = Scope.OPERATOR
) -> Principal:
    """Return the operator whose token this is; whoever is refused is on the record."""
    with _noted_refusals(context, operation):
        refuse_descendants(context.ledger.rows)
        shown = authenticated(context.ledger, token, context.clock.now())
        who = require_operator(shown.principal)
        if not shown.scope.covers(needed):
            raise NotPermittedError(
                f"the credential of `{who.name}` may not {operation}: that needs the scope"
                f" `{needed.value}`, it has `{shown.scope.value}`"
            )
        return who


def unlocked(context: Context, name: str, passphrase: str) -> str:
    """Return the token of an operator who knows the passphrase."""
    ledger = context.ledger
    with _noted_refusals(context, "unlock", name):
        refuse_descendants(ledger.rows)
        own = next((row for row in operators(ledger) if row.name == name), None)
        if own is None:
            raise NotPermittedError(f"`{name}` is no operator: {how_to_decide(ledger)}")
        token = passphrase_token(own, passphrase)
        if token is None:
            raise NotPermittedError(f"the passphrase is not that of operator `{name}`")
        return token


def check_decider(context: Context, operation: str) -> None:
    """Refuse at once whoever could not decide with any passphrase."""
    ledger = context.ledger
    with _noted_refusals(context, operation):
        refuse_descendants(ledger.rows)
        if not operators(ledger):
            raise NotPermittedError(how_to_decide(ledger))


def refuse_descendants(rows: Rows, pid: int | None = None) -> None:
    """Raise NotPermittedError in a process that descends from that of a governed run.

    With `pid`, for that process: it asks from elsewhere.
    """
    for process in processes.ancestors(pid):
        run = rows.run_for(process)
        if run is not None:
            raise NotPermittedError(
                f"this process was started by run `{run.id}` of agent `{run.agent}`: it is"
                " governed, so it may not decide; a person does it in a terminal of their own"
            )


def is_crowded(transaction: Transaction, now: int) -> bool:
    """Whether so many were refused within a minute that one more would tell nothing new."""
    last = transaction.state(LEDGER_RUN).seq if transaction.has_run(LEDGER_RUN) else 0
    earlier = transaction.record(LEDGER_RUN, last - _MOST_REFUSALS + 1)
    return (
        earlier is not None
        and isinstance(earlier.event, AccessRefused)
        and now - earlier.at < _MINUTE
    )


@contextlib.contextmanager
def _noted_refusals(context: Context, operation: str, name: str | None = None) -> Generator[None]:
    """Put a refusal on the record on its way to whoever is refused."""
    try:
        yield
    except NotPermittedError as refusal:
        whose = None if name is None else context.clean(name)
        event = AccessRefused(operation=operation, reason=context.clean(str(refusal)), name=whose)

        def plan(transaction: Transaction) -> None:
            now = context.clock.now()
            if not is_crowded(transaction, now):
                transaction.append(LEDGER_RUN, event, at=now, by=SYSTEM)

        # It is refused all the same where it cannot be recorded.
        with contextlib.suppress(LedgerError):
            context.ledger.execute(Work(plan, locks=_LOCKS))
        raise


# Letting in and letting go.


def all_operators(ledger: Ledger) -> list[Operator]:
    """Return everybody who may decide."""
    return [
        Operator(
            name=row.name,
            method=row.method,
            since=row.created_at,
            credential=credential_id(row.digest),
        )
        for row in operators(ledger)
    ]


def check_setup(context: Context) -> None:
    """Refuse at once whoever may not make the first operator."""
    ledger = context.ledger
    with _noted_refusals(context, "set up"):
        refuse_descendants(ledger.rows)
        if has_operator(ledger):
            raise _second_setup(ledger)
        _refuse_while_governed(ledger.rows)


def set_up(context: Context, name: str, passphrase: str, *, cost: int) -> NewOperator:
    """Make the first operator; there is no second first one."""
    ledger = context.ledger
    check_setup(context)
    fresh = _Fresh(name, passphrase, cost)

    def plan(transaction: Transaction) -> NewOperator:
        if transaction.has_run(LEDGER_RUN) and transaction.state(LEDGER_RUN).has_operator:
            # Somebody was faster.
            raise _second_setup(ledger)
        made = fresh.granted(context, transaction, fresh.principal)
        # What counts from here on is what this person has, not what an agent came with.
        take_user_level(context, transaction, fresh.principal)
        return made

    return ledger.execute(Work(plan, locks=_LOCKS))


def add_operator(
    context: Context, by: Principal, name: str, passphrase: str, *, cost: int
) -> NewOperator:
    """Let another operator in."""
    fresh = _Fresh(name, passphrase, cost)

    def plan(transaction: Transaction) -> NewOperator:
        if name in _people(transaction):
            raise InputError(
                f"`{name}` is an operator already: `interlock operator passphrase` gives them"
                " another passphrase"
            )
        return fresh.granted(context, transaction, by)

    return _changed(context, by, plan)


def change_passphrase(context: Context, by: Principal, passphrase: str, *, cost: int) -> None:
    """Give an operator another passphrase; the one from before opens nothing any more."""
    fresh = _Fresh(by.name, passphrase, cost)

    def plan(transaction: Transaction) -> None:
        # Whoever is signed in with the one from before is not any longer.
        for method in (CredentialMethod.PASSPHRASE, CredentialMethod.SESSION):
            _revoke(context, transaction, by, by.name, method)
        transaction.append(LEDGER_RUN, fresh.passphrase, at=context.clock.now(), by=by)

    _changed(context, by, plan)


def recover_operator(context: Context, code: str, passphrase: str, *, cost: int) -> NewOperator:
    """Give an operator another passphrase, and another code, for the code that they kept."""
    ledger, digest = context.ledger, code_digest(code)
    with _noted_refusals(context, "recover"):
        refuse_descendants(ledger.rows)
        row = valid_credential(ledger, digest)
        if row is None or row.method != CredentialMethod.RECOVERY_CODE.value:
            raise NotPermittedError(
                "the recovery code is not known to this ledger: each code counts once, and the"
                " last one that was shown is the one that counts"
            )
    fresh = _Fresh(row.name, passphrase, cost)
    by = Principal(kind=PrincipalKind.OPERATOR, name=row.name, credential=credential_id(digest))

    def plan(transaction: Transaction) -> NewOperator:
        now = transaction.credential(digest)
        if now is None or now.revoked_at is not None:
            raise NotPermittedError("the recovery code was used meanwhile: each counts once")
        _revoke(context, transaction, by, row.name)
        return fresh.granted(context, transaction, by)

    return ledger.execute(Work(plan, locks=_LOCKS))


def revoke_operator(context: Context, by: Principal, name: str) -> None:
    """Let an operator go, with passphrase and code; the last one stays."""

    def plan(transaction: Transaction) -> None:
        names = _people(transaction)
        if name not in names:
            raise InputError(f"`{name}` is no operator: look at `interlock operator list`")
        if names == {name}:
            raise InputError(
                f"`{name}` is the only operator, and without one nothing could be approved:"
                " add another one first, `interlock operator add NAME`"
            )
        _revoke(context, transaction, by, name)

    _changed(context, by, plan)


# Tokens and sessions.


def add_token(context: Context, by: Principal, name: str, scope: Scope) -> str:
    """Return a token for a program: it says who asks, and is good for what the scope says."""
    checked_name("name", name)
    token = new_token()
    event = CredentialGranted(
        digest=token_digest(token),
        kind=PrincipalKind(scope.value),
        name=name,
        method=CredentialMethod.TOKEN,
    )

    def plan(transaction: Transaction) -> str:
        if scope is not Scope.AGENT and name in _people(transaction):
            raise InputError(f"`{name}` is a person here, who signs in: name the token otherwise")
        transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)
        return token

    return _changed(context, by, plan)


def all_tokens(ledger: Ledger) -> list[Token]:
    """Return every token of a program that counts, the oldest first."""
    return [
        Token(
            name=row.name,
            scope=Scope(row.kind),
            since=row.created_at,
            credential=credential_id(row.digest),
        )
        for row in ledger.rows.credentials()
        if row.method == CredentialMethod.TOKEN.value
        and row.revoked_at is None
        and is_sealed(ledger, row)
    ]


def token_names(ledger: Ledger) -> frozenset[str]:
    """Return every name that a token was ever made for: nobody asks in it without one.

    Whoever was let go stays so: without its token it is not one of those who never had any.
    """
    return frozenset(
        row.name for row in ledger.rows.credentials() if row.method == CredentialMethod.TOKEN.value
    )


def revoke_token(context: Context, by: Principal, credential: str) -> None:
    """Let one token go, by what the record calls it, and whoever is signed in with it."""

    def plan(transaction: Transaction) -> None:
        found = [
            row
            for row in _valid(transaction)
            if row.method == CredentialMethod.TOKEN.value
            and credential_id(row.digest) == credential
        ]
        if not found:
            raise InputError(f"`{credential}` is no token that counts: look at the list of tokens")
        for row in found:
            _revoke_row(context, transaction, by, row)
            _revoke(context, transaction, by, row.name, CredentialMethod.SESSION)

    _changed(context, by, plan)


def revoke_agent(context: Context, by: Principal, name: str) -> None:
    """Let an agent go, with every token that it has."""

    def plan(transaction: Transaction) -> None:
        found = [row for row in _valid(transaction, PrincipalKind.AGENT) if row.name == name]
        if not found:
            raise InputError(f"agent `{name}` has no token: look at `interlock token list`")
        for row in found:
            _revoke_row(context, transaction, by, row)

    _changed(context, by, plan)


def open_session(context: Context, token: str) -> str:
    """Return what a browser shows from now on, for some hours, in place of the token."""
    ledger = context.ledger
    with _noted_refusals(context, "sign in"):
        shown = authenticated(ledger, token, context.clock.now())
        if shown.scope is Scope.AGENT:
            raise NotPermittedError(
                f"`{shown.principal.name}` is an agent: only people and viewers sign in"
            )
    session = new_token()
    event = CredentialGranted(
        digest=token_digest(session),
        kind=PrincipalKind(shown.scope.value),
        name=shown.principal.name,
        method=CredentialMethod.SESSION,
    )
    _at_once(context, shown.principal, event)
    return session


def close_session(context: Context, session: str) -> None:
    """Let a session be over; one that is over already stays so."""
    digest = token_digest(session)
    row = context.ledger.rows.credential(digest)
    if row is None or row.revoked_at is not None or row.method != CredentialMethod.SESSION.value:
        return
    by = Principal(kind=PrincipalKind(row.kind), name=row.name, credential=credential_id(digest))
    _at_once(context, by, CredentialRevoked(digest=digest, name=row.name))


def _at_once(context: Context, by: Principal, event: CredentialGranted | CredentialRevoked) -> None:
    def plan(transaction: Transaction) -> None:
        transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)

    context.ledger.execute(Work(plan, locks=_LOCKS))


class _Fresh:
    """An operator's new passphrase and code; stretching takes its time, outside of the ledger."""

    def __init__(self, name: str, passphrase: str, n: int) -> None:
        checked_name("name", name)
        cost, self.code = new_cost(n), new_recovery_code()
        digest = token_digest(derived_token(checked_passphrase(passphrase), cost))
        self.principal = Principal(
            kind=PrincipalKind.OPERATOR, name=name, credential=credential_id(digest)
        )
        self.passphrase = CredentialGranted(
            digest=digest,
            kind=PrincipalKind.OPERATOR,
            name=name,
            method=CredentialMethod.PASSPHRASE,
            cost=cost,
        )
        self._recovery = CredentialGranted(
            digest=code_digest(self.code),
            kind=PrincipalKind.OPERATOR,
            name=name,
            method=CredentialMethod.RECOVERY_CODE,
        )

    def granted(self, context: Context, transaction: Transaction, by: Principal) -> NewOperator:
        """Put both on the record."""
        for event in (self.passphrase, self._recovery):
            transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)
        return NewOperator(name=self.principal.name, recovery_code=self.code)


def _changed(context: Context, by: Principal, plan: Callable[[Transaction], T]) -> T:
    """Do what an operator may, unless that operator was revoked meanwhile."""
    require_operator(by)

    def checked(transaction: Transaction) -> T:
        own = [row for row in _valid(transaction, *_DECIDING) if row.name == by.name]
        if by.credential not in [credential_id(row.digest) for row in own]:
            raise NotPermittedError(f"operator `{by.name}` was revoked meanwhile")
        return plan(transaction)

    return context.ledger.execute(Work(checked, locks=_LOCKS))


def _valid(transaction: Transaction, *kinds: PrincipalKind) -> list[CredentialRow]:
    """Return the credentials that count: of these kinds, or of all."""
    return [
        row
        for row in transaction.credentials()
        if row.revoked_at is None and (not kinds or row.kind in kinds)
    ]


def _people(transaction: Transaction) -> set[str]:
    """Return the names of everybody with a passphrase."""
    return {
        row.name for row in _valid(transaction) if row.method == CredentialMethod.PASSPHRASE.value
    }


def _revoke(
    context: Context,
    transaction: Transaction,
    by: Principal,
    name: str,
    method: CredentialMethod | None = None,
) -> None:
    """Revoke what somebody signs in with: all of it, or by one method only."""
    for row in _valid(transaction):
        is_of_program = row.method == CredentialMethod.TOKEN.value
        if row.name == name and not is_of_program and method in (None, row.method):
            _revoke_row(context, transaction, by, row)


def _revoke_row(
    context: Context, transaction: Transaction, by: Principal, row: CredentialRow
) -> None:
    event = CredentialRevoked(digest=row.digest, name=row.name)
    transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)


def _second_setup(ledger: Ledger) -> NotPermittedError:
    names = ", ".join(f"`{row.name}`" for row in operators(ledger)) or "look who it is"
    return NotPermittedError(
        f"this ledger has an operator already: {names}; an operator lets others in with"
        " `interlock operator add NAME`"
    )


def _refuse_while_governed(rows: Rows) -> None:
    """Refuse to make the first operator beside an agent at work: it could pose as a person.

    Nothing else would stand in its way then; a process can shed its parents.
    """
    own = processes.own_name()
    for run in rows.runs(limit=ALL, status="running"):
        if run.process not in ("", own) and processes.is_alive(run.process):
            raise NotPermittedError(
                f"agent `{run.agent}` is at work here (run `{run.id}`, process"
                f" {run.process.split('/')[1]}) and could pose as a person: end it first, then"
                " make the first operator"
            )
