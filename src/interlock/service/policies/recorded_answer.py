"""A recorded question, answered again: under the policy of then, or under another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from interlock.model.arbitration import Ruling
from interlock.model.events import ActionJudged, StepJudged, StopJudged
from interlock.model.run import FROM_FACTS
from interlock.model.step import ContinueDecision
from interlock.model.stop import StopDecision
from interlock.model.verdict import DESTRUCTIVE_OPS, Decision, Finding
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.arbiter import held_answer, ruling
from interlock.policy.config.key import ALLOW_WITH_UNDO, OBSERVE
from interlock.policy.gates.judgement import judge, observed_findings
from interlock.policy.steps.continue_gate import decide as decide_step
from interlock.policy.stops.stop_gate import decide as decide_stop
from interlock.service.policies.builtin_rules import known_rules


def findings_again(event: ActionJudged, policy: CompiledPolicy) -> tuple[Finding, ...]:
    """Return what the gates find in an action, as it was before secrets were taken out of it."""
    now = judge(event.action, policy).findings
    withheld = event.facts.withheld
    if withheld is None:
        return now
    whole = [each for each in event.verdict.findings if each.gate not in FROM_FACTS]
    if now == withheld.instead:
        # What was recorded is judged as it was then, so what was taken out would be as well.
        return tuple(observed_findings(list(_weighed(whole, policy)), policy))
    # Another policy: what hangs on the text that is gone is as it was, but for its weight.
    there, instead = _names(whole), _names(withheld.instead)
    unseen = [each for each in whole if (each.gate, each.rule) not in instead]
    seen = (each for each in now if (each.gate, each.rule) not in instead - there)
    return (*seen, *observed_findings(list(_weighed(unseen, policy)), policy))


def step_again(event: StepJudged, policy: CompiledPolicy) -> ContinueDecision:
    """Return what is answered before a step, of which the same is known."""
    if event.hard:
        return held_answer(event.hard)
    return decide_step(
        event.context,
        policy.config.steps,
        throttled_before=event.throttled_before,
        short=event.decision.short,
    )


def stop_again(
    event: StopJudged, policy: CompiledPolicy
) -> tuple[StopDecision, ContinueDecision, Ruling]:
    """Return what becomes of a turn; checks of finished work count as they came out then."""
    step = decide_step(event.facts, policy.config.steps, throttled_before=event.throttled_before)
    decision = decide_stop(event.context, policy.config.stops)
    ruled = ruling(
        event.hard,
        step,
        decision,
        credit=event.credit,
        waiting=event.waiting,
        completion=event.completion,
    )
    return decision, step, ruled


def _names(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(each.gate, each.rule) for each in findings}


def _weighed(findings: Iterable[Finding], policy: CompiledPolicy) -> Iterator[Finding]:
    """Yield findings with the decision that a policy gives to the rules for commands."""
    settings = policy.config.destructive_ops
    for finding in (each.enforced for each in findings):
        if finding.gate != DESTRUCTIVE_OPS or finding.rule not in known_rules().commands:
            yield finding
            continue
        rule = policy.rulebook.rules.get(finding.rule) if settings.enabled else None
        if rule is not None:
            said = settings.rules.get(finding.rule, OBSERVE)
            own = {ALLOW_WITH_UNDO: Decision.REQUIRE_CONFIRMATION, OBSERVE: rule.decision}
            yield replace(finding, decision=own.get(said) or Decision(said))
