"""Files of any size and state are read in little memory, and what is left out is told."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import rounds
from interlock.adapters.histories.bounded_lines import bounded_lines, bounded_whole
from interlock.model.past_run import Unread

MEBI = 1 << 20


def read(path: Path, most: int = 64 * MEBI) -> tuple[list[tuple[int, bytes]], list[Unread]]:
    unread: list[Unread] = []
    return list(bounded_lines(path, unread.append, most=most)), unread


def whole(path: Path, most: int = 64 * MEBI) -> tuple[bytes | None, list[Unread]]:
    unread: list[Unread] = []
    return bounded_whole(path, unread.append, most=most), unread


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [(1, b"")]),
        (b"a", [(1, b"a")]),
        (b"a\n", [(1, b"a")]),
        (b"a\n\nb", [(1, b"a"), (2, b""), (3, b"b")]),
        (b"a\r\nb", [(1, b"a\r"), (2, b"b")]),
        (b"\xef\xbb\xbfa\nb", [(1, b"a"), (2, b"b")]),
        (b"x" * 3 * MEBI + b"\ny", [(1, b"x" * 3 * MEBI), (2, b"y")]),
    ],
    ids=["empty", "newline", "unended", "ended", "gap", "windows", "mark", "long"],
)
@pytest.mark.parametrize("packs", [False, True], ids=["plain", "packed"])
def test_lines_come_with_their_numbers(
    tmp_path: Path, content: bytes, lines: list[tuple[int, bytes]], packs: bool
) -> None:
    if packs and content.startswith(b"\xef"):
        content = content[3:]
    (tmp_path / "a").write_bytes(gzip.compress(content) if packs else content)

    assert read(tmp_path / "a") == (lines, [])
    assert whole(tmp_path / "a") == (content.removeprefix(b"\xef\xbb\xbf"), [])


@given(content=st.binary(max_size=300), most=st.integers(1, 40))
def test_every_line_is_either_given_or_told(content: bytes, most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_bytes(b"\n" + content)
        lines, unread = read(path, most)

        assert path.read_bytes() == b"\n" + content
        assert list(Path(folder).iterdir()) == [path]
    expected = dict(enumerate((b"\n" + content).split(b"\n"), 1))
    assert dict(lines) == {
        number: line
        for number, line in expected.items()
        if len(line) <= most and (line or number < len(expected))
    }
    assert [each.line for each in unread] == [n for n, e in expected.items() if len(e) > most]


@given(content=st.binary(max_size=600), packs=st.booleans())
def test_no_content_is_too_odd(content: bytes, packs: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_bytes((gzip.compress(b"x\ny")[:12] if packs else b"\x1f\x8b") + content)

        _, unread = read(path)

    assert all("packing is broken" in each.reason for each in unread)


def test_a_line_that_is_too_long_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n" + b"x" * (2 * MEBI + 1) + b"\nthree\n" + b"y" * 3 * MEBI)

    lines, unread = read(path, 2 * MEBI)

    assert lines == [(1, b"one"), (3, b"three")]
    assert unread == [
        Unread(path=str(path), reason="line 2 is longer than 2 MiB (2,097,153 bytes)", line=2),
        Unread(path=str(path), reason="line 4 is longer than 2 MiB (3,145,728 bytes)", line=4),
    ]


IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from interlock.adapters.histories.bounded_lines import bounded_lines, bounded_whole
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
told = []
lines = sum(1 for _ in bounded_lines(Path(sys.argv[1]), told.append))
bounded_whole(Path(sys.argv[1]), told.append)
print(lines, [each.reason for each in told])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def in_little_memory(path: Path) -> tuple[str, int]:
    """Return what was read in a process of its own, and how many MiB it took."""
    result = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY, path], capture_output=True, text=True, check=True
    )
    said, most = result.stdout.splitlines()
    return said, int(most)


def test_a_huge_line_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    size = rounds(short=200 * MEBI, soak=2048 * MEBI)
    with path.open("wb") as huge:
        huge.truncate(size)

    said, mebis = in_little_memory(path)

    assert said == (
        f"0 ['line 1 is longer than 64 MiB ({size:,} bytes)', 'it is one document of"
        f" {size:,} bytes or more, and at most 64 MiB are held at once: split it, or write its"
        " runs one to a line (docs/run-formats.md)']"
    )
    assert mebis < 100


def test_what_unpacks_to_very_much_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    with gzip.open(path, "wb", compresslevel=1) as bomb:
        for _ in range(size := rounds(short=150, soak=300)):
            bomb.write(bytes(MEBI))
    assert path.stat().st_size < 2 * MEBI

    said, mebis = in_little_memory(path)

    assert said.startswith(f"0 ['line 1 is longer than 64 MiB ({size * MEBI:,} bytes)', 'it is one")
    assert mebis < 100


def test_packed_files_that_were_joined_and_filled_up_are_read_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n") + bytes(70_000))

    assert read(tmp_path / "a") == ([(1, b"a"), (2, b"bc")], [])


def test_a_packed_file_is_read_up_to_where_it_breaks(tmp_path: Path) -> None:
    content = b"".join(b"%d %d\n" % (each, each * each) for each in range(50_000))
    packed = gzip.compress(content)
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "bad").write_bytes(packed[:-8] + bytes(8))
    (tmp_path / "more").write_bytes(packed + b"garbage")

    cut, told = read(tmp_path / "cut")
    assert 10_000 < len(cut) < 40_000
    assert content.startswith(b"\n".join(line for _, line in cut))
    assert told[0].reason.endswith("bytes of text: it is cut off; the rest is not read")
    for name, why in (("bad", "incorrect data check"), ("more", "incorrect header check")):
        lines, told = read(tmp_path / name)
        assert len(lines) == 50_000
        assert told == [
            Unread(
                path=str(tmp_path / name),
                reason=f"its gzip packing is broken after {len(content):,} bytes of text: {why};"
                " the rest is not read",
            )
        ]


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")

    for place, reason in (
        (tmp_path / "pipe", "it is a pipe, and only regular files are read"),
        (tmp_path, "it is a folder, and only regular files are read"),
        (Path("/dev/zero"), "it is a device, and only regular files are read"),
        (tmp_path / "loop", "Too many levels of symbolic links"),
        (tmp_path / "none", "No such file"),
    ):
        with pytest.raises(OSError, match=reason):
            read(place)
        with pytest.raises(OSError, match=reason):
            whole(place)


def test_a_file_that_may_not_be_read_is_an_error_of_the_system() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "a")
        path.write_text("x")
        path.chmod(0)
        is_root = os.geteuid() == 0
        try:
            if is_root:
                os.seteuid(65534)
            with pytest.raises(PermissionError):
                read(path)
        finally:
            if is_root:
                os.seteuid(0)
