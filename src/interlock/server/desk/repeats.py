"""The same request again: it is carried out once, and whoever repeats it gets the same answer.

What the record itself can tell it tells, also to a server that was started since: questions,
runs and events know their keys. For everything else this server remembers.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from interlock.errors import KeyConflictError
from interlock.server.wire.problem import Refused

_MOST_KNOWN: Final = 2_000
_LONGEST_KEY: Final = 512


class Asked(NamedTuple):
    """What makes a request the same: who, what and under which key."""

    who: str
    method: str
    path: str
    key: str


class _Known(NamedTuple):
    digest: bytes
    answer: asyncio.Future[object]


class Repeats:
    """Remembers the latest requests that had a key, and what came of them."""

    def __init__(self) -> None:
        self._known = OrderedDict[Asked, _Known]()

    async def once(
        self, asked: Asked, body: bytes, perform: Callable[[], Awaitable[object]]
    ) -> object:
        """Carry a request out, or return what came of it; one that failed may be tried again."""
        if len(asked.key) > _LONGEST_KEY:
            raise Refused(400, f"`Idempotency-Key` is longer than {_LONGEST_KEY} characters")
        digest = hashlib.sha256(body).digest()
        known = self._known.get(asked)
        if known is not None:
            if known.digest != digest:
                raise KeyConflictError(
                    f"the key `{asked.key[:60]}` stands for another request to `{asked.path}`: use"
                    " a new key for a new request"
                )
            return await asyncio.shield(known.answer)
        future = asyncio.get_running_loop().create_future()
        self._known[asked] = _Known(digest, future)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        try:
            answer = await perform()
        except BaseException as error:
            self._known.pop(asked, None)
            _fail(future, error)
            raise
        future.set_result(answer)
        return answer


def _fail(future: asyncio.Future[object], error: BaseException) -> None:
    """Tell whoever waits for the same; nobody has to."""
    if isinstance(error, asyncio.CancelledError):
        future.cancel()
    else:
        future.set_exception(error)
        future.exception()
