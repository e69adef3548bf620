"""What waits for a person, what speaks for and against it, and what rule would spare it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval, Subject
from interlock.model.events import ActionJudged
from interlock.model.rows import RunRow
from interlock.model.system_loop import Choice
from interlock.model.verdict import Decision, Finding
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import inspect
from interlock.policy.config.document import KEY_BY_PATH
from interlock.policy.gates import destructive_gate
from interlock.service.policies.policy_book import stored_policy
from interlock.views.loop_view import cycle_view, effect_text, loop_state
from interlock.views.review_view import PendingReview, asked_about
from interlock.views.run_view import stopped_by

NO_RULE: Final = "# no rule is as narrow as this question"


class LoopQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop asks a person about."""

    decision_id: str
    choice: Choice
    effect: str
    """What would happen."""


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a person, with the run that asks it."""

    approval: Approval
    is_open: bool
    run: RunRow | None
    review: PendingReview | None
    """The review that it is about, if that still waits for the answer."""
    choice: LoopQuestion | None
    """What the loop wants to do, if it still waits for the answer."""
    raises: tuple[str, ...]
    """What comes first where nothing is left of a budget: the commands that raise its limits."""


def inbox(ledger: Ledger, now: int, *, everything: bool = False) -> Sequence[InboxItem]:
    """Return what waits for a person, or everything that anybody was ever asked."""
    found = ledger.rows.approvals(state=None if everything else "pending")
    return [_item(ledger, each, now) for each in found if everything or each.is_open_at(now)]


def _item(ledger: Ledger, approval: Approval, now: int) -> InboxItem:
    is_review, is_loop = approval.subject is Subject.REVIEW, approval.subject is Subject.LOOP
    return InboxItem(
        approval=approval,
        is_open=approval.is_open_at(now),
        run=ledger.rows.run(approval.run_id),
        review=asked_about(ledger, approval, now) if is_review else None,
        choice=loop_question(ledger, approval) if is_loop else None,
        raises=tuple(each.way_to_raise for each in stopped_by(ledger, approval.id, now)),
    )


def loop_question(ledger: Ledger, approval: Approval) -> LoopQuestion | None:
    """Return what the loop waits for a person with; None where it does not any more."""
    loop = loop_state(ledger)
    held = loop.held.get(approval.id)
    decided = None if held is None else cycle_view(ledger, held.decision_id).entry.decision
    if held is None or decided is None:
        return None
    settings = stored_policy(ledger.rows, decided.policy_hash).loop
    return LoopQuestion(
        decision_id=held.decision_id,
        choice=held.choice,
        effect=effect_text(held.choice, settings, loop),
    )


def recommendation(
    findings: Iterable[Finding], event: ActionJudged | None, policy: CompiledPolicy
) -> str:
    """Return the lines of a policy under which a person would not be asked about this again.

    They count for what was asked and nothing else; where the policy cannot say that, a comment
    says so. `event` is the record of what was asked, `policy` the one that asked.
    """
    asking = [each for each in findings if _asks(each)]
    blocks = [_block(each, event, policy) for each in asking]
    return "\n\n".join(dict.fromkeys(blocks)) + "\n"


def _asks(finding: Finding) -> bool:
    return finding.decision is Decision.REQUIRE_CONFIRMATION


def _block(finding: Finding, event: ActionJudged | None, policy: CompiledPolicy) -> str:
    match finding.gate:
        case "destructive-ops":
            return _accepted(event, policy)
        case "protected-paths":
            path = finding.rule.removeprefix("protected-paths.")
            return f'[[protected-paths.entries]]\npath = {json.dumps(path)}\ndecision = "warn"'
        case "rules":
            return f'# in [[rules]] {json.dumps(finding.rule)}, which is yours: decision = "warn"'
        case "loop":
            return f'[loop]\n{finding.rule.removeprefix("loop.")} = "allow"'
        case "budget":
            return _too_wide("budgets.unpriced", "every model without a price")
        case gate if gate != "secrets" and f"{gate}.decision" in KEY_BY_PATH:
            return _too_wide(f"{gate}.decision", "everything that this gate looks at")
        case _:
            return f"{NO_RULE}: no key of the policy is about `{finding.rule}` alone"


def _accepted(event: ActionJudged | None, policy: CompiledPolicy) -> str:
    """Return the line that accepts exactly the commands that were asked about."""
    if event is not None and event.facts.withheld is not None:
        return f"{NO_RULE}: the command holds a credential, which is not recorded"
    commands = () if event is None else inspect(event.action, policy).commands
    gate = destructive_gate.GATE.command
    asking = [each for each in commands if gate is not None and any(map(_asks, gate(each, policy)))]
    if not asking:
        return f"{NO_RULE}: no command was asked about"
    found = [destructive_gate.acceptance_of(each) for each in asking]
    accepted = [_toml_text(each) for each in found if each is not None]
    if len(accepted) < len(asking):
        return f"{NO_RULE}: a part of the command is only known when it runs"
    named = ", ".join(('"..."', *accepted))
    return f"[destructive-ops]\naccepted-commands = [{named}]"


def _too_wide(key: str, what: str) -> str:
    return f'{NO_RULE}: `{key} = "warn"` would count for {what}'


def _toml_text(text: str) -> str:
    """Return a text as a basic string of TOML, which JSON's nearly is."""
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")
