"""The words of those who wait: each is the awaited one, completed at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar

from interlock.model.entrance import admitted
from interlock.model.glance import Glance, Glanced, glance_of
from interlock.model.promised_answer import completed

Ops = TypeVar("Ops", bound=Glanced)
P = ParamSpec("P")
T = TypeVar("T")


class Waiting(Glanced, Generic[Ops]):
    """Whatever waits for its operations, which never suspend."""

    def __init__(self, operations: Ops) -> None:
        self._operations = operations

    def _glance(self) -> Glance:
        return glance_of(self._operations)


def waited(
    operation: Callable[Concatenate[Ops, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[Waiting[Ops], P], T]:
    """Return an operation that blocks until it is done."""

    @wraps(operation)
    def wait(self: Waiting[Ops], /, *args: P.args, **kwargs: P.kwargs) -> T:
        given = (self._operations, *args)  # pyright: ignore[reportPrivateUsage] - its own kind
        return completed(*admitted(operation, given, kwargs))

    return wait
