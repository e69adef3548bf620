"""Only regular files are read, and never more of them than was allowed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from interlock.descriptors import content_of, content_of_open, opened


def test_a_regular_file_is_read_as_a_whole(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 100)

    assert content_of(tmp_path / "a", most=100) == b"x" * 100


def test_one_byte_too_many_is_refused_with_both_numbers(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 101)

    with pytest.raises(OSError, match="it has 101 bytes, and at most 100 are read"):
        content_of(tmp_path / "a", most=100)


def test_a_sparse_file_is_refused_before_it_is_read(tmp_path: Path):
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(3 << 30)

    with pytest.raises(OSError, match="it has 3,221,225,472 bytes"):
        content_of(tmp_path / "huge", most=1 << 20)


def test_a_pipe_is_refused_and_nobody_is_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="it is a pipe, and only regular files are read"):
        content_of(tmp_path / "pipe", most=100)


def test_devices_folders_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")

        with pytest.raises(OSError, match="it is a device"):
            content_of("/dev/zero", most=100)
        with pytest.raises(OSError, match="it is a folder"):
            content_of(tmp_path, most=100)
        # A socket cannot even be opened.
        with pytest.raises(OSError, match="No such device or address"):
            content_of("socket", most=100)


def test_a_link_is_followed_only_where_that_is_right(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to("a")

    assert content_of(tmp_path / "link", most=1) == b"x"
    with pytest.raises(OSError, match="symbolic links"):
        content_of(tmp_path / "link", most=1, follows_links=False)


def test_a_link_to_a_device_is_refused_as_a_device(tmp_path: Path):
    (tmp_path / "link").symlink_to("/dev/zero")

    with pytest.raises(OSError, match="it is a device"):
        content_of(tmp_path / "link", most=100)


def test_what_grows_while_it_is_read_has_the_same_limit():
    """Files of the kernel say that they have no bytes, and have some: what comes counts."""
    with opened("/proc/self/status", os.O_RDONLY) as file:
        assert os.fstat(file).st_size == 0
        with pytest.raises(OSError, match="at most 5 are read"):
            content_of_open(file, most=5)
