"""`interlock help COMMAND...`: what a command is for, and how it is called."""

from __future__ import annotations

from collections.abc import Sequence

import click

from interlock.cli.call.options import is_paged, show_paged


@click.command("help", hidden=True)
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_command(context: click.Context, *, words: Sequence[str]) -> None:
    """Show the help of a command, such as `interlock help review submit`.

    Examples:
      interlock help
      interlock help check command
    """
    found = context.find_root()
    arguments = list(words)
    while arguments and isinstance(found.command, click.Group):
        name, command, arguments = found.command.resolve_command(found, arguments)
        if command is not None:
            found = click.Context(command, info_name=name, parent=found)
    if arguments:
        raise click.UsageError(f"`{found.command_path}` has no commands of its own")
    text = f"{found.get_help()}\n"
    if is_paged():
        show_paged(text)
    else:
        click.echo(text, nl=False)
