"""`interlock undo --prune`: what it shows, asks and deletes, and what is said of it afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import msgspec
import pytest

from cli.asking import as_person, interlock, interlock_process, make_operator
from governed_edits.workbench import NOTES
from interlock import FileEdit, Interlock
from interlock.edits.retention import all_held
from interlock.edits.snapshot import take_snapshot
from interlock.model.short_code import code_of
from interlock.service.records.context import new_id
from service.ledgers import PASSPHRASE
from terminal import interlock_at_terminal
from warm_python import run_python

_EDITS = {"edits": [{"path": "a.txt", "old": "two", "new": "2\n2b"}]}
_ID = re.compile(r"interlock undo (\S+)")
_DAY_NS = 86_400 * 10**9


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of somebody without settings, who works in a folder with one file."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text(NOTES)
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("INTERLOCK_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.delenv("INTERLOCK_TOKEN", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path / "state" / "interlock" / "undo"


def _applied(*, edits: object = _EDITS) -> str:
    """Apply edits; return the id that puts them back."""
    result = interlock("edit", stdin=json.dumps(edits))
    assert result.exit_code == 0, result.stderr
    found = _ID.search(result.stdout)
    assert found is not None
    listed = json.loads(interlock("undo", "--list", "--json").stdout)
    [undo_id] = [each["id"] for each in listed if code_of(each["id"]) == found[1]]
    return undo_id


def _age(document: Path, *, days: int) -> None:
    then = document.stat().st_mtime_ns - days * _DAY_NS
    os.utime(document, ns=(then, then))


def _aged_set(store: Path, *, days: int = 31) -> str:
    undo_id = _applied()
    _age(store / "kept" / undo_id / "journal.json", days=days)
    return undo_id


def _size(store: Path) -> int:
    return sum(held.size_bytes for held in all_held(store))


def test_what_is_old_is_forgotten_and_what_is_not_can_be_put_back(store: Path) -> None:
    old = _aged_set(store)
    new = _applied(edits=[{"path": "b.txt", "old": "", "new": "b\n"}])

    result = as_person("undo", "--prune", "30", "--yes")

    assert result.exit_code == 0, result.stderr
    assert re.fullmatch(r"PRUNED  1 entry, \d+ bytes, kept 30 days ago or earlier\n", result.stdout)
    assert result.stderr == ""
    assert code_of(old) not in interlock("undo", "--list").stdout
    assert interlock("undo", new, "--yes").exit_code == 0
    assert not Path("b.txt").exists()
    assert interlock("verify").exit_code == 0


@pytest.mark.parametrize("arguments", [[], ["--yes"], ["--json"]])
def test_what_was_forgotten_is_told_as_that(store: Path, arguments: list[str]) -> None:
    undo_id = _aged_set(store)
    as_person("undo", "--prune", "30", "--yes")

    result = interlock("undo", undo_id, *arguments)

    assert result.exit_code == 1
    said = f"nothing is kept as `{undo_id}` in `{store}`: it was pruned, or never kept there"
    assert said in result.stderr
    assert "[y/N]" not in result.stderr


def test_a_copy_that_was_forgotten_is_told_as_that(store: Path, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.toml").write_text(
        '[destructive-ops.rules]\n"filesystem.delete-recursive-forced" = "allow-with-undo"\n'
    )
    Path("old").mkdir()
    Path("old", "notes.txt").write_text("keep me")
    kept = _copied_before_a_command()
    assert code_of(kept) in interlock("undo", "--list").stdout

    assert as_person("undo", "--prune", "0", "--yes").exit_code == 0
    result = interlock("undo", kept)

    assert result.exit_code == 1
    assert f"nothing is kept as `{kept}` in `{store}`: it was pruned" in result.stderr


def _copied_before_a_command() -> str:
    """Ask for a command that deletes, under a rule that copies first; return the copy's id."""
    with Interlock.open() as agent:
        answer = agent.run("clean", workspace=Path.cwd()).command("rm -rf old", cwd=str(Path.cwd()))
        assert answer.undo_id is not None
        return answer.undo_id


def test_an_id_that_is_not_on_record_is_told_as_that(store: Path) -> None:
    _applied()

    result = interlock("undo", "nonsense", "--yes")

    assert result.exit_code == 2
    assert "nothing on record can be put back as `nonsense`" in result.stderr


@pytest.mark.parametrize("stdin", ["", "y\n"])
def test_without_a_terminal_nothing_is_forgotten_unless_it_is_said(store: Path, stdin: str) -> None:
    _aged_set(store)
    before = list(all_held(store))

    result = interlock("undo", "--prune", "30", stdin=stdin)

    assert result.exit_code == 1
    assert f"store      {store}\n" in result.stderr
    amount = f"1 entry, {_size(store)} bytes"
    assert f"delete     {amount}, kept 30 days ago or earlier\n" in result.stderr
    assert f"nothing was deleted: {amount} would go; `--yes`" in result.stderr
    assert list(all_held(store)) == before


@pytest.mark.parametrize(("answer", "goes"), [("y", True), ("n", False), ("", False)])
def test_a_terminal_is_asked(store: Path, answer: str, *, goes: bool) -> None:
    _aged_by_another(store)
    make_operator(os.environ["INTERLOCK_LEDGER"])

    ended = interlock_at_terminal(["undo", "--prune", "30"], [answer, PASSPHRASE], stdin=None)

    assert "Delete them? They cannot be restored then. [y/N]" in ended.screen
    assert ("passphrase of anna" in ended.screen) is goes
    assert ended.code == (0 if goes else 1)
    assert (list(all_held(store)) == []) is goes


def _aged_by_another(store: Path) -> None:
    """Let another process apply edits: whoever descends from it would decide nothing."""
    done = interlock_process("edit", stdin=json.dumps(_EDITS).encode())
    assert done.returncode == 0, done.stderr
    [journal] = (store / "kept").glob("*/journal.json")
    _age(journal, days=31)


@pytest.mark.parametrize("yes", [[], ["--yes"]])
def test_nobody_forgets_without_a_passphrase(store: Path, yes: list[str]) -> None:
    _aged_by_another(store)
    make_operator(os.environ["INTERLOCK_LEDGER"])
    before = list(all_held(store))

    for answers in (["y", "not the passphrase"], ["y", ""]):
        words = answers if not yes else answers[1:]
        ended = interlock_at_terminal(["undo", "--prune", "30", *yes], words, stdin=None)
        assert ended.code == 1
        assert "the passphrase is not that of operator `anna`" in ended.screen
    assert list(all_held(store)) == before


def test_many_get_a_bar(store: Path) -> None:
    for number in range(60):
        take_snapshot(store, f"{number}", ["a.txt"], workspace=Path.cwd(), limit_bytes=10**6)
    make_operator(os.environ["INTERLOCK_LEDGER"])

    words = ["undo", "--prune", "0", "--yes"]
    ended = interlock_at_terminal(words, [PASSPHRASE], stdin=None)

    assert ended.code == 0
    assert "pruning" in ended.screen
    assert "60 of 60" in ended.screen
    assert "PRUNED" in ended.screen


def test_json_tells_what_was_forgotten(store: Path) -> None:
    undo_id = _aged_set(store)
    size_bytes = _size(store)

    result = as_person("undo", "--prune", "30", "--yes", "--json")

    told = json.loads(result.stdout)
    [entry] = told["pruned"]
    assert (entry["id"], entry["kind"], entry["size_bytes"]) == (undo_id, "edits", size_bytes)
    assert (told["damaged"], told["size_bytes"]) == ([], size_bytes)


def test_there_may_be_nothing_to_forget(store: Path) -> None:
    assert as_person("undo", "--prune", "30").stdout == (
        "nothing to prune that was kept 30 days ago or earlier\n"
    )
    assert not store.exists()
    _applied()

    result = as_person("undo", "--prune", "1")

    assert result.exit_code == 0
    assert result.stdout == "nothing to prune that was kept 1 day ago or earlier\n"
    assert len(list(all_held(store))) == 1


def test_what_is_damaged_is_told_before_and_after(store: Path) -> None:
    damaged = _aged_set(store)
    (store / "kept" / damaged / "before" / "0").unlink()
    take_snapshot(store, new_id(), ["a.txt"], workspace=Path.cwd(), limit_bytes=10**6)

    asked = as_person("undo", "--prune", "0")
    done = as_person("undo", "--prune", "0", "--yes")

    said = f"`{store / 'kept' / damaged}` is damaged: what was kept of `a.txt` is not there"
    assert f"stays      {said}\n" in asked.stderr
    assert done.exit_code == 0
    assert done.stdout.splitlines()[1:] == [
        f"  stays    {said}",
        "look at what is damaged, then remove its folder by hand",
    ]
    assert [held.id for held in all_held(store)] == [damaged]


def test_what_a_process_that_died_has_left_goes_unasked(store: Path) -> None:
    undo_id = _aged_set(store)
    (store / "kept" / undo_id).rename(store / "kept" / ".forgotten-0123456789abcdef")

    result = as_person("undo", "--prune", "30")

    assert result.exit_code == 0
    assert re.search(
        r"^  deleted  \d+ bytes that were left from before$", result.stdout, re.MULTILINE
    )
    assert list((store / "kept").iterdir()) == []


def test_the_list_tells_sizes_and_how_to_forget(store: Path) -> None:
    undo_id = _applied()
    size_bytes = _size(store)

    lines = interlock("undo", "--list").stdout.splitlines()
    [listed] = json.loads(interlock("undo", "--list", "--json").stdout)

    assert lines[0].split() == ["id", "from", "size", "what"]
    assert re.fullmatch(rf"{code_of(undo_id)} +\d+ s +{size_bytes} bytes  a\.txt", lines[1])
    assert lines[2:] == [
        "",
        f"to put one back, such as the first: interlock undo {code_of(undo_id)}",
        "",
        f"the store holds 1 entry, {size_bytes} bytes; to delete what is old:"
        " interlock undo --prune 30d",
    ]
    assert listed["size_bytes"] == size_bytes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prune", "30", "--list"], "`--list` and `--prune AGE` are different calls"),
        (["--prune", "30", "an-id"], "`--list` and `--prune AGE` are different calls"),
        (["--prune", "30", "--run", "a"], "`--run` goes with the list alone"),
        (["--prune", "-1"], "`-1` is no span of time"),
        (["--prune", "soon"], "`soon` is no span of time: expected such as"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    store: Path, arguments: list[str], said: str
) -> None:
    result = interlock("undo", *arguments, "--yes")

    assert result.exit_code == 2
    assert said in result.stderr
    assert not store.exists()


def test_where_nobody_may_decide_nothing_is_forgotten(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _aged_set(store)
    before = list(all_held(store))
    refused = interlock("undo", "--prune", "30", "--yes")
    monkeypatch.setenv("INTERLOCK_LEDGER", str(tmp_path / "another.db"))
    without = interlock("undo", "--prune", "30", "--yes")

    assert (refused.exit_code, without.exit_code) == (1, 1)
    assert "makes the first one with `interlock setup`" in refused.stderr
    assert "there is no ledger" in without.stderr
    assert list(all_held(store)) == before
    assert not (tmp_path / "another.db").exists()


def test_a_set_that_is_not_on_record_stays_and_is_not_applied_twice(store: Path) -> None:
    edits = [FileEdit(path="a.txt", old="two\n", new="two\nmore\n")]
    with Interlock.open() as agent:
        run_id = agent.run("edit", workspace=Path.cwd()).id
    _dies_after_applying(run_id, edits)
    applied = Path("a.txt").read_text()
    [held] = all_held(store)

    done = as_person("undo", "--prune", "0")
    told = json.loads(interlock("undo", "--prune", "0", "--json").stdout)
    with Interlock.open() as agent:
        again = agent.resume(run_id).apply_edits(edits, key="once")

    assert done.stdout.splitlines() == [
        "nothing to prune that was kept before now",
        f"  stays    `{held.id}` was applied, but is not on record: ask again with its key",
    ]
    assert (told["pruned"], told["unrecorded"]) == ([], [held.id])
    assert again.repeated
    assert Path("a.txt").read_text() == applied == "one\ntwo\nmore\nthree\n"
    assert as_person("undo", "--prune", "0", "--yes").stdout.startswith("PRUNED  1 entry")


_DIES = """
import os, signal, sys
from pathlib import Path
import msgspec
from interlock import FileEdit, Interlock

real = os.rename

def renamed(start, end, **named):
    real(start, end, **named)
    if "kept" in Path(os.fsdecode(end)).parts:
        os.kill(os.getpid(), signal.SIGKILL)

edits = msgspec.json.decode(sys.argv[2], type=list[FileEdit])
with Interlock.open() as agent:
    os.rename = renamed
    agent.resume(sys.argv[1]).apply_edits(edits, key="once")
"""


def _dies_after_applying(run_id: str, edits: list[FileEdit]) -> None:
    """Let a process apply edits, and die before it has recorded that."""
    done = run_python("-c", _DIES, run_id, msgspec.json.encode(edits).decode())
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def test_a_set_of_another_ledger_goes_as_well(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _aged_set(store)
    monkeypatch.setenv("INTERLOCK_LEDGER", str(tmp_path / "another.db"))
    _applied(edits=[{"path": "b.txt", "old": "", "new": "b\n"}])

    assert as_person("undo", "--prune", "30", "--yes").stdout.startswith("PRUNED  1 entry")
    assert len(list(all_held(store))) == 1
