"""Jobs: a command line of the policy, run as a governed run below the loop's own.

A command is started at most once: whoever dies with it leaves a run that is closed as abandoned,
and the loop decides anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Final

import msgspec

from interlock import settings as places
from interlock.checkpoints.bounded_command import Deadline, Ended, run_bounded
from interlock.errors import InputError, InterlockError, UnfinishedError
from interlock.ledger.transaction import Transaction
from interlock.model.answers import Answer
from interlock.model.budget import Budget, Dimension
from interlock.model.principal import SYSTEM
from interlock.model.run import RunStatus
from interlock.model.system_loop import LOOP_RUN, Trigger
from interlock.policy.config.loop_section import Job, SystemLoop
from interlock.processes import is_alive, own_name
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.governor import Governor
from interlock.service.interlock import Run
from interlock.service.records.context import SECOND, new_id
from interlock.service.records.runs import NewRun, start_run

COMPLETE: Final = "agent/loop.complete"
FAILED: Final = "agent/loop.failed"
CAUSE_VARIABLE: Final = "INTERLOCK_CAUSE"
"""Tells whatever a job starts which decision led to it: what it sends counts as caused by that."""
_GRACE_S: Final = 3600
_MOST_OUTPUT: Final = 8_192


class Jobs:
    """Starts jobs, and sees to their end."""

    def __init__(self, governor: Governor, chain: LoopChain) -> None:
        self._governor = governor
        self._chain = chain
        self._running: dict[str, tuple[threading.Thread, _Deadline]] = {}
        self._lock = threading.Lock()

    def prepare(self, name: str) -> tuple[str, Callable[[Transaction], object]]:
        """Return what the run of a job is called, and how it is opened; nothing is done yet."""
        job, run_id = self._job(name), new_id()
        new = NewRun(
            id=run_id,
            task=job.name,
            agent=f"job/{job.name}",
            client="loop",
            parent=LOOP_RUN,
            workspace=job.workspace,
            tree_budget=_budget(self._chain.settings.job_budget),
        )
        context = self._governor.context_of(new.project)
        return run_id, start_run(context, new, SYSTEM).plan

    def begin(self, name: str, run_id: str, decision_id: str) -> None:
        """Start a job in the background; only whoever has claimed its event does."""
        job, deadline = self._job(name), _Deadline(self._job(name).timeout_seconds)
        thread = threading.Thread(
            target=self._work,
            args=(job, run_id, decision_id, deadline),
            name=f"interlock-job-{name}",
            daemon=True,
        )
        with self._lock:
            self._running[run_id] = thread, deadline
        thread.start()

    def wait(self) -> None:
        """Wait for every job that runs here."""
        for thread, _ in list(self._running.values()):
            thread.join()

    def stop(self) -> None:
        """End every job that runs here, with everything that it started."""
        for _, deadline in list(self._running.values()):
            deadline.is_cancelled = True
        self.wait()

    def close_abandoned(self) -> Sequence[str]:
        """Close the runs of jobs whose process has ended without saying so; return them."""
        abandoned: list[str] = []
        machine = own_name().partition("/")[0]
        for run_id, decision_id in self._chain.state.jobs.items():
            run = self._governor.ledger.state(run_id)
            if run is None or run.status is RunStatus.FINISHED or is_alive(run.process):
                continue
            is_here = run.process.partition("/")[0] == machine and run_id not in self._running
            # What runs on another machine, or ran before this one started anew, cannot be seen.
            if is_here or self._governor.clock.now() > run.started_at + self._longest(run.task):
                self._end(run_id, decision_id, run.task, "abandoned", None)
                abandoned.append(run_id)
        return abandoned

    def _longest(self, name: str) -> int:
        """Return after how long a job is over, whoever ran it."""
        known = [each.timeout_seconds for each in self._chain.settings.jobs if each.name == name]
        return (max(known, default=0) + _GRACE_S) * SECOND

    def _job(self, name: str) -> Job:
        found = next((each for each in self._chain.settings.jobs if each.name == name), None)
        if found is None:
            raise InputError(f"the policy has no job `{name}`: add it to [[loop.jobs]]")
        return found

    def _work(self, job: Job, run_id: str, decision_id: str, deadline: _Deadline) -> None:
        outcome, exit_code = "failed", None
        try:
            outcome, exit_code = self._done(job, run_id, decision_id, deadline)
        except (InterlockError, OSError) as error:
            with suppress(InterlockError):
                Run(self._governor, run_id).violation("loop.job", str(error))
        finally:
            with suppress(InterlockError):
                self._end(run_id, decision_id, job.name, outcome, exit_code)
            with self._lock:
                self._running.pop(run_id, None)

    def _done(
        self, job: Job, run_id: str, decision_id: str, deadline: _Deadline
    ) -> tuple[str, int | None]:
        """Ask whether the command may run, run it, and report on it."""
        governor = self._governor
        run, folder = Run(governor, run_id), Path(job.workspace or Path.cwd())
        answer = run.command(job.command, cwd=str(folder), key="job")
        if not answer.allowed:
            run.observe(answer, outcome="not-run")
            return "refused", None
        began_at = governor.clock.now()
        environment = _environment(self._chain.settings, run_id, decision_id)
        ended = run_bounded(
            job.command,
            folder=folder,
            environment=environment,
            deadline=deadline,
            most_said=_MOST_OUTPUT,
            # Whatever it started ends with it, and with this process: nothing runs that has no run.
            leaves_nothing=True,
        )
        self._report(run, answer, ended, governor.clock.now() - began_at)
        return ("completed" if ended.exit_code == 0 else "failed"), ended.exit_code

    def _report(self, run: Run, answer: Answer, ended: Ended, micros: int) -> None:
        run.observe(
            answer,
            outcome="ok" if ended.exit_code == 0 else "failed",
            exit_code=ended.exit_code if ended.exit_code is not None else -9,
            duration_ms=max(0, micros // 1000),
            output=ended.said.decode("utf-8", "replace"),
        )

    def _end(
        self, run_id: str, decision_id: str, job: str, outcome: str, exit_code: int | None
    ) -> None:
        """Close the run of a job, and let the loop know."""
        run = Run(self._governor, run_id)
        try:
            run.finish(outcome)
        except UnfinishedError:
            outcome = "failed"
            run.finish(outcome)
        now = self._governor.clock.now()
        name, event, data = end_of_job(run_id, job, outcome, exit_code)
        self._chain.receive(
            Trigger(id=name, name=event, cause=decision_id, occurred_at=now, due_at=now, data=data)
        )


def end_of_job(
    run_id: str, job: str, outcome: str | None, exit_code: int | None = None
) -> tuple[str, str, str]:
    """Return the id, the name and the data of the event that a job has ended."""
    told = {"run": run_id, "job": job, "outcome": outcome, "exitCode": exit_code}
    event = COMPLETE if outcome == "completed" else FAILED
    return f"job-{run_id}", event, msgspec.json.encode(told).decode()


class _Deadline(Deadline):
    """A deadline that can be brought forward to now."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.is_cancelled = False

    def left_s(self) -> float:
        return 0.0 if self.is_cancelled else super().left_s()


def _budget(named: Mapping[str, int]) -> Budget:
    """Return what a job may spend, from the names that a policy uses."""
    micros = named.get(Dimension.COST.value)
    return Budget(
        tokens=named.get(Dimension.TOKENS.value),
        tool_calls=named.get(Dimension.TOOL_CALLS.value),
        wall_time_s=named.get(Dimension.WALL_TIME.value),
        cost_usd=None if micros is None else Decimal(micros) / Dimension.COST.scale,
        diff_lines=named.get(Dimension.DIFF_LINES.value),
        storage_bytes=named.get(Dimension.STORAGE.value),
    )


def _environment(settings: SystemLoop, run_id: str, decision_id: str) -> Mapping[str, str]:
    """Return the environment of a job: without what only the loop itself may know."""
    secret = {sink.secret_variable for sink in settings.sinks} | {settings.api_key_variable}
    known = {name: text for name, text in places.environment().items() if name not in secret}
    return {**known, places.RUN_VARIABLE: run_id, CAUSE_VARIABLE: decision_id}
