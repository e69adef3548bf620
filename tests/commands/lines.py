"""Command lines in, short descriptions of what they come down to out."""

from __future__ import annotations

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.programs import places
from interlock.commands.shell import provenance
from interlock.commands.shell.command import Command, Effect
from interlock.commands.shell.words import Word
from interlock.policy.actions.inspection import lowered
from interlock.service.policies.policy_files import default_policy


def followed(line: str, cwd: str | None = None) -> CommandAnalysis:
    """Return what the line comes down to under the built-in policy."""
    return lowered(line, cwd, default_policy())


def commands_in(line: str, cwd: str | None = None) -> list[str]:
    """Return the commands as lines; a word that only the run decides has a `?` in front."""
    return [" ".join(map(_shown, command.argv)) for command in followed(line, cwd).commands]


def effects_in(line: str, cwd: str | None = None) -> list[str]:
    """Return the effects described in words: `delete ?$X in unknown, recursive, from secret`."""
    return [described(effect) for effect in followed(line, cwd).effects]


def reasons_in(line: str) -> list[str]:
    """Return why parts of the line could not be resolved."""
    return [part.reason for part in followed(line).unresolved]


def command_in(line: str, program: str) -> Command:
    """Return the last command of that program that the line runs."""
    return [command for command in followed(line).commands if command.program == program][-1]


def described(effect: Effect) -> str:
    """Return an effect in words."""
    where = "+".join(name for name, bit in places.NAMES.items() if effect.places & bit)
    origin = "+".join(name for name, bit in provenance.NAMES.items() if effect.labels & bit)
    marks = [
        f"{effect.kind.value} {'' if effect.known else '?'}{effect.target}",
        f" in {where}" if where else "",
        ", recursive" if effect.recursive else "",
        ", forced" if effect.forced else "",
        f", from {origin}" if origin else "",
    ]
    return "".join(marks)


def _shown(word: Word) -> str:
    text = f"'{word.text}'" if " " in word.text or not word.text else word.text
    return text if word.known else f"?{text}"
