"""What can be done to a ledger by somebody who can write to its database, and what is then told."""

from __future__ import annotations

from interlock.ledger.chain import SealKey, hash_of
from ledger.attacker import Attack, Execute
from ledger.events import KEY

ANOTHER_KEY = SealKey(b"the attacker's own")


def text_changed(column: str, seq: int, place: int, flip: int) -> Attack:
    def attack(execute: Execute) -> None:
        [(old,)] = execute(
            f"SELECT CAST({column} AS BLOB) FROM records WHERE run_id = 'r1' AND seq = ?", seq
        )
        assert isinstance(old, bytes)
        new = bytearray(old)
        new[place % len(new)] ^= flip
        kind = "BLOB" if column == "body" else "TEXT"
        execute(
            f"UPDATE records SET {column} = CAST(? AS {kind}) WHERE run_id = 'r1' AND seq = ?",
            bytes(new),
            seq,
        )

    return attack


def number_changed(column: str, seq: int, change: int) -> Attack:
    def attack(execute: Execute) -> None:
        execute(
            f"UPDATE records SET {column} = {column} + ? WHERE run_id = 'r1' AND seq = ?",
            change,
            seq,
        )

    return attack


def _deleted(run_id: str, where: str) -> Attack:
    return lambda execute: discard(
        execute(f"DELETE FROM records WHERE run_id = '{run_id}' AND {where}")
    )


def discard(_: object) -> None:
    """An attack returns nothing."""


def _swapped(execute: Execute) -> None:
    for old, new in ((3, 9_003), (4, 3), (9_003, 4)):
        execute("UPDATE records SET seq = ? WHERE run_id = 'r1' AND seq = ?", new, old)


def _rewritten(execute: Execute) -> None:
    """Change a record and its hash with it: only the next record knows better."""
    [(body,)] = execute("SELECT body FROM records WHERE run_id = 'r1' AND seq = 3")
    assert isinstance(body, bytes)
    forged = bytes(body).replace(b'"exit_code":0', b'"exit_code":1')
    assert forged != body
    execute(
        "UPDATE records SET body = ?, hash = ? WHERE run_id = 'r1' AND seq = 3",
        forged,
        hash_of(forged),
    )


def _cut_off(run_id: str, seq: int, key: SealKey | None = None) -> Attack:
    """Take away the end of a run, and make the list of runs fit."""

    def attack(execute: Execute) -> None:
        execute("DELETE FROM records WHERE run_id = ? AND seq > ?", run_id, seq)
        [(head, at)] = execute(
            "SELECT hash, at FROM records WHERE run_id = ? AND seq = ?", run_id, seq
        )
        execute(
            "UPDATE runs SET seq = ?, hash = ?, updated_at = ? WHERE id = ?", seq, head, at, run_id
        )
        if key is not None:
            seal = key.seal(run_id, seq, str(head))
            execute("UPDATE runs SET seal = ? WHERE id = ?", seal, run_id)

    return attack


def _done(*statements: str) -> Attack:
    def attack(execute: Execute) -> None:
        for statement in statements:
            execute(statement)

    return attack


def _regranted(execute: Execute) -> None:
    [(body,)] = execute("SELECT body FROM approvals WHERE id = 'a1'")
    assert isinstance(body, bytes)
    granted = bytes(body).replace(b"denied", b"granted")
    execute("UPDATE approvals SET state = 'granted', body = ?", granted)


def _snapshot_forged(execute: Execute) -> None:
    [(body,)] = execute("SELECT body FROM snapshots WHERE run_id = 'long'")
    assert isinstance(body, bytes)
    forged = bytes(body).replace(b"coder", b"codex")
    assert forged != body
    execute("UPDATE snapshots SET body = ? WHERE run_id = 'long'", forged)


ATTACKS: dict[str, tuple[Attack, str]] = {
    "delete one": (_deleted("r1", "seq = 4"), "run `r1`, record 4: missing: record 5 follows"),
    "delete the first": (_deleted("r1", "seq = 1"), "run `r1`, record 1: missing"),
    "delete the last": (_deleted("r1", "seq = 7"), "run `r1`, record 7: the chain has 6 records"),
    "delete all": (_deleted("r1", "seq > 0"), "run `r1`, record 1: the chain has 0 records, 7"),
    "swap two": (_swapped, "run `r1`, record 3: "),
    "rewrite with its hash": (_rewritten, "run `r1`, record 4: it does not follow"),
    "cut off the end": (
        _cut_off("r1", 5),
        "run `r1`, record 5: the seal on the last record does not fit",
    ),
    "cut off the end and seal it": (
        _cut_off("r1", 5, ANOTHER_KEY),
        "run `r1`, record 5: the seal on the last record does not fit",
    ),
    "cut off more than was sealed": (
        _cut_off("long", 200, KEY),
        "run `long`, record 256: missing: it was sealed with 256 records",
    ),
    "forget a run in the list": (
        _done("DELETE FROM runs WHERE id = 'over'"),
        "run `over`, record 3: the run is missing in the list of runs",
    ),
    "only a seal is left": (
        _done("DELETE FROM records WHERE run_id = 'over'", "DELETE FROM runs WHERE id = 'over'"),
        "run `over`, record 1: the run is missing",
    ),
    "another name in the list": (
        _done("UPDATE runs SET agent = 'mallory' WHERE id = 'r1'"),
        "run `r1`, record 7: the list of runs has agent `mallory`, the records tell `coder`",
    ),
    "a running run is finished": (
        _done("UPDATE runs SET status = 'finished' WHERE id = 'r1'"),
        "run `r1`, record 7: the list of runs has status `finished`",
    ),
    "a record more than were written": (
        _done(
            "INSERT INTO records (position, run_id, seq, at, kind, body, hash)"
            " SELECT 312, run_id, -1, at, kind, body, hash FROM records"
            " WHERE run_id = 'r1' AND seq = 1"
        ),
        "the records: 312 are stored, the chains have 311",
    ),
    "another seal": (
        _done("UPDATE seals SET seal = hash WHERE run_id = 'long'"),
        "run `long`, record 256: its seal does not fit",
    ),
    "a seal on another record": (
        _done("UPDATE seals SET hash = seal WHERE run_id = 'long'"),
        "run `long`, record 256: it is not the record that was sealed",
    ),
    "a seal on a record that never was": (
        _done(
            "INSERT INTO seals SELECT run_id, 999, hash, at, key_id, seal FROM seals"
            " WHERE run_id = 'long'"
        ),
        "run `long`, record 999: missing: it was sealed with 999 records",
    ),
    "a policy that is gone": (
        _done("DELETE FROM policies WHERE hash = 'p1'"),
        "run `r1`, record 1: its policy `p1` is not stored",
    ),
    "another policy under its hash": (
        lambda execute: discard(execute("UPDATE policies SET body = ?", b"{}")),
        "run `ledger`, record 1: policy `p1` is not stored as it was adopted",
    ),
    "another account": (
        lambda execute: discard(
            execute("UPDATE accounts SET body = ? WHERE scope = 'run/r1'", b"{}")
        ),
        'account `run/r1`: the records add up to `{"reserved":',
    ),
    "an account of garbage": (
        lambda execute: discard(
            execute("UPDATE accounts SET body = ? WHERE scope = 'run/r1'", b"\xff")
        ),
        "account `run/r1`: the records add up to",
    ),
    "an account too many": (
        lambda execute: discard(execute("INSERT INTO accounts VALUES ('agent/x', ?)", b"{}")),
        "account `agent/x`: the records add up to nothing, stored is `{}`",
    ),
    "an account too few": (
        _done("DELETE FROM accounts WHERE scope = 'agent/coder'"),
        "account `agent/coder`: the records add up to",
    ),
    "another answer to a request key": (
        _done("UPDATE keys SET seq = 3 WHERE key = 'k2'"),
        "request key `k2` of run `r1`: the records tell record 4 for digest `d2`, stored is"
        " record 3",
    ),
    "a request key too few": (
        _done("DELETE FROM keys WHERE key = 'k2'"),
        "request key `k2` of run `r1`: the records tell record 4 for digest `d2`, stored is no",
    ),
    "a request key too many": (
        _done("INSERT INTO keys VALUES ('r1', 'k9', 4, 'd2')"),
        "request key `k9` of run `r1`: the records tell no answer",
    ),
    "a longer lease": (
        _done("UPDATE reservations SET lease_until = lease_until + 1"),
        "the promise of run `r1`, record 4: the records tell a lease until",
    ),
    "a reservation too few": (
        _done("DELETE FROM reservations"),
        "the promise of run `r1`, record 4: the records tell a lease",
    ),
    "a reservation too many": (
        _done("INSERT INTO reservations VALUES ('r1', 2, 5)"),
        "the promise of run `r1`, record 2: the records tell none, stored is a lease until 5",
    ),
    "an approval that was granted after all": (
        _regranted,
        "approval `a1` of run `r1`: the records tell state `denied`",
    ),
    "an approval listed as pending": (
        _done("UPDATE approvals SET state = 'pending'"),
        "the books of run `r1`: unreadable: approval `a1` is stored under state `pending`",
    ),
    "an approval for something else": (
        _done("UPDATE approvals SET digest = 'd9'"),
        "the books of run `r1`: unreadable: approval `a1` is stored under digest `d9`, not `d3`",
    ),
    "an approval of garbage": (
        lambda execute: discard(execute("UPDATE approvals SET body = ?", b"[")),
        "the books of run `r1`: unreadable: ",
    ),
    "an approval too few": (
        _done("DELETE FROM approvals"),
        "approval `a1` of run `r1`: it is denied, and not stored",
    ),
    "a key id that nobody has": (
        _done("UPDATE runs SET key_id = 'mine' WHERE id = 'r1'"),
        "run `r1`, record 7: the last record is sealed with another key, `mine`",
    ),
    "the key id of a seal": (
        _done("UPDATE seals SET key_id = 'mine' WHERE run_id = 'long'"),
        "run `long`, record 256: it is sealed with another key, `mine`",
    ),
    "the time of a seal": (
        _done("UPDATE seals SET at = at + 1 WHERE run_id = 'long'"),
        "run `long`, record 256: it is not the record that was sealed",
    ),
    "a seal taken off": (
        _done("DELETE FROM seals WHERE run_id = 'long'"),
        "run `long`, record 256: its seal is missing",
    ),
    "the seal on the end taken off": (
        _done("DELETE FROM seals WHERE run_id = 'over'"),
        "run `over`, record 3: the seal on the end of the run is missing",
    ),
    "a whole run": (
        _done(
            *(
                f"DELETE FROM {table} WHERE {column} = 'over'"
                for table, column in (("records", "run_id"), ("seals", "run_id"), ("runs", "id"))
            ),
        ),
        "the head of the order: noted is records `311`, the records come to `308`",
    ),
    "two records in each other's place": (
        _done(
            "UPDATE records SET position = -1 WHERE position = 3",
            "UPDATE records SET position = 3 WHERE position = 4",
            "UPDATE records SET position = 4 WHERE position = -1",
        ),
        "the order of the records: run `r1`, record 3 in place 3 stands behind record 1",
    ),
    "a run before another": (
        _done(
            "UPDATE records SET position = -1 WHERE position = 1",
            "UPDATE records SET position = 1 WHERE position = 2",
            "UPDATE records SET position = 2 WHERE position = -1",
        ),
        "the head of the order: noted is hash `",
    ),
    "a place that is empty": (
        _done("UPDATE records SET position = 900 WHERE position = 311"),
        "the order of the records: place 311 is missing: run `over`, record 3 in place 900",
    ),
    "a place before the first": (
        _done("UPDATE records SET position = -7 WHERE position = 1"),
        "the order of the records: place 1 is missing: run `ledger`, record 1 in place -7",
    ),
    "another head": (
        _done("UPDATE head SET hash = 'f'"),
        "the head of the order: noted is hash `f`",
    ),
    "a head of fewer": (
        _done("UPDATE head SET records = records - 1"),
        "the head of the order: noted is records `310`, the records come to `311`",
    ),
    "a head of fewer runs": (
        _done("UPDATE head SET runs = runs - 1"),
        "the head of the order: noted is runs `3`, the records come to `4`",
    ),
    "a head of another time": (
        _done("UPDATE head SET at = at - 1"),
        "the head of the order: noted is at `",
    ),
    "no head": (
        _done("DELETE FROM head"),
        "the ledger: unreadable: the head of the order is noted 0 times",
    ),
    "a run that never was": (
        _done(
            "INSERT INTO runs (id, seq, hash, seal, key_id, started_at, updated_at, status, agent,"
            " project, task) SELECT 'ghost', 0, '', seal, key_id, 0, 0, status, agent, project,"
            " task FROM runs WHERE id = 'r1'"
        ),
        "run `ghost`, record 0: the seal on the last record does not fit",
    ),
    "another id": (
        _done("UPDATE meta SET value = 'another' WHERE name = 'id'"),
        "the ledger: the table meta is not what was sealed",
    ),
    "another key of digests": (
        _done("UPDATE meta SET value = '00' WHERE name = 'digest-key'"),
        "the ledger: the table meta is not what was sealed",
    ),
    "another key of seals": (
        _done("UPDATE meta SET value = 'mine' WHERE name = 'key-id'"),
        "the ledger: the table meta names another key, `mine`",
    ),
    "no seal on meta": (
        _done("DELETE FROM meta WHERE name = 'seal'"),
        "the ledger: the table meta has no seal",
    ),
    "a row more in meta": (
        _done("INSERT INTO meta VALUES ('trusted', 'yes')"),
        "the ledger: the table meta has a row `trusted` that nobody wrote",
    ),
    "a policy that nobody adopted": (
        lambda execute: discard(execute("INSERT INTO policies VALUES ('p9', ?)", b"{}")),
        "policy `p9`: no record names it",
    ),
    "another snapshot": (
        _snapshot_forged,
        "run `long`, record 300: the snapshot after it is not the state that the records tell",
    ),
}
