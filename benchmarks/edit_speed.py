"""What does an edit cost that cannot damage a file, beside one that can?

    python benchmarks/edit_speed.py

The baseline reads a file, calls `str.replace` and writes it in place: no check that the text
stands there once, nothing kept, nothing synced, and half a file after a crash.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from clock import line, median_us
from interlock.edits.edit_apply import apply_once, undo
from interlock.edits.edit_plan import plan_edits
from interlock.edits.snapshot import restore, take_snapshot
from interlock.errors import EditError
from interlock.model.edit import EditSet, FileEdit

LARGE_BYTES = 10_000_000
_WORDS = "parse return value index count path result error while yield for name line open".split()


def main() -> None:
    """Print what each takes, and how that compares."""
    for text in report():
        print(text)


def report() -> Iterator[str]:
    """Yield one row for each."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "work"
        root.mkdir()
        yield from _large(root, "\n", "LF")
        yield from _large(root, "\r\n", "CRLF")
        yield from _alike(root)
        yield from _five(root)
        yield from _copied(root)


def _large(root: Path, ending: str, name: str) -> Iterator[str]:
    file = root / "large.txt"
    lines = _lines(LARGE_BYTES // 40)
    file.write_bytes(ending.join(lines).encode())
    file.write_bytes(file.read_bytes()[: LARGE_BYTES - 20] + f"{ending}turn 0 of it".encode())
    plain = median_us(_turns(file, _replaced_in_place), rounds=10)
    file.write_bytes(
        file.read_bytes().rpartition(ending.encode())[0] + f"{ending}turn 0 of it".encode()
    )
    planned = median_us(lambda: _planned(root, "large.txt", "turn 0", "turn 1"), rounds=10)
    whole = median_us(_turns(file, _edited), rounds=10)
    yield line(f"naive str.replace in place, 10 MB {name}", f"{plain / 1000:.1f} ms")
    yield line(f"plan, 10 MB {name}", f"{planned / 1000:.1f} ms", "", f"{planned / plain:.1f} x")
    yield line(
        f"plan, apply, kept for undo, 10 MB {name}",
        f"{whole / 1000:.1f} ms",
        "<= 200 ms",
        f"{whole / plain:.1f} x",
    )


def _alike(root: Path) -> Iterator[str]:
    lines = _lines(1_000)
    text = "\n".join(lines) + "\n"
    (root / "alike.txt").write_text(text)
    for size in (1, 10, 100, 500):
        old = "\n".join(_mistyped(lines[300 : 300 + size])) + "\n"
        found = median_us(lambda old=old: _planned(root, "alike.txt", old, "x\n"), rounds=20)
        plain = median_us(lambda old=old: text.replace(old, "x\n"), rounds=20)
        yield line(
            f"1,000 lines, {size} of them looked for by likeness",
            f"{found / 1000:.1f} ms",
            "<= 50 ms",
            f"{found / plain:.0f} x str.replace, which finds nothing",
        )


def _five(root: Path) -> Iterator[str]:
    store = root.parent / "store-of-five"
    files = [root / f"{number}.py" for number in range(5)]
    for file in files:
        file.write_text("\n".join(_lines(200)) + "\nturn 0\n")
    numbers = count()

    def edit_five() -> None:
        turn = next(numbers)
        edits = EditSet(
            edits=tuple(
                FileEdit(path=file.name, old=f"turn {turn}\n", new=f"turn {turn + 1}\n")
                for file in files
            )
        )
        apply_once(plan_edits(edits, workspace=root), store=store, set_id=f"set{turn}")

    took = median_us(edit_five, rounds=20)
    yield line("plan and apply a set of 5 files of 8 kB", f"{took / 1000:.1f} ms")
    last = next(numbers) - 1
    back = iter(range(last, 0, -1))
    took = median_us(lambda: undo(store, f"set{next(back)}"), rounds=15)
    yield line("put such a set back", f"{took / 1000:.1f} ms")


def _turns(file: Path, edit: Callable[[Path, int], object]) -> Callable[[], object]:
    numbers = count()
    return lambda: edit(file, next(numbers))


def _replaced_in_place(file: Path, turn: int) -> None:
    text = file.read_bytes().decode()
    file.write_bytes(text.replace(f"turn {turn} of", f"turn {turn + 1} of").encode())


def _edited(file: Path, turn: int) -> None:
    root = file.parent
    edits = EditSet(
        edits=(FileEdit(path=file.name, old=f"turn {turn} of", new=f"turn {turn + 1} of"),)
    )
    planned = plan_edits(edits, workspace=root)
    apply_once(planned, store=root.parent / f"store-{file.stat().st_size}-{turn}", set_id="set")


def _planned(root: Path, path: str, old: str, new: str) -> None:
    edits = EditSet(edits=(FileEdit(path=path, old=old, new=new),))
    try:
        plan_edits(edits, workspace=root)
    except EditError as error:
        raise SystemExit(f"the benchmark is wrong: {error}") from error


def _lines(number: int) -> list[str]:
    chance = random.Random(number)
    return [
        " " * chance.choice([0, 4, 8]) + " ".join(chance.choices(_WORDS, k=chance.randint(3, 8)))
        for _ in range(number)
    ]


def _mistyped(lines: list[str]) -> list[str]:
    return [text[:-1] + "Q" if number % 3 == 0 else text for number, text in enumerate(lines)]


def _copied(root: Path) -> Iterator[str]:
    """Measure what allow-with-undo does before a thousand files are deleted."""
    tree, store, copies = root / "tree", root.parent / "store", root.parent / "copies"
    copies.mkdir()
    for number in range(1_000):
        file = tree / f"part{number % 20}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n" * 1_500)
    limit = 1 << 30
    names, turns = count(), count()

    def plain() -> None:
        subprocess.run(["cp", "-a", tree, copies / f"{next(turns)}"], check=True)

    def kept() -> None:
        take_snapshot(store, f"k{next(names)}", ["tree"], workspace=root, limit_bytes=limit)

    naive, took = median_us(plain, rounds=5), median_us(kept, rounds=5)
    back = median_us(lambda: restore(store, "k0"), rounds=5)
    yield line("cp -a of 1,000 files, 7 MB", f"{naive / 1000:.0f} ms")
    for told, figure in (("copied away, verified and synced", took), ("put back, verified", back)):
        ratio = f"{figure / naive:.1f} x"
        yield line(f"the same {told}", f"{figure / 1000:.0f} ms", "", ratio)


if __name__ == "__main__":
    main()
