"""`interlock budget [SCOPE] [DIMENSION NEW]`: what an account may use, and other limits for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Final

import click

from interlock.cli.call.chosen_question import run_or_latest
from interlock.cli.call.ledger_access import current_time, governing, operator, reading_ledger
from interlock.cli.call.options import ledger_call, note_option, show
from interlock.cli.text.render import Line, Span, Tone
from interlock.cli.text.summary_page import next_line
from interlock.cli.text.tables import bar_lines
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_scope
from interlock.ledger.ledger import Ledger
from interlock.model.budget import (
    NO_LIMITS,
    BudgetBalance,
    Dimension,
    ScopeKind,
    micros_from_usd,
)
from interlock.model.events import BudgetChanged
from interlock.model.run import RunStatus
from interlock.model.short_code import code_of
from interlock.ports import Rows
from interlock.service.interlock import Interlock
from interlock.service.operations import budget_change
from interlock.views import units
from interlock.views.run_view import account_value, balance_of, stopped_by

_NO_LIMIT: Final = "none"
_DIMENSIONS: Final = [each.value for each in Dimension]
_OF_RUN: Final = (ScopeKind.RUN, ScopeKind.TREE)
_ABOUT: Final = """\
Show what was used of a budget, or set a limit.

SCOPE is a run's id, `agent/NAME` or `project-day/NAME/YYYY-MM-DD`. A run has two accounts:
`run/ID` is the run by itself, `tree/ID` the run with all runs below it, which `interlock run
--budget` limits. With the id alone, the limited ones are shown, and the limit that the run was
given is set. Without SCOPE it is the run that waits for a person, or the latest at work.
DIMENSION is `tokens`, `tool-calls`, `wall-time-s`, `cost-usd`, `diff-lines` or `storage-bytes`.
NEW is a number; `none` takes the account's own limit away, and the policy's counts again. Several
limits are set with `DIMENSION=NEW` each. Only an operator sets limits.

Examples:
  interlock budget R4X9TM
  interlock budget R4X9TM tokens 200000
  interlock budget R4X9TM tokens=200000 cost-usd=0.20
  interlock budget agent/claude cost-usd 12.50 --reason "the migration takes longer"
"""


@ledger_call("budget", help=_ABOUT, decides=True)
@click.argument("scope", required=False)
@click.argument("limits", metavar="[DIMENSION NEW]", nargs=-1)
@note_option
def budget_command(*, scope: str | None, limits: tuple[str, ...], note: str | None) -> None:
    """Show an account, or change its limits."""
    if scope is not None and _is_limit(scope):
        scope, limits = None, (scope, *limits)
    wanted = _wanted(limits)
    if wanted:
        _change(scope, wanted, note=note)
    else:
        _show(scope)


def _is_limit(word: str) -> bool:
    """Whether a word names a limit, not an account."""
    return word.partition("=")[0] in _DIMENSIONS


def _wanted(words: Sequence[str]) -> Mapping[Dimension, int | None]:
    """Return the limits that are to be set: `DIMENSION NEW`, or `DIMENSION=NEW` for several."""
    if words and "=" not in words[0]:
        if len(words) == 1 and _is_limit(words[0]):
            raise click.UsageError(f"expected the new limit behind `{words[0]}`, or `{_NO_LIMIT}`")
        if len(words) > 2:
            raise click.UsageError(
                f"expected one DIMENSION and NEW, or several as DIMENSION=NEW: `{words[2]}` is"
                " neither"
            )
        words = ["=".join(words)]
    found: dict[Dimension, int | None] = {}
    for word in words:
        name, _, new = word.partition("=")
        if name not in _DIMENSIONS:
            known = ", ".join(_DIMENSIONS)
            raise click.UsageError(f"`{name}` cannot be limited: expected one of {known}")
        found[Dimension(name)] = limit_from(Dimension(name), new)
    return found


def limit_from(dimension: Dimension, text: str) -> int | None:
    """Return a limit in the smallest unit that counts, from what a person wrote."""
    if text == _NO_LIMIT:
        return None
    if dimension is Dimension.COST:
        return micros_from_usd(text)
    if not text.replace("_", "").isdecimal():
        raise InputError(
            f"`{text}` is not a limit for `{dimension.value}`: expected a whole number such as"
            f" 200000, or `{_NO_LIMIT}`"
        )
    return int(text.replace("_", "")) * dimension.scale


def _show(named: str | None) -> None:
    with reading_ledger() as ledger:
        text = run_or_latest(ledger, named)
        scopes, now = _scopes(ledger.rows, text), current_time()
        found = [balance_of(ledger, scope, now) for scope in scopes]
    balances = [each for each in found if each is not None]
    if not balances:
        raise InputError(f"nothing was ever charged to `{scopes[0]}`, and it has no limit")
    # Of a run's two accounts the ones that are limited, or its own.
    shown = [each for each in balances if each.limits != NO_LIMITS] or balances[:1]
    shown.sort(key=_share, reverse=True)
    values = [account_value(each) for each in shown]
    lines = chain.from_iterable(map(_balance_lines, shown))
    show(values[0] if len(values) == 1 else values, lines)


def _share(balance: BudgetBalance) -> float:
    """Return how much of a limit is used and reserved, of that which is nearest to its end."""
    taken = balance.used + balance.reserved
    limits = ((each, balance.limits.of(each)) for each in Dimension)
    return max(
        (taken.of(each) / limit if limit else inf for each, limit in limits if limit is not None),
        default=0.0,
    )


def _scopes(rows: Rows, text: str) -> Sequence[str]:
    """Return the account that is named, or the two of a run."""
    if "/" in text:
        return (found_scope(rows, text),)
    return tuple(found_scope(rows, f"{kind.value}/{text}") for kind in _OF_RUN)


def _limited_scope(ledger: Ledger, text: str, dimension: Dimension) -> str:
    """Return the account that is named, or that of a run which has such a limit."""
    scopes = _scopes(ledger.rows, text)
    state = None if len(scopes) == 1 else ledger.state(scopes[0].partition("/")[2])
    if state is None:
        return scopes[0]
    own = [
        scope
        for scope, limits in zip(scopes, (state.limits, state.tree_limits), strict=True)
        if limits.of(dimension) is not None
    ]
    if len(own) > 1:
        raise InputError(
            f"`{text}` has two limits of `{dimension.value}`: name `{own[0]}` or `{own[1]}`"
        )
    return own[0] if own else scopes[0]


def _change(named: str | None, wanted: Mapping[Dimension, int | None], *, note: str | None) -> None:
    with governing() as interlock:
        ledger = interlock.ledger
        text = run_or_latest(ledger, named)
        scopes = {each: _limited_scope(ledger, text, each) for each in wanted}
        by = operator(interlock, "set a budget")
        changes = [
            interlock.governor.answer(budget_change(scopes[each], each, limit, note=note), by)
            for each, limit in wanted.items()
        ]
        following = _next(interlock, changes[0].scope)
    command = None if following is None else following[0]
    values = [{**_change_value(each), "by": by.name, "next": command} for each in changes]
    lines = [_change_line(each) for each in changes]
    if following is not None:
        lines.append(next_line(*following))
    show(values[0] if len(values) == 1 else values, lines)


def _change_value(changed: BudgetChanged) -> dict[str, object]:
    before, after = (
        None if each is None else units.amount_value(changed.dimension, each)
        for each in (changed.before, changed.after)
    )
    return {
        "scope": changed.scope,
        "dimension": changed.dimension,
        "before": before,
        "after": after,
        "note": changed.note,
    }


def _change_line(changed: BudgetChanged) -> Line:
    limits = (
        "no limit of its own" if each is None else units.amount(changed.dimension, each)
        for each in (changed.before, changed.after)
    )
    text = f"  {changed.dimension.value}: {' -> '.join(limits)}"
    return Span(changed.scope, Tone.STRONG), Span(text)


def _next(interlock: Interlock, scope: str) -> tuple[str, str] | None:
    """Return what comes next, and why, where the run of an account is held."""
    kind, _, name = scope.partition("/")
    state = interlock.ledger.state(name) if kind in _OF_RUN else None
    hold = None if state is None or state.status is not RunStatus.RUNNING else state.control.hold
    if hold is None:
        return None
    named = interlock.governor.context.policy_limits
    still = stopped_by(interlock.ledger, hold.approval, current_time(), named)
    if still:
        return still[0].way_to_raise, f"is needed as well: {still[0].text}"
    return f"interlock resume {code_of(name)} --reason TEXT", "lets it go on"


def _balance_lines(balance: BudgetBalance) -> Iterator[Line]:
    yield (Span(balance.scope, Tone.STRONG),)
    yield from bar_lines([balance], named=False)
    free = [each for each in Dimension if balance.limits.of(each) is None]
    used = [each for each in free if balance.used.of(each) or balance.reserved.of(each)]
    for dimension in used:
        amount = units.amount(dimension, balance.used.of(dimension))
        yield (Span(f"  {dimension.value:<13}  "), Span(f"{amount} used, no limit", Tone.FAINT))
    if balance.unpriced_tokens:
        tokens = units.counted(balance.unpriced_tokens, "token")
        yield (Span(f"  {tokens} of unknown price, not in the cost", Tone.CAREFUL),)
