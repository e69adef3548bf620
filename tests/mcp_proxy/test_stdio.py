"""`interlock mcp` as a client runs it: a process between two pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.asking import interlock_process
from interlock.cli.command_group import cli
from interlock.model.events import RunFinished
from interlock.model.run import LEDGER_RUN
from mcp_proxy.ends import GREETING, Home, Json
from service.ledgers import operator_of

_SERVER = Path(__file__).with_name("line_server.py")
_HELLO: Json = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": GREETING}


def _mcp(home: Home, *words: str, stdin: bytes | int = b"") -> subprocess.CompletedProcess[bytes]:
    return interlock_process("mcp", *words, stdin=stdin, folder=home.folder)


def _asked(home: Home, manner: str, *messages: Json | str) -> tuple[list[Json], str]:
    """Return what a proxy in front of the server says to some messages, and what it prints."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in messages]
    server = [sys.executable, "-I", "-S", str(_SERVER), *([manner] if manner else [])]
    stdin = "\n".join([*lines, ""]).encode()
    done = _mcp(home, "--name", "line", "--", *server, stdin=stdin)
    return [json.loads(each) for each in done.stdout.splitlines()], done.stderr.decode()


def _call(number: int, **arguments: Any) -> Json:
    params = {"name": "run_command", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_a_whole_conversation(home: Home):
    harmless, harmful = _call(1, command="ls", size=2_000_000), _call(2, command="rm -rf /")
    answers, printed = _asked(home, "noisy", _HELLO, harmless, harmful, "{", "")

    by_id = {each["id"]: each for each in answers}
    assert by_id[0]["result"]["serverInfo"]["name"] == "line"
    assert len(by_id[1]["result"]["content"][0]["text"]) == 2_000_000
    assert by_id[2]["result"]["isError"] is True
    assert by_id[None]["error"]["code"] == -32700
    assert len(answers) == 4
    assert "no message" in printed
    with home.opened() as interlock:
        (run,) = [each for each in interlock.ledger.rows.runs(limit=5) if each.id != LEDGER_RUN]
        assert (run.agent, run.status) == ("tester", "finished")
    assert isinstance(home.events()[-1], RunFinished)


def test_what_a_person_agrees_to_goes_through_in_the_next_session_once(home: Home):
    with home.opened() as interlock:
        token = operator_of(interlock)
    push = _call(1, command="git push --force origin main")
    asked = _asked(home, "", _HELLO, push)[0][-1]["result"]
    with home.opened() as interlock:
        (question,) = interlock.approvals()
        interlock.approve(question.id, token=token)

    again, once_more = (_asked(home, "", _HELLO, push)[0][-1]["result"] for _ in range(2))

    assert asked["isError"] is True
    assert f"interlock approve {question.code}`" in asked["content"][0]["text"]
    assert not again.get("isError")
    assert once_more["isError"] is True


def test_nothing_to_read_from_is_said(home: Home):
    done = _mcp(home, "--", "true", stdin=subprocess.DEVNULL)

    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: standard input and output are not pipes")


def test_a_server_that_dies_is_told_as_a_result(home: Home):
    answers, _ = _asked(home, "dies", _HELLO, _call(1, command="ls"))

    assert answers[-1]["id"] == 1
    assert "the server ended before it answered" in answers[-1]["result"]["content"][0]["text"]


def test_a_server_that_does_not_start_is_said(home: Home):
    done = _mcp(home, "--", str(home.folder / "nothing"))

    assert done.returncode == 2
    assert b"cannot be started: No such file" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize(
    "words", [[], ["--url", "http://127.0.0.1:1", "--", "x"], ["pins", "--", "x"]]
)
@pytest.mark.usefixtures("home")
def test_one_server_is_named(words: list[str]):
    assert CliRunner().invoke(cli, ["mcp", *words]).exit_code == 2


def test_the_pins_are_listed_and_only_a_person_trusts(home: Home):
    home.pins.seen("it", "files", {"read": "1", "write": "1"})
    home.pins.seen("it", "files", {"read": "1", "write": "2"})

    listed = json.loads(CliRunner().invoke(cli, ["mcp", "pins", "--json"]).stdout)
    refused = _mcp(home, "trust", "files")

    changes = [(each["tool"], each["changed_to"]) for each in listed]
    assert changes == [("read", None), ("write", "2")]
    assert refused.returncode != 0
    assert home.pins.seen("it", "files", {"write": "2"}) == {"write"}
