from __future__ import annotations

import json
import os
import resource
import shutil
import ssl
import stat
import subprocess
import threading
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InputError, UnavailableError
from interlock.loop.sinks import AlertLog, InngestSink, Sink
from interlock.model.system_loop import CloudEvent
from interlock.service.deliveries.webhooks import (
    DeliveryError,
    WebhookSink,
    retry_at,
    verify_signature,
)
from loop.webhook_server import (
    Behaviour,
    answers,
    drips,
    floods,
    hangs,
    refused_port,
    says,
    says_and_hangs,
    webhook_server,
)
from patience import in_time

SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND
VARIABLE = "WEBHOOK_TEST_SECRET"
SECRET = "a long plain passphrase"
PATH = "/hooks/T0123/in-the-path"
SHORT_S = 0.3
"""For what never ends; everything else has minutes."""
LONG_S = 120.0


class StillClock:
    def now(self) -> int:
        return NOW


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def an_event(**data: object) -> CloudEvent:
    return CloudEvent(
        id="0199-event",
        source="interlock/loop",
        type="system/alert.requested",
        time="2027-01-15T08:00:00.250000Z",
        subject="default",
        causationdepth=1,
        data={"decisionId": "d1", **data},
    )


def a_webhook(url: str, timeout_s: float = LONG_S, *, allows_http: bool = False) -> WebhookSink:
    return WebhookSink(
        name="ops",
        url=url,
        secret_variable=VARIABLE,
        timeout_s=timeout_s,
        clock=StillClock(),
        allows_http=allows_http,
    )


def an_inngest(url: str) -> InngestSink:
    return InngestSink(
        name="inngest", url=url, key_variable=VARIABLE, timeout_s=LONG_S, clock=StillClock()
    )


def failure(sink: Sink) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        sink.deliver(an_event(), 1)
    told = f"{caught.value!s} {caught.value!r} {sink!r}"
    assert SECRET not in told
    assert PATH not in told
    return caught.value


def failure_of(behaviour: Behaviour, timeout_s: float = LONG_S) -> tuple[DeliveryError, str]:
    with webhook_server(behaviour) as server:
        error = failure(a_webhook(f"{server.url}{PATH}", timeout_s))
        return error, str(error).replace(f":{server.port}", ":PORT")


def test_a_webhook_gets_the_event_as_a_structured_cloud_event() -> None:
    event = an_event(text="ü")
    with webhook_server(answers(200)) as server:
        a_webhook(f"{server.url}{PATH}?to=me").deliver(event, 3)
        [received] = server.received

    assert received.path == f"{PATH}?to=me"
    assert received.headers["content-type"] == "application/cloudevents+json; charset=UTF-8"
    assert received.headers["host"] == f"localhost:{server.port}"
    assert received.headers["webhook-id"] == event.id
    assert received.headers["interlock-attempt"] == "3"
    assert msgspec.json.decode(received.body, type=CloudEvent) == event


def test_the_id_and_the_body_are_the_same_at_every_attempt() -> None:
    with webhook_server(answers(500), answers(202)) as server:
        sink = a_webhook(server.url)
        with pytest.raises(DeliveryError):
            sink.deliver(an_event(), 1)
        sink.deliver(an_event(), 2)
        first, second = server.received

    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


def test_the_receiver_can_verify_what_a_sink_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = "whsec" + "_c2VjcmV0IG9mIG1hbnkgYnl0ZXM="
    with webhook_server(answers(204)) as server:
        for each in (SECRET, f" {encoded}\n"):
            monkeypatch.setenv(VARIABLE, each)
            a_webhook(server.url).deliver(an_event(), 1)
            received = server.received[-1]
            verify_signature(received.headers, received.body, each.strip(), NOW + 299 * SECOND)


def signed() -> dict[str, str]:
    """The sample that the libraries of Standard Webhooks are tested by."""
    return {
        "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "Webhook-Timestamp": "1614265330",
        "Webhook-Signature": "v1,AAAA v1a,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


SAMPLE = b'{"test": 2432232314}'
SAMPLE_SECRET = "whsec" + "_MfKQ9r8GKYqrTwjU" + "PD8ILPZIo2LaLaSw"
SIGNED_AT = 1_614_265_330 * SECOND


def test_a_signature_of_another_implementation_fits() -> None:
    verify_signature(signed(), SAMPLE, SAMPLE_SECRET, SIGNED_AT)


@pytest.mark.parametrize(
    ("changed", "body", "key", "now", "reason"),
    [
        ({"Webhook-Id": ""}, SAMPLE, SAMPLE_SECRET, SIGNED_AT, "no header `webhook-id`"),
        ({"Webhook-Signature": "v1,é"}, SAMPLE, SAMPLE_SECRET, SIGNED_AT, "does not fit"),
        ({"Webhook-Timestamp": "now"}, SAMPLE, SAMPLE_SECRET, SIGNED_AT, "no number of seconds"),
        ({"Webhook-Timestamp": "9" * 13}, SAMPLE, SAMPLE_SECRET, SIGNED_AT, "no number of"),
        ({"Webhook-Id": "msg_other"}, SAMPLE, SAMPLE_SECRET, SIGNED_AT, "does not fit"),
        ({}, SAMPLE + b" ", SAMPLE_SECRET, SIGNED_AT, "does not fit"),
        ({}, SAMPLE, SECRET, SIGNED_AT, "does not fit"),
        ({}, SAMPLE, "whsec_", SIGNED_AT, "no base64 follows"),
        ({}, SAMPLE, "whsec_?", SIGNED_AT, "no base64 follows"),
        ({}, SAMPLE, SAMPLE_SECRET, SIGNED_AT + 301 * SECOND, "301 s away"),
        ({}, SAMPLE, SAMPLE_SECRET, SIGNED_AT - 301 * SECOND, "301 s away"),
    ],
)
def test_a_forged_or_replayed_webhook_is_refused(
    changed: Mapping[str, str], body: bytes, key: str, now: int, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        verify_signature({**signed(), **changed}, body, key, now)


@pytest.mark.parametrize(
    ("status", "is_final"),
    [(s, True) for s in (301, 308, 400, 401, 403, 404, 405, 410, 413, 415, 422)]
    + [(s, False) for s in (302, 304, 307, 408, 409, 425, 429, 500, 502, 503, 504)],
)
def test_whatever_is_no_success_fails_and_says_whether_a_person_must_look(
    status: int, is_final: bool
) -> None:
    error, told = failure_of(answers(status, b"" if status == 304 else b"no: `really`\x1b[2J\n no"))

    hint = "; redirects are not followed: write the new address into `url`" if status < 400 else ""
    said = "" if status == 304 else ": `no: 'really' [2J no`"
    assert told == f"sink `ops`: `localhost:PORT` answered {status}{said}{hint}"
    assert error.is_final is is_final
    assert isinstance(error, UnavailableError)


def test_a_redirect_is_not_followed() -> None:
    with (
        webhook_server(answers(200)) as other,
        webhook_server(answers(307, location=other.url)) as server,
    ):
        failure(a_webhook(server.url))

        assert other.received == []


@pytest.mark.parametrize(
    ("header", "wanted_s"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("9" * 400, 3600.0),
        (formatdate(NOW / SECOND + 90, usegmt=True), 90.0),
        (formatdate(NOW / SECOND - 90, usegmt=True), 0.0),
        ("soon", None),
        ("-5", None),
        ("Mon, 99 Foo 2027 00:00:00 GMT", None),
        ("", None),
    ],
)
def test_a_server_says_how_long_it_wants_to_be_left_alone(
    header: str, wanted_s: float | None
) -> None:
    error, _ = failure_of(answers(503, retry_after=header))

    assert error.retry_after_s == wanted_s


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "behaviour",
    [hangs, drips(b"", b"H"), drips(OK, b"x: y\r\n"), drips(OK + b"x: ", b"y")],
    ids=["hang", "one letter at a time", "one header at a time", "a header without end"],
)
def test_nobody_is_waited_for_longer_than_the_limit(behaviour: Behaviour) -> None:
    error, told = failure_of(behaviour, SHORT_S)

    assert told in {
        "sink `ops`: `localhost:PORT` did not answer within 0.3 s",
        # A fast machine gets more headers within the time than anybody may have.
        "sink `ops`: `localhost:PORT` did not answer as HTTP does: is it a web server?",
    }
    assert not error.is_final


@pytest.mark.parametrize(
    "behaviour",
    [
        says_and_hangs(OK + b"content-length: 10\r\n\r\nabc"),
        drips(OK + b"\r\n", b"."),
        floods(OK + b"\r\n", b"." * 65_536),
        says(OK + b"content-length: 10\r\n\r\nabc"),
    ],
    ids=["hang", "drip", "flood", "cut off"],
)
def test_what_comes_behind_a_success_cannot_undo_it(behaviour: Behaviour) -> None:
    with webhook_server(behaviour) as server:
        a_webhook(server.url).deliver(an_event(), 1)


BUSY = b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\n"


@pytest.mark.parametrize(
    "behaviour",
    [
        says_and_hangs(BUSY + b"content-length: 10\r\n\r\nabc"),
        drips(BUSY + b"content-length: 65536\r\n\r\n", b"."),
        says(BUSY + b"transfer-encoding: chunked\r\n\r\nzz\r\n"),
    ],
    ids=["hang", "drip", "broken"],
)
def test_a_refusal_counts_however_its_text_goes_on(behaviour: Behaviour) -> None:
    def in_so_many_seconds(limit_s: int) -> tuple[DeliveryError, str] | None:
        failed = failure_of(behaviour, limit_s)
        return None if "did not answer within" in failed[1] else failed

    error, told = in_time(in_so_many_seconds)

    assert told == "sink `ops`: `localhost:PORT` answered 503"
    assert error.retry_after_s == 7.0


def test_a_huge_refusal_is_read_to_its_limit_and_quoted_in_short() -> None:
    error, told = failure_of(floods(b"HTTP/1.1 500 X\r\n\r\n", b"no " * 30_000))

    assert told.startswith("sink `ops`: `localhost:PORT` answered 500: `no no no")
    assert len(told) < 300
    assert not error.is_final


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (says(b""), "it closed the connection without an answer"),
        (says(b"SSH-2.0-server\r\n"), "is it a web server?"),
        (says(b"HTTP/1.1 abc\r\n\r\n"), "is it a web server?"),
        (says(OK + b"x: y\r\n" * 200 + b"\r\n"), "is it a web server?"),
        (floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "is it a web server?"),
    ],
    ids=["nothing", "ssh", "no status", "many headers", "continue for ever"],
)
def test_what_is_no_web_server_is_told(behaviour: Behaviour, reason: str) -> None:
    error, told = failure_of(behaviour)

    assert told == f"sink `ops`: `localhost:PORT` did not answer as HTTP does: {reason}"
    assert not error.is_final


def test_a_closed_port_is_told() -> None:
    port = refused_port()

    error = failure(a_webhook(f"http://127.0.0.1:{port}{PATH}"))

    assert str(error) == f"sink `ops`: `127.0.0.1:{port}` cannot be reached: connection refused"
    assert not error.is_final


def test_a_server_that_answers_before_it_has_read_everything_is_heard() -> None:
    large = an_event(text="x" * 8_000_000)

    def refuse_early() -> None:
        link, _ = listener.accept()
        with link:
            link.recv(1000)
            link.sendall(b"HTTP/1.1 413 Large\r\ncontent-length: 0\r\n\r\n")
            link.shutdown(1)
            while link.recv(1 << 20):
                pass

    import socket  # noqa: PLC0415 - only this test speaks for a server itself

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse_early)
        thread.start()
        with pytest.raises(DeliveryError, match="answered 413") as caught:
            a_webhook(f"http://127.0.0.1:{listener.getsockname()[1]}/").deliver(large, 1)
        thread.join()

    assert caught.value.is_final


@pytest.mark.parametrize("echoed", [SECRET, PATH])
def test_an_answer_that_repeats_a_secret_is_not_quoted(echoed: str) -> None:
    _, told = failure_of(answers(404, f"cannot POST {echoed}".encode()))

    assert told == "sink `ops`: `localhost:PORT` answered 404"


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_secret_sends_nothing(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is None:
        monkeypatch.delenv(VARIABLE)
    else:
        monkeypatch.setenv(VARIABLE, value)
    with webhook_server(answers(200)) as server:
        for sink in (a_webhook(server.url), an_inngest(server.url)):
            with pytest.raises(DeliveryError, match=f"variable `{VARIABLE}` is empty") as caught:
                sink.deliver(an_event(), 1)

            assert caught.value.is_final
        assert server.received == []


def test_a_broken_secret_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "whsec_of-no-base64")
    with webhook_server(answers(200)) as server:
        with pytest.raises(DeliveryError) as caught:
            a_webhook(server.url).deliver(an_event(), 1)

        assert server.received == []
    assert "of-no-base64" not in str(caught.value)
    assert caught.value.is_final


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "no address of a server"),
        ("ftp://host/", "no address of a server"),
        ("https://", "no address of a server"),
        ("https://host:0/", "no address of a server"),
        ("https://host:99999/", "is no address: port out of range"),
        ("https://[::1/", "is no address"),
        (f"https://{'a' * 70}.example/", "is no address"),
        ("https://host/ü", "characters that no address has"),
        ("https://host/a b", "characters that no address has"),
        ("https://host/a\nb", "characters that no address has"),
        ("https://me:word@host/", "has a user, a password or a `#`"),
        ("https://host/#part", "has a user, a password or a `#`"),
        ("http://example.com/x", "`example.com` by `http`"),
        ("http://128.0.0.1/x", "`128.0.0.1` by `http`"),
        ("http://localhost.example.com/x", "by `http`"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(url: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^sink `ops`: `url` .*{reason}") as caught:
        a_webhook(url)

    assert "word" not in str(caught.value).replace("password", "")


@pytest.mark.parametrize("url", ["http://[::1]:1/", "http://127.1.2.3/", "https://example.com"])
def test_loopback_may_go_without_encryption(url: str) -> None:
    assert a_webhook(url).name == "ops"


def test_encryption_can_be_done_without_where_that_is_said() -> None:
    assert a_webhook("http://hooks.internal/", allows_http=True).name == "ops"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, ssl.SSLContext]:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, file = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    words += f" -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {key} -out {file}"
    subprocess.run([program, *words.split()], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    return file, context


def test_a_server_whose_certificate_nobody_vouches_for_gets_nothing(
    certificate: tuple[Path, ssl.SSLContext],
) -> None:
    with webhook_server(answers(200), tls=certificate[1]) as server:
        error = failure(a_webhook(f"{server.url}{PATH}"))

        assert server.received == []
    assert "is not who it should be: self-signed certificate: renew its" in str(error)
    assert error.is_final


def test_a_server_with_a_good_certificate_gets_its_event(
    certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with webhook_server(answers(200), tls=certificate[1]) as server:
        a_webhook(server.url).deliver(an_event(), 1)
        error = failure(a_webhook(server.url.replace("localhost", "127.0.0.1")))

        assert len(server.received) == 1
    assert "is not who it should be" in str(error)


def test_a_server_without_encryption_is_told() -> None:
    with webhook_server(answers(200)) as server:
        error = failure(a_webhook(server.url.replace("http:", "https:"), SHORT_S))

        assert server.received == []
    assert "did not answer within 0.3 s" in str(error) or "cannot be reached" in str(error)


def test_inngest_gets_the_event_with_an_id_that_it_knows_again() -> None:
    with webhook_server(answers(200, b'{"ids":["1"],"status":200}')) as server:
        an_inngest(f"{server.url}/base/").deliver(an_event(), 1)
        [received] = server.received

    assert received.path == "/base/e/a%20long%20plain%20passphrase"
    assert received.headers["content-type"] == "application/json"
    assert msgspec.json.decode(received.body) == {
        "id": "0199-event",
        "name": "system/alert.requested",
        "data": {"decisionId": "d1", "causationdepth": 1},
        "ts": 1_800_000_000_250,
    }


@pytest.mark.parametrize("echoed", [SECRET, "a%20long%20plain%20passphrase"])
def test_a_failing_inngest_gives_no_key_away(echoed: str) -> None:
    with webhook_server(
        answers(401, f"no key {echoed}".encode()), answers(400, b"what?")
    ) as server:
        error = failure(an_inngest(server.url))
        assert str(error) == f"sink `inngest`: `localhost:{server.port}` answered 401"
        assert error.is_final
        assert failure(an_inngest(server.url)).args[0].endswith("answered 400: `what?`")


def test_alerts_are_lines_of_json_for_their_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "alerts.jsonl"
    log = AlertLog(file)

    log.write({"message": "über\n\x1b[2J\x7f\x9b", "severity": "high"})
    log.write({"message": "two"})

    first, second = file.read_text().splitlines()
    assert first.isascii()
    assert first.isprintable()
    assert json.loads(first) == {"message": "über\n\x1b[2J\x7f\x9b", "severity": "high"}
    assert json.loads(second) == {"message": "two"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_alerts_of_many_writers_are_whole(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"

    def write(who: int) -> None:
        for count in range(20):
            AlertLog(file).write({"who": who, "count": count, "message": "x" * 3000})

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(line["who"], line["count"]) for line in lines} == {
        (who, count) for who in range(4) for count in range(20)
    }


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"
    file.write_text('{"message":"cu')

    AlertLog(file).write({"message": "whole"})

    assert json.loads(file.read_text().splitlines()[1]) == {"message": "whole"}


def test_a_disk_that_takes_only_a_part_is_told_and_the_next_line_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"
    most = 1 << 24
    file.touch()
    os.truncate(file, most - 10)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        with pytest.raises(DeliveryError, match="only a part was written"):
            AlertLog(file).write({"message": "torn"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    AlertLog(file).write({"message": "whole"})

    assert file.read_bytes().splitlines()[-1] == b'{"message":"whole"}'


def test_without_a_file_alerts_go_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    AlertLog(None).write({"message": "here"})

    assert capfd.readouterr() == ("", '{"message":"here"}\n')


def test_an_alert_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for path, reason in [
        (tmp_path, "is a directory"),
        (link, "too many levels of symbolic links"),
        (link / "below", "not a directory|file exists|no such file"),
        (pipe, "it is no regular file"),
    ]:
        with pytest.raises(DeliveryError, match=f"^alerts: cannot write to `{path}`: ({reason})$"):
            AlertLog(path).write({"message": "lost?"})


ids = st.text(min_size=1, max_size=40)


@given(ids, st.integers(1, 200), st.none() | st.floats(0, 1e9))
def test_pauses_grow_within_bounds_and_hang_on_nothing_else(
    event_id: str, attempt: int, asked_s: float | None
) -> None:
    at = retry_at(event_id, attempt, now=NOW, retry_after_s=asked_s)

    pause_s = (at - NOW) / SECOND
    least_s = min(2 * 2 ** (attempt - 1), 720)
    assert at == retry_at(event_id, attempt, now=NOW, retry_after_s=asked_s)
    assert pause_s >= max(least_s, min(asked_s or 0.0, 3600.0) - 1e-6)
    assert pause_s <= max(least_s * 1.25, min(asked_s or 0.0, 3600.0))


def test_events_that_failed_together_do_not_come_back_together() -> None:
    for attempt in (1, 20):
        pauses = {retry_at(f"e{i}", attempt, now=0, retry_after_s=None) for i in range(100)}

        assert len(pauses) > 95
    assert retry_at("e", 0, now=0, retry_after_s=None) >= 2 * SECOND
