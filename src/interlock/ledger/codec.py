"""Records as bytes, and bytes as records: every shape that was ever written is read for ever.

The bytes are canonical JSON (sorted keys, no blanks, no fractions). They are stored and hashed
as they are; nothing is ever verified by writing it anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from interlock.errors import DamagedError, InputError
from interlock.model.events import Event, Record

VERSION: Final = 1


class _Versioned(msgspec.Struct, frozen=True):
    v: int


_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_VERSION_DECODER: Final = msgspec.json.Decoder(_Versioned)
_DECODER: Final = msgspec.json.Decoder(Record)

_READERS: Final[dict[int, Callable[[bytes], Record]]] = {1: _DECODER.decode}
"""How to read each version. A new shape gets a new number; a reader is never taken away."""

_KINDS: Final = {kind: kind.__struct_config__.tag for kind in Event.__args__}


def encoded(record: Record) -> bytes:
    """Return the record's canonical bytes."""
    return _ENCODER.encode(record)


def decoded(body: bytes) -> Record:
    """Return the record that the bytes hold; raise DamagedError if they hold none."""
    try:
        version = _VERSION_DECODER.decode(body).v
        reader = _READERS.get(version)
        if reader is not None:
            return reader(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError) as error:
        raise DamagedError(f"not a record: {error}") from error
    raise DamagedError(
        f"written in format {version}, newer than the {VERSION} known here: update Interlock"
    )


def kind_of(event: Event) -> str:
    """Return the name under which an event is stored."""
    return str(_KINDS[type(event)])
