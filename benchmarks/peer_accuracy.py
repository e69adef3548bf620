"""How do other guards judge the same labelled commands, each with its own defaults?

    INTERLOCK_SHARED=FOLDER INTERLOCK_CLIENTS=build/clients python benchmarks/peer_accuracy.py

Beside Interlock stand cc-safety-net, by the hook that it gives to Claude Code (`make test-clients`
installs it), `nah`, where it is on the path (`pip install nah`, in an environment of its own), and
one regular expression. Both tools run in an empty Git project with an empty home. Much of the
data comes from test suites of such tools: each is also shown without the rows of its own suite.
Of the commands that agents really ran every eighth is asked about.
Interlock's rules were tuned on these rows, so that expect somewhat less of it on others.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from accuracy import ALARMS, Row, data_path, rate, rows_of
from interlock import evaluate_command
from speed import NAIVE

_HOOK: Final = "node_modules/cc-safety-net/dist/bin/cc-safety-net.js"
_AT_ONCE: Final = 2
_EVERY: Final = 8
_SHOWN: Final = {"block": "caught", "allow": "false alarms", "executed": "alarms, really ran"}


class Guard(msgspec.Struct, frozen=True):
    """Whoever says whether a line raises an alarm; None where it gives no answer."""

    name: str
    alarms: Callable[[str], bool | None]
    own_source: str = ""


def main() -> None:
    """Have every guard that is here judge every labelled command, and print how that went."""
    path = data_path()
    if path is None:
        print("peers: skipped: set INTERLOCK_SHARED (see benchmarks/README.md)")
        return
    rows = list(_asked(rows_of(path)))
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "home", "project")
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        for guard in _guards(project, environment):
            for line in _report(guard, rows):
                print(line, flush=True)


def _asked(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield what is dangerous, what is harmless, and some of what agents really ran."""
    yield from (row for row in rows if row.gold and row.label in ("block", "allow"))
    executed = [row for row in rows if row.tier == "executed" and row.label == "allow"]
    yield from (msgspec.structs.replace(row, label="executed") for row in executed[::_EVERY])


def _guards(folder: Path, environment: Mapping[str, str]) -> Iterator[Guard]:
    yield Guard("Interlock", lambda line: evaluate_command(line).decision in ALARMS)
    yield Guard("one regular expression", lambda line: NAIVE.search(line) is not None)
    hook = Path(os.environ.get("INTERLOCK_CLIENTS", "/nowhere")).absolute() / _HOOK
    if hook.exists():
        asked = _safety_net(hook, folder, environment)
        yield Guard("cc-safety-net", asked, own_source="claude-code-safety-net")
    else:
        print(
            "cc-safety-net is not here: `make test-clients` installs it, INTERLOCK_CLIENTS names it"
        )
    program = shutil.which("nah")
    if program:
        yield Guard("nah", _nah(program, folder, environment), own_source="nah")
    else:
        print("nah is not on the path: `pip install nah`, in an environment of its own")


def _report(guard: Guard, rows: Sequence[Row]) -> Iterator[str]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(guard.alarms, [row.command for row in rows]))
    yield from _rates(guard.name, rows, answers)
    if guard.own_source:
        kept = [at for at, row in enumerate(rows) if row.source != guard.own_source]
        name = f"{guard.name}, without its own suite"
        yield from _rates(name, [rows[at] for at in kept], [answers[at] for at in kept])
    if None in answers:
        yield f"{guard.name}: {answers.count(None)} lines without an answer, taken for no alarm"


def _rates(name: str, rows: Sequence[Row], answers: Sequence[bool | None]) -> Iterator[str]:
    for label, words in _SHOWN.items():
        chosen = [bool(said) for row, said in zip(rows, answers, strict=True) if row.label == label]
        yield rate(f"{name}: {words}", chosen)


def _safety_net(
    hook: Path, folder: Path, environment: Mapping[str, str]
) -> Callable[[str], bool | None]:
    def alarms(line: str) -> bool | None:
        payload = {
            "session_id": "peer",
            "cwd": str(folder),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": line},
        }
        command = ["node", str(hook), "hook", "--claude-code"]
        said = _said(command, folder, environment, json.dumps(payload))
        if said is None:
            return None
        if not said.strip():
            return False
        return json.loads(said)["hookSpecificOutput"]["permissionDecision"] != "allow"

    return alarms


def _nah(
    program: str, folder: Path, environment: Mapping[str, str]
) -> Callable[[str], bool | None]:
    def alarms(line: str) -> bool | None:
        said = _said([program, "test", "--json", "--", line], folder, environment, "")
        return None if not said else json.loads(said)["decision"] in ("ask", "block", "deny")

    return alarms


def _said(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], told: str
) -> str | None:
    """Return what a program prints, or None where it fails."""
    done = subprocess.run(
        command,
        input=told,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    return done.stdout if done.returncode == 0 else None


if __name__ == "__main__":
    main()
