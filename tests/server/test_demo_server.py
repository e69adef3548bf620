"""`interlock serve --demo`, as whoever is new starts it: once, and once more."""

from __future__ import annotations

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

CALL = (sys.executable, "-I", "-m", "interlock", "serve", "--demo", "--port", "0", "--json")


@pytest.fixture
def home() -> Generator[dict[str, str]]:
    """Return the environment of a user; the path is short, as a socket's has to be."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield {"HOME": folder, "PATH": os.environ["PATH"]}


@pytest.fixture
def first(home: dict[str, str]) -> Generator[dict[str, Any]]:
    with subprocess.Popen(CALL, env=home, stdout=subprocess.PIPE) as process:
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
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}", headers={"accept": "text/html"})
        answer = connection.getresponse()
        return answer.status, answer.headers.get("location", "")
    finally:
        connection.close()


def test_started_once_more_it_prints_another_link(home: dict[str, str], first: dict[str, Any]):
    again = subprocess.run(CALL, env=home, check=True, capture_output=True)
    second = json.loads(again.stdout)

    assert (second["pid"], second["is_demo"]) == (first["pid"], True)
    assert second["link"] != first["link"]
    assert opened(first["link"]) == opened(second["link"]) == (303, "/")
    assert opened(first["link"]) != (303, "/")
    assert not Path(home["HOME"], ".local/state/interlock/ledger.db").exists()
