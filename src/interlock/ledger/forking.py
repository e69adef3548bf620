"""What a forked process inherits and must not touch: connections of its parent."""

from __future__ import annotations

import ctypes
import os
from typing import Final
from weakref import WeakSet

import apsw

_open: Final[WeakSet[apsw.Connection]] = WeakSet()


def left_alone_after_fork(connection: apsw.Connection) -> apsw.Connection:
    """Return the connection; in a forked process it will never be closed, not even at its end.

    Closing waits for a lock that a thread of the parent may have held in the moment of the fork,
    and that thread does not exist in the child.
    """
    _open.add(connection)
    return connection


def _leave_alone() -> None:
    # The module as well: it closes what is still open when it goes.
    for inherited in (apsw, *_open):
        # One owner more than there are: nothing will ever be the last to let go of it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_alone)
