"""Which process is at the other end of a connection, where the kernel knows."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final, NamedTuple

_CREDENTIALS: Final = struct.Struct("3i")
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_PROC: Final = Path("/proc")
HAS_TABLES: Final = _TABLES[0].exists()
"""Whether the kernel tells who is at a connection at all."""


class Peer(NamedTuple):
    """A process and its user."""

    pid: int
    uid: int


def peer_of_socket(connection: socket.socket) -> Peer | None:
    """Return who is at the other end of a Unix socket; None where nobody can say."""
    if connection.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return None
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(found)
    return Peer(pid, uid)


def is_of_this_machine(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether both ends of a connection are here: every address of the loopback is."""
    return client[0] == server[0] or ip_address(client[0]).is_loopback


def pids_at(client: tuple[str, int], server: tuple[str, int]) -> Sequence[int] | None:
    """Return the processes of this machine that may hold the client's end of a connection.

    Where none is seen to, those of this user that nobody may look into; None where it is another
    user's, which is told by no process. To be asked rarely: it looks at every process.
    """
    found = next(filter(None, (_row(table, client, server) for table in _TABLES)), None)
    if found is None:
        return ()
    wanted = f"socket:[{found.inode}]"
    folders = [each for each in _PROC.iterdir() if each.name.isdecimal()]
    seen = {int(each.name): _holds(each, wanted) for each in folders}
    holders = [pid for pid, holds in seen.items() if holds]
    if not holders and found.uid != os.getuid():
        return None
    return holders or [pid for pid, holds in seen.items() if holds is None and _is_own(pid)]


class _Row(NamedTuple):
    inode: str
    uid: int


def _row(table: Path, client: tuple[str, int], server: tuple[str, int]) -> _Row | None:
    try:
        lines = table.read_text("ascii").splitlines()[1:]
    except OSError:
        return None
    ends = (_end(client), _end(server))
    for line in lines:
        words = line.split()
        if (_shown_end(words[1]), _shown_end(words[2])) == ends and words[9] != "0":
            return _Row(words[9], int(words[7]))
    return None


def _is_own(pid: int) -> bool:
    try:
        lines = (_PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return f"{os.getuid()}" in next((each for each in lines if each.startswith("Uid:")), "").split()


def _end(address: tuple[str, int]) -> tuple[str, int]:
    found = ip_address(address[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found), address[1]


def _shown_end(word: str) -> tuple[str, int]:
    """Return an address as the kernel shows it: in words of four bytes, each as it is stored."""
    digits, _, port = word.partition(":")
    stored = bytes.fromhex(digits)
    packed = b"".join(
        int.from_bytes(stored[at : at + 4], "big").to_bytes(4, sys.byteorder)
        for at in range(0, len(stored), 4)
    )
    return _end((str(ip_address(packed)), int(port, 16)))


def _holds(folder: Path, wanted: str) -> bool | None:
    """Whether a process holds a socket; None where nobody may look."""
    try:
        return any(_led_to(each) == wanted for each in (folder / "fd").iterdir())
    except PermissionError:
        return None
    except OSError:
        return False


def _led_to(file: Path) -> str:
    """Return where an open file leads; nowhere, where it was closed meanwhile."""
    try:
        return str(file.readlink())
    except FileNotFoundError:
        return ""
