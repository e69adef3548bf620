"""A workspace and a store to try edits in."""

from __future__ import annotations

import os
from pathlib import Path

from interlock.edits.edit_apply import apply_once, undo
from interlock.edits.edit_plan import Planned, plan_edits
from interlock.model.edit import Applied, EditSet, FileEdit


def an_edit(path: str, old: str, new: str, *, replace_all: bool = False) -> FileEdit:
    return FileEdit(path=path, old=old, new=new, replace_all=replace_all)


class Workshop:
    """Files below one folder, edited with a journal beside it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir(parents=True)
        self.store = folder / "store"

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(mode)
        return file

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def plan(self, *edits: FileEdit) -> Planned:
        return plan_edits(EditSet(edits=edits), workspace=self.root)

    def apply(self, *edits: FileEdit, set_id: str = "set") -> Applied:
        return apply_once(self.plan(*edits), store=self.store, set_id=set_id)[0]

    def undo(self, set_id: str = "set") -> Applied:
        return undo(self.store, set_id)

    def everything(self) -> dict[str, tuple[int, bytes]]:
        """Return what stands in the workspace: permissions, and bytes or where a link points."""
        return {
            str(path.relative_to(self.root)): (path.lstat().st_mode, _content(path))
            for path in sorted(self.root.rglob("*"))
        }

    def unfinished(self) -> list[str]:
        pending = self.store / "pending"
        return sorted(path.name for path in pending.iterdir()) if pending.exists() else []


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return b"" if path.is_dir() else path.read_bytes()
