"""`interlock`: what a person can type. Every command is loaded when it is called for."""

from __future__ import annotations

import io
import sys
from typing import Final

import click

from interlock.cli.call.lazy_group import LazyCommand, LazyGroup

COMMANDS: Final = {
    "tour": LazyCommand(
        "interlock.cli.tour.tour_command:tour_command",
        "Take the guided tour: real questions, real answers; nothing of yours is run.",
    ),
    "check": LazyCommand(
        "interlock.cli.commands.check_command:check_group",
        "Ask whether a command, a tool call or an edit may happen.",
    ),
    "rules": LazyCommand(
        "interlock.cli.commands.rules_command:rules_group",
        "List the rules of all packs, or of one PACK, with what the policy makes of them.",
    ),
    "init": LazyCommand(
        "interlock.cli.commands.policy_commands:init_command",
        "Write a policy file that shows every key with its default, as comments.",
    ),
    "policy": LazyCommand(
        "interlock.cli.commands.policy_commands:policy_group",
        "Show, describe and test the policy that counts here.",
    ),
    "runs": LazyCommand(
        "interlock.cli.commands.runs_command:runs_command",
        "List the runs that were active last, with what they did and used.",
    ),
    "show": LazyCommand(
        "interlock.cli.commands.show_command:show_command",
        "Show one run; RUN is its id, or enough of its beginning.",
    ),
    "tail": LazyCommand(
        "interlock.cli.commands.tail_command:tail_command",
        "Print what is recorded as it is recorded, of one run or of all.",
    ),
    "watch": LazyCommand(
        "interlock.cli.commands.watch_command:watch_command",
        "Watch how a run gets on, live.",
    ),
    "explain": LazyCommand(
        "interlock.cli.commands.explain_command:explain_command",
        "Explain why a run was let go on, paused or stopped.",
    ),
    "approvals": LazyCommand(
        "interlock.cli.commands.approval_commands:approvals_command",
        "List what waits for a person: what is asked, and why.",
    ),
    "approve": LazyCommand(
        "interlock.cli.commands.approval_commands:approve_command",
        "Let what was asked happen, once; ID may be its beginning.",
    ),
    "deny": LazyCommand(
        "interlock.cli.commands.approval_commands:deny_command",
        "Refuse what was asked; ID may be its beginning.",
    ),
    "review": LazyCommand(
        "interlock.cli.commands.review_commands:review_command",
        "Open a review: was the work good enough?",
    ),
    "verdict": LazyCommand(
        "interlock.cli.commands.review_commands:verdict_command",
        "Give the verdict on a review: was it good enough?",
    ),
    "reviews": LazyCommand(
        "interlock.cli.commands.review_commands:reviews_command",
        "List the reviews that work waits for, of every run that is at work.",
    ),
    "choose": LazyCommand(
        "interlock.cli.commands.review_commands:choose_command",
        "Choose how a review goes on whose attempts are used up.",
    ),
    "halt": LazyCommand(
        "interlock.cli.commands.hold_commands:halt_command",
        "Stop a run and every run below it, until it is lifted.",
    ),
    "lift": LazyCommand(
        "interlock.cli.commands.hold_commands:lift_command",
        "Let a run go on that was paused, stopped or halted.",
    ),
    "checkpoint": LazyCommand(
        "interlock.cli.commands.checkpoint_command:checkpoint_group",
        "List the checkpoints of a run, and bring its files back to one.",
    ),
    "edit": LazyCommand(
        "interlock.cli.commands.edit_command:edit_command",
        "Make edits that stdin describes: all of them, or none.",
    ),
    "undo": LazyCommand(
        "interlock.cli.commands.undo_command:undo_command",
        "Put files back: a set of edits, or what was copied away before a command.",
    ),
    "budget": LazyCommand(
        "interlock.cli.commands.budget_command:budget_command",
        "Show an account, or give it another limit.",
    ),
    "step": LazyCommand(
        "interlock.cli.commands.step_command:step_command",
        "Judge past runs step by step: where would each have been paused or stopped?",
    ),
    "stop": LazyCommand(
        "interlock.cli.commands.stop_command:stop_command",
        "Ask whether agents that ended their turn are really done.",
    ),
    "replay": LazyCommand(
        "interlock.cli.commands.replay_command:replay_command",
        "Decide every judgement of a run again, from its record.",
    ),
    "verify": LazyCommand(
        "interlock.cli.commands.verify_command:verify_command",
        "Hold every record against its chain and its seals.",
    ),
    "ledger": LazyCommand(
        "interlock.cli.commands.ledger_command:ledger_group",
        "Look at the ledger, copy it, mend it, and let people in.",
    ),
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
    LazyGroup(name="interlock", help=_ABOUT, commands=COMMANDS)
)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number, not a crash.
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="interlock")
