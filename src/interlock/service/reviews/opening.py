"""A review that work waits for: gates of the policy by name, or gates made for the occasion."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.answers import ReviewOpening
from interlock.model.events import ReviewOpened
from interlock.model.review import ReviewGate, refuse_name
from interlock.model.review_state import OpenReview
from interlock.model.run import RunState
from interlock.policy.reviews.completion import COMPLETION
from interlock.policy.reviews.gate_definition import gate_from
from interlock.policy.reviews.review_gate import opened
from interlock.policy.reviews.review_guidance import guidance_of
from interlock.service.context import Context
from interlock.service.holding import agent_of, running
from interlock.service.policies import adopt_in_run

GateGiven = str | ReviewGate | Mapping[str, object]
"""A gate: the name of one in the policy, a gate, or a table that describes one."""

_MOST_PENDING: Final = 20
_LONGEST_SUBJECT: Final = 1_000
_MOST_BYTES: Final = 256 * 1024
"""So much may all gates of a review take: they are part of the run's state while it is pending."""


def open_review(
    context: Context,
    state: RunState,
    review_id: str,
    given: Sequence[GateGiven],
    *,
    subject: str,
    all_hints: bool = False,
) -> Work[ReviewOpening]:
    """Return the work of opening a review; one that is pending already stays as it is."""
    refuse_name("review", "id", review_id)
    _refuse_secret(context, "review: its id", review_id)
    if review_id == COMPLETION:
        raise InputError(
            f"`{COMPLETION}` is the review that the policy asks for: name it otherwise"
        )
    gates = tuple(_gate(context, each) for each in given)
    _check_size(review_id, gates)
    event = ReviewOpened(
        review=opened(review_id, gates, context.gates.reviews),
        gates=gates,
        subject=context.clean(subject)[:_LONGEST_SUBJECT],
    )

    def plan(transaction: Transaction) -> ReviewOpening:
        run, now = running(transaction, state.id), context.clock.now()
        earlier = run.reviews.pending.get(review_id)
        if earlier is not None:
            _check_is_same(earlier, event)
            return _told(context, run, earlier, seq=run.seq, repeated=True, all_hints=all_hints)
        _check_room(run)
        adopt_in_run(transaction, run, context, now)
        record = transaction.append(run.id, event, at=now, by=agent_of(run))
        found = transaction.state(run.id).reviews.pending[review_id]
        return _told(context, run, found, seq=record.seq, repeated=False, all_hints=all_hints)

    return Work(plan, locks=(f"run/{state.id}",))


def kept_gate(context: Context, gate: ReviewGate) -> ReviewGate:
    """Return a gate as it may be kept; InputError for a check with a secret among its words."""
    _refuse_secret(context, "gate: its id", gate.id)
    argv = () if gate.check is None else gate.check.argv
    for text in (*argv, shlex.join(argv)):
        if not _is_whole(text):
            raise InputError(f"gate `{gate.id}`: its check holds half a character")
        _refuse_secret(context, f"gate `{gate.id}`: its check", text)
    return replace(gate, criteria=tuple(map(context.clean, gate.criteria)))


def _refuse_secret(context: Context, place: str, text: str) -> None:
    if context.clean(text) != text:
        raise InputError(f"{place} holds a secret: name it otherwise, or read it from a file")


def _is_whole(text: str) -> bool:
    """Whether a text can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _gate(context: Context, given: GateGiven) -> ReviewGate:
    if isinstance(given, ReviewGate):
        return kept_gate(context, given)
    if isinstance(given, Mapping):
        return kept_gate(context, gate_from(given, "review"))
    known = context.gates.review_gates
    if given not in known:
        names = ", ".join(f"`{name}`" for name in known) or "it has none"
        raise InputError(f"the policy has no review gate `{given[:80]}`: {names}")
    return kept_gate(context, known[given])


def _check_size(review_id: str, gates: Sequence[ReviewGate]) -> None:
    size = len(msgspec.json.encode(gates))
    if size > _MOST_BYTES:
        raise InputError(
            f"the gates of review `{review_id}` take {size} bytes, at most {_MOST_BYTES} are kept:"
            " have checks read from files, or make it several reviews"
        )


def _check_is_same(earlier: OpenReview, event: ReviewOpened) -> None:
    if earlier.gates != event.gates:
        raise InputError(
            f"review `{event.review.id}` is pending already, with other gates: give its verdict"
            " first, or name the new one otherwise"
        )


def _check_room(run: RunState) -> None:
    pending = len(run.reviews.pending)
    if pending >= _MOST_PENDING:
        raise InputError(
            f"run `{run.id}` has {pending} pending reviews, {_MOST_PENDING} are the most: give"
            " their verdicts first"
        )


def _told(
    context: Context,
    run: RunState,
    found: OpenReview,
    *,
    seq: int,
    repeated: bool,
    all_hints: bool,
) -> ReviewOpening:
    guidance = guidance_of(
        found.review,
        gates=found.gates,
        checks=found.checks,
        settings=context.gates.reviews,
        all_hints=all_hints,
    )
    return ReviewOpening(
        run_id=run.id,
        seq=seq,
        review=found.review,
        gates=found.gates,
        guidance=guidance,
        repeated=repeated,
    )
