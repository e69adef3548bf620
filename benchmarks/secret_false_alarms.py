"""How often is an ordinary line taken for a credential?

Reads ordinary text that is at hand, without the network: the packages and the standard library of
every Python found, `/usr/share/doc`, `/usr/include`, the history of this project, and the folders
given with `--also` (folders of wheels, jars and zip files are looked into). Each distinct line
counts once. No line is labelled: what is found in a package is nearly always no credential, but
packages do hold keys made for tests and examples, so that alarms in files of tests and examples
are counted apart, and a sample of all alarms is shown for a person to judge. Of what was found a
sample shows the kind and the length alone.
"""

from __future__ import annotations

import argparse
import random
import site
import subprocess
import sys
import sysconfig
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from interlock.secrets.redaction import redact
from interlock.secrets.scanner import SecretMatch, SecretScanner
from rates import Rate
from secret_scanning import load_rules

_ROOT: Final = Path(__file__).parents[1]
_WANTED: Final = 10_000_000
_LARGEST: Final = 4 << 20
_ARCHIVES: Final = frozenset((".whl", ".zip", ".jar"))
_PYTHONS: Final = ("/usr/lib", "/usr/local/lib", "/opt", "~/.pyenv/versions")
_ALWAYS: Final = ("/usr/share/doc", "/usr/include", "/usr/share/perl", "/usr/lib/node_modules")
_TRIED: Final = ("test", "example", "sample", "demo", "fixture", "mock", "vector", "tutorial")
_SEEN_BITS: Final = 30
_LONGEST_SHOWN: Final = 150
_EVERY: Final = 250


class Source(NamedTuple):
    """A text and where it is from."""

    name: str
    text: str


class Alarm(NamedTuple):
    """A line in which something was found."""

    source: str
    rule: str
    line: str
    """Without what was found."""

    @property
    def is_tried(self) -> bool:
        """Whether it stands in a file of tests or examples, where made-up keys do."""
        return any(word in self.source.lower() for word in _TRIED)


class Lines:
    """Which lines have been seen: a bit for each, so that one in a hundred may be lost."""

    def __init__(self) -> None:
        self.count = 0
        self._bits = bytearray(1 << (_SEEN_BITS - 3))

    def is_new(self, line: str) -> bool:
        """Tell whether a line comes for the first time, and remember it."""
        data = line.encode("utf-8", "replace")
        place = (zlib.crc32(data) | zlib.adler32(data) << 32) % ((1 << _SEEN_BITS) - 35)
        byte, bit = place >> 3, 1 << (place & 7)
        if self._bits[byte] & bit:
            return False
        self._bits[byte] |= bit
        self.count += 1
        return True


def main() -> None:
    options = _options()
    scanner = SecretScanner(load_rules())
    lines, alarms, texts = Lines(), list[Alarm](), 0
    # Whoever has waited long enough is told what was read until then.
    with suppress(KeyboardInterrupt):
        for source in _sources(_folders(options.also, only=options.only)):
            texts += 1
            alarms += alarms_in(source, scanner, lines)
            if texts % _EVERY == 0:
                _progress(f"{lines.count:,} lines of {texts:,} texts, {len(alarms):,} alarms")
            if lines.count >= options.limit:
                break
    _progress("")
    for said in report(lines.count, texts, alarms, options.sample):
        print(said)


def alarms_in(source: Source, scanner: SecretScanner, lines: Lines) -> list[Alarm]:
    """Return an alarm for each new line of a text in which something is found."""
    matches = scanner.scan(source.text)
    alarms: list[Alarm] = []
    at = start = 0
    for line in source.text.splitlines(keepends=True):
        start, end = at, at + len(line)
        at = end
        found: list[SecretMatch] = []
        while matches and matches[0].start < end:
            found.append(matches.pop(0))
        if lines.is_new(line.strip()) and found:
            alarms.append(Alarm(source.name, found[0].rule.name, _shown(line, start, found)))
    return alarms


def report(read: int, texts: int, alarms: Sequence[Alarm], sample: int) -> Iterator[str]:
    """Yield what was measured, and a sample of it."""
    yield f"{read:,} distinct lines of {texts:,} texts"
    if read < _WANTED:
        yield f"fewer than {_WANTED:,}: name more folders with --also"
    elsewhere = [alarm for alarm in alarms if not alarm.is_tried]
    for what, some in (("all", alarms), ("outside tests and examples", elsewhere)):
        low, high = (f"{1e6 * end:.1f}" for end in Rate(len(some), read).interval)
        share = f"{1e6 * len(some) / max(1, read):.1f} in a million lines"
        yield f"alarms, {what}: {len(some):,}, {share} ({low} to {high})"
    for rule, count in Counter(alarm.rule for alarm in alarms).most_common():
        apart = sum(alarm.rule == rule for alarm in elsewhere)
        yield f"{count:6,} ({apart:,} elsewhere)  {rule}"
    for alarm in sorted(random.Random(0).sample(alarms, min(sample, len(alarms)))):
        yield f"{alarm.rule}  {alarm.source}\n    {alarm.line}"


def _shown(line: str, start: int, found: Sequence[SecretMatch]) -> str:
    """Return a line around the first thing found in it, each replaced by its kind and length."""
    moved = [
        SecretMatch(each.rule, each.start - start, min(each.end - start, len(line)))
        for each in found
    ]
    first = max(0, moved[0].start - _LONGEST_SHOWN // 2)
    last = min(len(line), max(each.end for each in moved) + _LONGEST_SHOWN // 2)
    near = [SecretMatch(each.rule, each.start - first, each.end - first) for each in moved]
    sizes = ", ".join(str(each.end - each.start) for each in found[:3])
    shown = redact(line[first:last], near).strip()
    return f"{shown[: 2 * _LONGEST_SHOWN]}  ({sizes} characters)"


def _folders(also: Sequence[Path], *, only: bool) -> Iterator[Path]:
    if not only:
        yield from map(Path, site.getsitepackages())
        yield Path(sysconfig.get_path("stdlib"))
        for place in _PYTHONS:
            yield from sorted(Path(place).expanduser().glob("**/python3*/"))
        yield from map(Path, _ALWAYS)
        yield _ROOT
    yield from also


def _sources(folders: Iterator[Path]) -> Iterator[Source]:
    done: set[Path] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            real = path.resolve()
            if real in done or not real.is_file():
                continue
            done.add(real)
            yield from _within(real) if real.suffix in _ARCHIVES else _text(str(real), real)
        if folder == _ROOT:
            yield from _history()


def _within(archive: Path) -> Iterator[Source]:
    try:
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if 0 < entry.file_size <= _LARGEST:
                    yield from _decoded(f"{archive.name}/{entry.filename}", packed.read(entry))
    except (OSError, zipfile.BadZipFile, zlib.error) as error:
        print(f"{archive}: {error}", file=sys.stderr)


def _text(name: str, path: Path) -> Iterator[Source]:
    try:
        if path.stat().st_size <= _LARGEST:
            yield from _decoded(name, path.read_bytes())
    except OSError as error:
        print(f"{path}: {error}", file=sys.stderr)


def _decoded(name: str, data: bytes) -> Iterator[Source]:
    """Return a text; nothing of what is none."""
    if b"\0" not in data:
        try:
            yield Source(name, data.decode("utf-8"))
        except UnicodeDecodeError:
            return


def _history() -> Iterator[Source]:
    """Yield what was ever added to this project."""
    command = ["git", "-C", str(_ROOT), "log", "-p", "--no-color", "--unified=0", "--no-merges"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as log:
        for number, part in enumerate(iter(lambda: log.stdout.read(_LARGEST), b"")):  # pyright: ignore[reportOptionalMemberAccess] - it is a pipe
            yield Source(f"history {number} (tests among it)", part.decode("utf-8", "replace"))


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--also", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--only", action="store_true", help="read nothing but those folders")
    parser.add_argument("--limit", type=int, default=1 << 62, help="stop after so many lines")
    parser.add_argument("--sample", type=int, default=60, help="how many alarms to show")
    return parser.parse_args()


if __name__ == "__main__":
    main()
