"""What a hook costs: from the start of its process to its answer, beside an empty Python.

    python benchmarks/hook_speed.py [ROUNDS]

A server runs as `interlock serve` does, with every answer durable. Each round starts an empty
Python and a hook, one after the other, so that both meet the same machine.
"""

from __future__ import annotations

import os
import py_compile
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Final

from interlock import hook_entry

_USUAL_ROUNDS: Final = 200
_GOAL: Final = 1.2
_PAYLOAD: Final = b'{"session": "bench", "action": {"command": "git status --short"}}'


def main() -> None:
    """Measure, and print what was measured."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else _USUAL_ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "HOME": folder,
            "XDG_RUNTIME_DIR": folder,
            "XDG_STATE_HOME": f"{folder}/state",
            "PATH": os.environ["PATH"],
        }
        command = [sys.executable, "-I", "-m", "interlock", "serve", "--no-tcp", "--json"]
        with subprocess.Popen(command, env=environment, cwd="/", stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()
            try:
                _measure(rounds, environment)
            finally:
                server.terminate()


def _measure(rounds: int, environment: Mapping[str, str]) -> None:
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    # A program that is named is compiled each time it is run, unless its compiled file is.
    compiled = py_compile.compile(hook_entry.__file__, doraise=True)
    hook = [sys.executable, "-I", "-S", str(compiled), "interlock"]
    for _ in range(5):
        _timed(bare, environment)
        _timed(hook, environment)
    pairs = [(_timed(bare, environment), _timed(hook, environment)) for _ in range(rounds)]
    empty, asked = (sorted(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(asked) / statistics.median(empty)
    for name, times in (("python -I -S -c pass", empty), ("a hook, answered", asked)):
        p99 = times[int(0.99 * len(times))]
        print(f"{name:22} p50 {1000 * statistics.median(times):6.2f} ms   p99 {1000 * p99:6.2f} ms")
    print(f"{'ratio of the medians':22} {ratio:.2f} (goal: {_GOAL} or less)")


def _timed(command: Sequence[str], environment: Mapping[str, str]) -> float:
    begun = time.perf_counter()
    done = subprocess.run(
        command, input=_PAYLOAD, env=environment, stdout=subprocess.DEVNULL, check=False
    )
    took = time.perf_counter() - begun
    assert done.returncode == 0
    return took


if __name__ == "__main__":
    main()
