"""Work in parts that several processes do; what comes out does not hang on who did which part.

A job yields what is to be done next, is sent what came of it, and returns what all of it comes to.
Whatever is done is given the same equipment first: what a process judges by, made once in each.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any, Final, TypeVar

from interlock.errors import InterlockError

_AHEAD: Final = 3
"""So many parts per process are under way."""
_MANY_OBJECTS: Final = 100_000

R = TypeVar("R")
Task = tuple[Callable[..., object], tuple[object, ...]]
Job = Generator[Task, Any, R]


def in_turn(jobs: Iterable[Job[R]], equipment: object) -> Iterator[tuple[int, R]]:
    """Do all of it in this process; yield what each job comes to, by its place."""
    for place, job in enumerate(jobs):
        result: object = None
        while True:
            try:
                work, arguments = job.send(result)
            except StopIteration as ended:
                yield place, ended.value
                break
            result = work(equipment, *arguments)


def side_by_side(
    jobs: Sequence[Job[R]], equip: Callable[[], object], processes: int
) -> Iterator[tuple[int, R]]:
    """Do it by several processes, each equipped for itself; yield what is done first, first."""
    pool = ProcessPoolExecutor(
        min(processes, len(jobs)), get_context("spawn"), initializer=_begin, initargs=(equip,)
    )
    waiting = iter(enumerate(jobs))
    pending: dict[Future[object], tuple[int, Job[R]]] = {}

    def go_on(place: int, job: Job[R], result: object) -> Iterator[tuple[int, R]]:
        try:
            work, arguments = job.send(result)
        except StopIteration as ended:
            yield place, ended.value
        else:
            pending[pool.submit(_work, work, arguments)] = place, job

    try:
        while True:
            for place, job in islice(waiting, _AHEAD * processes - len(pending)):
                yield from go_on(place, job, None)
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                yield from go_on(*pending.pop(future), future.result())
    except BrokenExecutor:
        raise InterlockError(
            "a process that did a part of the work was ended from outside, perhaps for want of"
            " memory: run the same again, with `--processes 1`"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            # One that is in the middle of something would have us wait for its end.
            child.terminate()


_equipment: list[object] = []
"""What a process judges by, set once as it begins."""


def _begin(equip: Callable[[], object]) -> None:
    """Get ready: who interrupts us interrupts the first process, and all end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _equipment[:] = [equip()]
    # It stays to the end, and what comes and goes holds next to nothing that refers to itself:
    # to look through either for what can be thrown away takes longer than it is worth.
    gc.freeze()
    gc.set_threshold(_MANY_OBJECTS)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(work: Callable[..., object], arguments: tuple[object, ...]) -> object:
    return work(_equipment[0], *arguments)
