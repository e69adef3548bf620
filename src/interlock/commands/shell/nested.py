"""Commands that run other commands or code: who follows which."""

from __future__ import annotations

from typing import Final

from interlock.commands.shell.commands import Command
from interlock.commands.shell.escapes import ESCAPES, Escape
from interlock.commands.shell.fanning import run_fd, run_find, run_parallel, run_xargs
from interlock.commands.shell.interpreters import (
    run_foreign_shell,
    run_interpreter,
    run_script,
    run_shell,
    run_sql_client,
)
from interlock.commands.shell.machine import Machine
from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.scope import Scope


def follow(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """Follow what the command runs in turn; None when it runs nothing but itself."""
    program = command.program
    if program not in _FOLLOWERS and program not in machine.programs.running:
        return run_script(machine, command, scope) if scope.files else None
    follower = _FOLLOWERS.get(program)
    if follower is not None:
        return follower(machine, command, scope)
    shells = machine.programs.shells
    if program in shells.names:
        return run_shell(machine, command, scope)
    if program in shells.foreign.names:
        return run_foreign_shell(machine, command, scope)
    interpreter = machine.programs.interpreters.get(program)
    if interpreter is not None:
        return run_interpreter(machine, command, interpreter, scope)
    return run_sql_client(machine, command, machine.programs.sql_clients[program], scope)


_FOLLOWERS: Final[dict[str, Escape]] = {
    **ESCAPES,
    "xargs": run_xargs,
    "find": run_find,
    "gfind": run_find,
    "fd": run_fd,
    "fdfind": run_fd,
    "parallel": run_parallel,
}
