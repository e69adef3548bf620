"""The processes of a crew: `python -m concurrency.member FD FD ...`.

One process loads everything once and makes the members by forking, before any ledger is open:
each is a process of its own with connections of its own, and costs next to nothing to start.
"""

from __future__ import annotations

import fcntl
import gc
import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from concurrency.places import Place
from interlock import Budget, Interlock
from interlock.service.policies.policy_files import default_policy
from interlock.service.records.context import engine

_NEEDED_SOON = ("concurrency.jobs", "interlock.ledger.stores.postgres")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a member is to do, and the file whose lock holds it back until all are ready."""

    place: Place
    gate: Path
    job: Callable[[Member, Any], object]
    task: object


class Leave(msgspec.Struct, frozen=True, kw_only=True):
    """Close the ledger and wait for the next order."""


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """A member stands ready."""

    pid: int


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger is open; the member waits at the gate."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Something a job says on its way."""

    what: object


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an order."""

    result: object = None
    error: Exception | None = None
    trace: str = ""


class Member:
    """One process that does what it is told, on one ledger at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._place: Place | None = None
        self._interlock: Interlock | None = None

    @property
    def interlock(self) -> Interlock:
        assert self._interlock is not None
        return self._interlock

    def tell(self, what: object) -> None:
        """Let the test know how far a job has come."""
        self._connection.send(Told(what=what))

    def serve(self) -> None:
        self._connection.send(Hello(pid=os.getpid()))
        while True:
            try:
                order = self._connection.recv()
            except EOFError:
                self._leave()
                return
            self._connection.send(self._obeyed(order))

    def _obeyed(self, order: Order | Leave) -> Done:
        try:
            match order:
                case Order():
                    return Done(result=self._worked(order))
                case Leave():
                    self._leave()
                    return Done()
        except Exception as error:  # noqa: BLE001 - whoever gave the order is told
            return Done(error=error, trace=traceback.format_exc())

    def _worked(self, order: Order) -> object:
        self._go_to(order.place)
        self._connection.send(Ready())
        with order.gate.open() as gate:
            fcntl.flock(gate, fcntl.LOCK_SH)
        return order.job(self, order.task)

    def _go_to(self, place: Place) -> None:
        if self._place != place:
            self._leave()
            self._interlock, self._place = place.opened(), place

    def _leave(self) -> None:
        if self._interlock is not None:
            self._interlock.close()
        self._interlock = self._place = None


def main(descriptors: list[int]) -> None:
    for module in _NEEDED_SOON:
        import_module(module)
    with Interlock.open(":memory:", policy=default_policy()) as interlock:
        _rehearse(interlock)
    engine()
    gc.collect()
    gc.freeze()  # a member's collector would copy all of it
    for number, descriptor in enumerate(descriptors):
        if os.fork() == 0:
            # A member that held another's line would keep its death secret.
            for other in descriptors[number + 1 :]:
                os.close(other)
            _be_member(descriptor)
        os.close(descriptor)
    for _ in descriptors:
        os.wait()


def _rehearse(interlock: Interlock) -> None:
    """Do once what most jobs do, so that no member is the first to need something."""
    run = interlock.run("a rehearsal", budget=Budget(tool_calls=2))
    run.observe(run.command("ls"))
    run.tool("search", {"number": 1})


def _be_member(descriptor: int) -> None:
    try:
        Member(Connection(descriptor)).serve()
    except BaseException:  # noqa: BLE001 - a child must never become a second nursery
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    # Under the name by which orders are sent: `__main__` would be another module.
    from concurrency import member

    member.main([int(each) for each in sys.argv[1:]])
