"""The page of one run: how it went, what it is doing, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from interlock.errors import InputError
from interlock.ledger.abbreviations import found_run
from interlock.model.budget import Dimension
from interlock.server.console import charts
from interlock.server.console.page import Done, Page, Visit
from interlock.server.markup.safe_html import thin_bar
from interlock.service.checkpoint_restore import restore_run
from interlock.service.interlock import Interlock
from interlock.service.operations import budget_change
from interlock.service.people.operators import proven
from interlock.views.check_results import VerifyResult
from interlock.views.ledger_view import verified_run
from interlock.views.lookup import found_state
from interlock.views.run_curves import RunCurves
from interlock.views.run_page_view import answers_text, run_page
from interlock.views.run_timeline import Show

_LARGEST: Final = 2**53


def run_page_of(visit: Visit) -> Page:
    """Show one run."""
    desk = visit.desk
    state = found_state(desk.ledger, visit.params["run"])
    view = run_page(
        desk.ledger,
        state,
        desk.now(),
        undo_store=desk.governor.context.undo_store,
        show=_show(visit.query.get("show", "")),
        before=_seq(visit.query.get("before", "")),
    )
    values: dict[str, object] = {
        "run": view,
        "figures": view.figures,
        "before": _seq(visit.query.get("before", "")),
        "shows": _SHOWS,
        "steps_text": answers_text(view.figures.step_answers),
        "answers_text": answers_text(view.figures.answers),
        "replay": desk.checks.replay_of(state.id),
        "verified": desk.checks.check_of(state.id),
        "dimensions": tuple(Dimension),
        **_drawn(view.curves),
        "bars": [
            thin_bar(each.share, charts.budget_tone(each.share), each.held) for each in view.budgets
        ],
    }
    return Page(template="run.html", title=state.task or "no task given", values=values)


_SHOWS: Final = (
    (Show.EVERYTHING, "everything"),
    (Show.REFUSED, "warn, ask, deny"),
    (Show.FAILED, "failed"),
    (Show.EDITS, "edits"),
    (Show.PEOPLE, "people"),
)


def _show(text: str) -> Show:
    return next((each for each in Show if each.value == text), Show.EVERYTHING)


def _seq(text: str) -> int | None:
    return min(int(text), _LARGEST) if text.isascii() and text.isdecimal() else None


def _drawn(curves: RunCurves) -> dict[str, object]:
    coherence, rework = charts.last_figures(curves.points)
    burn = curves.burn
    return {
        "token_chart": charts.token_chart(curves.bars, curves.trend, curves.marks),
        "coherence_chart": charts.coherence_chart(curves.points, curves.bands),
        "results_chart": charts.results_chart(curves.results),
        "burn_chart": None
        if burn is None
        else charts.burn_down(burn.left, burn.limit, burn.more_steps),
        "coherence": coherence,
        "rework": rework,
    }


def halt_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Stop a run and everything below it."""
    run = _run_id(visit)
    visit.desk.operations.halt(run, token=visit.who.token, reason=_reason(form))
    return _back(run)


def lift_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Let a run go on that was paused or stopped."""
    run = _run_id(visit)
    visit.desk.operations.lift(run, token=visit.who.token, reason=_reason(form))
    return _back(run)


def budget_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Give one of the accounts of a run another limit."""
    run, governor = _run_id(visit), visit.desk.governor
    dimension = next((each for each in Dimension if each.value == form.get("dimension")), None)
    if dimension is None:
        known = ", ".join(f"`{each.value}`" for each in Dimension)
        raise InputError(f"`dimension` is `{form.get('dimension', '')}`: expected {known}")
    scope = form.get("scope") or f"run/{run}"
    by = proven(governor.context, visit.who.token, "set a budget")
    limit, note = _limit(dimension, form.get("limit", "")), form.get("note") or None
    governor.answer(budget_change(scope, dimension, limit, note=note), by)
    return _back(run)


def _limit(dimension: Dimension, text: str) -> int | None:
    """Return a limit from what a person typed, in the unit that they see; nothing is no limit."""
    if not text.strip():
        return None
    try:
        amount = Decimal(text.strip().removeprefix("$").replace(",", "")) * dimension.scale
    except InvalidOperation:
        raise InputError(f"`limit` is `{text}`: expected a number of {dimension.unit}") from None
    if not amount.is_finite() or not 0 <= amount <= _LARGEST or amount != int(amount):
        raise InputError(f"`limit` is `{text}`: expected a number of {dimension.unit} from 0 on")
    return int(amount)


def restore_act(visit: Visit, _form: Mapping[str, str]) -> Done:
    """Bring the files of a run back to a checkpoint."""
    run = _run_id(visit)
    restore_run(visit.desk.governor, run, visit.params["checkpoint"])
    return _back(run, "#checkpoints")


def undo_act(visit: Visit, _form: Mapping[str, str]) -> Done:
    """Put files back: a set of edits, or what was copied away before a command."""
    run = _run_id(visit)
    Interlock(visit.desk.governor, visit.who.principal).undo(visit.params["undo"])
    return _back(run, "#undo")


def replay_act(visit: Visit, _form: Mapping[str, str]) -> Done:
    """Decide every answer of a run again."""
    run = _run_id(visit)
    visit.desk.checks.note_replay(visit.desk.replay(run))
    return _back(run, "#trust")


def verify_act(visit: Visit, _form: Mapping[str, str]) -> Done:
    """Hold the records of a run against its chain and its seals."""
    run, desk = _run_id(visit), visit.desk
    found = verified_run(desk.ledger, desk.ledger.rows, run)
    result = VerifyResult(at=desk.now(), records=found.records, runs=1, faults=tuple(found.faults))
    desk.checks.note_run(run, result)
    return _back(run, "#trust")


def _run_id(visit: Visit) -> str:
    return found_run(visit.desk.ledger.rows, visit.params["run"]).id


def _reason(form: Mapping[str, str]) -> str:
    reason = form.get("reason", "").strip()
    if not reason:
        raise InputError("`reason` is empty: say why, it is recorded")
    return reason


def _back(run_id: str, place: str = "") -> Done:
    return Done(f"/runs/{run_id}{place}")


PAGES: Final = (("/runs/{run}", run_page_of),)
ACTS: Final = (
    ("/runs/{run}/halt", halt_act),
    ("/runs/{run}/lift", lift_act),
    ("/runs/{run}/budget", budget_act),
    ("/runs/{run}/checkpoints/{checkpoint}/restore", restore_act),
    ("/runs/{run}/undo/{undo}", undo_act),
    ("/runs/{run}/replay", replay_act),
    ("/runs/{run}/verify", verify_act),
)
