"""Whatever was applied can be put back, by an id that is on record; or nothing is changed."""

from __future__ import annotations

import gc
import shutil
import tempfile
from pathlib import Path

import pytest

from governed_edits.workbench import NOTES, Workbench, an_edit
from interlock import InputError, Interlock
from interlock.edits.snapshot import restore, take_snapshot
from interlock.errors import EditError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.action import CommandAction
from interlock.model.events import ActionJudged
from interlock.model.facts import Facts, Undoable, UndoSnapshot
from interlock.model.principal import SYSTEM
from interlock.model.verdict import Decision, Verdict
from interlock.service.records.context import new_id
from interlock.service.records.undo_records import everything_to_undo
from interlock.values import UndoKind, Undone
from service.ledgers import kinds_of


def test_a_set_is_put_back_and_that_is_put_back_again(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"), an_edit("new/b.txt", "", "made\n"))
    assert told.undo_id is not None

    assert bench.undo(told.undo_id) == ("a.txt", "new/b.txt")
    assert bench.files() == {"a.txt": NOTES.encode()}
    assert not (bench.root / "new").exists()
    [undone] = bench.events(Undone)
    assert isinstance(undone, Undone)
    assert undone.id == told.undo_id
    assert undone.kind is UndoKind.EDITS
    assert undone.undo_id is not None

    bench.undo(undone.undo_id)
    assert bench.files() == {"a.txt": b"one\n2\nthree\n", "new/b.txt": b"made\n"}
    with pytest.raises(EditError, match="was put back already"):
        bench.undo(told.undo_id)
    assert len(bench.events(Undone)) == 2
    assert bench.replays_identically()


def test_a_set_of_a_finished_run_is_put_back(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"))
    with bench.resumed() as run:
        run.finish()

    bench.undo(told.undo_id)

    assert bench.text("a.txt") == NOTES
    with bench.opened() as interlock:
        assert kinds_of(interlock.ledger, bench.run_id)[-2:] == ["run-finished", "undone"]


def test_a_file_that_has_changed_since_is_left_alone_with_all_of_its_set(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    bench.write("b.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"), an_edit("b.txt", "two", "2"))
    bench.write("b.txt", "somebody else's\n")
    before = bench.files()

    with pytest.raises(EditError, match=r"`b\.txt` has changed since"):
        bench.undo(told.undo_id)

    assert bench.files() == before
    assert bench.events(Undone) == []


def test_sets_on_one_file_are_put_back_from_the_last_to_the_first(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    first = bench.apply(an_edit("a.txt", "one", "1"))
    second = bench.apply(an_edit("a.txt", "two", "2"))

    with pytest.raises(EditError, match="undo the later change first"):
        bench.undo(first.undo_id)
    bench.undo(second.undo_id)
    bench.undo(first.undo_id)

    assert bench.text("a.txt") == NOTES


@pytest.mark.parametrize(
    "wanted",
    [
        "nonsense",
        "",
        "../../etc-1-00000000",
        "01a1def1-91f4-77bd-93ca-c00b5bee6340-2-5909c6c6",
        "01a1def1-91f4-77bd-93ca-c00b5bee6340",
        "a\ud800b",
    ],
)
def test_an_id_that_nothing_on_record_has_is_refused(bench: Workbench, wanted: str) -> None:
    bench.write("a.txt", NOTES)
    bench.apply(an_edit("a.txt", "two", "2"))

    with pytest.raises(InputError, match="nothing on record can be put back"):
        bench.undo(wanted)


def test_an_action_that_was_no_edit_cannot_be_put_back(small_bench: Workbench) -> None:
    with small_bench.resumed() as run:
        asked = run.command("ls")

    with pytest.raises(InputError, match="nothing on record"):
        small_bench.undo(f"{asked.action_id.replace(':', '-')}-00000000")


def test_what_is_not_kept_any_more_is_told(small_bench: Workbench) -> None:
    small_bench.write("a.txt", NOTES)
    told = small_bench.apply(an_edit("a.txt", "two", "2"))
    shutil.rmtree(small_bench.store)

    with pytest.raises(EditError, match="there is no set"):
        small_bench.undo(told.undo_id)


def test_a_snapshot_is_found_by_its_id_and_put_back(bench: Workbench) -> None:
    bench.write("old/a.txt", NOTES)
    with bench.opened() as interlock:
        later = interlock.run("another")
    with bench.resumed() as run:
        run.command("ls")
    kept = _kept_before_a_command(bench, "old")
    shutil.rmtree(bench.root / "old")

    assert bench.undo(kept.id) == ("old",)

    assert bench.files() == {"old/a.txt": NOTES.encode()}
    [undone] = bench.events(Undone)
    assert isinstance(undone, Undone)
    assert (undone.kind, undone.undo_id) == (UndoKind.SNAPSHOT, f"{kept.id}-replaced-1")
    bench.undo(undone.undo_id)
    assert bench.files() == {}
    assert later.id != bench.run_id


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_forged_copy_is_not_put_back(bench: Workbench, is_recorded: bool) -> None:
    bench.write("old/a.txt", NOTES)
    bench.write("other/a.txt", "forged\n")
    with bench.resumed() as run:
        run.command("ls")
    kept = _kept_before_a_command(bench, "old")
    forged = f"{kept.id}-replaced-1"
    if is_recorded:
        bench.undo(kept.id)
    shutil.rmtree(bench.store / "snapshots" / forged, ignore_errors=True)
    take_snapshot(bench.store, forged, ["other"], workspace=bench.root, limit_bytes=1_000)
    bench.write("other/a.txt", NOTES)

    with pytest.raises(EditError, match="is not what is on record"):
        bench.undo(forged)
    assert bench.text("other/a.txt") == NOTES


def test_what_a_copy_replaced_is_put_back_where_nobody_lived_to_record_it(
    bench: Workbench,
) -> None:
    bench.write("old/a.txt", NOTES)
    with bench.resumed() as run:
        run.command("ls")
    kept = _kept_before_a_command(bench, "old")
    bench.write("old/a.txt", "later\n")
    replaced = restore(bench.store, kept.id)

    assert bench.undo(replaced.id) == ("old",)
    assert bench.text("old/a.txt") == "later\n"


def test_what_can_be_put_back_is_listed_newest_first(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    bench.write("old/b.txt", NOTES)
    first = bench.apply(an_edit("a.txt", "one", "1"))
    kept = _kept_before_a_command(bench, "old")
    second = bench.apply(an_edit("a.txt", "two", "2"))
    assert _listed(bench) == [second.undo_id, kept.id, first.undo_id]

    bench.undo(second.undo_id)
    bench.undo(kept.id)
    shutil.rmtree(bench.store / "kept" / (first.undo_id or ""))

    assert _listed(bench) == [f"{kept.id}-replaced-1", f"{second.undo_id}-undo"]


def _listed(bench: Workbench) -> list[str]:
    with bench.opened() as interlock:
        rows = interlock.ledger.rows
        every = list(everything_to_undo(rows, bench.store, None))
        assert every == list(everything_to_undo(rows, bench.store, bench.run_id))
    assert {each.workspace for each in every} == {str(bench.root)}
    return [each.id for each in every]


def _kept_before_a_command(bench: Workbench, path: str) -> UndoSnapshot:
    """Copy a path away, and record that as the answer to a command does."""
    kept = take_snapshot(bench.store, new_id(), [path], workspace=bench.root, limit_bytes=10**6)
    with bench.resumed(), bench.opened() as interlock:
        interlock.ledger.execute(_judged_with(interlock, bench.run_id, kept))
    return kept


def _judged_with(interlock: Interlock, run_id: str, kept: UndoSnapshot) -> Work[None]:
    event = ActionJudged(
        action=CommandAction(command="rm -rf old"),
        digest="0",
        facts=Facts(undo=Undoable(snapshot=kept)),
        verdict=Verdict(
            decision=Decision.ALLOW,
            findings=(),
            policy_hash=interlock.governor.context.policy.hash,
        ),
        decision=Decision.ALLOW,
    )

    def plan(transaction: Transaction) -> None:
        transaction.append(run_id, event, at=interlock.governor.clock.now(), by=SYSTEM)

    return Work(plan, locks=(f"run/{run_id}",))


def test_the_beginning_of_an_id_is_enough_from_python(bench: Workbench) -> None:
    bench.write("a.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"))
    assert told.undo_id is not None

    with bench.opened() as interlock:
        done = interlock.undo(told.undo_id[:13])

    assert done.id == told.undo_id
    assert bench.files() == {"a.txt": NOTES.encode()}


def test_a_record_in_memory_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, passing = tmp_path / "state", tmp_path / "passing"
    passing.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(kept))
    monkeypatch.setattr(tempfile, "tempdir", str(passing))
    (tmp_path / "a.txt").write_text(NOTES)
    interlock = Interlock.open(":memory:")
    run = interlock.run("t", workspace=tmp_path)
    told = run.apply_edits(an_edit("a.txt", "two", "2"))
    assert told.undo_id is not None
    done = interlock.undo(told.undo_id)
    held = list(passing.iterdir())
    interlock.close()
    del interlock, run
    gc.collect()

    assert done.id == told.undo_id
    assert (tmp_path / "a.txt").read_text() == NOTES
    assert (len(held), list(passing.iterdir())) == (1, [])
    assert not list(kept.rglob("*undo*"))
