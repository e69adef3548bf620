"""What waits for a person, what speaks for and against it, and what rule would spare it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.action import CommandAction
from interlock.model.approval import Approval, Subject
from interlock.model.events import ActionJudged
from interlock.model.rows import RunRow
from interlock.model.system_loop import Choice
from interlock.model.verdict import Decision, Finding
from interlock.policy.config.document import KEY_BY_PATH
from interlock.policy.gates.destructive_gate import accepted_text, is_the_same_each_time
from interlock.service.policies.policy_book import stored_policy
from interlock.views.loop_view import cycle_view, effect_text, loop_state
from interlock.views.review_view import PendingReview, asked_about
from interlock.views.run_view import stopped_by

_NO_RULE: Final = "# no rule is as narrow as this question"
_ONLY_AT_RUN_TIME: Final = ("unresolved-command", "hidden-command", "oversize-command")


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


def recommendation(findings: Iterable[Finding], event: ActionJudged | None = None) -> str:
    """Return the lines of a policy under which a person would not be asked about this again.

    They count for what was asked and nothing else; where the policy cannot say that, a comment
    says so. `event` is the record of what was asked.
    """
    found = tuple(findings)
    asking = [each for each in found if each.decision is Decision.REQUIRE_CONFIRMATION]
    blocks = [_block(each, found, event) for each in asking]
    return "\n\n".join(dict.fromkeys(blocks)) + "\n"


def _block(finding: Finding, found: Sequence[Finding], event: ActionJudged | None) -> str:
    match finding.gate:
        case "destructive-ops":
            return _accepted(found, event)
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
            return f"{_NO_RULE}: no key of the policy is about `{finding.rule}` alone"


def _accepted(found: Sequence[Finding], event: ActionJudged | None) -> str:
    """Return the line that accepts exactly the command that was asked about."""
    if event is None or not isinstance(event.action, CommandAction):
        return f"{_NO_RULE}: it was not asked as a command"
    if event.facts.withheld is not None:
        return f"{_NO_RULE}: the command holds a credential, which is not recorded"
    is_fixed = is_the_same_each_time(event.action.command)
    if not is_fixed or any(each.rule in _ONLY_AT_RUN_TIME for each in found):
        return f"{_NO_RULE}: a part of the command is only known when it runs"
    command = accepted_text(event.action.command, event.action.cwd)
    return f'[destructive-ops]\naccepted-commands = ["...", {_toml_text(command)}]'


def _too_wide(key: str, what: str) -> str:
    return f'{_NO_RULE}: `{key} = "warn"` would count for {what}'


def _toml_text(text: str) -> str:
    """Return a text as a basic string of TOML, which JSON's nearly is."""
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")
