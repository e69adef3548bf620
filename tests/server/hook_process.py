"""A server for hooks in a process of its own, and hooks as clients run them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from interlock import hook_entry, settings
from interlock.server.hooks.hook_desk import HookDesk
from interlock.server.hooks.hook_socket import HookSocket
from interlock.server.hooks.own_dialect import OWN_DIALECT
from interlock.service.aio import LoopDriver
from interlock.service.ledgers import open_governor

ENTRY = hook_entry.__file__


class Home:
    """A user's own folders, and what their processes see of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PATH": os.environ["PATH"],
        }
        self.place = hook_entry.hooks_place(self.environment)
        Path(self.place).parent.mkdir(mode=0o700)

    def hook(
        self,
        payload: object,
        *args: str,
        dialect: str = "interlock",
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a hook to its end."""
        given = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
        return subprocess.run(
            self.command(dialect, *args),
            input=given,
            capture_output=True,
            check=False,
            env={**self.environment, **(environment or {})},
            cwd=self.folder,
        )

    def command(self, *args: str) -> Sequence[str]:
        return [sys.executable, "-I", "-S", ENTRY, *args]

    @contextmanager
    def served(self) -> Generator[subprocess.Popen[bytes]]:
        """Have a server answer, until the end or until it is killed."""
        server = subprocess.Popen(
            [sys.executable, __file__], env=self.environment, stdout=subprocess.PIPE, cwd="/"
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield server
        finally:
            server.kill()
            server.communicate()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def _serve() -> None:
    places = settings.current_server_places(settings.current_ledger_places().ledger)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(places.hooks))
    governor = open_governor(None)
    door = HookSocket(HookDesk(governor, LoopDriver(), OWN_DIALECT))
    await door.start(listening)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
