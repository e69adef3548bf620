"""The page of the loop: what next, why, and what a person has to say about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interlock.errors import InputError
from interlock.model.principal import Principal
from interlock.server.console import charts
from interlock.server.console.page import Done, Page, Visit
from interlock.server.markup.safe_html import thin_bar
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.cycles.recommendation_desk import RecommendationDesk
from interlock.service.people.operators import proven
from interlock.views.loop_page_view import Logged, loop_page

_HERE: Final = "/loop"
_LOGGED: Final = (
    (Logged.ALL, "all"),
    (Logged.ACTS, "actions"),
    (Logged.RAILS, "held by a rail"),
)


def loop_page_of(visit: Visit) -> Page:
    """Show the loop."""
    desk, query = visit.desk, visit.query
    logged = next((each for each in Logged if each.value == query.get("show")), Logged.ALL)
    before = query.get("before", "")
    settings = desk.governor.context.policy.config.loop
    view = loop_page(
        desk.ledger,
        settings,
        desk.now(),
        logged=logged,
        before=int(before)
        if before.isascii() and before.isdecimal() and len(before) < 16
        else None,
    )
    status = view.status
    shares = [each.acted / each.per_hour if each.per_hour else 0.0 for each in status.rates]
    spent = status.spent_micros / status.day_cost_micros if status.day_cost_micros else 0.0
    values = {
        "view": view,
        "status": status,
        "logged": logged,
        "every_logged": _LOGGED,
        "modes": ("off", "shadow", "enforce"),
        "rate_bars": [thin_bar(each, charts.budget_tone(each)) for each in shares],
        "cost_bar": thin_bar(spent, charts.budget_tone(spent)),
    }
    return Page(template="loop.html", title="Loop", values=values)


def freeze_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Freeze the loop: it does nothing from now on."""
    _chain(visit).freeze(form.get("reason", ""), _operator(visit, "freeze the loop"))
    return Done(_HERE)


def thaw_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Unfreeze the loop."""
    _chain(visit).thaw(form.get("reason", ""), _operator(visit, "unfreeze the loop"))
    return Done(_HERE)


def note_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Leave a note for the loop."""
    _chain(visit).add_note(form.get("note", ""), source=visit.who.name)
    return Done(f"{_HERE}#notes")


def recommendation_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Apply, dismiss or undo a recommendation."""
    desk = RecommendationDesk(visit.desk.governor, _chain(visit))
    wanted, recommendation = form.get("do", ""), visit.params["recommendation"]
    if wanted not in ("apply", "dismiss", "undo"):
        raise InputError(f"`do` is `{wanted}`: expected `apply`, `dismiss` or `undo`")
    by = _operator(visit, f"{wanted} a recommendation")
    if wanted == "apply":
        desk.apply(recommendation, by)
    elif wanted == "undo":
        desk.undo(recommendation, by)
    else:
        desk.dismiss(recommendation, by, form.get("note") or None)
    return Done(f"{_HERE}#recommendations")


def _chain(visit: Visit) -> LoopChain:
    return LoopChain(visit.desk.governor)


def _operator(visit: Visit, operation: str) -> Principal:
    return proven(visit.desk.governor.context, visit.who.token, operation)


PAGES: Final = ((_HERE, loop_page_of),)
ACTS: Final = (
    ("/loop/freeze", freeze_act),
    ("/loop/thaw", thaw_act),
    ("/loop/notes", note_act),
    ("/loop/recommendations/{recommendation}", recommendation_act),
)
