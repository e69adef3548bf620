"""Measure how many small random changes of the source the tests notice (mutation testing).

A sample of mutants is embedded in one copy of the tree (`mutations.py`). The `probe` runs all tests
over it with no mutant on: which tests reach which mutant, and how long they take. Then `kill` runs
for each mutant the tests that reach it (`mutant_runs.py`). Every step goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from mutant_runs import Job, Measured, Order, Result, append_line, read_lines
from mutations import SWITCH, Mutant, embed, sites, source

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("commands", "ledger", "policy", "service")
_NOT_COPIED: Final = (".git", ".venv*", "build", "dist", "__pycache__", ".*_cache", ".hypothesis")
_OF_THIS_PROCESS: Final = ("INTERLOCK_MUTANT", "PYTEST_CURRENT_TEST", "PYTHONDONTWRITEBYTECODE")
_SLOW_SECONDS: Final = 1.0
_MAX_FRESH_FILES: Final = 8
_FEW_TESTS: Final = 100
"""Where so few tests reach a mutant, the others in their files may use what those prepared."""
_KILLED: Final = ("killed", "timed out")


class Reached(msgspec.Struct):
    """Which tests reach which mutant, by their places in the list."""

    tests: list[str]
    mutants: dict[int, list[int]]


def draw(root: Path, packages: Iterable[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants of some packages; every piece of source that can be changed is as likely."""
    rng = random.Random(seed)
    found = [
        (str(path.relative_to(root)), site)
        for package in packages
        for path in sorted((root / "src/interlock" / package).rglob("*.py"))
        for site in sites(ast.parse(path.read_text()))
    ]
    drawn = sorted(rng.sample(range(len(found)), min(count, len(found))))
    return [
        Mutant(
            file=file,
            function=site.function,
            text=site.text,
            ordinal=site.ordinal,
            change=site.change_to(rng.choice(site.alternatives)),
            line=getattr(site.node, "lineno", 0),
        )
        for file, site in (found[place] for place in drawn)
    ]


def plant(tree: Path, sample: Sequence[Mutant]) -> dict[int, str | None]:
    """Embed a sample, numbered from 1, in a copy of the sources; return those that were found."""
    paths = sorted((tree / "src/interlock").rglob("*.py"))
    trees = {str(path.relative_to(tree)): ast.parse(path.read_text()) for path in paths}
    found = embed(trees, dict(enumerate(sample, start=1)))
    for file, module in trees.items():
        if any(isinstance(each, ast.Name) and each.id == SWITCH for each in ast.walk(module)):
            (tree / file).write_text(source(module))
    shutil.copy(Path(__file__).with_name("mutant_switch.py"), tree / "src/interlock")
    return found


class Bench:
    """A copy of the tree with a sample of mutants, and what was found out about them."""

    def __init__(self, build: Path, results: Path) -> None:
        self.tree = build / "tree"
        self.python = self.tree / ".venv/bin/python"
        self.notes = build / "notes"
        self.results = results

    def build(self, sample: Sequence[Mutant]) -> None:
        """Copy the tree with its environment, and embed the sample."""
        if (self.results / "built.json").exists() and self.tree.exists():
            return
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)
        subprocess.run(["git", "init", "--quiet", self.tree], check=True)
        _copy_environment(ROOT / ".venv", self.tree / ".venv")
        self.embed(sample)

    def embed(self, sample: Sequence[Mutant]) -> None:
        """Embed the sample in the copied tree, with room for notes."""
        shutil.rmtree(self.notes, ignore_errors=True)
        for folder in ("processes", "reached"):
            (self.notes / folder).mkdir(parents=True)
            (self.notes / folder).chmod(0o1777)
        found = plant(self.tree, sample)
        (self.results / "built.json").write_bytes(msgspec.json.encode(found))
        print(f"embedded {len(found)} of {len(sample)} mutants")

    def probe(self, arguments: Sequence[str]) -> None:
        """Run the tests that were not measured yet, with no mutant on."""
        measured = read_lines(self.results / "tests.jsonl", Measured)
        (self.notes / "measured").write_text("\n".join(each.test for each in measured))
        self._run("probe", self.results / "tests.jsonl", *arguments)
        self._forget_missing_tests()
        reached = self.reached()
        for path in (self.notes / "reached").iterdir():
            for line in path.read_text().splitlines():
                test, _, numbers = line.partition("\t")
                for number in numbers.split():
                    reached[int(number)].add(test)
        places = {
            each: place
            for place, each in enumerate(sorted({t for s in reached.values() for t in s}))
        }
        known = {
            number: sorted(map(places.__getitem__, tests)) for number, tests in reached.items()
        }
        (self.results / "reached.json").write_bytes(msgspec.json.encode(Reached([*places], known)))

    def _forget_missing_tests(self) -> None:
        """Drop what was measured of tests that are no more."""
        path = self.results / "tests.jsonl"
        collected = set((self.notes / "collected").read_text().splitlines())
        seen = set(map(_file_of, collected))
        kept = {
            each.test: each
            for each in read_lines(path, Measured)
            if each.test in collected
            or (_file_of(each.test) not in seen and (self.tree / _file_of(each.test)).exists())
        }
        path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in kept.values()))

    def reached(self) -> defaultdict[int, set[str]]:
        """Return the tests that reach each mutant; an empty text stands for collecting them."""
        path = self.results / "reached.json"
        found = defaultdict[int, set[str]](set)
        if path.exists():
            known = msgspec.json.decode(path.read_bytes(), type=Reached)
            for number, places in known.mutants.items():
                found[number] = {known.tests[place] for place in places}
        return found

    def kill(
        self,
        sample: Sequence[Mutant],
        cap_seconds: float,
        before: Mapping[int, Result],
        *,
        again: bool = True,
    ) -> None:
        """Run for each mutant the tests that reach it; what killed it before comes first.

        What survived before is tried `again`, or taken to survive.
        """
        built = msgspec.json.decode(
            (self.results / "built.json").read_bytes(), type=dict[int, str | None]
        )
        known = {each.number for each in read_lines(self.results / "mutants.jsonl", Result)}
        tests = read_lines(self.results / "tests.jsonl", Measured)
        search = _Search(tests, self.reached(), cap_seconds)
        jobs = list[Job]()
        for number, mutant in enumerate(sample, start=1):
            earlier = before.get(number)
            if number in known:
                continue
            if number not in built:
                result = Result(number, "missing")
            elif earlier and earlier.status not in _KILLED and not again:
                result = earlier
            elif job := search.job(number, mutant, earlier, is_import=built[number] is not None):
                jobs.append(job)
                continue
            else:
                result = Result(number, "unreached")
            append_line(self.results / "mutants.jsonl", result)
        if not jobs:
            return
        order = Order(
            jobs=jobs,
            results=str(self.results / "mutants.jsonl"),
            notes=str(self.notes),
            measured=str(self.results / "tests.jsonl"),
        )
        (self.notes / "order").write_bytes(msgspec.json.encode(order))
        self._run("kill", self.notes / "order")

    def _run(self, how: str, path: Path, *arguments: str) -> None:
        program = Path(__file__).with_name("mutant_runs.py")
        kept = {name: value for name, value in os.environ.items() if name not in _OF_THIS_PROCESS}
        subprocess.run(
            [self.python, program, how, path, *arguments],
            cwd=self.tree,
            env=kept if how == "probe" else kept | {"INTERLOCK_MUTANT": "0"},
            check=False,
        )


class _Search:
    """Decides which tests are run for a mutant, and in which order."""

    def __init__(
        self, tests: Iterable[Measured], reached: Mapping[int, set[str]], cap_seconds: float
    ) -> None:
        self._seconds = {each.test: each.seconds for each in tests if not each.failed}
        self._reached = reached
        self._cap_seconds = cap_seconds
        self._by_file = defaultdict[str, list[str]](list)
        for test in self._seconds:
            self._by_file[_file_of(test)].append(test)
        self._mean_seconds = {
            file: sum(map(self._seconds.__getitem__, own)) / len(own)
            for file, own in self._by_file.items()
        }

    def job(
        self, number: int, mutant: Mutant, before: Result | None, *, is_import: bool
    ) -> Job | None:
        """Return the tests to run; None if no test reaches the mutant."""
        reaching = self._reached.get(number, set[str]())
        is_import = is_import or reaching == {""}
        folders = set(Path(mutant.file).parts)
        tests = self._ordered(reaching & self._seconds.keys(), folders)
        if not tests and is_import:
            tests = self._ordered(
                {test for test in self._seconds if folders & set(Path(_file_of(test)).parts)},
                folders,
            )
        if len(tests) < _FEW_TESTS:
            files = dict.fromkeys(map(_file_of, tests))
            others = {test for file in files for test in self._by_file[file]} - set(tests)
            tests += self._ordered(others, folders)
        if not tests:
            return None
        killers = [before.test] if before and before.test in self._seconds else []
        tests = [*killers, *(test for test in tests if test not in killers)]
        fresh = [*self._fresh(tests)] if is_import or "" in reaching else []
        if is_import or (before and before.is_fresh):
            return Job(number, fresh or tests, is_fresh=True)
        return Job(number, [*self._within(tests, self._cap_seconds)], fresh)

    def _ordered(self, tests: Iterable[str], folders: set[str]) -> list[str]:
        """Order tests: quick ones, some of every function, those about the mutant's folder."""
        rank = Counter[str]()
        keys = dict[str, tuple[bool, int, bool, float, str]]()
        for test in sorted(tests, key=lambda each: (self._seconds[each], each)):
            file, function = _file_of(test), test.partition("[")[0]
            is_elsewhere = folders.isdisjoint(Path(file).parts)
            is_slow = self._seconds[test] > _SLOW_SECONDS
            few = min(rank[function], 3)
            keys[test] = (is_slow, few, is_elsewhere, self._mean_seconds[file], file)
            rank[function] += 1
        return sorted(keys, key=keys.__getitem__)

    def _fresh(self, tests: Iterable[str]) -> Iterator[str]:
        files = set[str]()
        for test in self._within(tests, self._cap_seconds / 2):
            if len(files | {_file_of(test)}) <= _MAX_FRESH_FILES:
                files.add(_file_of(test))
                yield test

    def _within(self, tests: Iterable[str], cap_seconds: float) -> Iterator[str]:
        """Return the tests that fit under a cap; the first always does."""
        total = 0.0
        for test in tests:
            took = self._seconds[test]
            if not total or total + took <= cap_seconds:
                total += took
                yield test


def summary(
    sample: Sequence[Mutant], results: Iterable[Result], before: Mapping[int, Result]
) -> str:
    """Return the share killed, of all and of each package, and what survived."""
    by_number = {each.number: each for each in results if each.status != "missing"}
    totals, killed = Counter[str](), Counter[str]()
    survivors = list[str]()
    for number, mutant in enumerate(sample, start=1):
        if (result := by_number.get(number)) is None:
            continue
        for name in ("all", Path(mutant.file).parts[2]):
            totals[name] += 1
            killed[name] += result.status in _KILLED
        if result.status not in _KILLED:
            change = f"{_shortened(mutant.text)}  ->  {_shortened(mutant.change)}"
            survivors.append(
                f"{mutant.file}:{mutant.line} {mutant.function} ({number}, {result.status},"
                f" {result.tried} tests): {change}"
            )
    shares = [
        f"{name}: {killed[name]} of {total} killed ({killed[name] / total:.1%})"
        for name, total in sorted(totals.items())
    ]
    counts = sorted(Counter(each.status for each in by_number.values()).items())
    statuses = ", ".join(f"{count} {status}" for status, count in counts)
    left = len(sample) - len(by_number)
    lines = [*survivors, "", *shares, f"{statuses}; {left} missing or not yet tried"]
    if before:
        earlier = sum(before[each].status in _KILLED for each in by_number if each in before)
        lines.append(f"before: {earlier} of the same killed")
    return "\n".join(lines)


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _copy_environment(original: Path, copied: Path) -> None:
    """Copy a virtual environment by hard links, and have it load the sources beside the copy."""
    shutil.copytree(original, copied, symlinks=True, copy_function=os.link)
    before, after = (str(each.parent).encode() for each in (original, copied))
    for path in [*copied.glob("bin/*"), *copied.glob("lib/*/*/*.pth"), copied / "pyvenv.cfg"]:
        if not path.is_symlink() and path.is_file() and before in (content := path.read_bytes()):
            mode = path.stat().st_mode
            path.unlink()
            path.write_bytes(content.replace(before, after))
            path.chmod(mode)


def main() -> None:
    """Take all steps, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=37)
    parser.add_argument("--cap", type=float, default=60, help="seconds of tests per mutant")
    parser.add_argument("--build", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--results", type=Path, help="folder that keeps what was found out")
    parser.add_argument("--sample", type=Path, help="mutants that were drawn before")
    parser.add_argument("--only-killers", type=Path, help="mutants.jsonl of an earlier run")
    parser.add_argument("--again", action="store_true", help="with those that survived it as well")
    parser.add_argument("--step", choices=("build", "probe", "kill", "summary"))
    parser.add_argument("tests", nargs="*", help="arguments of pytest for the probe")
    arguments = parser.parse_args()
    results: Path = (arguments.results or arguments.build / "results").resolve()
    results.mkdir(parents=True, exist_ok=True)
    if not (kept := results / "sample.json").exists():
        if arguments.sample:
            shutil.copy(arguments.sample, kept)
        else:
            drawn = draw(ROOT, PACKAGES, arguments.count, arguments.seed)
            kept.write_bytes(msgspec.json.encode(drawn))
    sample = msgspec.json.decode(kept.read_bytes(), type=list[Mutant])
    bench = Bench(arguments.build.resolve(), results)
    earlier = read_lines(arguments.only_killers, Result) if arguments.only_killers else []
    before = {each.number: each for each in earlier}
    steps = {
        "build": lambda: bench.build(sample),
        "probe": lambda: bench.probe(["-n", "2", "--dist", "worksteal", *arguments.tests]),
        "kill": lambda: bench.kill(
            sample, arguments.cap, before, again=not before or arguments.again
        ),
        "summary": lambda: print(
            summary(sample, read_lines(results / "mutants.jsonl", Result), before)
        ),
    }
    for name in [arguments.step] if arguments.step else steps:
        steps[name]()


if __name__ == "__main__":
    main()
