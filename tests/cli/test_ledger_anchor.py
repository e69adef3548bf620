"""`interlock ledger anchor`: shown, sent out, held against, and a ledger accepted as it is."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import apsw
import pytest

from cli.asking import as_person, interlock, make_operator
from cli.ledgers import Story, a_story
from interlock import Interlock
from service.ledgers import PASSPHRASE
from terminal import own_terminal


def _anchor(*arguments: str) -> dict[str, object]:
    result = interlock("ledger", "anchor", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def _go_on(place: str, task: str = "later") -> None:
    with Interlock.open(place) as opened:
        opened.run(task).violation("r", "m")


@contextmanager
def _rolled_back(place: str) -> Generator[None]:
    """Write more within, then put the file back to what it was before."""
    kept = Path(f"{place}.kept")
    shutil.copy(place, kept)
    yield
    shutil.copy(kept, place)


def test_it_counts_what_is_there(any_place: str) -> None:
    a_story(any_place)
    before = _anchor()
    _go_on(any_place)
    after = _anchor()

    assert (before["records"], before["runs"]) == (18, 4)
    assert (after["records"], after["runs"]) == (20, 5)
    assert before["hash"] != after["hash"]
    assert before["ledger"] == after["ledger"]
    shown = interlock("ledger", "anchor").stdout
    assert f"{after['hash']}" in shown
    assert "20 in 5 chains" in shown


def test_nothing_in_it_is_secret(story: Story, tmp_path: Path) -> None:
    [key] = (tmp_path / "config" / "keys").glob("*.key")

    assert key.read_text().split()[0] not in interlock("ledger", "anchor", "--json").stdout


def test_it_goes_to_a_new_file_and_over_no_other(story: Story, tmp_path: Path) -> None:
    file = tmp_path / "anchor.json"

    anchor = _anchor("--to", str(file))
    again = interlock("ledger", "anchor", "--to", str(file))

    assert json.loads(file.read_text()) == anchor
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)
    nowhere = interlock("ledger", "anchor", "--to", str(tmp_path / "no" / "folder"))
    assert (nowhere.exit_code, "cannot be written" in nowhere.stderr) == (2, True)


def test_a_ref_of_a_repository_names_it(story: Story, tmp_path: Path) -> None:
    repository = tmp_path / "anchors"
    subprocess.run(["git", "init", "-q", repository], check=True)

    anchor = _anchor("--git-ref", "refs/anchors/ledger", "--repository", str(repository))

    shown = subprocess.run(
        ["git", "-C", repository, "cat-file", "blob", "refs/anchors/ledger"],
        check=True,
        capture_output=True,
    )
    assert json.loads(shown.stdout) == anchor


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("main", "no full name of a ref"),
        ("--stdin", "no full name of a ref"),
        ("refs/anchors/a b", "git refused it"),
        ("refs/heads/main", "git refused it"),
    ],
)
def test_other_refs_are_refused(story: Story, tmp_path: Path, ref: str, told: str) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "anchors"], check=True)

    result = interlock(
        "ledger", "anchor", f"--git-ref={ref}", "--repository", str(tmp_path / "anchors")
    )

    assert result.exit_code != 0
    assert told in result.stderr


def test_a_folder_that_is_no_repository_is_told(story: Story, tmp_path: Path) -> None:
    result = interlock(
        "ledger", "anchor", "--git-ref", "refs/anchors/x", "--repository", str(tmp_path)
    )

    assert result.exit_code != 0
    assert "git refused it" in result.stderr


class _Hook(BaseHTTPRequestHandler):
    taken: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/taken")
        elif self.path.startswith("/full"):
            self.send_response(507)
        else:
            self.taken.append(body)
            self.send_response(204)
        self.end_headers()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Generator[tuple[str, list[bytes]]]:
    taken: list[bytes] = []
    server = HTTPServer(("127.0.0.1", 0), type("Hook", (_Hook,), {"taken": taken}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_it_is_sent_to_a_webhook(story: Story, hook: tuple[str, list[bytes]]) -> None:
    url, taken = hook

    anchor = _anchor("--webhook", f"{url}/taken")

    assert [json.loads(each) for each in taken] == [anchor]


@pytest.mark.parametrize("path", ["/moved", "/full"])
def test_a_webhook_that_does_not_take_it_is_told(
    story: Story, hook: tuple[str, list[bytes]], path: str
) -> None:
    url, taken = hook

    result = interlock("ledger", "anchor", "--webhook", f"{url}{path}?token=secret")

    assert result.exit_code != 0
    assert "the webhook at 127.0.0.1 did not take it" in result.stderr
    assert "secret" not in result.stderr
    assert taken == []


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/y", "nonsense", "http://", "http://[x"]
)
def test_what_is_no_webhook_is_refused(story: Story, url: str) -> None:
    result = interlock("ledger", "anchor", "--webhook", url)

    assert (result.exit_code, "is no URL" in result.stderr) == (2, True)


def test_an_earlier_one_holds_however_far_the_ledger_went_on(
    any_place: str, tmp_path: Path
) -> None:
    a_story(any_place)
    file = tmp_path / "anchor.json"
    anchor = _anchor("--to", str(file))
    for number in range(3):
        _go_on(any_place, f"later {number}")

    assert _anchor("--check", str(file)) == anchor
    assert "everything that the anchor knows is still there" in (
        interlock("ledger", "anchor", "--check", str(file)).stdout
    )


def test_an_older_file_and_its_older_anchor_are_missed_by_an_exported_one(
    story: Story, tmp_path: Path
) -> None:
    """Nothing on this computer could tell."""
    keys = tmp_path / "config" / "keys"
    shutil.copytree(keys, tmp_path / "older")
    with _rolled_back(story.place):
        _go_on(story.place)
        _anchor("--to", str(tmp_path / "anchor.json"))
    shutil.rmtree(keys)
    shutil.copytree(tmp_path / "older", keys)

    result = interlock("ledger", "anchor", "--check", str(tmp_path / "anchor.json"))

    assert interlock("verify").exit_code == 0
    assert result.exit_code == 1
    assert "2 records of 20 are missing" in result.stderr


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"records": 3}, "not sealed with the key of this ledger"),
        ({"hash": "00" * 32}, "not sealed with the key of this ledger"),
        ({"seal": "00" * 32}, "not sealed with the key of this ledger"),
        ({"ledger": "another"}, "is of ledger another"),
        ({"v": 2}, "of version 2"),
        ({"records": "many"}, "is not an anchor"),
    ],
)
def test_an_anchor_that_was_changed_is_told(
    story: Story, tmp_path: Path, changed: dict[str, object], told: str
) -> None:
    file = tmp_path / "anchor.json"
    file.write_text(json.dumps({**_anchor(), **changed}))

    result = interlock("ledger", "anchor", "--check", str(file))

    assert result.exit_code != 0
    assert told in " ".join(result.stderr.split())


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"{"])
def test_what_is_no_anchor_is_told(story: Story, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "anchor.json"
    file.write_bytes(content)

    result = interlock("ledger", "anchor", "--check", str(file))

    assert (result.exit_code, "this is not an anchor" in result.stderr) == (2, True)


def test_only_a_file_is_read(story: Story, tmp_path: Path) -> None:
    for file in (tmp_path, Path("/dev/zero"), tmp_path / "nothing"):
        result = interlock("ledger", "anchor", "--check", str(file))
        assert (result.exit_code, "cannot be read" in result.stderr) == (2, True)


def test_an_operator_lets_a_ledger_count_as_it_is(story: Story) -> None:
    make_operator(story.place)
    with _rolled_back(story.place):
        _go_on(story.place)
    refused, damaged = interlock("runs"), interlock("verify")

    with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
        type_in(PASSPHRASE)
        accepted = interlock("ledger", "anchor", "--accept", "--json")

    assert (refused.exit_code, damaged.exit_code) == (1, 1)
    assert "2 records of 22 are missing" in refused.stderr
    assert "2 records of 22 are missing" in damaged.stdout
    assert accepted.exit_code == 0, accepted.stderr
    assert json.loads(accepted.stdout)["records"] == 21
    assert interlock("verify").exit_code == 0
    assert _anchor()["records"] == 21
    told = [
        json.loads(line)["record"] for line in interlock("ledger", "export").stdout.splitlines()
    ]
    [event] = [each["event"] for each in told if each["event"]["type"] == "ledger-accepted"]
    assert (event["known"], event["records"]) == (22, 20)
    assert event["problems"][0].startswith("2 records of 22 are missing")


def test_where_nobody_may_decide_yet_a_person_types_a_word(story: Story) -> None:
    with _rolled_back(story.place):
        _go_on(story.place)

    outcomes: list[int] = []
    for word in ("yes", "accept"):
        with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
            type_in(word)
            outcomes.append(interlock("ledger", "anchor", "--accept").exit_code)

    assert outcomes == [2, 0]
    assert interlock("verify").exit_code == 0


def test_nobody_else_accepts_anything(
    story: Story, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_operator(story.place)
    with _rolled_back(story.place):
        _go_on(story.place)
    [anchor] = (tmp_path / "config" / "keys").glob("*.anchor")
    before = anchor.read_bytes()

    with own_terminal(monkeypatch) as type_in:
        type_in("not the passphrase")
        guessed = interlock("ledger", "anchor", "--accept")
    with monkeypatch.context() as patched:
        patched.setenv("INTERLOCK_TOKEN", "an agent's")
        by_agent = interlock("ledger", "anchor", "--accept")

    assert "the passphrase is not that of operator" in " ".join(guessed.stderr.split())
    assert "an agent calls this" in " ".join(by_agent.stderr.split())
    assert (guessed.exit_code, by_agent.exit_code) == (1, 1)
    assert anchor.read_bytes() == before
    assert interlock("runs").exit_code == 1


def test_there_is_nothing_to_accept_where_everything_holds(story: Story) -> None:
    result = as_person("ledger", "anchor", "--accept")

    assert (result.exit_code, "nothing to accept" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [("--accept", "--check", "x"), ("--accept", "--to", "x"), ("--check", "x", "--to", "y")],
)
def test_it_does_one_thing_at_a_time(story: Story, arguments: tuple[str, ...]) -> None:
    result = interlock("ledger", "anchor", *arguments)

    assert (result.exit_code, "three calls" in result.stderr) == (2, True)


def test_the_store_is_put_in_order_on_demand(story: Story) -> None:
    assert json.loads(interlock("ledger", "checkpoint", "--json").stdout) == {"wal_bytes": 0}
    assert interlock("ledger", "checkpoint").stdout == "everything is in the ledger's file\n"


def test_it_is_told_that_somebody_reads(story: Story) -> None:
    with (
        Interlock.open(story.place) as opened,
        closing(apsw.Connection(story.place)) as reader,
    ):
        opened.run("in the write-ahead file").violation("r", "m")
        reader.execute("BEGIN; SELECT count(*) FROM records").fetchall()
        opened.run("behind the reader").violation("r", "m")
        told = interlock("ledger", "checkpoint").stdout

    assert told.startswith("somebody reads: ")
