"""`interlock review RUN ID GATE...`: have finished work held against gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.ledger_choice import governing, ledger_option
from interlock.errors import InputError

if TYPE_CHECKING:
    from interlock.cli.render import Line
    from interlock.model.answers import ReviewOpening
    from interlock.service.interlock import Interlock
    from interlock.service.reviews.opening import GateGiven

_MOST_READ: Final = 1024 * 1024
_EXPECTED: Final = (
    'expected a list such as `["tests", {"id": "style", "criteria": ["reads well"]}]`'
)
_ABOUT: Final = """\
Open a review: was the work good enough?

RUN is the id of a run, or enough of its beginning; ID is your name for the review; each GATE
is one of the policy. What is printed is for whoever reviews the work; the answer is given
with `interlock verdict`. While a gate that blocks is pending the run may not finish.

\b
  interlock review RUN before-merge tests style --subject "the new parser"
"""


@click.command("review", help=_ABOUT)
@click.argument("run", metavar="RUN")
@click.argument("review_id", metavar="ID")
@click.argument("gates", metavar="[GATE]...", nargs=-1)
@click.option("--subject", metavar="TEXT", default="", help="What is reviewed, in words.")
@click.option(
    "--gates-json",
    "file",
    type=click.File("rb"),
    metavar="FILE",
    help="Gates made for the occasion: a JSON list of tables, or of names; - is stdin.",
)
@click.option("--all-hints", is_flag=True, help="Show every criterion, not only the first few.")
@json_option
@ledger_option
def review_command(
    *,
    run: str,
    review_id: str,
    gates: Sequence[str],
    subject: str,
    file: BinaryIO | None,
    all_hints: bool,
    as_json: bool,
) -> None:
    """Open the review and print what whoever reviews has to know."""
    from interlock.cli import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.cli.run_choice import found_run  # noqa: PLC0415 - the same

    given: list[GateGiven] = [*gates, *([] if file is None else _gates_from_json(file))]
    with governing() as interlock:
        run_id = found_run(interlock.ledger.rows, run).id
        if not given:
            raise _nothing_named(interlock)
        opening = interlock.resume(run_id).review(
            review_id, given, subject=subject, all_hints=all_hints
        )
    if as_json:
        render.print_json(opening)
    else:
        render.print_lines(_opening_lines(opening, render.text_width()))


def _gates_from_json(file: BinaryIO) -> Iterator[GateGiven]:
    """Yield the gates that a list names or describes; what a table holds is checked later."""
    import msgspec  # noqa: PLC0415 - commands import late

    text = file.read(_MOST_READ + 1)
    if len(text) > _MOST_READ:
        raise InputError(f"the gates are longer than {_MOST_READ} bytes")
    try:
        found = cast("object", msgspec.json.decode(text))
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
    known = ", ".join(f"`{name}`" for name in interlock.governor.context.gates.review_gates)
    told = f"the policy of this ledger has {known}" if known else "its policy has none"
    return InputError(f"name at least one gate: {told}, or describe one with --gates-json")


def _opening_lines(opening: ReviewOpening, width: int) -> Iterator[Line]:
    from interlock.cli.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.cli.review_lines import text_lines  # noqa: PLC0415 - commands import late
    from interlock.cli.run_choice import SHORT  # noqa: PLC0415 - the same

    review = opening.review
    meaning = "it is pending already" if opening.repeated else "the work waits for its verdict"
    yield (
        Span("PENDING" if opening.repeated else "OPENED", Tone.CONFIRM),
        Span(f"  {meaning}"),
        Span(f"  {review.mode.value}, record {opening.seq}", Tone.FAINT),
    )
    yield ()
    yield from text_lines(opening.guidance, width=width)
    yield ()
    command = f"interlock verdict {opening.run_id[:SHORT]} --review {review.id} TEXT"
    yield (Span(f"  {command}", Tone.CODE),)
