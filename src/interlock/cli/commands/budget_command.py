"""`interlock budget SCOPE [DIMENSION NEW]`: what an account may use, and another limit for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from interlock.cli.call.ledger_access import current_time, governing, operator, reading_ledger
from interlock.cli.call.options import ledger_call, note_option, show
from interlock.cli.text.render import Line, Span, Tone
from interlock.cli.text.tables import bar_lines
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_scope
from interlock.model.budget import (
    BudgetBalance,
    Dimension,
    micros_from_usd,
)
from interlock.service.operations import budget_change
from interlock.views import units
from interlock.views.run_view import account_value, balance_of

_NO_LIMIT: Final = "none"
_ABOUT: Final = """\
Show an account, or set a limit of it.

SCOPE is `run/ID`, `tree/ID` (a run with all runs below it), `agent/NAME` or
`project-day/NAME/YYYY-MM-DD`; the beginning of a run's id is enough. DIMENSION is `tokens`,
`tool-calls`, `wall-time-s`, `cost-usd`, `diff-lines` or `storage-bytes`. NEW is a number; `none`
takes the account's own limit away, and the policy's counts again. Only an operator sets limits.

Examples:
  interlock budget run/R4X9TM
  interlock budget run/R4X9TM tokens 200000
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
        scope = found_scope(ledger.rows, text)
        balance = balance_of(ledger, scope, current_time())
    if balance is None:
        raise InputError(f"nothing was ever charged to `{scope}`, and it has no limit")
    show(account_value(balance), _balance_lines(balance))


def _change(text: str, dimension: Dimension, limit: int | None, *, note: str | None) -> None:
    with governing() as interlock:
        scope = found_scope(interlock.ledger.rows, text)
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
