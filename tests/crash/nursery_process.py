"""The warm process that children are forked from: everything is loaded, nothing is open."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import socket
import sys
from collections.abc import Callable

from crash import jobs
from crash.nursery import Await, Spawn, orders
from interlock import Interlock
from interlock.service.policies.policy_files import default_policy
from interlock.service.records.context import engine


def main() -> None:
    """Fork children until nobody asks for them; in a child, do its job and end as programs do."""
    # An interrupt in the middle of an import may leave Python's own lock on it behind: whatever
    # the work of a child loads late is loaded here.
    for late in ("interlock.ledger.stores.postgres", "rapidfuzz.fuzz"):
        importlib.import_module(late)
    with Interlock.open(":memory:", policy=default_policy()) as interlock:
        jobs.rehearse(interlock)
    engine()
    gc.freeze()
    work = _next_work(socket.socket(fileno=int(sys.argv[1])))
    if work is not None:
        work()


def _next_work(door: socket.socket) -> Callable[[], None] | None:
    """Return a child's work in that child, None in this process at its end."""
    with door:
        for order, descriptors in orders(door):
            match order:
                case Spawn():
                    pid = os.fork()
                    if pid == 0:
                        return lambda told=order, out=descriptors[0]: _do(told, out)
                    os.close(descriptors[0])
                    door.send(str(pid).encode())
                case Await(pid=pid):
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    door.send(str(code).encode())
    return None


def _do(order: Spawn, out: int) -> None:
    def tell(line: str) -> None:
        try:
            # One piece: lines of several threads do not mix.
            os.write(out, f"{line}\n".encode())
        except BrokenPipeError:
            # Nobody is left who would end us.
            os._exit(1)

    faulthandler.enable()
    jobs.JOBS[order.job](tell, **order.arguments)


if __name__ == "__main__":
    main()
