"""What is recorded follows from what was recorded before, whatever is stored beside the records.

Somebody who can write to the file changes a row that answers hang on, lets Interlock answer, and
puts every row back to what the records tell: nothing that is stored differs from them any more.
Either nothing was answered, or the answer itself tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, cast

import apsw
import pytest
from msgspec.structs import replace

from interlock import Budget, Decision, Interlock, Run
from interlock.errors import DamagedError
from interlock.ledger.chain import SealKey, decoded
from interlock.ledger.projection import Projection, project
from interlock.ledger.stores.sql_rows import rows_to_write
from interlock.ledger.transaction import account_bytes, snapshot_bytes
from interlock.ledger.verification import verify_all
from interlock.model.events import RunHalted
from interlock.model.run import LEDGER_RUN, RunState, folded
from interlock.service.ledgers import open_ledger
from interlock.service.policies.policy_files import default_policy
from interlock.views.grounds import Grounds
from interlock.views.ledger_view import Verification, verified_ledger, verified_run
from service.ledgers import DAY, HandClock, operator_of

PUSH: Final = "git push --force origin topic"
OTHER: Final = "git push --force origin other"
AGENT: Final = "agent/coder"
_BOOKS: Final = ("accounts", "approvals", "keys", "reservations")


class Scene:
    """A ledger with an operator and a run at work, whose file can be written to by anybody."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "state" / "ledger.db"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.keys = folder / "keys"
        self.clock = HandClock()
        with self.asking() as interlock:
            self.token = operator_of(interlock)
            self.run_id = interlock.run("task", agent="coder", project="shop").id

    def asking(self) -> Interlock:
        return Interlock.open(self.file, keys=self.keys, policy=default_policy(), clock=self.clock)

    def ask(self, what: Callable[[Scene, Interlock, Run], object]) -> object:
        with self.asking() as interlock:
            return what(self, interlock, interlock.resume(self.run_id))

    def sql(self, statement: str, *values: str | int | bytes) -> Sequence[tuple[object, ...]]:
        with closing(apsw.Connection(str(self.file))) as connection:
            return connection.execute(statement, values).fetchall()

    def change(self, table: str, where: str, **fields: object) -> None:
        """Change fields in the JSON of rows, and the columns that have their names."""
        columns = {str(row[1]) for row in self.sql(f"PRAGMA table_info({table})")}
        key = "id" if table == "approvals" else "scope"
        for name, body in self.sql(f"SELECT {key}, body FROM {table} WHERE {where}"):
            values = json.loads(cast("bytes", body)) | fields
            values = {field: value for field, value in values.items() if value is not None}
            self.sql(
                f"UPDATE {table} SET body = ? WHERE {key} = ?",
                json.dumps(values).encode(),
                str(name),
            )
            for field in fields.keys() & columns:
                value = cast("str", fields[field])
                self.sql(f"UPDATE {table} SET {field} = ? WHERE {key} = ?", value, str(name))

    def state(self, seq: int | None = None) -> RunState:
        """Return the run as so many of its records have it."""
        state = RunState(id=self.run_id)
        found = self.sql("SELECT body FROM records WHERE run_id = ? ORDER BY seq", self.run_id)
        for (body,) in found[:seq]:
            state = folded(state, decoded(cast("bytes", body)))
        return state

    def put_back(self) -> None:
        """Make all books what the records tell."""
        projection = Projection()
        for (body,) in self.sql("SELECT body FROM records ORDER BY position"):
            project(projection, decoded(cast("bytes", body)))
        changes = projection.changes
        changes.accounts = {
            each: account_bytes(projection.account(each)) for each in changes.accounts
        }
        with closing(apsw.Connection(str(self.file))) as connection:
            for table in (*_BOOKS, "snapshots"):
                connection.execute(f"DELETE FROM {table}")
            for table, rows in rows_to_write(changes):
                if table.name in _BOOKS:
                    places = ", ".join("?" * len(table.columns))
                    names = ", ".join(table.columns)
                    statement = f"INSERT INTO {table.name} ({names}) VALUES ({places})"
                    connection.executemany(statement, rows)

    def verified(self) -> Verification:
        with open_ledger(self.file, keys=self.keys) as ledger, ledger.store.frozen() as rows:
            # Nothing that is stored tells: only what was recorded can.
            assert [each.problem for each in verify_all(rows, ledger.key) if each.problem] == []
            return verified_ledger(ledger, rows, lambda _read, _of: None)

    def verified_alone(self) -> list[str]:
        with open_ledger(self.file, keys=self.keys) as ledger, ledger.store.frozen() as rows:
            return verified_run(ledger, rows, self.run_id).faults


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


Step = Callable[[Scene, Interlock, Run], object]


def pushes(_: Scene, __: Interlock, run: Run) -> Decision:
    return run.command(PUSH).decision


def lists(_: Scene, __: Interlock, run: Run) -> Decision:
    return run.command("ls").decision


def granted(scene: Scene, interlock: Interlock, run: Run) -> None:
    approval = run.command(PUSH).approval_id
    interlock.approve(str(approval), token=scene.token)


def granted_and_used(scene: Scene, interlock: Interlock, run: Run) -> None:
    granted(scene, interlock, run)
    assert run.command(PUSH).allowed


def granted_beside_another(scene: Scene, interlock: Interlock, run: Run) -> None:
    granted(scene, interlock, run)
    run.command(OTHER)


def denied(scene: Scene, interlock: Interlock, run: Run) -> None:
    approval = run.command(PUSH).approval_id
    interlock.deny(str(approval), token=scene.token, note="no")


def limited(scene: Scene, interlock: Interlock, run: Run) -> None:
    interlock.set_budget(AGENT, Budget(tool_calls=2), token=scene.token)
    for _ in range(2):
        run.observe(run.command("ls"), exit_code=0)
    assert run.command("ls").decision is Decision.BLOCK


def tree_limited(scene: Scene, interlock: Interlock, run: Run) -> None:
    interlock.set_budget(f"tree/{run.id}", Budget(tool_calls=2), token=scene.token)
    child = run.child("below")
    for _ in range(2):
        child.observe(child.command("ls"), exit_code=0)
    assert child.command("ls").decision is Decision.BLOCK


def halted(scene: Scene, interlock: Interlock, run: Run) -> None:
    for number in range(70):
        run.violation("many", f"number {number}")
    interlock.halt(run.id, token=scene.token, reason="stop it")


def keyed(_: Scene, __: Interlock, run: Run) -> None:
    run.command("ls", key="k1")
    run.step(key="s1")


def reported(_: Scene, __: Interlock, run: Run) -> None:
    run.observe(run.command("ls"), exit_code=0)


def other_digest(scene: Scene) -> str:
    [(digest,)] = scene.sql(
        "SELECT digest FROM approvals WHERE CAST(body AS TEXT) LIKE '%origin other%'"
    )
    return str(digest)


def lend_the_grant(scene: Scene) -> None:
    digest = other_digest(scene)
    scene.sql("DELETE FROM approvals WHERE digest = ?", digest)
    scene.change("approvals", "state = 'granted'", digest=digest)


def reopen(scene: Scene) -> None:
    scene.change("approvals", "1", state="pending", decided_at=None, decided_by=None, note=None)


def spend_again(scene: Scene) -> None:
    scene.change("approvals", "1", uses_left=1)


def prolong(scene: Scene) -> None:
    scene.clock.at += DAY * 30
    scene.change("approvals", "1", expires_at=scene.clock.at + DAY)


def settle_again(scene: Scene) -> None:
    """Let what was reported on hold its promise once more, with a lease that is over."""
    [(seq,)] = scene.sql("SELECT max(seq) FROM records WHERE kind = 'action-judged'")
    [(body,)] = scene.sql(
        "SELECT body FROM records WHERE run_id = ? AND seq = ?", scene.run_id, cast("int", seq)
    )
    lease = json.loads(cast("bytes", body))["event"]["lease_until"]
    values = (scene.run_id, cast("int", seq), lease)
    scene.sql("INSERT INTO reservations (run_id, seq, lease_until) VALUES (?, ?, ?)", *values)
    scene.clock.at = lease + 1


def asks_beyond_the_limit(scene: Scene, interlock: Interlock, run: Run) -> None:
    interlock.set_budget(AGENT, Budget(tool_calls=1), token=scene.token)
    run.command("ls")


def asks_as_child(_: Scene, interlock: Interlock, run: Run) -> object:
    below = [each for each in interlock.ledger.rows.runs(limit=9) if each.parent == run.id]
    return interlock.resume(below[0].id).command("ls").decision


def reuses_key(_: Scene, __: Interlock, run: Run) -> object:
    return run.command("ls elsewhere", key="k1").decision


def repeats_key(_: Scene, __: Interlock, run: Run) -> object:
    return run.command("ls", key="k1").decision


def reuses_step_key(_: Scene, __: Interlock, run: Run) -> object:
    return run.step("something else", key="s1").decision


def steps(_: Scene, __: Interlock, run: Run) -> object:
    return run.step().decision


def reports_again(scene: Scene, __: Interlock, run: Run) -> object:
    [(seq,)] = scene.sql("SELECT max(seq) FROM records WHERE kind = 'action-judged'")
    return run.observe(f"{run.id}:{seq}", exit_code=1)


def judged_then(scene: Scene, __: Interlock, run: Run) -> None:
    run.command("ls")


TOLD: Final[Mapping[str, tuple[Step, Callable[[Scene], object], Step, str]]] = {
    "a grant for another action": (
        granted_beside_another,
        lend_the_grant,
        lambda _, __, run: run.command(OTHER).decision,
        "on record for this action is pending",
    ),
    "a refusal taken back": (denied, reopen, pushes, "on record for this action is denied"),
    "a refusal deleted": (
        denied,
        lambda scene: scene.sql("DELETE FROM approvals"),
        pushes,
        "on record for this action is denied",
    ),
    "a grant that ran out": (granted, prolong, pushes, "on record for this action is granted"),
    "no limit": (
        limited,
        lambda scene: scene.change("accounts", f"scope = '{AGENT}'", limits=None),
        lists,
        "account `agent/coder` was taken for no limit, and was 2 of 2 tool calls",
    ),
    "another limit": (
        limited,
        lambda scene: scene.change("accounts", f"scope = '{AGENT}'", limits={"tool_calls": 9}),
        lists,
        "was taken for 2 of 9 tool calls, and was 2 of 2",
    ),
    "nothing used": (
        limited,
        lambda scene: scene.change("accounts", f"scope = '{AGENT}'", used=None),
        lists,
        "was taken for 0 of 2 tool calls, and was 2 of 2",
    ),
    "less reserved than nothing": (
        limited,
        lambda scene: scene.change("accounts", f"scope = '{AGENT}'", reserved={"tool_calls": -5}),
        lists,
        "was taken for -3 of 2 tool calls, and was 2 of 2",
    ),
    "no account": (
        limited,
        lambda scene: scene.sql("DELETE FROM accounts"),
        lists,
        "was taken for no limit",
    ),
    "nothing used below": (
        tree_limited,
        lambda scene: scene.sql("DELETE FROM accounts WHERE scope LIKE 'tree/%'"),
        asks_as_child,
        "was taken for 0 of 2 tool calls, and was 2 of 2",
    ),
    "a step without a limit": (
        limited,
        lambda scene: scene.change("accounts", f"scope = '{AGENT}'", limits=None),
        steps,
        "it was answered with tool_calls `4998`, the records leave `0`",
    ),
    "a key for another request": (
        keyed,
        lambda scene: scene.sql("DELETE FROM keys"),
        reuses_key,
        "its key `command/request:k1` stands for another request",
    ),
    "a key twice": (
        keyed,
        lambda scene: scene.sql("DELETE FROM keys"),
        repeats_key,
        "its key has the answer of record",
    ),
    "a step's key for another step": (
        keyed,
        lambda scene: scene.sql("DELETE FROM keys"),
        reuses_step_key,
        "its key `step/request:s1` stands for another request",
    ),
    "a second report": (
        reported,
        lambda scene: scene.sql("DELETE FROM keys"),
        reports_again,
        "was reported on before",
    ),
    "a promise that was kept": (
        reported,
        settle_again,
        asks_beyond_the_limit,
        "did not reserve, or not all of it",
    ),
    "a promise that is forgotten": (
        judged_then,
        lambda scene: scene.sql("DELETE FROM reservations"),
        reports_again,
        "did not reserve, or not all of it",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_an_answer_that_has_no_grounds_tells(scene: Scene, name: str) -> None:
    before, change, ask, told = TOLD[name]
    scene.ask(before)
    assert scene.verified().faults == []
    change(scene)

    scene.ask(ask)
    scene.put_back()

    [fault] = scene.verified().faults
    assert fault.startswith("run `")
    assert told in fault
    alone = scene.verified_alone()
    assert alone == ([] if "account" in fault or "leave" in fault else [fault])


def grant(scene: Scene) -> None:
    scene.change("approvals", "1", state="granted")


def halted_before(scene: Scene) -> RunState:
    """Return the run as it was before its last record, which halted it, and with its length."""
    seq = scene.state().seq
    return replace(scene.state(seq - 1), seq=seq)


def insert_key(scene: Scene) -> None:
    """Give the answer to a harmless command the key that a push will be asked with."""
    [(digest,)] = scene.sql("SELECT digest FROM keys WHERE key LIKE '%pushed'")
    scene.sql("UPDATE keys SET seq = 2, digest = ? WHERE key LIKE '%pushed'", str(digest))


def rewrite_halt(scene: Scene) -> None:
    with closing(apsw.Connection(str(scene.file))) as connection:
        found = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        triggers = connection.execute(found).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM snapshots")
        connection.execute(
            "UPDATE records SET body = CAST(replace(CAST(body AS TEXT), 'run-halted', 'run-lifted')"
            " AS BLOB) WHERE kind = 'run-halted'"
        )
        for _, sql in triggers:
            connection.execute(str(sql))


REFUSED: Final[Mapping[str, tuple[Step, Callable[[Scene], object], Step, str]]] = {
    "a grant that nobody gave": (pushes, grant, pushes, "tell of nobody who granted it"),
    "a grant that was used": (granted_and_used, spend_again, pushes, "or of its use"),
    "a refusal made a grant": (denied, grant, pushes, "tell of nobody who granted it"),
    "a key of another answer": (
        lambda _, __, run: [run.command("ls"), run.command(PUSH, key="pushed")],
        insert_key,
        lambda _, __, run: run.command(PUSH, key="pushed"),
        "which answered something else",
    ),
    "a halt rewritten": (halted, rewrite_halt, lists, "do not have the hash"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_records_do_not_tell_is_refused_before_it_is_answered(
    scene: Scene, name: str
) -> None:
    before, change, ask, told = REFUSED[name]
    scene.ask(before)
    records = scene.sql("SELECT count(*) FROM records")
    change(scene)

    with pytest.raises(DamagedError, match="run `interlock verify`") as refused:
        scene.ask(ask)

    assert told in str(refused.value)
    assert scene.sql("SELECT count(*) FROM records") == records


def unsealed(scene: Scene) -> bytes:
    return snapshot_bytes(halted_before(scene), _head(scene), SealKey(b"the attacker's own"))


def sealed_elsewhere(scene: Scene) -> bytes:
    """A state that was really sealed, with what belongs to another record."""
    [(body,)] = scene.sql("SELECT body FROM snapshots WHERE run_id = ?", scene.run_id)
    return cast("bytes", body)


def empty(_: Scene) -> bytes:
    return b"\x93\x07\x80\xa0"


def _head(scene: Scene) -> str:
    [(head,)] = scene.sql("SELECT hash FROM runs WHERE id = ?", scene.run_id)
    return str(head)


@pytest.mark.parametrize("made", [unsealed, sealed_elsewhere, empty])
def test_a_snapshot_that_nobody_sealed_is_not_believed(
    scene: Scene, made: Callable[[Scene], bytes]
) -> None:
    scene.ask(halted)
    body, seq = made(scene), scene.state().seq
    scene.sql("DELETE FROM snapshots")
    scene.sql("INSERT INTO snapshots VALUES (?, ?, ?)", scene.run_id, seq, body)

    assert scene.ask(lists) is Decision.BLOCK

    assert scene.verified().faults == []


GUARDS: Final = {
    "dropped": ["DROP TRIGGER records_are_never_changed"],
    "replaced": [
        "DROP TRIGGER seals_are_never_deleted",
        "CREATE TRIGGER seals_are_never_deleted BEFORE DELETE ON seals BEGIN SELECT 1; END",
    ],
    "added": [
        "CREATE TRIGGER more BEFORE INSERT ON records BEGIN SELECT RAISE(IGNORE); END",
    ],
}


@pytest.mark.parametrize("name", GUARDS)
def test_what_keeps_records_as_they_are_is_missed_at_the_next_start(
    scene: Scene, name: str
) -> None:
    for statement in GUARDS[name]:
        scene.sql(statement)

    with pytest.raises(DamagedError, match=r"the trigger `\w+` is not as it was made"):
        scene.asking().close()


# Neighbours that nobody forged


def lifted(scene: Scene, interlock: Interlock, run: Run) -> None:
    halted(scene, interlock, run)
    assert run.command("ls").decision is Decision.BLOCK
    interlock.lift(run.id, token=scene.token, reason="go on")
    assert run.command("ls").allowed
    assert run.step().ruling is not None


def halted_above(scene: Scene, interlock: Interlock, run: Run) -> None:
    child = run.child("below")
    interlock.halt(run.id, token=scene.token, reason="stop it")
    assert child.command("ls").decision is Decision.BLOCK
    child.step()
    child.stopped("all done")


def all_halted(scene: Scene, interlock: Interlock, run: Run) -> None:
    child = run.child("below")
    assert interlock.halt_all(token=scene.token, reason="stop them") == 2
    for each in (run, child, run, child):
        assert each.command("ls").decision is Decision.BLOCK
        assert not each.step().goes_on
        assert not each.stopped("all done").goes_on
        scene.clock.at += DAY
    interlock.lift_all(token=scene.token, reason="go on")
    assert run.command("ls").allowed
    assert child.step().ruling is not None


def relimited(scene: Scene, interlock: Interlock, run: Run) -> None:
    limited(scene, interlock, run)
    interlock.set_budget(AGENT, Budget(tool_calls=9), token=scene.token)
    assert run.command("ls").allowed
    run.step()


def asked_again_after_it_ran_out(scene: Scene, _: Interlock, run: Run) -> None:
    run.command(PUSH)
    scene.clock.at += DAY * 30
    run.command(PUSH)
    run.command(PUSH)


def lapsed(scene: Scene, interlock: Interlock, run: Run) -> None:
    interlock.set_budget(AGENT, Budget(tool_calls=1), token=scene.token)
    run.command("ls")
    scene.clock.at += DAY
    assert run.command("ls").allowed


def key_replaced(scene: Scene, interlock: Interlock, run: Run) -> None:
    run.command("ls", key="k")
    interlock.halt(run.id, token=scene.token, reason="stop it")
    assert run.command("ls", key="k").decision is Decision.BLOCK
    interlock.lift(run.id, token=scene.token, reason="go on")
    assert run.command("ls", key="k").allowed
    run.command("ls", key="k")


def denied_and_asked_again(scene: Scene, interlock: Interlock, run: Run) -> None:
    denied(scene, interlock, run)
    run.command(PUSH)
    run.command(OTHER)


def finished(_: Scene, __: Interlock, run: Run) -> None:
    run.child("below").finish()
    run.command("ls")
    run.finish()


HONEST: Final = (
    *(granted_and_used, granted_beside_another, limited, tree_limited, keyed, reported, lifted),
    *(halted_above, all_halted, relimited, asked_again_after_it_ran_out, lapsed, key_replaced),
    *(denied_and_asked_again, finished),
)


@pytest.mark.parametrize(("since_s", "is_told"), [(5, False), (120, True)])
@pytest.mark.parametrize("ask", [lists, steps])
def test_an_answer_long_after_all_runs_were_halted_tells(
    scene: Scene, ask: Step, since_s: int, *, is_told: bool
) -> None:
    scene.ask(ask)
    with scene.asking() as interlock, interlock.ledger.store.frozen() as rows:
        grounds = Grounds(rows)
        found = [
            decoded(cast("bytes", body))
            for (body,) in scene.sql("SELECT body FROM records ORDER BY position")
        ]
        last, ledger = found[-1], grounds.state(LEDGER_RUN)
        for record in found[:-1]:
            grounds.take(record)
            ledger = grounds.state(LEDGER_RUN)
        halt = RunHalted(reason="stop them")
        at = last.at - since_s * 1_000_000
        grounds.take(replace(last, run=LEDGER_RUN, seq=ledger.seq + 1, at=at, event=halt))
        grounds.take(last)

    assert bool(grounds.problems) is is_told
    assert all("hold" in each or "held" in each for each in grounds.problems)


@pytest.mark.parametrize("went", HONEST)
def test_what_nobody_forged_has_its_grounds(scene: Scene, went: Step) -> None:
    scene.ask(went)
    scene.put_back()
    with scene.asking() as interlock:
        assert interlock.ledger.state(scene.run_id) == scene.state()
        interlock.run("another", agent="coder", project="shop").command("ls")

    assert scene.verified().faults == []
    assert scene.verified_alone() == []
