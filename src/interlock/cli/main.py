"""`interlock`: what a person can type. Every command is loaded when it is called for."""

from __future__ import annotations

import io
import sys
from typing import Final

import click

from interlock.cli.lazy_group import LazyGroup

_HOMES: Final = {
    "tour": "interlock.cli.tour.tour:tour_command",
    "check": "interlock.cli.check:check_group",
    "rules": "interlock.cli.rules:rules_group",
    "init": "interlock.cli.init:init_command",
    "policy": "interlock.cli.policy:policy_group",
    "runs": "interlock.cli.runs:runs_command",
    "show": "interlock.cli.show_run:show_command",
    "tail": "interlock.cli.tail:tail_command",
    "watch": "interlock.cli.watch:watch_command",
    "explain": "interlock.cli.explain:explain_command",
    "approvals": "interlock.cli.approvals:approvals_command",
    "approve": "interlock.cli.approvals:approve_command",
    "deny": "interlock.cli.approvals:deny_command",
    "review": "interlock.cli.review:review_command",
    "verdict": "interlock.cli.verdict:verdict_command",
    "reviews": "interlock.cli.reviews:reviews_command",
    "choose": "interlock.cli.choose:choose_command",
    "halt": "interlock.cli.halting:halt_command",
    "lift": "interlock.cli.halting:lift_command",
    "checkpoint": "interlock.cli.checkpoint:checkpoint_group",
    "edit": "interlock.cli.edit:edit_command",
    "undo": "interlock.cli.undo:undo_command",
    "budget": "interlock.cli.budget:budget_command",
    "step": "interlock.cli.step:step_command",
    "stop": "interlock.cli.stop:stop_command",
    "replay": "interlock.cli.replay:replay_command",
    "verify": "interlock.cli.verify:verify_command",
    "ledger": "interlock.cli.ledger:ledger_group",
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
