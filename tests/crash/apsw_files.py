"""Files below SQLite, as far as tests put something of their own in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:

    class URIFilename:
        def filename(self) -> str: ...

    class VFSFile:
        def __init__(self, vfs: str, name: str | URIFilename | None, flags: list[int]) -> None: ...
        def xRead(self, amount: int, offset: int) -> bytes: ...  # noqa: N802 - SQLite's name
        def xWrite(self, data: bytes, offset: int) -> None: ...  # noqa: N802 - SQLite's name
        def xTruncate(self, newsize: int) -> None: ...  # noqa: N802 - SQLite's name
        def xSync(self, flags: int) -> None: ...  # noqa: N802 - SQLite's name
        def xFileSize(self) -> int: ...  # noqa: N802 - SQLite's name

    class VFS:
        def __init__(self, name: str, base: str, *, makedefault: bool) -> None: ...
        def xOpen(self, name: str | URIFilename | None, flags: list[int]) -> VFSFile: ...  # noqa: N802 - SQLite's name

else:
    from apsw import VFS, URIFilename, VFSFile

__all__ = ["VFS", "URIFilename", "VFSFile"]
