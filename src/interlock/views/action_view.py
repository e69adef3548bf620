"""An action as somebody reads it who decides about it: what speaks, what runs, what is touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Final

import msgspec

from interlock.commands.shell.command import Command, Effect
from interlock.commands.shell.words import excerpt_of
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Decision, Finding
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call, CommandLine, inspect
from interlock.views.action_explanation import kinds_of, known_commands, one_word
from interlock.views.command_tree import PlacedCommand, placed_commands
from interlock.views.units import json_text

_MOST: Final = 200
_CUT: Final = "…"
_REDIS: Final = frozenset(("redis-cli", "valkey-cli", "keydb-cli"))
_TO_DATA: Final = {
    "drop": "dropped, with everything in it",
    "truncate": "emptied",
    "delete-all": "every row is deleted",
    "delete-some": "some rows are deleted",
    "update-all": "every row is changed",
    "update-some": "some rows are changed",
    "alter-drop": "loses a column or a constraint, with its data",
    "grant-all": "every right on it is given away",
    "grant-some": "a right on it is given",
    "revoke": "a right on it is taken away",
    "shutdown": "stopped",
    "admin": "its own settings are changed",
    "file-read": "read by the server",
    "file-write": "written by the server",
    "execute": "run on the machine of the server",
}
"""What each kind of statement does, in words."""
_TO_KEYS: Final = {
    ("delete-all", "server"): "every key of every database",
    ("delete-all", "database"): "every key of a database",
    ("shutdown", "server"): "the server: it is stopped",
}


class Piece(msgspec.Struct, frozen=True):
    """A part of exact text, and the strictest decision that speaks of it."""

    text: str
    decision: Decision | None = None


class ReadCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One command that would run."""

    text: str
    via: tuple[str, ...]
    decision: Decision | None
    """The strictest that speaks of it."""
    below: tuple[ReadCommand, ...]
    """What stands inside it."""


class Touched(msgspec.Struct, frozen=True):
    """One thing that an action would do to the world."""

    kind: str
    target: str
    note: str


class ActionReading(msgspec.Struct, frozen=True, kw_only=True):
    """An action, read."""

    pieces: tuple[Piece, ...]
    """The exact text, in order."""
    commands: tuple[ReadCommand, ...]
    more_commands: int
    """How many more there are than are told."""
    unresolved: tuple[str, ...]
    """What only the run decides."""
    touched: tuple[Touched, ...]
    more_touched: int


def action_reading(
    action: Action, policy: CompiledPolicy, findings: Sequence[Finding]
) -> ActionReading:
    """Read an action as it is on record, where nothing of a credential is left in it."""
    text = exact_text(action)
    speaks = _spoken(findings)
    commands: list[ReadCommand] = []
    touched: list[Touched] = []
    unresolved: list[str] = []
    marks: list[tuple[int, int, Decision]] = []
    known = 0
    count = 0
    for line in _lines(action, policy):
        found = line.lowered
        every = known_commands(found)
        placed = placed_commands(line.line, every[:_MOST])
        known += len(every)
        # The line of a tool's call stands somewhere in its parameters, perhaps written otherwise.
        offset = text.find(line.line)
        commands += _nested(placed, 0, speaks)
        count += len(placed)
        for each in placed:
            decision = speaks.get(excerpt_of(each.command.text))
            if decision is not None and each.span is not None and offset >= 0:
                marks.append((offset + each.span[0], offset + each.span[1], decision))
            touched += _outside(each)
        touched += map(_touched, found.effects)
        unresolved += [f"{each.reason}: {excerpt_of(each.text)}" for each in found.unresolved]
    told = {excerpt_of(text[begin:end]) for begin, end, _ in marks}
    marks += _found(text, {each: of for each, of in speaks.items() if each not in told})
    return ActionReading(
        pieces=tuple(pieces_of(text, marks)),
        commands=tuple(commands),
        more_commands=known - count,
        unresolved=tuple(unresolved[:_MOST]),
        touched=tuple(dict.fromkeys(touched[:_MOST])),
        more_touched=max(0, len(touched) - _MOST),
    )


def exact_text(action: Action) -> str:
    """Return what exactly was asked, as it is shown where somebody decides."""
    match action:
        case CommandAction(command=command):
            return command
        case EditAction(content=content):
            return content
        case ToolAction(params=params):
            return params if isinstance(params, str) else json_text(params)


def pieces_of(text: str, marks: Iterable[tuple[int, int, Decision]]) -> Iterator[Piece]:
    """Cut a text where marks begin and end; where two overlap, the stricter one wins."""
    spoken: list[Decision | None] = [None] * len(text)
    for begin, end, decision in sorted(marks, key=lambda mark: mark[2]):
        spoken[begin:end] = [decision] * (end - begin)
    at = 0
    for decision, group in groupby(spoken):
        length = len(list(group))
        yield Piece(text[at : at + length], decision)
        at += length


def _lines(action: Action, policy: CompiledPolicy) -> Iterator[CommandLine]:
    """Yield every command line in an action that can be followed."""
    subject = inspect(action, policy).subject
    parts = (*subject.parts, *subject.guesses) if isinstance(subject, Call) else (subject,)
    longest = policy.config.limits.command_bytes
    for part in parts:
        if isinstance(part, CommandLine) and len(part.line) <= longest and part.failure is None:
            yield part


def _spoken(findings: Sequence[Finding]) -> Mapping[str, Decision]:
    """Return the strictest decision on each part of the input that spoke."""
    speaks: dict[str, Decision] = {}
    for finding in sorted(findings, key=lambda each: each.decision):
        if finding.excerpt:
            speaks[finding.excerpt] = finding.decision
    return speaks


def _found(text: str, speaks: Mapping[str, Decision]) -> Iterator[tuple[int, int, Decision]]:
    """Yield where excerpts stand in the text that are not a command's; a cut one by its beginning.

    What is left out of an excerpt is white space, so that only plain ones are found.
    """
    for excerpt, decision in speaks.items():
        begun = excerpt.removesuffix(_CUT) if excerpt.endswith(_CUT) else excerpt
        at = text.find(begun) if begun else -1
        if at >= 0:
            yield at, at + len(begun), decision


def _nested(
    placed: Sequence[PlacedCommand], depth: int, speaks: Mapping[str, Decision]
) -> Iterator[ReadCommand]:
    """Yield the commands of one depth, each with those that stand inside it."""
    begins = [at for at, each in enumerate(placed) if each.depth == depth]
    for begin, end in pairwise((*begins, len(placed))):
        command = placed[begin].command
        yield ReadCommand(
            text=" ".join(_words(placed[begin])),
            via=command.frame.via,
            decision=speaks.get(excerpt_of(command.text)),
            below=tuple(_nested(placed[begin + 1 : end], depth + 1, speaks)),
        )


def _words(placed: PlacedCommand) -> Iterator[str]:
    for word in placed.command.argv:
        # What stands inside is told below: here it would only stand a second time.
        is_told = placed.holds and any(map(str.isspace, word.text))
        yield f"'{_CUT}'" if is_told else one_word(word.text)


def _touched(effect: Effect) -> Touched:
    by = (f"by {effect.command.program}",) if effect.command.program else ()
    return Touched(effect.kind.value, effect.target, ", ".join((*kinds_of(effect), *by)))


def _outside(placed: PlacedCommand) -> Iterator[Touched]:
    """Yield what a command does to a remote or a database."""
    command = placed.command
    operands = [word.text for word in command.invocation.operands]
    if command.program == "git" and operands[:1] == ["push"]:
        yield from _pushed(command, operands[1:])
    elif command.program == "sql" and placed.parent is not None:
        # What is left out are words that a statement has none of.
        kind, thing, target = (*operands, "", "", "")[:3]
        yield _of_data(placed.parent, kind, thing, target)


def _pushed(command: Command, words: Sequence[str]) -> Iterator[Touched]:
    has = command.invocation.has
    remote, refs = (words[0], words[1:]) if words else ("the usual remote", ())
    forced = has("-f", "--force", "--force-with-lease", "--mirror")
    for ref in refs or ("",):
        branch = ref.removeprefix("+").rpartition(":")[2]
        everything = "every branch" if has("--all", "--mirror", "--branches") else "its branch"
        if has("--dry-run", "-n"):
            note = "nothing: --dry-run only shows it"
        elif has("-d", "--delete") or ref.startswith(":"):
            note = "deleted; others may have it"
        elif forced or ref.startswith("+"):
            note = "its history is replaced; others have it"
        else:
            note = "commits are added"
        yield Touched("remote", f"{remote}, {f'branch {branch}' if branch else everything}", note)


def _of_data(client: Command, kind: str, thing: str, target: str) -> Touched:
    if client.program in _REDIS:
        host = client.invocation.value("-h")
        on = "on the usual host, localhost" if host is None else f"on {host.text}"
        keys = f"{thing} {target}".strip() or kind
        return Touched("redis", _TO_KEYS.get((kind, thing), keys), on)
    named = f"{thing} {target}".strip() or "not named"
    return Touched("database", named, _TO_DATA.get(kind, kind))
