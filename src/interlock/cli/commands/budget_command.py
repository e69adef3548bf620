"""`interlock budget SCOPE [DIMENSION NEW]`: what an account may use, and another limit for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import click

from interlock.cli.call.ledger_access import current_time, governing, operator, reading_ledger
from interlock.cli.call.options import ledger_call, note_option, show
from interlock.cli.text.render import Line, Span, Tone
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
from interlock.ports import Rows
from interlock.service.operations import budget_change
from interlock.views import units
from interlock.views.run_view import account_value, balance_of

_NO_LIMIT: Final = "none"
_OF_RUN: Final = (ScopeKind.RUN, ScopeKind.TREE)
_ABOUT: Final = """\
Show an account, or set a limit of it.

SCOPE is a run's id, `agent/NAME` or `project-day/NAME/YYYY-MM-DD`. A run has two accounts:
`run/ID` is the run by itself, `tree/ID` the run with all runs below it, which `interlock run
--budget` limits. With the id alone, the limited ones are shown, and the limit that the run was
given is set. DIMENSION is `tokens`,
`tool-calls`, `wall-time-s`, `cost-usd`, `diff-lines` or `storage-bytes`. NEW is a number; `none`
takes the account's own limit away, and the policy's counts again. Only an operator sets limits.

Examples:
  interlock budget R4X9TM
  interlock budget R4X9TM tokens 200000
  interlock budget agent/claude cost-usd 12.50 --reason "the migration takes longer"
"""


@ledger_call("budget", help=_ABOUT, decides=True)
@click.argument("scope")
@click.argument(
    "dimension",
    required=False,
    metavar="[DIMENSION]",
    type=click.Choice([each.value for each in Dimension]),
)
@click.argument("new", required=False)
@note_option
def budget_command(*, scope: str, dimension: str | None, new: str | None, note: str | None) -> None:
    """Show an account, or change its limit."""
    if dimension is None:
        _show(scope)
    elif new is None:
        raise click.UsageError(f"expected the new limit behind `{dimension}`, or `{_NO_LIMIT}`")
    else:
        measured = Dimension(dimension)
        _change(scope, measured, limit_from(measured, new), note=note)


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


def _show(text: str) -> None:
    with reading_ledger() as ledger:
        scopes, now = _scopes(ledger.rows, text), current_time()
        found = [balance_of(ledger, scope, now) for scope in scopes]
    balances = [each for each in found if each is not None]
    if not balances:
        raise InputError(f"nothing was ever charged to `{scopes[0]}`, and it has no limit")
    # Of a run's two accounts the ones that are limited, or its own.
    shown = [each for each in balances if each.limits != NO_LIMITS] or balances[:1]
    values = [account_value(each) for each in shown]
    lines = chain.from_iterable(map(_balance_lines, shown))
    show(values[0] if len(values) == 1 else values, lines)


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


def _change(text: str, dimension: Dimension, limit: int | None, *, note: str | None) -> None:
    with governing() as interlock:
        scope = _limited_scope(interlock.ledger, text, dimension)
        by = operator(interlock, "set a budget")
        changed = interlock.governor.answer(budget_change(scope, dimension, limit, note=note), by)
    before, after = (
        None if each is None else units.amount_value(dimension, each)
        for each in (changed.before, changed.after)
    )
    value = {"scope": scope, "dimension": dimension, "before": before, "after": after}
    limits = (
        "no limit of its own" if each is None else units.amount(dimension, each)
        for each in (changed.before, changed.after)
    )
    line = (Span(scope, Tone.STRONG), Span(f"  {dimension.value}: {' -> '.join(limits)}"))
    show({**value, "by": by.name, "note": changed.note}, [line])


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
