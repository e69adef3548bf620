"""The anchor: how many records a ledger has, and what they come to, kept outside of it.

It stands beside the keys, one for each place that a ledger was opened at, and is written after
every commit, before anybody hears an answer. A ledger that has less than its anchor says, or
something else, is not the one that was written.

The file holds two slots that are written in turn, so that one of them holds whatever happens
while the other is written; then who it is about. It is not waited for until it is on the disk: a
power cut may leave an older one, which the ledger is only ahead of.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import msgspec

from interlock.descriptors import sync
from interlock.errors import DamagedError, InputError, UnavailableError
from interlock.ledger.chain import SealKey
from interlock.ledger.gaps import sealed_gap
from interlock.model.order import BEFORE_ALL, followed, passed
from interlock.model.rows import HeadRow
from interlock.ports import Rows

_SLOT: Final = 512
"""What a disk writes at once."""
_SLOTS: Final = 2
_VERSION: Final = 1


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a ledger outside of it: nothing in it is secret."""

    v: int = _VERSION
    ledger: str
    place: str
    records: int
    runs: int
    hash: str
    at: int
    """When the last of the records was written."""
    key_id: str
    seal: str

    @classmethod
    def sealed(cls, ledger_id: str, place: str, head: HeadRow, key: SealKey) -> Self:
        """Return the anchor of a ledger with this head."""
        seal = key.seal_anchor(_sealed_text(ledger_id, place, head))
        return cls(ledger=ledger_id, place=place, **head._asdict(), key_id=key.id, seal=seal)

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Return an anchor that was exported; raise InputError if it is none."""
        try:
            anchor = msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"this is not an anchor: {error}: give what `interlock ledger anchor` printed"
            ) from error
        if anchor.v != _VERSION:
            raise InputError(f"the anchor is of version {anchor.v}: update Interlock")
        return anchor

    @property
    def head(self) -> HeadRow:
        """The end of the order that it knows."""
        return HeadRow(self.records, self.runs, self.hash, self.at)

    def fits(self, key: SealKey) -> bool:
        """Whether it was sealed with this key."""
        return key.fits_anchor(self.seal, _sealed_text(self.ledger, self.place, self.head))


def _sealed_text(ledger_id: str, place: str, head: HeadRow) -> str:
    return "\0".join((ledger_id, place, *map(str, head)))


class AnchorFile:
    """The anchor of one ledger at one place."""

    def __init__(self, file: Path, ledger_id: str, place: str, key: SealKey) -> None:
        self.file: Final = file
        """Where it is."""
        self.ledger_id: Final = ledger_id
        """The ledger that it is about."""
        self.place: Final = place
        """Where that is."""
        self.key: Final = key
        """What seals it."""
        self.is_left = False
        """Whether it stays as it is until it is put: whoever looks at a damaged ledger wants so."""
        self._descriptor: int | None = None
        self._known = BEFORE_ALL
        """What it is known to say at least."""
        self._seen: bytes = b""
        self._turn = 0
        """Which slot is written next."""

    def of_place(self, file: Path) -> AnchorFile:
        """Return another anchor of the same ledger; raise DamagedError if it names no place."""
        return AnchorFile(file, self.ledger_id, _place_named_in(file), self.key)

    def read(self) -> HeadRow | None:
        """Return what it says; None if there is none, DamagedError if it is not as written."""
        try:
            content = self.file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnavailableError(f"{self.file} cannot be read: {error}") from error
        return self._newest(content)[1]

    def make(self, head: HeadRow) -> None:
        """Write the first one, unless another process was faster; wait until it is on the disk."""
        unfinished = self.file.with_name(f".{self.file.name}.{secrets.token_hex(4)}")
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(self._content(head))
                    stream.flush()
                    os.fsync(stream.fileno())
                with contextlib.suppress(FileExistsError):
                    os.link(unfinished, self.file)
            finally:
                unfinished.unlink()
            sync(self.file.parent)
        except OSError as error:
            raise self._unwritable(error) from error

    def put(self, head: HeadRow) -> None:
        """Write it anew, whatever it said before."""
        self.make(head)
        content = self._content(head)
        try:
            with self._locked() as descriptor:
                os.pwrite(descriptor, content, 0)
                os.ftruncate(descriptor, len(content))
                os.fsync(descriptor)
        except OSError as error:
            raise self._unwritable(error) from error
        self._known, self._seen = head, b""
        self.is_left = False

    def advance(self, head: HeadRow) -> None:
        """Note a head that is durable, unless a later one is noted already.

        INVARIANT: one thread at a time. Other processes wait for the lock of the file.
        """
        if self.is_left or head.records <= self._known.records:
            return
        try:
            with self._locked() as descriptor:
                self._write(descriptor, head)
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Let go of the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        self._known, self._seen = BEFORE_ALL, b""

    @contextlib.contextmanager
    def _locked(self) -> Generator[int]:
        descriptor = self._opened()
        try:
            # In here: an interrupt in the moment of taking it must not leave it taken.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _opened(self) -> int:
        if self._descriptor is None:
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self.file, flags)
        named, opened = os.stat(self.file), os.fstat(self._descriptor)  # noqa: PTH116 - with every commit
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            raise FileNotFoundError("it was replaced while the ledger was open")
        return self._descriptor

    def _write(self, descriptor: int, head: HeadRow) -> None:
        content = os.pread(descriptor, _SLOT * _SLOTS, 0)
        if content != self._seen:
            newest, self._known = self._newest(content)
            self._turn = 1 - newest
        if self._known.records < head.records:
            slot, at = self._slot(head), self._turn * _SLOT
            os.pwrite(descriptor, slot, at)
            self._known, self._turn = head, 1 - self._turn
            content = content[:at] + slot + content[at + _SLOT :]
        self._seen = content

    def _newest(self, content: bytes) -> tuple[int, HeadRow]:
        """Return which slot is the newest that holds, and the head in it."""
        found = list(self._heads(content))
        if not found:
            raise DamagedError(
                f"{self.file} is not what was written there: put it back from a copy, or go on"
                " with what the ledger holds: `interlock ledger anchor --accept`"
            )
        return max(found, key=lambda each: each[1].records)

    def _heads(self, content: bytes) -> Iterator[tuple[int, HeadRow]]:
        for number in range(_SLOTS):
            slot = content[number * _SLOT : (number + 1) * _SLOT]
            match slot.decode("ascii", "replace").split():
                case [records, runs, hash_, at, seal] if (records + runs + at).isdigit():
                    head = HeadRow(int(records), int(runs), hash_.strip("-"), int(at))
                    text = _sealed_text(self.ledger_id, self.place, head)
                    if self.key.fits_anchor(seal, text):
                        yield number, head
                case _:
                    pass

    def _content(self, head: HeadRow) -> bytes:
        about = msgspec.json.encode({"ledger": self.ledger_id, "place": self.place})
        return self._slot(head) * _SLOTS + about + b"\n"

    def _slot(self, head: HeadRow) -> bytes:
        seal = self.key.seal_anchor(_sealed_text(self.ledger_id, self.place, head))
        words = (head.records, head.runs, head.hash or "-", head.at, seal)
        return " ".join(map(str, words)).encode().ljust(_SLOT - 1) + b"\n"

    def _unwritable(self, error: OSError) -> UnavailableError:
        return UnavailableError(
            f"the anchor {self.file} cannot be written ({error}): whether this was recorded is not"
            " known; asking again with the same key is safe"
        )


def anchor_file(keys: Path, ledger_id: str, place: str) -> Path:
    """Return where the anchor of a ledger at a place is, or would be."""
    return keys / f"{ledger_id}-{_place_name(place)}.anchor"


def other_anchors(keys: Path, ledger_id: str, place: str) -> tuple[list[Path], list[Path]]:
    """Return the anchors of other ledgers at this place, and of this ledger at other places."""
    own, here = anchor_file(keys, ledger_id, place).name, f"-{_place_name(place)}.anchor"
    try:
        found = os.listdir(keys)  # noqa: PTH208 - names only: a user may have thousands of ledgers
    except FileNotFoundError:
        return [], []
    others = sorted(
        name for name in found if name.endswith(".anchor") and name[0] != "." and name != own
    )
    return (
        [keys / name for name in others if name.endswith(here)],
        [keys / name for name in others if name.startswith(f"{ledger_id}-")],
    )


def _place_named_in(file: Path) -> str:
    try:
        about = msgspec.json.decode(file.read_bytes()[_SLOT * _SLOTS :], type=dict[str, str])
        return about["place"]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
        raise DamagedError(f"{file} cannot be read as an anchor: {error}") from error


def _place_name(place: str) -> str:
    return hashlib.sha256(os.fsencode(place)).hexdigest()[:16]


def check_order(rows: Rows, known: HeadRow, key: SealKey) -> None:
    """Raise DamagedError unless a ledger has every record that was known, and goes on from there.

    INVARIANT: `known` was read before this is called: the ledger only ever gets ahead of it.
    """
    tally = rows.tally()
    head = tally.head
    if (tally.records, tally.last, tally.runs) != (head.records, head.records, head.runs):
        raise DamagedError(
            f"{_counted(head.records, 'record')} in {_counted(head.runs, 'run')} were written,"
            f" {tally.records:,} in {tally.runs:,} are stored, the last in place {tally.last:,}"
        )
    if head.records < known.records:
        raise DamagedError(
            f"{_counted(known.records - head.records, 'record')} of {known.records:,} are missing:"
            f" the last one here is of {_moment(head.at)}, the last one written of"
            f" {_moment(known.at)}"
        )
    if _followed_to(rows, known, head, key) != head:
        raise _other_records(known)


def check_anchor(rows: Rows, anchor: Anchor, key: SealKey) -> None:
    """Raise DamagedError unless a ledger begins with exactly the records that an anchor knows."""
    check_order(rows, anchor.head, key)
    if any(gap.first <= anchor.records < gap.last for gap in rows.gaps()):
        raise InputError(
            f"the {_counted(anchor.records, 'record')} that the anchor knows end among archived"
            " ones: bring those back with `interlock ledger archive --restore FILE`, and check"
            " again"
        )
    if _followed_to(rows, BEFORE_ALL, anchor.head, key) != anchor.head:
        raise _other_records(anchor.head)


def _followed_to(rows: Rows, known: HeadRow, head: HeadRow, key: SealKey) -> HeadRow:
    """Return what a head that was known comes to with the records that came after it."""
    for gap in rows.gaps(after=known.records):
        if gap.first > head.records:
            break
        known = _read_to(rows, known, gap.first - 1)
        if gap.first > known.records and gap.follows != known.hash:
            return known
        if gap != sealed_gap(gap, key):
            raise DamagedError(
                f"the archived records in places {gap.first:,} to {gap.last:,} are not as sealed"
            )
        # Also where what was known ends among them: the seal says what they lead to.
        known = passed(gap)
    return _read_to(rows, known, head.records)


def _read_to(rows: Rows, known: HeadRow, last: int) -> HeadRow:
    while known.records < last:
        page = rows.written(after=known.records, limit=min(1000, last - known.records))
        if not page:
            break
        known = followed(known, [each.record for each in page])
    return known


def _other_records(known: HeadRow) -> DamagedError:
    return DamagedError(
        f"the {_counted(known.records, 'record')} that were written by {_moment(known.at)} are"
        " not the ones that are here"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _moment(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC" if at else "never"
