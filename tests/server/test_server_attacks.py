"""Attacks that worked once: each was a way in, or a way to keep others out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from interlock import hook_asker
from interlock.client import connect
from interlock.errors import UnavailableError
from patience import LONG_ENOUGH_S
from server.served import Served
from server.test_hook_socket import OTHER_USER, a_run, connected, told

FORM = {"content-type": "application/x-www-form-urlencoded"}
GOVERNED = """\
import http.client, sys

sys.stdin.readline()
host, port, source, method, path, body, *shown = sys.argv[1:]
connection = http.client.HTTPConnection(host, int(port), source_address=(source, 0))
kind = "application/json" if shown else "application/x-www-form-urlencoded"
headers = {"content-type": kind, **{"authorization": "Bearer " + each for each in shown}}
connection.request(method, path, body, headers)
print(connection.getresponse().status)
"""


def hooked(served: Served, payload: object) -> tuple[int, bytes]:
    """Return the exit code of a hook of our own dialect, and what it says of a refusal."""
    line = b'{"hook":"interlock","payload":' + msgspec.json.encode(payload) + b"}\n"
    with connected(served) as connection, connection.makefile("rb") as answer:
        connection.sendall(line)
        code, stdout, stderr = map(int, answer.readline().split())
        answer.read(stdout)
        return code, answer.read(stderr)


def governed(served: Served, *args: str, source: str = "127.0.0.1") -> int:
    """Have the process of a run ask over TCP; return the status of the answer."""
    host, port = served.address
    given = [sys.executable, "-c", GOVERNED, host, str(port), source, *args]
    with subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        begun = {"task": "x", "agent": "free", "process": client.pid}
        assert served.ask("POST", "/v1/runs", begun, by_socket=True).status == 201
        said, _ = client.communicate(b"\n", timeout=LONG_ENOUGH_S)
    return int(said)


# Keeping everybody from deciding.


@pytest.mark.parametrize("claimed", [1, os.getppid()])
def test_no_run_is_begun_for_a_process_that_everybody_descends_from(
    served: Served, claimed: int
) -> None:
    begun = {"task": "x", "agent": "free", "process": claimed}

    assert served.ask("POST", "/v1/runs", begun, by_socket=True).status == 403
    again = {"process": claimed}
    resumed = served.ask("POST", f"/v1/runs/{a_run(served)}/resume", again, by_socket=True)
    assert resumed.status == 403
    assert served.post("/v1/loop/freeze", {"reason": "x"}, as_="operator").status == 200


def test_a_run_for_no_process_in_particular_is_for_the_one_that_asks(served: Served) -> None:
    begun = {"task": "x", "agent": "free", "process": None}
    with subprocess.Popen(
        [sys.executable, "-c", ASKING, served.listening.socket, msgspec.json.encode(begun)],
        stdout=subprocess.PIPE,
    ) as client:
        said, _ = client.communicate(timeout=LONG_ENOUGH_S)
    run = msgspec.json.decode(said)["id"]

    process = served.desk.governor.state(run).process

    assert process.split("/")[1] == str(client.pid)


ASKING = """\
import http.client, socket, sys

connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
connection.request("POST", "/v1/runs", sys.argv[2], {"content-type": "application/json"})
print(connection.getresponse().read().decode())
"""


ABOVE_A_HOOK = "import os; from interlock.processes import client_above as a; print(a(os.getpid()))"
TAKEN_IN = (
    "import os, subprocess, sys; print(os.getpid()); subprocess.run(sys.argv[1:], check=True)"
)


@pytest.mark.parametrize("name", ["client", "systemd"])
def test_a_hook_that_lost_who_ran_it_is_not_of_whoever_took_it_in(
    tmp_path: Path, name: str
) -> None:
    # A process is called as the file that it was started by.
    (tmp_path / name).symlink_to(Path(sys.executable).resolve())
    hook = [sys.executable, "-c", ABOVE_A_HOOK]
    line = [str(tmp_path / name), "-u", "-c", TAKEN_IN, *hook]
    said = subprocess.run(line, check=True, capture_output=True, text=True, timeout=LONG_ENOUGH_S)
    parent, above = said.stdout.split()

    assert above == (parent if name == "client" else "None")


# Asking in the name of somebody else.


def test_a_hook_does_not_ask_in_the_name_of_an_agent_with_a_token(served: Served) -> None:
    asked = {"session": "s", "agent": "other", "action": {"command": "ls"}}

    code, reason = hooked(served, asked)

    assert (code, b"who has a token" in reason) == (2, True)
    assert served.get("/v1/runs", as_="other").value["runs"] == []


def test_an_agent_that_was_let_go_does_not_go_on_without_its_token(served: Served) -> None:
    run = served.run(as_="other")
    tokens = served.get("/v1/tokens", as_="admin").value
    (credential,) = [each["credential"] for each in tokens if each["name"] == "other"]
    gone = served.ask("DELETE", f"/v1/tokens/{credential}", token=served.tokens["admin"])
    assert gone.status == 204

    action = {"action": {"command": "ls"}}
    by_http = served.ask("POST", f"/v1/runs/{run}/actions", action, by_socket=True)
    begun = served.ask("POST", "/v1/runs", {"task": "x", "agent": "other"}, by_socket=True)
    (by_line,) = told(served, msgspec.json.encode({"question": "action", "run": run, **action}))

    assert (by_http.status, begun.status) == (403, 403)
    assert by_line["error"]["status"] == 403


def test_a_folder_brings_no_policy_for_a_project_elsewhere(served: Served, tmp_path: Path) -> None:
    rule = '[[rules]]\nid = "no-ls"\nwhen = \'commands.exists(c, c.program == "ls")\'\n'
    rule += 'decision = "block"\nmessage = "no listing"\n'
    for name, text in (("strict", rule), ("lax", "[diff-size]\nthreshold = 120\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "interlock.toml").write_text(text)

    def asked(session: str, folder: str) -> int:
        action = {"command": "ls"}
        place = str(tmp_path / folder)
        names = {"session": session, "agent": "free", "project": "one", "workspace": place}
        return hooked(served, {**names, "action": action})[0]

    before = asked("first", "strict")
    elsewhere = asked("second", "lax")

    assert (before, elsewhere, asked("first", "strict")) == (2, 0, 2)


def test_a_key_of_one_without_a_credential_is_no_key_of_an_agent_of_that_name(
    served: Served,
) -> None:
    note, key = {"text": "mine"}, {"idempotency-key": "k"}
    own = served.post("/v1/loop/notes", note, headers=key)
    other = served.ask("POST", "/v1/loop/notes", note, headers=key, by_socket=True)

    assert (own.status, other.status) == (201, 201)
    assert own.value["id"] != other.value["id"]


@pytest.mark.parametrize("chain", ["ledger", "loop"])
@pytest.mark.parametrize("part", ["", "/records", "/records/1", "/state", "/timeline"])
def test_whoever_shows_no_credential_reads_no_chain_of_our_own(
    served: Served, chain: str, part: str
) -> None:
    assert served.post("/v1/loop/notes", {"text": "x"}, as_="operator").status == 201

    answer = served.ask("GET", f"/v1/runs/{chain}{part}", by_socket=True)

    assert answer.status == 403
    assert served.get(f"/v1/runs/{chain}{part}").status == 200


def test_no_agent_takes_the_id_of_somebody_elses_event(served: Served) -> None:
    event = {"specversion": "1.0", "id": "77", "source": "ci", "type": "ci.failed"}
    first = served.post("/v1/events", {**event, "data": {}})
    again = served.post("/v1/events", {**event, "data": {}})
    other = served.post("/v1/events", {**event, "data": {}}, as_="other")
    real = served.post("/v1/events", {**event, "data": {"is": "real"}}, as_="operator")

    assert [each.value["new"] for each in (first, again, other, real)] == [True, False, True, True]


# A process of a governed run, with what it has found.


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
def test_no_address_of_the_loopback_hides_a_governed_process(served: Served, source: str) -> None:
    token, reason = served.tokens["operator"], '{"reason": "x"}'

    assert governed(served, "POST", "/v1/loop/freeze", reason, token, source=source) == 403


def test_a_governed_process_does_not_sign_in(served: Served) -> None:
    by_token = urlencode({"token": served.tokens["operator"]})
    code = served.desk.links.new(served.tokens["operator"])
    setup = urlencode({"code": served.desk.links.new(""), "name": "eve"})

    assert governed(served, "POST", "/login", by_token) == 403
    assert governed(served, "GET", f"/enter?code={code}", "") == 403
    assert governed(served, "POST", "/setup", setup) == 403
    # It is still there for whoever it was meant for.
    assert served.ask("GET", f"/enter?code={code}").status == 303


# Somebody else at the place of the socket.


LISTEN = f"""\
import os, socket, sys

os.setuid({OTHER_USER})
socket.socket(fileno=int(sys.argv[1])).listen()
"""


@pytest.fixture
def place() -> Generator[str]:
    """A socket of another user, who listens at it."""
    if os.geteuid() != 0:
        pytest.skip("run as root to listen as another user")
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        socket.socket(socket.AF_UNIX) as listening,
    ):
        listening.bind(f"{folder}/s")
        os.chown(folder, OTHER_USER, -1)
        # Whoever listened first is who is there, also when the socket is handed on.
        fd = listening.fileno()
        line = [sys.executable, "-I", "-S", "-c", LISTEN, str(fd)]
        subprocess.run(line, pass_fds=(fd,), check=True, timeout=LONG_ENOUGH_S)
        yield f"{folder}/s"


def test_a_hook_does_not_ask_in_a_folder_of_another_user(place: str) -> None:
    with pytest.raises(hook_asker.NoAnswerError, match="another user's"):
        hook_asker.asked(place, b"{}\n")


def test_a_client_shows_nothing_to_another_user(place: str) -> None:
    with pytest.raises(UnavailableError, match=f"user {OTHER_USER} listens there, not this one"):
        connect(place, token="t").tokens()


# Whoever is nobody.


@pytest.mark.parametrize("as_", [None, "viewer"])
@pytest.mark.parametrize(
    "path",
    [
        "/nothing?part=x",
        "/login?part=x",
        "/?part=x",
        "/login?" + "&".join(f"a{number}=1" for number in range(150)),
        "/enter?" + "&".join(f"a{number}=1" for number in range(150)),
        "/?" + "&".join(f"a{number}=1" for number in range(150)),
    ],
)
def test_no_address_breaks_a_page(shared: Served, path: str, as_: str | None) -> None:
    answer = shared.ask("GET", path, token=None if as_ is None else shared.tokens[as_])

    assert answer.status in (303, 400, 404, 422)
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("place", ["9" * 5000, "9" * 30])
def test_no_place_breaks_live_events(shared: Served, place: str) -> None:
    connection = shared.connection()
    try:
        shown = {"authorization": f"Bearer {shared.tokens['viewer']}"}
        connection.request("GET", f"/events?after={place}", headers=shown)
        answer = connection.getresponse()
        assert (answer.status, answer.read1()) == (200, b"retry: 1000\n\n")
    finally:
        connection.close()


@pytest.mark.parametrize("as_", [None, "agent"])
def test_an_error_tells_nothing_of_the_loop_or_the_ledger(served: Served, as_: str | None) -> None:
    assert served.post("/v1/loop/freeze", {"reason": "whoopsie"}, as_="operator").status == 200

    answer = served.ask("GET", "/nothing", token=None if as_ is None else served.tokens[as_])

    assert answer.status == 404
    assert b"whoopsie" not in answer.body
    assert b"ledger.db" not in answer.body


def test_a_run_that_needs_no_token_is_asked_by_a_line_as_before(served: Served) -> None:
    run = a_run(served)
    asked = {"question": "action", "run": run, "action": {"command": "ls"}}
    (answer,) = told(served, msgspec.json.encode(asked))

    assert answer["answer"]["decision"] == "allow"


def test_looking_at_a_link_does_not_use_it_up(served: Served) -> None:
    path = f"/enter?code={served.desk.links.new(served.tokens['ada'])}"

    assert served.ask("HEAD", path).status == 403
    assert served.ask("GET", path).status == 303


def test_whoever_guesses_passphrases_keeps_no_token_out(served: Served) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    guesses = [
        served.ask("POST", "/login", b"name=ada&passphrase=not+this+one", headers=form).status
        for _ in range(11)
    ]

    assert guesses == [403] * 10 + [429]
    shown = f"token={served.tokens['viewer']}".encode()
    assert served.ask("POST", "/login", shown, headers=form).status == 303
