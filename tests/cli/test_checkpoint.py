"""`interlock checkpoint`: what was saved, brought back by a person, and undone again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.asking import interlock
from cli.control import steps_along
from interlock import Interlock, Run
from interlock.model.short_code import code_of
from service.repositories import a_repository, files_on_disk, git, text


class Saved(NamedTuple):
    """A run whose work was saved, and changed since."""

    run: Run
    folder: Path
    checkpoint: str


@pytest.fixture
def saved(place: str, tmp_path: Path) -> Saved:
    folder = a_repository(tmp_path / "repository", notes="first\n")
    with Interlock.open(place) as agent:
        run = agent.run("take notes", workspace=folder)
        steps_along(run, 25)
        answer = run.step()
        assert answer.checkpoint is not None
        assert answer.checkpoint.error is None
        steps_along(run, 2, first=30)
    (folder / "notes").write_text("spoilt\n")
    (folder / "rubbish").write_text("new\n")
    return Saved(run, folder, answer.checkpoint.id)


def test_what_was_saved_is_listed(saved: Saved) -> None:
    result = interlock("checkpoint", "list", saved.run.id)
    [listed] = json.loads(interlock("checkpoint", "list", saved.run.id, "--json").stdout)

    titles, row = result.stdout.splitlines()
    assert titles.split() == ["checkpoint", "step", "taken", "by", "commit", "what"]
    assert row.split()[:2] == [code_of(saved.checkpoint), "25"]
    assert listed["checkpoint"]["id"] == saved.checkpoint
    assert listed["checkpoint"]["ref"].endswith(saved.checkpoint)


def test_files_come_back_and_what_was_there_is_kept_on_record(saved: Saved) -> None:
    before = files_on_disk(saved.folder)
    head = text(saved.folder, "rev-parse", "HEAD")

    result = interlock("checkpoint", "restore", code_of(saved.checkpoint), "--yes")

    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("RESTORED  1 file put back, 1 removed\n")
    assert (saved.folder / "notes").read_text() == "first\n"
    assert not (saved.folder / "rubbish").exists()
    assert text(saved.folder, "rev-parse", "HEAD") == head
    [_, safety] = json.loads(interlock("checkpoint", "list", saved.run.id, "--json").stdout)
    assert safety["checkpoint"]["step"] == 28
    assert result.stdout.splitlines()[-1] == (
        f"to undo it: interlock checkpoint restore {safety['checkpoint']['id']}"
    )

    undone = interlock("checkpoint", "restore", safety["checkpoint"]["id"], "--yes")

    assert undone.exit_code == 0, undone.stderr
    assert files_on_disk(saved.folder) == before


def test_a_person_is_asked_first_and_may_refuse(saved: Saved) -> None:
    before = files_on_disk(saved.folder)

    refused = interlock("checkpoint", "restore", saved.checkpoint, stdin="n\n")

    assert refused.exit_code == 1
    assert f"workspace  {saved.folder}" in refused.stderr
    assert "back to    step 25" in refused.stderr
    assert "nothing was restored: `--yes` restores without asking" in refused.stderr
    assert files_on_disk(saved.folder) == before
    agreed = interlock("checkpoint", "restore", saved.checkpoint, stdin="y\n")
    assert agreed.exit_code == 0
    assert files_on_disk(saved.folder) != before


def test_of_a_finished_run_the_way_back_is_told_and_not_recorded(saved: Saved, place: str) -> None:
    with Interlock.open(place) as agent:
        agent.resume(saved.run.id).finish()
    records = interlock("ledger", "export").stdout
    before = files_on_disk(saved.folder)

    result = interlock("checkpoint", "restore", saved.checkpoint, "--yes", "--json")

    told = json.loads(result.stdout)
    assert told["recorded"] is False
    assert told["restored"]["safety"]["ref"] in text(saved.folder, "for-each-ref")
    assert interlock("ledger", "export").stdout == records
    words = told["undo"].split()
    assert words[:3] == ["interlock", "checkpoint", "restore"]
    assert interlock(*words[1:], "--yes").exit_code == 0
    assert files_on_disk(saved.folder) == before


def test_the_restored_files_are_told_to_programs(saved: Saved) -> None:
    told = json.loads(
        interlock("checkpoint", "restore", saved.checkpoint, "--yes", "--json").stdout
    )

    assert told["recorded"] is True
    assert told["restored"]["written"] == ["notes"]
    assert told["restored"]["removed"] == ["rubbish"]


def test_a_checkpoint_is_looked_for_in_one_run_if_it_is_named(saved: Saved, place: str) -> None:
    with Interlock.open(place) as agent:
        other = agent.run("something else")

    result = interlock("checkpoint", "restore", saved.checkpoint, "--run", other.id, "--yes")

    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: there is no checkpoint `{saved.checkpoint}`:"
        " look at `interlock checkpoint list RUN`\n"
    )


def test_what_kept_no_files_cannot_come_back(place: str) -> None:
    with Interlock.open(place) as agent:
        run = agent.run("without a workspace")
        steps_along(run, 26)
    [listed] = json.loads(interlock("checkpoint", "list", run.id, "--json").stdout)

    result = interlock("checkpoint", "restore", listed["checkpoint"]["id"], "--yes")

    assert result.exit_code == 1
    assert "kept nothing" in result.stderr


def test_a_run_without_checkpoints_says_so(place: str) -> None:
    with Interlock.open(place) as agent:
        run = agent.run("short")

    assert interlock("checkpoint", "list", run.id).stdout == "no checkpoints\n"


def test_the_users_index_and_branches_stay_as_they_are(saved: Saved) -> None:
    git(saved.folder, "add", "rubbish")
    staged = text(saved.folder, "diff", "--cached", "--name-only")
    branches = text(saved.folder, "for-each-ref", "refs/heads")

    interlock("checkpoint", "restore", saved.checkpoint, "--yes")

    assert text(saved.folder, "diff", "--cached", "--name-only") == staged
    assert text(saved.folder, "for-each-ref", "refs/heads") == branches
