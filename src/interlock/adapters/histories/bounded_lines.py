"""A file of any size, line by line or as one document, in little memory and never written to.

What clients left behind may be cut off, packed, broken, or one line of two gigabytes.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.descriptors import READING, check_is_regular, opened
from interlock.model.past_run import Unread

MOST_HELD: Final = 64 << 20
"""So much of a file is held at once, as a line or as one document."""
_PIECE: Final = 1 << 18
_PACKED_PIECE: Final = 1 << 16
_MEBI: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ANY_GZIP: Final = zlib.MAX_WBITS | 16
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def bounded_lines(
    path: Path, unread: Callable[[Unread], None], *, most: int = MOST_HELD
) -> Iterator[tuple[int, bytes]]:
    """Yield each line of a file, packed or not, with its number from 1 on; raises OSError.

    A line that is too long is told and left out; so is the rest of a file whose packing is broken.
    """
    number, size, pieces = 1, 0, list[bytes]()
    for piece in _pieces(path, unread):
        *ends, rest = piece.split(b"\n")
        for end in ends:
            size += len(end)
            if size <= most:
                yield number, b"".join((*pieces, end)) if pieces else end
            else:
                unread(_too_long(path, number, size, most))
            number, size, pieces = number + 1, 0, []
        size += len(rest)
        if size > most:
            pieces = []
        elif rest:
            pieces.append(rest)
    if pieces:
        yield number, b"".join(pieces)
    elif size:
        unread(_too_long(path, number, size, most))


def bounded_whole(
    path: Path, unread: Callable[[Unread], None], *, most: int = MOST_HELD
) -> bytes | None:
    """Return what a file holds, unpacked; None, and that is told, where it is too much to hold.

    Raises OSError.
    """
    size = path.stat().st_size
    pieces = list[bytes]()
    if size <= most:
        size = 0
        for piece in _pieces(path, unread):
            size += len(piece)
            if size > most:
                break
            pieces.append(piece)
    if size > most:
        unread(Unread(path=str(path), reason=_too_large(size, most)))
        return None
    return b"".join(pieces)


def unpacked(beginning: bytes) -> bytes:
    """Return how a file begins, unpacked where it is packed; as much of it as is there."""
    if not beginning.startswith(_GZIP):
        return beginning.removeprefix(_BYTE_ORDER_MARK)
    try:
        return zlib.decompressobj(_ANY_GZIP).decompress(beginning, _PIECE)
    except zlib.error:
        return b""


def _in_words(size: int) -> str:
    return f"{size // _MEBI} MiB" if size and size % _MEBI == 0 else f"{size:,} bytes"


def _pieces(path: Path, unread: Callable[[Unread], None]) -> Iterator[bytes]:
    with opened(path, READING) as file:
        check_is_regular(file, most=sys.maxsize)
        first = os.read(file, _PACKED_PIECE)
        packed = first.startswith(_GZIP)
        yield from _unpacked(file, first, path, unread) if packed else _plain(file, first)


def _plain(file: int, first: bytes) -> Iterator[bytes]:
    piece = first.removeprefix(_BYTE_ORDER_MARK)
    while piece:
        yield piece
        piece = os.read(file, _PIECE)


def _unpacked(
    file: int, packed: bytes, path: Path, unread: Callable[[Unread], None]
) -> Iterator[bytes]:
    """Yield what is packed, part by part: such files may be joined, and filled up with zeros."""
    size, part = 0, None
    while packed := packed or os.read(file, _PACKED_PIECE):
        packed = packed if part else packed.lstrip(b"\0")
        if not packed:
            continue
        part = part or zlib.decompressobj(_ANY_GZIP)
        before = part.copy()
        try:
            piece = part.decompress(packed, _PIECE)
        except zlib.error as error:
            yield (piece := _before_the_break(before.decompress, packed))
            unread(_broken(path, size + len(piece), str(error).rsplit(": ", 1)[-1]))
            return
        size += len(piece)
        yield piece
        packed, part = (part.unused_data, None) if part.eof else (part.unconsumed_tail, part)
    if part:
        yield (piece := part.flush())
        unread(_broken(path, size + len(piece), "it is cut off"))


def _before_the_break(unpack: Callable[[bytes], bytes], packed: bytes) -> bytes:
    content = bytearray()
    with suppress(zlib.error):
        for place in range(len(packed)):
            content += unpack(packed[place : place + 1])
    return bytes(content)


def _broken(path: Path, size: int, why: str) -> Unread:
    reason = f"its gzip packing is broken after {size:,} bytes of text: {why}; the rest is not read"
    return Unread(path=str(path), reason=reason)


def _too_long(path: Path, number: int, size: int, most: int) -> Unread:
    reason = f"line {number} is longer than {_in_words(most)} ({size:,} bytes)"
    return Unread(path=str(path), reason=reason, line=number)


def _too_large(size: int, most: int) -> str:
    return (
        f"it is one document of {size:,} bytes or more, and at most {_in_words(most)} are held at"
        " once: split it, or write its runs one to a line (docs/run-formats.md)"
    )
