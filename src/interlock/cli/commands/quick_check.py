"""`interlock check command LINE` for a program, without reading options: that takes longer."""

from __future__ import annotations

import sys
from pathlib import Path

from interlock import settings
from interlock.cli.call.exit_code import ExitCode, exit_code_of
from interlock.cli.text.machine_text import machine_text
from interlock.cli.text.render import plain_text, text_width
from interlock.cli.text.verdict_page import verdict_lines
from interlock.model.action import CommandAction
from interlock.policy.gates.judgement import judge
from interlock.service.policies.policy_files import load_policy


def quick_check(line: str, *, is_json: bool) -> ExitCode | None:
    """Judge a command line and print the answer.

    None where there is more to say than that: a ledger may not have taken the user's policy yet.
    """
    places = settings.current_places()
    if not is_json and places.user and Path(settings.current_ledger_places().ledger).exists():
        return None
    policy = load_policy(user=places.user, project=places.project)
    verdict = judge(CommandAction(command=line, cwd=str(settings.working_folder())), policy)
    lines = (
        [machine_text(verdict)]
        if is_json
        else map(plain_text, verdict_lines(verdict, width=text_width()))
    )
    sys.stdout.writelines(f"{each}\n" for each in lines)
    sys.stdout.flush()
    return exit_code_of(verdict.decision)
