"""`interlock calibrate`: thresholds that past runs with known outcomes speak for."""

from __future__ import annotations

import math
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, cast

import click
import msgspec

from interlock import settings
from interlock.adapters.histories.bounded_lines import bounded_lines, bounded_whole
from interlock.adapters.histories.packed_json import decoded
from interlock.adapters.known_histories import known_readers
from interlock.backtest.calibrate.calibration import PROMISE
from interlock.backtest.calibrate.calibration_report import (
    NO_MARKS,
    KnownOutcomes,
    calibration_report,
)
from interlock.backtest.calibrate.kept_work import KeptWork
from interlock.backtest.calibrate.outcomes import marks_in, outcomes_in
from interlock.backtest.calibrate.recorded_cases import recorded_run
from interlock.backtest.calibrate.scored_run import ScoredRun
from interlock.backtest.calibrate.turn_points import Labelled, labelled_row
from interlock.backtest.history_files import HistoryFile, found_files, through
from interlock.backtest.run_scorer import scored_run
from interlock.cli.calibrate.calibration_page import calibration_lines, patch_of
from interlock.cli.calibrate.calibration_picture import OWN_PICTURE, picture
from interlock.cli.call.client_histories import histories_instead, no_history
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import chosen_policy, ledger_call, policy_options, show
from interlock.cli.call.written_file import check_is_free, force_option, write_file
from interlock.cli.text.render import escape
from interlock.cli.text.tables import progress
from interlock.errors import InputError
from interlock.ledger.chain import recorded_runs
from interlock.model.past_run import Unread
from interlock.policy.config.document import Policy
from interlock.policy.config.stop_section import Stops
from interlock.service.audits import AuditFolder
from interlock.views import units

_ABOUT: Final = """\
Choose thresholds that keep a promise, from past runs.

PATHs are histories, or folders of them; without any, the runs of the ledger are taken. How a run
ended is known from --outcomes, from your marks of audits, from the history itself, from the
checks in the ledger, or from --git: was the work kept? The promise is a rate of good runs that
would be held by mistake; it counts as kept where the exact 95 % interval ends at or below it.

It prints the curve, the chosen point and a patch for your policy file. It changes nothing.

\b
  run_id,outcome                        the rows of --outcomes, as CSV or JSON lines
  a1,success

\b
  {"text": "Done.", "label": "finish"}  the rows of --turns, as JSON lines

Exit code: 0, or 2 when there is too little to conclude from.

Examples:
  interlock calibrate
  interlock calibrate runs.jsonl --outcomes outcomes.csv
  interlock calibrate runs.jsonl --git . --promise 5 --svg curve.svg
  interlock calibrate --turns turns.jsonl --patch calibrated.toml
"""
_MOST_NAMED: Final = 5
_FILE: Final = click.Path(path_type=Path)


def _is_number(context: click.Context, option: click.Parameter, promise: float) -> float:
    """Return a promise; one that is no number lies in every range."""
    if math.isnan(promise):
        raise click.BadParameter("it is not a number", context, option)
    return promise


@ledger_call("calibrate", help=_ABOUT)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=_FILE)
@click.option("--outcomes", metavar="FILE", type=_FILE, help="How runs ended: CSV or JSON lines.")
@click.option(
    "--turns", metavar="FILE", type=_FILE, multiple=True, help="Ends of turns with a label."
)
@click.option("--recorded", is_flag=True, help="Take the runs of the ledger as well.")
@click.option(
    "--git", "repository", metavar="REPO", type=_FILE, help="Ask git whether the work was kept."
)
@click.option(
    "--kept-days",
    metavar="DAYS",
    type=click.IntRange(0, 3650),
    default=7,
    show_default=True,
    help="How many days work must have stood to count as kept.",
)
@click.option("--no-marks", is_flag=True, help="Leave your marks of audits aside.")
@click.option(
    "--leave-out", metavar="GLOB", multiple=True, help="Leave out runs by their id or group."
)
@click.option(
    "--promise",
    metavar="PERCENT",
    type=click.FloatRange(0.01, 50),
    callback=_is_number,
    default=100 * PROMISE,
    show_default=True,
    help="The share of good runs that may be held.",
)
@click.option("--svg", metavar="FILE", type=_FILE, help="Draw the curve there.")
@click.option("--patch", metavar="FILE", type=_FILE, help="Write the patch there, as TOML.")
@force_option
@policy_options
@click.pass_context
def calibrate_command(
    context: click.Context,
    *,
    paths: Sequence[Path],
    outcomes: Path | None,
    turns: Sequence[Path],
    recorded: bool,
    repository: Path | None,
    kept_days: int,
    no_marks: bool,
    leave_out: Sequence[str],
    promise: float,
    svg: Path | None,
    patch: Path | None,
) -> None:
    """Choose thresholds."""
    check_is_free(svg, own=OWN_PICTURE)
    # A patch may have become somebody's policy by now, whoever wrote it.
    check_is_free(patch)
    policy = chosen_policy()
    unread: list[Unread] = []
    known = _known(outcomes, repository, kept_days, unread, with_marks=not no_marks)
    ends = [each for path in turns for each in labelled_turns(path, policy.config.stops, unread)]
    runs = _scored(paths, policy.config, unread, with_ledger=recorded or not (paths or turns))
    read = list(runs)
    unread += _unmatched(outcomes, known, read)
    report = calibration_report(
        [run for run in read if not _is_left_out(run.id, run.group, leave_out)],
        [each for each in ends if not _is_left_out(each.id, each.group, leave_out)],
        known,
        policy.config,
        promise=promise / 100,
        rules=policy.rulebook.rules,
        unread=unread,
    )
    write_file(svg, lambda: picture(report))
    write_file(patch, lambda: patch_of(report))
    _name_unread(unread)
    if repository is not None and "git" not in report.outcomes and "unknown" in report.outcomes:
        told = (
            f"git told nothing: no run has a commit in `{repository}` that stood {kept_days} days"
        )
        click.echo(escape(told), err=True)
    show(report, calibration_lines(report))
    context.exit(ExitCode.ALLOWED if report.is_conclusive else ExitCode.MISUSED)


def _unmatched(
    outcomes: Path | None, known: KnownOutcomes, runs: Sequence[ScoredRun]
) -> Iterator[Unread]:
    """Yield that outcomes name runs which are nowhere, the first of them by name."""
    missed = known.given.keys() - {run.id for run in runs}
    if missed:
        names = ", ".join(f"`{each}`" for each in sorted(missed)[:_MOST_NAMED])
        more = ", ..." if len(missed) > _MOST_NAMED else ""
        reason = f"{units.counted(len(missed), 'outcome')} of no run that was read: {names}{more}"
        yield Unread(path=str(outcomes), reason=reason)


def _is_left_out(name: str, group: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(each, glob) for each in (name, group) for glob in globs)


def _known(
    outcomes: Path | None,
    repository: Path | None,
    days: int,
    unread: list[Unread],
    *,
    with_marks: bool,
) -> KnownOutcomes:
    given: Mapping[str, bool] = {}
    if outcomes is not None:
        text = _whole(outcomes)
        given, bad = outcomes_in(text, str(outcomes))
        unread += bad
        if not given:
            reason = f"line {bad[0].line}: {bad[0].reason}" if bad else "it is empty"
            raise InputError(f"`{outcomes}` has no outcome: {reason}")
    marks = NO_MARKS
    if with_marks:
        folder = AuditFolder(settings.current_audit_folder())
        marks = marks_in(folder.marks().values())
    known = KnownOutcomes(given=given, marks=marks)
    if repository is None:
        return known
    kept = KeptWork(repository, os.environ, days=days)
    return msgspec.structs.replace(known, kept=kept.of)


def _scored(
    paths: Sequence[Path], policy: Policy, unread: list[Unread], *, with_ledger: bool
) -> Iterator[ScoredRun]:
    files = _files(paths, unread)
    total, done = sum(each.work for each in files), 0
    with progress("reading", told=units.size) as advance:
        for file in files:
            advance(done, total)
            yield from through(file, lambda run: scored_run(run, policy), unread.append)
            done += file.work
    if with_ledger:
        instead = histories_instead("calibrate", "--outcomes", "FILE")
        with (
            reading_ledger(otherwise=instead) as ledger,
            progress("reading the ledger", long=50) as advance,
        ):
            rows = list(recorded_runs(ledger.rows))
            for place, row in enumerate(rows):
                yield recorded_run(ledger.rows, row, policy)
                advance(place + 1, len(rows))


def _files(paths: Sequence[Path], unread: list[Unread]) -> Sequence[HistoryFile]:
    """Return every file that can be read, in the order of their names."""
    found: list[HistoryFile] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"`{path}` is not there: name a history, or a folder of them")
        files, missed = found_files([path], known_readers())
        unread += missed
        if path.is_dir() and not files:
            unread.append(Unread(path=str(path), reason="no history in this folder"))
        found += sorted(files, key=lambda each: each.path)
    if paths and not found:
        raise no_history(paths, unread)
    return found


def labelled_turns(path: Path, stops: Stops, unread: list[Unread]) -> Iterator[Labelled]:
    """Yield the ends of turns of a file; a row that is none is noted."""
    with _refusing(path):
        for number, line in bounded_lines(path, _refuse):
            try:
                labelled = (
                    labelled_row(_row(line), stops, f"{path}:{number}") if line.strip() else None
                )
            except InputError as error:
                unread.append(Unread(path=str(path), line=number, reason=str(error)))
                continue
            if labelled is not None:
                yield labelled


def _row(line: bytes) -> Mapping[str, object]:
    row = decoded(line)
    if not isinstance(row, dict):
        raise InputError("not an object with `text` and `label`")
    return cast("Mapping[str, object]", row)


def _whole(path: Path) -> str:
    with _refusing(path):
        try:
            return (bounded_whole(path, _refuse) or b"").decode()
        except UnicodeDecodeError as error:
            raise InputError(f"`{path}` cannot be read: not UTF-8") from error


def _refuse(unread: Unread) -> None:
    """Conclude nothing from what is not whole."""
    raise InputError(f"`{unread.path}` cannot be read: {unread.reason}")


@contextmanager
def _refusing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"`{path}` cannot be read: {error.strerror or error}") from error


def _name_unread(unread: Iterable[Unread]) -> None:
    """Say which rows and files were left out."""
    listed = list(unread)
    for each in listed[:_MOST_NAMED]:
        click.echo(escape(f"left out: {each.place}: {each.reason}"), err=True)
    if len(listed) > _MOST_NAMED:
        click.echo(f"left out: {len(listed) - _MOST_NAMED:,} more", err=True)
