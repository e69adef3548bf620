"""Waiting for commits can be stopped, in every store."""

from __future__ import annotations

import os
import threading
from contextlib import closing

import pytest

from interlock.ledger.ledger import Ledger
from interlock.ports import Listener
from ledger.events import a_violation, appending
from patience import LONG_ENOUGH_S


@pytest.mark.parametrize("timeout_s", [None, 0.0, LONG_ENOUGH_S])
def test_a_stopped_listener_does_not_wait(ledger: Ledger, timeout_s: float | None) -> None:
    with closing(ledger.listen()) as listener:
        listener.stop()
        listener.stop()

        assert not listener.wait(timeout_s)
        assert not listener.wait(timeout_s)


def test_a_closed_listener_does_not_wait(ledger: Ledger) -> None:
    listener = ledger.listen()
    listener.close()
    listener.stop()
    listener.close()

    assert not listener.wait(None)


def test_a_stop_ends_a_wait_without_a_timeout(ledger: Ledger) -> None:
    # Repeated, so that the stop comes before, at the start of and during the wait.
    for number in range(20):
        with closing(ledger.listen()) as listener:
            heard, thread = start_waiting(listener)
            if number % 2:
                thread.join(0.001 * number)
            listener.stop()
            thread.join(LONG_ENOUGH_S)

            assert heard == [False]


def test_stopping_one_listener_leaves_the_others_waiting(ledger: Ledger) -> None:
    with closing(ledger.listen()) as stopped, closing(ledger.listen()) as other:
        heard, thread = start_waiting(other)
        stopped.stop()
        assert not stopped.wait(None)
        ledger.execute(appending("r1", a_violation()))
        thread.join(LONG_ENOUGH_S)

        assert heard == [True]


def test_a_commit_wakes_every_listener(ledger: Ledger) -> None:
    listeners = [ledger.listen() for _ in range(8)]
    waits = [start_waiting(listener) for listener in listeners]
    ledger.execute(appending("r1", a_violation()))
    for _, thread in waits:
        thread.join(LONG_ENOUGH_S)
    for listener in listeners:
        listener.close()

    assert [heard for heard, _ in waits] == [[True]] * 8


def test_a_forked_child_does_not_stop_the_listener_of_its_parent(ledger: Ledger) -> None:
    with closing(ledger.listen()) as listener:
        child = os.fork()
        if child == 0:
            listener.stop()
            listener.close()
            os._exit(0)
        os.waitpid(child, 0)
        ledger.execute(appending("r1", a_violation()))

        assert listener.wait(LONG_ENOUGH_S)


def start_waiting(listener: Listener) -> tuple[list[bool], threading.Thread]:
    """Wait on another thread; the list holds the result once the thread has ended."""
    heard: list[bool] = []
    thread = threading.Thread(target=lambda: heard.append(listener.wait(None)), daemon=True)
    thread.start()
    return heard, thread
