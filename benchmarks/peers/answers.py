"""The peer's side of the protocol: questions in, answers out, several at once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec


class Place(msgspec.Struct, frozen=True):
    """An empty Git project in an empty home, where a tool has its own defaults."""

    project: Path
    environment: Mapping[str, str]

    def said(self, command: Sequence[str], told: str = "") -> str | None:
        """Return what a program prints, or None where it fails."""
        done = subprocess.run(
            command,
            input=told,
            capture_output=True,
            text=True,
            cwd=self.project,
            env=self.environment,
            check=False,
        )
        return done.stdout if done.returncode == 0 else None


@contextmanager
def empty_place() -> Generator[Place]:
    """Make such a place for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "home", "project")
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
        yield Place(project, {"HOME": str(project.parent), "PATH": os.environ["PATH"]})


def absent(name: str, how: str) -> None:
    """Say that the tool is not installed, and how to get it."""
    _say({"peer": name, "absent": how})


def serve(
    name: str,
    version: str,
    alarms: Callable[[str], bool | None],
    *,
    kind: str = "command",
    own_sources: Sequence[str] = (),
    at_once: int | None = None,
) -> None:
    """Answer every question of one kind; None where the tool gives no answer."""
    told = {"peer": name, "version": version, "kinds": [kind], "own_sources": [*own_sources]}
    _say(told)

    def answer(line: bytes) -> dict[str, object]:
        asked = msgspec.json.decode(line, type=dict[str, object])
        if asked["kind"] != kind:
            return {"id": asked["id"], "unable": True}
        alarm = alarms(cast("str", asked[kind]))
        return {"id": asked["id"], **({"unable": True} if alarm is None else {"alarm": alarm})}

    with ThreadPoolExecutor(at_once or os.cpu_count()) as pool:
        for said in pool.map(answer, sys.stdin.buffer):
            _say(said)


def _say(said: Mapping[str, object]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
    sys.stdout.buffer.flush()
