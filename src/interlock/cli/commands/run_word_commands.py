"""`interlock run start|step|exec|observe|done|end`: a run of a shell script, line by line."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import msgspec

from interlock import processes, settings
from interlock.cli.call.duration import Duration
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.options import (
    chosen_place,
    json_option,
    ledger_option,
    print_json,
    show,
    wants_json,
)
from interlock.cli.call.shell_run import Spoken, spoken_run
from interlock.cli.call.standard_input import given_text
from interlock.cli.call.supervised_command import (
    answer_teller,
    be_ready,
    command_environment,
    require_program,
    run_budget,
    run_options,
    run_speaker,
)
from interlock.cli.text.render import Tone, badge_line, escape, labelled_rows
from interlock.cli.text.run_answer_page import step_lines, stop_lines
from interlock.descriptors import content_of
from interlock.errors import InputError, UnfinishedError
from interlock.ledger.chain import decoded
from interlock.model.answers import StepAnswer, StopAnswer, action_id
from interlock.model.budget import TokenUsage
from interlock.model.events import ActionJudged, ActionObserved, Outcome
from interlock.model.question_fields import RunFields
from interlock.model.verdict import Decision
from interlock.service.interlock import Interlock
from interlock.service.people.run_speaker import SHELL
from interlock.views import units

_MOST_BYTES: Final = 16 * 1024 * 1024
_LOOKED_BACK: Final = 500
"""So many records back an action is looked for that nobody has reported on."""
_RUN: Final = "[RUN]"
_ABOUT_START: Final = """\
Begin a run for a script, and print its id.

It prints nothing else, so that a script can keep it: `export INTERLOCK_RUN=$(interlock run start
--task "nightly cleanup")`.

The commands behind it mean the run that `INTERLOCK_RUN` names, unless they name another one. The
run belongs to the script: only what the script starts speaks for it, and decides nothing.

Examples:
  interlock run start --task "nightly cleanup" --budget tokens=200000
  interlock run start --task "fix the tests" --wall-time 1h --agent aider
"""
_ABOUT_STEP: Final = """\
Ask whether a run should go on.

Ask before each step. A throttle is waited for. RUN may be left out where `INTERLOCK_RUN` names the
run.

Exit code: 0 go on, 3 a person must decide first, 4 stop; 1 when the policy or the environment is
at fault, 2 when the call is wrong.

Examples:
  interlock run step R4X9TM
"""
_ABOUT_EXEC: Final = """\
Run one command of a run, if it may run.

Interlock decides, runs it, and records how it ended. The command runs as with `interlock run --
COMMAND`: it is watched, paused and stopped. The run goes on afterwards.

Exit code: the command's own (128 + N where signal N ended it); 3 where a person must approve first
and nobody did in time, 4 where it must not run, 124 where the run's time was over, 125 where
Interlock stopped it, 127 where there is no such program.

Examples:
  interlock run exec --run R4X9TM -- make test
  interlock run exec --run R4X9TM --wait 10m -- git push --force
"""
_ABOUT_OBSERVE: Final = """\
Report what an action did.

Its exit code, its output, the tokens that were used. Without ACTION, the latest one that was
allowed and not reported on yet. Tokens alone are reported without an action: a model was called.

Examples:
  interlock run observe R4X9TM --exit-code 0 --output build.log
  interlock run observe R4X9TM --model MODEL --input-tokens 1200 --output-tokens 300
"""
_ABOUT_DONE: Final = """\
Ask whether an agent is really done.

TEXT is what it ended its turn with; `-` reads it from stdin.

Exit code: 0 done, 5 not done: send what is printed behind `send` to the agent; 3 a person must
decide first, 4 the run is stopped.

Examples:
  interlock run done --run R4X9TM "All tests pass. The task is complete."
"""
_ABOUT_END: Final = """\
End a run.

It ends as completed, unless --failed says otherwise; to end it again changes nothing. Where the
policy has completion checks, they must pass before a run is completed.

Exit code: 0 ended, 5 the completion checks fail: the run goes on.

Examples:
  interlock run end R4X9TM
  interlock run end R4X9TM --failed
"""
_wait_option: Final = click.option(
    "--wait",
    type=Duration(),
    default="0",
    metavar="TIME",
    help="Wait so long for the person who has to decide, such as `90s` or `10m`.",
)
_run_option: Final = click.option(
    "--run", "run", metavar="RUN", help="The run; without it, that of `INTERLOCK_RUN`."
)


def _word(name: str, about: str) -> Callable[[Callable[..., None]], click.Command]:
    def made(callback: Callable[..., None]) -> click.Command:
        return ledger_option(json_option(click.command(name, help=about)(callback)))

    return made


@_word("start", _ABOUT_START)
@click.option("--task", metavar="TEXT", required=True, help="What it is to do.")
@run_options("`shell`")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder it works in; without it, this one.",
)
def start_command(
    *,
    task: str,
    agent: str | None,
    project: str,
    budgets: Sequence[str],
    wall_time: int | None,
    workspace: Path | None,
) -> None:
    """Begin a run."""
    fields: RunFields = {
        "client": SHELL,
        "project": project,
        "workspace": workspace or settings.working_folder(),
        "tree_budget": run_budget(budgets, wall_time),
    }
    if agent is not None or settings.current_ledger_places().token is None:
        fields["agent"] = agent or SHELL
    caller = processes.script_above()
    if caller is not None:
        fields["process"] = int(caller.split("/")[1])
    with Interlock.open(chosen_place()) as interlock:
        run = interlock.run(task, **fields)
    if wants_json():
        print_json({"run": run.id})
    else:
        click.echo(run.id)


@_word("step", _ABOUT_STEP)
@click.argument("run", metavar=_RUN, required=False)
@click.option("--said", metavar="TEXT", help="What the agent said last; `-` reads stdin.")
@_wait_option
def step_command(*, run: str | None, said: str | None, wait: float) -> None:
    """Ask whether to go on."""
    text = None if said is None else given_text(said, most=_MOST_BYTES, what="--said is")
    with spoken_run(run) as spoken:
        answer = spoken.run.step(text, wait_s=wait)
    show(_step_value(answer), step_lines(answer))
    if answer.goes_on and answer.delay_ms:
        time.sleep(answer.delay_ms / 1000)
    _leave_unless(answer.goes_on, waits=answer.waits_for_person)


@_word("exec", _ABOUT_EXEC)
@_run_option
@click.option(
    "--wait",
    type=Duration(),
    default="1h",
    show_default=True,
    metavar="TIME",
    help="Wait so long for the person who has to approve; 0 does not wait.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_command(*, run: str | None, wait: float, command: Sequence[str]) -> None:
    """Run one command of a run."""
    be_ready()
    require_program(command[0])
    from interlock.adapters.supervision.supervisor import Supervisor  # noqa: PLC0415 - only where it is needed

    with spoken_run(run) as spoken:
        run_id = spoken.run.id
        supervisor = Supervisor(
            spoken.interlock, spoken.run, run_speaker(run_id), show=answer_teller(run_id)
        )
        ending = supervisor.perform(
            command,
            folder=settings.working_folder(),
            environment=command_environment(),
            wait_s=wait,
        )
    if wants_json():
        click.echo(units.json_text(ending._asdict()), err=True)
    click.get_current_context().exit(ending.exit_code)


# Whatever stands behind the command's name is the command's own.
exec_command.allow_interspersed_args = False


@_word("observe", _ABOUT_OBSERVE)
@click.argument("named", metavar="[RUN] [ACTION]", nargs=-1)
@click.option("--exit-code", type=int, metavar="N", help="What the command ended with.")
@click.option(
    "--outcome",
    type=click.Choice([each.value for each in Outcome]),
    help="What became of it, where no exit code tells.",
)
@click.option("--output", metavar="FILE", help="What it printed; `-` reads stdin.")
@click.option(
    "--input-tokens", type=click.IntRange(min=0), metavar="N", help="Tokens that went in."
)
@click.option(
    "--output-tokens", type=click.IntRange(min=0), metavar="N", help="Tokens that came out."
)
@click.option("--model", metavar="NAME", help="The model that used them.")
def observe_command(
    *,
    named: Sequence[str],
    exit_code: int | None,
    outcome: str | None,
    output: str | None,
    input_tokens: int | None,
    output_tokens: int | None,
    model: str | None,
) -> None:
    """Report what an action did."""
    run, action = _meant(named)
    used = TokenUsage(input_tokens=input_tokens or 0, output_tokens=output_tokens or 0)
    seen: dict[str, Any] = {
        name: value
        for name, value in (
            ("exit_code", exit_code),
            ("outcome", outcome),
            ("output", None if output is None else _printed(output)),
        )
        if value is not None
    }
    if not seen and not used.total:
        raise click.UsageError("expected what it did: `--exit-code N`, `--outcome ok`, or tokens")
    with spoken_run(run) as spoken:
        if not seen and action is None:
            event: ActionObserved | object = spoken.run.usage(used, model=model)
            shown = f"{used.total} tokens of {model or 'a model'}"
        else:
            if used.total:
                seen |= {"usage": used} | ({} if model is None else {"model": model})
            about = _action_of(spoken, action)
            event = observed = spoken.run.observe(about, **seen)
            shown = f"{about}: {observed.outcome.value}"
    show(event, (badge_line("RECORDED", Tone.ALLOW, shown),))


@_word("done", _ABOUT_DONE)
@click.argument("text", metavar="TEXT|-")
@_run_option
@_wait_option
def done_command(*, run: str | None, text: str, wait: float) -> None:
    """Ask whether it is really done."""
    said = given_text(text, most=_MOST_BYTES, what="TEXT is")
    with spoken_run(run) as spoken:
        answer = spoken.run.stopped(said, wait_s=wait)
    show(_stop_value(answer), stop_lines(answer))
    if answer.goes_on:
        click.get_current_context().exit(ExitCode.UNFINISHED)
    _leave_unless(answer.done, waits=answer.waits_for_person)


@_word("end", _ABOUT_END)
@click.argument("run", metavar=_RUN, required=False)
@click.option("--completed", "outcome", flag_value="completed", default=True, help="It is done.")
@click.option("--failed", "outcome", flag_value="failed", help="It is not done.")
@_wait_option
def end_command(*, run: str | None, outcome: str, wait: float) -> None:
    """End a run."""
    with spoken_run(run, ends=True) as spoken:
        try:
            report = spoken.run.finish(outcome, wait_s=wait)
        except UnfinishedError as error:
            _leave_unfinished(spoken.run.id, error)
        ended_as = spoken.run.state.outcome
    value = {"run": spoken.run.id, "outcome": ended_as, "report": report}
    objections = [each for each in report.evaluations if not each.passed]
    show(
        value,
        (
            badge_line("ENDED", Tone.WARN if objections else Tone.ALLOW, f"{ended_as}"),
            *labelled_rows(
                *[(each.evaluator, "; ".join(each.evidence) or "failed") for each in objections]
            ),
        ),
    )


RUN_WORDS: Final = (
    start_command,
    step_command,
    exec_command,
    observe_command,
    done_command,
    end_command,
)
"""What stands right behind `interlock run`, in the order in which a script says it."""


def _leave_unless(goes_on: bool, *, waits: bool) -> None:
    if not goes_on:
        click.get_current_context().exit(ExitCode.CONFIRM if waits else ExitCode.BLOCKED)


def _leave_unfinished(run_id: str, error: UnfinishedError) -> NoReturn:
    value = {"run": run_id, "outcome": None, "error": str(error), "approval_id": error.approval_id}
    show(value, (badge_line("NOT DONE", Tone.WARN, escape(str(error))),))
    click.get_current_context().exit(ExitCode.UNFINISHED)


def _meant(named: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the run and the action that are named; an action's id names its run as well."""
    match named:
        case []:
            return None, None
        case [action] if ":" in action:
            return action.rpartition(":")[0], action
        case [run]:
            return run, None
        case [run, action]:
            return run, action
        case _:
            raise click.UsageError(f"expected RUN and ACTION, got {len(named)} words")


def _action_of(spoken: Spoken, named: str | None) -> str:
    """Return the id of the action that is named, or of the latest that waits for its report."""
    state = spoken.run.state
    if named is not None:
        return action_id(state.id, int(named)) if named.isdecimal() else named
    reported: set[int] = set()
    after = max(0, state.seq - _LOOKED_BACK)
    rows = spoken.interlock.ledger.rows.records(state.id, after=after, limit=_LOOKED_BACK)
    for row in reversed(rows):
        match decoded(row.body).event:
            case ActionObserved(of=int(of)):
                reported.add(of)
            case ActionJudged(decision=Decision.ALLOW | Decision.WARN) if row.seq not in reported:
                return action_id(state.id, row.seq)
            case _:
                pass
    raise InputError(
        f"no action of run `{state.id}` waits for its report: `interlock check --run {state.id}"
        " 'LINE'` asks about one"
    )


def _printed(file: str) -> str:
    if file == "-":
        return given_text(file, most=_MOST_BYTES, what="the output is")
    try:
        return content_of(file, most=_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror}") from error


def _step_value(answer: StepAnswer) -> dict[str, object]:
    return {
        "run": answer.run_id,
        "goes_on": answer.goes_on,
        "decision": answer.decision,
        "course": answer.ruling.course,
        "step": answer.step,
        "reasons": answer.reasons or (answer.ruling.reason,),
        "warnings": answer.warnings,
        "delay_ms": answer.delay_ms,
        "approval_id": answer.approval_id,
        "checkpoint": msgspec.to_builtins(answer.checkpoint),
    }


def _stop_value(answer: StopAnswer) -> dict[str, object]:
    return {
        "run": answer.run_id,
        "done": answer.done,
        "goes_on": answer.goes_on,
        "decision": answer.decision,
        "course": answer.ruling.course,
        "reason": answer.ruling.reason,
        "nudge": answer.nudge,
        "approval_id": answer.approval_id,
    }
