"""Every error Interlock raises on purpose.

    InterlockError
    ├── PolicyError         a policy file that does not load; carries every complaint at once
    ├── RulesError          a built-in rules file that does not load; the same
    ├── InputError          what a caller handed over cannot be read
    │   ├── KeyConflictError    a request key that stands for another request already
    │   └── UnknownError        an id that names nothing
    ├── NotPermittedError   a credential that may not do this
    ├── DecidedError        an approval that came to its end already, and what end
    ├── UnfinishedError     a run that may not finish yet, and what is missing
    ├── HaltedError         an agent that may not go on, and why
    ├── CheckpointError     a checkpoint that could not be taken or restored
    ├── EditError           edits that cannot be made, or put back; no file was changed
    ├── MissingExtraError   packages that are not installed, and the command that installs them
    └── LedgerError         the record cannot be read or written
        ├── UnavailableError    the store is gone, full or busy; nothing was recorded
        └── DamagedError        what is stored is not what was written

A refusal is not an error: it is a verdict, and a verdict is a value.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


class InterlockError(Exception):
    """The root: catch this at a door."""


class PolicyError(InterlockError):
    """A policy does not load; `complaints` holds one sentence per mistake."""

    def __init__(self, complaints: Sequence[str]) -> None:
        self.complaints = tuple(complaints)
        super().__init__("\n".join(self.complaints))


class RulesError(InterlockError):
    """A built-in rules file does not load; `complaints` has one sentence per mistake."""

    def __init__(self, complaints: Sequence[str]) -> None:
        self.complaints = tuple(complaints)
        super().__init__("; ".join(self.complaints))


class InputError(InterlockError):
    """A caller's input cannot be read; the message says where and what to do."""


class KeyConflictError(InputError):
    """A request key was used before, for something else."""


class UnknownError(InputError):
    """An id names nothing that there is; the message says where to look."""


class NotPermittedError(InterlockError):
    """The credential does not allow this; the message says whose would."""


class DecidedError(InterlockError):
    """An approval cannot be decided any more; the message says what became of it."""


class UnfinishedError(InterlockError):
    """A run may not finish yet; the message says what fails, and what to do about it."""

    def __init__(self, message: str, *, approval_id: str | None = None) -> None:
        self.approval_id = approval_id
        """The question to a person that the run waits for, where it waits for one."""
        super().__init__(message)


class HaltedError(InterlockError):
    """An agent may not go on; `answer` is what was said before its next step.

    Raised to frameworks that can be ended in no other way, and where a run is to begin while a
    person has halted all of them: then there is no answer.
    """

    def __init__(self, message: str, answer: object = None) -> None:
        self.answer = answer
        super().__init__(message)


class CheckpointError(InterlockError):
    """A checkpoint was not taken, or not restored; the message says why and what to do."""


class EditError(InterlockError):
    """Edits were not made, or not put back; the message names the file, the place and the way."""


class MissingExtraError(InterlockError, ImportError):
    """Optional packages are not installed; the message names the command that installs them."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs the {extra} extra: {_install_command(extra)}")


def _install_command(extra: str) -> str:
    """Return what installs an extra beside this program, by whichever tool installed that."""
    for place, command in (("/uv/tools/", "uv tool install"), ("/pipx/", "pipx install --force")):
        if place in sys.prefix:
            return f"{command} 'interlock[{extra}]'"
    return f"pip install 'interlock[{extra}]'"


class LedgerError(InterlockError):
    """The ledger cannot be read or written; the message says where and what to do."""


class UnavailableError(LedgerError):
    """The store cannot take anything now: nothing of what was asked has been recorded."""


class DamagedError(LedgerError):
    """What is stored is not what was written; the message names the first bad place."""
