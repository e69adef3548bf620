"""`interlock serve --demo`, as whoever is new starts it: once, and once more."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from interlock.server.server_process import ServerOptions, only_server
from interlock.service.whereabouts import running_server
from interlock.settings import ServerPlaces
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess

CALL = ("-m", "interlock", "serve", "--demo", "--port", "0", "--json")


@pytest.fixture
def home() -> Generator[dict[str, str]]:
    """Return the environment of a user; the path is short, as a socket's has to be."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield {"HOME": folder, "PATH": os.environ["PATH"]}


@pytest.fixture
def first(home: dict[str, str]) -> Generator[dict[str, Any]]:
    with PythonProcess[bytes](CALL, env=home, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            assert process.wait() == 0
        finally:
            process.kill()


def opened(link: str) -> tuple[int, str]:
    """Follow a link; return the status, and where it leads."""
    parts = urlsplit(link)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LONG_ENOUGH_S)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}", headers={"accept": "text/html"})
        answer = connection.getresponse()
        return answer.status, answer.headers.get("location", "")
    finally:
        connection.close()


def test_started_once_more_it_prints_another_link(home: dict[str, str], first: dict[str, Any]):
    again = subprocess.run([sys.executable, "-I", *CALL], env=home, check=True, capture_output=True)
    second = json.loads(again.stdout)

    assert (second["pid"], second["is_demo"]) == (first["pid"], True)
    assert second["link"] != first["link"]
    assert opened(first["link"]) == opened(second["link"]) == (303, "/")
    assert opened(first["link"]) != (303, "/")
    assert not Path(home["HOME"], ".local/state/interlock/ledger.db").exists()


@pytest.mark.parametrize("is_on_the_path", [True, False])
def test_it_says_what_comes_next_in_words_that_can_be_typed(
    home: dict[str, str], is_on_the_path: bool
):
    programs = Path(sys.executable).parent
    path = f"{programs}:/usr/bin:/bin" if is_on_the_path else "/usr/bin:/bin"
    folder = programs.parents[1]

    with PythonProcess[bytes](
        CALL, env={**home, "PATH": path}, cwd=folder, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)

    command = "interlock" if is_on_the_path else str((programs / "interlock").relative_to(folder))
    assert said["next"] == f"{command} install claude-code"


def test_a_server_that_ends_takes_its_lock_with_it(tmp_path: Path):
    named = {each: tmp_path / "run" / each for each in ("socket", "hooks", "lock", "note")}
    options = ServerOptions(places=ServerPlaces(folder=tmp_path / "run", **named))
    lock = named["lock"]

    with only_server(options) as other:
        assert other is None
        before = lock.open("a")

    assert not lock.exists()
    with before:
        fcntl.flock(before, fcntl.LOCK_EX)
        with only_server(options) as other:
            assert other is None
    assert running_server(options.places) is None
    assert not lock.exists()
