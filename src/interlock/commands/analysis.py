"""The whole way: command text → commands, effects, and what could not be resolved."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from interlock.commands.programs.places import Places
from interlock.commands.programs.program_tables import Programs
from interlock.commands.shell.command import Command, Effect, Frame, Unresolved
from interlock.commands.shell.plain_lines import plain_pipelines
from interlock.commands.shell.provenance import REMOTE, TYPED, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.syntax import parse, parsed_length
from interlock.commands.shell.words import unknown
from interlock.commands.shell_programs import runs_fetched
from interlock.commands.simulation import Simulation
from interlock.commands.subcommands import follow
from interlock.commands.values.allowance import Budget, TooComplex

_PIECE: Final = r"""(?:[^;&|\n()'"]++|'[^']*+'?|"[^"]*+"?)++"""
"""What stands between operators, where quotes hide them."""
_RUNS_NOTHING: Final = frozenset("{ } do done then else fi esac if while until for".split())
"""Pieces that only hold others together."""
_OUTERMOST: Final = Frame()
_TYPED_TO: Final = Frame(Stream(TYPED))
_FIRST_WORD: Final = 80
_SQL_WORDS: Final = frozenset(
    (
        "drop delete truncate alter create update insert replace merge grant revoke select with"
        " exec execute begin start use explain"
    ).split()
)
_UNDOING: Final = frozenset(("remove", "unlink", "shred", "truncate", "dd", "mirror"))


class CommandAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line comes down to."""

    commands: tuple[Command, ...]
    effects: tuple[Effect, ...]
    unresolved: tuple[Unresolved, ...]


def analyze(
    command: str,
    *,
    cwd: str | None,
    programs: Programs,
    places: Places,
    nesting: int,
    longest: int,
    budget: Budget,
    shortcut: bool = True,
    is_typed_to: bool = False,
) -> CommandAnalysis:
    """Follow a command line as a shell would, without running anything.

    With `is_typed_to`, whoever starts it may type into it later, unseen.

    Where the `budget` is used up, that is what is found, beside all that was seen before.
    `shortcut` reads plain lines without the grammar; it changes the time, never the answer.
    """
    run = Simulation(programs, places, follow, nesting=nesting, longest=longest, budget=budget)
    length = len(command) if len(command) <= longest else parsed_length(command)
    if length > longest:
        run.give_up(f"it is {length} characters long, more than {longest}", command, too_much=True)
    else:
        budget.widen(len(command))
        try:
            _follow(run, command, cwd, _TYPED_TO if is_typed_to else _OUTERMOST, shortcut=shortcut)
        except TooComplex:
            run.give_up("it is too complex to be followed to its end", command, too_much=True)
    return CommandAnalysis(
        commands=tuple(run.commands),
        effects=tuple(run.effects),
        unresolved=tuple(run.unresolved),
    )


def _follow(
    run: Simulation, command: str, cwd: str | None, outermost: Frame, *, shortcut: bool
) -> None:
    pipelines = plain_pipelines(command) if shortcut else None
    if pipelines is not None:
        run.run_plain(pipelines, Scope.begun(cwd, project=cwd), outermost)
    else:
        _follow_by_grammar(run, command, cwd, outermost)
    if run.jobs:
        _follow_jobs_again(run)
    if _may_be_statement(command):
        from interlock.commands.snippets import follow_statement  # noqa: PLC0415 - heavy, and rare

        scope = Scope.begun(cwd, project=cwd)
        bare = run.bare("statement", command, scope, outermost)
        follow_statement(run, command, bare, scope)


def _follow_by_grammar(run: Simulation, command: str, cwd: str | None, outermost: Frame) -> None:
    tree = parse(command)
    run.run_tree(tree, Scope.begun(cwd, project=cwd), outermost)
    if tree.broken:
        _follow_pieces(run, command, cwd, outermost)
        if runs_fetched(command):
            bare = run.bare("iex", command, Scope.begun(cwd), outermost)
            run.note_execution(unknown("what it fetched"), REMOTE, bare)
        undoes = any(run.programs.of(each.program).files in _UNDOING for each in run.commands)
        besides = ", and it deletes or overwrites" if undoes else ""
        run.give_up(f"it is not a complete shell command{besides}", command, asks=undoes)


def _follow_jobs_again(run: Simulation) -> None:
    """What a job in the background reads may be written only after it began."""
    noted = (run.commands, run.effects, run.unresolved)
    met = {(each.kind, each.word, each.labels) for each in run.effects}
    for job in run.jobs.copy():
        if job.scope.files == job.files:
            continue
        before = [len(each) for each in noted]
        job.run(job.scope)
        found = {(each.kind, each.word, each.labels) for each in run.effects[before[1] :]}
        if found <= met:
            for each, length in zip(noted, before, strict=True):
                del each[length:]
        met |= found


def _follow_pieces(run: Simulation, command: str, cwd: str | None, outermost: Frame) -> None:
    """Look at each piece between operators by itself, so that nothing hides behind an error."""
    scope = Scope.begun(cwd, project=cwd)
    for piece in _pieces(command):
        if piece != command.strip() and piece not in _RUNS_NOTHING:
            run.run_part(piece, scope, outermost)


def _without_braces(piece: str) -> str:
    """`{rm,-rf,/}` is a command whose words the braces make."""
    if piece.startswith("{") and piece.endswith("}") and "," in piece and " " not in piece:
        return piece[1:-1].replace(",", " ")
    return piece


def _pieces(command: str) -> list[str]:
    pieces = [piece.strip() for piece in re.findall(_PIECE, command)]
    return [_without_braces(piece) for piece in pieces if piece]


def _may_be_statement(line: str) -> bool:
    """Whether it is worth a closer look if a line is SQL or code: cheap, and rarely true."""
    first = line[:_FIRST_WORD].split(None, 1)[:1]
    return "(" in line or (bool(first) and first[0].lower() in _SQL_WORDS)
