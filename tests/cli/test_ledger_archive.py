"""`interlock ledger archive`: old runs taken out, held against their seals, and put back."""

from __future__ import annotations

import json
from pathlib import Path

from cli.asking import as_person, interlock
from cli.ledgers import SetClock
from interlock import Interlock

_DAY_S = 86_400


def _an_old_run(place: str) -> str:
    with Interlock.open(place, clock=SetClock(ago_s=40 * _DAY_S)) as opened:
        run = opened.run("write the changelog", agent="coder")
        run.violation("r", "m")
        run.finish()
        opened.run("goes on", agent="coder")
    return run.id


def test_an_operator_archives_checks_and_restores(any_place: str, tmp_path: Path) -> None:
    run = _an_old_run(any_place)
    folder = tmp_path / "elsewhere"

    done = as_person("ledger", "archive", "--older-than", "30d", "--to", str(folder), "--json")

    assert done.exit_code == 0, done.stderr
    [written] = json.loads(done.stdout)
    assert (written["runs"], written["records"]) == (1, 3)
    [file] = folder.iterdir()
    assert written["file"] == str(file)
    assert interlock("verify").exit_code == 0
    assert interlock("verify", run).exit_code == 0
    assert "write the changelog" not in interlock("runs").stdout
    shown = interlock("show", run)
    assert (shown.exit_code, f"was archived in {file}" in shown.stderr) == (2, True)
    checked = interlock("ledger", "archive", "--check", str(file))
    assert (checked.exit_code, "3 records of 1 runs are as written" in checked.stdout) == (0, True)

    restored = as_person("ledger", "archive", "--restore", str(file))

    assert restored.exit_code == 0, restored.stderr
    assert interlock("verify").exit_code == 0
    assert "write the changelog" in interlock("show", run).stdout
    told = interlock("show", "ledger").stdout
    assert "3 records of 1 finished runs" in told


def test_nobody_but_an_operator_archives(place: str) -> None:
    _an_old_run(place)

    refused = interlock("ledger", "archive", "--older-than", "30d")

    assert refused.exit_code == 1
    assert "interlock setup" in refused.stderr


def test_without_a_word_it_goes_beside_the_ledger(place: str) -> None:
    _an_old_run(place)

    done = as_person("ledger", "archive", "--older-than", "30")
    again = as_person("ledger", "archive", "--older-than", "30")

    assert done.exit_code == 0, done.stderr
    assert [each.parent.name for each in Path(place).parent.glob("archives/*")] == ["archives"]
    assert "nothing is that old" in again.stdout


def test_what_makes_no_sense_is_refused(place: str) -> None:
    _an_old_run(place)

    for words in ([], ["--older-than", "3d", "--check", "x"], ["--older-than", "soon"]):
        refused = as_person("ledger", "archive", *words)
        assert refused.exit_code == 2, refused.stdout
