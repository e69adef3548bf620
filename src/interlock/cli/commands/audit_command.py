"""`interlock audit`: what agents did before anybody governed them, from their own histories."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click

from interlock import settings
from interlock.adapters.known_histories import known_readers
from interlock.backtest.audit_work import work
from interlock.backtest.history_files import HistoryFile, found_files, read_places
from interlock.cli.call.client_histories import no_history, usual_places
from interlock.cli.call.command_names import OWN, Own, OwnCommand
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.options import (
    chosen_policy,
    json_option,
    policy_options,
    processes_option,
    show,
    wants_json,
)
from interlock.cli.call.written_file import check_is_free, force_option, write_file
from interlock.cli.text.audit_page import audit_lines, moments_lines
from interlock.cli.text.render import Line, Span, Tone, escape
from interlock.cli.text.tables import progress
from interlock.errors import InputError
from interlock.model.audit import Audit, Mark
from interlock.service.audits import AuditFolder
from interlock.views import units
from interlock.views.audit_view import audit_view

_LONG: Final = 8 * 2**20
"""From so many bytes on a bar shows how far it is."""
_MICRO: Final = 1_000_000
_ABOUT: Final = """\
Audit past sessions: what would have been asked or stopped.

Reads the histories that Claude Code, Codex, Gemini CLI, opencode and Copilot CLI keep on this
computer, or the files and folders of PATH, and judges every call, step and end of a turn by your
policy. Nothing is run and nothing leaves this computer; credentials are taken out of every text.

Audits are kept, for you alone to read (`interlock audit list`), and so is what was read until it
changes, file by file: whoever is interrupted runs the same again. Nothing else is written.
Mark what you think of a moment (`interlock audit mark`): `interlock calibrate` learns from that.

Exit code: 0; 2 where there is no history to read, another audit is at work or a file cannot be
written; 1 where the policy does not load; 130 where you interrupt it.

Examples:
  interlock audit
  interlock audit runs.jsonl --html report.html
  interlock audit --json runs.jsonl
"""


@click.group("audit", cls=OwnCommand, help=_ABOUT)
def audit_command() -> None:
    """Hold the words together; what is done without one stands below."""


@audit_command.command(OWN, cls=Own, hidden=True, help=_ABOUT)
@click.argument(
    "paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path, readable=False)
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report as one HTML page as well.",
)
@force_option
@processes_option
@json_option
@policy_options
def own_command(*, paths: Sequence[Path], html: Path | None, processes: int) -> None:
    """Read histories, judge them, and show what they come to."""
    readers, policy = known_readers(), chosen_policy()
    places = list(paths) or usual_places()
    _check_is_free(html)
    files, unread = found_files(places, readers)
    if not files:
        if paths or unread:
            raise no_history(places, unread)
        raise InputError(
            "no history of an agent was found on this computer: name a file or a folder, as in"
            " `interlock audit PATH`"
        )
    kept = AuditFolder(settings.current_audit_folder())
    _tell_of_places(files, places)
    try:
        with progress("reading histories", long=_LONG, told=units.size) as advance:
            result = work(
                files,
                policy,
                version=version("interlock"),
                folder=kept.made(),
                processes=processes,
                advance=advance,
            )
    except KeyboardInterrupt:
        kept_so_far = "each file that was read to its end is kept, and the same command goes on"
        click.echo(f"interrupted: {kept_so_far} with the others", err=True)
        raise SystemExit(ExitCode.INTERRUPTED) from None
    result.add_unread(unread)
    now = time.time_ns() // 1_000
    audit = result.told(
        identity=f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now // _MICRO))}-{now % _MICRO:06d}",
        at=now,
        policy_hash=policy.hash,
        version=version("interlock"),
        places=read_places(files, places),
    )
    kept.keep(audit)
    _write_html(audit, kept, html)
    _show(audit, kept)
    if html is not None and not wants_json():
        click.echo(f"\nreport: {html}")


@audit_command.command("show")
@click.argument("audit", metavar="[AUDIT]", default="")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it as one HTML page instead.",
)
@force_option
@json_option
def show_command(*, audit: str, html: Path | None) -> None:
    """Show an audit again: the last one, or one by the beginning of its id.

    Every moment that is kept is listed; where more were counted, that is said.

    Examples:
      interlock audit show
      interlock audit show --html report.html
    """
    kept = AuditFolder(settings.current_audit_folder())
    found = kept.found(audit) if audit else kept.latest()
    if found is None:
        raise InputError("there is no audit yet: `interlock audit` makes one")
    if html is None:
        show(found, moments_lines(audit_view(found, kept.marks())))
        return
    _check_is_free(html)
    _write_html(found, kept, html)
    show({"report": str(html)}, [(Span(f"report: {html}"),)])


@audit_command.command("list")
@json_option
def list_command() -> None:
    """List the audits that are kept, the newest first, and what each read.

    Examples:
      interlock audit list
    """
    audits = list(AuditFolder(settings.current_audit_folder()).audits())
    rows = [
        {
            "id": each.id,
            "at": each.at,
            "runs": each.runs,
            "calls": each.calls,
            "places": [place.path for place in each.places],
        }
        for each in audits
    ]
    show({"audits": rows}, _audit_rows(audits))


@audit_command.command("mark")
@click.argument("moment", metavar="MOMENT")
@click.argument(
    "mark", metavar="right|wrong|none", type=click.Choice([each.value for each in Mark])
)
@json_option
def mark_command(*, moment: str, mark: str) -> None:
    """Say whether a moment of an audit was rightly found.

    MOMENT is its code, as `interlock audit show` lists it. `interlock calibrate` counts marks;
    `none` takes one back.

    Examples:
      interlock audit mark 4f1c9a right
      interlock audit mark 4f1c9a wrong
      interlock audit mark 4f1c9a none
    """
    kept = AuditFolder(settings.current_audit_folder())
    found, before = kept.moment(moment), kept.marks()
    marked = kept.mark(found, Mark(mark), by=settings.user_name(), at=time.time_ns() // 1_000)
    taken_back = "mark taken back" if found.id in before else "there was no mark"
    done = taken_back if marked.mark is Mark.NONE else f"marked {marked.mark.value}"
    left = f"{done}: {marked.moment.rule} at step {marked.moment.step}"
    show(marked, [(Span(left, Tone.GOOD),)])


def _check_is_free(html: Path | None) -> None:
    if html is not None:
        from interlock.server.markup.audit_document import OWN_REPORT  # noqa: PLC0415 - few want it

        check_is_free(html, own=OWN_REPORT)


def _tell_of_places(files: Sequence[HistoryFile], places: Sequence[Path]) -> None:
    """Say what will be read, and that it stays here."""
    click.echo("reading, on this computer only; nothing is sent anywhere:", err=True)
    for each in read_places(files, places):
        counted = units.counted(each.files, "file")
        told = f"  {each.client}: {counted}, {units.size(each.size)}, {each.path}"
        click.echo(escape(told), err=True)


def _write_html(audit: Audit, kept: AuditFolder, html: Path | None) -> None:
    if html is not None:
        from interlock.server.markup.audit_document import html_report  # noqa: PLC0415 - few want it

        write_file(html, lambda: html_report(audit, kept.marks()))


def _show(audit: Audit, kept: AuditFolder) -> None:
    show(audit, audit_lines(audit_view(audit, kept.marks())))
    sys.stdout.flush()


def _audit_rows(audits: Sequence[Audit]) -> Iterator[Line]:
    if not audits:
        yield (Span("no audit yet: `interlock audit` makes one", Tone.FAINT),)
    for each in audits:
        runs, calls = units.counted(each.runs, "run"), units.counted(each.calls, "call")
        yield (
            Span(each.id, Tone.STRONG),
            Span(f"  {units.moment(each.at)}  {runs}, {calls}"),
        )
        for place in each.places:
            yield (Span(f"  {place.client}: {units.from_home(place.path)}", Tone.FAINT),)
