"""Which rows can still be read in a damaged SQLite file?

The file is not opened as a database: each of its pages is looked at by itself, so that a page
that is gone takes only its own rows with it, whatever led to it. The committed pages of the
write-ahead file count as well. Nothing is ever written.

The format is the one described in https://www.sqlite.org/fileformat.html.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import BinaryIO, Final, NamedTuple, Self

Value = int | float | str | bytes | None

_MAGIC: Final = b"SQLite format 3\0"
_USUAL_PAGE_SIZE: Final = 4096
_PAGE_SIZES: Final = frozenset(1 << power for power in range(9, 17))
_WAL_HEADER: Final = Struct(">8I")
_FRAME_HEADER: Final = Struct(">6I")
_LITTLE_ENDIAN_WAL: Final = 0x377F0682
_BIG_ENDIAN_WAL: Final = 0x377F0683

_INDEX_INTERIOR: Final = 0x02
_INDEX_LEAF: Final = 0x0A
_TABLE_LEAF: Final = 0x0D
_DOUBLE: Final = Struct(">d")
_INTEGER_SIZES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Row(NamedTuple):
    """One row, of whatever table: which one, its columns tell."""

    rowid: int | None
    values: tuple[Value, ...]


class Page(NamedTuple):
    """The rows that a page lists, and the page as it is."""

    rows: list[Row]
    content: bytes


class DamagedFile:
    """A database file and the write-ahead file beside it, as numbered pages."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        wal = path.with_name(f"{path.name}-wal")
        self._wal = wal.open("rb") if wal.exists() else None
        self._size, self._usable = self._sizes()
        self._newer = {} if self._wal is None else _committed_frames(self._wal, self._size)
        length = self._file.seek(0, 2)
        self._in_file = -(-length // self._size)

    def pages(self, tell: Callable[[int, int], None] | None = None) -> Iterator[Page]:
        """Yield every page with the rows that can be read in it, some more than once."""
        total = max([self._in_file, *self._newer])
        for number in range(1, total + 1):
            for page in self._versions(number):
                yield Page(list(self._rows_in(page, 100 if number == 1 else 0)), page)
            if tell is not None:
                tell(number, total)

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()
        if self._wal is not None:
            self._wal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _sizes(self) -> tuple[int, int]:
        header = self._file.read(100)
        if header.startswith(_MAGIC) and len(header) == 100:
            size = int.from_bytes(header[16:18], "big")
            size = 65536 if size == 1 else size
            if size in _PAGE_SIZES:
                return size, size - header[20]
        return _USUAL_PAGE_SIZE, _USUAL_PAGE_SIZE

    def _versions(self, number: int) -> Iterator[bytes]:
        """A page as it is now, and as it was before the write-ahead file.

        Rows that are never changed are as good from either.
        """
        newer = self._newer.get(number)
        if newer is not None and self._wal is not None:
            yield _read(self._wal, newer, self._size)
        if number <= self._in_file:
            yield _read(self._file, (number - 1) * self._size, self._size)

    def _rows_in(self, page: bytes, start: int) -> Iterator[Row]:
        if len(page) < self._size or page[start] not in (
            _TABLE_LEAF,
            _INDEX_LEAF,
            _INDEX_INTERIOR,
        ):
            return
        kind = page[start]
        first = start + (12 if kind == _INDEX_INTERIOR else 8)
        for number in range(int.from_bytes(page[start + 3 : start + 5], "big")):
            pointer = page[first + 2 * number : first + 2 * number + 2]
            try:
                yield self._row(page, int.from_bytes(pointer, "big"), kind)
            except (IndexError, ValueError):
                # Damaged, or no row at all. The others may be whole.
                continue

    def _row(self, page: bytes, at: int, kind: int) -> Row:
        rowid = None
        if kind == _INDEX_INTERIOR:
            at += 4
        length, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            rowid, at = _varint(page, at)
        return Row(rowid, _values(self._payload(page, at, length, is_table=rowid is not None)))

    def _payload(self, page: bytes, at: int, length: int, *, is_table: bool) -> bytes:
        if not 0 < length <= (self._in_file + len(self._newer)) * self._size:
            raise ValueError("longer than the file")
        local = _local_length(length, self._usable, is_table=is_table)
        parts = [page[at : at + local]]
        missing = length - len(parts[0])
        follows = page[at + local : at + local + 4]
        while missing > 0:
            overflow = self._overflow(int.from_bytes(follows, "big"))
            parts.append(overflow[4 : min(self._usable, 4 + missing)])
            missing -= len(parts[-1])
            follows = overflow[:4]
        return b"".join(parts)

    def _overflow(self, number: int) -> bytes:
        for page in self._versions(number) if number else ():
            if len(page) == self._size:
                return page
        raise ValueError("a part of it is missing")


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def _local_length(length: int, usable: int, *, is_table: bool) -> int:
    """How much of a payload is in the page itself."""
    most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    wanted = least + (length - least) % (usable - 4)
    return wanted if wanted <= most else least


def _values(payload: bytes) -> tuple[Value, ...]:
    end, at = _varint(payload, 0)
    values: list[Value] = []
    place = end
    while at < end:
        serial, at = _varint(payload, at)
        value, place = _value(payload, place, serial)
        values.append(value)
    if at != end or place != len(payload):
        raise ValueError("the columns are not as long as the row")
    return tuple(values)


def _value(payload: bytes, at: int, serial: int) -> tuple[Value, int]:
    if serial == 0:
        return None, at
    if serial in (8, 9):
        return serial - 8, at
    size = 8 if serial == 7 else _INTEGER_SIZES.get(serial, (serial - 12) // 2)
    data = payload[at : at + size]
    if size < 0 or len(data) < size:
        raise ValueError("a column is cut off")
    if serial in _INTEGER_SIZES:
        return int.from_bytes(data, "big", signed=True), at + size
    if serial == 7:
        return _DOUBLE.unpack(data)[0], at + size
    return (data.decode() if serial % 2 else data), at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    value = value << 8 | data[at + 8]
    return (value - (1 << 64) if value >> 63 else value), at + 9


def _committed_frames(wal: BinaryIO, page_size: int) -> dict[int, int]:
    """Where in the write-ahead file the newest committed version of each page is.

    A damaged frame is left out by itself; what follows it was committed all the same.
    """
    header = _read(wal, 0, _WAL_HEADER.size)
    if len(header) < _WAL_HEADER.size:
        return {}
    magic, _, size, _, *salts, first, second = _WAL_HEADER.unpack(header)
    if magic not in (_LITTLE_ENDIAN_WAL, _BIG_ENDIAN_WAL) or size != page_size:
        return {}
    order = "<" if magic == _LITTLE_ENDIAN_WAL else ">"
    committed: dict[int, int] = {}
    open_group: dict[int, int] = {}
    checksum, at = (first, second), _WAL_HEADER.size
    while len(frame := _read(wal, at, _FRAME_HEADER.size + size)) == _FRAME_HEADER.size + size:
        number, commit, *found, first, second = _FRAME_HEADER.unpack_from(frame)
        if found != salts:
            break
        if _checksum(frame, checksum, order) == (first, second):
            open_group[number] = at + _FRAME_HEADER.size
            if commit:
                committed |= open_group
                open_group = {}
        checksum, at = (first, second), at + len(frame)
    return committed


def _checksum(frame: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    data = frame[:8] + frame[_FRAME_HEADER.size :]
    words = Struct(f"{order}{len(data) // 4}I").unpack(data)
    first, second = before
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second
