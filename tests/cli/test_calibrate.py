"""`interlock calibrate`: files in, a curve, a point and a patch out; and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import tomllib
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from backtest.made_steps import run_of
from cli.asking import interlock
from effort import rounds
from interlock.adapters.histories.own_rows import OwnRows
from interlock.backtest.calibrate.calibration import Conclusion
from interlock.backtest.calibrate.calibration_report import KnownOutcomes, calibration_report
from interlock.backtest.calibrate.scored_run import ScoredRun
from interlock.backtest.calibrate.turn_points import Labelled
from interlock.backtest.run_scorer import scored_run
from interlock.cli.calibrate.calibrate_command import labelled_turns
from interlock.cli.call.exit_code import ExitCode
from interlock.model.audit import Mark, Moment, MomentKind
from interlock.model.past_run import PastRun, Unread
from interlock.service.audits import AuditFolder
from interlock.service.policies.policy_files import default_policy
from interlock.settings import current_audit_folder

POLICY = default_policy().config
PROMISE = 0.025


def rows_of(run: PastRun, **fields: object) -> dict[str, object]:
    """Return a run as a line of our own format has it."""
    steps = [
        {"role": each.role, "text": each.text}
        if each.tool is None
        else {
            "role": "assistant",
            "tool": each.tool,
            "args": each.arguments,
            "result_excerpt": each.result,
            "tokens": {"in": each.tokens},
        }
        for each in run.steps
    ]
    return {"run_id": run.id, "success": run.success, "steps": steps, **fields}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own, with a state of one's own."""
    (folder := tmp_path / "here").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


@pytest.fixture
def history(here: Path) -> Path:
    """Return a history from which something can be concluded at the usual promise."""
    return history_of(here, good=160, failed=30)


@pytest.fixture
def few(here: Path) -> Path:
    """Return a small history, where `LESS` is promised."""
    return history_of(here, good=20, failed=10)


LESS = ("--promise", "20")


def history_of(folder: Path, *, good: int, failed: int) -> Path:
    """Write good runs that try three times and go on, and failed ones that do not."""
    dice = random.Random(7)
    rows = [
        rows_of(
            run_of(dice, number, times=3 if number % 4 == 0 else 1, success=True),
            source="made" if number % 2 else "other",
            model="m-1",
        )
        for number in range(good)
    ] + [
        rows_of(run_of(dice, good + number, times=6, success=False), source="made", model="m-1")
        for number in range(failed)
    ]
    path = folder / "runs.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return path


def test_it_prints_the_point_the_curve_and_the_patch(history: Path) -> None:
    result = interlock("calibrate", str(history))

    assert result.exit_code == ExitCode.ALLOWED, result
    assert "instead of 100" in result.stdout
    assert "0 of 160 (0.00 %) good runs held" in result.stdout
    assert "30 of 30 (100.0 %) failed runs" in result.stdout
    assert "40 held by mistake and 30 caught at 100" in result.stdout
    assert "not searched" in result.stdout
    assert "by agent" in result.stdout
    assert "66 more are needed" in result.stdout
    assert "[loops]\n  pause-score-percent = " in result.stdout


def test_it_writes_a_picture_and_a_patch_and_touches_nothing_else(history: Path) -> None:
    result = interlock("calibrate", str(history), "--svg", "c.svg", "--patch", "p.toml", "--json")
    told = json.loads(result.stdout)
    chosen = told["steps"]["chosen"]["threshold"]

    patch = tomllib.loads(Path("p.toml").read_text())
    assert patch["loops"] == {"pause-score-percent": chosen}
    assert 101 < chosen <= 210
    root = ET.fromstring(Path("c.svg").read_text())
    titles = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(each.startswith(f"{chosen}: 0 of 160 held by mistake") for each in titles)
    assert "prefers-color-scheme: dark" in Path("c.svg").read_text()
    assert sorted(each.name for each in Path().iterdir()) == ["c.svg", "p.toml", "runs.jsonl.gz"]


def test_a_file_that_is_there_is_not_lost(few: Path) -> None:
    words = ("calibrate", str(few), *LESS, "--svg", "c.svg", "--patch", "p.toml")
    Path("c.svg").write_text("<svg><desc>my own Interlock calibration curve</desc></svg>")
    taken = interlock(*words)
    Path("c.svg").unlink()
    assert interlock(*words).exit_code == ExitCode.ALLOWED
    patched = interlock(*words)

    assert taken.exit_code == patched.exit_code == ExitCode.MISUSED
    assert "`c.svg` exists and is no such file of Interlock: name another" in taken.stderr
    assert "`p.toml` exists: name another, or replace it with `--force`" in patched.stderr
    assert interlock(*words, "--force").exit_code == ExitCode.ALLOWED


def test_nothing_to_change_is_said_in_the_patch_as_well(few: Path) -> None:
    Path("own.toml").write_text("version = 1\n[loops]\npause-score-percent = 150\n")
    result = interlock("calibrate", str(few), *LESS, "--policy", "own.toml", "--patch", "p.toml")

    assert "150, as it is" in result.stdout
    assert (
        "nothing to change" in Path("p.toml").read_text()
        or "loops" not in Path("p.toml").read_text()
    )


def test_too_few_runs_are_refused_with_how_many_it_takes(few: Path) -> None:
    result = interlock("calibrate", str(few), "--promise", "1")

    assert result.exit_code == ExitCode.MISUSED
    assert "20 good runs are too few, 368 are needed to promise 1.00 %" in result.stdout


def test_what_is_refused_is_said_first_and_without_tables(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    step = {"role": "assistant", "text": "Done."}
    path.write_text(json.dumps({"run_id": "a1", "success": True, "steps": [step]}))
    result = interlock("calibrate", str(path), "--promise", "2.5")
    nothing = interlock("calibrate", str(tmp_path / "runs.jsonl"), "--leave-out", "*")

    assert result.stdout.startswith("Not enough: 1 of 146 good runs known.\n")
    assert "`--outcomes FILE`" in result.stdout
    assert "nothing: 1 good run is too few, 146 are needed" in " ".join(result.stdout.split())
    assert "by mistake  " not in result.stdout
    assert "by agent" not in result.stdout
    assert nothing.stdout.startswith("Not enough: no run and no end of a turn was read.\n")


def test_outcomes_and_repositories_that_tell_nothing_are_named(few: Path) -> None:
    rows = "".join(f"gone{number},success\n" for number in range(7))
    Path("o.csv").write_text(f"run_id,outcome\nr1,failure\n{rows}")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        subprocess.run([*git, *words], check=True)
    Path("unknown.jsonl").write_text('{"run_id": "u1", "steps": []}\n')
    words = ("calibrate", str(few), "unknown.jsonl", "--outcomes", "o.csv", "--git", ".")
    said = interlock(*words).stderr

    assert "left out: o.csv: 7 outcomes of no run that was read: `gone0`, `gone1`," in said
    assert "git told nothing: no run has a commit in `.` that stood 7 days" in said


def test_a_promise_that_every_value_breaks_is_told(few: Path) -> None:
    Path("own.toml").write_text("version = 1\n[steps]\nmax-total = 2\n")
    result = interlock("calibrate", str(few), *LESS, "--policy", "own.toml")

    assert result.exit_code == ExitCode.ALLOWED, "the ends of turns still tell something"
    assert "20 of 20 (100.0 %)" in " ".join(result.stdout.split())
    assert "promise less" in result.stdout


def test_outcomes_of_a_file_count_before_the_history(few: Path) -> None:
    Path("o.csv").write_text("run_id,outcome\nr1,failure\nr2,nonsense\n")
    result = interlock("calibrate", str(few), "--outcomes", "o.csv", "--json")

    assert json.loads(result.stdout)["outcomes"] == {"file": 1, "history": 29}
    assert "left out: o.csv:3: how run `r2` ended is `nonsense`" in result.stderr


def test_runs_are_left_out_by_their_ids(few: Path) -> None:
    result = interlock("calibrate", str(few), "--leave-out", "r1*", "--json")

    assert json.loads(result.stdout)["runs"] == 30 - 1 - 10


def test_marks_of_audits_count(few: Path) -> None:
    folder = AuditFolder(current_audit_folder())
    for number in range(6):
        moment = Moment(
            id=f"m{number}", kind=MomentKind.ACTION, decision="block", rule="git.push-force",
            weight=1, text="", why="", client="c", run="r", path="p", step=1,
        )  # fmt: skip
        folder.mark(moment, Mark.WRONG, by="ann", at=1)
    told = interlock("calibrate", str(few))
    without = interlock("calibrate", str(few), "--no-marks")

    assert "wrong 6 of 6\n" in told.stdout
    assert 'git.push-force" = "warn"' in told.stdout
    assert "git.push-force" not in without.stdout


def test_turns_with_a_label_are_taken(tmp_path: Path) -> None:
    rows = [
        *[{"text": "All is done.", "label": "finish"}] * 150,
        *[{"text": "Now let me run the tests:", "label": "continue"}] * 20,
        {"text": "Hm.", "label": "finish", "strength": "weak"},
    ]
    path = tmp_path / "turns.jsonl"
    bad = ['["no row"]', "{", '{"text": "x"}', '{"text": 1, "label": "finish"}', "[]", "{}"]
    path.write_text("\n".join([*map(json.dumps, rows), *bad]))
    result = interlock("calibrate", "--turns", str(path))

    assert result.exit_code == ExitCode.ALLOWED, result
    assert "170 ends with a label" in result.stdout
    assert "60, as it is" in result.stdout
    assert "20 of 20 (100.0 %) unfinished turns" in result.stdout
    assert "no other points catch more beyond chance" in result.stdout
    assert f"{path}:172: not an object with `text` and `label`" in result.stderr
    assert f"{path}:173: not JSON: " in result.stderr
    assert "left out: 1 more" in result.stderr


def test_rows_without_a_name_count_in_every_file(tmp_path: Path) -> None:
    row = json.dumps({"text": "Done.", "label": "finish"})
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(f"{row}\n{row}\n")
    second.write_text(f"{row}\n")

    named = [word for path in (first, second, first) for word in ("--turns", str(path))]
    result = interlock("calibrate", "--json", *named)

    assert json.loads(result.stdout)["ends"] == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere.jsonl"], "`nowhere.jsonl` is not there: name a history"),
        (["--turns", "nowhere.jsonl"], "`nowhere.jsonl` cannot be read: No such file"),
        (["--turns", "."], "`.` cannot be read: "),
        (["--turns", "cut.jsonl.gz"], "`cut.jsonl.gz` cannot be read: "),
        (["--turns", "torn.jsonl.gz"], "`torn.jsonl.gz` cannot be read: "),
        (["runs.jsonl", "--outcomes", "nowhere"], "`nowhere` cannot be read: No such file"),
        (["runs.jsonl", "--outcomes", "empty"], "`empty` has no outcome: it is empty"),
        (["runs.jsonl", "--outcomes", "bytes"], "`bytes` cannot be read: not UTF-8"),
        (["runs.jsonl", "--outcomes", "runs.jsonl"], "`runs.jsonl` has no outcome: line 1: how"),
        (["runs.jsonl", "--git", "."], "`.` is not in a git repository: name one in which the"),
        (["folder"], "there is no history in `folder` that can be read: `folder`: no history"),
        (["runs.jsonl", "--outcomes", "odd"], "`odd` has no outcome: line 1: its header is `name`"),
        (["runs.jsonl", "--svg", "no/where.svg"], "`no/where.svg` cannot be written: its folder"),
        (["runs.jsonl", "--promise", "0"], "0.0 is not in the range"),
        (["runs.jsonl", "--promise", "x"], "'x' is not a valid float"),
        (["runs.jsonl", "--promise", "nan"], "it is not a number"),
        (["runs.jsonl", "--patch", "runs.jsonl"], "`runs.jsonl` exists"),
        (["runs.jsonl", "--svg", "runs.jsonl"], "`runs.jsonl` exists"),
    ],
)
def test_bad_input_is_told(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").write_text('{"run_id": "a1", "steps": []}\n')
    packed = gzip.compress(b"{}\n" * 1000)
    Path("cut.jsonl.gz").write_bytes(packed[:-12])
    Path("torn.jsonl.gz").write_bytes(packed[:12] + b"\xff" * 12)
    Path("empty").touch()
    Path("folder").mkdir()
    Path("odd").write_text("name,status\na1,success\n")
    Path("bytes").write_bytes(b"\xff\xfe\xff")
    result = interlock("calibrate", *words)

    assert result.exit_code == ExitCode.MISUSED
    assert told in result.stderr
    assert result.stdout == ""


def test_what_is_no_history_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("some").mkdir()
    Path("some/a.jsonl").write_text('{"steps": []}\nnonsense\n{"steps": 1}\n')
    Path("some/notes.txt").write_text("nothing")
    Path("notes.txt").write_text("nothing")
    Path("some/session").mkdir()
    Path("some/session/ses_1.json").write_text(json.dumps({"id": "x" * 5_000}))
    result = interlock("calibrate", "empty", "some", "notes.txt")

    assert result.exit_code == ExitCode.MISUSED
    assert "empty: no history in this folder" in result.stderr
    assert "some/a.jsonl:2: not JSON" in result.stderr
    assert "File name too long" in result.stderr
    assert "notes.txt: it is of no format that is known" in result.stderr
    assert "0 good runs are too few" in result.stdout


def test_the_ledger_is_taken_with_histories_only_where_it_is_wanted(few: Path, place: str) -> None:
    result = interlock("calibrate", str(few), "--recorded", "--ledger", "nowhere.db")

    assert result.exit_code != ExitCode.ALLOWED
    assert "nowhere.db" in result.stderr


# The defaults are what is chosen on the development data.

_EVERY: Final = rounds(short=3, soak=1)
"""Every which source is left out once."""


def shared(name: str) -> Path:
    folder = os.environ.get("INTERLOCK_SHARED")
    if not folder:
        pytest.skip("set INTERLOCK_SHARED to hold the defaults against the development data")
    return Path(folder) / "data" / name


@pytest.fixture(scope="module")
def trajectories() -> list[ScoredRun]:
    """Every good run, and of the others every third in the short round: it concludes the same."""
    bad: list[Unread] = []
    path = shared("trajectories.dev.jsonl.gz")
    every = rounds(short=3, soak=1)
    found = [
        scored_run(run, POLICY)
        for number, run in enumerate(OwnRows().runs(path, bad.append))
        if run.success or number % every == 0
    ]
    assert bad == []
    return found


@pytest.mark.parametrize(
    "left_out",
    "- agentdojo intercode moatless openhands tau-bench tau2 who-and-when".split()[::_EVERY],
)
def test_the_default_of_the_step_gate_is_the_chosen_point(
    trajectories: list[ScoredRun], left_out: str
) -> None:
    runs = [run for run in trajectories if not run.agent.startswith(left_out)]
    report = calibration_report(runs, [], KnownOutcomes(), POLICY, promise=PROMISE)

    assert report.steps is not None
    assert report.steps.conclusion is Conclusion.KEPT
    assert report.steps.chosen is not None
    assert report.steps.chosen.threshold == POLICY.loops.pause_score_percent
    assert report.steps.chosen.bound <= PROMISE


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[Labelled]:
    """Every third end of a turn in the short round, which is enough to conclude the same."""
    found: list[Labelled] = []
    for name in ("stops.dev.jsonl.gz", "stops.chat.dev.jsonl.gz"):
        path = tmp_path_factory.mktemp("turns") / name
        lines = gzip.decompress(shared(name).read_bytes()).splitlines(keepends=True)
        path.write_bytes(gzip.compress(b"".join(lines[:: rounds(short=3, soak=1)]), 1))
        found += labelled_turns(path, POLICY.stops, [])
    return found


@pytest.mark.parametrize(
    "left_out",
    "- chat agentdojo entire-claude entire-codex moatless openhands tau".split()[::_EVERY],
)
def test_the_defaults_of_the_stop_gate_are_the_chosen_point(
    turns: list[Labelled], left_out: str
) -> None:
    ends = [each for each in turns if not each.agent.startswith(left_out)]
    report = calibration_report([], ends, KnownOutcomes(), POLICY, promise=PROMISE)

    assert report.stops is not None
    assert report.stops.points == {}
    assert report.stops.threshold.conclusion is Conclusion.KEPT
    assert report.stops.threshold.now.threshold == POLICY.stops.continue_at
