"""`interlock audit`: histories found, read, kept, shown, marked; whatever stands in them."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.asking import interlock, interlock_process, program
from effort import rounds
from interlock.cli.call.exit_code import ExitCode
from patience import LONG_ENOUGH_S, wait_until
from secret_generator import from_template
from warm_python import PythonProcess

_JOURNAL = "work.jsonl"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where audits are kept; the home is empty."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "state" / "interlock" / "audits"


@pytest.fixture
def histories(tmp_path: Path) -> Path:
    """A folder with what two agents did."""
    folder = tmp_path / "histories"
    folder.mkdir()
    write(folder / "a.jsonl", [run("4f1c", ["ls", "rm -rf ~", "git push --force origin main"])])
    write(folder / "b.jsonl", [run("77d0", ["pytest"]), run("c3d9", ["cat .env"])])
    return folder


def run(name: str, commands: Sequence[str], size: int = 0) -> dict[str, Any]:
    """Return a run of these commands."""
    calls = [
        {
            "role": "assistant",
            "tool": "Bash",
            "args": json.dumps({"command": each}),
            "result_excerpt": f"ok {'x' * size}",
            "tokens": {"in": 100, "out": 10},
        }
        for each in commands
    ]
    return {
        "run_id": name,
        "agent": "claude-code",
        "steps": [{"role": "user", "text": "go"}, *calls],
    }


def write(path: Path, runs: Sequence[object]) -> None:
    """Write runs as lines of JSON."""
    path.write_text("".join(f"{json.dumps(each)}\n" for each in runs))


def audit(*arguments: str | Path) -> dict[str, Any]:
    """Audit in this process; return the report."""
    result = interlock("audit", "--json", "--processes", "1", *map(str, arguments))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def sums(report: dict[str, Any]) -> dict[str, Any]:
    """Return what must come out alike however the work was done."""
    return {name: value for name, value in report.items() if name not in {"id", "at"}}


def test_a_folder_is_read_and_told(histories: Path) -> None:
    result = interlock("audit", str(histories))

    assert result.exit_code == 0, result.output
    assert "3 runs" in result.output or "3 sessions" in result.output
    assert "rm -rf ~" in result.stdout
    assert "nothing is sent anywhere" in result.stderr


def test_the_report_is_one_object_of_json(histories: Path) -> None:
    report = audit(histories)

    assert (report["runs"], report["calls"]) == (3, 5)
    assert report["decisions"]["block"] == 1
    assert report["moments"][0]["text"] == "rm -rf ~"
    assert report["places"][0]["files"] == 2


def test_the_histories_are_as_they_were(histories: Path) -> None:
    before = {
        each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in histories.iterdir()
    }

    audit(histories)

    after = {
        each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in histories.iterdir()
    }
    assert before == after


def test_what_was_read_is_not_read_again_until_it_changes(histories: Path, state: Path) -> None:
    first = audit(histories)
    (line, *_) = (state / _JOURNAL).read_bytes().splitlines(keepends=True)
    told = line.replace(b'"rm -rf ~"', b'"kept by hand"')
    (state / _JOURNAL).write_bytes((state / _JOURNAL).read_bytes().replace(line, told))

    assert audit(histories)["moments"][0]["text"] == "kept by hand"
    os.utime(histories / "a.jsonl", (1, 1))
    assert sums(audit(histories)) == sums(first)


def test_what_came_to_a_run_of_many_files_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "events"
    folder.mkdir(parents=True)
    for number, line in enumerate(("ls", "rm -rf ~", "ls")):
        event = {"id": number, "source": "agent", "action": "run", "args": {"command": line}}
        (folder / f"{number}.json").write_text(json.dumps(event))
        report = audit(tmp_path / "session")

        assert (report["runs"], report["calls"]) == (1, number + 1)
        assert [each["text"] for each in report.get("moments", [])] == ["rm -rf ~"][:number]


def test_what_is_gone_is_forgotten(histories: Path, state: Path) -> None:
    audit(histories)
    (histories / "a.jsonl").unlink()

    assert audit(histories)["runs"] == 2
    assert len((state / _JOURNAL).read_bytes().splitlines()) == 1


def test_another_policy_is_judged_by_anew(histories: Path, tmp_path: Path) -> None:
    audit(histories)
    loose = tmp_path / "loose.toml"
    loose.write_text("[destructive-ops.rules]\n'git.push-force' = 'off'\n")

    rules = audit(histories, "--policy", loose)["rules"]

    assert "git.push-force" not in rules


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """More than one process would read in a moment: few commands, but long results."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        commands = [f"ls {number}-{place}" for place in range(14)]
        write(folder / f"{number}.jsonl", [run(f"r{number}", [*commands, "rm -rf ~"], size=28_000)])
    return folder


def test_several_processes_come_to_the_same_as_one(many: Path, state: Path) -> None:
    alone = audit(many)
    (state / _JOURNAL).unlink()

    done = interlock_process("audit", "--json", "--processes", "2", str(many))
    assert sums(json.loads(done.stdout)) == sums(alone)
    assert (alone["runs"], alone["decisions"]) == (12, {"allow": 168, "block": 12})


@pytest.mark.parametrize("kept", [0, 1, 7])
def test_a_half_written_journal_is_gone_on_with(many: Path, state: Path, kept: int) -> None:
    whole = audit(many)
    lines = (state / _JOURNAL).read_bytes().splitlines(keepends=True)
    torn = b"".join(lines[:kept]) + lines[kept][: len(lines[kept]) // 2]
    (state / _JOURNAL).write_bytes(torn)

    assert sums(audit(many)) == sums(whole)


def test_damaged_lines_of_the_journal_are_read_anew(many: Path, state: Path) -> None:
    whole = audit(many)
    lines = (state / _JOURNAL).read_bytes().splitlines(keepends=True)
    broken = [b"{garbage\n", lines[0].replace(b'"path":"', b'"path":"\xc3'), b"\xff\n"]
    (state / _JOURNAL).write_bytes(b"".join([*broken, *lines[3:], lines[5]]))

    assert sums(audit(many)) == sums(whole)


def test_a_killed_audit_is_gone_on_with_and_leaves_no_process(many: Path, state: Path) -> None:
    process = PythonProcess[bytes](
        program(["audit", "--json", "--processes", "2", str(many)]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: process.poll() is not None or lines_in(state / _JOURNAL) > 0)
        below = children(process.pid)
    finally:
        process.kill()
        process.wait()

    wait_until(lambda: not any(map(is_running, below)))
    read = lines_in(state / _JOURNAL)
    report = audit(many)

    assert read >= 1
    assert (report["runs"], report["calls"]) == (12, 180)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A history of holes: it takes no room, and longer to read than anybody waits."""
    path = tmp_path / "endless.jsonl"
    write(path, [run("4f1c", ["ls"])])
    os.truncate(path, 2**40)
    return path


def test_an_interrupted_audit_says_how_to_go_on(many: Path, endless: Path, state: Path) -> None:
    process = PythonProcess[bytes](
        program(["audit", "--json", "--processes", "2", str(many), str(endless)]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: process.poll() is not None or lines_in(state / _JOURNAL) > 0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LONG_ENOUGH_S)

    assert process.returncode == ExitCode.INTERRUPTED
    assert said.endswith(
        b"\ninterrupted: each file that was read to its end is kept,"
        b" and the same command goes on with the others\n"
    )
    assert audit(many)["runs"] == 12


def test_only_one_audit_works_at_a_time(histories: Path, state: Path) -> None:
    state.mkdir(parents=True)
    with (state / "work.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = interlock("audit", str(histories))

    assert result.exit_code == 2
    assert "another audit is at work" in result.stderr


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_to_read_on_this_computer() -> None:
    result = interlock("audit")

    assert result.exit_code == 2
    assert "no history of an agent was found on this computer" in result.stderr


def _bad(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    empty = tmp_path / "empty"
    empty.mkdir()
    yield empty, "that can be read: expected a file of one of these formats"
    other = tmp_path / "notes.txt"
    other.write_text("hello\n")
    yield other, "of no format that is known"
    nothing = tmp_path / "nothing.jsonl"
    nothing.touch()
    yield nothing, "it is empty"
    yield tmp_path / "missing", "there is no such file or folder"


def test_what_is_no_history_is_said(tmp_path: Path) -> None:
    for path, words in _bad(tmp_path):
        result = interlock("audit", str(path))

        assert result.exit_code == 2
        assert words in result.stderr


def test_what_cannot_be_read_is_told_and_the_rest_is_read(histories: Path) -> None:
    lines = (histories / "a.jsonl").read_text()
    (histories / "a.jsonl").write_text(f'{lines}{{"steps": 1}}\n{lines[:40]}')

    report = audit(histories)

    assert report["runs"] == 3
    assert report["unread_count"] == 2
    assert {each["line"] for each in report["unread"]} == {2, 3}


def test_a_folder_that_may_not_be_opened_is_told(histories: Path) -> None:
    closed = histories / "closed"
    closed.mkdir()
    write(closed / "c.jsonl", [run("x", ["ls"])])
    closed.chmod(0)
    try:
        report = audit(histories)
    finally:
        closed.chmod(0o700)

    if os.geteuid() == 0:
        assert report["runs"] == 4
    else:
        assert report["unread"][0]["path"] == str(closed)


def test_a_place_that_may_not_be_looked_at_keeps_no_other_from_being_read(
    histories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories.rename(tmp_path / "projects")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    # Who is root may look everywhere; nobody may look at a name as long as this.
    monkeypatch.setenv("CODEX_HOME", f"/{'x' * 5_000}")

    report = audit()

    assert report["runs"] == 3
    assert {each["reason"] for each in report["unread"]} == {"File name too long"}


def test_no_secret_gets_out(histories: Path, state: Path, tmp_path: Path) -> None:
    secret = from_template("ghp_[A-Za-z0-9]{36}", 7)
    write(
        histories / "s.jsonl", [run("s", [f"curl -H 'Authorization: Bearer {secret}' x.example"])]
    )
    page = tmp_path / "page.html"
    report = audit(histories, "--html", page)

    kept = b"".join(each.read_bytes() for each in state.iterdir() if each.is_file())
    assert report["counts"].get("secret") == 1
    assert secret not in json.dumps(report)
    assert secret.encode() not in kept
    assert secret not in page.read_text()


def test_audits_are_kept_listed_and_shown_again(histories: Path) -> None:
    first, second = audit(histories), audit(histories)

    listed = json.loads(interlock("audit", "list", "--json").stdout)["audits"]
    assert [each["id"] for each in listed] == [second["id"], first["id"]]
    assert listed[0]["places"] == [str(histories)]
    assert f"interlock: {histories}" in interlock("audit", "list").stdout
    shown = json.loads(interlock("audit", "show", first["id"], "--json").stdout)
    assert shown == first
    assert "rm -rf ~" in interlock("audit", "show").stdout


def test_an_audit_of_a_single_run_is_read_back(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", [run("r", ["rm -rf ~"])])
    made = audit(tmp_path / "one.jsonl")

    assert json.loads(interlock("audit", "show", "--json").stdout) == made


def test_without_an_audit_there_is_nothing_to_show() -> None:
    assert "there is no audit yet" in interlock("audit", "show").stderr
    assert "no audit yet" in interlock("audit", "list").stdout
    assert "there is no audit `x`" in interlock("audit", "show", "x").stderr


def test_a_moment_is_marked_and_the_last_mark_counts(histories: Path, state: Path) -> None:
    moment = audit(histories)["moments"][0]
    interlock("audit", "mark", moment["id"], "right")
    result = interlock("audit", "mark", moment["id"][:6], "wrong", "--json")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["mark"] == "wrong"
    assert len((state / "marks.jsonl").read_bytes().splitlines()) == 2
    assert "wrong" in interlock("audit", "show").stdout


def test_a_moment_that_is_to_be_explained_is_told_where_it_is(histories: Path) -> None:
    moment = audit(histories)["moments"][0]["id"]

    told = interlock("explain", moment[:6])
    other = interlock("explain", "zzzz")

    assert "is a moment of an audit, of `filesystem.delete-root`" in told.stderr
    assert "`interlock audit show` has it" in told.stderr
    assert "there is no ledger" in other.stderr


@pytest.mark.parametrize(
    ("typed", "meant"), [("shows", "show"), ("unmark", "mark"), ("lists", "list")]
)
def test_a_misspelt_word_is_no_history(
    typed: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = interlock("audit", typed, "x")
    (tmp_path / typed).mkdir()
    write(tmp_path / typed / "a.jsonl", [run("r", ["ls"])])

    assert result.exit_code == 2
    assert f"did you mean `audit {meant}`?" in result.stderr
    assert interlock("audit", typed).exit_code == 0, "a folder of that name is read"


def test_a_mark_is_taken_back(histories: Path) -> None:
    moment = audit(histories)["moments"][0]["id"]
    interlock("audit", "mark", moment, "wrong")
    result = interlock("audit", "mark", moment, "none")

    assert result.stdout.startswith("mark taken back: ")
    assert "marked wrong" not in interlock("audit", "show").stdout
    assert "unknown until you mark some" in interlock("audit", "show").stdout


def test_a_mark_that_names_no_moment(histories: Path) -> None:
    audit(histories)

    assert "no kept audit has a moment `zz`" in interlock("audit", "mark", "zz", "right").stderr
    result = interlock("audit", "mark", "zz", "perhaps")
    assert result.exit_code == 2


def test_a_torn_mark_harms_no_other(histories: Path, state: Path) -> None:
    first, second, *_ = audit(histories)["moments"]
    interlock("audit", "mark", first["id"], "right")
    with (state / "marks.jsonl").open("ab") as marks:
        marks.write(b'{"moment": {')
    interlock("audit", "mark", second["id"], "wrong")

    shown = interlock("audit", "show").stdout
    assert "right" in shown
    assert "wrong" in shown
    assert len((state / "marks.jsonl").read_bytes().splitlines()) == 3


def test_a_moment_is_named_in_either_case_and_a_mark_is_taken_back_once(histories: Path) -> None:
    name = next(each["id"] for each in audit(histories)["moments"] if not each["id"].isdecimal())

    assert interlock("audit", "mark", name.upper(), "right").exit_code == 0
    assert interlock("audit", "mark", name, "none").exit_code == 0
    assert "there was no mark" in interlock("audit", "mark", name, "none").stdout


def test_a_place_is_told_in_one_piece(histories: Path) -> None:
    deep = histories / ("d" * 120)
    deep.mkdir()
    moved = (histories / "a.jsonl").rename(deep / "a.jsonl")

    assert f"{moved}:1\n" in interlock("audit", str(histories)).stdout


def test_half_a_character_harms_no_other(histories: Path, state: Path) -> None:
    first, second, *_ = audit(histories)["moments"]
    interlock("audit", "mark", first["id"], "right")
    interlock("audit", "mark", second["id"], "wrong")
    marks, kept = state / "marks.jsonl", max(state.glob("*.json"))
    marks.write_bytes(marks.read_bytes().replace(b'"by":"', b'"by":"\xc3', 1))
    audit(histories)
    kept.write_bytes(kept.read_bytes().replace(b'"version":"', b'"version":"\xc3'))

    assert interlock("audit", "show").stdout.count("marked ") >= 1
    assert kept.stem not in interlock("audit", "list").stdout


@pytest.mark.parametrize("word", [[], ["show"]])
def test_no_history_is_written_over(word: Sequence[str], histories: Path) -> None:
    audit(histories)
    named = histories / "a.jsonl"
    before = named.read_bytes()

    others = [] if word else [str(histories / "b.jsonl")]
    result = interlock("audit", *word, "--html", str(named), *others)

    assert (result.exit_code, named.read_bytes()) == (2, before)
    assert "is no such file of Interlock" in result.stderr


def test_only_the_owner_can_read_what_is_kept(histories: Path, state: Path) -> None:
    moment = audit(histories)["moments"][0]
    interlock("audit", "mark", moment["id"], "right")

    assert state.stat().st_mode & 0o077 == 0
    assert all(each.stat().st_mode & 0o077 == 0 for each in state.iterdir())


def test_a_page_that_may_not_be_written_is_refused_before_the_work(
    histories: Path, tmp_path: Path, state: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    result = interlock("audit", str(histories), "--html", str(closed / "page.html"))

    if os.geteuid() == 0:
        assert result.exit_code == 0
    else:
        assert "cannot be written: Permission denied" in result.stderr
        assert not state.exists()


def test_a_page_whose_folder_is_missing_is_refused_before_the_work(histories: Path) -> None:
    result = interlock("audit", str(histories), "--html", "missing/page.html")

    assert result.exit_code == 2
    assert "its folder does not exist" in result.stderr


@pytest.mark.parametrize("show", [False, True])
def test_a_file_that_is_no_report_is_not_lost(
    histories: Path, tmp_path: Path, *, show: bool
) -> None:
    audit(histories)
    words = ["audit", "show"] if show else ["audit", str(histories)]
    page = tmp_path / "page.html"
    page.write_text("<p>my thesis on the Interlock audit report</p>")
    refused = interlock(*words, "--html", str(page))

    assert refused.exit_code == 2
    assert "is no such file of Interlock: name another, or replace it" in refused.stderr
    assert page.read_text() == "<p>my thesis on the Interlock audit report</p>"
    assert interlock(*words, "--html", str(page), "--force").exit_code == 0
    assert interlock(*words, "--html", str(page)).exit_code == 0, "its own it replaces"


def test_a_file_that_cannot_be_read_is_told(histories: Path, tmp_path: Path) -> None:
    name = tmp_path / ("x" * 300)

    assert "cannot be written" in interlock("audit", str(histories), "--html", str(name)).stderr


def test_the_shared_sessions_are_audited(tmp_path: Path) -> None:
    shared = os.environ.get("INTERLOCK_SHARED")
    if not shared:
        pytest.skip("INTERLOCK_SHARED is not set")
    packed = Path(shared, "data", "sessions.dev.jsonl.gz").read_bytes()
    sessions = gzip.decompress(packed).splitlines(keepends=True)
    some = sessions[:: rounds(short=10, soak=1)]
    (tmp_path / "sessions.jsonl.gz").write_bytes(gzip.compress(b"".join(some)))

    report = audit(tmp_path / "sessions.jsonl.gz")

    assert len(sessions) == 220
    assert report["runs"] == len(some)
    assert report.get("unread_count", 0) == 0


def test_a_name_that_is_no_text_is_told(histories: Path) -> None:
    odd = os.fsdecode(os.fsencode(histories) + b"/odd\xff.jsonl")
    os.link(histories / "a.jsonl", odd)

    report = audit(histories)

    assert report["runs"] == 3
    [unread] = report["unread"]
    assert unread["path"].endswith("odd?.jsonl")
    assert "not UTF-8" in unread["reason"]


def test_everything_that_could_not_be_read_is_counted(histories: Path) -> None:
    with (histories / "a.jsonl").open("a") as file:
        file.write("nonsense\n" * 50)

    report = audit(histories)

    assert (len(report["unread"]), report["unread_count"]) == (20, 50)
    assert "and 30 more" in interlock("audit", str(histories)).stdout
