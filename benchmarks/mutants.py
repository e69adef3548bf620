"""Measure which share of small random changes to the source the tests notice (mutation testing).

A sample of changes (mutants) is embedded in a clone of the repository, each beside the original and
chosen while the program runs. The tests run once with no mutant on, which shows how long they take
and which mutants they reach. Then, for each mutant, those that reach it run until one fails that
passes with no mutant on. The folder keeps it all: a run that was interrupted continues where it
was, and once the folder is removed, a new sample is drawn.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, cast

import msgspec
import pytest

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("commands", "ledger", "policy", "service")
_PLUGIN: Final = "interlock.mutant_switch"
_PYTEST: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", _PLUGIN)
_TICK_SECONDS: Final = 0.05
_MAX_TICKS: Final = 12_000
"""For tests that wait forever. Unlike a clock, ticks stop while everything is suspended."""
_FEW_TESTS: Final = 50
"""Where fewer reach a mutant, others of their files run too: they may share what reached it."""

_OTHERS: Final = """
Lt LtE Gt, LtE Lt Gt, Gt GtE Lt, GtE Gt Lt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn,
NotIn In, And Or, Or And, Add Sub, Sub Add, Mult Add, Div Mult, FloorDiv Mult, Mod Mult
"""
_OPERATORS: Final = {name: others for name, *others in map(str.split, _OTHERS.split(","))}


class Mutant(NamedTuple):
    """A change, named by the text that it replaces: other versions of the source have it too."""

    file: str
    function: str
    text: str
    change: str
    ordinal: int
    """Which of the equal ones in the function."""

    @property
    def package(self) -> str:
        """The package of its file."""
        return self.file.split("/")[2]


def draw(root: Path, packages: Iterable[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants of some packages; all are equally likely."""
    found = [
        mutant
        for package in packages
        for path in sorted((root / "src/interlock" / package).rglob("*.py"))
        for _, mutant in _mutants(ast.parse(path.read_text()), str(path.relative_to(root)))
    ]
    return random.Random(seed).sample(found, min(count, len(found)))


class _Embedder(ast.NodeTransformer):
    def __init__(self, changes: Mapping[ast.AST, Sequence[tuple[int, str]]]) -> None:
        self._changes = changes

    def visit(self, node: ast.AST) -> ast.AST:
        visited = self.generic_visit(node)
        for number, change in self._changes.get(node, ()):
            switch = ast.parse(f"_is_mutant_on({number})", mode="eval").body
            if isinstance(visited, ast.stmt):
                visited = ast.If(ast.UnaryOp(ast.Not(), switch), [visited], [])
            else:
                changed = ast.parse(change, mode="eval").body
                visited = ast.IfExp(switch, changed, cast("ast.expr", visited))
        return visited


def _mutants(module: ast.Module, file: str) -> Iterator[tuple[ast.AST, Mutant]]:
    """Return every mutant of a module, each with the node to replace."""
    equal = Counter[tuple[str, str, str]]()
    for node, function in _nodes_in_functions(module):
        for replaced, text, change in _changes(node):
            yield replaced, Mutant(file, function, text, change, equal[function, text, change])
            equal[function, text, change] += 1


def _nodes_in_functions(
    node: ast.AST, function: str = "", *, is_inside: bool = False
) -> Iterator[tuple[ast.AST, str]]:
    """Walk through what runs when a function is called, except for texts that people read."""
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            function = f"{function}.{node.name}".lstrip(".")
            is_inside = is_inside or not isinstance(node, ast.ClassDef)
            children = node.body
        case ast.JoinedStr() | ast.Raise() | ast.Assert() | ast.pattern():
            return
        case ast.AnnAssign():
            children = [node.value] if node.value else []
        case _:
            pass
    for child in children:
        if is_inside:
            yield child, function
        yield from _nodes_in_functions(child, function, is_inside=is_inside)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """Return nodes to replace, each with a text that names it and the text in its place."""
    text = ast.unparse(node)
    match node:
        case ast.If(test) | ast.IfExp(test):
            yield from ((test, f"if {ast.unparse(test)}", value) for value in ("True", "False"))
        case ast.Return(ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()) as value):
            yield value, text, f"not ({ast.unparse(value)})"
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, text, "None"
        case ast.Expr(ast.Call() | ast.Await()):
            yield node, text, "pass"
        case ast.UnaryOp(ast.Not(), operand):
            yield node, text, ast.unparse(operand)
        case ast.Constant(int(value)):
            yield node, text, str(not value if isinstance(value, bool) else value + 1)
        case _:
            yield from ((node, text, change) for change in _with_other_operators(node))


def _with_other_operators(node: ast.AST) -> Iterator[str]:
    changed = copy.deepcopy(node)
    match changed:
        case ast.BinOp(left=ast.Constant(str() | bytes()) | ast.JoinedStr()):
            pass  # nothing but an error would come of a text with another operator
        case ast.BinOp(right=ast.Constant(str() | bytes()) | ast.JoinedStr()):
            pass
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            for changed.op in _other_operators(op):
                yield ast.unparse(changed)
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                for other in _other_operators(op):
                    changed.ops = [*ops[:place], other, *ops[place + 1 :]]
                    yield ast.unparse(changed)
        case _:
            pass


def _other_operators(operator: ast.AST) -> list[Any]:
    return [getattr(ast, name)() for name in _OPERATORS.get(type(operator).__name__, ())]


def embed(root: Path, sample: Sequence[Mutant]) -> list[int]:
    """Embed mutants in a tree; return the numbers of those it has, which start at 1."""
    shutil.copy(Path(__file__).with_name("mutant_switch.py"), root / "src/interlock")
    numbers = {mutant: number for number, mutant in enumerate(sample, start=1)}
    found = list[int]()
    for path in {root / each.file for each in sample if (root / each.file).exists()}:
        module = ast.parse(path.read_text())
        changes = defaultdict[ast.AST, list[tuple[int, str]]](list)
        for node, mutant in _mutants(module, str(path.relative_to(root))):
            if number := numbers.get(mutant):
                changes[node].append((number, mutant.change))
                found.append(number)
        _Embedder(changes).visit(module)
        places = [n for n, each in enumerate(module.body) if "__future__" in ast.unparse(each)]
        switch = ast.parse(f"from {_PLUGIN} import is_on as _is_mutant_on").body
        module.body[max(places, default=0) + 1 : 0] = switch
        path.write_text(ast.unparse(ast.fix_missing_locations(module)))
    return found


def build(folder: Path, commit: str, sample: Sequence[Mutant]) -> None:
    """Clone the repository with an environment of its own, and embed a sample."""
    tree, processes = folder / "tree", folder / "notes/processes"
    shutil.rmtree(folder, ignore_errors=True)
    processes.mkdir(parents=True)
    for each in (processes, processes.parent):
        each.chmod(0o1777)  # tests start processes of other users
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", ROOT, tree], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=tree, check=True)
    subprocess.run(["make", ".venv/.installed"], cwd=tree, check=True)
    found = embed(tree, sample)
    left_out = sorted({*range(1, len(sample) + 1)} - {*found})
    print(f"embedded {len(found)} mutants; left out, not in this tree: {left_out or 'none'}")
    (folder / "mutants.json").write_bytes(msgspec.json.encode({n: sample[n - 1] for n in found}))


def read_mutants(folder: Path) -> dict[int, Mutant]:
    """Return the mutants in a folder by their numbers."""
    return msgspec.json.decode((folder / "mutants.json").read_bytes(), type=dict[int, Mutant])


def _read_lines(path: Path) -> list[list[str]]:
    return [each.split("\t") for each in path.read_text().splitlines()] if path.exists() else []


def _run(tree: Path, *command: object, **environment: str) -> int:
    kept = {name: value for name, value in os.environ.items() if name != "PYTEST_MUTANT"}
    process = [tree / ".venv/bin/python", *map(str, command)]
    return subprocess.run(process, cwd=tree, env=kept | environment, check=False).returncode


class _Killer:
    """Runs the tests that reach each mutant in place of pytest's own loop."""

    def __init__(self, folder: Path, cap_seconds: float) -> None:
        self._folder = folder
        self._cap_seconds = cap_seconds
        self._screen = os.dup(1)  # pytest captures the other one
        steps = _read_lines(folder / "notes/tests")
        failed = {test for test, _, _, outcome in steps if outcome != "passed"}
        self._seconds = defaultdict[str, float](float)
        for (test, _), took in {(test, step): took for test, step, took, _ in steps}.items():
            if test not in failed:
                self._seconds[test] += float(took)
        self._reaching = defaultdict[int, set[str]](set)
        for test, number in _read_lines(folder / "notes/reached"):
            self._reaching[int(number)].add(test)
        self._passing = set[tuple[str, bool]]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        assert not session.testsfailed, "the tests cannot be collected"
        self._session = session
        self._items = {item.nodeid: cast("Any", item) for item in session.items}
        # No mutant may fill the database that all tests copy.
        copies = (n for n, each in self._items.items() if "postgres_template" in each.fixturenames)
        self._failing_test(0, [*copies][:1], is_early=False)
        mutants = read_mutants(self._folder)
        known = {int(number) for number, *_ in _read_lines(self._folder / "results")}
        left = sorted(mutants.keys() - known)
        worker = os.fork()
        try:
            for number in left[::2] if worker else left[1::2]:
                test = self._killing_test(number, mutants[number])
                with (self._folder / "results").open("a") as results:
                    results.write(f"{number}\t{test}\n")
                done = len(_read_lines(self._folder / "results"))
                what = f"killed by {test}" if test else "survived"
                os.write(self._screen, f"{done}/{len(mutants)} mutant {number} {what}\n".encode())
        finally:
            if not worker:
                os._exit(0)
        os.waitpid(worker, 0)
        return True

    def _killing_test(self, number: int, mutant: Mutant) -> str:
        """Return a test that fails with a mutant on and passes with none; empty without one."""
        tests, is_early = self._tests_for(number, mutant), "" in self._reaching[number]
        while test := self._failing_test(number, tests, is_early=is_early):
            key = test, is_early
            if key in self._passing or not self._failing_test(0, [test], is_early=is_early):
                self._passing.add(key)
                return test
            tests = tests[tests.index(test) + 1 :]
        return ""

    def _tests_for(self, number: int, mutant: Mutant) -> list[str]:
        """Return quick tests first, but not every case of a function before all others."""
        reaching = self._reaching[number]
        files = {test.partition("::")[0] for test in reaching if len(reaching) < _FEW_TESTS}
        folder = f"tests/{mutant.package}/"
        costs, ranks = dict[str, float](), Counter[str]()
        for seconds, test in sorted((self._seconds[test], test) for test in self._seconds):
            is_near = test.partition("::")[0] in files or (
                "" in reaching and test.startswith(folder)
            )
            if test in self._items and (test in reaching or is_near):
                function = test.partition("[")[0]
                costs[test] = (0.002 + seconds) * (1 + ranks[function])
                costs[test] *= 1 if test in reaching else 10
                ranks[function] += 1
        chosen, total = list[str](), 0.0
        for test in sorted(costs, key=lambda each: costs[each]):
            if not chosen or total + self._seconds[test] <= self._cap_seconds:
                chosen.append(test)
                total += self._seconds[test]
        return chosen

    def _failing_test(self, number: int, tests: Sequence[str], *, is_early: bool) -> str:
        """Run tests in a process of its own until one fails; a time limit counts as failure."""
        if not tests:
            return ""
        pid = os.fork()
        if pid == 0:
            self._be_child(number, tests, is_early=is_early)
        for _ in range(_MAX_TICKS):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            time.sleep(_TICK_SECONDS)
        else:
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what tests have left running
        log = self._folder / f"notes/run.{pid}"
        steps = _read_lines(log)
        for each in (log, self._folder / f"notes/processes/{pid}"):
            each.unlink(missing_ok=True)
        failed = [test for test, _, _, outcome in steps if outcome == "failed"]
        finished = sum(step == "teardown" for _, step, _, _ in steps)
        return [*failed, *tests[finished:], tests[-1]][0] if status else ""

    def _be_child(self, number: int, tests: Sequence[str], *, is_early: bool) -> NoReturn:
        code = 1
        try:
            os.setsid()
            manager = cast("Any", self._session.config.pluginmanager)
            manager.getplugin(_PLUGIN).work_for(str(number))
            limit = int(30 + 3 * sum(self._seconds[test] for test in tests))
            if number:
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="w")
            manager.unregister(name="terminalreporter")
            capture = manager.getplugin("capturemanager")
            capture.stop_global_capturing()
            capture.start_global_capturing()
            if is_early:  # collecting them already depends on the mutant
                os.execv(sys.executable, [sys.executable, *_PYTEST, "-x", *tests])
            items = [self._items[test] for test in tests]
            for item, following in zip(items, [*items[1:], None], strict=False):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._session.testsfailed:
                    break
            cast("Any", self._session)._setupstate.teardown_exact(None)  # noqa: SLF001 - ends fixtures
            code = min(self._session.testsfailed, 1)
        finally:
            os._exit(code)  # what the parent set up ends in the parent


def summary(folder: Path) -> str:
    """Return the survivors, and the share killed, of each package and of all."""
    mutants = read_mutants(folder)
    killing = {int(number): test for number, test in _read_lines(folder / "results")}
    lines = ["survived:"]
    for number, test in sorted(killing.items()):
        file, function, text, change, _ = mutants[number]
        lines += [] if test else [f"{number} {file} {function}: {text}  ->  {change}"]
    for package in ("all", *sorted({mutant.package for mutant in mutants.values()})):
        own = [t for n, t in killing.items() if package in ("all", mutants[n].package)]
        killed = len([*filter(None, own)])
        lines.append(f"{package}: {killed} of {len(own)} killed ({killed / max(len(own), 1):.1%})")
    return "\n".join(lines)


def main() -> None:
    """Take every step that has not been taken."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("make mutants", description=__doc__, formatter_class=raw)
    add = parser.add_argument
    add("--count", type=int, default=300, help="mutants to draw (default: 300)")
    add("--seed", type=int, default=1, help="the same one draws the same mutants (default: 1)")
    add("--cap", type=float, default=20, help="seconds of tests to run for each (default: 20)")
    add("--commit", default="HEAD", help="what to measure (default: HEAD)")
    add("--folder", type=Path, default=ROOT / "build/mutants", help="default: build/mutants")
    add("--sample", type=Path, help="take the mutants of another folder")
    add("--in-tree", action="store_true", help=argparse.SUPPRESS)
    add("tests", nargs="*", help="the tests to run, as pytest takes them (default: all)")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    if options.in_tree:
        del sys.path[0]  # the tree has modules of the same names
        sys.exit(pytest.main([*_PYTEST[2:], *options.tests], [_Killer(folder, options.cap)]))
    if not (folder / "mutants.json").exists():
        drawn = draw(ROOT, PACKAGES, options.count, options.seed)
        sample = [*read_mutants(options.sample).values()] if options.sample else drawn
        build(folder, options.commit, sample)
    if not (folder / "probed").exists():
        if _run(folder / "tree", *_PYTEST, "--workers", "2", *options.tests) > 1:
            sys.exit("the tests cannot be run")
        (folder / "probed").touch()
    own = (__file__, "--in-tree", "--folder", folder, "--cap", options.cap)
    _run(folder / "tree", *own, *options.tests, PYTEST_MUTANT="0")
    print(summary(folder))


if __name__ == "__main__":
    main()
