"""Checks: commands that are run to see for oneself, under the same policy as everything else.

A check is run outside of the ledger, in the run's workspace, with the part of the environment
that the policy lists and nothing else. What it printed is kept without secrets.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from interlock.checkpoints.bounded_command import Deadline, Ended, run_bounded
from interlock.ledger.transaction import Transaction
from interlock.model.action import CommandAction
from interlock.model.events import CheckRan
from interlock.model.principal import SYSTEM
from interlock.model.progress_meter import Observation, noted
from interlock.model.review import Check, CheckResult, ReviewGate
from interlock.model.run import RunState
from interlock.model.verdict import Finding
from interlock.policy.evidence.tool_output import counts_in, lint_counts_in
from interlock.policy.reviews.gate_faults import environment_of_checks, refusing
from interlock.service.records.context import Context
from interlock.settings import environment

_MORE_READ: Final = 64 * 1024
"""So much more than is kept is read: a secret must not be cut in two."""
_EDGE: Final = 4 * 1024
"""So much is not kept of where the reading begins in the middle: half a secret may stand there."""


def run_checks(
    context: Context, run: RunState, review_id: str, gates: Sequence[ReviewGate]
) -> tuple[CheckRan, ...]:
    """Run every check of these gates, one after the other; what goes wrong is in the results."""
    return tuple(
        _ran(context, run, review_id, gate.id, gate.check)
        for gate in gates
        if gate.check is not None
    )


def record_checks(
    context: Context, transaction: Transaction, run_id: str, ran: Sequence[CheckRan]
) -> None:
    """Put on the record what checks showed, and tell the progress meter what they counted."""
    now = context.clock.now()
    for each in ran:
        meter = transaction.state(run_id).control.meter
        tests = each.result.tests
        seen = None if tests is None else Observation.of_check(tests, at=now)
        after = meter if seen is None else noted(meter, seen)
        progressed = after.fewest_failing != meter.fewest_failing
        event = replace(each, measured=seen, progressed=progressed)
        transaction.append(run_id, event, at=now, by=SYSTEM)


def _ran(context: Context, run: RunState, review_id: str, gate: str, check: Check) -> CheckRan:
    command = shlex.join(check.argv)
    findings = _findings(context, command, run.workspace)
    started = time.monotonic()
    result = _result(context, run, gate, check, findings)
    return CheckRan(
        review=review_id,
        result=result,
        command=command,
        findings=findings,
        duration_ms=round((time.monotonic() - started) * 1_000),
    )


def _findings(context: Context, command: str, folder: str | None) -> tuple[Finding, ...]:
    """Return why the policy does not let a check run, if it does not."""
    action = CommandAction(command=command, cwd=folder)
    return refusing(context.judgements.of(action).verdict)


def _result(
    context: Context, run: RunState, gate: str, check: Check, findings: Sequence[Finding]
) -> CheckResult:
    if findings:
        told = "; ".join(each.message for each in findings)
        return CheckResult(gate=gate, error=f"the policy does not let it run: {told}")
    if run.workspace is None:
        why = "the run has no workspace: start it with one"
        return CheckResult(gate=gate, error=why)
    settings = context.policy.config.reviews
    try:
        ended = run_bounded(
            check.argv,
            folder=Path(run.workspace),
            environment=environment_of_checks(environment(), settings.check_environment),
            deadline=Deadline(settings.timeout_s_of(check)),
            most_said=settings.check_tail_bytes + _MORE_READ,
            leaves_nothing=True,
        )
    except (OSError, ValueError) as error:
        return CheckResult(gate=gate, error=context.clean(f"it cannot be started: {error}"))
    return _seen(context, gate, ended)


def _seen(context: Context, gate: str, ended: Ended) -> CheckResult:
    said = ended.said.decode("utf-8", "replace")
    most = context.policy.config.reviews.check_tail_bytes
    clean = context.clean(said).encode("utf-8", "replace")
    if len(ended.said) >= most + _MORE_READ:
        clean = clean[_EDGE:]
    return CheckResult(
        gate=gate,
        exit_code=ended.exit_code,
        timed_out=ended.exit_code is None,
        tail=clean[len(clean) - min(most, len(clean)) :].decode("utf-8", "ignore"),
        tests=counts_in(said),
        lint=lint_counts_in(said),
    )
