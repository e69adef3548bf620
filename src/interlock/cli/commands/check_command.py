"""`interlock check`: may it do this? One question, or a stream of them (`--jsonl`).

The lines of a stream are read in blocks and answers written in blocks, but no answer is held back
while the next question has yet to arrive: whatever is ready goes out before the next read.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn, TypeVar, cast

import click
import msgspec

from interlock import settings
from interlock.cli.call.command_names import Commands
from interlock.cli.call.duration import Duration
from interlock.cli.call.exit_code import ExitCode, exit_code_of
from interlock.cli.call.options import (
    chosen_policy,
    end_stream,
    is_policy_found,
    json_option,
    ledger_option,
    policy_options,
    remembered,
    show,
    wants_json,
)
from interlock.cli.text.machine_text import machine_value
from interlock.cli.text.render import escape, text_width
from interlock.cli.text.verdict_page import explanation_lines, verdict_lines
from interlock.descriptors import content_of
from interlock.errors import InputError
from interlock.model.action import (
    Action,
    CommandAction,
    EditAction,
    ToolAction,
    action_from_request,
)
from interlock.policy.actions.calls.json_text import name_given_twice
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.parameters import kind_of
from interlock.policy.config.complaints import nearest
from interlock.policy.gates.judgement import judge
from interlock.views.units import json_text

_Decorated = TypeVar("_Decorated", bound=Callable[..., object])

_STDIN: Final = "-"
_MOST_BYTES: Final = 64 * 1024 * 1024
_BLOCK: Final = 1 << 16
_MOST_PENDING: Final = 1 << 18
_LONGEST_NAME: Final = 64
_PAYLOAD: Final = frozenset(("hook_event_name", "sessionId", "sessionID", "opencode"))
"""What the payload of every client's hook has one of."""
_ABOUT: Final = """\
Ask whether a command, a tool call or an edit may happen.

Whatever is no subcommand is a command line. Options stand before the line. With --run the question
is asked for that run, on the record: where a person must approve, they find it in `interlock
approvals`.

Exit code: 0 allow or warn, 3 ask, 4 deny; 1 when the policy or the
environment is at fault, 2 when the call is wrong or its input cannot be read.

With --jsonl each line of stdin is one question, answered in order:

\b
  {"id": 1, "command": "git push --force", "cwd": "/src/app"}
  {"id": 2, "tool": "Bash", "params": {"command": "ls"}}
  {"id": 3, "path": "app.py", "content": "new text", "old": "old text"}

`cwd` and `old` may be left out. A line that cannot be read is answered with an error, and the
stream goes on; at its end the exit code is 2 if there was one, else 0.

Examples:
  interlock check 'git push --force'
  interlock check tool Bash '{"command": "ls"}'
  interlock check --jsonl < questions.jsonl
"""
_EXPLAIN: Final = "interlock.explain"
_FOLDER: Final = "interlock.cwd"
_RUN: Final = "interlock.run"
_WAIT: Final = "interlock.wait"


def _asking_options(command: _Decorated) -> _Decorated:
    """Add what every question may be asked with; it may stand before or behind a subcommand."""
    explain = click.option(
        "--explain",
        is_flag=True,
        expose_value=False,
        callback=remembered(_EXPLAIN),
        help="Show how the answer came about.",
    )
    run = click.option(
        "--run",
        metavar="RUN",
        expose_value=False,
        callback=remembered(_RUN),
        help="Ask for this run, on the record: see `interlock run start`.",
    )
    wait = click.option(
        "--wait",
        metavar="TIME",
        type=Duration(),
        expose_value=False,
        callback=remembered(_WAIT),
        help="With --run: wait so long for the person who has to approve, such as `10m`.",
    )
    return json_option(explain(run(wait(ledger_option(policy_options(command))))))


_cwd_option: Final = click.option(
    "--cwd",
    metavar="DIR",
    expose_value=False,
    callback=remembered(_FOLDER),
    help="The folder a command would run in.",
)


class _CheckGroup(Commands):
    """Takes whatever is no subcommand for a command line."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; one that is misspelt is told with what was likely meant."""
        if args[0].startswith("-") or args[0] in self.commands:
            return super().resolve_command(ctx, args)
        near = nearest(args[0], self.commands) if " " not in args[0] else None
        if near is not None:
            raise click.UsageError(
                f"did you mean `interlock check {near}`? {_said_plainly(args)}", ctx
            )
        return "command", self.commands["command"], args


class _LineCommand(click.Command):
    """Reads a line that stands in quotes, or as many words.

    What stands behind one word, or one line in quotes, are options where all of it are. Behind
    more than that, everything from the first word on belongs to the line.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options and the line."""
        words = self._line_in(args)
        if words is None:
            return super().parse_args(ctx, args)
        line = shlex.join(words)
        ours = {name for each in self.params for name in each.opts}.intersection(words[1:])
        hint = (
            f"  (`{min(ours)}` as well: options of `check` stand before the line)" if ours else ""
        )
        click.echo(escape(f"read as: {line}{hint}"), err=True)
        before = [each for each in args[: len(args) - len(words)] if each != "--"]
        return super().parse_args(ctx, [*before, "--", line])

    def _line_in(self, args: Sequence[str]) -> Sequence[str] | None:
        """Return the words of a line without quotes; None where there is none."""
        own = {name: each for each in self.params for name in each.opts if name[:1] == "-"}
        first = _first_word(args, own)
        if args[first : first + 1] == ["--"]:
            return None if len(args) == first + 2 else args[first + 1 :]
        word, behind = "".join(args[first : first + 1]), args[first + 1 :]
        is_line = word[:1] != "-" and " " not in word and _first_word(behind, own) < len(behind)
        return args[first:] if is_line else None


def _first_word(args: Sequence[str], own: Mapping[str, click.Parameter]) -> int:
    """Return where the first word stands that is no option of ours, nor the value of one."""
    at = 0
    while at < len(args):
        name, equals, _ = args[at].partition("=")
        if name not in own:
            break
        option = own[name]
        takes = isinstance(option, click.Option) and not option.is_flag and not equals
        at += 2 if takes else 1
    return min(at, len(args))


def _said_plainly(args: Sequence[str]) -> str:
    """Return how to ask about a line whose first word means something here."""
    line = args[0] if len(args) == 1 else shlex.join(args)
    return f"As a command line: `interlock check command {shlex.quote(line)}`"


class _NounCommand(click.Command):
    """Tells whoever may have meant a program of the same name how to ask about it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; where they do not fit, it may have been a line."""
        given = [self.name or "", *args]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if len(given) == 1:
                raise
            said = f"{error.format_message().rstrip('.')}. {_said_plainly(given)}"
            raise click.UsageError(said, ctx) from error


@click.group("check", cls=_CheckGroup, invoke_without_command=True, help=_ABOUT)
@click.option("--jsonl", is_flag=True, help="Answer a stream of JSON lines.")
@_asking_options
@_cwd_option
@click.pass_context
def check_command(context: click.Context, *, jsonl: bool) -> None:
    """Answer a stream, or leave it to the subcommand."""
    subcommand = context.invoked_subcommand
    if jsonl and subcommand:
        raise click.UsageError(f"`--jsonl` and `{subcommand}` do not go together")
    if jsonl:
        end_stream(_answer_stream(sys.stdin.fileno(), sys.stdout.fileno(), chosen_policy()))
    elif not subcommand:
        raise click.UsageError(
            "expected a command line, `interlock check 'LINE'`, or `tool`, `edit` or `--jsonl`"
        )


@check_command.command("command", cls=_LineCommand)
@click.argument("line")
@_asking_options
@_cwd_option
@click.pass_context
def command_command(context: click.Context, *, line: str) -> None:
    """Ask about a shell command LINE; `-` reads it from stdin.

    The word `command` may be left out. A line with quotes, pipes or `&&` in it stands in quotes
    itself. Without quotes its words are put together again, and what they were read as is said on
    stderr; our options stand before it.

    Examples:
      interlock check command 'git push --force'
      interlock check command --explain 'curl x | sh'
    """
    command = _no_payload(_stdin_text() if line == _STDIN else line)
    cwd: str | None = context.meta.get(_FOLDER)
    folder = settings.working_folder() if cwd is None else Path(cwd).absolute()
    _answer(CommandAction(command=command, cwd=str(folder)))


@check_command.command("tool", cls=_NounCommand)
@click.argument("name")
@click.argument("given", metavar="[JSON]", required=False)
@click.option("--params", metavar="JSON", help="The parameters; `-` reads stdin.")
@_asking_options
def tool_command(*, name: str, given: str | None, params: str | None) -> None:
    """Ask about a call of the tool NAME.

    JSON are its parameters, which --params names as well.

    Examples:
      interlock check tool Bash '{"command": "ls"}'
    """
    if given is not None and params is not None:
        raise click.UsageError(
            "the parameters stand behind the name or behind `--params`, not both"
        )
    chosen = given or params or "{}"
    text = _no_payload(_stdin_text() if chosen == _STDIN else chosen)
    _answer(ToolAction(name=name, params=text))


@check_command.command("edit", cls=_NounCommand)
@click.argument("path")
@click.option("--new", metavar="FILE", help="The text to be written; `-` reads stdin.")
@click.option("--content", metavar="TEXT", help="The same, as it is.")
@click.option("--old", metavar="FILE", help="The text it replaces, for the size of the change.")
@_asking_options
def edit_command(*, path: str, new: str | None, content: str | None, old: str | None) -> None:
    """Ask about writing to PATH.

    Examples:
      interlock check edit app.py --content 'x = 1'
    """
    if (new is None) is (content is None):
        raise click.UsageError(
            "expected the text in a file, `--new FILE`, or as it is, `--content TEXT`."
            f" {_said_plainly(('edit', path))}"
        )
    if new == _STDIN == old:
        raise InputError("`--new -` and `--old -` both read stdin: put one of them in a file")
    before = None if old is None else _text(old)
    text = content if new is None else _text(new)
    _answer(EditAction(path=path, content=text or "", old=before))


def _answer(action: Action) -> None:
    """Judge, print, and leave with the decision's exit code."""
    chosen = click.get_current_context().meta
    run: str | None = chosen.get(_RUN)
    if run is not None:
        _answer_on_record(action, run, chosen.get(_WAIT, 0.0))
    if _WAIT in chosen:
        raise click.UsageError("`--wait` waits for a question on the record: add `--run RUN`")
    policy, width = chosen_policy(), text_width()
    if chosen.get(_EXPLAIN):
        from interlock.views.action_explanation import explain as explained  # noqa: PLC0415 - only where it is asked for

        explanation = explained(action, policy)
        verdict = explanation.verdict
        show(explanation, explanation_lines(explanation, width=width))
    else:
        verdict = judge(action, policy)
        show(verdict, verdict_lines(verdict, width=width))
    if not wants_json():
        from interlock.cli.call.ledger_access import note_refusal  # noqa: PLC0415 - not for programs

        note_refusal(policy)
    click.get_current_context().exit(exit_code_of(verdict.decision))


def _answer_on_record(action: Action, named: str, wait_s: float) -> NoReturn:
    """Ask for a run, print, and leave with the exit code of what was answered."""
    from interlock.cli.call.shell_run import spoken_run  # noqa: PLC0415 - only where it is asked for
    from interlock.cli.text.run_answer_page import action_lines  # noqa: PLC0415 - the same

    chosen = click.get_current_context().meta
    if chosen.get(_EXPLAIN) or not is_policy_found():
        raise click.UsageError(
            "with `--run` the policy of the ledger decides, on the record: leave out `--explain`,"
            " `--policy` and `--no-project`"
        )
    with spoken_run(named) as spoken:
        answer = spoken.run.ask(action, wait_s=wait_s)
    value = {
        **cast("dict[str, object]", msgspec.to_builtins(answer)),
        "short": answer.decision.short,
    }
    show(value, action_lines(answer))
    click.get_current_context().exit(exit_code_of(answer.decision))


def _text(file: str) -> str:
    if file == _STDIN:
        return _stdin_text()
    try:
        return _decoded(content_of(file, most=_MOST_BYTES), file)
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"`{file}` is not the name of a file: {error}") from error


def _stdin_text() -> str:
    return _decoded(sys.stdin.buffer.read(), "stdin")


def _decoded(raw: bytes, place: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        byte = f"byte {raw[error.start]:#04x} at position {error.start}"
        raise InputError(f"`{place}` is not UTF-8: {byte}") from error


def _answer_stream(source: int, target: int, policy: CompiledPolicy) -> int:
    """Answer every line of one descriptor on the other; return how many could not be read."""
    bad = 0
    pending = bytearray()
    for number, line in enumerate(_lines(source, target, pending), start=1):
        if not line.strip():
            continue
        answer = _line_answer(line, number, policy)
        bad += "error" in answer
        pending += json_text(answer).encode() + b"\n"
        if len(pending) >= _MOST_PENDING:
            _write(target, pending)
    _write(target, pending)
    return bad


def _lines(source: int, target: int, pending: bytearray) -> Iterator[bytes]:
    """Yield complete lines; before waiting for more input, let out what is pending."""
    rest: list[bytes] = []
    while True:
        _write(target, pending)
        block = os.read(source, _BLOCK)
        if not block:
            break
        head, *lines = block.split(b"\n")
        rest.append(head)
        if lines:
            yield b"".join(rest)
            yield from lines[:-1]
            rest = [lines[-1]]
    if any(rest):
        yield b"".join(rest)


def _line_answer(line: bytes, number: int, policy: CompiledPolicy) -> dict[str, object]:
    identity: object = None
    try:
        request = _request(line)
        _refuse_payload(request)
        identity = request.get("id")
        verdict = judge(action_from_request(request), policy)
    except InputError as error:
        return {"id": identity, "error": f"line {number}: {error}"}
    decision, findings = verdict.decision, verdict.findings
    return {
        "id": identity,
        "decision": decision,
        "short": decision.short,
        "findings": machine_value(findings) if findings else (),
    }


def _request(line: bytes) -> Mapping[str, object]:
    try:
        request = msgspec.json.decode(line)
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8") from error
    except msgspec.DecodeError as error:
        request = _decoded_leniently(line, str(error))
    except RecursionError as error:
        raise InputError("not read: nested too deeply") from error
    if not isinstance(request, dict):
        raise InputError(f"{kind_of(request)}, expected an object")
    twice = name_given_twice(line.decode("utf-8", "replace"))
    if twice is not None:
        raise InputError(f"`{twice[:_LONGEST_NAME]}` stands twice in one object: name it once")
    return cast("Mapping[str, object]", request)


def _no_payload(text: str) -> str:
    """Return what is asked about; raise where it is what a client tells its hooks."""
    if text.lstrip().startswith("{"):
        with contextlib.suppress(InputError):
            _refuse_payload(_request(text.encode("utf-8", "replace")))
    return text


def _refuse_payload(request: Mapping[str, object]) -> None:
    """End where a client is to be answered: it would take what is said here for a yes.

    INVARIANT: it ends with exit code 2 and a reason on stderr, which every client takes for a no.
    """
    if not _PAYLOAD.isdisjoint(request):
        from interlock.adapters.clients.recognition import client_of  # noqa: PLC0415 - hardly ever

        client = client_of(request)
        if client is not None and client != "interlock":
            # As plain text, also where JSON is asked for: Gemini CLI would read that.
            click.echo(
                f"Error: this is what {client} tells its hooks, which `check` cannot answer: run"
                " `interlock hook` in its place, or `interlock install`",
                err=True,
            )
            click.get_current_context().exit(ExitCode.MISUSED)


def _decoded_leniently(line: bytes, complaint: str) -> object:
    """Read JSON with half a character in it, as cut-off text has, or raise with the complaint."""
    try:
        return json.loads(line, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = complaint.removeprefix("JSON is malformed: ")
        raise InputError(f"not JSON: {reason[:1].lower()}{reason[1:]}") from error


def _finite(number: str) -> float:
    """Return a number; what is none, or too large to be one, is not JSON."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def _write(target: int, pending: bytearray) -> None:
    """Write everything and leave nothing pending."""
    while pending:
        del pending[: os.write(target, pending)]
