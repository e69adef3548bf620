"""A folder to work in, and a policy that lets through what can be put back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from interlock import Interlock
from interlock.edits.snapshot import restore
from patience import LONG_ENOUGH_S

RULE = "filesystem.delete-recursive-forced"

POLICY = f"""
[destructive-ops]
scratch-folders = []
temp-folders = []

[destructive-ops.rules]
"{RULE}" = "allow-with-undo"

[[rules]]
id = "mind-files"
when = 'kind == "edit" || effects.exists(e, e.kind in ["delete", "overwrite", "append", "move"])'
on_match = "allow-with-undo"
message = "it changes files"
"""
"""Whatever a command or an edit changes may be changed, if it can be put back."""

OpenInterlock = Callable[..., Interlock]
"""Opens the ledger of a test again, under a policy that is given as text."""


class Workplace:
    """The workspace of a run, and beside it the store of what can be put back."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir(parents=True)
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.store = folder / "undo"

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(mode)
        return file

    def run(self, line: str) -> None:
        """Really run a command line, whatever comes of it."""
        subprocess.run(
            ["bash", "-c", line],
            cwd=self.root,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=LONG_ENOUGH_S,
        )

    def restore(self, undo_id: str | None) -> None:
        assert undo_id is not None
        restore(self.store, undo_id)

    def everything(self) -> dict[str, tuple[int, bytes]]:
        """Return what stands in the workspace, and outside of it where nothing may change."""
        return {**_standing(self.root), **_standing(self.outside)}

    def copies(self) -> list[str]:
        """Return the ids of all that was ever copied away."""
        folder = self.store / "snapshots"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def _standing(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        f"{root.name}/{path.relative_to(root)}": (path.lstat().st_mode, _content(path))
        for path in sorted(root.rglob("*"))
    }


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return b"" if path.is_dir() else path.read_bytes()
