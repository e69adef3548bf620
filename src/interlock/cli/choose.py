"""`interlock choose`: a person says how a review goes on whose attempts are used up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.ledger_choice import governing, ledger_option

if TYPE_CHECKING:
    from interlock.cli.render import Line, Tone
    from interlock.model.answers import ReviewAnswer
    from interlock.model.review import GateAction
    from interlock.service.interlock import Interlock

_ABOUT: Final = """\
Choose how a review goes on whose attempts are used up.

APPROVAL is the question, or enough of its beginning: `interlock approvals` lists them.
`retry` begins the attempts anew, `skip` lets the work go on without the review, `abort` ends
the run. Only a person may choose; the credential is that of `interlock approve`.

\b
  interlock choose 0192a1b2 retry --instructions "look at the rounding"
  interlock choose --run RUN --review before-merge skip
"""


class _Meant(NamedTuple):
    """What a call names: a question, or a review of a run."""

    approval: str | None
    run: str | None
    review: str | None


@click.command("choose", help=_ABOUT)
@click.argument("words", metavar="[APPROVAL] retry|skip|abort", nargs=-1)
@click.option("--run", metavar="RUN", help="Choose for a review of this run, not by APPROVAL.")
@click.option("--review", metavar="ID", help="Which one; not needed while one is pending.")
@click.option("--instructions", metavar="TEXT", help="What to do next; the agent is told.")
@json_option
@ledger_option
def choose_command(
    *,
    words: Sequence[str],
    run: str | None,
    review: str | None,
    instructions: str | None,
    as_json: bool,
) -> None:
    """Take a person's choice and print what it comes to."""
    from interlock.cli import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.policy.reviews.gate_definition import action_from  # noqa: PLC0415 - the same

    meant, word = _read(words, run, review)
    action = action_from(word)
    with governing() as interlock:
        answer = _choose(interlock, meant, action, instructions)
        task = interlock.governor.state(answer.run_id).task
    if as_json:
        render.print_json(answer)
    else:
        render.print_lines(_chosen_lines(answer, action, task, render.text_width()))


def _read(words: Sequence[str], run: str | None, review: str | None) -> tuple[_Meant, str]:
    if run is not None and len(words) == 1:
        return _Meant(None, run, review), words[0]
    if run is None and review is None and len(words) == 2:
        return _Meant(words[0], None, None), words[1]
    raise click.UsageError(
        "expected `APPROVAL retry|skip|abort`, or `--run RUN [--review ID] retry|skip|abort`"
    )


def _choose(
    interlock: Interlock, meant: _Meant, action: GateAction, instructions: str | None
) -> ReviewAnswer:
    from interlock.cli.operator_choice import operator_token  # noqa: PLC0415 - commands import late
    from interlock.cli.run_choice import found_approval, found_run  # noqa: PLC0415 - the same

    rows = interlock.ledger.rows
    if meant.run is not None:
        run_id = found_run(rows, meant.run).id
        return interlock.choose_review(
            run_id,
            action,
            token=operator_token(interlock),
            review=meant.review,
            instructions=instructions,
        )
    approval_id = found_approval(rows, meant.approval or "").id
    return interlock.choose(
        approval_id, action, token=operator_token(interlock), instructions=instructions
    )


def _chosen_lines(
    answer: ReviewAnswer, action: GateAction, task: str, width: int
) -> Iterator[Line]:
    from interlock.cli.render import Span, Tone, labelled_lines  # noqa: PLC0415 - the same
    from interlock.cli.review_lines import text_lines  # noqa: PLC0415 - commands import late
    from interlock.cli.run_choice import SHORT  # noqa: PLC0415 - the same

    word, meaning, tone = _badge(action)
    yield (Span(word, tone), Span(f"  {meaning}"))
    yield from labelled_lines("review", answer.review_id, Tone.STRONG, width=width)
    run = f"{answer.run_id[:SHORT]} ({task})"
    yield from labelled_lines("run", run, Tone.FAINT, width=width)
    yield from labelled_lines("because", answer.reason, width=width)
    if answer.guidance:
        yield from ((), (Span("What whoever tries again is told", Tone.HEADING),))
        yield from text_lines(answer.guidance, width=width)


def _badge(action: GateAction) -> tuple[str, str, Tone]:
    from interlock.cli.render import Tone  # noqa: PLC0415 - commands import late
    from interlock.model.review import GateAction  # noqa: PLC0415 - the same

    return {
        GateAction.RETRY: ("RETRY", "the attempts begin anew", Tone.ALLOW),
        GateAction.SKIP: (
            "SKIPPED",
            "the work goes on; recorded as skipped, not as passed",
            Tone.WARN,
        ),
        GateAction.ABORT: ("ABORTED", "the run has ended", Tone.BLOCK),
    }[action]
