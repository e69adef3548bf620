"""`interlock serve`: one place for many agents and their people."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from interlock import settings
from interlock.backtest.run_replay import replay_result
from interlock.cli.call.duration import Duration
from interlock.cli.call.ledger_access import close_at_exit, current_time
from interlock.cli.call.options import chosen_place, ledger_call, print_json, show, wants_json
from interlock.cli.call.terminal import terminal
from interlock.cli.commands.access_commands import console_link
from interlock.cli.text.render import Span, Tone, badge_line, labelled_lines, print_lines
from interlock.cli.text.summary_page import next_line
from interlock.errors import NotPermittedError
from interlock.extras import needs_extra
from interlock.service.governor import Governor
from interlock.service.ledgers import open_governor
from interlock.service.people.credentials import has_operator
from interlock.service.people.operators import check_setup
from interlock.service.policies.policy_files import PolicyFiles
from interlock.views import units
from interlock.views.check_results import ReplayResult

if TYPE_CHECKING:
    from interlock.cli.demo.demo_server import Demo
    from interlock.server.desk.desk import Desk
    from interlock.server.server_process import ServerOptions
    from interlock.server.telemetry.traces import Telemetry
    from interlock.service.whereabouts import Listening


@ledger_call("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", default=settings.SERVER_PORT, show_default=True, type=click.IntRange(0, 65535)
)
@click.option("--no-tcp", is_flag=True, help="Listen on the Unix socket only.")
@click.option(
    "--tls-certificate", metavar="FILE", type=click.Path(path_type=Path), help="For HTTPS."
)
@click.option("--tls-key", metavar="FILE", type=click.Path(path_type=Path), help="Its key.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A name that it is asked by.")
@click.option("--demo", is_flag=True, help="Show agents that play, in a ledger of their own.")
@click.option("--otel", is_flag=True, help="Send traces where the OTEL_* variables say.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What is logged to standard error, as lines of JSON; info tells of every request.",
)
@click.option(
    "--idle-exit", metavar="DURATION", type=Duration(least=1), help="End when unused so long."
)
def serve_command(
    *,
    host: str,
    port: int,
    no_tcp: bool,
    tls_certificate: Path | None,
    tls_key: Path | None,
    names: tuple[str, ...],
    demo: bool,
    otel: bool,
    log_level: str,
    idle_exit: int | None,
) -> None:
    """Start the server: HTTP API, live events, web console.

    It runs until Ctrl-C. What was answered is on record; whoever still waits is told to come
    back.

    Examples:
      interlock serve
      interlock serve --demo
      interlock serve --host 0.0.0.0 --tls-certificate cert.pem --tls-key key.pem
    """
    with needs_extra("interlock serve", "server"):
        from interlock.cli.demo.demo_server import Demo  # noqa: PLC0415 - only with the extra
        from interlock.server.server_process import ServerOptions  # noqa: PLC0415 - the same
    from interlock.server.telemetry.logs import log_as_json  # noqa: PLC0415 - the same
    from interlock.server.telemetry.record_feed import traces_are_asked_for  # noqa: PLC0415 - the same

    log_as_json(log_level)
    shown = Demo() if demo else None
    place = chosen_place() if shown is None else shown.ledger
    options = ServerOptions(
        places=settings.current_server_places(place),
        host=None if no_tcp else host,
        port=port,
        certificate=tls_certificate,
        key=tls_key,
        names=names,
        idle_s=idle_exit,
        is_demo=demo,
        sends_traces=otel or traces_are_asked_for(settings.environment()),
    )
    if shown is None:
        run_server(lambda: _governor(place), options, show_ready)
    else:
        run_server(
            shown.opened,
            options,
            partial(_begin_demo, shown),
            when_other=partial(_show_other_demo, shown),
        )
        shown.end()


def _begin_demo(demo: Demo, desk: Desk, listening: Listening) -> None:
    link = entry_link(desk, listening, demo.token)
    demo.begin(listening)
    _show_demo(listening, link, "Ctrl-C ends it; started once more, it prints another link")


def _show_other_demo(demo: Demo, other: Listening) -> None:
    if other.url is None:
        _show_other(other)
        return
    link = console_link(demo.ledger, demo.token_of_other())["url"]
    _show_demo(other, link, f"it runs already: process {other.pid}")


def _show_demo(listening: Listening, link: str, end: str) -> None:
    """Say how to look at it, and what comes next: nothing in it is worth a secret."""
    following = f"{_own_command()} install claude-code"
    if wants_json():
        print_json({**msgspec.to_builtins(listening), "link": link, "next": following})
        return
    lines = [badge_line("DEMO", Tone.ALLOW, "agents at work, and some of them wait for you")]
    lines.extend(labelled_lines("open", link, Tone.STRONG))
    lines.extend(labelled_lines("", "the link opens once, within ten minutes; nothing is run"))
    lines.extend(labelled_lines("ledger", listening.ledger))
    lines.extend(labelled_lines("next", following, Tone.CODE))
    lines.extend(labelled_lines("", "in another terminal: has your own agent ask before it acts"))
    print_lines([*lines, (Span(f"  {end}", Tone.FAINT),)])


def _own_command() -> str:
    """Return what to type here to call this program: its name, or its place if PATH lacks that."""
    if shutil.which("interlock") is not None:
        return "interlock"
    place, here = Path(sys.executable).with_name("interlock"), settings.working_folder()
    return shlex.quote(str(place.relative_to(here) if place.is_relative_to(here) else place))


def run_server(
    opened: Callable[[], Governor],
    options: ServerOptions,
    when_ready: Callable[[Desk, Listening], None],
    *,
    when_other: Callable[[Listening], None] | None = None,
) -> None:
    """Serve a ledger until it is enough, unless another server does already."""
    from interlock.cli.commands.hook_command import dialects  # noqa: PLC0415 - only for a server

    with needs_extra("interlock serve", "server"):
        import uvloop  # noqa: PLC0415 - only with the extra

        from interlock.server.desk.desk import Desk  # noqa: PLC0415 - the same
        from interlock.server.server_process import ServerProcess, only_server  # noqa: PLC0415 - the same
        from interlock.server.upkeep import archive_what_is_old, notify_people  # noqa: PLC0415 - the same

    with only_server(options) as other:
        if other is not None:
            (when_other or _show_other)(other)
            return
        governor = opened()
        close = close_at_exit(governor.ledger)
        try:
            telemetry = _telemetry(governor) if options.sends_traces else None
            desk = Desk(
                governor,
                replay=lambda run_id: _replayed(governor, run_id),
                takers=() if telemetry is None else (telemetry.traces,),
                dialects=dialects(),
            )
            beside = (notify_people, archive_what_is_old)

            async def serve() -> None:
                process = ServerProcess(desk, options, background=beside)
                await process.run(lambda ready: when_ready(desk, ready))

            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(serve())
            if telemetry is not None:
                telemetry.close()
        finally:
            close()


def _telemetry(governor: Governor) -> Telemetry:
    with needs_extra("interlock serve --otel", "otel"):
        from interlock.server.telemetry.traces import sent_traces  # noqa: PLC0415 - only with the extra

    return sent_traces(governor.ledger.rows)


def show_ready(desk: Desk, listening: Listening) -> None:
    """Say where it is, and how a person comes in."""
    if wants_json():
        print_json(listening)
        return
    lines = [badge_line("SERVING", Tone.ALLOW, listening.url or listening.socket)]
    for label, text in (("ledger", listening.ledger), ("socket", listening.socket)):
        lines.extend(labelled_lines(label, text))
    lines.extend(labelled_lines("console", _way_in(desk, listening)))
    lines.append((Span("Ctrl-C ends it; what was answered is on record", Tone.FAINT),))
    print_lines([*lines, next_line("interlock status", "in another terminal: what is governed")])


def _way_in(desk: Desk, listening: Listening) -> str:
    """Return how a person comes in; the first of all by a link that only a terminal shows."""
    if listening.url is None:
        return "none: it listens on the Unix socket only"
    if has_operator(desk.ledger):
        return f"{listening.url}/login, or `interlock login` for a link that opens once"
    try:
        check_setup(desk.governor.context)
    except NotPermittedError as refusal:
        return str(refusal)
    try:
        with terminal() as at:
            at.show(f"open this once, within ten minutes: {entry_link(desk, listening, '')}")
    except NotPermittedError:
        first = "`interlock setup` in a terminal has made the first operator"
        return f"{listening.url}/login, once {first}"
    return "by the link above: it makes you the first operator"


def entry_link(desk: Desk, listening: Listening, token: str) -> str:
    """Return a link that opens the console once, as whoever the token is of."""
    return f"{listening.url}/enter?code={desk.links.new(token)}"


def _governor(place: str) -> Governor:
    """Open the ledger under the user's own policy: what a folder says is for runs in it."""
    files = PolicyFiles()
    return open_governor(place, policy=files.policy(), follows=files)


def _replayed(governor: Governor, run_id: str) -> ReplayResult:
    return replay_result(governor.ledger.rows, run_id, governor.clock.now())


def _show_other(other: Listening) -> None:
    since = units.span(current_time() - other.since)
    lines = [badge_line("SERVING", Tone.WARN, f"already, for {since}: process {other.pid}")]
    for label, text in (
        ("console", other.url or "none"),
        ("socket", other.socket),
        ("ledger", other.ledger),
    ):
        lines.extend(labelled_lines(label, text))
    show(other, lines)
