"""`interlock completion`: have a shell complete what is typed; shown first, and taken back."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final, NamedTuple

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from interlock import settings
from interlock.adapters.installation.file_change import FileChange, content_of, text_of
from interlock.cli.call.options import json_option, show, yes_option
from interlock.cli.text.render import Tone, badge_line, escape
from interlock.errors import InputError

_VARIABLE: Final = "_INTERLOCK_COMPLETE"
_MARK: Final = "# interlock completion"
_KINDS: Final[dict[str, type[ShellComplete]]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


class _Place(NamedTuple):
    """Where a shell's completion belongs: the script, and the line that loads it."""

    script: Path
    startup: Path | None
    """None where the shell finds the script by itself."""


@click.command("completion")
@click.argument("shell", required=False, type=click.Choice(list(_KINDS)))
@click.option("--print", "prints", is_flag=True, help="Print the script; change nothing.")
@click.option("--remove", "removes", is_flag=True, help="Take it out again.")
@yes_option
@json_option
def completion_command(*, shell: str | None, prints: bool, removes: bool, yes: bool) -> None:
    """Install tab completion for bash, zsh or fish.

    Without a shell, the one that you use. What would change is shown first; it is done once,
    however often it is called.

    Examples:
      interlock completion
      interlock completion fish --yes
      interlock completion bash --print
      interlock completion bash --remove --yes
    """
    chosen = shell or _own_shell()
    script = _script(chosen)
    if prints:
        click.echo(script)
        return
    changes = [each for each in _changes(chosen, script, removes=removes) if each.changes]
    for change in changes:
        click.echo(
            escape(f"{'remove' if change.after is None else 'write'} {change.path}"), err=True
        )
        if change.path == _place(chosen).startup:
            for line in change.difference().split("\n")[2:]:
                click.echo(escape(f"  {line}"), err=True)
    if changes and not yes:
        _ask()
    for change in changes:
        change.make()
    value = {"shell": chosen, "changed": [str(each.path) for each in changes]}
    if not changes:
        done = badge_line("UNCHANGED", Tone.CAREFUL, f"{chosen} has it {'not ' * removes}already")
    elif removes:
        done = badge_line("REMOVED", Tone.ALLOW, f"{chosen} completes it no more")
    else:
        done = badge_line("INSTALLED", Tone.ALLOW, f"open another {chosen}, and press Tab")
    show(value, [done])


def _own_shell() -> str:
    name = Path(settings.environment().get("SHELL", "")).name
    if name not in _KINDS:
        raise InputError(
            f"your shell is `{name}`, which completion is not known for: name one, `interlock"
            " completion bash`, `zsh` or `fish`"
        )
    return name


def _script(shell: str) -> str:
    """Return what click lets the shell know."""
    root = click.get_current_context().find_root().command
    source = _KINDS[shell](root, {}, "interlock", _VARIABLE).source()
    # A comma in the help of a word is part of it: click's own script for fish ends there.
    return source.replace('string split "," ', 'string split --max 1 "," ')


def _place(shell: str) -> _Place:
    environment = settings.environment()
    home = Path.home()
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    match shell:
        case "fish":
            return _Place(config / "fish" / "completions" / "interlock.fish", None)
        case "zsh":
            folder = Path(environment.get("ZDOTDIR") or home)
            return _Place(data / "interlock" / "completion.zsh", folder / ".zshrc")
        case _:
            return _Place(data / "interlock" / "completion.bash", home / ".bashrc")


def _changes(shell: str, script: str, *, removes: bool) -> list[FileChange]:
    place = _place(shell)
    after = None if removes else f"{script}\n".encode()
    changes = [FileChange(place.script, content_of(place.script), after, is_last=removes)]
    if place.startup is not None:
        before = content_of(place.startup)
        text = "" if before is None else text_of(before, place.startup)
        kept = [each for each in text.splitlines(keepends=True) if _MARK not in each]
        if not removes:
            if kept and not kept[-1].endswith("\n"):
                kept[-1] += "\n"
            kept.append(f". {shlex.quote(str(place.script))} {_MARK}\n")
        new = "".join(kept).encode()
        # A file that was never there, and is to hold nothing, is left so.
        changes.append(
            FileChange(place.startup, before, new if new or before is not None else None)
        )
    return changes


def _ask() -> None:
    if not sys.stdin.isatty():
        raise InputError(
            "nothing was changed: nobody is at a terminal to be asked; `--yes` goes on without"
            " asking, `--print` only prints the script"
        )
    if not click.confirm("Make these changes?", err=True):
        raise InputError("nothing was changed")
