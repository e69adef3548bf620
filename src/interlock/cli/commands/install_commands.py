"""`interlock install`, `uninstall` and `doctor`: hooks in the settings of agent clients."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from interlock import settings
from interlock.adapters.installation.client_hooks import (
    CLIENTS,
    Scope,
    client_named,
    found_clients,
    own_launch,
    settings_file,
)
from interlock.adapters.installation.codex_trust import (
    BY_HAND,
    TRUSTED,
    found_codex,
    trust_given,
)
from interlock.adapters.installation.file_change import FileChange
from interlock.adapters.installation.installation_plan import Plan, install_plan, uninstall_plan
from interlock.cli.call.duration import Duration
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import looked_up
from interlock.cli.call.options import json_option, show, wants_json, yes_option
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    escape,
    labelled_lines,
    labelled_rows,
)
from interlock.cli.text.summary_page import never_seen, next_line, policy_lines
from interlock.errors import InputError, InterlockError, NotPermittedError
from interlock.extras import require_extra
from interlock.service.people.credentials import has_operator
from interlock.service.policies.policy_files import found_policy
from interlock.service.whereabouts import running_server
from interlock.views import units
from interlock.views.policy_summary import policy_summary
from interlock.views.status_view import clients_seen

if TYPE_CHECKING:
    from interlock.adapters.installation.examination import Observation

_ABOUT_INSTALL: Final = """\
Install hooks: agent clients ask before they act.

Hooks are put into the settings of the clients. CLIENT is claude-code, codex, gemini, copilot or
opencode; without one, those of this machine are offered. What would change is shown first, and what
was there is kept beside it.

Examples:
  interlock install claude-code
  interlock install gemini --scope project
  interlock install claude-code --dry-run --diff
"""
_ABOUT_UNINSTALL: Final = """\
Remove the hooks from the settings of agent clients.

Every file is what it was before, byte for byte; where others changed it since, only the hooks go.

Examples:
  interlock uninstall claude-code
  interlock uninstall --dry-run
"""
_ABOUT_DOCTOR: Final = """\
Test the hooks of every client, with a line that is not run.

A line that deletes everything is asked about, never run, and must be refused; a harmless one must
not be. Hooks that are missing, switched off, not trusted or out of date are named.

Exit code: 0 when all is well, 1 when something is wrong or nothing is installed.

Examples:
  interlock doctor
  interlock doctor --json
"""
_SIGNS: Final = {"+": "added", "-": "removed"}
_HOOK: Final = '"type": '
"""What every hook in a file of settings says, once."""
_SCOPE: Final = click.option(
    "--scope",
    type=click.Choice([each.value for each in Scope]),
    default=Scope.USER.value,
    show_default=True,
    help="Every session of yours, or those in this folder.",
)
_DRY_RUN: Final = click.option("--dry-run", is_flag=True, help="Show what would change; no more.")
_DIFF: Final = click.option("--diff", is_flag=True, help="Show every line around a change.")
_CLIENTS: Final = click.argument("clients", nargs=-1, metavar="[CLIENT]...")


class _Done(NamedTuple):
    """What came of a plan, for a program to read."""

    client: str
    scope: str
    outcome: str
    files: list[str]
    notes: list[str]


class _Manner(NamedTuple):
    """How a person wants to be asked."""

    question: str
    done: str
    nothing: str
    yes: bool
    dry_run: bool
    diff: bool

    def agreed(self, question: str) -> bool:
        """Whether a person agrees; without one, it is an error."""
        if self.yes:
            return True
        if not sys.stdin.isatty():
            raise InputError(
                "nothing was changed: nobody is at a terminal to be asked; `--yes` goes on without"
                " asking, `--dry-run` only shows what would change"
            )
        return click.confirm(question, err=True)


@click.command("install", help=_ABOUT_INSTALL)
@_CLIENTS
@_SCOPE
@click.option(
    "--transport",
    type=click.Choice(["command", "http"]),
    default="command",
    show_default=True,
    help="Run a program, or ask the server over HTTP (claude-code only).",
)
@click.option(
    "--wait",
    "wait_s",
    metavar="DURATION",
    type=Duration(least=1, most=3600),
    help="How long a hook waits for a person who is asked, such as 90s or 15m.",
)
@yes_option
@_DRY_RUN
@_DIFF
@json_option
def install_command(
    *,
    clients: tuple[str, ...],
    scope: str,
    transport: str,
    wait_s: int | None,
    yes: bool,
    dry_run: bool,
    diff: bool,
) -> None:
    """Put hooks in."""
    _refuse_agents()
    launch = own_launch(wait_s=wait_s, url=_server() if transport == "http" else None)
    chosen = [client_named(each) for each in clients] or found_clients()
    if not chosen:
        known = ", ".join(f"`{each}`" for each in CLIENTS)
        raise InputError(f"no agent client is found on this machine: name one of {known}")
    manner = _Manner("Install this?", "INSTALLED", "already installed", yes, dry_run, diff)
    plans, refused = list[Plan](), list[_Done]()
    for client in chosen:
        try:
            plans.append(install_plan(client, Scope(scope), launch))
        except InputError as error:
            # Settings that cannot be read keep no other client from its hooks, unless it was named.
            if clients:
                raise
            refused.append(_Done(client.name, scope, "refused", [], [str(error)]))
    done = [*refused, *[_carry_out(each, manner, _trust) for each in plans]]
    show([each._asdict() for each in done], _installed_lines(done))
    if refused:
        click.get_current_context().exit(ExitCode.FAILED)


@click.command("uninstall", help=_ABOUT_UNINSTALL)
@_CLIENTS
@_SCOPE
@yes_option
@_DRY_RUN
@_DIFF
@json_option
def uninstall_command(
    *, clients: tuple[str, ...], scope: str, yes: bool, dry_run: bool, diff: bool
) -> None:
    """Take hooks out."""
    _refuse_agents()
    chosen = [client_named(each) for each in clients] or list(CLIENTS.values())
    plans = [uninstall_plan(each, Scope(scope)) for each in chosen]
    if not clients:
        plans = [each for each in plans if each.changes]
    manner = _Manner("Take them out?", "REMOVED", "not installed", yes, dry_run, diff)
    done = [_carry_out(each, manner, None) for each in plans]
    show([each._asdict() for each in done], _removed_lines(done))


@click.command("doctor", help=_ABOUT_DOCTOR)
@json_option
def doctor_command() -> None:
    """Examine what is installed."""
    from interlock.adapters.installation.examination import (  # noqa: PLC0415 - only here
        BROKEN_POLICY,
        Level,
        Observation,
        examined,
    )

    tones = {Level.OK: Tone.ALLOW, Level.NOTE: Tone.CAREFUL, Level.PROBLEM: Tone.BLOCK}
    found = list(examined())
    is_installed = any(each.level is not Level.NOTE for each in found)
    seen = looked_up(clients_seen, nothing=frozenset())
    found += [
        Observation(Level.NOTE, client, scope, never_seen(client))
        for level, client, scope, _ in found
        if level is Level.OK and seen is not None and client not in seen
    ]
    rows = [
        badge_line(each.level.value.upper(), tones[each.level], f"{_about(each)}{each.text}")
        for each in found
    ]
    problems = [each for each in found if each.level is Level.PROBLEM]
    is_well = is_installed and not problems
    if is_well:
        rows.append(next_line("interlock status", "says what is governed, and what waits"))
    elif problems and problems[0].text.startswith(BROKEN_POLICY):
        rows.append(next_line("interlock policy show", "says everything that is wrong with it"))
    else:
        again = " again" if is_installed else ""
        mend = f"interlock install {problems[0].client if problems else ''}".rstrip()
        rows.append(next_line(mend, f"puts the hooks in{again}"))
    value = [{**each._asdict(), "level": each.level.value} for each in found]
    show({"well": is_well, "installed": is_installed, "observations": value}, rows)
    click.get_current_context().exit(ExitCode.ALLOWED if is_well else ExitCode.FAILED)


def _about(seen: Observation) -> str:
    return f"{seen.client} ({seen.scope}): " if seen.client else ""


def _refuse_agents() -> None:
    """Refuse whoever works in a run: hooks are what holds it."""
    if settings.current_run() or settings.current_ledger_places().token:
        raise NotPermittedError(
            "`INTERLOCK_RUN` or `INTERLOCK_TOKEN` is set, so an agent calls this: a person installs"
            " and removes hooks, in a terminal of their own"
        )


def _server() -> str:
    """Return where the server listens, or would if it ran."""
    require_extra("`--transport http`", "server")
    ledger = settings.current_ledger_places().ledger
    running = running_server(settings.current_server_places(ledger))
    if running is not None and running.url is not None:
        return running.url
    return f"http://127.0.0.1:{settings.SERVER_PORT}"


def _carry_out(
    plan: Plan, manner: _Manner, then: Callable[[Plan, _Manner], Sequence[str]] | None
) -> _Done:
    """Show a plan, have it agreed to, and make its changes."""
    _tell(f"{plan.client.name}: {settings_file(plan.client, plan.scope)}")
    for change in plan.changes:
        _tell(change.difference() if manner.diff else _in_short(change))
    notes = list(plan.notes)
    if manner.dry_run:
        outcome = "would change" if plan.changes else manner.nothing
    elif plan.changes and not manner.agreed(manner.question):
        outcome = "left alone"
    else:
        for change in plan.changes:
            change.make()
        outcome = manner.done.lower() if plan.changes else manner.nothing
        notes.extend([] if then is None else then(plan, manner))
    files = [str(each.path) for each in plan.changes]
    return _Done(plan.client.name, plan.scope.value, outcome, files, notes)


def _trust(plan: Plan, manner: _Manner) -> Sequence[str]:
    """Have Codex run the hooks, if a person agrees to it; return what is left to be done."""
    if plan.client.name != "codex":
        return ()
    codex = found_codex()
    if codex is None:
        return (BY_HAND,)
    try:
        hooks = codex.hooks(settings_file(plan.client, plan.scope))
        if not hooks:
            return (f"Codex does not list these hooks here. {BY_HAND}",)
        if all(each.trust_status in TRUSTED for each in hooks):
            return ()
        change = trust_given(hooks)
    except InterlockError as error:
        return (str(error),)
    _tell("Codex runs only hooks that a person trusts, and skips others silently.")
    _tell(change.difference() if manner.diff else _in_short(change))
    if not manner.agreed("Trust these hooks now?"):
        return (BY_HAND,)
    change.make()
    return (f"Codex trusts these hooks now: `{change.path}`",)


def _in_short(change: FileChange) -> str:
    """Return how many hooks or lines a change adds to a file and takes away."""
    lines = change.difference().split("\n")[2:]
    hooks = [each for each in lines if _HOOK in each and each[0] in _SIGNS]
    noun, counted = ("hook", hooks) if hooks else ("line", lines)
    counts = [(sum(each[:1] == sign for each in counted), word) for sign, word in _SIGNS.items()]
    told = ", ".join(f"{units.counted(count, noun)} {word}" for count, word in counts if count)
    verb = "remove" if change.after is None else "create" if change.before is None else "change"
    return f"{verb} {change.path}: {told}; `--diff` shows the lines"


def _tell(text: str) -> None:
    if not wants_json():
        for line in text.split("\n"):
            click.echo(escape(line))


def _installed_lines(done: Sequence[_Done]) -> Iterator[Line]:
    yield from _lines(done)
    if any(each.outcome == "installed" for each in done):
        policy = found_policy()
        yield from policy_lines(policy_summary(policy, settings.current_places()), None)
        if looked_up(has_operator, nothing=False) is False:
            about = "makes you the person who approves; until then what is asked stays refused"
            yield next_line("interlock setup", about)
        yield next_line("interlock doctor", "sends a dangerous line through each hook, unrun")


def _removed_lines(done: Sequence[_Done]) -> Iterator[Line]:
    yield from _lines(done)
    if any(each.outcome == "removed" for each in done):
        yield (Span("agents there act unasked from now on", Tone.FAINT),)
        yield from _remaining_lines()
    elif not done:
        yield (Span("nothing of Interlock is installed here"),)


def _remaining_lines() -> Iterator[Line]:
    """Yield what is still there once the hooks are gone, and how it is stopped or deleted."""
    places = settings.current_ledger_places()
    server = running_server(settings.current_server_places(places.ledger))
    stops = ""
    if server is not None:
        itself = ", it ends by itself when unused" if server.ends_itself else ""
        stops = f"process {server.pid} still runs{itself}: `kill {server.pid}` ends it now"
    ledger = Path(places.ledger).expanduser()
    policies = settings.current_places()
    parts = [
        ("the record of what happened", ledger),
        ("the keys that seal it", places.keys),
        ("what can be undone", places.undo),
        ("your policy", policies.user_file),
        ("the project's policy", policies.project_file),
    ]
    kept = [(what, path) for what, path in parts if path.exists()]
    named = [f"{what}: {path}" for what, path in kept]
    remove = shlex.join(["rm", "-r", *(str(path) for _, path in kept)])
    yield from labelled_rows(
        ("server", stops),
        *[("" if place else "kept", each) for place, each in enumerate(named)],
    )
    if kept:
        # A command that is copied stands in one line.
        yield (Span("  delete   ", Tone.LABEL), Span(remove, Tone.CODE))


def _lines(done: Sequence[_Done]) -> Iterator[Line]:
    for each in done:
        tone = Tone.ALLOW if each.files else Tone.CAREFUL
        yield badge_line(each.outcome.upper(), tone, f"{each.client} ({each.scope})")
        for note in each.notes:
            yield from labelled_lines("note", note)
