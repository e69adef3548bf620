"""Do the books follow from the records? They are made again and compared, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from interlock.errors import DamagedError
from interlock.ledger.codec import decoded
from interlock.ledger.projection import project
from interlock.ledger.rows import KeyRow, ReservationRow, Rows
from interlock.ledger.transaction import account_bytes
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import EMPTY, Account
from interlock.model.events import ActionJudged, ApprovalOpened, Event, PolicyAdopted, RunStarted

_ALL: Final = 2**63 - 1
_ACCOUNT_DECODER: Final = msgspec.json.Decoder(Account)


class Misfit(msgspec.Struct, frozen=True, kw_only=True):
    """A row that does not follow from the records."""

    row: str
    difference: str

    @property
    def problem(self) -> str:
        """What is wrong, with the place."""
        return f"{self.row}: {self.difference}"


class RunBooks:
    """Everything that follows from the records of one run alone; its accounts do not."""

    def __init__(self) -> None:
        self.keys: dict[str, KeyRow] = {}
        self.promises: dict[tuple[str, int], ReservationRow] = {}
        self.approvals: dict[str, Approval] = {}

    def account(self, scope: str) -> Account:  # noqa: ARG002 - accounts belong to many runs
        """Return nothing: accounts are not kept here."""
        return EMPTY

    def put_account(self, scope: str, account: Account) -> None:
        """Keep nothing."""

    def put_key(self, row: KeyRow) -> None:
        """Keep what a request key was used for."""
        self.keys[row.key] = row

    def hold(self, row: ReservationRow) -> None:
        """Keep a promise."""
        self.promises[row.run_id, row.seq] = row

    def release(self, run_id: str, seq: int) -> None:
        """Forget a promise."""
        self.promises.pop((run_id, seq), None)

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval."""
        return self.approvals.get(approval_id)

    def put_approval(self, approval: Approval) -> None:
        """Keep an approval."""
        self.approvals[approval.id] = approval


class Accounts(RunBooks):
    """The accounts of all runs, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.accounts: dict[str, Account] = {}

    def account(self, scope: str) -> Account:
        """Return an account; an unknown one is empty."""
        return self.accounts.get(scope, EMPTY)

    def put_account(self, scope: str, account: Account) -> None:
        """Keep an account."""
        self.accounts[scope] = account

    def put_key(self, row: KeyRow) -> None:
        """Keep nothing: request keys belong to one run."""

    def hold(self, row: ReservationRow) -> None:
        """Keep nothing: so do promises."""

    def put_approval(self, approval: Approval) -> None:
        """Keep nothing: so do approvals."""


def policy_named_by(event: Event) -> str | None:
    """Return the hash of the policy that an event names, if it names one."""
    match event:
        case ActionJudged(verdict=verdict):
            return verdict.policy_hash or None
        case RunStarted() | ApprovalOpened() | PolicyAdopted():
            return event.policy_hash or None
        case _:
            return None


def audit_run(rows: Rows, run_id: str, books: RunBooks) -> Iterator[Misfit]:
    """Yield every request key and approval of a run that its records do not tell."""
    try:
        yield from _audit_keys(rows, run_id, dict(books.keys))
        yield from _audit_approvals(rows, run_id, books.approvals)
    except (DamagedError, msgspec.DecodeError) as error:
        yield Misfit(row=f"the books of run `{run_id}`", difference=f"unreadable: {error}")


def _audit_keys(rows: Rows, run_id: str, expected: dict[str, KeyRow]) -> Iterator[Misfit]:
    for row in _keys(rows, run_id):
        told = expected.pop(row.key, None)
        if row != told:
            yield _key_misfit(row.key, run_id, told, row)
    for told in expected.values():
        yield _key_misfit(told.key, run_id, told, None)


def _keys(rows: Rows, run_id: str) -> Iterator[KeyRow]:
    # Pages begin behind a key: the empty one is behind none.
    empty = rows.key(run_id, "")
    if empty is not None:
        yield empty
    last = ""
    while page := rows.keys(run_id, after=last):
        yield from page
        last = page[-1].key


def _key_misfit(key: str, run_id: str, told: KeyRow | None, stored: KeyRow | None) -> Misfit:
    return Misfit(
        row=f"request key `{key}` of run `{run_id}`",
        difference=f"the records tell {_answer(told)}, stored is {_answer(stored)}",
    )


def _answer(row: KeyRow | None) -> str:
    return "no answer" if row is None else f"record {row.seq} for digest `{row.digest}`"


def _audit_approvals(rows: Rows, run_id: str, expected: dict[str, Approval]) -> Iterator[Misfit]:
    stored = {
        each.id: (state, each)
        for state in ApprovalState
        for each in rows.approvals(state=state.value, run_id=run_id, limit=_ALL)
    }
    for approval_id in sorted({*expected, *stored}):
        told = expected.get(approval_id)
        found = stored.get(approval_id)
        if told is None or found != (told.state, told):
            yield _approval_misfit(approval_id, run_id, told, found and found[1])
    for digest in sorted({each.digest for each in expected.values()}):
        same = [each for each in expected.values() if each.digest == digest]
        latest = max(same, key=lambda each: (each.opened_at, each.id))
        if rows.approval_for(run_id, digest) != latest:
            yield Misfit(
                row=f"approval `{latest.id}` of run `{run_id}`",
                difference=f"it is not found by its digest `{digest}`",
            )


def _approval_misfit(
    approval_id: str, run_id: str, told: Approval | None, stored: Approval | None
) -> Misfit:
    row = f"approval `{approval_id}` of run `{run_id}`"
    if told is None:
        return Misfit(row=row, difference="no record opened it")
    if stored is None:
        return Misfit(row=row, difference=f"it is {told.state.value}, and not stored as such")
    fields = ", ".join(
        f"{name} `{getattr(told, name)}`, stored is `{getattr(stored, name)}`"
        for name in Approval.__struct_fields__
        if getattr(told, name) != getattr(stored, name)
    )
    return Misfit(row=row, difference=f"the records tell {fields or 'another state'}")


def audit_promises(rows: Rows, expected: dict[tuple[str, int], ReservationRow]) -> Iterator[Misfit]:
    """Yield every promise that is stored and not told by the records, or the reverse."""
    stored = {(row.run_id, row.seq): row for row in rows.lapsed(_ALL, limit=_ALL)}
    for place in sorted({*expected, *stored}):
        told, found = expected.get(place), stored.get(place)
        if told != found:
            yield Misfit(
                row=f"the promise of run `{place[0]}`, record {place[1]}",
                difference=f"the records tell {_lease(told)}, stored is {_lease(found)}",
            )


def _lease(row: ReservationRow | None) -> str:
    return "none" if row is None else f"a lease until {row.lease_until}"


def audit_accounts(rows: Rows, *, chained: int, count: Callable[[int], None]) -> Iterator[Misfit]:
    """Yield every account that is not what the records add up to.

    `chained` is how many records the chains have: no other may be there.
    """
    books, written = Accounts(), 0
    for page in _pages(rows):
        for body in page:
            project(books, decoded(body))
        written += len(page)
        count(len(page))
    if written != chained:
        difference = f"{written} are stored, the chains have {chained}"
        yield Misfit(row="the records", difference=difference)
    yield from _compare_accounts(rows, books.accounts)


def _pages(rows: Rows) -> Iterator[Sequence[bytes]]:
    last = 0
    while page := rows.written(after=last):
        yield [row.record.body for row in page]
        last = page[-1].position


def _compare_accounts(rows: Rows, expected: dict[str, Account]) -> Iterator[Misfit]:
    for scope, body in rows.accounts():
        told = expected.pop(scope, None)
        if told is None or told != _account(body):
            yield _account_misfit(scope, told, body)
    for scope, told in sorted(expected.items()):
        yield _account_misfit(scope, told, None)


def _account(body: bytes) -> Account | None:
    try:
        return _ACCOUNT_DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _account_misfit(scope: str, told: Account | None, stored: bytes | None) -> Misfit:
    wanted = "nothing" if told is None else f"`{account_bytes(told).decode()}`"
    found = "nothing" if stored is None else f"`{stored.decode('utf-8', 'replace')}`"
    return Misfit(
        row=f"account `{scope}`", difference=f"the records add up to {wanted}, stored is {found}"
    )
