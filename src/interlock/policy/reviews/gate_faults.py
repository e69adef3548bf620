"""What is known of each gate: how strict it is, what the verdict says of it, what its check showed.

Evidence beats self-report: a check that fails, or did not run, is not outvoted by a PASS, and a
passing sibling does not speak for it. The gates that judge an agent's commands judge the checks as
well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, assert_never

from interlock.model.control_state import OpenReview
from interlock.model.review import (
    CheckResult,
    FaultKind,
    GateCoverage,
    GateFault,
    LintCounts,
    Overall,
    ReviewGate,
    ReviewMode,
    ReviewVerdict,
    TestCounts,
    Unreadable,
    Witness,
    mode_of,
)
from interlock.model.verdict import Decision, Finding, Verdict
from interlock.policy.actions.calls.payload import listing
from interlock.policy.config.complaints import one_line
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.verdict_grammar import ReadVerdict
from interlock.secrets.credential_rules import names_credential

_SHOWN: Final = 300


def faults_of(found: OpenReview, verdict: ReadVerdict) -> tuple[GateFault, ...]:
    """Return every gate of the review that does not pass, the strictest first.

    A gate that nothing is known of any more blocks.
    """
    gate_ids = found.review.gate_ids
    said = _said_against(verdict, gate_ids)
    faults: list[GateFault] = []
    for gate_id in sorted(gate_ids):
        own = [gate for gate in found.gates if gate.id == gate_id]
        fault = _fault(
            said.get(gate_id),
            [result for result in found.checks if result.gate == gate_id],
            is_passed=isinstance(verdict, ReviewVerdict),
            needs_check=any(gate.check is not None for gate in own),
        )
        if fault is not None:
            kind, why = fault
            faults.append(GateFault(gate=gate_id, mode=strictest_mode(own), kind=kind, why=why))
    return tuple(sorted(faults, key=lambda fault: -fault.mode.rank))


def fault_in_words(fault: GateFault) -> str:
    """Return what is wrong with a gate, as part of a sentence."""
    match fault.kind:
        case FaultKind.FAILED:
            return f"gate `{fault.gate}` failed: {fault.why}"
        case FaultKind.CONTRADICTED:
            return f"the PASS of gate `{fault.gate}` is refused: its check failed: {fault.why}"
        case FaultKind.UNVERIFIED:
            return f"gate `{fault.gate}` is unverified: {fault.why}"
        case _:
            assert_never(fault.kind)


def check_in_words(result: CheckResult) -> str:
    """Return how a check ended, with what was counted."""
    counts = "; ".join(_counts_in_words(result.tests, result.lint))
    return f"{_end_in_words(result)} ({counts})" if counts else _end_in_words(result)


def failing(found: OpenReview) -> list[CheckResult]:
    """Return the checks of a review's gates that do not speak for them, in a fixed order."""
    own = [each for each in found.checks if each.gate in found.review.gate_ids and not each.passed]
    return sorted(own, key=lambda each: (each.gate, check_in_words(each), each.tail))


def _said_against(verdict: ReadVerdict, gate_ids: Sequence[str]) -> dict[str, str]:
    """Return why the verdict fails a gate, by gate; one FAIL among its words is enough.

    A FAIL that names no gate speaks of all of them.
    """
    if isinstance(verdict, Unreadable):
        return {}
    against: dict[str, str] = {}
    for each in sorted(verdict.per_gate, key=lambda each: (each.gate, each.rationale)):
        if not each.passed:
            against.setdefault(each.gate, one_line(each.rationale, _SHOWN))
    if not against and verdict.overall is Overall.FAIL:
        return dict.fromkeys(gate_ids, one_line(verdict.rationale, _SHOWN))
    return against


def _fault(
    said: str | None, results: Sequence[CheckResult], *, is_passed: bool, needs_check: bool
) -> tuple[FaultKind, str] | None:
    """Return what is wrong with one gate; `is_passed` where the verdict says nothing against it."""
    failed = sorted(check_in_words(each) for each in results if each.ran and not each.passed)
    if said is not None:
        why = f"{said}; its check failed: {failed[0]}" if failed else said
        return FaultKind.FAILED, why
    if failed:
        return (FaultKind.CONTRADICTED if is_passed else FaultKind.FAILED), failed[0]
    if needs_check and not any(each.passed for each in results):
        silent = sorted(check_in_words(each) for each in results)
        return FaultKind.UNVERIFIED, silent[0] if silent else "its check did not run"
    return None


def _end_in_words(result: CheckResult) -> str:
    if result.timed_out:
        return "the check timed out"
    if result.exit_code is not None:
        return f"exit code {result.exit_code}"
    why = f": {one_line(result.error, _SHOWN)}" if result.error else ""
    return f"its check did not run{why}"


def _counts_in_words(tests: TestCounts | None, lint: LintCounts | None) -> Iterator[str]:
    if tests is not None:
        skipped = f", {tests.skipped} skipped" if tests.skipped else ""
        yield f"{_counted(tests.failed, 'test')} failed, {tests.passed} passed{skipped}"
    if lint is not None:
        yield f"{_counted(lint.errors, 'error')}, {_counted(lint.warnings, 'warning')}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def coverage_of(found: OpenReview) -> tuple[GateCoverage, ...]:
    """Return what speaks for or against each gate, in the order of the review."""
    results = {each.gate: each for each in found.checks}
    return tuple(
        GateCoverage(
            gate=gate.id,
            mode=mode_of(gate),
            witness=_witness(gate, result := results.get(gate.id)),
            result="" if result is None else check_in_words(result),
        )
        for gate in found.gates
    )


def _witness(gate: ReviewGate, result: CheckResult | None) -> Witness:
    if gate.check is None:
        return Witness.VERDICT
    if result is None or not result.ran:
        return Witness.NOTHING
    return Witness.CHECK if result.passed else Witness.AGAINST


def strictest_mode(gates: Iterable[ReviewGate]) -> ReviewMode:
    """Return the most restrictive mode; where nothing is known of any gate it blocks."""
    return max(map(mode_of, gates), key=lambda mode: mode.rank, default=ReviewMode.BLOCKING)


def fewest_attempts(gates: Iterable[ReviewGate], settings: Reviews) -> int:
    """Return the lowest limit among the gates that block: the others never hold anything up."""
    limits = [
        settings.max_attempts if gate.max_attempts is None else gate.max_attempts
        for gate in gates
        if mode_of(gate) is ReviewMode.BLOCKING
    ]
    return min(limits, default=settings.max_attempts)


def environment_of_checks(environment: Mapping[str, str], allowed: Sequence[str]) -> dict[str, str]:
    """Return the variables that a check may see: what the policy lists, and never a credential."""
    return {
        name: value
        for name, value in environment.items()
        if listing(name, allowed) is not None and not names_credential(name)
    }


def refusing(verdict: Verdict) -> tuple[Finding, ...]:
    """Return why a check may not run, if it may not: nobody is there to confirm it."""
    least = Decision.REQUIRE_CONFIRMATION.rank
    return tuple(each for each in verdict.findings if each.decision.rank >= least)
