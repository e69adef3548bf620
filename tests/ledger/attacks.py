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
            "INSERT INTO records (run_id, seq, at, kind, body, hash)"
            " SELECT run_id, -1, at, kind, body, hash FROM records"
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
        _done("UPDATE seals SET seq = 999 WHERE run_id = 'long'"),
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
        "approval `a1` of run `r1`: the records tell state `ApprovalState.DENIED`",
    ),
    "an approval listed as pending": (
        _done("UPDATE approvals SET state = 'pending'"),
        "approval `a1` of run `r1`: the records tell another state",
    ),
    "an approval for something else": (
        _done("UPDATE approvals SET digest = 'd9'"),
        "approval `a1` of run `r1`: it is not found by its digest `d3`",
    ),
    "an approval of garbage": (
        lambda execute: discard(execute("UPDATE approvals SET body = ?", b"[")),
        "the books of run `r1`: unreadable: ",
    ),
    "an approval too few": (
        _done("DELETE FROM approvals"),
        "approval `a1` of run `r1`: it is denied, and not stored",
    ),
    "another snapshot": (
        _snapshot_forged,
        "run `long`, record 300: the snapshot after it is not the state that the records tell",
    ),
}
