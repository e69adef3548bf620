"""`interlock step`: should it have gone on? Past runs, judged step by step."""

from __future__ import annotations

from typing import BinaryIO, Final

import click
import msgspec

from interlock.backtest.hindsight import judged
from interlock.backtest.trajectories import run_from_json
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.options import chosen_policy, policy_options
from interlock.cli.text.progress_bar import progress
from interlock.errors import InputError
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.views.json_text import json_text

_TOLD_EVERY: Final = 20
_ABOUT: Final = """\
Judge past runs step by step: where would each have been paused or stopped?

Each line of FILE, or of stdin, is one run. A step is a message, or a call with what came back:

\b
  {"run_id": "a1", "steps": [
    {"role": "user", "text": "fix the test"},
    {"role": "assistant", "tool": "Bash", "args": "pytest", "result_excerpt": "1 failed"}]}

Each is answered in order, by one line: `stop_at` is the step after which the run pauses or
stops, or null; `scores` has one number per step, the higher the more speaks for stopping.
Neither depends on later steps. A line that cannot be read is answered with an error.

Exit code: 0, or 2 when a line could not be read.
"""


class _Failure(msgspec.Struct, frozen=True):
    """The answer to a line that cannot be read."""

    run_id: object
    error: str


@click.command("step", help=_ABOUT)
@click.option("--jsonl", is_flag=True, help="Answer a stream of JSON lines.")
@click.argument("file", type=click.File("rb"), default="-")
@policy_options
@click.pass_context
def step_command(context: click.Context, *, jsonl: bool, file: BinaryIO) -> None:
    """Answer every run of a stream."""
    if not jsonl:
        raise click.UsageError("expected `--jsonl`, and one run in each line of FILE or stdin")
    bad = _answer_lines(file, chosen_policy())
    if bad:
        click.echo(f"{bad} line{'' if bad == 1 else 's'} could not be read", err=True)
        context.exit(ExitCode.MISUSED)


def _answer_lines(file: BinaryIO, policy: CompiledPolicy) -> int:
    """Answer every line on stdout; return how many could not be read."""
    bad = 0
    with progress("judging", long=200) as advance:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            answer = _answer(line, number, policy)
            bad += isinstance(answer, _Failure)
            click.echo(json_text(answer))
            if number % _TOLD_EVERY == 0:
                advance(number, 0)
    return bad


def _answer(line: bytes, number: int, policy: CompiledPolicy) -> object:
    try:
        run = run_from_json(line)
    except InputError as error:
        return _Failure(None, f"line {number}: {error}")
    return judged(run, policy.config.steps, policy.config.loops)
