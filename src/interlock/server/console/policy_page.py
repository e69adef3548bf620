"""The pages of the policy: what counts and where it comes from, a command to try, its history."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from interlock import settings
from interlock.errors import InputError, PolicyError
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.server.console.page import Done, Page, Visit
from interlock.service.policies.policy_files import load_policy
from interlock.views.policy_view import Listed, adoptions, policy_page, tried

_LONGEST_LINE: Final = 16_384


def policy_page_of(visit: Visit) -> Page:
    """Show the policy that counts."""
    return _page(visit, None, None)


def try_page(visit: Visit) -> Page:
    """Show what would be answered to a command; nothing is run or recorded."""
    line = visit.query.get("line", "").strip()
    if not line:
        return _page(visit, None, None)
    if len(line) > _LONGEST_LINE:
        raise InputError(
            f"`line` has {len(line):,} characters, at most {_LONGEST_LINE:,} are tried"
        )
    policy = visit.desk.governor.context.policy
    began = time.perf_counter()
    answer = tried(line, visit.query.get("cwd", "").strip(), policy)
    return _page(visit, answer, 1000 * (time.perf_counter() - began))


def _page(visit: Visit, answer: object, took_ms: float | None) -> Page:
    desk, query = visit.desk, visit.query
    listed = next((each for each in Listed if each.value == query.get("show")), Listed.CHANGED)
    policy = desk.governor.context.policy
    view = policy_page(desk.ledger, policy, listed, query.get("q", ""), _in_files())
    places = settings.current_places()
    values = {
        "view": view,
        "listed": listed,
        "every_listed": tuple(Listed),
        "search": query.get("q", ""),
        "tried": answer,
        "took_ms": took_ms,
        "line": query.get("line", ""),
        "cwd": query.get("cwd", ""),
        "user_file": str(places.user_file),
    }
    return Page(template="policy.html", title="Policy", values=values)


def _in_files() -> CompiledPolicy | PolicyError | None:
    """Return what the user's file says now, or why it does not load; None where there is none."""
    user = settings.current_places().user
    if user is None:
        return None
    try:
        return load_policy(user=user, project=None)
    except PolicyError as error:
        return error


def history_page(visit: Visit) -> Page:
    """Show every version of the policy, the newest first."""
    values = {"adoptions": adoptions(visit.desk.ledger)}
    return Page(template="policy_history.html", title="Policy history", values=values)


def adopt_act(visit: Visit, _form: Mapping[str, str]) -> Done:
    """Have the policy of the user's file count from now on, also where it is looser."""
    found = _in_files()
    if found is None:
        file = settings.current_places().user_file
        raise InputError(f"there is no policy at `{file}`: `interlock init` writes one")
    if isinstance(found, PolicyError):
        raise found
    visit.desk.operations.adopt(found, token=visit.who.token)
    return Done("/policy")


PAGES: Final = (
    ("/policy", policy_page_of),
    ("/policy/try", try_page),
    ("/policy/history", history_page),
)
ACTS: Final = (("/policy/adopt", adopt_act),)
