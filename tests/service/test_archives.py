"""Old runs are taken out of the ledger: what stays holds, and what went can be put back."""

from __future__ import annotations

import gzip
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gates.policies import gates_with
from interlock import Budget, Interlock, Run, TokenUsage
from interlock.errors import DamagedError, InputError, LedgerError
from interlock.ledger.archive import verified_archive
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.model.principal import SYSTEM
from interlock.service.anchors import check_exported, current_anchor, export_to_file
from interlock.service.archives import ArchiveWritten, archive_runs, restore_runs
from interlock.views.grounds import Grounds
from interlock.views.ledger_view import verified_ledger
from ledger.attacker import Attack, Execute, attack_postgres, attack_sqlite
from service.ledgers import DAY, HandClock, OpenInterlock
from warm_python import run_python

POLICY = "[budgets.agent]\ntokens = 1_000_000\n"


@pytest.fixture(params=["sqlite", "postgres"])
def reopened(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> Iterator[OpenInterlock]:
    """Opens the same ledger each time: each store takes records out in its own way."""
    is_file = request.param == "sqlite"
    place = tmp_path / "ledger.db" if is_file else request.getfixturevalue("postgres_ledger_url")

    def open_it(policy: str = "") -> Interlock:
        keys, gates = tmp_path / "keys", gates_with(policy)
        return stack.enter_context(Interlock.open(place, policy=gates, clock=clock, keys=keys))

    with ExitStack() as stack:
        yield open_it


def at_work(run: Run, times: int = 3) -> None:
    for _ in range(times):
        answer = run.command("pytest -q", key=None)
        usage = TokenUsage(input_tokens=90, output_tokens=10)
        run.observe(answer, exit_code=0, usage=usage, model="claude-sonnet-4-5")


def a_past(interlock: Interlock, clock: HandClock) -> tuple[str, str]:
    """Two finished runs, one below the other, woven into one that goes on; return the outer two."""
    old = interlock.run("old", agent="coder", project="shop", budget=Budget(tokens=5_000))
    living = interlock.run("living", agent="coder", project="shop", budget=Budget(tokens=9_000))
    child = old.child("below", agent="coder", project="shop")
    for run in (old, living, child, living, old):
        at_work(run, 2)
    child.finish()
    old.finish()
    clock.forward(seconds=40 * 86_400)
    at_work(living)
    return old.id, living.id


def archive(interlock: Interlock, folder: Path, *, days: int = 30) -> list[ArchiveWritten]:
    clock = interlock.governor.clock
    return [
        *archive_runs(
            interlock.ledger,
            before=clock.now() - days * DAY,
            folder=folder,
            by=SYSTEM,
            clock=clock,
            grounds=Grounds,
        )
    ]


def faults(interlock: Interlock) -> list[str]:
    with interlock.ledger.store.frozen() as rows:
        return verified_ledger(interlock.ledger, rows, lambda _done, _of: None).faults


def attack(interlock: Interlock, what: Attack, request: pytest.FixtureRequest) -> None:
    store = interlock.ledger.store
    if isinstance(store, SqliteStore):
        attack_sqlite(store.path, what)
    else:
        attack_postgres(request.getfixturevalue("postgres_ledger_url"), what)


def test_what_stays_holds_without_the_archive(
    reopened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    with reopened(POLICY) as interlock:
        old, living = a_past(interlock, clock)
        before = interlock.ledger.rows.head()
        accounts = dict(interlock.ledger.rows.accounts())

        [written] = archive(interlock, tmp_path / "archives")
        Path(written.file).unlink()

        rows = interlock.ledger.rows
        assert (written.runs, rows.records(old)) == (2, [])
        assert rows.tally().records == before.records + 1
        assert {scope for scope in accounts if scope not in dict(rows.accounts())} <= {
            f"{kind}/{run.id}" for kind in ("run", "tree") for run in rows.runs(limit=9)
        }
        assert faults(interlock) == []
        at_work(interlock.resume(living))
    with reopened(POLICY) as interlock:
        at_work(interlock.resume(living))
        interlock.run("new", agent="coder", project="shop").finish()
        assert faults(interlock) == []
        row = interlock.ledger.rows.run(old)
        assert row is not None
        assert row.status == "archived"


def test_a_budget_that_archived_runs_used_stays_used(
    reopened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    with reopened("[budgets.agent]\ntokens = 1_500\n") as interlock:
        a_past(interlock, clock)
        archive(interlock, tmp_path / "archives")

        another = interlock.run("new", agent="coder", project="shop")
        at_work(another)

        assert not another.command("pytest -q").allowed
        assert faults(interlock) == []


def test_a_question_to_an_archived_run_names_the_file(
    reopened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    with reopened(POLICY) as interlock:
        old, _ = a_past(interlock, clock)
        run = interlock.resume(old)
        [written] = archive(interlock, tmp_path / "archives")

        for ask in (lambda: run.command("ls"), lambda: run.violation("r", "m")):
            with pytest.raises(InputError, match=f"was archived in {written.file}"):
                ask()


def test_what_is_open_stays(reopened: OpenInterlock, clock: HandClock, tmp_path: Path) -> None:
    with reopened(POLICY) as interlock:
        above = interlock.run("above", agent="coder")
        child = above.child("below", agent="coder")
        child.finish()
        interlock.run("over", agent="coder").finish()
        clock.forward(seconds=40 * 86_400)
        recent = interlock.run("recent", agent="coder")
        recent.finish()

        [written] = archive(interlock, tmp_path / "archives")

        assert written.runs == 1
        assert interlock.ledger.rows.records(child.id)
        assert interlock.ledger.rows.records(recent.id)
        assert archive(interlock, tmp_path / "archives") == []
        above.finish()
        assert archive(interlock, tmp_path / "archives") == []
        clock.forward(seconds=40 * 86_400)
        assert [each.runs for each in archive(interlock, tmp_path / "archives")] == [3]
        assert faults(interlock) == []


def test_it_is_put_back_as_it_was(
    reopened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    with reopened(POLICY) as interlock:
        old, living = a_past(interlock, clock)
        rows = interlock.ledger.rows
        records, accounts = rows.written(), dict(rows.accounts())
        keys, seals = rows.keys(old), rows.seals(old)
        state = interlock.ledger.state(old)
        [written] = archive(interlock, tmp_path / "archives")

        back = restore_runs(interlock.ledger, Path(written.file), by=SYSTEM, clock=clock)

        assert back == written
        assert rows.written()[: len(records)] == records
        assert (dict(rows.accounts()), rows.keys(old), rows.seals(old)) == (accounts, keys, seals)
        assert interlock.ledger.state(old) == state
        assert faults(interlock) == []
        with pytest.raises(InputError, match="is not known to this ledger"):
            restore_runs(interlock.ledger, Path(written.file), by=SYSTEM, clock=clock)
        at_work(interlock.resume(living))
        assert [each.runs for each in archive(interlock, tmp_path / "archives")] == [2]
        assert faults(interlock) == []


def test_an_archive_is_verified_by_itself(
    reopened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    with reopened(POLICY) as interlock:
        a_past(interlock, clock)
        [written] = archive(interlock, tmp_path / "archives")
        key, file = interlock.ledger.key, Path(written.file)

    assert verified_archive(file, key).digest == written.digest
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    for spoilt in (
        lines[:-1],
        [*lines[:3], *lines[4:]],
        [line.replace(b"pytest", b"pylint") for line in lines],
        [],
    ):
        file.write_bytes(gzip.compress(b"".join(spoilt)))
        with pytest.raises(DamagedError):
            verified_archive(file, key)
    file.write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read as an archive"):
        verified_archive(file, key)


def _shortened(execute: Execute) -> None:
    execute("UPDATE gaps SET last = last - 1 WHERE first = (SELECT min(first) FROM gaps)")


def _forgotten(execute: Execute) -> None:
    execute("DELETE FROM gaps WHERE first = (SELECT min(first) FROM gaps)")


def _richer(execute: Execute) -> None:
    execute("UPDATE gaps SET accounts = ?", b"{}")


def _renamed(execute: Execute) -> None:
    execute("UPDATE runs SET task = 'nothing' WHERE status = 'archived'")


def _unlisted(execute: Execute) -> None:
    execute("DELETE FROM archived_runs")


def _gone(execute: Execute) -> None:
    execute("DELETE FROM runs WHERE status = 'archived'")


def _other_head(execute: Execute) -> None:
    execute("UPDATE runs SET hash = 'ff' WHERE status = 'archived'")


def _one_more(execute: Execute) -> None:
    """Take out a run that nobody archived, in the way of one that was."""
    [(run_id,)] = execute("SELECT run_id FROM records WHERE kind = 'run-started' LIMIT 1")
    execute("UPDATE runs SET status = 'archived' WHERE id = ?", run_id)
    execute("INSERT INTO archived_runs (run_id, archive, seal) VALUES (?, 1, 'aa')", run_id)
    for table in ("records", "seals", "keys", "snapshots"):
        execute(f"DELETE FROM {table} WHERE run_id = ?", run_id)


def _later_record(execute: Execute) -> None:
    execute("UPDATE records SET at = at + 1 WHERE position = (SELECT max(position) FROM records)")


@pytest.mark.parametrize(
    "change",
    [
        _shortened,
        _forgotten,
        _richer,
        _renamed,
        _unlisted,
        _gone,
        _other_head,
        _one_more,
        _later_record,
    ],
)
def test_whatever_is_changed_afterwards_shows(
    reopened: OpenInterlock,
    clock: HandClock,
    tmp_path: Path,
    change: Attack,
    request: pytest.FixtureRequest,
) -> None:
    with reopened(POLICY) as interlock:
        a_past(interlock, clock)
        archive(interlock, tmp_path / "archives")
        interlock.run("late", agent="coder").finish()

        attack(interlock, change, request)

        assert faults(interlock) != []
        with pytest.raises(DamagedError, match="nothing was archived"):
            archive(interlock, tmp_path / "archives", days=-1)


def test_an_exported_anchor_holds_unless_it_ends_in_an_archive(
    reopened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    with reopened(POLICY) as interlock:
        export_to_file(current_anchor(interlock.ledger), tmp_path / "first")
        old = interlock.run("old", agent="coder")
        export_to_file(current_anchor(interlock.ledger), tmp_path / "within")
        old.finish()
        export_to_file(current_anchor(interlock.ledger), tmp_path / "behind")
        clock.forward(seconds=40 * 86_400)
        [written] = archive(interlock, tmp_path / "archives")

        check_exported(interlock.ledger, tmp_path / "first")
        check_exported(interlock.ledger, tmp_path / "behind")
        with pytest.raises(InputError, match="end among archived ones"):
            check_exported(interlock.ledger, tmp_path / "within")
        restore_runs(interlock.ledger, Path(written.file), by=SYSTEM, clock=clock)
        check_exported(interlock.ledger, tmp_path / "within")


def test_a_ledger_in_memory_has_nothing_to_archive(opened: Callable[..., Interlock]) -> None:
    with opened() as interlock:
        if isinstance(interlock.ledger.store, SqliteStore):
            assert archive(interlock, Path("nowhere")) == []
        else:
            with pytest.raises(LedgerError, match="gone with its process"):
                archive(interlock, Path("nowhere"))


_KILLED = """
import os, signal, sys
from pathlib import Path
from interlock import Interlock
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.model.principal import SYSTEM
from interlock.service.archives import archive_runs
from interlock.service.records.context import SystemClock
from interlock.views.grounds import Grounds

place, keys, folder, before, moment = sys.argv[1:]
commit = SqliteStore.commit
def die(self, changes):
    if changes.archived and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    head = commit(self, changes)
    if changes.archived:
        os.kill(os.getpid(), signal.SIGKILL)
    return head
SqliteStore.commit = die
with Interlock.open(place, keys=keys) as interlock:
    archive_runs(interlock.ledger, before=int(before), folder=Path(folder), by=SYSTEM,
                 clock=SystemClock(), grounds=Grounds)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_loses_nothing(tmp_path: Path, clock: HandClock, moment: str) -> None:
    place, keys, folder = tmp_path / "ledger.db", tmp_path / "keys", tmp_path / "archives"
    with Interlock.open(place, keys=keys, clock=clock) as interlock:
        old, _ = a_past(interlock, clock)
        written = len(interlock.ledger.rows.records(old))
    arguments = [place, keys, folder, clock.now() - 30 * DAY, moment]

    killed = run_python("-c", _KILLED, *map(str, arguments))

    assert killed.returncode == -signal.SIGKILL
    with Interlock.open(place, keys=keys, clock=clock) as interlock:
        assert faults(interlock) == []
        [file] = folder.iterdir()
        kept = verified_archive(file, interlock.ledger.key)
        is_here = len(interlock.ledger.rows.records(old))
        assert is_here == (written if moment == "before" else 0)
        assert sum(row.record.run_id == old for row in kept.records) == written
        again = archive(interlock, folder)
        assert [Path(each.file) for each in again] == ([file] if moment == "before" else [])
