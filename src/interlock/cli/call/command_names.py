"""Command groups that suggest a command for a misspelled one."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from typing import Final

import click

OWN: Final = "own"
"""How the command of a group is called that the group itself is."""
NO_PAGER: Final = "interlock.no-pager"
"""What a call is known by that wants no pager."""


class Commands(click.Group):
    """A group that suggests the nearest command for an unknown name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name; raise UsageError with a suggestion if there is none."""
        name = args[0]
        is_known = name.startswith("-") or self.get_command(ctx, name) is not None
        if not is_known and not ctx.resilient_parsing:
            near = nearest_word(name, self.list_commands(ctx))
            hint = f"did you mean `{near}`?" if near else f"`{ctx.command_path} --help` lists them"
            words = ctx.command_path.split()[1:]
            of = f" of `{' '.join(words)}`" if words else ""
            raise click.UsageError(f"there is no command `{name}`{of}: {hint}", ctx)
        return super().resolve_command(ctx, args)


class _OwnContext(click.Context):
    """The context of what a group does itself: it goes by the group's name."""

    @property
    def command_path(self) -> str:
        """The words that were typed."""
        return "" if self.parent is None else self.parent.command_path


class Own(click.Command):
    """What a group does itself."""

    context_class = _OwnContext


class OwnCommand(Commands):
    """A group that does something itself, where none of its words comes first.

    That is its hidden command of the name `OWN`, whose arguments and options are shown as its own.
    """

    @property
    def own(self) -> click.Command:
        """What it does itself."""
        return self.commands[OWN]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the first word: one of its own, help, or what it is to do itself."""
        known = {*self.commands, *ctx.help_option_names}
        if args and args[0] not in known:
            self._check_is_meant(ctx, args[0])
        return super().parse_args(ctx, args if args and args[0] in known else [OWN, *args])

    def _check_is_meant(self, ctx: click.Context, word: str) -> None:
        """Complain of a word that names no file and is nearly one of its own."""
        if word.startswith("-") or ctx.resilient_parsing or os.path.lexists(word):
            return
        near = nearest_word(word, self.commands.keys() - {OWN})
        if near is not None:
            name = ctx.command_path.partition(" ")[2]
            raise click.UsageError(
                f"there is neither a file nor a command `{word}` of `{name}`:"
                f" did you mean `{name} {near}`?",
                ctx,
            )

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what it takes itself."""
        return self.own.collect_usage_pieces(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write its own options, then its words."""
        click.Command.format_options(self.own, ctx, formatter)
        self.format_commands(ctx, formatter)


def with_examples(command: click.Command) -> click.Command:
    """Return a command whose examples, and those of the commands below it, keep their lines."""
    if command.help is not None:
        text = inspect.cleandoc(command.help)
        command.help = text.replace("\n\nExamples:", "\n\n\b\nExamples:")
    if isinstance(command, click.Group):
        for each in command.commands.values():
            with_examples(each)
    return command


def nearest_word(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that a misspelt word most likely meant."""
    from interlock.policy.config.complaints import nearest  # noqa: PLC0415 - only when something went wrong

    return nearest(word, candidates)
