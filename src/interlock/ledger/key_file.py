"""The file of the key that seals a ledger: made once, never replaced.

Its second line says that the ledger has an anchor, so that one that is gone is missed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Final

from interlock.descriptors import sync
from interlock.errors import LedgerError, UnavailableError
from interlock.ledger.chain import SealKey

_KEY_BYTES: Final = 32
_ANCHORED: Final = "anchored"


def new_key() -> bytes:
    """Return a key that nobody knows."""
    return secrets.token_bytes(_KEY_BYTES)


class KeyFile:
    """The file of one ledger's key."""

    def __init__(self, keys: Path, ledger_id: str) -> None:
        self.file: Final = keys / f"{ledger_id}.key"
        """Where it is."""

    def exists(self) -> bool:
        """Whether the ledger has a key here."""
        return self.file.exists()

    def key(self) -> SealKey:
        """Return the key; raise LedgerError if it cannot be read, or if others can."""
        return SealKey(self._read()[0])

    def is_anchored(self) -> bool:
        """Whether an anchor was ever made with it."""
        return self._read()[1]

    def make(self, key: bytes | None = None) -> None:
        """Make the key, or keep one that is given, unless another process was faster."""
        with self._clear_errors(), contextlib.suppress(FileExistsError):
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._unfinished((key or new_key()).hex()) as unfinished:
                os.link(unfinished, self.file)

    def note_anchor(self) -> None:
        """Note that there is an anchor now."""
        key, is_anchored = self._read()
        if not is_anchored:
            with self._clear_errors(), self._unfinished(f"{key.hex()}\n{_ANCHORED}") as unfinished:
                unfinished.replace(self.file)
                sync(self.file.parent)

    def _read(self) -> tuple[bytes, bool]:
        file = self.file
        try:
            if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise LedgerError(f"{file} can be read by others: run `chmod 600 {file}`")
            text, _, rest = file.read_text().strip().partition("\n")
            key = bytes.fromhex(text)
        except (OSError, ValueError) as error:
            raise LedgerError(f"{file} cannot be read as a key: {error}") from error
        if len(key) != _KEY_BYTES:
            raise LedgerError(f"{file} holds {len(key)} bytes, a key has {_KEY_BYTES}: restore it")
        return key, rest == _ANCHORED

    @contextlib.contextmanager
    def _unfinished(self, text: str) -> Generator[Path]:
        """Write a private file that nobody ever sees half written; it is gone afterwards."""
        unfinished = self.file.with_name(f".{self.file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            with os.fdopen(descriptor, "w") as stream:
                stream.write(f"{text}\n")
                stream.flush()
                # What it seals is on disk from the first record on: so must the key be.
                os.fsync(stream.fileno())
            yield unfinished
        finally:
            unfinished.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _clear_errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise UnavailableError(f"{self.file} cannot be written: {error}") from error
