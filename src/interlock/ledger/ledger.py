"""The ledger: questions are worked on in groups, and each group is committed at once.

Whoever finds nobody committing takes everything that waits and commits it as one group; those
who came meanwhile form the next group. No timer, no idle thread, one writer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, NamedTuple, Self, TypeVar

from interlock.errors import LedgerError, UnavailableError
from interlock.ledger.anchor import AnchorFile
from interlock.ledger.chain import SealKey
from interlock.ledger.stores.notifier import release
from interlock.ledger.transaction import Cache, Transaction, caught_up, chain_from_snapshot
from interlock.model.rows import ARCHIVED, RecordRow
from interlock.model.run import RunState
from interlock.ports import Listener, Rows, Store

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

_LOOK_AGAIN_S: Final = 0.2
_PATIENCE_S: Final = 30.0
_INTERRUPTED: Final = (
    "the ledger was interrupted: whether this was recorded is not known; asking again with the"
    " same key is safe"
)


class Work(Generic[R_co]):
    """One question to the ledger: what it locks, and what to do in the transaction.

    INVARIANT: `plan` raises, if at all, before its first `append`.
    """

    __slots__ = ("locks", "plan")

    def __init__(self, plan: Callable[[Transaction], R_co], *, locks: Iterable[str]) -> None:
        self.plan = plan
        self.locks = tuple(locks)


class Outcome(NamedTuple):
    """What became of one work: its ticket is whatever its caller knows it by."""

    ticket: object
    result: object
    error: BaseException | None


OutcomeCallback = Callable[[Sequence[Outcome]], None]
"""Is called once for all its works of a group, on the thread that committed them."""


class _Task(Generic[T]):
    """Work on its way: afterwards it has a result or an error."""

    __slots__ = ("_woken", "callback", "error", "is_done", "result", "ticket", "work")

    def __init__(
        self, work: Work[T], callback: OutcomeCallback | None = None, ticket: object = None
    ) -> None:
        self.work = work
        self.callback = callback
        """Who is called; None where a thread waits."""
        self.ticket = ticket
        self.is_done = False
        self.result: T | None = None
        self.error: BaseException | None = None
        self._woken = threading.Lock()
        self._woken.acquire()

    def wait(self) -> None:
        """Wait until there is something to look at."""
        # Whoever was to wake us may have been interrupted: after a while we look ourselves.
        self._woken.acquire(timeout=_LOOK_AGAIN_S)

    def wake(self) -> None:
        """Let whoever waits look; once is as good as twice."""
        release(self._woken)

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return self.result  # pyright: ignore[reportReturnType] - set whenever there is no error


class Ledger:
    """A store in front of which questions form groups."""

    def __init__(self, store: Store, *, key: SealKey, anchor: AnchorFile | None = None) -> None:
        self.store: Final = store
        """Where everything is stored."""
        self.key: Final = key
        """The key that seals the chains' heads."""
        self.anchor: Final = anchor
        """What is known of the ledger outside of it; None where it is in memory only."""
        self.when_committed: Callable[[Sequence[RecordRow]], None] | None = None
        """Is called with what was committed, on the thread that did; it must take no time."""
        self._cache = Cache()
        self._waiting: deque[_Task[object]] = deque()
        self._turn = threading.RLock()
        self._committing: int | None = None
        """The thread that works."""
        self._committer = _Committer(self._take_turn)
        self._idle_timer = (
            None
            if store.idle_after_s is None
            else IdleTimer(self._tidy_if_possible, after_s=store.idle_after_s)
        )
        self._is_closed = False
        self._pid = os.getpid()

    @property
    def rows(self) -> Rows:
        """Everything that is durable."""
        return self.store.reading()

    def execute(self, work: Work[T]) -> T:
        """Do the work and return its result once that is durable."""
        self.check_process()
        if self._committing == threading.get_ident():
            raise LedgerError("the ledger was asked in the middle of an answer: ask afterwards")
        task = _Task(work)
        self._waiting.append(task)  # pyright: ignore[reportArgumentType] - a task is not read as T
        try:
            while not task.is_done:
                if self._turn.acquire(blocking=False):
                    try:
                        self._commit_waiting()
                    finally:
                        self._turn.release()
                    self._wake_next()
                else:
                    task.wait()
        except BaseException:
            self._leave_turn()
            raise
        return task.outcome()

    def submit(self, work: Work[T], callback: OutcomeCallback, ticket: object) -> None:
        """Do the work on another thread, and call back once it is durable."""
        self.check_process()
        task = _Task(work, callback, ticket)
        self._waiting.append(task)  # pyright: ignore[reportArgumentType] - a task is not read as T
        self._committer.call()

    def execute_together(
        self, works: Sequence[tuple[Work[T], object]], callback: OutcomeCallback
    ) -> None:
        """Do works, each with its ticket, as one group on this thread; call back when durable."""
        self.check_process()
        tasks = [_Task(work, callback, ticket) for work, ticket in works]
        self._waiting.extend(tasks)  # pyright: ignore[reportArgumentType] - a task is not read as T
        self._take_turn()

    def state(self, run_id: str) -> RunState | None:
        """Return a run's state as it is on disk, read from its last snapshot on.

        One that is archived has none here.
        """
        rows = self.rows
        # In this order: somebody may be writing, and a run is never shorter than its snapshot.
        chain = chain_from_snapshot(rows, run_id, self.key)
        row = rows.run(run_id)
        if row is None or row.status == ARCHIVED:
            return None
        return caught_up(rows, chain, row).state

    def listen(self) -> Listener:
        """Return somebody who is woken by every commit."""
        return self.store.listen()

    def tidy(self) -> None:
        """Use a quiet moment to put the store in order."""
        self.check_process()
        with self._turn:
            if not self._is_closed:
                self.store.tidy()

    def _tidy_if_possible(self) -> None:
        # Whoever asks next hears what is wrong with the store; here nobody listens.
        with contextlib.suppress(LedgerError):
            self.tidy()

    def close(self) -> None:
        """Finish what waits and leave everything in good order."""
        if os.getpid() != self._pid:
            # Whoever was committing when this process was forked is not here to finish.
            return
        self._committer.stop()
        if self._idle_timer is not None:
            self._idle_timer.stop()
        # Whoever holds the turn may have been interrupted in the very moment of taking it.
        has_turn = self._turn.acquire(timeout=_PATIENCE_S)
        try:
            if not self._is_closed:
                self._commit_waiting()
                self._is_closed = True
                self.store.close()
                if self.anchor is not None:
                    self.anchor.close()
        finally:
            if has_turn:
                self._turn.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def check_process(self) -> None:
        """Raise LedgerError in a process that was forked after the ledger was opened."""
        if os.getpid() != self._pid:
            name = self.store.name
            raise LedgerError(f"{name} was opened before a fork: open it anew in the child")

    def _leave_turn(self) -> None:
        """Let others go on, whatever moment an interrupt came in: also that of taking the turn."""
        with contextlib.suppress(RuntimeError):
            # It says so if this thread does not have the turn.
            self._turn.release()
        self._wake_next()

    def _take_turn(self) -> None:
        with self._turn:
            self._commit_waiting()
        self._wake_next()

    def _wake_next(self) -> None:
        """Let somebody who came meanwhile take the turn; whoever comes later finds it free."""
        try:
            successor = self._waiting[0]
        except IndexError:
            return
        successor.wake()

    def _commit_waiting(self) -> None:
        """Do everything that waits as one group."""
        group: list[_Task[object]] = []
        self._committing = threading.get_ident()
        try:
            while self._waiting:
                # In this order: an interrupt in between loses nobody.
                if not self._waiting[0].is_done:
                    group.append(self._waiting[0])
                self._waiting.popleft()
            if self._is_closed:
                raise LedgerError("the ledger is closed: open it again")  # noqa: TRY301 - handed on below
            if group:
                self._commit_together(group)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            _fail(group, error)
        except BaseException:  # a group must never be left without an answer
            # The interrupt is only for the thread that it came to.
            _fail(group, UnavailableError(_INTERRUPTED))
            raise
        finally:
            self._committing = None
            try:
                _deliver(group)
            except BaseException:
                # An interrupt just now must not keep anybody's answer; getting it twice is fine.
                _deliver(group)
                raise

    def _commit_together(self, group: list[_Task[object]]) -> None:
        try:
            self._commit(group)
        except _SpoiltError:
            # Until each is durable by itself, what the group had come to counts for nothing.
            _fail(group, UnavailableError(_INTERRUPTED))
            for task in group:
                self._commit_alone(task)

    def _commit(self, group: list[_Task[object]]) -> None:
        locks = sorted({lock for task in group for lock in task.work.locks})
        try:
            is_current = self.store.begin(locks)
            transaction = Transaction(
                self.store.writing(), self._cache, is_current=is_current, key=self.key
            )
            for task in group:
                _plan(task, transaction)
            changes = transaction.finished()
            head = self.store.commit(changes)
            if self.anchor is not None:
                # Whoever hears an answer can miss it from now on.
                self.anchor.advance(head)
            self._cache.trim(transaction.ended())
            if self._idle_timer is not None:
                self._idle_timer.note_work()
        except BaseException:
            # What is remembered may be ahead of what is on disk.
            self._cache.forget()
            self.store.rollback()
            raise
        if self.when_committed is not None and changes.records:
            self.when_committed(changes.records)

    def _commit_alone(self, task: _Task[object]) -> None:
        unfinished, task.error = task.error, None
        try:
            self._commit([task])
        except _SpoiltError as spoilt:
            task.error = spoilt.__cause__
        except Exception as error:  # noqa: BLE001 - whoever waits gets it, and the others go on
            task.error = error
        except BaseException:
            task.error = unfinished
            raise


class _SpoiltError(Exception):
    """Somebody failed after adding to the group: it must be done again without them."""


def _plan(task: _Task[object], transaction: Transaction) -> None:
    before = len(transaction.changes.records)
    try:
        task.result = task.work.plan(transaction)
    except UnavailableError:
        raise
    except Exception as error:
        if len(transaction.changes.records) > before:
            raise _SpoiltError from error
        task.error = error


def _fail(group: list[_Task[object]], error: BaseException) -> None:
    for task in group:
        task.error = error


def _deliver(group: list[_Task[object]]) -> None:
    outcomes_of: dict[OutcomeCallback, list[Outcome]] = {}
    for task in group:
        task.is_done = True
        if task.callback is None:
            task.wake()
        else:
            outcome = Outcome(task.ticket, task.result, task.error)
            outcomes_of.setdefault(task.callback, []).append(outcome)
    for callback, outcomes in outcomes_of.items():
        callback(outcomes)


class _Committer:
    """A thread that takes a turn whenever it is called; it is started with the first call."""

    def __init__(self, take_turn: Callable[[], None]) -> None:
        self._take_turn = take_turn
        self._called = threading.Lock()
        self._called.acquire()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_stopped = False

    def call(self) -> None:
        if self._is_stopped:
            self._take_turn()
            return
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = _started(self._serve, name="ledger")
        release(self._called)

    def stop(self) -> None:
        self._is_stopped = True
        if self._thread is not None:
            release(self._called)
            self._thread.join()

    def _serve(self) -> None:
        while not self._is_stopped:
            # Calls that came meanwhile are answered by the same turn.
            self._called.acquire()
            self._take_turn()


class IdleTimer:
    """Calls back after each stretch of work, when it has been quiet for so long.

    A thread is started with the first work; between stretches it sleeps until there is work
    again, however long that takes.
    """

    def __init__(self, when_quiet: Callable[[], None], *, after_s: float) -> None:
        self._when_quiet = when_quiet
        self._after_s = after_s
        self._worked = threading.Lock()
        """Free as soon as there is work that the thread does not know of."""
        self._worked.acquire()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def note_work(self) -> None:
        """Note that something was done just now; INVARIANT: by one thread at a time."""
        if self._thread is None:
            self._thread = _started(self._watch, name="idle-timer")
        release(self._worked)

    def stop(self) -> None:
        """Call back no more."""
        self._over.set()
        release(self._worked)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)

    def _watch(self) -> None:
        while self._worked.acquire() and not self._over.wait(self._after_s):
            if self._worked.locked():
                self._when_quiet()


def _started(work: Callable[[], None], *, name: str) -> threading.Thread:
    """Start a daemon thread that leaves every signal to the threads of the program."""
    thread = threading.Thread(target=work, name=f"interlock-{name}", daemon=True)
    if not hasattr(signal, "pthread_sigmask"):
        thread.start()
        return thread
    # A thread inherits what its starter blocks.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return thread
