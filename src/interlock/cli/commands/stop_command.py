"""`interlock stop`: is it really done? One answer for each end of a turn in a log."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final, cast

import click
import msgspec

from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.options import chosen_policy, policy_options
from interlock.errors import InputError
from interlock.model.stop import SignalScore, StopVeto
from interlock.policy.config.stop_section import PROFILES, Stops
from interlock.policy.stops.stop_gate import decide
from interlock.policy.stops.stop_row import context_from_row
from interlock.views.json_text import json_text

_STDIN: Final = "-"
_ABOUT: Final = """\
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
"""


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one turn goes on, and what spoke for and against it."""

    id: object
    goes_on: bool = msgspec.field(name="continue")
    score: int
    signals: tuple[SignalScore, ...]
    veto: StopVeto | None
    reason: str
    outcome: str
    nudge: str | None


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a line that cannot be read."""

    id: object
    error: str


@click.command("stop", help=_ABOUT)
@click.argument("file", default=_STDIN)
@click.option("--jsonl", is_flag=True, help="Answer a stream of JSON lines.")
@click.option(
    "--profile",
    type=click.Choice(["default", "seed"]),
    help="Use these points instead of the policy's: set by measurement, or the original table.",
)
@policy_options
@click.pass_context
def stop_command(context: click.Context, *, file: str, jsonl: bool, profile: str | None) -> None:
    """Answer every line."""
    if not jsonl:
        raise click.UsageError("expected `--jsonl`: the ends of turns are read from JSON lines")
    bad, settings = 0, _settings(profile)
    with _opened(file) as lines:
        for answer in _answers(lines, settings):
            bad += isinstance(answer, _Failure)
            click.echo(json_text(answer))
    if bad:
        click.echo(f"{bad} line{'' if bad == 1 else 's'} could not be read", err=True)
        context.exit(ExitCode.MISUSED)


def _settings(profile: str | None) -> Stops:
    return chosen_policy().config.stops if profile is None else PROFILES[profile]


def _opened(file: str) -> IO[bytes]:
    if file == _STDIN:
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror}") from error


def _answers(lines: IO[bytes], settings: Stops) -> Iterator[_Answer | _Failure]:
    """Yield one answer for each line that is not blank, before the next line is waited for."""
    for number, line in enumerate(iter(lines.readline, b""), start=1):
        if line.strip():
            yield _answer(line, number, settings)


def _answer(line: bytes, number: int, settings: Stops) -> _Answer | _Failure:
    identity: object = None
    try:
        row = _row(line)
        identity = row.get("id")
        decision = decide(context_from_row(row), settings)
    except InputError as error:
        return _Failure(id=identity, error=f"line {number}: {error}")
    return _Answer(
        id=identity,
        goes_on=decision.goes_on,
        score=decision.score,
        signals=decision.signals,
        veto=decision.veto,
        reason=decision.reason,
        outcome=decision.outcome.value,
        nudge=decision.nudge,
    )


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
