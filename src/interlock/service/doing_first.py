"""What has to be done outside of the ledger before a question can be answered."""

from __future__ import annotations

from collections.abc import Callable


class DoFirstError(Exception):
    """The answer hangs on something that takes its time: do that, then ask the same again.

    Whoever works at the desk holds up everybody else, so that no program is run there and no
    file copied. INVARIANT: once it was done, the same work does not ask for it again.
    """

    def __init__(self, do: Callable[[], None]) -> None:
        self.do = do
        super().__init__()
