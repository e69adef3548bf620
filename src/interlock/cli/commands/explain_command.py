"""`interlock explain RUN`: everything behind one answer about going on or being done."""

from __future__ import annotations

import click

from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.options import json_option, ledger_option, show
from interlock.cli.text.explanation_page import explained_lines
from interlock.cli.text.render import text_width
from interlock.errors import InputError
from interlock.ports import Rows
from interlock.views.lookup import found_run
from interlock.views.moment import judged_of, known_answers, moment_at
from interlock.views.step_explanation import explained


@click.command("explain")
@click.argument("run", metavar="RUN")
@click.option(
    "--step", type=click.IntRange(0), metavar="N", help="The answer at step N, as `show` counts."
)
@click.option("--stop", is_flag=True, help="The last time that the agent ended its turn.")
@click.option("--record", type=click.IntRange(1), metavar="SEQ", help="The answer of this record.")
@json_option
@ledger_option
def explain_command(*, run: str, step: int | None, stop: bool, record: int | None) -> None:
    """Explain why a run was let go on, paused or stopped.

    RUN is its id, or enough of its beginning. Without an option, the last answer before a step
    is explained; of a run that is held, the one that began it. You see what was known and where
    it comes from, every check and sign with its limit, whose word decided, and what would have
    changed the answer. `--stop` explains the last time that the agent wanted to be done.
    """
    if (step is not None) + stop + (record is not None) > 1:
        raise InputError("`--step`, `--stop` and `--record` name different answers: give one")
    with reading_ledger() as ledger:
        rows = ledger.rows
        run_id = found_run(rows, run).id
        moment = moment_at(rows, run_id, _chosen(rows, run_id, step, record, stop=stop))
    whole = explained(moment)
    show(whole, explained_lines(whole, now=current_time(), width=text_width()))


def _chosen(rows: Rows, run_id: str, step: int | None, record: int | None, *, stop: bool) -> int:
    """Return the record that is meant."""
    judged = judged_of(rows, run_id)
    if record is not None:
        if record not in [each.seq for each in judged]:
            raise InputError(
                f"record {record} of run `{run_id}` is no answer about going on:"
                f" {known_answers(judged)}"
            )
        return record
    found = [each for each in judged if each.is_stop is stop]
    if step is not None:
        found = [each for each in found if each.step == step]
    if not found:
        what = "stop" if stop else "step" if step is None else f"step {step}"
        raise InputError(f"run `{run_id}` has no answer for a {what}: {known_answers(judged)}")
    # While a run is held every answer is the same: what began it is what people ask about.
    free = [each for each in found if not each.is_held] or found
    if step is None:
        return free[-1].seq
    return max(free, key=lambda each: (each.rank, -each.seq)).seq
