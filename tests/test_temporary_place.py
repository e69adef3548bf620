"""Temporary files are kept where the user wants them, unless tests would fail for the place."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import temporary_place as places
from effort import SOAK
from temporary_place import plain_place, quick_place, temporary_place


@pytest.mark.parametrize(
    ("folder", "is_taken"),
    [("t", True), ("a b", False), ("it's", False), ("n" * 80, False), ("clone/t", False)],
)
def test_a_place_that_tests_would_fail_for_is_not_taken(
    folder: str, is_taken: bool, monkeypatch: pytest.MonkeyPatch
):
    with tempfile.TemporaryDirectory(dir="/tmp") as above:
        place = Path(above, folder)
        place.mkdir(parents=True)
        Path(above, "clone", ".git").mkdir(parents=True, exist_ok=True)
        link = Path(above, "link")
        link.symlink_to(place)
        monkeypatch.setattr(tempfile, "tempdir", str(link))

        assert plain_place() == (place if is_taken else Path("/tmp"))
        with temporary_place() as made:
            assert made.parent == (place if is_taken else Path("/tmp"))
        assert not made.exists()


@pytest.mark.skipif(SOAK, reason="the long round stays on the disk")
@pytest.mark.skipif(not Path("/dev/shm").exists(), reason="this system has no /dev/shm")
def test_memory_is_taken_where_it_has_room_and_no_place_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(places, "_ROOM_BYTES", 0)
    monkeypatch.setenv("TMPDIR", "/tmp")
    assert quick_place() is None

    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    may_run = not os.statvfs("/dev/shm").f_flag & os.ST_NOEXEC
    assert quick_place() == (Path("/dev/shm") if may_run else None)

    monkeypatch.setattr(places, "_ROOM_BYTES", 2**62)
    assert quick_place() is None


def test_what_runs_for_a_home_in_the_place_ends_with_it():
    with temporary_place() as place:
        inside = {"HOME": str(place / "home"), "PATH": os.environ["PATH"]}
        server = subprocess.Popen(["sleep", "600"], env=inside)
        other = subprocess.Popen(["sleep", "600"])

    assert server.wait() == -signal.SIGKILL
    assert other.poll() is None
    other.kill()
    other.wait()
