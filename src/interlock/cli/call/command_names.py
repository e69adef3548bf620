"""What commands are called, what they were called in the last release, and what was likely meant.

Old names work for one release, with a hint on standard error, and stand in no help.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from typing import Final, cast

import click

OWN: Final = "own"
"""How the command of a group is called that the group itself is."""
NO_PAGER: Final = "interlock.no-pager"
"""What a call is known by that wants no pager."""
EARLIER: Final = {
    "lift": "resume",
    "review *": "review open",
    "verdict": "review submit",
    "reviews": "review list",
    "choose": "review resolve",
    "step": "backtest steps",
    "stop": "backtest stops",
    "slog": "loop log",
    "loop thaw": "loop unfreeze",
    "token add": "token create",
    "operator agent": "token create --role agent",
    "ledger recover": "ledger repair",
}
"""The old words of a command, and the new ones; `*` is any word that is no command there."""
EARLIER_OPTIONS: Final = {
    "--note": "--reason",
    "--forget": "--prune",
    "--scope": "--role",
    "--wait-seconds": "--wait",
}
"""The old name of an option, and the new one: it counts where a command has the new one only."""


class Commands(click.Group):
    """A group that knows the old names of its commands, and what a misspelt one likely meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; those of a command that had the group's own name belong to that."""
        words = ctx.command_path.split()[1:]
        meant = EARLIER.get(" ".join([*words, "*"]))
        if meant is not None and self._is_earlier_call(ctx, args):
            hint(ctx, f"interlock {' '.join(words)}", f"interlock {meant}")
            args = [*meant.split()[len(words) :], *args]
        return super().parse_args(ctx, args)

    def _is_earlier_call(self, ctx: click.Context, args: list[str]) -> bool:
        """Whether options come first that the group does not have, and none of its commands."""
        own = {*ctx.help_option_names, *(opt for each in self.params for opt in each.opts)}
        options = {word.split("=")[0] for word in args if word.startswith("-")}
        is_named = any(word in self.commands for word in args)
        comes_first = bool(args) and args[0].startswith("-")
        return comes_first and bool(options - own) and not is_named

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command by its name, old or new, and give its options their new names."""
        name, words = args[0], ctx.command_path.split()[1:]
        if name.startswith("-"):
            return super().resolve_command(ctx, args)
        command = self.get_command(ctx, name)
        if command is not None:
            path = f"{ctx.command_path} {name}"
            return name, command, _with_new_options(ctx, path, command, args[1:])
        meant = EARLIER.get(" ".join([*words, name]))
        near = None if meant else nearest_word(name, self.list_commands(ctx))
        if meant is None and near is None:
            meant = EARLIER.get(" ".join([*words, "*"]))
        if meant is None:
            if ctx.resilient_parsing:
                # Somebody presses Tab behind what is no command.
                return None, None, args
            raise click.UsageError(self.unknown(ctx, args, near), ctx)
        typed = [*words, *([] if " ".join([*words, name]) not in EARLIER else [name])]
        hint(ctx, f"interlock {' '.join(typed)}", f"interlock {meant}")
        return self._by_new_words(ctx, meant, args if typed == words else args[1:])

    def unknown(self, ctx: click.Context, args: list[str], near: str | None) -> str:
        """Return what is said of a word that is no command here."""
        told = f"did you mean `{near}`?" if near else f"`{ctx.command_path} --help` lists them"
        words = ctx.command_path.split()[1:]
        of = f" of `{' '.join(words)}`" if words else ""
        return f"there is no command `{args[0]}`{of}: {told}"

    def _by_new_words(
        self, ctx: click.Context, meant: str, args: list[str]
    ) -> tuple[str, click.Command, list[str]]:
        """Walk from the outermost group to the command that has come in an old one's place."""
        command: click.Command = ctx.find_root().command
        words, path = meant.split(), list[str]()
        while isinstance(command, click.Group):
            path.append(words.pop(0))
            command = cast("click.Command", command.get_command(ctx, path[-1]))
        depth = len(ctx.command_path.split()) - 1
        if depth:
            # Usage and errors are to speak of the new words all along.
            ctx.info_name = path[depth - 1]
        line = f"interlock {' '.join(path)}"
        return (
            " ".join(path[depth:]),
            command,
            [*words, *_with_new_options(ctx, line, command, args)],
        )


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


def _with_new_options(
    ctx: click.Context, path: str, command: click.Command, args: list[str]
) -> list[str]:
    """Return the arguments, with every option that has another name by now under that name."""
    arguments = list(args)
    for place, word in enumerate(args):
        if word == "--":
            break
        option, *rest = word.split("=", 1)
        now = EARLIER_OPTIONS.get(option)
        known = {each for parameter in command.params for each in parameter.opts}
        if now in known and option not in known:
            arguments[place] = "=".join([now, *rest])
            hint(ctx, option, f"{now} of {path}")
    return arguments


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


def hint(ctx: click.Context, earlier: str, now: str) -> None:
    """Say on standard error what something is called by now; not while a word is completed."""
    if ctx.resilient_parsing:
        return
    from interlock.views.units import json_text  # noqa: PLC0415 - only for old names

    told = f"{earlier} is now {now}"
    is_json = "--json" in (ctx.find_root().obj or ())
    click.echo(json_text({"hint": told}) if is_json else told, err=True)
