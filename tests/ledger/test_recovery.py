"""From a damaged file, everything that can be read and still forms a chain is saved."""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import SOAK, examples
from interlock.errors import DamagedError, LedgerError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.ledger.recovery import Recovered, RunRecovered, recover
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.verification import verify_all
from interlock.model.events import CredentialGranted
from interlock.model.principal import CredentialMethod, PrincipalKind
from interlock.model.run import LEDGER_RUN
from ledger.attacker import Execute, attack_sqlite, fill
from ledger.attacks import discard, text_changed
from ledger.events import (
    KEY,
    POLICY,
    a_judgement,
    a_start,
    a_violation,
    all_records,
    appending,
    planned,
    state_of,
)

ADA = CredentialGranted(
    digest="c1", kind=PrincipalKind.OPERATOR, name="ada", method=CredentialMethod.PASSPHRASE
)
WRITTEN = {LEDGER_RUN: 2, "long": 300, "over": 3, "r1": 7}
PAGE = 4096
GARBAGE = (bytes(PAGE), b"\xff" * PAGE, Random(7).randbytes(PAGE))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that nothing has happened to."""
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    with Ledger(SqliteStore(path), key=KEY) as ledger:
        fill(ledger)
        ledger.execute(appending(LEDGER_RUN, ADA))
    return path


def damaged(whole: Path, pages: Iterable[int], garbage: bytes) -> Path:
    content = bytearray(whole.read_bytes())
    for page in pages:
        content[(page - 1) * PAGE : page * PAGE] = garbage
    path = whole.with_name("damaged.db")
    path.write_bytes(content)
    return path


@contextmanager
def recovered(source: Path) -> Generator[tuple[Recovered, Ledger]]:
    """Recover a file, look at the result, and take it away again."""
    target = source.with_name("recovered.db")
    before = source.read_bytes()
    try:
        report = recover(source, target, lambda _: KEY)
        assert source.read_bytes() == before
        with Ledger(SqliteStore(target), key=KEY) as ledger:
            yield report, ledger
    finally:
        target.unlink(missing_ok=True)
    assert [each.name for each in source.parent.iterdir() if each.name.startswith(".")] == []


def check(ledger: Ledger, report: Recovered) -> None:
    """What was saved holds in itself, and is all that was told."""
    with ledger.store.frozen() as rows:
        problems = [each.problem for each in verify_all(rows, KEY) if each.problem]
    lacking = [f"its policy `{each}` is not stored" for each in report.lost_policies]
    assert [each for each in problems if not each.endswith(tuple(lacking) or "\0")] == []
    for run in report.runs:
        assert len(all_records(ledger, run.run_id)) == run.saved


def readable(whole: Path, source: Path) -> dict[str, int]:
    """How many records from the beginning of each run are still somewhere in the file."""
    content = source.read_bytes()
    with closing(SqliteStore(whole)) as store:
        rows = store.reading()
        saved: dict[str, int] = {}
        for run_id in WRITTEN:
            bodies = [row.body for row in rows.records(run_id)]
            lost = (number for number, body in enumerate(bodies) if body not in content)
            saved[run_id] = next(lost, len(bodies))
    return saved


def root_of(path: Path, table: str) -> int:
    with closing(apsw.Connection(str(path))) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
        [(page,)] = found.fetchall()
    assert isinstance(page, int)
    return page


def test_saves_everything_from_a_file_that_is_whole(whole: Path) -> None:
    with closing(SqliteStore(whole)) as store, recovered(whole) as (report, ledger):
        assert {run.run_id: run.saved for run in report.runs} == WRITTEN
        assert (report.losses, report.lost_policies, report.records) == ((), (), 312)
        assert (report.has_same_id, report.has_same_digests) == (True, True)
        check(ledger, report)
        old, new = store.reading(), ledger.rows
        for run_id in WRITTEN:
            assert new.records(run_id) == old.records(run_id)
            assert new.run(run_id) == old.run(run_id)
            assert new.seals(run_id) == old.seals(run_id)
        assert list(new.accounts()) == list(old.accounts())
        assert new.approvals() == old.approvals()
        assert new.keys("r1") == old.keys("r1")
        assert new.lapsed(2**62) == old.lapsed(2**62)
        assert new.policy(POLICY.hash) == POLICY
        assert [row.name for row in new.credentials()] == ["ada"]
        assert new.credentials() == old.credentials()
        assert [new.meta(name) for name in ("id", "digest-key")] == [
            old.meta(name) for name in ("id", "digest-key")
        ]


DAMAGED = [
    (place, garbage)
    for first, place in enumerate(["first", "records", "policies", "runs", "approvals"])
    for number, garbage in enumerate(GARBAGE)
    # In the short round one kind of each, another one in the next place.
    if SOAK or (first + number) % len(GARBAGE) == 0
]


@pytest.mark.parametrize(("place", "garbage"), DAMAGED)
def test_a_damaged_file_is_not_opened_but_recovered(
    whole: Path, place: str, garbage: bytes
) -> None:
    page = 1 if place == "first" else root_of(whole, place)
    source = damaged(whole, [page], garbage)

    with pytest.raises(DamagedError, match="`interlock ledger repair` saves what"):
        SqliteStore(source)
    with recovered(source) as (report, ledger):
        check(ledger, report)
        assert {run.run_id: run.saved for run in report.runs} == WRITTEN
        assert report.lost_policies == ((POLICY.hash,) if place == "policies" else ())


@examples(10, soak=200)
@given(
    pages=st.sets(st.integers(1, 60), min_size=1, max_size=12),
    garbage=st.sampled_from(GARBAGE),
)
def test_nothing_that_can_be_read_and_is_chained_is_lost(
    whole: Path, pages: set[int], garbage: bytes
) -> None:
    length = whole.stat().st_size // PAGE
    source = damaged(whole, [page for page in pages if page <= length], garbage)

    with recovered(source) as (report, ledger):
        check(ledger, report)
        saved = {run.run_id: run.saved for run in report.runs}
        expected = readable(whole, source)
        assert {run_id: saved.get(run_id, 0) for run_id in WRITTEN} == expected


@examples(8, soak=200)
@given(place=st.integers(0, 2**31), length=st.integers(1, 300), seed=st.integers(0, 2**31))
def test_a_file_with_any_bytes_overwritten_is_recovered_or_opened(
    whole: Path, place: int, length: int, seed: int
) -> None:
    content = bytearray(whole.read_bytes())
    begin = place % len(content)
    content[begin : begin + length] = Random(seed).randbytes(length)
    source = whole.with_name("scratched.db")
    source.write_bytes(content)

    with recovered(source) as (report, ledger):
        check(ledger, report)
        assert report.records >= 1
    try:
        SqliteStore(source).close()
    except LedgerError as error:
        assert re.search("`interlock ledger repair`|newer than the", str(error))  # noqa: PT017 - or it opens


def test_tells_exactly_what_was_lost(whole: Path) -> None:
    content = whole.read_bytes()
    with closing(SqliteStore(whole)) as store:
        body = store.reading().records("long", after=149, limit=1)[0].body
    page = content.index(body) // PAGE + 1
    source = damaged(whole, [page], bytes(PAGE))

    with recovered(source) as (report, ledger):
        saved = readable(whole, source)["long"]
        assert 100 < saved < 150
        assert report.losses == (RunRecovered(run_id="long", saved=saved, written=300),)
        records = [decoded(each) for each in all_records(ledger, "long")]
        assert ledger.state("long") == state_of("long", records)
        assert ledger.execute(appending("long", a_violation()))[0].seq == saved + 1


def test_a_run_of_which_nothing_is_left_is_told_as_well(whole: Path, tmp_path: Path) -> None:
    source = Path(shutil.copy(whole, tmp_path / "ledger.db"))

    def attack(execute: Execute) -> None:
        execute("DELETE FROM records WHERE seq = 1")
        execute("VACUUM")

    attack_sqlite(source, attack)

    with recovered(source) as (report, _):
        assert {(run.run_id, run.saved, run.written) for run in report.losses} == {
            (run_id, 0, written) for run_id, written in WRITTEN.items()
        }


def test_deleted_records_are_saved_where_their_bytes_are_left(whole: Path, tmp_path: Path) -> None:
    source = Path(shutil.copy(whole, tmp_path / "ledger.db"))
    attack_sqlite(
        source,
        lambda execute: discard(execute("DELETE FROM records WHERE run_id = 'r1' AND seq > 1")),
    )

    with recovered(source) as (report, ledger):
        check(ledger, report)
        saved = {run.run_id: run.saved for run in report.runs}
        assert saved["r1"] == readable(whole, source)["r1"] > 1


def test_what_lies_beside_a_record_may_be_damaged(whole: Path, tmp_path: Path) -> None:
    source = Path(shutil.copy(whole, tmp_path / "ledger.db"))

    def attack(execute: Execute) -> None:
        text_changed("hash", 3, 5, 1)(execute)
        text_changed("kind", 4, 5, 1)(execute)

    attack_sqlite(source, attack)

    with recovered(source) as (report, ledger):
        check(ledger, report)
        assert {run.run_id: run.saved for run in report.runs} == WRITTEN


def test_long_records_are_put_together_from_their_pages(tmp_path: Path) -> None:
    source = tmp_path / "ledger.db"
    lengths = [10, 3_000, 4_050, 4_061, 4_070, 8_200, 100_000, 300_000]
    with Ledger(SqliteStore(source), key=KEY) as ledger:
        ledger.execute(planned(lambda transaction: transaction.put_policy(POLICY)))
        for length in lengths:
            judged = a_judgement(command="x" * length, scopes=("agent/" + "y" * length,))
            ledger.execute(appending("r1", judged))
        ledger.execute(appending("r2", a_start()))
        before = all_records(ledger, "r1")

    with recovered(source) as (report, ledger):
        check(ledger, report)
        assert all_records(ledger, "r1") == before

    page_of_the_longest = source.read_bytes().rindex(b"x" * 4_000) // PAGE
    cut = damaged(source, [page_of_the_longest], bytes(PAGE))
    with recovered(cut) as (report, ledger):
        check(ledger, report)
        assert all_records(ledger, "r1") == before[: report.runs[0].saved]
        assert 0 < report.runs[0].saved < len(lengths)
        assert report.runs[1] == RunRecovered(run_id="r2", saved=1, written=1)


def test_what_is_only_in_the_write_ahead_file_is_saved(tmp_path: Path) -> None:
    source, copy = tmp_path / "ledger.db", tmp_path / "copy" / "ledger.db"
    copy.parent.mkdir()
    with Ledger(SqliteStore(source), key=KEY) as ledger:
        fill(ledger)
        ledger.execute(appending(LEDGER_RUN, ADA))
        wal = Path(f"{source}-wal")
        shutil.copy(source, copy)
        shutil.copy(wal, f"{copy}-wal")

    copy.write_bytes(b"\xff" * copy.stat().st_size)
    with recovered(copy) as (report, ledger):
        check(ledger, report)
        assert {run.run_id: run.saved for run in report.runs} == WRITTEN


@pytest.mark.parametrize("end", [0, 20, 5_000])
def test_a_write_ahead_file_that_is_cut_off_does_no_harm(whole: Path, end: int) -> None:
    wal = whole.with_name("ledger.db-wal")
    wal.write_bytes(Random(3).randbytes(end))
    try:
        with recovered(whole) as (report, ledger):
            check(ledger, report)
            assert {run.run_id: run.saved for run in report.runs} == WRITTEN
    finally:
        wal.unlink(missing_ok=True)


def test_never_writes_over_a_file(whole: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken.db"
    taken.write_text("mine")

    with pytest.raises(LedgerError, match="exists already: choose another name"):
        recover(whole, taken, lambda _: KEY)
    with pytest.raises(LedgerError, match="is not a file: name the damaged ledger"):
        recover(tmp_path / "nothing.db", tmp_path / "new.db", lambda _: KEY)
    assert taken.read_text() == "mine"


def test_a_file_of_garbage_gives_an_empty_ledger(tmp_path: Path) -> None:
    source = tmp_path / "ledger.db"
    source.write_bytes(Random(5).randbytes(100_000))
    told: list[tuple[int, int]] = []

    report = recover(
        source, tmp_path / "new.db", lambda _: KEY, lambda done, total: told.append((done, total))
    )

    assert report == Recovered(
        runs=(),
        lost_policies=(),
        has_same_id=False,
        has_same_digests=False,
    )
    assert told[-1] == (25, 25)
