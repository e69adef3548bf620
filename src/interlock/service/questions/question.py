"""What has to be done outside of the ledger before a question can be answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from interlock.errors import InputError, KeyConflictError
from interlock.ledger.transaction import Transaction
from interlock.model.events import ActionJudged, ReviewJudged, StepJudged, StopJudged
from interlock.service.records.context import Context


class DoFirstError(Exception):
    """The answer hangs on something that takes its time: do that, then ask the same again.

    Whoever works at the desk holds up everybody else, so that no program is run there and no
    file copied. INVARIANT: once it was done, the same work does not ask for it again.
    """

    def __init__(self, do: Callable[[], None]) -> None:
        self.do = do
        super().__init__()


E = TypeVar("E", ActionJudged, StepJudged, StopJudged, ReviewJudged)

_REQUEST_KEY: Final = "request:"
_DIGESTED_KEY: Final = "digest:"
_LONGEST_KEY: Final = 512


def kept_key(context: Context, key: str) -> str:
    """Return a client's key as it may be kept: as it is, or else by its digest."""
    if not key:
        raise InputError("the key is empty: give each request one of its own, or none")
    is_plain = len(key) <= _LONGEST_KEY and key.isprintable()
    if is_plain and context.clean(key) == key:
        return f"{_REQUEST_KEY}{key}"
    return f"{_DIGESTED_KEY}{context.digest(key.encode('utf-8', 'surrogatepass'))}"


def answered_before(
    transaction: Transaction, run_id: str, key: str | None, digest: str, kind: type[E]
) -> tuple[int, E] | None:
    """Return the record that answered the same question, and its number, if there is one.

    Raises KeyConflictError where the key stands for another question.
    """
    earlier = None if key is None else transaction.key(run_id, key)
    if key is None or earlier is None:
        return None
    record = transaction.record(run_id, earlier.seq)
    shown = key.partition(":")[2][:60]
    if earlier.digest != digest or record is None:
        raise KeyConflictError(
            f"the key `{shown}` stands for another request in run `{run_id}`: use a new key for a"
            " new request"
        )
    if not isinstance(record.event, kind):
        raise KeyConflictError(f"the key `{shown}` stands for something else")
    return earlier.seq, record.event
