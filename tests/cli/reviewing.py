"""Runs whose work is reviewed, with a check that fails until it is mended."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cli.asking import make_operator
from cli.ledgers import SetClock
from interlock import Interlock, Run
from interlock.model.short_code import code_of

POLICY = """\
[reviews]
completion = ["tests"]

[[reviews.gates]]
id = "tests"
criteria = ["every test passes"]
severity = "critical"
check = ["sh", "check.sh"]

[[reviews.gates]]
id = "style"
criteria = ["reads well", "short functions", "no dead code"]
severity = "medium"
"""
FAILS = "echo '1 failed, 3 passed in 0.10s'; exit 1\n"
_TIME = re.compile(r"\d{4}-\d\d-\d\d\s+\d\d:\d\d:\d\d\s+UTC")
PASSES = "echo '4 passed in 0.10s'\n"


class Reviewed(NamedTuple):
    """A run at work, its ledger open, and the folder that its checks look at."""

    interlock: Interlock
    run: Run
    folder: Path

    def mend(self) -> None:
        """Let the check pass from now on."""
        (self.folder / "check.sh").write_text(PASSES)

    def told(self, text: str) -> str:
        """Return an output with ids and times replaced by names."""
        for approval in self.interlock.approvals(None):
            text = text.replace(approval.id, "<approval>").replace(code_of(approval.id), "<asked>")
        text = _TIME.sub("<time>", text)
        return text.replace(self.run.id, "<run>").replace(code_of(self.run.id), "<short>")

    @property
    def question(self) -> str:
        """The one question that waits for a person."""
        [approval] = self.interlock.approvals()
        return approval.id


@contextmanager
def a_reviewed_run(
    place: str, folder: Path, *, policy: str = POLICY, clock: SetClock | None = None
) -> Generator[Reviewed]:
    """Start a run under a policy with gates; its check fails until it is mended."""
    home = folder.parent / "config"
    home.mkdir(exist_ok=True)
    (home / "policy.toml").write_text(policy)
    (folder / "check.sh").write_text(FAILS)
    with Interlock.open(place, clock=clock) as interlock:
        run = interlock.run("mend the form", agent="claude", client="claude-code", workspace=folder)
        yield Reviewed(interlock, run, folder)


def as_operator(at: Reviewed) -> None:
    """Let whoever calls the command line decide, also where the ledger is no local file."""
    make_operator(at.interlock.ledger.store.name)
