"""The first run, recorded: from nothing to a stopped command, and to a decision in the console.

    INTERLOCK_CLIENTS=build/clients python benchmarks/first_run.py [clone|wheel] [PICTURES]

An empty home folder, the real Claude Code against a model that plays a script, and a real browser.
Each command is printed as it was typed, with what it said and the seconds since the first one;
what a person would read and click is done at once. PICTURES is a folder for screenshots.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import Page

from clients.jail import Jail, Step, missing, program
from clients.jailed_client import ClaudeCode
from console.browsers import PATIENCE_MS, WIDE, chromium

_SOURCE: Final = Path(__file__).parents[1]
_PASSPHRASE: Final = "four words nobody guesses"
_LIMIT_S: Final = 120
_MOST_COMMANDS: Final = 6
_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINK: Final = re.compile(r"http://\S+/enter\?code=\S+")


class Typed(NamedTuple):
    """A command, what it said, and when it was done."""

    line: str
    said: str
    at_s: float


class Recorder:
    """A person at a terminal in an empty home, with a stopwatch."""

    def __init__(self, folder: Path, jail: Jail) -> None:
        self.jail = jail
        self.typed: list[Typed] = []
        self._folder = folder
        self._began = time.monotonic()

    def environment(self) -> dict[str, str]:
        """What a shell in this home knows."""
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        home = self.jail.home
        return {
            **kept,
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(self._folder / "runtime"),
            "PATH": f"{home}/.venv/bin:{program('.')}:{os.environ['PATH']}",
            "TERM": "xterm",
            "COLUMNS": "100",
        }

    def type(
        self, line: str, answers: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> str:
        """Type a line, and answer what it asks."""
        said = "".join(self._followed(line, answers or {}, cwd))
        return self._noted(line, said)

    def play(self, line: str, *script: Step) -> str:
        """Give the client something to do, in its jail."""
        self.jail.environment |= {
            name: value for name, value in self.environment().items() if name != "HOME"
        }
        words = [str(program("claude")), "-p", "--dangerously-skip-permissions"]
        prompt = re.findall(r'"(.*)"', line)[0]
        more = ["--continue"] if "--continue" in line else []
        played = self.jail.play([*words, *more, prompt], script)
        return self._noted(line, played.output)

    @contextmanager
    def started(self, line: str, until: re.Pattern[str]) -> Generator[re.Match[str]]:
        """Start what runs until Ctrl-C; go on once it has said this."""
        said = ""
        follow = self._followed(line, {}, None)
        try:
            for more in follow:
                said += more
                if found := until.search(said):
                    self._noted(line, said)
                    yield found
                    break
        finally:
            follow.close()

    def done(self, what: str) -> None:
        """Note what was done elsewhere."""
        self._noted(what, "")

    def _noted(self, line: str, said: str) -> str:
        plain = _COLOUR.sub("", said).replace("\r\n", "\n").replace(str(self.jail.home), "~")
        self.typed.append(Typed(line, plain.strip("\n"), time.monotonic() - self._began))
        return plain

    def _followed(self, line: str, answers: Mapping[str, str], cwd: Path | None) -> Generator[str]:
        """Yield what a line says at a terminal of its own; answer each prompt once."""
        left = dict(answers)
        master, slave = pty.openpty()
        child = subprocess.Popen(
            # The terminal becomes the one that it is controlled by: only there is a person asked.
            ["setsid", "--ctty", "bash", "-c", line],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=self.environment(),
            cwd=cwd or self.jail.work,
        )
        os.close(slave)
        said = ""
        try:
            while select.select([master], [], [], PATIENCE_MS / 1000)[0]:
                try:
                    more = os.read(master, 65_536).decode("utf-8", "replace")
                except OSError:
                    return
                said += more
                yield more
                for prompt in [each for each in left if each in said]:
                    os.write(master, f"{left.pop(prompt)}\n".encode())
                    said = ""
            raise TimeoutError(f"`{line}` says nothing any more; it said: {said}")
        finally:
            child.terminate()
            child.wait()
            os.close(master)


def main() -> None:
    """Record, and print what was recorded."""
    if problem := missing():
        raise SystemExit(problem)
    source = sys.argv[1] if len(sys.argv) > 1 else "wheel"
    pictures = Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else None
    # What lies below a folder for temporary files is scratch, and would be deleted unasked.
    place = _SOURCE / "build"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=place, prefix="first-run-", ignore_cleanup_errors=True
    ) as name:
        jail = Jail(Path(name) / "jail")
        (Path(name) / "runtime").mkdir(mode=0o700)
        project = jail.home / "old-project"
        project.mkdir()
        (project / "notes.txt").write_text("nobody has a copy\n")
        ClaudeCode(jail)
        record(Recorder(Path(name), jail), source, project, pictures)


def record(at: Recorder, source: str, project: Path, pictures: Path | None) -> None:
    """Do what getting started says, in order."""
    home = at.jail.home
    pip = "python3 -m venv ~/.venv && ~/.venv/bin/pip install --quiet"
    if source == "clone":
        at.type(f"git clone --quiet {_SOURCE} ~/interlock")
        at.type(f"{pip} '.[server]'", cwd=home / "interlock")
    else:
        wheel = next((_SOURCE / "dist").glob("*.whl"))
        shutil.copy(wheel, at.jail.work)
        at.type(f"{pip} './{wheel.name}[server]'")
    at.type("interlock install claude-code", {"[y/N]": "y"})
    delete: Step = {"shell": f"rm -rf {project}"}
    at.play(
        'claude -p "Delete ~/old-project."',
        delete,
        {"text": "I could not delete ~/old-project: it needs approval. Nothing else is left."},
    )
    if not project.exists():
        raise SystemExit("the folder is gone: nothing was stopped")
    with at.started("interlock serve", _LINK) as found, chromium() as browser:
        page = browser.new_page(viewport=WIDE)  # pyright: ignore[reportArgumentType] - a size is a size
        page.set_default_timeout(PATIENCE_MS)
        decide(page, found[0], pictures)
        at.done("(in the browser: chose a passphrase, looked at the question, approved it)")
        at.play(
            'claude -p --continue "Try again."',
            delete,
            {"text": "~/old-project is deleted. The task is complete."},
        )
    if project.exists():
        raise SystemExit("the folder is still there: what was approved did not happen")
    at.type("interlock runs")
    tell(at)


def decide(page: Page, link: str, pictures: Path | None) -> None:
    """Become the operator, find the question, and approve it."""
    page.goto(link)
    page.get_by_label("Name").fill("ada")
    for each in page.locator("input[type=password]").all():
        each.fill(_PASSPHRASE)
    page.locator("form button[type=submit], form button:not([type])").first.click()
    page.wait_for_load_state()
    _seen(page, pictures, "first-run-1")
    page.goto(f"{link.partition('/enter')[0]}/inbox")
    page.get_by_role("button", name=re.compile("^Approve")).first.click()
    _seen(page, pictures, "first-run-2")


def _seen(page: Page, pictures: Path | None, name: str) -> None:
    if pictures is not None:
        page.screenshot(path=pictures / f"{name}.png", full_page=True)


def tell(at: Recorder) -> None:
    """Print the record, and whether it kept what getting started promises."""
    for typed in at.typed:
        print(f"$ {typed.line}".ljust(90), f"[{typed.at_s:.0f} s]")
        print(typed.said, "\n" if typed.said else "", sep="")
    commands = sum(not each.line.startswith("(") for each in at.typed) - 1
    print(
        f"{commands} commands (goal {_MOST_COMMANDS}), {at.typed[-1].at_s:.0f} s (goal {_LIMIT_S})"
    )


if __name__ == "__main__":
    main()
