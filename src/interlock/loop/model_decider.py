"""How is a model asked? Once, within limits, through whatever speaks to its provider.

Nobody but the caller asks again: not the provider's package, not the connection. What a model
answers is only text here; whether anything follows from it is decided by the reader of answers.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
import os
import re
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from interlock.errors import InputError, UnavailableError
from interlock.extras import needs_extra
from interlock.model.loop_events import ModelFailure
from interlock.policy.config.complaints import one_line
from interlock.policy.loop.model_answer import ModelQuestion

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings

_Result = TypeVar("_Result")

MOST_READ: Final = 1_048_576
"""How many bytes are read of what a provider sends, thoughts and all."""
LONGEST_REPEATED: Final = 4_000
"""How many characters of its answer a model is shown again: a flood is not paid for twice."""
_QUOTA: Final = (402, 429)
_GOOD: Final = range(200, 300)
_EXTRA: Final = re.compile(r"pydantic-ai-slim\[([\w-]+)\]")
_ELSEWHERE: Final = "_BASE_URL"
"""How environment variables end that have a provider's package ask somewhere else."""
_NO_KEY: Final = "none"
_SAID_NOTHING: Final = "(nothing)"


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back."""

    text: str
    input_tokens: int | None
    """As the provider counts them; None where it does not say."""
    output_tokens: int | None


class ModelUnavailableError(UnavailableError):
    """A model did not answer; nothing of what its provider said is repeated."""

    def __init__(self, message: str, *, failure: ModelFailure) -> None:
        self.failure = failure
        super().__init__(message)


class AskedModel:
    """One model that can be asked. Asking blocks, and is not for a thread that runs a loop."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "",
        api_key_variable: str = "",
        timeout_s: float,
        max_output_tokens: int,
    ) -> None:
        """Remember how to ask: `PROVIDER:NAME`, or any name that the server at `base_url` knows.

        That server speaks as OpenAI's does. The key is in the environment variable that is named;
        where none is, a provider by name reads its own and a server gets none.
        """
        _check_place(model, base_url)
        self._model = model
        self._base_url = base_url
        self._api_key_variable = api_key_variable
        self._timeout_s = timeout_s
        self._max_output_tokens = max_output_tokens

    def ask(
        self, question: ModelQuestion, earlier: str | None = None, repair: str | None = None
    ) -> ModelReply:
        """Return what the model says; with what it said `earlier` and what was wrong with that.

        Raise ModelUnavailableError where it says nothing in time, InputError where it cannot be
        asked as it is configured, and MissingExtraError where its packages are not installed.
        """
        _load(self._model)
        wire = _Wire()
        try:
            response = _finished(self._asked(question, _history(question, earlier, repair), wire))
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a provider's package raises
            failed = self._failed(error, wire)
        else:
            return _reply(response)
        # Not from within the handler: what a package raised may hold what was sent, the key too.
        raise failed

    async def _asked(
        self, question: ModelQuestion, history: list[ModelMessage], wire: _Wire
    ) -> ModelResponse:
        import httpx2  # noqa: PLC0415 - only whoever asks a model pays for it
        from pydantic_ai.direct import model_request  # noqa: PLC0415 - heavy, loaded when asking

        # Neither a proxy nor a password comes out of the environment.
        transport = cast("httpx2.AsyncBaseTransport", wire)
        async with httpx2.AsyncClient(
            transport=transport, trust_env=False, timeout=self._timeout_s
        ) as client:
            model = self._built(client)
            return await model_request(
                model,
                history,
                model_settings=self._settings(model),
                model_request_parameters=self._parameters(model, question),
                instrument=False,
            )

    def _built(self, client: httpx2.AsyncClient) -> Model:
        """Return the model as its package knows it, speaking through our client."""
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - heavy, loaded when asking
        from pydantic_ai.models import infer_model  # noqa: PLC0415 - heavy, loaded when asking

        key = self._key()
        try:
            if self._base_url:
                return self._compatible(client, key)
            return infer_model(self._model, lambda name: _provider(name, client, key))
        except ImportError as error:
            raise _missing(self._model, error) from None
        except UserError as error:
            raise InputError(f"model `{self._model}`: {one_line(str(error))}") from None
        except (AssertionError, TypeError, ValueError):
            raise InputError(
                f"model `{self._model}`: its package cannot be held to a limit of time and size;"
                " ask it at the `base_url` of an OpenAI-compatible API"
            ) from None

    def _compatible(self, client: httpx2.AsyncClient, key: str | None) -> Model:
        from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - heavy, loaded when asking
        from pydantic_ai.providers.openai_compatible import (  # noqa: PLC0415 - heavy, loaded when asking
            OpenAICompatibleProvider,
        )

        # A key is named always: otherwise the one that the environment has for OpenAI would go out.
        provider = OpenAICompatibleProvider(
            "server", base_url=self._base_url, api_key=key or _NO_KEY, http_client=client
        )
        return OpenAIChatModel(self._model.removeprefix("openai:"), provider=provider)

    def _key(self) -> str | None:
        if not self._api_key_variable:
            return None
        key = os.environ.get(self._api_key_variable, "").strip()
        if key:
            return key
        raise InputError(
            f"model `{self._model}`: the environment variable `{self._api_key_variable}`, which is"
            " to hold its key, is not set: set it where the loop runs"
        )

    def _settings(self, model: Model) -> ModelSettings:
        settings: ModelSettings = {
            "max_tokens": self._max_output_tokens,
            "request_timeout": self._timeout_s,
        }
        # What thinks before it answers takes no temperature.
        if not model.profile.get("thinking_enabled_by_default", False):
            settings["temperature"] = 0.0
        # What does not know this setting is kept from asking twice by the wire.
        if "max_retries" not in model.unsupported_settings:
            settings["max_retries"] = 0
        return settings

    def _parameters(self, model: Model, question: ModelQuestion) -> ModelRequestParameters:
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415 - heavy, loaded when asking
        from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415 - heavy, loaded when asking

        if not model.profile.get("supports_json_schema_output", False):
            return ModelRequestParameters(output_mode="text")
        schema = OutputObjectDefinition(
            json_schema=copy.deepcopy(dict(question.schema)),
            name="answer",
            # OpenAI's own strictness knows no lengths, which keep a small model from rambling.
            strict=None if self._base_url else True,
        )
        return ModelRequestParameters(output_mode="native", output_object=schema)

    def _failed(self, error: Exception, wire: _Wire) -> ModelUnavailableError:
        from pydantic_ai.exceptions import (  # noqa: PLC0415 - heavy, loaded when asking
            ModelRequestTimeout,
            ModelTimeoutError,
        )

        failure, said = ModelFailure.UNAVAILABLE, f"cannot be reached ({type(error).__name__})"
        if wire.unreadable:
            failure, said = ModelFailure.UNREADABLE, wire.unreadable
        elif isinstance(error, ModelRequestTimeout | ModelTimeoutError):
            failure, said = ModelFailure.TIMEOUT, f"did not answer within {self._timeout_s:g} s"
        elif wire.status in _QUOTA:
            failure, said = ModelFailure.QUOTA, f"has no quota left (status {wire.status})"
        elif wire.status in _GOOD:
            failure, said = ModelFailure.UNREADABLE, "answered with what cannot be read"
        elif wire.status is not None:
            said = f"answered with status {wire.status}"
        return ModelUnavailableError(f"model `{self._model}` {said}", failure=failure)


class _Wire:
    """The way to a provider: it carries one question, and an answer of bounded length."""

    def __init__(self) -> None:
        import httpx2  # noqa: PLC0415 - only whoever asks a model pays for it

        self._inner = httpx2.AsyncHTTPTransport()
        self._carried = False
        self.status: int | None = None
        """What the provider answered with, once all of it was read."""
        self.unreadable: str = ""
        """Why the answer was not read to its end."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and read its answer; refuse a second one."""
        import httpx2  # noqa: PLC0415 - only whoever asks a model pays for it

        if self._carried:
            raise httpx2.TransportError("a model is asked once")
        self._carried = True
        # What is packed could be of any size behind its length.
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        try:
            body = await self._body(response)
        finally:
            await response.aclose()
        self.status = response.status_code
        return httpx2.Response(
            response.status_code, headers=response.headers, content=body, request=request
        )

    async def _body(self, response: httpx2.Response) -> bytes:
        import httpx2  # noqa: PLC0415 - only whoever asks a model pays for it

        if response.headers.get("content-encoding", "identity") != "identity":
            self.unreadable = "answered with packed content, which was not asked for"
            raise httpx2.TransportError(self.unreadable)
        body = bytearray()
        async for chunk in cast("httpx2.AsyncByteStream", response.stream):
            body += chunk
            if len(body) > MOST_READ:
                self.unreadable = f"answered with more than {MOST_READ} bytes"
                raise httpx2.TransportError(self.unreadable)
        return bytes(body)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _check_place(model: str, base_url: str) -> None:
    if not base_url:
        if not re.fullmatch(r"[\w-]+:.+", model):
            raise InputError(
                f"model `{model}`: expected `PROVIDER:NAME`, as in `openai:gpt-5`, or a `base_url`"
            )
        return
    place = urlsplit(base_url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise InputError(f"base_url `{base_url}`: expected `http://HOST/v1` or `https://HOST/v1`")
    if place.username is not None or place.password is not None:
        raise InputError(
            f"base_url of model `{model}`: it holds a password; name the environment variable that"
            " holds the key as `api_key_variable` instead"
        )


def _load(model: str) -> None:
    """Load what asks a model, before anything is measured."""
    with needs_extra(f"model `{model}`", "llm"):
        importlib.import_module("pydantic_ai.direct")


def _history(
    question: ModelQuestion, earlier: str | None, repair: str | None
) -> list[ModelMessage]:
    from pydantic_ai.messages import (  # noqa: PLC0415 - heavy, loaded when asking
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        UserPromptPart,
    )

    asked = [SystemPromptPart(question.system), UserPromptPart(question.user)]
    history: list[ModelMessage] = [ModelRequest(parts=asked)]
    if earlier is not None:
        said = TextPart(earlier[:LONGEST_REPEATED] or _SAID_NOTHING)
        history.append(ModelResponse(parts=[said]))
    if repair is not None:
        history.append(ModelRequest(parts=[UserPromptPart(repair)]))
    return history


def _finished(work: Coroutine[object, object, _Result]) -> _Result:
    """Return what comes of work on a loop of its own.

    Not `asyncio.run`: it waits for threads, and so for a name that nobody resolves.
    """
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def _provider(name: str, client: httpx2.AsyncClient, key: str | None) -> Provider[object]:
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415 - heavy, loaded when asking

    try:
        kind = infer_provider_class(name)
    except ValueError:
        raise InputError(
            f"provider `{name}` is not known: name one that pydantic-ai knows, as `openai`, or the"
            " `base_url` of an OpenAI-compatible API"
        ) from None
    known = {"http_client": client} if key is None else {"http_client": client, "api_key": key}
    provider = kind(**known)
    place = provider.base_url.rstrip("/")
    for variable, value in os.environ.items():
        if variable.endswith(_ELSEWHERE) and value.rstrip("/") == place:
            raise InputError(
                f"the environment variable `{variable}` would have provider `{name}` asked"
                " elsewhere: unset it, or name the place as `base_url`"
            )
    return provider


def _missing(model: str, error: ImportError) -> InputError:
    extra = _EXTRA.search(str(error))
    named = extra[1] if extra else model.partition(":")[0]
    return InputError(
        f"model `{model}`: the package of its provider is not installed:"
        f" `pip install 'pydantic-ai-slim[{named}]'`"
    )


def _reply(response: ModelResponse) -> ModelReply:
    from pydantic_ai.messages import TextPart  # noqa: PLC0415 - heavy, loaded when asking

    return ModelReply(
        text="".join([part.content for part in response.parts if isinstance(part, TextPart)]),
        input_tokens=_counted(response.usage.input_tokens),
        output_tokens=_counted(response.usage.output_tokens),
    )


def _counted(tokens: int) -> int | None:
    """Return a number of tokens; none at all means that nobody counted."""
    return tokens if tokens > 0 else None
