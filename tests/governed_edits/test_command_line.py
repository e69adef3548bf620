"""`interlock edit` and `interlock undo`: what they print, ask, and leave with."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from cli.asking import interlock, program
from effort import DURABLE
from governed_edits.workbench import NOTES
from interlock import Interlock
from interlock.model.short_code import code_of
from service.ledgers import operator_of
from warm_python import PythonProcess

_EDITS = {"edits": [{"path": "a.txt", "old": "two", "new": "2\n2b"}]}
_ID = re.compile(r"interlock undo (\S+)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file, whose owner has no settings."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text(NOTES)
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.delenv("INTERLOCK_TOKEN", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return work


@pytest.fixture(params=DURABLE)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    is_file = request.param == "sqlite"
    found = (
        str(tmp_path / "ledger.db") if is_file else request.getfixturevalue("postgres_ledger_url")
    )
    monkeypatch.setenv("INTERLOCK_LEDGER", found)
    return found


def _applied() -> str:
    """Apply the edits; return the id that puts them back."""
    result = interlock("edit", stdin=json.dumps(_EDITS))
    assert result.exit_code == 0, result.stderr
    found = _ID.search(result.stdout)
    assert found is not None
    listed = json.loads(interlock("undo", "--list", "--json").stdout)
    [undo_id] = [each["id"] for each in listed if code_of(each["id"]) == found[1]]
    return undo_id


def test_edits_are_applied_listed_and_put_back(folder: Path, place: str) -> None:
    undo_id = _applied()
    assert (folder / "a.txt").read_text() == "one\n2\n2b\nthree\n"
    assert code_of(undo_id) in interlock("undo", "--list").stdout
    bare = interlock("undo")
    assert bare.exit_code == 0
    assert f"to put one back, such as the first: interlock undo {code_of(undo_id)}\n" in bare.stdout
    [listed] = json.loads(interlock("undo", "--list", "--json", "--run", undo_id[:13]).stdout)
    assert (listed["id"], listed["paths"]) == (undo_id, ["a.txt"])

    result = interlock("undo", undo_id, "--yes")

    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "PUT BACK  1 path",
        "  a.txt",
        "",
        f"to undo it: interlock undo {code_of(f'{undo_id}-undo')}",
    ]
    assert (folder / "a.txt").read_text() == NOTES
    shown = interlock("show", undo_id[:36], "--all").stdout
    assert "applied   a.txt  1 file" in shown
    assert "put back  a.txt  edits" in shown
    assert "finished  applied" in shown
    again = interlock("undo", f"{undo_id}-undo", "--yes", "--json")
    assert json.loads(again.stdout)["undo_id"] == f"{undo_id}-undo-undo"
    assert (folder / "a.txt").read_text() == "one\n2\n2b\nthree\n"
    assert interlock("verify").exit_code == 0


def test_the_beginning_of_an_id_is_enough_while_it_names_one(folder: Path, place: str) -> None:
    undo_id = _applied()

    short = interlock("undo", code_of(undo_id).lower(), "--yes")
    assert short.exit_code == 0, short.stderr
    assert (folder / "a.txt").read_text() == NOTES

    _applied()
    unclear = interlock("undo", undo_id[:2], "--yes")
    assert unclear.exit_code == 2
    assert f"`{undo_id[:2]}` could be more than one thing to put back" in unclear.stderr
    nothing = interlock("undo", "zz", "--yes")
    assert "nothing on record can be put back as `zz`" in nothing.stderr


def test_nobody_there_to_answer_is_told_how_to_do_without(folder: Path, place: str) -> None:
    undo_id = _applied()
    changed = (folder / "a.txt").read_text()

    for stdin, told in (("", "`--yes` puts back without asking"), ("n\n", "nothing was put back")):
        result = interlock("undo", undo_id, stdin=stdin)

        assert result.exit_code == 1
        assert told in result.stderr
        assert (folder / "a.txt").read_text() == changed


def test_what_was_applied_is_told(folder: Path) -> None:
    edits = [*_EDITS["edits"], {"path": "new/b.txt", "old": "", "new": "b\n"}]

    lines = interlock("edit", stdin=json.dumps(edits)).stdout.splitlines()

    assert lines[:4] == ["APPLIED  2 files, +3 -1", "  changed  a.txt", "  made     new/b.txt", ""]
    assert (folder / "new" / "b.txt").read_text() == "b\n"


def test_a_dry_run_prints_a_patch_and_needs_no_ledger(folder: Path, tmp_path: Path) -> None:
    result = interlock("edit", "--dry-run", stdin=json.dumps(_EDITS))
    as_json = interlock("edit", "--dry-run", "--json", stdin=json.dumps(_EDITS))

    assert result.exit_code == 0
    assert (folder / "a.txt").read_text() == NOTES
    assert not (tmp_path / "state").exists()
    assert json.loads(as_json.stdout)["diff"] == result.stdout
    assert json.loads(as_json.stdout)["answer"] is None
    subprocess.run(["patch", "-p1"], input=result.stdout.encode(), check=True, capture_output=True)
    assert (folder / "a.txt").read_text() == "one\n2\n2b\nthree\n"


def test_a_dry_run_of_a_run_looks_into_its_workspace(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    with Interlock.open(place) as agent:
        run = agent.run("edit", workspace=folder)
        bare = agent.run("nowhere")
    monkeypatch.chdir(tmp_path)

    assert "+2b" in interlock("edit", "--dry-run", "--run", run.id, stdin=json.dumps(_EDITS)).stdout
    result = interlock("edit", "--dry-run", "--run", bare.id, stdin=json.dumps(_EDITS))
    assert result.exit_code == 2
    assert "has no workspace" in result.stderr


def test_a_terminal_gets_colours_and_no_control_characters(folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo \x1b[31m\nthree\n")
    master, slave = pty.openpty()
    with PythonProcess[bytes](
        program(["edit", "--dry-run"]),
        stdin=subprocess.PIPE,
        stdout=slave,
        env={**os.environ, "TERM": "xterm-256color"},
    ) as child:
        os.close(slave)
        assert child.stdin is not None
        child.stdin.write(json.dumps(_EDITS).encode())
        child.stdin.close()
        said = _all_of(master)
        assert child.wait() == 0

    assert "\x1b[32m+2\x1b[0m" in said
    assert "-two \\x1b[31m" in said


def _all_of(master: int) -> str:
    pieces: list[bytes] = []
    try:
        while piece := os.read(master, 4096):
            pieces.append(piece)
    except OSError:
        # The other end was closed.
        pass
    finally:
        os.close(master)
    return b"".join(pieces).decode()


def test_a_refusal_says_why_and_leaves_with_its_code(folder: Path, place: str) -> None:
    edits = [{"path": "interlock.toml", "old": "", "new": "version = 1\n"}]

    result = interlock("edit", stdin=json.dumps(edits))
    as_json = interlock("edit", "--json", stdin=json.dumps(edits))

    assert result.exit_code == as_json.exit_code == 4
    assert result.stdout.startswith("DENY  must not happen\n")
    assert result.stdout.endswith("\nnothing was changed\n")
    told = json.loads(as_json.stdout)
    assert (told["allowed"], told["undo_id"]) == (False, None)
    assert told["answer"]["decision"] == "block"
    assert not (folder / "interlock.toml").exists()


def test_a_person_agrees_in_between(folder: Path, place: str, tmp_path: Path) -> None:
    policy = tmp_path / "config" / "policy.toml"
    policy.parent.mkdir()
    policy.write_text('[diff-size]\nthreshold = 1\ndecision = "require-confirmation"\n')

    asked = interlock("edit", stdin=json.dumps(_EDITS))
    assert asked.exit_code == 3
    assert (folder / "a.txt").read_text() == NOTES
    approve = re.search(r"interlock approve (\S+)", asked.stdout)
    again = re.search(r"interlock edit --run (\S+)", asked.stdout)
    assert approve is not None
    assert again is not None
    with Interlock.open(place) as governed:
        token = operator_of(governed)
        governed.approve(approve[1], token=token)
    done = interlock("edit", "--run", again[1], stdin=json.dumps(_EDITS))

    assert done.exit_code == 0, done.stderr
    assert (folder / "a.txt").read_text() == "one\n2\n2b\nthree\n"


def test_a_key_makes_it_safe_to_ask_again(folder: Path, place: str) -> None:
    with Interlock.open(place) as agent:
        run = agent.run("edit", workspace=folder)
    call = ("edit", "--run", run.id, "--key", "once")

    first = interlock(*call, stdin=json.dumps(_EDITS))
    again = interlock(*call, stdin=json.dumps(_EDITS))

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert again.stdout.startswith("APPLIED  1 file, when it was first asked for\n")
    assert _ID.findall(first.stdout) == _ID.findall(again.stdout)
    assert (folder / "a.txt").read_text() == "one\n2\n2b\nthree\n"


def test_a_person_is_asked_before_anything_is_put_back(folder: Path, place: str) -> None:
    undo_id = _applied()

    refused = interlock("undo", undo_id, stdin="n\n")
    nobody = interlock("undo", undo_id, stdin="")
    assert (refused.exit_code, nobody.exit_code) == (1, 1)
    assert f"workspace  {folder}" in refused.stderr
    assert "put back   a.txt" in refused.stderr
    assert (folder / "a.txt").read_text() != NOTES
    agreed = interlock("undo", undo_id, stdin="y\n")

    assert agreed.exit_code == 0
    assert (folder / "a.txt").read_text() == NOTES


def test_a_file_that_has_changed_since_is_left_alone(folder: Path, place: str) -> None:
    undo_id = _applied()
    (folder / "a.txt").write_text("somebody else's\n")

    result = interlock("undo", undo_id, "--yes")

    assert result.exit_code == 1
    assert (
        f"`a.txt` has changed since `{undo_id}` was applied: nothing was put back" in result.stderr
    )
    assert (folder / "a.txt").read_text() == "somebody else's\n"


def test_there_may_be_nothing_to_put_back(folder: Path, place: str) -> None:
    with Interlock.open(place) as agent:
        agent.run("edit", workspace=folder)

    assert interlock("undo", "--list").stdout == "nothing to put back\n"
    assert interlock("undo", "--list", "--json").stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["undo", "a", "--list"], "an ID, `--list` and `--prune AGE` are different calls"),
        (["undo", "a", "--run", "b"], "`--run` goes with the list alone"),
        (["edit", "--run", "a", "--workspace", "."], "`--workspace` does not go with `--run`"),
        (["edit", "--workspace", "nowhere"], "does not exist"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(arguments: list[str], said: str) -> None:
    result = interlock(*arguments, stdin="[]")

    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        ("", "the edits are no JSON: Input data was truncated: send `{"),
        ('{"edits": [', "the edits are no JSON: Input data was truncated"),
        (b"\xff", "the edits are no JSON"),
        ("[" * 100_000, "the edits are no JSON: maximum recursion depth exceeded"),
        ('[{"path": "\\ud800", "old": "", "new": ""}]', "the edits are no JSON"),
        ('"a"', 'the edits are `"a"`, expected `{'),
        ("{}", "`edits` is missing, expected a list"),
        ('{"edits": null}', "`edits` is `null`, expected a list"),
        ('{"edits": [], "dry": 1}', "`dry` is not known here"),
        ("[1]", "`edits[0]` is `1`, expected a table"),
        ('[{"path": "a", "new": ""}]', "`edits[0].old` is missing, expected a text: an empty one"),
        (
            '[{"path": "a", "old": "", "new": ""}, {"path": "b", "old": "", "new": 7}]',
            "`edits[1].new` is `7`, expected a text",
        ),
        ('[{"path": ["a"], "old": "", "new": ""}]', '`edits[0].path` is `["a"]`, expected a text'),
        (
            '[{"path": "a", "old": "", "new": "", "replace_all": "yes"}]',
            '`edits[0].replace_all` is `"yes"`, expected true or false',
        ),
        (
            '[{"path": "a", "old_string": "", "new": ""}]',
            "`edits[0].old_string` is not known: expected `path`, `old`, `new`, `replace_all`",
        ),
        ('{"edits": "' + "x" * 100 + '"}', f'`edits` is `"{"x" * 59}…`, expected a list'),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(stdin: str | bytes, said: str) -> None:
    result = interlock("edit", "--dry-run", stdin=stdin)

    assert result.exit_code == 2
    assert said in result.stderr


def test_no_edits_are_no_set(folder: Path) -> None:
    result = interlock("edit", "--json", stdin="[]")

    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"] == "there is no edit in the set: give at least one"
