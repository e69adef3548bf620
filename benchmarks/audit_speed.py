"""How fast are histories audited, in how much memory? Synthetic sessions of Claude Code.

    python benchmarks/audit_speed.py [--megabytes 1000] [--processes 2] [--tools Bash]

Writes sessions whose tools and sizes are those of 201 real ones (about 6.5 KB per step: every
result stands there twice), no call like another, and has `interlock audit` read them in a home of
its own. With `--tools Bash` every call is a short shell line that nobody asked about before: the
worst that a history can be.
Beside it stands the least that anybody has to do: to parse each line as JSON, in one process.
Memory is what all processes of the audit hold together, shared pages counted once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

MEGABYTE: Final = 1_000_000
STEPS: Final = 160
"""Of one session."""
SHARES: Final = {"Bash": 35, "Read": 28, "Edit": 23, "Grep": 13}
"""How often each tool is called; other ones make an eighth of all calls and are left out."""
RESULTS: Final = {
    "Bash": (2, 40, 80, 159, 280, 470, 775, 1_232, 2_359, 8_450),
    "Read": (490, 1_000, 1_306, 1_679, 2_166, 2_776, 3_749, 5_377, 11_038, 31_952),
    "Edit": (89, 101, 108, 113, 117, 122, 126, 142, 365, 1_644),
    "Grep": (15, 29, 85, 171, 317, 613, 1_136, 1_988, 3_450, 9_143),
}
"""How many characters come back: the mean of each tenth of the calls."""
EDITS: Final = (80, 160, 220, 290, 370, 470, 600, 790, 1_120, 2_440)
"""The same for the text that an edit puts in the place of another."""
LOOK_EVERY_S: Final = 1.0
"""A look at all of its memory holds a process up for some milliseconds."""
WORDS: Final = (
    "parser order cart invoice sync cache worker queue schema token user account test build route"
    " handler page button style theme retry limit report export import batch index search filter"
).split()
COMMANDS: Final = (
    "pytest -q tests/test_{a}_{n}.py",
    "git diff HEAD~{d} -- src/{a}/{b}.py",
    "ls -la src/{a}/{b}{n}",
    "npm run test -- --grep '{a} {b} {n}'",
    "grep -rn '{a}_{b}{n}' src | head -{d}",
    "python -m {a}.{b} --limit {n} && echo done",
    "cat src/{a}/{b}_{n}.py | sed -n 1,{n}p",
    "cd packages/{a} && make {b}-{n}",
    "git commit -qam 'Mend the {a} of {b} {n}'",
    "rm -rf build/{a}-{n}",
    "curl -s localhost:{n}/{a}/{b} | jq .{a}",
    "docker compose up -d {a}{n}",
)
DANGEROUS: Final = ("git push --force origin {a}-{n}", "rm -rf ~/{a}/{b}{n}", "git reset --hard")


def main() -> None:
    """Write sessions, audit them, and print how that went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--tools", nargs="+", choices=SHARES, default=list(SHARES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, ".claude", "projects", "-home-ada-shop")
        folder.mkdir(parents=True)
        size = write_sessions(folder, given.megabytes * MEGABYTE, given.tools)
        files = sorted(folder.iterdir())
        print(f"{len(files)} sessions, {size / MEGABYTE:.0f} MB, {len(files) * STEPS:,} steps")
        parsed = parse(files)
        took, memory, report = audit(Path(home), given.processes)
        rate, plain = size / took / MEGABYTE, size / parsed / MEGABYTE
        print(f"audited   {took:6.1f} s  {rate:6.1f} MB/s  goal 30 MB/s on two cores")
        print(f"parsed    {parsed:6.1f} s  {plain:6.1f} MB/s  as JSON alone, one process")
        print(f"the audit takes {took / parsed:.1f} times as long as parsing")
        print(f"memory    {memory / MEGABYTE:6.0f} MB  goal 300 MB, all processes together")
        again, _, second = audit(Path(home), given.processes)
        print(f"again     {again:6.1f} s, from what is kept of the first time")
        print(f"runs {report['runs']:,}, calls {report['calls']:,}, answers {report['decisions']}")
        same = all(report[key] == second[key] for key in ("runs", "calls", "tokens", "counts"))
        print("both came to the same" if same else "THE TWO DIFFER")


def write_sessions(folder: Path, wanted: int, tools: list[str]) -> int:
    """Write sessions until they are as large as wanted; return how large they are."""
    chance, size, number = random.Random(15), 0, 0
    while size < wanted:
        name = f"{number:08x}-0000-4000-8000-000000000000"
        lines = b"".join(session(chance, name, tools))
        (folder / f"{name}.jsonl").write_bytes(lines)
        size += len(lines)
        number += 1
    return size


def session(chance: random.Random, name: str, tools: list[str]) -> Iterator[bytes]:
    """Yield the lines of one session."""
    head = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/shop",
        "sessionId": name,
        "version": "2.1.325",
        "gitBranch": "main",
    }
    at = 1_790_000_000 + chance.randrange(5_000_000)
    yield line(head, 0, at, "user", {"role": "user", "content": "fix the sync of orders"})
    for step in range(1, STEPS + 1):
        at += chance.randrange(3, 40)
        tool = chance.choices(tools, [SHARES[each] for each in tools])[0]
        given = parameters(chance, tool)
        call = f"toolu_{name[:8]}{step:06d}"
        used = {"type": "tool_use", "id": call, "name": tool, "input": given}
        usage = {
            "input_tokens": 4,
            "cache_read_input_tokens": 20_000 + 400 * step,
            "cache_creation_input_tokens": 500,
            "output_tokens": chance.randrange(50, 900),
        }
        message = {
            "id": f"msg_{name[:8]}{step:06d}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": f"Now the {chance.choice(WORDS)}."}, used],
            "stop_reason": "tool_use",
            "usage": usage,
        }
        yield line(head, step, at, "assistant", message)
        output = text(chance, chance.choice(RESULTS[tool]))
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}
        more = {"toolUseResult": kept_by_client(tool, given, output)}
        yield line(head | more, step, at + 1, "user", {"role": "user", "content": [result]})
    said = {"type": "text", "text": "The sync of orders is fixed, and all tests pass."}
    last = {"id": f"msg_{name[:8]}end", "role": "assistant", "content": [said]}
    yield line(head, STEPS + 1, at + 9, "assistant", last | {"stop_reason": "end_turn"})


def parameters(chance: random.Random, tool: str) -> dict[str, Any]:
    """Return what a tool is given, every time something else."""
    values = {"a": chance.choice(WORDS), "b": chance.choice(WORDS)}
    numbers = {"n": chance.randrange(100_000), "d": chance.randrange(1, 99)}
    path = "/home/ada/shop/src/{a}/{b}_{n}.py".format(**values, **numbers)
    match tool:
        case "Read":
            return {"file_path": path, "offset": numbers["n"], "limit": 200}
        case "Edit":
            old, new = (text(chance, chance.choice(EDITS)) for _ in range(2))
            return {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        case "Grep":
            pattern = "def {a}_{b}_{n}".format(**values, **numbers)
            return {"pattern": pattern, "path": "/home/ada/shop/src", "output_mode": "content"}
        case _:
            source = DANGEROUS if chance.random() < 0.01 else COMMANDS
            command = chance.choice(source).format(**values, **numbers)
            return {"command": command, "description": "Look at the {a}".format(**values)}


def kept_by_client(tool: str, given: dict[str, Any], output: str) -> dict[str, Any]:
    """Return what Claude Code keeps of a result beside what the model is told."""
    match tool:
        case "Read":
            file = {"filePath": given["file_path"], "content": output, "startLine": 1}
            return {"type": "text", "file": file}
        case "Edit":
            names = {"old_string": "oldString", "new_string": "newString"}
            return {"filePath": given["file_path"]} | {to: given[at] for at, to in names.items()}
        case "Grep":
            return {"mode": "content", "numFiles": 0, "filenames": [], "content": output}
        case _:
            return {"stdout": output, "stderr": "", "interrupted": False}


def line(head: dict[str, Any], step: int, at: int, kind: str, message: object) -> bytes:
    """Return one line as Claude Code writes it."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
    name = f"{kind}-{head['sessionId'][:8]}-{step}"
    whole = head | {"type": kind, "message": message, "uuid": name, "timestamp": stamp}
    return json.dumps(whole).encode() + b"\n"


def text(chance: random.Random, size: int) -> str:
    """Return lines as a program prints them."""
    words = chance.choices(WORDS, k=size // 7)
    return "\n".join(" ".join(words[place : place + 12]) for place in range(0, len(words), 12))


def parse(files: list[Path]) -> float:
    """Return how long it takes to parse every line."""
    began = time.perf_counter()
    for file in files:
        with file.open("rb") as lines:
            for each in lines:
                msgspec.json.decode(each)
    return time.perf_counter() - began


def audit(home: Path, processes: int) -> tuple[float, int, dict[str, Any]]:
    """Return how long an audit took, how much memory it had at most, and what it found."""
    out = home / "report.json"
    command = [sys.executable, "-m", "interlock", "audit", "--json", "--processes", str(processes)]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    began, most = time.perf_counter(), 0
    with out.open("wb") as report:
        process = subprocess.Popen(command, stdout=report, env=environment, cwd=home)
        while True:
            try:
                process.wait(LOOK_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                most = max(most, sum(memory_of(each) for each in family(process.pid)))
    took = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"the audit ended with {process.returncode}")
    return took, most, msgspec.json.decode(out.read_bytes())


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that it started."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for each in children:
        yield from family(int(each))


def memory_of(pid: int) -> int:
    """Return what a process holds, its share of what it shares with others."""
    try:
        rolled = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(
        (int(each.split()[1]) * 1024 for each in rolled.splitlines() if each.startswith("Pss:")), 0
    )


if __name__ == "__main__":
    main()
