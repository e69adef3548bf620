"""Programs that build: the command lines in what they are told to make."""

from __future__ import annotations

from typing import Final

from interlock.commands.program_input import STANDARD_INPUT
from interlock.commands.programs.scripts import recipes_in
from interlock.commands.shell.command import Command
from interlock.commands.shell.provenance import REMOTE, UNSEEN
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import literal
from interlock.commands.simulation import Simulation

_MAKE_PROGRAMS: Final = frozenset(("SHELL", "MAKE", ".SHELLFLAGS"))
_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
_MAKE_FLAGS: Final = ("MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS")
_JUST_COMMAND: Final = frozenset(("--command", "-c"))


def follow_make(simulation: Simulation, command: Command, scope: Scope) -> None:
    """A makefile that flows in or is given: its recipes are shell lines."""
    texts = [word.text for word in command.invocation.all_values("--eval", "-E")]
    texts.append(command.frame.stdin.text or "")
    named = command.invocation.all_values("-f", "--file", "--makefile")
    if scope.files and not named and "make" not in command.frame.via:
        named = [*map(literal, _MAKEFILES)]
    for word in named:
        held = simulation.script(word, command, scope)
        if scope.path(word.text) in scope.files:
            simulation.note_execution(word, held.labels & REMOTE, command)
        texts.append(held.text or "")
    for word in command.argv[1:]:
        name, equals, value = word.text.partition("=")
        if equals and name.rstrip(":?+!") in _MAKE_PROGRAMS:
            simulation.run_line(value, command, scope)
        elif equals and name[:1] != "-":
            texts.append(word.text)
    if any(word.text == "-" for word in command.invocation.all_values("-f", "--file")):
        simulation.note_execution(STANDARD_INPUT, command.frame.stdin.labels & REMOTE, command)
    flags = [scope.variables[name].text for name in _MAKE_FLAGS if name in scope.variables]
    texts += [flag.partition("--eval=")[2] for flag in flags]
    for text in texts:
        for recipe in recipes_in(text):
            simulation.run_nested(recipe, scope.outside(), command.frame.fed(UNSEEN), via="make")


def follow_recipes(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`just -f -`: the recipes of a file that flows in, or that this line wrote."""
    texts = [word.text for word in command.argv]
    for option in _JUST_COMMAND.intersection(texts):
        words = list(command.argv[texts.index(option) + 1 :])
        simulation.run_words(words, command, scope)
    for word in command.invocation.all_values("-f", "--justfile"):
        for recipe in recipes_in(simulation.script(word, command, scope).text or "", indent=" \t"):
            simulation.run_line(recipe, command, scope)


def follow_compiler(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`gcc -wrapper program,word,word` runs its own programs through another one."""
    for word in command.invocation.all_values("-wrapper"):
        simulation.run_words([*map(literal, word.text.split(","))], command, scope)


def follow_package(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`npm pkg set scripts.name=line` is a line that is run by its name."""
    for word in command.invocation.operands:
        name, equals, line = word.text.partition("=")
        if equals and name.startswith("scripts."):
            simulation.run_line(line, command, scope)
    if [word.text for word in command.invocation.operands[:1]] == ["set-script"]:
        simulation.run_line(command.argv[-1].text, command, scope)
