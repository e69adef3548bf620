"""Past runs: `replay` one from its record, and `backtest` the steps and stops of others."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, BinaryIO, Final, cast

import click
import msgspec
from msgspec.structs import replace

from interlock.adapters.histories.own_rows import run_from_json
from interlock.backtest.hindsight import judged
from interlock.backtest.run_replay import Difference, Replayed, replay_run
from interlock.cli.call.command_names import Commands
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import (
    chosen_policy,
    end_stream,
    ledger_call,
    policy_options,
    show,
)
from interlock.cli.text.render import Line, Span, Tone, labelled_lines
from interlock.cli.text.tables import progress
from interlock.descriptors import READING, check_is_regular
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_run
from interlock.ledger.ledger import Ledger
from interlock.policy.config.stop_section import PROFILES
from interlock.policy.stops.stop_gate import decide
from interlock.policy.stops.stop_row import context_from_row
from interlock.views import units
from interlock.views.units import json_text

_STDIN: Final = "-"
_MOST_BYTES: Final = 1024 * 1024 * 1024
_ADVANCE_EVERY: Final = 50
_ABOUT_STEPS: Final = """\
Judge past runs step by step: where would each have paused or stopped?

Each line of FILE, or of stdin, is one run. A step is a message, or a call with what came back:

\b
  {"run_id": "a1", "steps": [
    {"role": "user", "text": "fix the test"},
    {"role": "assistant", "tool": "Bash", "args": "pytest", "result_excerpt": "1 failed"}]}

Each is answered in order, by one line: `stop_at` is the step after which the run pauses or
stops, or null; `scores` has one number per step, the higher the more speaks for stopping.
Neither depends on later steps. A line that cannot be read is answered with an error.

Exit code: 0, or 2 when a line could not be read.

Examples:
  interlock backtest steps runs.jsonl
  interlock backtest steps < runs.jsonl
"""
_ABOUT_STOPS: Final = """\
Ask whether agents that ended their turn are really done.

Each line of FILE (or stdin) is one end of a turn, answered in order. Only `text` says much;
whatever is not known may be left out, and other fields are left alone.

\b
  {"id": 1, "text": "Now let me run the tests:", "last_event": "tool_result",
   "finish_reason": "stop", "tool_ratio": 0.8, "n_prev_turns": 12, "model": "minimax-m2"}

\b
  {"id": 1, "continue": true, "score": 80, "signals": [...], "veto": null, "reason": "..."}

Exit code: 0 when every line was answered, 2 when some could not be read; each of those is
answered with an error, and the others as usual.

Examples:
  interlock backtest stops turns.jsonl
  interlock backtest stops --profile seed < turns.jsonl
"""


class _Outcome(msgspec.Struct, kw_only=True):
    """What replaying a run came to."""

    run: str
    answers: int = 0
    different: int = 0
    first: Replayed | None = None
    """The first answer that differs."""


@ledger_call("replay")
@click.argument("run", metavar="RUN")
@click.pass_context
def replay_command(context: click.Context, *, run: str) -> None:
    """Decide every answer of a run again, from its record.

    RUN may be the beginning of an id. Exit code: 0 when every answer comes out as it was
    recorded, 1 when one does not.

    Examples:
      interlock replay R4X9TM
      interlock replay R4X9TM --json
    """
    with reading_ledger() as ledger:
        outcome = _replayed(ledger, found_run(ledger.rows, run).id)
    show(outcome, _outcome_lines(outcome))
    context.exit(ExitCode.FAILED if outcome.different else ExitCode.ALLOWED)


def _replayed(ledger: Ledger, run_id: str) -> _Outcome:
    state = ledger.state(run_id)
    total = 0 if state is None else sum(state.decisions.values())
    outcome = _Outcome(run=run_id)
    with progress("replaying", long=500) as advance:
        for each in replay_run(ledger.rows, run_id):
            outcome.answers += 1
            if not each.is_same:
                outcome.different += 1
                outcome.first = outcome.first or each
            if outcome.answers % _ADVANCE_EVERY == 0:
                advance(outcome.answers, total)
    return outcome


def _outcome_lines(outcome: _Outcome) -> Iterator[Line]:
    answers = units.counted(outcome.answers, "answer")
    if outcome.first is None:
        yield (Span(answers, Tone.GOOD), Span(", all identical" if outcome.answers else ""))
        return
    yield (
        Span(f"{outcome.different:,} of {answers}", Tone.BAD),
        Span(" come out differently; the first is "),
        Span(f"record {outcome.first.seq}", Tone.STRONG),
    )
    for difference in outcome.first.differences:
        yield from _difference_lines(difference)


def _difference_lines(difference: Difference) -> Iterator[Line]:
    yield ()
    yield (Span(f"  {difference.field}", Tone.STRONG),)
    for label, value, tone in (
        ("recorded", difference.recorded, Tone.GOOD),
        ("now", difference.now, Tone.BAD),
    ):
        text = value if isinstance(value, str) else json_text(value)
        yield from labelled_lines(label, text, tone, indent="    ")


@click.group("backtest", cls=Commands)
def backtest_command() -> None:
    """Judge past steps, or past ends of turns, from JSON lines."""


@backtest_command.command("steps", help=_ABOUT_STEPS)
@click.argument("file", type=click.File("rb"), default=_STDIN)
@policy_options
def steps_command(*, file: BinaryIO) -> None:
    """Answer every run of a stream."""
    policy = chosen_policy().config

    def answer(line: bytes, number: int) -> object:
        try:
            run = run_from_json(line)
        except InputError as error:
            return _Failure({"run_id": None, "error": f"line {number}: {error}"})
        return replace(judged(run, policy.steps, policy.loops), run_id=run.run_id)

    _answer_lines(file, answer)


@backtest_command.command("stops", help=_ABOUT_STOPS)
@click.argument("file", default=_STDIN)
@click.option(
    "--profile",
    type=click.Choice(["default", "seed"]),
    help="Use these points instead of the policy's: set by measurement, or the original table.",
)
@policy_options
def stops_command(*, file: str, profile: str | None) -> None:
    """Answer every line."""
    settings = chosen_policy().config.stops if profile is None else PROFILES[profile]

    def answer(line: bytes, number: int) -> object:
        identity: object = None
        try:
            row = _row(line)
            identity = row.get("id")
            decision = decide(context_from_row(row), settings)
        except InputError as error:
            return _Failure({"id": identity, "error": f"line {number}: {error}"})
        return {
            "id": identity,
            "continue": decision.goes_on,
            "score": decision.score,
            "signals": decision.signals,
            "veto": decision.veto,
            "reason": decision.reason,
            "outcome": decision.outcome,
            "nudge": decision.nudge,
        }

    with _opened(file) as lines:
        _answer_lines(lines, answer)


class _Failure(dict[str, object]):
    """The answer to a line that cannot be read."""


def _answer_lines(lines: Iterable[bytes], answer: Callable[[bytes, int], object]) -> None:
    """Answer each line that is not blank, before the next one is waited for."""
    bad = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            found = answer(line, number)
            bad += isinstance(found, _Failure)
            click.echo(json_text(found))
    end_stream(bad)


def _opened(file: str) -> IO[bytes]:
    if file == _STDIN:
        return sys.stdin.buffer
    try:
        descriptor = os.open(file, READING)
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror}") from error
    try:
        check_is_regular(descriptor, most=_MOST_BYTES)
        return os.fdopen(descriptor, "rb")
    except OSError as error:
        os.close(descriptor)
        raise InputError(f"`{file}` cannot be read: {error.strerror}") from error


def _row(line: bytes) -> Mapping[str, object]:
    try:
        row = cast("object", json.loads(line.strip()))
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8") from error
    except json.JSONDecodeError as error:
        reason = f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise InputError(f"not JSON: {reason} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise InputError("not read: nested too deeply, or a number too long") from error
    if not isinstance(row, dict):
        raise InputError("expected an object such as {`id`, `text`, `last_event`, ...}")
    return cast("Mapping[str, object]", row)
