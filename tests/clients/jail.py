"""A place where a real client runs with no way out, against a model that plays a script.

Loopback only, processes of its own, an empty home: whatever the client does, it does to this.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import interlock
from interlock.service.interlock import Interlock
from patience import LONG_ENOUGH_S

Step = Mapping[str, object]
"""What the model does next: `text`, `shell`, `tool` or `parallel`."""

MODEL_URL: Final = "http://127.0.0.1:8377"
"""Where the scripted model answers, in every jail."""
_SHARED: Final = "INTERLOCK_SHARED"
_CLIENTS: Final = "INTERLOCK_CLIENTS"


def missing() -> str | None:
    """Return what real clients cannot be tried without; None where everything is there."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "namespaces of one's own need root and `unshare`"
    if not os.environ.get(_SHARED):
        return f"{_SHARED} names no folder with `clients/jail.sh` and the scripted model"
    if not os.environ.get(_CLIENTS):
        return f"{_CLIENTS} names no folder with clients: `make test-clients` installs them"
    return None


def program(name: str) -> Path:
    """Return where a program is that came with the clients."""
    return Path(os.environ[_CLIENTS]).absolute() / "node_modules" / ".bin" / name


def packages() -> Path:
    """Return where everything is that came with the clients."""
    return Path(os.environ[_CLIENTS]).absolute() / "node_modules"


class Played(NamedTuple):
    """What came of a session of a client."""

    code: int
    output: str
    errors: str
    heard: Sequence[str]
    """What the model was told, request by request, in JSON."""

    def model_heard(self, text: str) -> bool:
        """Tell whether the model ever got to read this."""
        return any(json.dumps(text, ensure_ascii=False)[1:-1] in each for each in self.heard)


class Jail:
    """A home, a workspace and a scripted model for one client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.work = folder / "work"
        self.victim = self.home / "precious" / "thesis.txt"
        self.environment: dict[str, str] = {}
        """What a client needs to know besides."""
        for each in (self.victim.parent, self.work, folder / "tmp"):
            each.mkdir(parents=True)
        self.victim.write_text("years of work\n")

    @property
    def ledger(self) -> Path:
        """The record of whatever is governed in here."""
        return self.home / ".local" / "state" / "interlock" / "ledger.db"

    def opened(self) -> Interlock:
        """Open the record."""
        keys = self.home / ".config" / "interlock" / "keys"
        self.ledger.parent.mkdir(parents=True, exist_ok=True)
        return Interlock.open(self.ledger, keys=keys, undo_store=self.folder / "undo")

    def outside(self) -> dict[str, str]:
        """The environment of a person who looks after this home from without."""
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(self.home), "NO_COLOR": "1"}

    def own_places(self) -> dict[str, str]:
        """Where this home keeps what is Interlock's, for whoever has other ideas."""
        return {
            "HOME": str(self.home),
            "INTERLOCK_CONFIG_HOME": str(self.home / ".config" / "interlock"),
            "INTERLOCK_LEDGER": str(self.ledger),
        }

    def when_recorded(self, kind: str, *, number: int = 1) -> dict[str, Any]:
        """Wait until so many things of a kind are on record; return the last one."""
        words = [sys.executable, "-I", "-m", "interlock", "tail", "--since-start", "--json"]
        with subprocess.Popen(words, env=self.outside(), stdout=subprocess.PIPE) as tail:
            assert tail.stdout is not None
            try:
                events = (json.loads(line)["record"]["event"] for line in tail.stdout)
                found = (each for each in events if each["type"] == kind)
                return next(islice(found, number - 1, None))
            finally:
                tail.kill()

    def interlock(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Have the command line look after this home, from without."""
        command = [sys.executable, "-I", "-m", "interlock", *words]
        return subprocess.run(
            command,
            env=self.outside(),
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=LONG_ENOUGH_S,
            check=False,
        )

    def play(
        self,
        words: Sequence[str],
        script: Sequence[Step],
        meanwhile: Callable[[], None] | None = None,
    ) -> Played:
        """Run a client to its end, the model playing a script; `meanwhile` is done beside it."""
        (self.folder / "script.json").write_text(json.dumps(list(script)))
        (self.folder / "env").write_text(
            "".join(f"{name}={value}\n" for name, value in self.environment.items())
        )
        requests = self.folder / "requests.jsonl"
        requests.unlink(missing_ok=True)
        jail = Path(os.environ[_SHARED]) / "clients" / "jail.sh"
        client = subprocess.Popen(
            [str(jail), str(self.folder), "--", *words],
            env={**os.environ, "JAIL_KEEP": " ".join(_kept())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        aside = _Aside(meanwhile, client.kill)
        try:
            output, errors = client.communicate(timeout=LONG_ENOUGH_S)
        finally:
            client.kill()
            client.wait()
        aside.join()
        return Played(client.returncode, output, errors, _heard(requests))


class _Aside:
    """Something that is done beside the client; where it fails, the client ends as well."""

    def __init__(self, work: Callable[[], None] | None, give_up: Callable[[], None]) -> None:
        self._work = work
        self._give_up = give_up
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._do, daemon=True)
        self._thread.start()

    def _do(self) -> None:
        try:
            if self._work is not None:
                self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits for it
            self._error = error
            self._give_up()

    def join(self) -> None:
        """Wait until it is done."""
        self._thread.join(LONG_ENOUGH_S)
        if self._error is not None:
            raise self._error


def _kept() -> list[str]:
    """Return what must stay readable where the home of whoever runs this is hidden."""
    home = Path.home()
    code = Path(interlock.__file__).parents[1]
    places = (Path(sys.base_prefix), Path(sys.prefix), code, packages())
    return [str(each) for each in places if each.is_relative_to(home)]


def _heard(requests: Path) -> list[str]:
    """Return what was said to the model by whoever offered it tools: the others ask for titles."""
    lines = requests.read_text().splitlines() if requests.exists() else []
    said = [cast("dict[str, Any]", json.loads(each)) for each in lines]
    return [json.dumps(each["body"], ensure_ascii=False) for each in said if each.get("main")]
