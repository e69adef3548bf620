"""Was it good enough? `review open`, `list`, `submit`, and what a person may `resolve`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, Final, cast

import click
import msgspec

from interlock.cli.call.chosen_question import (
    ask_to_abort,
    chosen_review,
    question_lines,
    run_line,
)
from interlock.cli.call.command_names import Commands
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import current_time, governing, operator_token, reading_ledger
from interlock.cli.call.options import ledger_call, ledger_option, show
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    heading_lines,
    labelled_lines,
    text_width,
)
from interlock.cli.text.review_page import gate_lines, reviews_lines, text_lines
from interlock.cli.text.tables import cut, working
from interlock.descriptors import content_of
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_run
from interlock.ledger.ledger import Ledger
from interlock.model.answers import ReviewAnswer, ReviewOpening
from interlock.model.entrance import checked
from interlock.model.question_fields import GateGiven, VerdictFields
from interlock.model.review import GateAction, ReviewOutcome
from interlock.model.run import RunState, RunStatus
from interlock.model.short_code import code_of, codes_of
from interlock.ports import ALL
from interlock.service.interlock import Interlock, Run
from interlock.views.lookup import found_state
from interlock.views.review_view import RunReviews, run_reviews

_MOST_READ: Final = 1024 * 1024
_EXPECTED: Final = (
    'expected a list such as `["tests", {"id": "style", "criteria": ["reads well"]}]`'
)
_TONES: Final = {
    ExitCode.ALLOWED: Tone.ALLOW,
    ExitCode.CONFIRM: Tone.CONFIRM,
    ExitCode.BLOCKED: Tone.BLOCK,
}
_OUTCOMES: Final = {
    ReviewOutcome.ADVANCE: (ExitCode.ALLOWED, "the work goes on"),
    ReviewOutcome.RETRY: (ExitCode.BLOCKED, "not good enough yet: the work stays"),
    ReviewOutcome.ASK: (ExitCode.CONFIRM, "a person must choose how it goes on"),
    ReviewOutcome.STOPPED: (ExitCode.BLOCKED, "the run has ended"),
    ReviewOutcome.REFUSED: (ExitCode.CONFIRM, "a person must choose first"),
}
"""What becomes of the work, by the exit code and in words."""
_SKIPPED: Final = "the work goes on; recorded as skipped, not as passed"
_CHOICES: Final = {
    GateAction.RETRY: badge_line("RETRY", Tone.ALLOW, "the attempts begin anew"),
    GateAction.SKIP: badge_line("SKIPPED", Tone.WARN, _SKIPPED),
    GateAction.ABORT: badge_line("ABORTED", Tone.BLOCK, "the run has ended"),
}
_ABOUT_REVIEW: Final = """\
Open a review: was the work good enough?

RUN is the id of a run, or enough of its beginning; ID is your name for the review; each GATE
is one of the policy. What is printed is for whoever reviews the work; the verdict is given
with `interlock review submit`. While a gate that blocks is pending the run may not finish.

Examples:
  interlock review open R4X9TM before-merge tests style --subject "the new parser"
"""


@click.group("review", cls=Commands)
@ledger_option
def review_command() -> None:
    """Open a review of work, submit its verdict, resolve it."""


@ledger_call("open", group=review_command, help=_ABOUT_REVIEW)
@click.argument("run", metavar="RUN")
@click.argument("review_id", metavar="ID")
@click.argument("gates", metavar="[GATE]...", nargs=-1)
@click.option("--subject", metavar="TEXT", default="", help="What is reviewed, in words.")
@click.option(
    "--gates-json",
    "file",
    metavar="FILE",
    help="Gates made for the occasion: a JSON list of tables, or of names; - is stdin.",
)
@click.option("--all-hints", is_flag=True, help="Show every criterion, not only the first few.")
def open_command(
    *,
    run: str,
    review_id: str,
    gates: Sequence[str],
    subject: str,
    file: str | None,
    all_hints: bool,
) -> None:
    """Open the review and print what whoever reviews has to know."""
    given: list[GateGiven] = [*gates, *([] if file is None else _gates_from_json(file))]
    with governing() as interlock:
        run_id = found_run(interlock.ledger.rows, run).id
        if not given:
            raise _nothing_named(interlock)
        asked = Run(interlock.governor, run_id)
        opening = asked.review(review_id, given, subject=subject, all_hints=all_hints)
    show(opening, _opening_lines(opening))


def _gates_from_json(file: str) -> Iterator[GateGiven]:
    """Yield the gates that a list names or describes; what a table holds is checked later."""
    try:
        found = cast("object", msgspec.json.decode(_gates_text(file)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the gates are not JSON: {error}; {_EXPECTED}") from error
    if not isinstance(found, list):
        raise InputError(f"the gates are no list; {_EXPECTED}")
    for place, each in enumerate(cast("list[object]", found)):
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            yield cast("Mapping[str, object]", each)
        else:
            raise InputError(f"gate {place} is neither a name nor a table; {_EXPECTED}")


def _nothing_named(interlock: Interlock) -> InputError:
    known = ", ".join(f"`{name}`" for name in interlock.governor.context.policy.review_gates)
    has = f"the policy of this ledger has {known}" if known else "its policy has none"
    return InputError(f"name at least one gate: {has}, or describe one with --gates-json")


def _opening_lines(opening: ReviewOpening) -> Iterator[Line]:
    review = opening.review
    meaning = "it is pending already" if opening.repeated else "the work waits for its verdict"
    yield (
        Span("PENDING" if opening.repeated else "OPENED", Tone.CONFIRM),
        Span(f"  {meaning}"),
        Span(f"  {review.mode.value}, record {opening.seq}", Tone.FAINT),
    )
    yield ()
    yield from text_lines(opening.guidance)
    yield ()
    command = f"interlock review submit {code_of(opening.run_id)} --review {review.id} TEXT"
    yield (Span(f"  {command}", Tone.CODE),)


_STDIN: Final = "-"
_ABOUT_VERDICT: Final = """\
Submit the verdict on a review: was the work good enough?

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

Examples:
  interlock review submit R4X9TM "PASS - every case is covered"
  interlock review submit R4X9TM --review before-merge - < verdict.txt
"""


@ledger_call("submit", group=review_command, help=_ABOUT_VERDICT)
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
@click.pass_context
def submit_command(
    context: click.Context,
    *,
    run: str,
    text: str | None,
    review: str | None,
    key: str | None,
    is_reply: bool,
) -> None:
    """Give the verdict and print what it comes to."""
    said = _said_on_stdin() if text is None or text == _STDIN else text
    fields: VerdictFields = {"is_reply": is_reply}
    if review is not None:
        fields["review"] = review
    if key is not None:
        fields["key"] = key
    with governing() as interlock:
        asked = Run(interlock.governor, found_run(interlock.ledger.rows, run).id)
        with working(_title(asked, review)):
            answer = asked.verdict(said, **fields)
    show(answer, _answer_lines(answer))
    context.exit(_OUTCOMES[answer.outcome][0])


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
    return _read(sys.stdin.buffer, "the verdict is").decode("utf-8", "replace")


def _gates_text(file: str) -> bytes:
    if file == "-":
        return _read(sys.stdin.buffer, "the gates are")
    try:
        return content_of(file, most=_MOST_READ)
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"`{file}` is not the name of a file: {error}") from error


def _read(file: BinaryIO, what: str) -> bytes:
    text = file.read(_MOST_READ + 1)
    if len(text) > _MOST_READ:
        raise InputError(f"{what} longer than {_MOST_READ} bytes")
    return text


def _answer_lines(answer: ReviewAnswer) -> Iterator[Line]:
    code, meaning = _OUTCOMES[answer.outcome]
    yield badge_line(answer.outcome.value.upper(), _TONES[code], meaning)
    if answer.repeated:
        yield (Span("  it was answered before: nothing was run or counted again", Tone.FAINT),)
    yield from labelled_lines("review", f"{answer.review_id}, record {answer.seq}", Tone.FAINT)
    yield from labelled_lines("because", answer.reason, Tone.STRONG)
    if answer.coverage:
        yield from heading_lines("Gates")
        yield from gate_lines(answer.coverage, answer.detail)
    if answer.guidance:
        yield ()
        yield from text_lines(answer.guidance)
    if answer.approval_id is not None:
        command = f"interlock review resolve {code_of(answer.approval_id)} retry|skip|abort"
        yield from ((), (Span(f"  {command}", Tone.CODE),))
    if answer.footer:
        yield ()
        yield from text_lines(answer.footer)


@ledger_call("list", group=review_command)
@click.argument("run", metavar="[RUN]", required=False)
def list_command(*, run: str | None) -> None:
    """List the reviews that work waits for, of every run that is at work.

    With RUN, its id or enough of its beginning, also how its latest reviews ended. Each gate
    stands with its evidence: a check that passed or failed, or only the verdict.

    Examples:
      interlock review list
      interlock review list R4X9TM --json
    """
    with reading_ledger() as ledger:
        states = _waiting_runs(ledger) if run is None else [found_state(ledger, run)]
        now = current_time()
        found = [run_reviews(ledger, state, now) for state in states]
    show(found, _lines(found) if found else [(Span("no review is pending"),)])


def _waiting_runs(ledger: Ledger) -> list[RunState]:
    rows = ledger.rows.runs(limit=ALL, status=RunStatus.RUNNING.value)
    states = [ledger.state(row.id) for row in rows]
    return [state for state in states if state is not None and state.reviews.pending]


def _lines(found: Sequence[RunReviews]) -> Iterator[Line]:
    short = codes_of([each.run for each in found])
    for place, each in enumerate(found):
        if place:
            yield ()
        run = short[each.run]
        task = cut(each.task, text_width() - len(run) - 2)
        yield (Span(run, Tone.CODE), Span(f"  {task}", Tone.STRONG))
        if each.is_empty:
            yield (Span("  no review was ever opened", Tone.FAINT),)
        yield from reviews_lines(each)


_ABOUT_RESOLVE: Final = """\
Resolve a review whose attempts are used up: retry, skip or abort.

APPROVAL is the code of the question, as `interlock approvals` shows it. Without one it is the
only review that waits; where several do, you choose from a list. `retry` begins the attempts
anew, `skip` lets the work go on without the review, `abort` ends the run and asks first. Only a
person may choose; whoever does types a passphrase.

Examples:
  interlock review resolve K7QP3M retry --instructions "look at the rounding"
  interlock review resolve --run R4X9TM --review before-merge skip
"""


@ledger_call("resolve", group=review_command, help=_ABOUT_RESOLVE, decides=True)
@click.argument("words", metavar="[APPROVAL] retry|skip|abort", nargs=-1)
@click.option("--run", metavar="RUN", help="Choose for a review of this run, not by APPROVAL.")
@click.option("--review", metavar="ID", help="Which one; not needed while one is pending.")
@click.option("--instructions", metavar="TEXT", help="What to do next; the agent is told.")
@click.option("--yes", is_flag=True, help="Do not ask before a run is ended.")
def resolve_command(
    *,
    words: Sequence[str],
    run: str | None,
    review: str | None,
    instructions: str | None,
    yes: bool,
) -> None:
    """Take a person's choice and print what it comes to."""
    named = run is not None
    if (review is not None and not named) or not 1 <= len(words) <= (1 if named else 2):
        raise click.UsageError(
            "expected `[APPROVAL] retry|skip|abort`, or `--run RUN [--review ID] retry|skip|abort`"
        )
    action: GateAction = checked(words[-1], GateAction, "choice")
    with governing() as interlock:
        if run is not None:
            run_id, asked = found_run(interlock.ledger.rows, run).id, None
            about = [run_line(interlock.governor.state(run_id))]
        else:
            asked = chosen_review(interlock, words[:-1], "review resolve")
            run_id, about = asked.run_id, [*question_lines(interlock.ledger, [asked])]
        if action is GateAction.ABORT and not yes:
            ask_to_abort(interlock, run_id, "resolve a review")
        token = operator_token(interlock, "resolve a review", about)
        answer = (
            interlock.choose_review(
                run_id, action, token=token, review=review, instructions=instructions
            )
            if asked is None
            else interlock.choose(asked.id, action, token=token, instructions=instructions)
        )
        task = interlock.governor.state(answer.run_id).task
    show(answer, _chosen_lines(answer, action, task))


def _chosen_lines(answer: ReviewAnswer, action: GateAction, task: str) -> Iterator[Line]:
    yield _CHOICES[action]
    yield from labelled_lines("review", answer.review_id, Tone.STRONG)
    yield from labelled_lines("run", f"{code_of(answer.run_id)} ({task})", Tone.FAINT)
    yield from labelled_lines("because", answer.reason)
    if answer.guidance:
        yield from heading_lines("What whoever tries again is told")
        yield from text_lines(answer.guidance)
