"""Where bytes come from: labels that words, streams and files carry along.

Labels are bits, so that joining two sources is one `|`.
"""

from __future__ import annotations

from typing import Final

import msgspec

REMOTE: Final = 1
"""Came over the network."""
DECODED: Final = 2
"""Was decoded or otherwise unscrambled on the way."""
SECRET: Final = 4
"""Read from a place where credentials live."""
ENVIRON: Final = 8
"""The environment of the process, in which credentials usually stand."""
ARCHIVE: Final = 16
"""A whole folder packed into one stream."""
UNKNOWN_FILE: Final = 32
"""A file whose name is known only at run time."""
SHELL: Final = 128
"""What a shell prints that somebody else tells what to do."""
PICKED: Final = 256
"""A part of the environment that a filter picked out."""
SYSTEM_FILE: Final = 512
"""Read from the system's own files."""
TYPED: Final = 1024
"""Is typed in later, into what the line has started: nobody has seen it."""
EMPTY: Final = 2048
"""Is nothing, or nothing but blanks: what it is written over is gone."""
MANY: Final = 4096
"""Names that a search or a wide pattern finds: how many there are, only the run knows."""
LOGIN: Final = 8192
"""Printed by a store of logins, or by what may hold one: to log in with it is what it is for, to
send it on is not."""
ENDLESS: Final = 16384
"""Never ends by itself: `yes`, `/dev/zero`."""
PROCESS: Final = 32768
"""Numbers of processes that a list of them was searched for."""
STAND_IN: Final = 64
"""A name that is written in place of the real one, which only the run knows: one by `mktemp`, say.

It may be used as it is; what is computed from it is unknown.
"""

NAMES: Final = {
    "remote": REMOTE,
    "decoded": DECODED,
    "secret": SECRET,
    "environ": ENVIRON,
    "archive": ARCHIVE,
    "unknown-file": UNKNOWN_FILE,
    "shell": SHELL,
    "picked": PICKED,
    "system-file": SYSTEM_FILE,
    "typed": TYPED,
    "empty": EMPTY,
    "many": MANY,
    "login": LOGIN,
    "endless": ENDLESS,
    "process": PROCESS,
}

_UNKNOWN_STARTS: Final = ("$", "`", "")
_EMPTY_BY_NATURE: Final = ("__init__.py", "__init__.pyi", "conftest.py")


class Stream(msgspec.Struct, frozen=True, gc=False):
    """What flows through a pipe or lies in a file: its labels, and its text where known."""

    labels: int = 0
    text: str | None = None
    exact: bool = True
    """Whether the text is what flows, and no part of it is as it was written."""


NOTHING: Final = Stream(0, "")
UNSEEN: Final = Stream(0, None)


def as_written(labels: int, text: str, *, known: bool) -> Stream:
    """Return what a text prints; variables that only the run knows stand in it as they are."""
    if known or text[:1] not in _UNKNOWN_STARTS:
        return Stream(labels, text, exact=known)
    return Stream(labels)


def part_of(stream: Stream) -> Stream:
    """Return what is left of a text when some of it is taken away or changed: who knows what."""
    if stream.labels & MANY:
        # Fewer names are still names.
        return Stream(stream.labels, stream.text, exact=False)
    return Stream(stream.labels | DECODED, stream.text, exact=False) if stream.text else stream


def ended(stream: Stream) -> Stream:
    """Return the first part of a stream: it has an end."""
    return Stream(stream.labels & ~ENDLESS, stream.text, stream.exact)


def written(stream: Stream, path: str) -> int:
    """Return the labels of what is written over a file: whether it is nothing, or has no end."""
    if stream.text is None or stream.text.strip() or not stream.exact:
        # A device takes whatever comes.
        return stream.labels & ~ENDLESS if path.startswith("/dev/") else stream.labels
    return stream.labels if path.endswith(_EMPTY_BY_NATURE) else stream.labels | EMPTY


def joined(streams: list[Stream]) -> Stream:
    """Return the streams one after the other."""
    if len(streams) == 1:
        return streams[0]
    labels = 0
    exact = True
    parts: list[str] | None = []
    for stream in streams:
        labels |= stream.labels
        exact = exact and stream.exact
        if stream.text is None:
            parts = None
        elif parts is not None:
            parts.append(stream.text)
    return Stream(labels, None if parts is None else "".join(parts), exact)
