"""The files of this repository, as the tests about it see them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def files() -> tuple[Path, ...]:
    """Return every file that is kept, or would be with the next commit."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return tuple(sorted(path for path in paths if path.is_file()))


def sources(*folders: str) -> list[Path]:
    """Return the Python files below some folders."""
    return [
        path
        for path in files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders
    ]


def name_of(path: Path) -> str:
    """Return how a file is called within the repository."""
    return str(path.relative_to(ROOT))
