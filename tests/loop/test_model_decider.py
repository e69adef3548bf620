from __future__ import annotations

import gzip
import socket
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

import pytest

from interlock.errors import InputError, MissingExtraError
from interlock.loop.model_decider import (
    LONGEST_REPEATED,
    MOST_READ,
    AskedModel,
    ModelReply,
    ModelUnavailableError,
)
from interlock.model.loop_events import ModelFailure
from interlock.model.system_loop import Item, ProcessNotes, Reading, Snapshot, Source
from interlock.policy.loop.model_answer import (
    InvalidAnswerError,
    ModelQuestion,
    proposal_from,
    question,
    repair_text,
)
from logged import logged
from loop.scripted_model import (
    USAGE,
    Answer,
    ScriptedModel,
    breaking_off,
    choosing,
    dripping,
    failing,
    flooding,
    hanging,
    saying,
    scripted_model,
    sending,
)
from patience import LONG_ENOUGH_S

KEY = "a-key-that-nobody-may-see"
KEY_VARIABLE = "INTERLOCK_TEST_KEY"
NOTES = Reading(source=Source.NOTES, observed_at=1, value=1, items=(Item(id="n1", text="tidy up"),))
SNAPSHOT = Snapshot(readings=(NOTES,))


@pytest.fixture(autouse=True)
def _a_clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def a_question() -> ModelQuestion:
    return question(SNAPSHOT, [], ["nightly"])


def a_model(url: str, **settings: Any) -> AskedModel:
    known: dict[str, Any] = {"model": "scripted", "base_url": url, "timeout_s": LONG_ENOUGH_S}
    known["max_output_tokens"] = 300
    return AskedModel(**(known | settings))


def reply_to(*answers: Answer) -> ModelReply:
    with scripted_model(*answers) as scripted:
        return a_model(scripted.url).ask(a_question())


def failure_of(answer: Answer, **settings: Any) -> tuple[ModelUnavailableError, ScriptedModel]:
    with scripted_model(answer) as scripted:
        asked = a_model(scripted.url, api_key_variable=KEY_VARIABLE, **settings)
        with pytest.raises(ModelUnavailableError) as caught:
            asked.ask(a_question())
    assert_nothing_leaks(caught.value)
    return caught.value, scripted


def assert_nothing_leaks(error: Exception) -> None:
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    assert KEY not in told
    assert error.__context__ is None
    assert error.__cause__ is None


def test_returns_what_the_model_says_and_what_it_counted() -> None:
    reply = reply_to(choosing("process_notes", notes=["n1"]))

    assert (reply.input_tokens, reply.output_tokens) == (120, 30)
    assert proposal_from(reply.text, SNAPSHOT, []).choice == ProcessNotes(notes=("n1",))


def test_asks_for_one_bounded_answer_of_the_schema() -> None:
    asked = a_question()
    with scripted_model(choosing("do_nothing")) as scripted:
        a_model(scripted.url, api_key_variable=KEY_VARIABLE).ask(asked)

    (sent,) = scripted.asked
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["model"] == "scripted"
    assert sent.body["temperature"] == 0
    assert 300 in (sent.body.get("max_tokens"), sent.body.get("max_completion_tokens"))
    assert not sent.body.get("stream")
    wanted = sent.body["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["schema"] == asked.schema
    assert [(each["role"], each["content"]) for each in sent.body["messages"]] == [
        ("system", asked.system),
        ("user", asked.user),
    ]


def test_a_repair_shows_the_model_its_answer_and_what_was_wrong() -> None:
    with scripted_model(saying("well, " * 9_000), choosing("do_nothing")) as scripted:
        model = a_model(scripted.url)
        earlier = model.ask(a_question()).text
        with pytest.raises(InvalidAnswerError) as invalid:
            proposal_from(earlier, SNAPSHOT, [])
        model.ask(a_question(), earlier, repair_text(invalid.value.reason))

    roles = [each["role"] for each in scripted.asked[1].body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    _, _, said, told = scripted.asked[1].body["messages"]
    assert said["content"] == earlier[:LONGEST_REPEATED]
    assert told["content"] == repair_text(invalid.value.reason)


def test_a_model_that_said_nothing_is_shown_that() -> None:
    with scripted_model(choosing("do_nothing")) as scripted:
        a_model(scripted.url).ask(a_question(), "", "again")

    assert scripted.asked[0].body["messages"][2]["content"] == "(nothing)"


@pytest.mark.parametrize(
    "text",
    [
        "I would rather not.",
        '{"reasoning": "a", "choice": {"action": "do_nothing"}} {"reasoning": "b"}',
        '{"reasoning": "a", "choice": {"action": "do_nothing", "also": 1}}',
        '{"reasoning": "a", "choice": {"action": "format_disk"}}',
        "",
        "x" * 500_000,
    ],
    ids=["prose", "two", "extra key", "unknown action", "empty", "huge"],
)
def test_the_text_comes_back_as_it_is_and_only_the_reader_decides(text: str) -> None:
    reply = reply_to(saying(text))

    assert reply.text == text
    with pytest.raises(InvalidAnswerError):
        proposal_from(reply.text, SNAPSHOT, [])


def test_a_refusal_is_no_text() -> None:
    assert reply_to(saying(None, refusal="I cannot do that")).text == ""


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (None, None)),
        (
            {"prompt_tokens": 1, "completion_tokens": 10**12, "total_tokens": 3},
            (1, 10**12),
        ),
    ],
    ids=["none", "zero", "absurd"],
)
def test_what_was_counted_is_told_as_it_is(
    usage: object, expected: tuple[int | None, int | None]
) -> None:
    reply = reply_to(saying("{}", usage))

    assert (reply.input_tokens, reply.output_tokens) == expected


@pytest.mark.parametrize(
    ("answer", "failure", "said"),
    [
        (failing(429), ModelFailure.QUOTA, "has no quota left (status 429)"),
        (failing(402), ModelFailure.QUOTA, "has no quota left (status 402)"),
        (failing(500), ModelFailure.UNAVAILABLE, "answered with status 500"),
        (failing(503, retry_after="1"), ModelFailure.UNAVAILABLE, "answered with status 503"),
        (failing(401, f"bad key {KEY}"), ModelFailure.UNAVAILABLE, "answered with status 401"),
        (sending("<html>"), ModelFailure.UNREADABLE, "answered with what cannot be read"),
        (sending("{}"), ModelFailure.UNREADABLE, "answered with what cannot be read"),
        (sending("[" * 100_000), ModelFailure.UNREADABLE, "answered with what cannot be read"),
        (saying({"a": 1}), ModelFailure.UNREADABLE, "answered with what cannot be read"),
        (saying("{}", {"prompt_tokens": "x"}), ModelFailure.UNREADABLE, "what cannot be read"),
        (saying("{}", {**USAGE, "prompt_tokens": -5}), ModelFailure.UNREADABLE, "cannot be read"),
        (flooding, ModelFailure.UNREADABLE, f"answered with more than {MOST_READ} bytes"),
        (
            sending(gzip.compress(b" " * 1_000_000), content_encoding="gzip"),
            ModelFailure.UNREADABLE,
            "packed content",
        ),
        (breaking_off, ModelFailure.UNAVAILABLE, "cannot be reached"),
    ],
    ids=[
        "rate limit", "payment", "error", "overload", "bad key", "page", "no completion", "nested",
        "no text", "usage of no number", "usage below zero", "flood", "packed", "broken off",
    ],
)  # fmt: skip
def test_a_failure_has_its_kind_and_nobody_asks_twice(
    answer: Answer, failure: ModelFailure, said: str
) -> None:
    error, scripted = failure_of(answer)

    assert error.failure is failure
    assert said in str(error)
    assert "model `scripted`" in str(error)
    assert len(scripted.asked) == 1


@pytest.mark.parametrize("answer", [hanging, dripping], ids=["hangs", "drips"])
def test_waits_no_longer_than_it_may(answer: Answer) -> None:
    reply_to(choosing("do_nothing"))  # what is loaded once is no part of it

    began = time.monotonic()
    error, _ = failure_of(answer, timeout_s=0.5)

    assert error.failure is ModelFailure.TIMEOUT
    assert "did not answer within 0.5 s" in str(error)
    assert time.monotonic() - began < LONG_ENOUGH_S


def test_does_not_wait_for_a_name_that_nobody_resolves(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def never(*_: object, **__: object) -> None:
        over.wait(LONG_ENOUGH_S)

    monkeypatch.setattr(socket, "getaddrinfo", never)
    model = a_model("http://model.invalid/v1", timeout_s=0.5)
    try:
        with pytest.raises(ModelUnavailableError) as caught:
            model.ask(a_question())
        assert not over.is_set()
    finally:
        over.set()

    assert caught.value.failure is ModelFailure.TIMEOUT


def test_a_server_that_is_gone_cannot_be_reached() -> None:
    with scripted_model(hanging) as scripted:
        url = scripted.url
    with pytest.raises(ModelUnavailableError) as caught:
        a_model(url).ask(a_question())

    assert caught.value.failure is ModelFailure.UNAVAILABLE


def test_goes_nowhere_else_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_model(choosing("do_nothing")) as elsewhere:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, elsewhere.url)
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with (
            scripted_model(failing(307, location=elsewhere.url)) as scripted,
            pytest.raises(ModelUnavailableError, match="status 307"),
        ):
            a_model(scripted.url).ask(a_question())

    assert elsewhere.asked == []
    assert KEY not in repr(scripted.asked)


def test_a_provider_is_not_sent_elsewhere_by_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with scripted_model(choosing("do_nothing")) as elsewhere:
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.url)
        with pytest.raises(InputError, match="`OPENAI_BASE_URL` would have provider `openai`"):
            named("openai:gpt-5", api_key_variable=KEY_VARIABLE).ask(a_question())

    assert elsewhere.asked == []


def named(model: str, **settings: Any) -> AskedModel:
    return a_model("", model=model, **settings)


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        ("openai:gpt-5", {"api_key_variable": "NOT_SET"}, "variable `NOT_SET`, which is to hold"),
        ("openai:gpt-5", {}, "OPENAI_API_KEY"),
        ("anthropic:claude-opus-5", {}, "`pip install 'pydantic-ai-slim[anthropic]'`"),
        ("nobody:knows", {}, "provider `nobody` is not known"),
        ("elevenlabs:x", {"api_key_variable": KEY_VARIABLE}, "Unknown model: elevenlabs:x"),
        ("snowflake:x", {"api_key_variable": KEY_VARIABLE}, "cannot be held to a limit of time"),
    ],
)
def test_a_model_that_cannot_be_asked_as_configured(
    model: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        named(model, **settings).ask(a_question())

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("model", "host"),
    [
        ("openai:gpt-5", b"api.openai.com"),
        ("openai:gpt-4o", b"api.openai.com"),
        ("openai-chat:o3", b"api.openai.com"),
        ("deepseek:deepseek-chat", b"api.deepseek.com"),
    ],
)
def test_a_provider_is_asked_by_its_name(
    model: str, host: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved: list[object] = []

    def unknown(name: object, *_: object, **__: object) -> None:
        resolved.append(name)
        raise socket.gaierror("not in a test")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ModelUnavailableError) as caught:
        named(model, api_key_variable=KEY_VARIABLE).ask(a_question())

    assert caught.value.failure is ModelFailure.UNAVAILABLE
    assert resolved == [host]


@pytest.mark.parametrize(
    ("model", "url", "said"),
    [
        ("gpt-5", "", "expected `PROVIDER:NAME`"),
        ("gateway/openai:gpt-5", "", "expected `PROVIDER:NAME`"),
        ("x", "file:///etc/passwd", "expected `http://HOST/v1`"),
        ("x", "http:///v1", "expected `http://HOST/v1`"),
        ("x", f"http://me:{KEY}@127.0.0.1/v1", "it holds a password"),
    ],
)
def test_refuses_a_place_that_is_none(model: str, url: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        a_model(url, model=model)

    assert said in str(caught.value)
    assert KEY not in str(caught.value)


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pydantic_ai"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)

    with pytest.raises(MissingExtraError, match=r"interlock\[llm\]"):
        a_model("http://127.0.0.1/v1").ask(a_question())


def test_the_key_is_never_shown() -> None:
    with logged() as log, scripted_model(choosing("do_nothing")) as scripted:
        model = a_model(scripted.url, api_key_variable=KEY_VARIABLE)
        reply = model.ask(a_question())

    assert KEY not in log.getvalue() + repr(model) + repr(vars(model)) + repr(reply)


def test_nothing_heavy_is_loaded_before_a_model_is_asked() -> None:
    code = "import sys, interlock.loop.model_decider as m; print(sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG_ENOUGH_S,
    ).stdout

    assert not [name for name in ("pydantic_ai", "httpx2", "openai") if f"'{name}'" in loaded]
