"""What waits for a person, what speaks for and against it, and what would silence it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval, Subject
from interlock.model.rows import RunRow
from interlock.model.system_loop import Choice
from interlock.model.verdict import Finding
from interlock.policy.config.document import KEY_BY_PATH
from interlock.service.policies.policy_book import stored_policy
from interlock.views.loop_view import cycle_view, effect_text, loop_state
from interlock.views.review_view import PendingReview, asked_about

_TABLES: Final = {"destructive-ops": "destructive-ops.rules", "secrets": "secrets.rules"}


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


def recommendation(findings: Iterable[Finding]) -> str:
    """Return the lines of a policy under which a person would not be asked about this again.

    Each finding is answered by its own rule, as narrowly as the policy can say it.
    """
    asking = [each for each in findings if each.decision.value == "require-confirmation"]
    tables: dict[str, list[str]] = {}
    blocks: list[str] = []
    for finding in asking:
        table = _TABLES.get(finding.gate)
        if table is not None and _is_listed(finding):
            rule = finding.rule.removeprefix("secrets.")
            line = f'{json.dumps(rule)} = "warn"  # {_one_line(finding.message)}'
            tables.setdefault(table, []).append(line)
        else:
            blocks.append(_block(finding))
    named = [f"[{table}]\n" + "\n".join(dict.fromkeys(lines)) for table, lines in tables.items()]
    return "\n\n".join((*named, *dict.fromkeys(blocks))) + "\n"


def _is_listed(finding: Finding) -> bool:
    """Whether the rule has a name that the policy's tables know."""
    return "." in finding.rule and finding.rule != "secrets.oversize-content"


def _block(finding: Finding) -> str:
    match finding.gate:
        case "protected-paths":
            path = finding.rule.removeprefix("protected-paths.")
            return f'[[protected-paths.entries]]\npath = {json.dumps(path)}\ndecision = "warn"'
        case gate if gate not in _TABLES and f"{gate}.decision" in KEY_BY_PATH:
            return f'[{gate}]\ndecision = "warn"'
        case "rules":
            return f'# in [[rules]] {json.dumps(finding.rule)}, which is yours: decision = "warn"'
        case "loop":
            return f'[loop]\n{finding.rule.removeprefix("loop.")} = "allow"'
        case "budget":
            return '[budgets]\nunpriced = "warn"'
        case _:
            return f"# no key of the policy silences `{finding.rule}` alone: see `docs/policy.md`"


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
