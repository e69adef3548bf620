"""What a call gives that is awaited: no answer yet, so that nobody takes it for one.

Whoever waits instead has it completed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping
from functools import partial
from itertools import starmap
from types import MappingProxyType
from typing import Any, Never, TypeVar, cast

from interlock.errors import LedgerError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def promised(coroutine: T) -> T:
    """Return a coroutine that is neither true nor false."""
    return cast("T", PromisedAnswer(cast("Coroutine[Any, Any, object]", coroutine)))


class PromisedAnswer(Coroutine[Any, Any, T_co]):
    """An answer that has yet to be awaited: until then it is neither true nor false."""

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, T_co]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T_co]:
        return self._coroutine.__await__()

    def __bool__(self) -> Never:
        """Refuse to say: a block would be taken for a yes."""
        raise TypeError(self._unawaited())

    def __getattr__(self, name: str) -> object:
        """Return what event loops ask a coroutine for; nothing of the answer is known yet."""
        try:
            return getattr(self._coroutine, name)
        except AttributeError:
            raise AttributeError(self._unawaited()) from None

    def send(self, value: object) -> object:
        """Go on, as event loops ask for."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> object:  # noqa: ANN401 - the forms of a coroutine
        """Go on with an error."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """Give up."""
        self._coroutine.close()

    def _unawaited(self) -> str:
        name = self._coroutine.__name__
        return f"there is no answer yet: await it, as in `answer = await ...{name}(...)`"


def completed(
    begin: Callable[..., Coroutine[object, object, T]],
    args: Iterable[object],
    kwargs: Mapping[str, object] = MappingProxyType({}),
) -> T:
    """Return what a coroutine comes to that waits by blocking, and so never suspends."""
    begun: list[Coroutine[object, object, T]] = []
    try:
        # Made and kept in one breath: an interrupt must not find one that nobody awaits.
        begun.extend(starmap(partial(begin, **kwargs), (args,)))
        begun[0].send(None)
    except StopIteration as end:
        return end.value
    finally:
        for coroutine in begun:
            coroutine.close()
    raise LedgerError("a coroutine was suspended where nobody awaits it")
