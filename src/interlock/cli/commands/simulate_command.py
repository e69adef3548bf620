"""`interlock simulate`: which answers of the past another policy would change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from interlock.adapters.known_histories import known_readers
from interlock.backtest.history_files import HistoryFile, found_files
from interlock.backtest.simulation_work import simulate
from interlock.cli.call.client_histories import histories_instead, no_history
from interlock.cli.call.duration import PastMoment
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import (
    chosen_policy,
    is_ledger_named,
    ledger_call,
    named_policy,
    policy_of_user,
    policy_options,
    processes_option,
    show,
)
from interlock.cli.text.simulation_page import simulation_lines
from interlock.cli.text.tables import progress
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_run
from interlock.ledger.chain import recorded_runs
from interlock.model.rows import RunRow
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.ports import Rows
from interlock.service.policies.answer_tally import Tally
from interlock.service.policies.policy_simulation import Policies

_RECORDED: Final = "recorded"
_CURRENT: Final = "current policy"
_ABOUT: Final = """\
Try a policy on past runs: which answers would change.

Every recorded question (calls, steps, ends of turns) is decided again: by the policy of --policy,
or else by the one that counts here. It is compared with the file of --compare; without that, with
the policy that counts here where --policy names another one, and else with what was answered then.

Each PATH is a history, or a folder of them, that agents left themselves; then those are read and
not the ledger, unless --ledger names it. Nothing is written, and nothing leaves this computer.

Exit code: 0; with --fail-on-change, 6 where an answer changes.

Examples:
  interlock simulate
  interlock simulate --policy policy.toml --since 30d
  interlock simulate --policy policy.toml --compare recorded --run R4X9TM --json
  interlock simulate runs.jsonl --policy policy.toml --fail-on-change
"""


@ledger_call("simulate", help=_ABOUT)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--compare",
    metavar=f"FILE|{_RECORDED}",
    help=f"Compare with this file as the user's policy, or with what was `{_RECORDED}`.",
)
@click.option(
    "--since", type=PastMoment(), metavar="WHEN", help="Only what is newer: a date, or `30d`."
)
@click.option("--run", metavar="RUN", help="Only this run.")
@click.option("--fail-on-change", is_flag=True, help="Exit with 6 where an answer changes.")
@processes_option
@policy_options
@click.pass_context
def simulate_command(
    context: click.Context,
    *,
    paths: Sequence[Path],
    compare: str | None,
    since: int | None,
    run: str | None,
    fail_on_change: bool,
    processes: int,
) -> None:
    """Decide past questions again, by two policies."""
    if run == "":
        raise InputError("`--run` is empty: name a run, as `interlock runs` lists them")
    named, after = named_policy(), chosen_policy()
    name, before = _compared_with(compare, is_other=named is not None)
    policies = Policies(before, after, since=since or 0)
    tally = _simulated(paths, policies, run, processes)
    simulation = tally.told(
        (name, None if before is None else before.hash),
        (_CURRENT if named is None else str(named), after.hash),
    )
    show(simulation, simulation_lines(simulation))
    context.exit(ExitCode.CHANGED if fail_on_change and simulation.changed else ExitCode.ALLOWED)


def _compared_with(compare: str | None, *, is_other: bool) -> tuple[str, CompiledPolicy | None]:
    """Return the first policy and its name; None is what was answered then.

    `is_other` is whether the second one is not what counts here.
    """
    if compare == _RECORDED or (compare is None and not is_other):
        return _RECORDED, None
    if compare is None:
        return _CURRENT, policy_of_user(None)
    return compare, policy_of_user(Path(compare))


def _simulated(paths: Sequence[Path], policies: Policies, run: str | None, processes: int) -> Tally:
    tally = Tally()
    files = _histories(paths, tally)
    with ExitStack() as stack, progress("deciding again") as advance:
        rows: Rows | None = None
        runs: Sequence[RunRow] = ()
        if not paths or is_ledger_named():
            instead = histories_instead("simulate", "--policy", "FILE")
            rows = stack.enter_context(reading_ledger(otherwise=instead)).rows
            runs = _runs(rows, run, policies.since)
        found = simulate(
            rows, runs, files, policies, only=run, processes=processes, advance=advance
        )
    if run is not None and files and not found.runs:
        raise InputError(f"there is no run `{run}` with anything to decide in these histories")
    tally.add(found)
    return tally


def _runs(rows: Rows, run: str | None, since: int) -> Sequence[RunRow]:
    return [*recorded_runs(rows, since=since)] if run is None else [found_run(rows, run)]


def _histories(paths: Sequence[Path], tally: Tally) -> Sequence[HistoryFile]:
    """Return the histories in some places; InputError where there is none at all."""
    files, unread = found_files(paths, known_readers())
    for each in unread:
        tally.note_unread(each)
    if paths and not files:
        raise no_history(paths, unread)
    return files
