"""Build the wheel and the sdist, and prove both in empty environments.

    make dist

For each Python that is here, from 3.11 on: an empty environment, the wheel without an extra, and
what somebody does first with it. The wheel that is made from the sdist is proved once. Then the
server extra is added, and the server has to start. A Python that is not here is named; the one
that runs this must be.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).parents[1]
_DIST: Final = _ROOT / "dist"
_VERSIONS: Final = ((3, 11), (3, 12), (3, 13), (3, 14))
_ROUNDS: Final = 5
_REFUSED: Final = 4
_HOOK: Final = json.dumps(
    {
        "session_id": "s1",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
    }
)
_MISSING: Final = {
    "server": ("serve",),
    "loop": ("loop", "run"),
    "mcp": ("mcp", "serve"),
    "postgres": ("runs", "--ledger", "postgresql:///x"),
}
_ADAPTERS: Final = ("langchain", "pydantic_ai", "openai_agents", "claude_agent_sdk")


class NotProvedError(Exception):
    """Something did not work as it should."""


class Environment:
    """An empty environment with a home folder of its own."""

    def __init__(self, folder: Path, python: str) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.venv = folder / "venv"
        _uv("venv", "--quiet", "--python", python, str(self.venv))

    def install(self, wanted: str) -> None:
        """Install with the versions that the tests are run with."""
        constraints = str(_ROOT / "constraints.txt")
        python = str(self.venv / "bin" / "python")
        options = ["--quiet", "--compile-bytecode", "--python", python, "--constraint", constraints]
        _uv("pip", "install", *options, wanted)

    @property
    def megabytes(self) -> float:
        """How large it is."""
        files = (each for each in self.venv.rglob("*") if each.is_file() and not each.is_symlink())
        return sum(each.stat().st_size for each in files) / 1e6

    def call(self, *words: str, code: int | None = 0, stdin: str = "") -> str:
        """Return what a program of the environment writes; raise where it ends otherwise."""
        ended = subprocess.run(
            [str(self.venv / "bin" / words[0]), *words[1:]],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        )
        if (code is not None and ended.returncode != code) or "Traceback" in ended.stdout:
            raise NotProvedError(
                f"`{' '.join(words)}` ended with {ended.returncode}, expected {code}:"
                f" {ended.stdout}{ended.stderr}"
            )
        return ended.stdout + ended.stderr

    def milliseconds(self, *words: str, stdin: str = "") -> float:
        """Return the median time of a call."""
        times: list[float] = []
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            self.call(*words, stdin=stdin, code=None)
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1000


class Measured(NamedTuple):
    """What one environment came to."""

    what: str
    base_mb: float
    server_mb: float
    version_ms: float
    check_ms: float
    hook_ms: float


def main() -> None:
    """Build, prove, and print a table."""
    wheel, sdist = _built()
    rows: list[Measured] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for version, python in _pythons():
            rows.append(_proved(f"wheel, Python {version}", wheel, folder / version, python))
        again = _wheel_of(sdist, folder / "sdist")
        rows.append(_proved("sdist, this Python", again, folder / "from-sdist", sys.executable))
    print()
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", end="; ")
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    titles = ("proved", "base MB", "+server MB", "--version ms", "check ms", "hook ms")
    print("  ".join([f"{titles[0]:20}", *[f"{each:>12}" for each in titles[1:]]]))
    for what, *figures in rows:
        print("  ".join([f"{what:20}", *[f"{each:12.0f}" for each in figures]]))


def _built() -> tuple[Path, Path]:
    shutil.rmtree(_DIST, ignore_errors=True)
    _hatchling(_ROOT, _DIST)
    (wheel,), (sdist,) = _DIST.glob("*.whl"), _DIST.glob("*.tar.gz")
    return wheel, sdist


def _wheel_of(sdist: Path, folder: Path) -> Path:
    """Return the wheel that the sdist makes, from nothing but itself."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (sources,) = folder.iterdir()
    _hatchling(sources, folder / "dist", "--target", "wheel")
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def _hatchling(sources: Path, into: Path, *options: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", *options, "--directory", str(into)]
    subprocess.run(command, cwd=sources, check=True, capture_output=True)


def _uv(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *words], check=True)


def _pythons() -> Iterator[tuple[str, str]]:
    """Every version that is here; one that is not is named."""
    for version in _VERSIONS:
        name = ".".join(map(str, version))
        if version == sys.version_info[:2]:
            yield name, sys.executable
        elif (found := next(filter(_runs, _places(name)), None)) is not None:
            yield name, found
        else:
            print(f"Python {name} is not here: it is left out")


def _places(name: str) -> Iterator[str]:
    yield f"python{name}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from (str(each / "bin" / "python") for each in pyenv.glob(f"{name}.*"))


def _runs(python: str) -> bool:
    try:
        return subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _proved(what: str, wheel: Path, folder: Path, python: str) -> Measured:
    """Do in an empty environment what somebody does first; raise where it does not work."""
    environment = Environment(folder, python)
    environment.install(str(wheel))
    base = environment.megabytes
    for prove in (_decides, _sets_up, _answers_hooks, _keeps_a_record, _names_extras):
        prove(environment)
    times = [
        environment.milliseconds("interlock", "--version"),
        environment.milliseconds("interlock", "check", "command", "ls"),
        environment.milliseconds("interlock", "hook", "claude-code", stdin=_HOOK),
    ]
    environment.install(f"interlock[server] @ {wheel.as_uri()}")
    environment.call("interlock", "serve", "--no-tcp", "--idle-exit", "1", "--json")
    print(f"{what}: proved")
    return Measured(what, base, environment.megabytes, *times)


def _decides(environment: Environment) -> None:
    environment.call("interlock", "--version")
    environment.call("interlock", "check", "command", "rm -rf /", code=_REFUSED)
    environment.call("interlock", "check", "command", "ls")


def _sets_up(environment: Environment) -> None:
    environment.call("interlock", "init")
    environment.call("interlock", "install", "claude-code", "--yes")
    _expect("needs the server extra", environment.call("interlock", "doctor"))


def _answers_hooks(environment: Environment) -> None:
    said = environment.call("interlock", "hook", "claude-code", stdin=_HOOK)
    _expect('"permissionDecision":"deny"', said.replace(" ", ""))


def _keeps_a_record(environment: Environment) -> None:
    environment.call("interlock", "run", "--", "true")
    _expect("interlock-run", environment.call("interlock", "runs", "--json"))
    environment.call("interlock", "verify")


def _names_extras(environment: Environment) -> None:
    for extra, words in _MISSING.items():
        told = environment.call("interlock", *words, code=1)
        _expect(f"needs the {extra} extra: pip install 'interlock[{extra}]'\n", told)
    for name in _ADAPTERS:
        told = environment.call("python", "-c", f"import interlock.adapters.{name}", code=1)
        _expect(f"extra: pip install 'interlock[{name.replace('_', '-')}]'\n", told)


def _expect(part: str, text: str) -> None:
    if part not in text:
        raise NotProvedError(f"expected `{part}` in: {text}")


if __name__ == "__main__":
    try:
        main()
    except NotProvedError as error:
        sys.exit(f"not proved: {error}")
