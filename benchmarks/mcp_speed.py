"""What the MCP proxy costs: a tool call straight to a server, beside the same through the proxy.

    python benchmarks/mcp_speed.py [ROUNDS]

Both servers run all the time, and each round calls one and then the other. Every call through the
proxy is judged and on record, durably, before it reaches the server.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Final

_USUAL_ROUNDS: Final = 300
_SERVER: Final = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    result = {}
    if said["method"] == "tools/list":
        result = {"tools": [{"name": "run_command", "inputSchema": {"type": "object"}}]}
    elif said["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "done"}]}
    if "id" in said:
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"""


def main() -> None:
    """Measure, and print what was measured."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else _USUAL_ROUNDS
    server = [sys.executable, "-I", "-S", "-c", _SERVER]
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HOME": folder, "PATH": os.environ["PATH"]}
        proxy = [sys.executable, "-I", "-m", "interlock", "mcp", "--name", "bench", "--", *server]
        with (
            _started(server, environment, folder) as straight,
            _started(proxy, environment, folder) as through,
        ):
            _measure(rounds, straight, through)


def _started(
    command: Sequence[str], environment: Mapping[str, str], folder: str
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=folder
    )


def _measure(
    rounds: int, straight: subprocess.Popen[bytes], through: subprocess.Popen[bytes]
) -> None:
    for number in range(10):
        _timed(straight, number)
        _timed(through, number)
    pairs = [(_timed(straight, 10 + each), _timed(through, 10 + each)) for each in range(rounds)]
    bare, judged = (sorted(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(judged) / statistics.median(bare)
    print(f"{'ratio of the medians':22} {ratio:.1f}")
    for name, times in (("straight", bare), ("through the proxy", judged)):
        p99 = times[int(0.99 * len(times))]
        print(f"{name:22} p50 {1000 * statistics.median(times):6.2f} ms   p99 {1000 * p99:6.2f} ms")
    for each in (through, straight):
        assert each.stdin is not None
        each.stdin.close()
        each.wait()


def _timed(server: subprocess.Popen[bytes], number: int) -> float:
    assert server.stdin is not None
    assert server.stdout is not None
    params = {"name": "run_command", "arguments": {"command": "git status --short"}}
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    begun = time.perf_counter()
    server.stdin.write(json.dumps(call).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    took = time.perf_counter() - begun
    assert answer["result"]["content"][0]["text"] == "done"
    return took


if __name__ == "__main__":
    main()
