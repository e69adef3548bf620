"""Whatever is sent that is no request gets a clear no, in one shape, and the server goes on."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlencode

import pytest

from patience import LONG_ENOUGH_S
from server.served import Reply, Served

MIB = 2**20


def is_problem(answer: Reply, status: int) -> bool:
    told = answer.value
    return (
        answer.status == status
        and answer.headers["content-type"] == "application/problem+json"
        and told["status"] == status
        and told["type"].startswith("urn:interlock:error:")
        and told["request_id"] == answer.headers["x-request-id"]
        and bool(told["title"] and told["detail"])
    )


def raw(served: Served, *parts: bytes, until_closed: bool = True) -> bytes:
    """Send bytes as they are; return what comes back until the server ends it."""
    found = b""
    with (
        socket.create_connection(served.address, timeout=LONG_ENOUGH_S) as connection,
        # Whoever is cut off while still sending may not get to read why.
        suppress(BrokenPipeError, ConnectionResetError),
    ):
        for part in parts:
            connection.sendall(part)
        while more := connection.recv(65536):
            found += more
            if not until_closed:
                break
    return found


def head(
    shared: Served, path: str, *lines: str, method: str = "GET", token: str = "agent"
) -> bytes:
    """Return the head of a request."""
    every: Sequence[str] = (
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{shared.address[1]}",
        "Connection: close",
        f"Authorization: Bearer {shared.tokens[token]}",
        *lines,
    )
    return "".join(f"{line}\r\n" for line in every).encode() + b"\r\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b"{", 400, id="cut off"),
        pytest.param(b"\xff\xfe{}", 400, id="no UTF-8"),
        pytest.param(b'{"task": "\\ud800"}', 400, id="half a character"),
        pytest.param(b"[]", 400, id="a list"),
        pytest.param(b"null", 400, id="nothing"),
        pytest.param(b'{"task": NaN}', 400, id="no number"),
        pytest.param(b'{"task": 1e999}', 400, id="endless"),
        pytest.param(b'{"a":' * 100_000, 400, id="deep"),
        pytest.param(b"[" * MIB, 413, id="deeper"),
        pytest.param(b'{"task":"' + b"x" * (5 * MIB), 413, id="huge"),
        pytest.param(b'{"x":[' + b"[]," * MIB + b"[]]}", 413, id="many"),
        pytest.param(b'{"task": 5}', 422, id="no text"),
        pytest.param(b'{"tsak": "x"}', 422, id="misspelt"),
        pytest.param(b'{"task": "x", "self": 1}', 422, id="a name of ours"),
        pytest.param(b'{"task": "x", "fields": {}}', 422, id="another name of ours"),
        pytest.param(b"", 422, id="empty"),
    ],
)
@pytest.mark.parametrize("by_socket", [False, True])
def test_a_body_that_is_none_is_refused(
    shared: Served, body: bytes, status: int, by_socket: bool
) -> None:
    token = shared.tokens["agent"]
    answer = shared.ask("POST", "/v1/runs", body, token=token, by_socket=by_socket)

    assert is_problem(answer, status), answer.body[:300]
    assert shared.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize("word", ["actions", "steps", "stops", "edits", "usage", "finish"])
@pytest.mark.parametrize("body", [b'{"action":' * 50_000, b'{"action": {"command": 5}}', b"[1]"])
def test_a_question_that_is_none_is_refused(shared: Served, word: str, body: bytes) -> None:
    run = shared.run()
    # Asked once before, it goes the short way.
    assert shared.post(f"/v1/runs/{run}/actions", {"action": {"command": "ls"}}).status == 200

    answer = shared.post(f"/v1/runs/{run}/{word}", body)

    assert answer.status in (400, 422)
    assert is_problem(answer, answer.status)


def test_another_format_is_refused(shared: Served) -> None:
    answer = shared.post("/v1/runs", b"task=x", headers={"content-type": "text/plain"})

    assert is_problem(answer, 415)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/runs", "GET, HEAD, OPTIONS, POST"),
        ("PATCH", "/v1/budgets/agent/x", "GET, HEAD, OPTIONS, PUT"),
        ("GET", "/v1/events", "OPTIONS, POST"),
        ("TRACE", "/healthz", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(
    shared: Served, method: str, path: str, allowed: str
) -> None:
    answer = shared.ask(method, path, token=shared.tokens["admin"])

    assert is_problem(answer, 405)
    assert answer.headers["allow"] == allowed


def test_options_say_how_an_address_is_asked_for_and_nothing_to_other_sites(
    shared: Served,
) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = shared.ask("OPTIONS", "/v1/runs", headers=asked)

    assert answer.status == 204
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert shared.ask("OPTIONS", "/v1/nothing").status == 404


def test_a_head_is_a_get_without_its_body(shared: Served) -> None:
    whole = shared.get("/v1/policy")
    answer = shared.ask("HEAD", "/v1/policy", token=shared.tokens["viewer"])

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == whole.headers["content-length"]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "limit=1&limit=2", "unknown=1", "state=asleep", "cursor=x",
     "q=%00", "limit=" + "9" * 5000, "&".join(f"q{n}=1" for n in range(200))],
)  # fmt: skip
def test_a_query_that_is_none_is_refused(shared: Served, query: str) -> None:
    answer = shared.get(f"/v1/runs?{query}")

    assert answer.status in (400, 422)
    assert is_problem(answer, answer.status)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/runs/%00",
        "/v1/runs/..%2f..%2fetc%2fpasswd",
        "/v1/runs/%ff%fe",
        "/v1/runs/" + "x" * 5000,
        "/v1/runs/nothing/records/1",
        "/v1/approvals/nothing",
        "/v1/budgets/run/nothing",
        "/v1//runs",
        "/v1/runs/",
        "/v1/../v1/runs",
        "/v1",
    ],
)
def test_an_address_that_names_nothing_is_not_found(shared: Served, path: str) -> None:
    answer = shared.get(path)

    assert answer.status == 404, answer.body


@pytest.mark.parametrize(
    "path",
    [
        "/static/x/console.css",
        "/static/x/../../desk.py",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/%2e%2e",
        "/static/x/..%5c..%5cdesk.py",
    ],
)
def test_no_path_leads_out_of_the_files_of_the_console(shared: Served, path: str) -> None:
    answer = shared.ask("GET", path)

    assert answer.status == 404
    assert b"root:" not in answer.body
    assert b"import" not in answer.body


@pytest.mark.parametrize(
    "lines",
    [
        ("Authorization: Bearer x",),
        ("Content-Type: application/json", "Content-Type: text/plain"),
        ("Host: evil.example",),
        ("Idempotency-Key: a", "Idempotency-Key: b"),
    ],
)
def test_a_header_that_stands_there_twice_is_refused(
    shared: Served, lines: tuple[str, ...]
) -> None:
    body = b'{"task": "x"}'
    sent = head(shared, "/v1/runs", *lines, f"Content-Length: {len(body)}", method="POST")

    assert raw(shared, sent, body).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 30_000 + b"\r\n",
        b"POST /v1/runs HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/runs HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /v1/runs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_cut_off(shared: Served, sent: bytes) -> None:
    answer = raw(shared, sent)

    assert answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 421 "))
    assert shared.ask("GET", "/healthz").status == 200


HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost:"


def test_whoever_sends_too_slowly_is_cut_off(served: Served) -> None:
    """After as long as a server really waits; so all of them are slow at the same time."""
    begun = head(served, "/v1/runs", "Content-Length: 100", method="POST")
    with ThreadPoolExecutor() as pool:
        half_a_body = pool.submit(raw, served, begun, b"{", until_closed=False)
        half_a_head = pool.submit(raw, served, HALF_A_HEAD)
        others = [
            pool.submit(half_a_head_again, served, by_socket=by_socket)
            for by_socket in (False, True)
        ]

    assert half_a_body.result().startswith(b"HTTP/1.1 408 ")
    assert half_a_head.result() == b""
    assert [each.result() for each in others] == [b"", b""]


def half_a_head_again(served: Served, *, by_socket: bool) -> bytes:
    """Return what half a request is told on a connection that had a whole one before."""
    connection = served.connection(by_socket=by_socket)
    try:
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()
        connection.sock.sendall(HALF_A_HEAD)
        return connection.sock.recv(1)
    finally:
        connection.close()


@pytest.mark.parametrize(
    "to", ["/x\r\nSet-Cookie: a=b", "//evil.example", "/\\evil", "http://x", "\n"]
)
def test_no_address_of_somebody_elses_gets_into_an_answer(served: Served, to: str) -> None:
    fields = urlencode({"token": served.tokens["viewer"], "to": to}).encode()
    form = {"content-type": "application/x-www-form-urlencoded"}
    answer = served.ask("POST", "/login", fields, headers=form)

    assert answer.status == 303
    assert answer.headers["location"] == "/"
    assert answer.headers["set-cookie"].startswith("interlock=")


def test_whoever_asks_too_often_waits_and_others_do_not(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.desk.rate, "_per_second", 0.001)
    served.desk.rate._left.clear()

    answer = served.get("/v1/runs")
    other = served.ask("GET", "/healthz")

    assert is_problem(answer, 429)
    assert int(answer.headers["retry-after"]) > 0
    assert other.status == 200


def test_what_fails_by_mistake_tells_nothing_of_the_inside(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(served.desk.governor, "state", broken)
    run = served.run()

    answer = served.get(f"/v1/runs/{run}/state")

    assert is_problem(answer, 500)
    assert b"secret" not in answer.body
