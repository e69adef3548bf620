"""Any command as a governed run: judged, run, watched, and closed with what came of it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from interlock import settings
from interlock.adapters.supervision.command_streams import CommandStreams
from interlock.adapters.supervision.command_watch import STOPPED, Cadence, CommandWatch
from interlock.adapters.supervision.process_tree import started
from interlock.adapters.supervision.sandbox import Sandbox
from interlock.errors import UnfinishedError
from interlock.model.answers import Answer
from interlock.model.run import RunStatus
from interlock.model.short_code import code_of
from interlock.service.interlock import Interlock, Run
from interlock.views import units

REFUSED: Final = 4
"""What `interlock run` ends with where the command may not run, as every command that asks."""
UNDECIDED: Final = 3
"""The same where a person must approve first, and nobody decided in time."""
_BY_SIGNAL: Final = 128
_LONGEST_WAIT_S: Final = 30 * 24 * 3600
_USUAL: Final = Cadence()
_GRACE_S: Final = 10.0


class Ending(NamedTuple):
    """What a governed command came to."""

    run_id: str
    exit_code: int
    """What `interlock run` ends with."""
    outcome: str
    """What it came to, and what a run of its own is closed as."""
    reason: str | None
    """What Interlock had against it; None where it ended by itself."""


class Supervisor:
    """Runs one command for a run that was started for it."""

    def __init__(
        self,
        interlock: Interlock,
        run: Run,
        say: Callable[[str], None],
        *,
        show: Callable[[str, Answer], None] | None = None,
        cadence: Cadence = _USUAL,
        grace_s: float = _GRACE_S,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._clock = interlock.governor.clock
        self._run = run
        self._say = say
        self._show = show or self._say_reasons
        """Tells what becomes of a command that may not run, or not yet, and every reason."""
        self._prefix = () if sandbox is None else sandbox.prefix
        self._landlock = None if sandbox is None else sandbox.landlock
        self._watch = CommandWatch(run, interlock.ledger, say, cadence=cadence, grace_s=grace_s)

    def supervise(
        self, argv: Sequence[str], *, folder: Path, environment: Mapping[str, str]
    ) -> Ending:
        """Have a command judged, run it to its end, and close the run."""
        ending = self.perform(argv, folder=folder, environment=environment)
        try:
            self._run.finish(ending.outcome)
        except UnfinishedError as error:
            self._say(f"it is not done: {error}")
            self._run.finish("failed")
            return Ending(self._run.id, STOPPED, "failed", str(error))
        return ending

    def perform(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        wait_s: float = _LONGEST_WAIT_S,
    ) -> Ending:
        """Have a command judged and run it to its end; the run goes on.

        Where a person has to agree, wait so long for that.
        """
        answer = self._judged(argv, folder, wait_s)
        if not answer.allowed:
            return self._not_begun(answer, "; ".join(answer.reasons))
        for finding in answer.verdict.findings:
            # A warning, or what is only observed: it stops nothing, and somebody should know.
            self._say(f"{finding.message} ({finding.rule})")
        first = self._run.step()
        if not first.goes_on:
            return self._not_begun(answer, first.ruling.reason)
        self._watch.note_time(first)
        with self._watch.hearing_news():
            return self._ending(self._done(answer, argv, folder, environment))

    def _judged(self, argv: Sequence[str], folder: Path, wait_s: float) -> Answer:
        """Ask whether the command may run; where a person has to agree, wait for that."""
        # Under one key it is one question, however often it is asked while a person thinks.
        key = secrets.token_hex(16)
        answer = self._run.command(argv, cwd=str(folder), key=key)
        if answer.waits_for_person and wait_s:
            patience = units.span(round(wait_s * 1_000_000))
            self._show(f"it waits up to {patience} for a person: {_way(answer)}", answer)
            answer = self._run.command(argv, cwd=str(folder), key=key, wait_s=wait_s)
            if answer.waits_for_person:
                self._say("nobody approved it in time")
        return answer

    def _not_begun(self, answer: Answer, reason: str) -> Ending:
        if answer.allowed:
            self._say(f"it was not started: {reason}")
            self._run.observe(answer, outcome="not-run")
        elif answer.waits_for_person:
            self._show(f"it was not started: {_way(answer)}", answer)
            reason = f"a person must approve first: {reason}: {_way(answer)}"
        else:
            self._show("it was not started", answer)
        code = UNDECIDED if answer.waits_for_person else REFUSED
        return Ending(self._run.id, code, "blocked", reason)

    def _say_reasons(self, text: str, answer: Answer) -> None:
        self._say(f"{text}: {'; '.join(answer.reasons)}")

    def _done(
        self, answer: Answer, argv: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> int:
        """Run the command to its end, and report on it; return its exit code."""
        known = {**environment, settings.RUN_VARIABLE: self._run.id}
        began_at = self._clock.now()
        with CommandStreams(self._watch.printed) as streams, self._watch.hearing_signals():
            tree = started(
                [*self._prefix, *argv],
                folder=folder,
                environment=known,
                ends=streams.ends,
                landlock=self._landlock,
            )
            streams.begin()
            code = self._watch.follow(tree, streams)
        self._report(answer, code, self._clock.now() - began_at)
        return code

    def _report(self, answer: Answer, code: int, took_us: int) -> None:
        if self._run.state.status is RunStatus.FINISHED:
            # Somebody closed it, and so ended it.
            return
        self._run.observe(
            answer,
            outcome="ok" if code == 0 else "failed",
            exit_code=code,
            duration_ms=max(0, took_us) // 1000,
            output=self._watch.printed.tail.decode("utf-8", "replace"),
        )

    def _ending(self, code: int) -> Ending:
        stop = self._watch.stop
        if stop is not None:
            return Ending(self._run.id, stop.exit_code, stop.outcome, stop.reason)
        passed_on = code if code >= 0 else _BY_SIGNAL - code
        return Ending(self._run.id, passed_on, "completed" if code == 0 else "failed", None)


def _way(answer: Answer) -> str:
    return f"`interlock approve {code_of(answer.approval_id)}` lets it run"
