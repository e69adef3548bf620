"""`interlock edit`: change files without damage, if the policy lets them be changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from interlock import settings
from interlock.cli.call.exit_code import exit_code_of
from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import (
    chosen_place,
    json_option,
    ledger_option,
    print_json,
    show,
    wants_json,
)
from interlock.cli.text.render import Line, Span, Tone, escape, print_lines, text_width
from interlock.cli.text.verdict_page import verdict_lines
from interlock.edits.edit_plan import plan_edits
from interlock.errors import InputError
from interlock.model.answers import EditAnswer
from interlock.model.edit import EditSet
from interlock.service.interlock import Interlock, Run
from interlock.service.policies.policy_files import load_policy
from interlock.service.records.edit_sets import edits_from_json, workspace_of
from interlock.views import units
from interlock.views.lookup import found_run

_ABOUT: Final = """\
Make edits that stdin describes: all of them, or none.

\b
  {"edits": [{"path": "app.py", "old": "x = 1", "new": "x = 2"},
             {"path": "new.py", "old": "", "new": "y = 3\\n"}]}

`old` must stand in the file exactly once; `"replace_all": true` replaces it wherever it stands.
An empty `old` makes a new file. All edits speak of the files as they are now. They are judged by
what they would really change, and what was there is kept, so that `interlock undo` puts it back.

Without --run, a run is opened for this alone; it stays open where a person must agree first.

Exit code: 0 applied, 3 a person must agree first, 4 must not happen; 1 when an edit cannot be
made, 2 when the call is wrong or its input cannot be read. Unless it is 0, no file was changed.
"""
_TASK: Final = "edit files from the command line"
_NO_CLAIM: Final = "partial"
"""How a run of its own ends: that edits were made does not say that any work is done."""


@click.command("edit", help=_ABOUT)
@click.option("--run", metavar="RUN", help="The run that asks; enough of its id's beginning.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that paths are in, where no run says so; else this one.",
)
@click.option(
    "--key", metavar="KEY", help="A name for this request: sent again, it changes nothing."
)
@click.option("--dry-run", is_flag=True, help="Only show what would change, as a diff.")
@json_option
@ledger_option
def edit_command(
    *, run: str | None, workspace: Path | None, key: str | None, dry_run: bool
) -> None:
    """Read edits, and make them."""
    if run is not None and workspace is not None:
        raise click.UsageError("`--workspace` does not go with `--run`: a run has its own")
    edits = edits_from_json(sys.stdin.buffer.read())
    if dry_run:
        _show(_planned(edits, _workspace_of(run, workspace)))
        return
    result = _in_run(edits, run, key) if run else _in_own_run(edits, workspace or Path(), key)
    _tell(result)


def _planned(edits: EditSet, workspace: Path) -> EditAnswer:
    """Plan without a run: nobody is asked, and nothing recorded."""
    from interlock.edits.edit_plan import plan_edits  # noqa: PLC0415 - the same
    from interlock.model.answers import EditAnswer  # noqa: PLC0415 - the same
    from interlock.policy.actions.recordable import recordable_text  # noqa: PLC0415 - the same

    planned = plan_edits(edits, workspace=workspace)
    places = settings.current_places()
    gates = load_policy(user=places.user, project=places.project)
    return EditAnswer(plan=planned.plan, diff=recordable_text(planned.unified_diff(), gates))


def _workspace_of(run: str | None, workspace: Path | None) -> Path:
    if run is None:
        return workspace or Path()
    with reading_ledger() as ledger:
        state = ledger.state(found_run(ledger.rows, run).id)
    if state is None:
        raise InputError(f"there is no run `{run}`: look at `interlock runs`")
    return Path(workspace_of(state))


def _in_run(edits: EditSet, run: str, key: str | None) -> EditAnswer:
    with _opened() as interlock:
        chosen = interlock.resume(found_run(interlock.ledger.rows, run).id)
        return chosen.apply(edits, key=key)


def _in_own_run(edits: EditSet, workspace: Path, key: str | None) -> EditAnswer:
    """Make the edits in a run of their own; what cannot be planned does not begin one."""
    plan_edits(edits, workspace=workspace)
    with _opened() as interlock:
        run = interlock.run(
            _TASK, agent="interlock-edit", client="cli", workspace=workspace.absolute()
        )
        try:
            result = run.apply(edits, key=key)
        except BaseException:
            run.finish("failed")
            raise
        _close(run, result)
        return result


def _close(run: Run, result: EditAnswer) -> None:
    """Finish a run, unless a person has to agree: an answer to a finished run helps nobody."""
    if result.allowed:
        run.finish(_NO_CLAIM)
    elif result.approval_id is None:
        run.finish("blocked")


def _opened() -> Interlock:
    return Interlock.open(chosen_place())


def _tell(result: EditAnswer) -> None:
    show(_as_table(result), _lines(result))
    if result.answer is not None:
        click.get_current_context().exit(exit_code_of(result.answer.decision))


def _show(result: EditAnswer) -> None:
    """Print a diff: in colour for a person, as it is for a program."""
    if wants_json():
        print_json(_as_table(result))
    elif sys.stdout.isatty():
        print_lines(_coloured(result.diff))
    else:
        click.echo(result.diff, nl=False)


def _as_table(result: EditAnswer) -> dict[str, object]:
    return {
        "allowed": result.allowed,
        "answer": result.answer,
        "plan": result.plan,
        "diff": result.diff,
        "applied": result.applied,
        "undo_id": result.undo_id,
        "repeated": result.repeated,
    }


def _coloured(diff: str) -> Iterator[Line]:
    tones = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.CODE, "\\": Tone.FAINT}
    for line in diff.split("\n")[:-1]:
        tone = Tone.STRONG if line.startswith(("---", "+++")) else tones.get(line[:1], Tone.PLAIN)
        yield (Span(escape(line.removesuffix("\r")), tone),)


def _lines(result: EditAnswer) -> Iterator[Line]:
    answer = result.answer
    if answer is not None and answer.verdict.findings:
        yield from verdict_lines(answer.verdict, width=text_width())
        yield ()
    if result.applied is not None:
        yield from _applied_lines(result)
        return
    yield (Span("nothing was changed", Tone.FAINT),)
    if answer is not None and answer.waits_for_person:
        yield (
            Span("to let it happen: ", Tone.FAINT),
            _code(f"interlock approve {answer.approval_id}"),
        )
        again = f"interlock edit --run {answer.run_id}"
        yield (Span("then send the same edits to: ", Tone.FAINT), _code(again))


def _applied_lines(result: EditAnswer) -> Iterator[Line]:
    files = () if result.applied is None else result.applied.files
    size = "" if result.plan is None else f", +{result.plan.added} -{result.plan.removed}"
    before = ", when it was first asked for" if result.repeated else ""
    yield (
        Span("APPLIED", Tone.ALLOW),
        Span(f"  {units.counted(len(files), 'file')}{size}{before}"),
    )
    for file in files:
        what = "made" if file.before is None else "changed"
        yield (Span(f"  {what:<9}", Tone.FAINT), Span(escape(file.path)))
    yield ()
    yield (Span("to undo it: ", Tone.FAINT), _code(f"interlock undo {result.undo_id}"))


def _code(text: str) -> Span:
    return Span(text, Tone.CODE)
