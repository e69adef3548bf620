"""The page of one record: the answer, and everything behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interlock.errors import UnknownError
from interlock.ledger.abbreviations import found_run
from interlock.server.console.page import Done, Page, Visit
from interlock.views.decision_view import RULE_ANSWERS, decision_page
from interlock.views.lookup import found_state

_LONGEST_NUMBER: Final = 15


def decision_page_of(visit: Visit) -> Page:
    """Show one record of a run."""
    desk = visit.desk
    state = found_state(desk.ledger, visit.params["run"])
    seq = _seq(visit.params["seq"], state.id)
    rule = visit.query.get("rule", "deny")
    view = decision_page(
        desk.ledger,
        state,
        seq,
        desk.governor.context.policy,
        rule=rule if rule in RULE_ANSWERS else "deny",
        is_tried="past" in visit.query,
    )
    replay = desk.checks.replay_of(state.id)
    values = {
        "view": view,
        "rule_answers": tuple(RULE_ANSWERS),
        "replay": None if replay is None or replay.records < seq else replay,
        "verified": desk.checks.check_of(state.id),
    }
    return Page(template="decision.html", title=f"{view.heading}, record {seq}", values=values)


def replay_record_act(visit: Visit, _form: Mapping[str, str]) -> Done:
    """Decide the answers of a run again, and show whether this one is the same."""
    run = found_run(visit.desk.ledger.rows, visit.params["run"]).id
    seq = _seq(visit.params["seq"], run)
    visit.desk.checks.note_replay(visit.desk.replay(run))
    return Done(f"/runs/{run}/records/{seq}#record")


def _seq(text: str, run_id: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise UnknownError(f"run `{run_id}` has no record `{text}`: records are numbered from 1 on")
    return int(text)


PAGES: Final = (("/runs/{run}/records/{seq}", decision_page_of),)
ACTS: Final = (("/runs/{run}/records/{seq}/replay", replay_record_act),)
