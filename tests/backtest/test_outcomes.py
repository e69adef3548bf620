"""How runs ended: by a file, by people's marks, by git, and by the ledger."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from interlock import Interlock
from interlock.backtest.calibrate.calibration import Conclusion
from interlock.backtest.calibrate.calibration_report import KnownOutcomes, calibration_report
from interlock.backtest.calibrate.kept_work import KeptWork
from interlock.backtest.calibrate.outcomes import MarkedRule, marks_in, outcomes_in
from interlock.backtest.calibrate.recorded_cases import recorded_run
from interlock.backtest.calibrate.scored_run import ScoredRun
from interlock.errors import InputError
from interlock.ledger.chain import recorded_runs
from interlock.model.audit import Mark, Marked, Moment, MomentKind
from interlock.service.policies.policy_files import default_policy
from service.repositories import ENVIRONMENT, a_repository, git

POLICY = default_policy().config
DAY_S = 86_400
MICRO = 1_000_000


def test_a_csv_says_how_runs_ended() -> None:
    text = "Run_Id,Outcome\na1,success\na2,FAILED\n\na3,1\n"

    assert outcomes_in(text, "o.csv") == ({"a1": True, "a2": False, "a3": True}, ())


def test_json_lines_say_how_runs_ended() -> None:
    text = '{"run_id": "a1", "success": true}\n\n{"id": 7, "outcome": "failure"}\n'

    assert outcomes_in(text, "o.jsonl") == ({"a1": True, "7": False}, ())


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("run_id,outcome\na1,maybe\n", 2, "how run `a1` ended is `maybe`: expected `success` or"),
        ("run_id,outcome\na1\n", 2, "how run `a1` ended is ``"),
        (
            "name,outcome\na1,success\n",
            1,
            "its header is `name`, `outcome`: expected one of",
        ),
        ('run_id,outcome\n"a1,success\n', 1, "not CSV: "),
        ('{"run_id": "a1"\n', 1, "not JSON: "),
        ('{"run_id": "a1", "success": true}\n[]\n', 2, "not an object with `run_id`"),
        ('{"run_id": ["a"], "success": true}\n', 1, "no run: "),
        ("run_id,outcome\na1,yes\na1,no\n", 3, "run `a1` has another outcome further up"),
    ],
)
def test_a_row_that_says_nothing_is_named(text: str, line: int, reason: str) -> None:
    _, (bad,) = outcomes_in(text, "o.csv")

    assert (bad.path, bad.line) == ("o.csv", line)
    assert reason in bad.reason


def marked(
    kind: MomentKind, mark: Mark, *, run: str = "r", rule: str = "x", step: int = 4
) -> Marked:
    moment = Moment(
        id="m", kind=kind, decision="pause", rule=rule, weight=1, text="", why="", client="c",
        run=run, path="p", step=step,
    )  # fmt: skip
    return Marked(moment=moment, mark=mark, by="ann", at=1)


def test_marks_say_whether_a_hold_and_a_nudge_would_have_been_right() -> None:
    marks = marks_in(
        [
            marked(MomentKind.LOOP, Mark.WRONG, run="good"),
            marked(MomentKind.LOOP, Mark.RIGHT, run="good"),
            marked(MomentKind.LOOP, Mark.RIGHT, run="stuck"),
            marked(MomentKind.EARLY_STOP, Mark.RIGHT, run="early"),
            marked(MomentKind.EARLY_STOP, Mark.WRONG, run="done"),
            marked(MomentKind.FALSE_DONE, Mark.RIGHT, run="red"),
        ]
    )

    assert marks.runs == {"good": True, "stuck": False}
    assert marks.ends == {("early", 4): False, ("done", 4): True, ("red", 4): False}


def test_a_rule_that_is_mostly_wrong_is_suggested_to_warn_and_no_more() -> None:
    wrong, right = Mark.WRONG, Mark.RIGHT
    marks = marks_in(
        [
            *[marked(MomentKind.ACTION, wrong, rule="git.push-force")] * 6,
            *[marked(MomentKind.ACTION, wrong, rule="own.rule")] * 6,
            *[marked(MomentKind.SECRET, wrong, rule="aws")] * 4,
            *[marked(MomentKind.ACTION, right, rule="fine")] * 3,
        ]
    )
    report = calibration_report(
        [], [], KnownOutcomes(marks=marks), POLICY, promise=0.02, rules={"git.push-force", "fine"}
    )

    assert marks.rules == (
        MarkedRule(rule="aws", right=0, wrong=4, is_suspect=False),
        MarkedRule(rule="fine", right=3, wrong=0, is_suspect=False),
        MarkedRule(rule="git.push-force", right=0, wrong=6, is_suspect=True),
        MarkedRule(rule="own.rule", right=0, wrong=6, is_suspect=True),
    )
    assert [(each.path, each.value) for each in report.suggested] == [
        (("destructive-ops", "rules", "git.push-force"), '"warn"')
    ]
    assert report.patch == ()


# Git: was the work kept?


def committed(folder: Path, day: int, **files: str) -> None:
    """Commit files so many days after the beginning."""
    for name, content in files.items():
        (folder / name).write_text(content)
    at = f"{day * DAY_S} +0000"
    git(folder, "add", "-A")
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    subprocess.run(
        ["git", "commit", "-qm", "work"], cwd=folder, env={**ENVIRONMENT, **dates}, check=True
    )


def run_on(day: int, *, workspace: str | None = None) -> ScoredRun:
    at = day * DAY_S * MICRO
    return ScoredRun(id=f"d{day}", began_at=at - 60 * MICRO, ended_at=at, workspace=workspace)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return one in which some work was kept and some was not."""
    folder = a_repository(tmp_path / "repository")
    lines = "".join(f"line {number}\n" for number in range(20))
    committed(folder, 10_000, a=lines, b="one\n")
    committed(folder, 10_010, c=lines)
    committed(folder, 10_020, c="all of it again\n")
    committed(folder, 10_030, d=lines)
    (folder / "d").unlink()
    committed(folder, 10_040, e="last\n")
    return folder


def test_work_is_kept_where_half_of_its_lines_stand(repository: Path) -> None:
    kept = KeptWork(repository, os.environ, days=7)

    assert [kept.of(run_on(day)) for day in (10_000, 10_010, 10_030)] == [True, False, False]


def test_work_is_not_known_where_git_cannot_tell(repository: Path) -> None:
    kept = KeptWork(repository, os.environ, days=7)

    assert kept.of(run_on(10_005)) is None, "no commit"
    assert kept.of(run_on(10_040)) is None, "too young"
    assert kept.of(run_on(10_000, workspace="/elsewhere")) is None
    assert kept.of(run_on(10_000, workspace=str(repository / "src"))) is True
    assert kept.of(ScoredRun(id="x")) is None, "no time"
    assert KeptWork(repository, os.environ, days=0).of(run_on(10_040)) is True


def test_a_file_without_lines_tells_nothing(tmp_path: Path) -> None:
    folder = a_repository(tmp_path)
    (folder / "picture").write_bytes(b"\0\1\2" * 100)
    committed(folder, 10_000)
    committed(folder, 10_030, a="x\n")

    assert KeptWork(folder, os.environ, days=7).of(run_on(10_000)) is None


def test_a_folder_without_a_commit_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not in a git repository"):
        KeptWork(tmp_path, os.environ, days=7)
    with pytest.raises(InputError, match="has no commit yet"):
        KeptWork(a_repository(tmp_path), os.environ, days=7)


# The ledger: what was recorded of governed runs.


def test_recorded_runs_are_scored_by_their_records_and_their_checks() -> None:
    with Interlock.open(":memory:") as interlock:
        with interlock.run("loop", agent="made") as stuck:
            for _ in range(6):
                if not stuck.step().goes_on:
                    break
                answer = stuck.command("grep -rn needle src")
                stuck.observe(answer, exit_code=0, output="src/a.py:1: needle in a haystack")
        fine = interlock.run("look", agent="made")
        fine.step()
        fine.stopped("All is done.")
        fine.finish()
        rows = interlock.ledger.rows
        runs = {row.task: recorded_run(rows, row, POLICY) for row in recorded_runs(rows)}

    assert runs["loop"].case(is_good=False).top >= 100
    assert runs["loop"].agent == "made"
    assert runs["loop"].success is None, "it is held and not closed yet"
    assert runs["look"].rises == ()
    assert (runs["look"].success, len(runs["look"].ends)) == (True, 1)

    report = calibration_report(runs.values(), [], KnownOutcomes(), POLICY, promise=0.02)
    assert report.steps is not None
    assert report.steps.conclusion is Conclusion.TOO_FEW
