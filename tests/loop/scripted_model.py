"""A server on loopback that speaks OpenAI's chat completions and answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, cast

USAGE: Mapping[str, object] = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}


class Asked(NamedTuple):
    """A question as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Answer = Callable[["_Handler"], None]
"""Writes one answer."""


class ScriptedModel:
    """What was asked so far, and what is answered next; the last answer is repeated."""

    def __init__(self, port: int, *answers: Answer) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._answers = list(answers)
        self._lock = threading.Lock()

    def next_answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@contextmanager
def scripted_model(*answers: Answer) -> Generator[ScriptedModel]:
    """Serve some answers, one after the other."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.script = ScriptedModel(server.server_port, *answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.script
    finally:
        server.script.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def choosing(action: str, reasoning: str = "because", **parameters: object) -> Answer:
    """Answer with a choice."""
    choice = {"action": action, **parameters}
    return saying(json.dumps({"reasoning": reasoning, "choice": choice}))


def saying(text: object, usage: object = USAGE, **more: object) -> Answer:
    """Answer with a text, whatever it is."""
    message = {"role": "assistant", "content": text, **more}
    completion = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    return sending(json.dumps(completion if usage is None else {**completion, "usage": usage}))


def failing(status: int, message: str = "no", **headers: str) -> Answer:
    """Answer with an error."""
    return sending(json.dumps({"error": {"message": message}}), status, **headers)


def sending(body: str | bytes, status: int = 200, **headers: str) -> Answer:
    """Answer with these bytes."""
    sent = body.encode() if isinstance(body, str) else body

    def send(handler: _Handler) -> None:
        handler.begin(status, length=len(sent), **headers)
        handler.wfile.write(sent)

    return send


def hanging(handler: _Handler) -> None:
    """Say nothing for as long as the server runs."""
    handler.script.closing.wait()


def dripping(handler: _Handler) -> None:
    """Send a byte now and then, for as long as the server runs."""
    handler.begin(200, length=10_000_000)
    while not handler.script.closing.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def flooding(handler: _Handler) -> None:
    """Send without end."""
    handler.begin(200, length=1_000_000_000)
    while not handler.script.closing.is_set():
        handler.wfile.write(b" " * 65_536)


def breaking_off(handler: _Handler) -> None:
    """Begin an answer and close the connection."""
    handler.begin(200, length=1_000)
    handler.wfile.write(b"{")


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    script: ScriptedModel


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def script(self) -> ScriptedModel:
        return cast("_Server", self.server).script

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        self.close_connection = True
        with suppress(ConnectionError):
            self.script.next_answer(asked)(self)

    def begin(self, status: int, *, length: int, **headers: str) -> None:
        """Send what stands before a body."""
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name up there
        """Print nothing."""
