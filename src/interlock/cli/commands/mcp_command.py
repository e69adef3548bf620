"""`interlock mcp`: a proxy in front of any MCP server, what it has pinned, and Interlock as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from interlock import settings
from interlock.cli.call.command_names import Commands
from interlock.cli.call.duration import Duration
from interlock.cli.call.ledger_access import agree_as_person, current_time, governing
from interlock.cli.call.options import ledger_call, show
from interlock.cli.text.render import Span, Tone, badge_line, terminal_width
from interlock.cli.text.tables import Column, table_lines
from interlock.errors import InputError
from interlock.extras import needs_extra, require_extra
from interlock.views import units

_ABOUT: Final = """\
Govern an MCP server: judge each call, pass on the rest.

An agent's client runs this in place of the server. Calls of tools, reading of resources and prompts
are judged like everything else that the agent does: `mcp__NAME__TOOL` is what policies call a tool.

Examples:
  interlock mcp -- npx -y @modelcontextprotocol/server-filesystem .
  interlock mcp --url https://mcp.example.com/mcp
"""
_COMMAND: Final = "interlock.mcp-command"
_COLUMNS: Final = (
    Column("server"),
    Column("tool", stretches=True),
    Column("now"),
    Column("for", right=True),
)


class _ProxyGroup(Commands):
    """A group in which everything behind `--` is a command of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


@click.group(
    "mcp", cls=_ProxyGroup, invoke_without_command=True, no_args_is_help=False, help=_ABOUT
)
@click.option("--name", metavar="NAME", help="What policies call the server.")
@click.option("--url", metavar="URL", help="The server is there, and speaks streamable HTTP.")
@click.option(
    "--token-env",
    metavar="VARIABLE",
    help="The environment has a token for the URL under this name.",
)
@click.option(
    "--listen", metavar="HOST:PORT", help="Serve clients of this machine over HTTP, at `/mcp`."
)
@click.option(
    "--run", "run_id", metavar="RUN", help="Ask in this run; otherwise in one of its own."
)
@click.option(
    "--confirm",
    type=click.Choice(("inbox", "elicit")),
    help="Who is asked where a person has to agree: operators, or the client's own user."
    " Without it, operators where there are any.",
)
@click.option(
    "--wait",
    "wait_s",
    metavar="DURATION",
    type=Duration(),
    help="Wait so long for an operator, such as 15m.",
)
@click.pass_context
def mcp_command(
    ctx: click.Context,
    *,
    name: str | None,
    url: str | None,
    token_env: str | None,
    listen: str | None,
    run_id: str | None,
    confirm: str | None,
    wait_s: int | None,
) -> None:
    """Stand in front of a server."""
    command: Sequence[str] = ctx.meta[_COMMAND]
    if ctx.invoked_subcommand is not None:
        if command:
            raise click.UsageError(f"`{ctx.invoked_subcommand}` takes no command behind `--`")
        return
    if bool(command) == bool(url):
        raise click.UsageError("name one server: `--url URL`, or its command behind `--`")
    for option, value in (("--url", url), ("--listen", listen)):
        if value:
            require_extra(f"interlock mcp {option}", "mcp")
    from interlock.adapters.mcp.call_judge import Confirm  # noqa: PLC0415 - only for a proxy
    from interlock.adapters.mcp.proxy_process import ProxyOptions, run_proxy  # noqa: PLC0415 - the same

    run_proxy(
        ProxyOptions(
            pins=settings.current_pin_file(),
            command=tuple(command),
            url=url,
            token=None if token_env is None else _token(token_env),
            listen=listen,
            name=name,
            run_id=run_id,
            confirm=None if confirm is None else Confirm(confirm),
            wait_s=wait_s,
        )
    )


def _token(variable: str) -> str:
    found = settings.environment().get(variable)
    if not found:
        raise InputError(f"`--token-env` names `{variable}`, which the environment does not have")
    return found


@ledger_call("pins", group=mcp_command)
def pins_command() -> None:
    """List the tools of servers as they were first seen, and which of them have changed.

    Examples:
      interlock mcp pins
      interlock mcp pins --json
    """
    from interlock.adapters.mcp.tool_pins import PinFile  # noqa: PLC0415 - not for a proxy

    servers, now = PinFile(settings.current_pin_file()).servers(), current_time()
    found = [
        {
            "server": each.name,
            "tool": tool,
            "digest": pin.digest,
            "changed_to": pin.changed_to,
            "since": pin.since,
        }
        for each in servers.values()
        for tool, pin in each.tools.items()
    ]
    rows = [
        [
            Span(each.name, Tone.STRONG),
            Span(tool),
            Span("same", Tone.ALLOW) if pin.changed_to is None else Span("changed", Tone.BLOCK),
            Span(units.span(now - pin.since), Tone.FAINT),
        ]
        for each in servers.values()
        for tool, pin in each.tools.items()
    ]
    none = "no server was seen so far: `interlock mcp -- COMMAND` puts Interlock in front of one"
    lines = table_lines(_COLUMNS, rows, width=terminal_width()) if rows else [(Span(none),)]
    show(found, lines)


@ledger_call("trust", group=mcp_command, decides=True)
@click.argument("name")
@click.argument("tools", nargs=-1)
def trust_command(*, name: str, tools: tuple[str, ...]) -> None:
    """Accept what the tools of the server NAME say about themselves now, or only some TOOLS.

    Examples:
      interlock mcp trust files
    """
    from interlock.adapters.mcp.tool_pins import PinFile  # noqa: PLC0415 - not for a proxy

    with governing(creates=True) as interlock:
        agree_as_person(interlock, "trust a changed tool")
        accepted = PinFile(settings.current_pin_file()).trust(name, tools)
    if not accepted:
        raise InputError(f"no tool of `{name}` has changed: `interlock mcp pins` lists them")
    told = f"{units.counted(len(accepted), 'tool')} of {name} accepted: {', '.join(accepted)}"
    show({"server": name, "accepted": accepted}, [badge_line("TRUSTED", Tone.ALLOW, told)])


@mcp_command.command("serve")
@click.option("--run", "run_id", metavar="RUN", help="Speak of this run; otherwise of its own.")
def serve_command(*, run_id: str | None) -> None:
    """Be an MCP server: agents ask how approvals stand, report, and make governed edits.

    Examples:
      interlock mcp serve
    """
    with needs_extra("interlock mcp serve", "mcp"):
        from interlock.adapters.mcp.own_server import serve_tools  # noqa: PLC0415 - only with the extra

    serve_tools(run_id)
