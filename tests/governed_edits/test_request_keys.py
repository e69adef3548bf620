"""A request that is sent again under its key is carried out once, whoever dies meanwhile."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from governed_edits.mortal_editor import EDITS, KEY
from governed_edits.workbench import NOTES, Workbench, an_edit
from interlock import EditAnswer
from interlock.errors import KeyConflictError, LedgerError
from interlock.model.events import (
    ActionJudged,
    ActionObserved,
    EditsApplied,
    Outcome,
    RunFinished,
    Undone,
)
from warm_python import run_python

TESTS = Path(__file__).parents[1]
ONCE = NOTES.replace("two", "two two")


def _dies(bench: Workbench, moment: str, undo_id: str = "") -> None:
    """Let a process die at a moment of its work on the bench."""
    with bench.resumed():
        pass
    arguments = [bench.place, str(bench.root.parent), bench.run_id, moment, undo_id]
    done = run_python("-m", "governed_edits.mortal_editor", *arguments)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.fixture
def abc(bench: Workbench) -> Workbench:
    for name in "abc":
        bench.write(f"{name}.txt", NOTES)
    return bench


def _is_carried_out_once(bench: Workbench, told: EditAnswer) -> None:
    assert set(bench.files().values()) == {ONCE.encode()}
    [applied] = bench.events(EditsApplied)
    [observed] = bench.events(ActionObserved)
    assert isinstance(applied, EditsApplied)
    assert isinstance(observed, ActionObserved)
    assert applied.applied.id == told.undo_id
    assert observed.outcome is Outcome.OK
    assert sum(change.added + change.removed for change in observed.changes) == 6
    assert bench.replays_identically()


def test_a_request_that_was_carried_out_is_told_again(abc: Workbench) -> None:
    first = abc.apply(*EDITS, key=KEY)
    again = abc.apply(*EDITS, key=KEY)

    assert not first.repeated
    assert again.repeated
    assert again.allowed
    assert again.applied == first.applied
    assert again.answer is not None
    assert again.answer.repeated
    assert (again.plan, again.diff) == (None, "")
    _is_carried_out_once(abc, again)
    assert len(abc.events(ActionJudged)) == 1


@pytest.mark.parametrize("moment", ["judged", "half-way", "applied"])
def test_whoever_dies_is_followed_by_somebody_who_asks_the_same(
    abc: Workbench, moment: str
) -> None:
    _dies(abc, moment)
    assert abc.events(EditsApplied) == []

    told = abc.apply(*EDITS, key=KEY)

    assert told.repeated == (moment != "judged")
    _is_carried_out_once(abc, told)
    assert abc.apply(*EDITS, key=KEY).applied == told.applied
    _is_carried_out_once(abc, told)
    abc.undo(told.undo_id)
    assert set(abc.files().values()) == {NOTES.encode()}


def test_whoever_dies_while_putting_back_is_followed_by_somebody_who_does_the_same(
    abc: Workbench,
) -> None:
    told = abc.apply(*EDITS)
    _dies(abc, "applied", told.undo_id or "")
    assert abc.events(Undone) == []

    assert abc.undo(told.undo_id) == ("a.txt", "b.txt", "c.txt")
    assert set(abc.files().values()) == {NOTES.encode()}
    assert len(abc.events(Undone)) == 1


def test_a_run_that_was_finished_meanwhile_still_tells_what_happened_to_its_files(
    abc: Workbench,
) -> None:
    _dies(abc, "applied")
    with abc.resumed() as run:
        run.finish()

    told = [abc.apply(*EDITS, key=KEY) for _ in range(2)]

    assert told[0].applied == told[1].applied
    assert [type(event) for event in abc.events()[-2:]] == [RunFinished, EditsApplied]
    abc.undo(told[0].undo_id)
    assert set(abc.files().values()) == {NOTES.encode()}


def test_a_ledger_that_is_gone_after_applying_is_told_with_the_way_back(
    tmp_path: Path, postgres_ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    abc, real = Workbench(tmp_path, postgres_ledger_url), os.rename
    for name in "abc":
        abc.write(f"{name}.txt", NOTES)
    with abc.opened() as interlock:
        run = interlock.run("edit", workspace=abc.root)
        abc.run_id = run.id

        def renamed(start: Path, end: Path, **named: int) -> None:
            real(start, end, **named)
            if "kept" in Path(os.fsdecode(end)).parts:
                interlock.close()

        monkeypatch.setattr(os, "rename", renamed)
        with pytest.raises(LedgerError, match="applied as `") as told:
            run.apply_edits(EDITS, key=KEY)
    monkeypatch.undo()

    again = abc.apply(*EDITS, key=KEY)
    assert again.repeated
    assert f"put them back with `interlock undo {again.undo_id}`" in str(told.value)
    _is_carried_out_once(abc, again)


def test_many_who_ask_at_once_change_the_files_once(abc: Workbench) -> None:
    with abc.resumed() as run, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(run.apply_edits, EDITS, key=KEY) for _ in range(8)]
        told = [each.result() for each in asked]

    assert [each.repeated for each in told].count(False) == 1
    assert len({each.undo_id for each in told}) == 1
    _is_carried_out_once(abc, told[0])


def test_a_key_stands_for_one_request(abc: Workbench) -> None:
    abc.apply(*EDITS, key=KEY)

    with pytest.raises(KeyConflictError, match="the key `the only one` stands for another request"):
        abc.apply(an_edit("a.txt", "one", "1"), key=KEY)
    assert set(abc.files().values()) == {ONCE.encode()}


def test_edits_may_have_the_key_of_another_question(abc: Workbench) -> None:
    with abc.resumed() as run:
        run.step(key=KEY)
        run.command("ls", key=KEY)
        run.tool("Read", {}, key=KEY)
        run.may_edit("a.txt", "1", key=KEY)

    assert abc.apply(*EDITS, key=KEY)
    assert abc.apply(*EDITS, key=KEY).repeated
    assert set(abc.files().values()) == {ONCE.encode()}


def test_a_refusal_is_given_again_and_a_grant_is_used_once(abc: Workbench) -> None:
    abc.policy = '[diff-size]\nthreshold = 1\ndecision = "require-confirmation"\n'

    asked = abc.apply(*EDITS, key=KEY)
    again = abc.apply(*EDITS, key=KEY)
    assert again.repeated
    assert again.approval_id == asked.approval_id
    abc.approve(asked)
    done = abc.apply(*EDITS, key=KEY)
    told = abc.apply(*EDITS, key=KEY)

    assert done.allowed
    assert told.repeated
    assert told.applied == done.applied
    _is_carried_out_once(abc, done)


def test_what_was_put_back_is_not_done_again_under_its_key(abc: Workbench) -> None:
    told = abc.apply(*EDITS, key=KEY)
    abc.undo(told.undo_id)

    assert abc.apply(*EDITS, key=KEY).repeated
    assert set(abc.files().values()) == {NOTES.encode()}
    assert not abc.apply(*EDITS, key="another").repeated
    assert set(abc.files().values()) == {ONCE.encode()}
