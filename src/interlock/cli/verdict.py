"""`interlock verdict RUN TEXT`: was it good enough? Said, checked, and put on the record."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from interlock.cli.lazy_group import ExitCode, json_option
from interlock.cli.ledger_choice import governing, ledger_option
from interlock.errors import InputError

if TYPE_CHECKING:
    from interlock.cli.render import Line, Tone
    from interlock.model.answers import ReviewAnswer
    from interlock.model.review import ReviewOutcome
    from interlock.service.interlock import Run
    from interlock.service.operations import VerdictFields

_STDIN: Final = "-"
_MOST_READ: Final = 1024 * 1024
_ABOUT: Final = """\
Give the verdict on a review: was it good enough?

RUN is its id, or enough of its beginning. TEXT is the verdict; without it, or with -, it is read
from stdin. The first line says it, further lines speak of single gates:

\b
  GATE_REVIEW: PASS - every case is covered
  GATE_VERDICTS:
  [1] PASS - 42 tests
  [2] FAIL - the names are unclear

\b
  {"overall": "PASS", "rationale": "every case is covered",
   "per_gate": [{"gate": "style", "passed": false, "rationale": "unclear names"}]}

Before it counts, Interlock runs the checks of the review itself: a PASS against a failing check
is refused. A verdict that cannot be read is an attempt as well.

Exit code: 0 when the work goes on, 3 when a person must choose, 4 when it was not good enough.
"""


@click.command("verdict", help=_ABOUT)
@click.argument("run", metavar="RUN")
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("--review", metavar="ID", help="Which review; not needed while one is pending.")
@click.option(
    "--key", metavar="KEY", help="Your name for this verdict: sent again, it counts once."
)
@click.option(
    "--reply",
    "is_reply",
    is_flag=True,
    help="TEXT is an agent's whole reply: only a line marked `GATE_REVIEW:` or `GATE` counts.",
)
@json_option
@ledger_option
@click.pass_context
def verdict_command(
    context: click.Context,
    *,
    run: str,
    text: str | None,
    review: str | None,
    key: str | None,
    is_reply: bool,
    as_json: bool,
) -> None:
    """Give the verdict and print what it comes to."""
    from interlock.cli import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.cli.run_choice import found_run  # noqa: PLC0415 - the same

    said = _said_on_stdin() if text is None or text == _STDIN else text
    fields: VerdictFields = {"is_reply": is_reply}
    if review is not None:
        fields["review"] = review
    if key is not None:
        fields["key"] = key
    with governing() as interlock:
        answer = _given(interlock.resume(found_run(interlock.ledger.rows, run).id), said, fields)
    if as_json:
        render.print_json(answer)
    else:
        render.print_lines(_answer_lines(answer, render.text_width()))
    context.exit(exit_code_of_review(answer.outcome))


def exit_code_of_review(outcome: ReviewOutcome) -> ExitCode:
    """Return the exit code that tells what happens to the work."""
    from interlock.model.review import ReviewOutcome  # noqa: PLC0415 - commands import late

    return {
        ReviewOutcome.ADVANCE: ExitCode.ALLOWED,
        ReviewOutcome.RETRY: ExitCode.BLOCKED,
        ReviewOutcome.ASK: ExitCode.CONFIRM,
        ReviewOutcome.STOPPED: ExitCode.BLOCKED,
        ReviewOutcome.REFUSED: ExitCode.CONFIRM,
    }[outcome]


def _given(run: Run, said: str, fields: VerdictFields) -> ReviewAnswer:
    from interlock.cli.progress import working  # noqa: PLC0415 - commands import late

    with working(_title(run, fields.get("review"))):
        return run.verdict(said, **fields)


def _title(run: Run, named: str | None) -> str:
    """Return what is being done while the checks are run; empty where none will be."""
    pending = run.state.reviews.pending
    asked = [each for name, each in pending.items() if named in (None, name)]
    gates = [
        gate.id
        for each in asked
        for gate in each.gates
        if gate.check is not None and not each.review.awaiting_choice
    ]
    return f"running the checks of {', '.join(dict.fromkeys(gates))}" if gates else ""


def _said_on_stdin() -> str:
    if sys.stdin.isatty():
        raise click.UsageError("expected the verdict as TEXT, or on stdin")
    text = sys.stdin.buffer.read(_MOST_READ + 1)
    if len(text) > _MOST_READ:
        raise InputError(f"the verdict is longer than {_MOST_READ} bytes")
    return text.decode("utf-8", "replace")


def _answer_lines(answer: ReviewAnswer, width: int) -> Iterator[Line]:
    from interlock.cli.render import Span, Tone, labelled_lines  # noqa: PLC0415 - the same
    from interlock.cli.review_lines import gate_lines, text_lines  # noqa: PLC0415 - load late
    from interlock.cli.run_choice import SHORT  # noqa: PLC0415 - the same

    word, meaning, tone = _badge(answer.outcome)
    yield (Span(word, tone), Span(f"  {meaning}"))
    if answer.repeated:
        yield (Span("  it was answered before: nothing was run or counted again", Tone.FAINT),)
    yield from labelled_lines(
        "review", f"{answer.review_id}, record {answer.seq}", Tone.FAINT, width=width
    )
    yield from labelled_lines("because", answer.reason, Tone.STRONG, width=width)
    if answer.coverage:
        yield from ((), (Span("Gates", Tone.HEADING),))
        yield from gate_lines(answer.coverage, answer.decision, width=width)
    if answer.guidance:
        yield ()
        yield from text_lines(answer.guidance, width=width)
    if answer.approval_id is not None:
        command = f"interlock choose {answer.approval_id[:SHORT]} retry|skip|abort"
        yield from ((), (Span(f"  {command}", Tone.CODE),))
    if answer.footer:
        yield ()
        yield from text_lines(answer.footer, width=width)


def _badge(outcome: ReviewOutcome) -> tuple[str, str, Tone]:
    from interlock.cli.render import Tone  # noqa: PLC0415 - commands import late
    from interlock.model.review import ReviewOutcome  # noqa: PLC0415 - the same

    return {
        ReviewOutcome.ADVANCE: ("ADVANCE", "the work goes on", Tone.ALLOW),
        ReviewOutcome.RETRY: ("RETRY", "not good enough yet: the work stays", Tone.BLOCK),
        ReviewOutcome.ASK: ("ASK", "a person must choose how it goes on", Tone.CONFIRM),
        ReviewOutcome.STOPPED: ("STOPPED", "the run has ended", Tone.BLOCK),
        ReviewOutcome.REFUSED: ("REFUSED", "a person must choose first", Tone.CONFIRM),
    }[outcome]
