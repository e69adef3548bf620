"""A command under watch: what it prints becomes steps, and what is answered happens to it.

A pause stops every process of it until a person lets it go on, a throttle for a while; a stop
ends them all. One thread looks after it: it waits for the next of output, news on the record, a
signal, a moment that is due, and the command's own end.
"""

from __future__ import annotations

import enum
import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, NamedTuple

from interlock.adapters.supervision.command_streams import CommandStreams, Printed
from interlock.adapters.supervision.printed_text import said_in
from interlock.adapters.supervision.process_tree import ProcessTree
from interlock.errors import InputError, InterlockError, LedgerError
from interlock.ledger.ledger import Ledger
from interlock.model.answers import StepAnswer
from interlock.model.arbitration import Course
from interlock.model.facts import HoldKind
from interlock.model.run import RunStatus
from interlock.model.short_code import code_of
from interlock.model.step import StepDecision
from interlock.service.interlock import Run
from interlock.service.records.budgets import Recorded
from interlock.service.records.holds import strictest_hold

OUT_OF_TIME: Final = 124
"""What `interlock run` ends with where the run's time was over, as `timeout` does."""
STOPPED: Final = 125
"""The same where Interlock stopped it, or does not take it for done."""
_BY_SIGNAL: Final = 128
_LOOK_AGAIN_S: Final = 5.0
_HANDED_ON: Final = (signal.SIGINT, signal.SIGQUIT)
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
_NEVER: Final = math.inf


class Cadence(NamedTuple):
    """When what was printed is taken for a step."""

    quiet_s: float = 5.0
    """Where nothing more came for so long,"""
    longest_s: float = 30.0
    """or the last step is so long ago,"""
    enough: int = 65_536
    """or so many bytes came;"""
    shortest_s: float = 5.0
    """but never sooner than this after the last one."""


class Stop(NamedTuple):
    """Why a command was ended, and what that comes to."""

    reason: str
    outcome: str
    exit_code: int


class _Event(enum.Enum):
    """What is waited for, besides signals."""

    PRINTED = enum.auto()
    NEWS = enum.auto()
    DUE = enum.auto()
    ENDED = enum.auto()


class CommandWatch:
    """Watches one command of a run, from its start to its end."""

    def __init__(
        self,
        run: Run,
        ledger: Ledger,
        say: Callable[[str], None],
        *,
        cadence: Cadence,
        grace_s: float,
    ) -> None:
        self._run = run
        self._ledger = ledger
        self._say = say
        self._observed: StepDecision | None = None
        """What the last answer would have been, where the policy only observes."""
        self._cadence = cadence
        self._grace_s = grace_s
        self._events = queue.SimpleQueue[_Event | int]()
        self.printed = Printed(lambda: self._events.put(_Event.PRINTED), enough=cadence.enough)
        self.stop: Stop | None = None
        """Why it was ended; None while nobody but itself does."""
        self._stepped_at = time.monotonic()
        self._time_over_at = _NEVER
        self._frozen: str | None = None
        """Why it stands still, where it does."""
        self._is_held = False
        """Whether that is for a person to lift."""
        self._look_at = _NEVER
        """When to ask whether it may go on."""
        self._kill_at = _NEVER
        self._is_over = threading.Event()

    def note_time(self, answer: StepAnswer) -> None:
        """Note when the run's time is over."""
        remaining = answer.facts.budget_remaining
        left_ms = None if remaining is None else remaining.time_ms
        self._time_over_at = _NEVER if left_ms is None else time.monotonic() + left_ms / 1000

    @contextmanager
    def hearing_news(self) -> Generator[None]:
        """Report new records while the context is open."""
        listener = self._ledger.listen()

        def listen() -> None:
            while not self._is_over.is_set():
                try:
                    is_new = listener.wait(None)
                except InterlockError:
                    is_new = not self._is_over.wait(_LOOK_AGAIN_S)
                if is_new:
                    self._events.put(_Event.NEWS)

        listening = threading.Thread(target=listen, daemon=True)
        listening.start()
        try:
            yield
        finally:
            self._is_over.set()
            listener.stop()
            listening.join()
            listener.close()

    def follow(self, tree: ProcessTree, streams: CommandStreams) -> int:
        """Look after the command until nothing of it is left; return its exit code."""
        self._tree, self._streams = tree, streams
        waiting = threading.Thread(target=self._wait_for_end, daemon=True)
        waiting.start()
        try:
            while (event := self._next()) is not _Event.ENDED:
                self._attend_to(event)
        except BaseException:
            # INVARIANT: nothing runs on that nobody looks after.
            tree.kill()
            raise
        finally:
            waiting.join()
            self._is_over.set()
        return tree.wait()

    def _wait_for_end(self) -> None:
        self._tree.wait()
        self._events.put(_Event.ENDED)

    def _next(self) -> _Event | int:
        """Return what happens next, or that something is due before anything does."""
        left_s = self._due_at() - time.monotonic()
        if left_s <= 0:
            return _Event.DUE
        try:
            return self._events.get(timeout=min(left_s, threading.TIMEOUT_MAX))
        except queue.Empty:
            return _Event.DUE

    def _due_at(self) -> float:
        if self.stop is not None:
            return self._kill_at
        if self._frozen is not None:
            return self._look_at
        return min(self._step_due_at(), self._time_over_at)

    def _step_due_at(self) -> float:
        """Return when what was printed is to be taken for a step."""
        printed, cadence = self.printed, self._cadence
        if not printed.size:
            return _NEVER
        soonest = self._stepped_at + cadence.shortest_s
        if printed.size >= cadence.enough:
            return soonest
        longest = self._stepped_at + cadence.longest_s
        return max(soonest, min(printed.last_at + cadence.quiet_s, longest))

    def _attend_to(self, event: _Event | int) -> None:
        if isinstance(event, int):
            self._obey(signal.Signals(event))
        elif event is _Event.NEWS:
            self._look()
        elif event is not _Event.DUE:
            pass
        elif self.stop is not None:
            self._kill_at = _NEVER
            self._tree.kill()
        else:
            self._ask()

    def _ask(self) -> None:
        """Ask whether it should go on, with what it said; see to it that it does what is said."""
        said = None if self._frozen else said_in(self.printed.take())
        try:
            answer = self._run.step(said)
        except LedgerError as error:
            # What cannot be recorded does not go on; it may be over soon.
            self._freeze(str(error), look_after_s=_LOOK_AGAIN_S)
            return
        except InputError as error:
            self._end(Stop(str(error), "stopped", STOPPED))
            return
        self._stepped_at = time.monotonic()
        self.note_time(answer)
        self._follow_answer(answer)

    def _follow_answer(self, answer: StepAnswer) -> None:
        why = "; ".join(answer.reasons) or answer.ruling.reason
        would_have = answer.detail.would_have
        if would_have is not None and would_have is not self._observed:
            self._say(f"would have been answered `{would_have.value}`: {why}")
        self._observed = would_have
        match answer.ruling.course:
            case Course.HALT:
                is_late = self._time_over_at <= time.monotonic()
                self._end(Stop(why, "stopped", OUT_OF_TIME if is_late else STOPPED))
            case Course.AWAIT_PERSON:
                self._await_person(why, answer.approval_id)
            case Course.GO_ON | Course.WAIT | Course.FINISH:
                if answer.delay_ms:
                    self._freeze(why, look_after_s=answer.delay_ms / 1000)
                else:
                    self._thaw()

    def _await_person(self, why: str, approval_id: str | None) -> None:
        asked = None if approval_id is None else self._ledger.rows.approval(approval_id)
        left_s = _NEVER if asked is None else asked.expires_at / 1_000_000 - time.time()
        self._freeze(
            f"{why}: `interlock resume {code_of(self._run.id)} --reason TEXT` lets it go on, Ctrl-C"
            " ends it",
            look_after_s=max(0.0, left_s),
        )
        self._is_held = True

    def _look(self) -> None:
        """See whether somebody holds the run, lifted that, or closed it."""
        try:
            state = self._run.state
            hold = strictest_hold(Recorded(self._ledger), state)
        except LedgerError:
            # The next question says so.
            return
        if state.status is RunStatus.FINISHED:
            self._end(Stop(f"the run was closed: {state.outcome}", "stopped", STOPPED))
        elif hold is None:
            if self._is_held:
                self._thaw()
        elif hold.kind is HoldKind.PAUSE:
            self._await_person(hold.reason, hold.approval)
        else:
            self._end(Stop(hold.reason, "stopped", STOPPED))

    def _freeze(self, why: str, *, look_after_s: float) -> None:
        self._look_at = time.monotonic() + look_after_s
        if self._frozen is None and self.stop is None:
            self._tree.freeze()
            self._streams.be_plain()
            self._say(f"paused: {why}")
        self._frozen = why

    def _thaw(self) -> None:
        if self._frozen is None:
            return
        self._frozen, self._is_held, self._look_at = None, False, _NEVER
        self._stepped_at = time.monotonic()
        if self.stop is None:
            self._say("it goes on")
            self._streams.be_raw()
            self._tree.thaw()

    def _end(self, stop: Stop) -> None:
        """Ask all of it to end; whoever does not within the grace is killed."""
        if self.stop is not None:
            return
        self.stop = stop
        self._streams.be_plain()
        self._say(f"{stop.outcome}: {stop.reason}")
        self._kill_at = time.monotonic() + self._grace_s
        self._tree.terminate()

    def _obey(self, number: signal.Signals) -> None:
        """Do what a signal to us means for the command."""
        if number == signal.SIGWINCH:
            self._streams.resize()
        elif number == signal.SIGTSTP:
            self._stand_still()
        elif self.stop is not None:
            self._tree.kill()
        elif number in _HANDED_ON and self._frozen is None:
            self._tree.interrupt(number)
        else:
            self._end(Stop(f"{number.name} came", "cancelled", _BY_SIGNAL + number))

    def _stand_still(self) -> None:
        """Stand still with everything below, until a shell lets us go on."""
        self._tree.freeze()
        os.kill(os.getpid(), signal.SIGSTOP)
        if self._frozen is None:
            self._tree.thaw()

    @contextmanager
    def hearing_signals(self) -> Generator[None]:
        """Hear signals from before the command begins: one may come as soon as it does."""
        heard = (*_HANDED_ON, *_ENDING, signal.SIGTSTP, signal.SIGWINCH)
        before = {
            number: signal.signal(number, lambda came, _frame: self._events.put(came))
            for number in heard
            # Whoever has us ignore one means the command as well.
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
