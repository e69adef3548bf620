"""`interlock`: what a person can type. Every command is loaded when it is called for."""

from __future__ import annotations

import io
import sys
from typing import Final

import click

from interlock.cli.lazy_group import LazyGroup

_HOMES: Final = {
    "tour": "interlock.cli.tour.tour_command:tour_command",
    "check": "interlock.cli.commands.check_command:check_group",
    "rules": "interlock.cli.commands.rules_command:rules_group",
    "init": "interlock.cli.commands.policy_commands:init_command",
    "policy": "interlock.cli.commands.policy_commands:policy_group",
    "runs": "interlock.cli.commands.runs_command:runs_command",
    "show": "interlock.cli.commands.show_command:show_command",
    "tail": "interlock.cli.commands.tail_command:tail_command",
    "watch": "interlock.cli.commands.watch_command:watch_command",
    "explain": "interlock.cli.commands.explain_command:explain_command",
    "approvals": "interlock.cli.commands.approval_commands:approvals_command",
    "approve": "interlock.cli.commands.approval_commands:approve_command",
    "deny": "interlock.cli.commands.approval_commands:deny_command",
    "review": "interlock.cli.commands.review_commands:review_command",
    "verdict": "interlock.cli.commands.review_commands:verdict_command",
    "reviews": "interlock.cli.commands.review_commands:reviews_command",
    "choose": "interlock.cli.commands.review_commands:choose_command",
    "halt": "interlock.cli.commands.hold_commands:halt_command",
    "lift": "interlock.cli.commands.hold_commands:lift_command",
    "checkpoint": "interlock.cli.commands.checkpoint_command:checkpoint_group",
    "edit": "interlock.cli.commands.edit_command:edit_command",
    "undo": "interlock.cli.commands.undo_command:undo_command",
    "budget": "interlock.cli.commands.budget_command:budget_command",
    "step": "interlock.cli.commands.step_command:step_command",
    "stop": "interlock.cli.commands.stop_command:stop_command",
    "replay": "interlock.cli.commands.replay_command:replay_command",
    "verify": "interlock.cli.commands.verify_command:verify_command",
    "ledger": "interlock.cli.commands.ledger_command:ledger_group",
}
_ABOUT: Final = """\
The control plane for AI agents that work unattended.

Ask whether a command, a tool call or an edit may happen, and why; see what runs did and what
they used, and decide what waits for a person.

\b
  interlock tour                                   see it at work
  interlock check command 'git push --force'       ask about one line
  interlock check command --explain 'curl x | sh'  and how the answer came about
  interlock runs                                   what is at work, and what it used
  interlock watch RUN                              how one run gets on, live
  interlock approvals                              what waits for you
"""

cli: Final = click.version_option(package_name="interlock", message="%(prog)s %(version)s")(
    LazyGroup(name="interlock", help=_ABOUT, homes=_HOMES)
)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number, not a crash.
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="interlock")
