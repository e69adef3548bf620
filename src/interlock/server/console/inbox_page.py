"""The inbox: what waits for a person, each with what is needed to decide, and the deciding."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from interlock.errors import DecidedError, InputError
from interlock.ledger.abbreviations import found_approval
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.facts import Band
from interlock.model.review import GateAction
from interlock.server.console.charts import token_chart
from interlock.server.console.page import Done, Page, Visit
from interlock.views.question_view import Question, question_view
from interlock.views.queue_view import Queue, queue

_DECIDED: Final = "decided"
_BANDS: Final = {
    Band.FULL: "no extra limits",
    Band.RESTRICTED: "must ask before it deletes or uses the network",
    Band.READ_ONLY: "may only read",
    Band.STOP: "stopped",
}
"""What a run may still do, in words."""
_LONGEST_NOTE: Final = 2_000


def inbox_page(visit: Visit) -> Page:
    """Return what waits, with the question that runs out first."""
    found = queue(visit.desk.ledger, visit.desk.now(), with_ended=True)
    entries = found.ended if visit.query.get("show") == _DECIDED else found.waiting
    opened = visit.desk.ledger.rows.approval(entries[0].id) if entries else None
    return _page(visit, found, opened, is_open=False)


def question_page(visit: Visit) -> Page:
    """Return one question."""
    found = queue(visit.desk.ledger, visit.desk.now(), with_ended=True)
    approval = found_approval(visit.desk.ledger.rows, visit.params["approval"])
    return _page(visit, found, approval, is_open=True)


def _page(
    visit: Visit,
    found: Queue,
    approval: Approval | None,
    *,
    is_open: bool,
    notice: str = "",
    note: str = "",
    status: int = 200,
) -> Page:
    now = visit.desk.now()
    question = None if approval is None else question_view(visit.desk.ledger, approval, now)
    is_ended = question is not None and not question.is_open
    shows_ended = visit.query.get("show") == _DECIDED or (is_open and is_ended)
    return Page(
        template="inbox.html",
        title="Inbox",
        values={
            "queue": found,
            "waiting": len(found.waiting),
            "heading_of_list": _heading(len(found.waiting)),
            "entries": found.ended if shows_ended else found.waiting,
            "shows_ended": shows_ended,
            "question": question,
            "is_open": is_open,
            "may_decide": visit.who.scope != "viewer",
            "band_words": _BANDS,
            "done": _done(visit),
            "chart": _chart(question),
            "notice": notice,
            "note": note,
        },
        status=status,
    )


def _heading(waiting: int) -> str:
    if not waiting:
        return "Nothing waits for you"
    return f"{waiting:,} {'waits' if waiting == 1 else 'wait'} for you"


def _chart(question: Question | None) -> str:
    """Return the tokens of the last steps, where it is asked whether a run may go on."""
    if question is None or question.kind != "resume" or not question.deeds.bars:
        return ""
    return token_chart(question.deeds.bars, None, ())


def _done(visit: Visit) -> Approval | None:
    """Return the question that was answered just now, to say so."""
    named = visit.query.get("done")
    found = None if named is None else visit.desk.ledger.rows.approval(named)
    return found if found is not None and found.state is not ApprovalState.PENDING else None


def decide_act(visit: Visit, form: Mapping[str, str]) -> Done | Page:
    """Decide a question as the form says, if it is still the one that was shown."""
    approval = found_approval(visit.desk.ledger.rows, visit.params["approval"])
    note = form.get("note", "").strip()[:_LONGEST_NOTE]
    shown = form.get("digest", "")
    if not hmac.compare_digest(shown.encode(), approval.digest.encode()):
        words = "the question changed since you opened it, so nothing was decided: read it again"
        return _again(visit, approval.id, words, note, 409)
    try:
        _decide(visit, approval, form, note)
    except DecidedError as error:
        return _again(visit, approval.id, f"your answer was not used: {error}", note, 409)
    except InputError as error:
        return _again(visit, approval.id, str(error), note, 422)
    return Done(_next(visit, approval))


def _decide(visit: Visit, approval: Approval, form: Mapping[str, str], note: str) -> None:
    words, token = visit.desk.operations, visit.who.token
    if approval.subject is Subject.REVIEW:
        try:
            choice = GateAction(form.get("choice", ""))
        except ValueError:
            raise InputError("choose retry, skip or abort: nothing was decided") from None
        words.choose(approval.id, choice, token=token, instructions=note or None)
        return
    match form.get("answer"):
        case "approve":
            words.approve(approval.id, token=token, note=note or None)
        case "deny":
            words.deny(approval.id, token=token, note=note or None)
        case _:
            raise InputError("the form says neither approve nor deny: nothing was decided")


def _again(visit: Visit, approval_id: str, notice: str, note: str, status: int) -> Page:
    found = queue(visit.desk.ledger, visit.desk.now(), with_ended=True)
    current = visit.desk.ledger.rows.approval(approval_id)
    return _page(visit, found, current, is_open=True, notice=notice, note=note, status=status)


def _next(visit: Visit, decided: Approval) -> str:
    """Return where to look next: at the next question, if another one waits."""
    waiting = queue(visit.desk.ledger, visit.desk.now(), with_ended=False).waiting
    place = f"/inbox/{quote(waiting[0].id, safe='')}" if waiting else "/inbox"
    return f"{place}?done={quote(decided.id, safe='')}"


PAGES: Final = (("/inbox", inbox_page), ("/inbox/{approval}", question_page))
ACTS: Final = (("/inbox/{approval}", decide_act),)
