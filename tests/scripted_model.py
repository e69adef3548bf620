"""A model that says what a test has written for it, over HTTP as providers do it.

It speaks OpenAI's chat completions and responses, and Anthropic's messages, whole or as a stream.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, cast

Json = dict[str, Any]


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: str
    arguments: Mapping[str, object]


class Reply(NamedTuple):
    """What the model says to one request."""

    text: str = ""
    calls: Sequence[Call] = ()
    tokens: tuple[int, int] = (100, 10)
    """What it took to say that: read, and written."""


def calls(tool: str, **arguments: object) -> Reply:
    """Return a reply that calls one tool."""
    return Reply(calls=[Call(tool, arguments)])


class ScriptedModel:
    """Says one reply of its script to each request, and the last one for ever after."""

    def __init__(self) -> None:
        self.script: list[Reply] = [Reply("Done.")]
        self.heard: list[Json] = []
        """What was asked of it, in order."""
        self._turn = threading.Lock()
        self.url = ""

    @property
    def results(self) -> list[str]:
        """What the calls of tools came to, as it heard them with the last request."""
        heard = self.heard[-1]
        messages = cast("list[Json]", heard["input"] if "input" in heard else heard["messages"])
        return [told for each in messages for told in _results_in(each)]

    @property
    def last_heard(self) -> str:
        """The whole last request, as text."""
        return json.dumps(self.heard[-1])

    def next_reply(self, request: Json) -> tuple[str, Reply]:
        """Return a name for the reply to a request, and the reply."""
        with self._turn:
            self.heard.append(request)
            number = len(self.heard)
            return f"reply-{number}", self.script[min(number, len(self.script)) - 1]


@contextmanager
def scripted_model() -> Generator[ScriptedModel]:
    """Serve a model on the loopback address for as long as it is needed."""
    model = ScriptedModel()

    class Handler(_Handler):
        scripted = model

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedModel
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer whoever looks whether there is anybody."""
        self._send({})

    def do_HEAD(self) -> None:
        """Answer the same."""
        self._send({})

    def do_POST(self) -> None:
        """Answer a request as the provider would whose path it is."""
        body = self.rfile.read(int(self.headers["content-length"]))
        request = cast("Json", json.loads(body))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send({"input_tokens": 1})
        elif path.endswith("/messages"):
            self._say_as_anthropic(request)
        elif path.endswith("/responses"):
            self._send(_response(*self.scripted.next_reply(request)))
        elif path.endswith("/chat/completions"):
            self._send(_completion(*self.scripted.next_reply(request)))
        else:
            self._send({})

    def _say_as_anthropic(self, request: Json) -> None:
        # What Claude Code asks besides, such as a title for the session, brings no tools.
        is_asked = bool(request.get("tools"))
        name, reply = self.scripted.next_reply(request) if is_asked else ("aside", Reply("ok"))
        message = _message(name, reply)
        if not request.get("stream"):
            self._send(message)
            return
        told = "".join(
            f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in _events(message)
        )
        self._send_bytes(told.encode(), "text/event-stream")

    def _send(self, body: Json) -> None:
        self._send_bytes(json.dumps(body).encode(), "application/json")

    def _send_bytes(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        # Clients that keep connections for later keep them open beyond the end of a test.
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _results_in(message: Json) -> Iterator[str]:
    if message.get("role") == "tool":
        yield _text(message["content"])
    elif str(message.get("type")).endswith("_call_output"):
        yield _text(message["output"])
    elif isinstance(message.get("content"), list):
        for part in message["content"]:
            if part.get("type") == "tool_result":
                yield _text(part["content"])


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _named(name: str, reply: Reply) -> Iterator[tuple[str, Call]]:
    return ((f"{name}-call-{number}", each) for number, each in enumerate(reply.calls))


def _completion(name: str, reply: Reply) -> Json:
    made = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
        }
        for call_id, call in _named(name, reply)
    ]
    message: Json = {"role": "assistant", "content": reply.text or None}
    read, written = reply.tokens
    return {
        "id": name,
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls" if made else "stop",
                "message": message | ({"tool_calls": made} if made else {}),
            }
        ],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def _response(name: str, reply: Reply) -> Json:
    made: list[Json] = [
        {"id": f"item-{call_id}", "status": "completed", "call_id": call_id} | _called(call)
        for call_id, call in _named(name, reply)
    ]
    said: Json = {
        "id": f"message-{name}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
    }
    read, written = reply.tokens
    return {
        "id": name,
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": "scripted",
        "output": [*([said] if reply.text else []), *made],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
    }


def _called(call: Call) -> Json:
    if call.tool.endswith("_call"):
        # A tool that the provider knows by itself.
        return {"type": call.tool, **call.arguments}
    return {
        "type": "function_call",
        "name": call.tool,
        "arguments": json.dumps(call.arguments),
    }


def _message(name: str, reply: Reply) -> Json:
    said = [{"type": "text", "text": reply.text}] if reply.text else []
    made = [
        {"type": "tool_use", "id": f"toolu_{call_id}", "name": call.tool, "input": call.arguments}
        for call_id, call in _named(name, reply)
    ]
    read, written = reply.tokens
    return {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [*said, *made],
        "stop_reason": "tool_use" if made else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": written},
    }


def _events(message: Json) -> Iterator[Json]:
    """Yield a message in the pieces of a stream."""
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": message["usage"],
    }
    yield {"type": "message_stop"}
