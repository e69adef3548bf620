"""An environment that holds the wheel and what it requires, and nothing of any extra.

The wheel is really built and really installed. What it requires is linked from the environment
that runs the tests, so no index is asked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from patience import LONG_ENOUGH_S

_ROOT = Path(__file__).parents[2]


class Called(NamedTuple):
    """How a call ended."""

    code: int
    stdout: str
    stderr: str


class BareEnvironment:
    """A Python that has the wheel, in a home folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Build the wheel and install it."""
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.bin = folder / "venv" / "bin"
        _done("-m", "venv", "--without-pip", str(self.bin.parent))
        _done("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), folder=_ROOT)
        (self.wheel,) = folder.glob("*.whl")
        install = ["uv", "pip", "install", "--quiet", "--offline", "--no-cache", "--no-deps"]
        _done("-m", *install, "--python", str(self.bin / "python"), str(self.wheel))
        (packages,) = self.bin.parent.glob("lib/python*/site-packages")
        for each in _required("interlock"):
            _link(each, packages)
        self.packages = packages

    def call(
        self,
        *words: str,
        stdin: str = "",
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Called:
        """Run a program of the environment, without anything that this process was told."""
        told = {"HOME": str(self.home), "PATH": f"{self.bin}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        ended = subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder or self.home,
            env={**told, "TMPDIR": os.environ["TMPDIR"], **(variables or {})},
            timeout=LONG_ENOUGH_S,
        )
        return Called(ended.returncode, ended.stdout, ended.stderr)


def _required(name: str, seen: Sequence[str] = ()) -> Iterator[Distribution]:
    """Every distribution that one without extras requires, and what those require."""
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.name in seen:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield distribution(requirement.name)
            yield from _required(requirement.name, (*seen, requirement.name))


def _link(installed: Distribution, packages: Path) -> None:
    """Have a distribution found in another folder as well."""
    source = Path(sysconfig.get_path("purelib"))
    for top in {each.parts[0] for each in installed.files or ()} - {"..", "__pycache__"}:
        place = packages / top
        if not place.exists():
            place.symlink_to(source / top)


def _done(*arguments: str, folder: Path | None = None) -> None:
    subprocess.run([sys.executable, *arguments], check=True, cwd=folder, capture_output=True)
