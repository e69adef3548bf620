"""What a hook costs: from the start of its process to its answer, beside an empty Python.

    python benchmarks/hook_speed.py [ROUNDS]

A server runs as `interlock serve` does, with every answer durable. Each round asks about another
command, in the words of Claude Code: an empty Python, a hook as it is installed, the same question
over HTTP on a connection that stays open, and, where the folder that INTERLOCK_CLIENTS names has
it, the hook of cc-safety-net; one after the other, so that all meet the same machine.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from interlock import Interlock, hook_entry

_USUAL_ROUNDS: Final = 200
_WARM_UP: Final = 5
_GOAL: Final = 1.2
_PASSPHRASE: Final = "correct horse battery"
_PEER: Final = "node_modules/cc-safety-net/dist/bin/cc-safety-net.js"


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
        os.environ.update(environment)
        token = _agents_token()
        command = [sys.executable, "-I", "-m", "interlock", "serve", "--port=0", "--json"]
        with subprocess.Popen(command, env=environment, cwd="/", stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            try:
                _measure(rounds, environment, url, token)
            finally:
                server.terminate()


def _agents_token() -> str:
    with Interlock.open() as interlock:
        interlock.set_up("ada", _PASSPHRASE, cost=2)
        return interlock.add_agent("claude-code-http", token=interlock.unlock("ada", _PASSPHRASE))


def _payload(session: str, number: int) -> bytes:
    line = f"git log -n {number} -- src/module_{number}.py | head -{number % 40 + 1}"
    return json.dumps(
        {
            "session_id": session,
            "cwd": "/",
            "hook_event_name": "PreToolUse",
            "permission_mode": "default",
            "tool_name": "Bash",
            "tool_input": {"command": line},
            "tool_use_id": f"call-{number}",
        }
    ).encode()


def _measure(rounds: int, environment: Mapping[str, str], url: str, token: str) -> None:
    entry = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "--deadline=25"]
    asked: dict[str, Callable[[int], object]] = {
        "python -I -S -c pass": _process([sys.executable, "-I", "-S", "-c", "pass"], environment),
        "a hook": _process(entry, environment),
        "a hook over HTTP": _over_http(url, token),
    }
    peer = Path(os.environ.get("INTERLOCK_CLIENTS", "/nowhere")) / _PEER
    if peer.exists():
        asked["cc-safety-net's hook"] = _process(
            ["node", str(peer), "hook", "--claude-code"], environment
        )
    times: dict[str, list[float]] = {name: [] for name in asked}
    for number in range(_WARM_UP + rounds):
        for name, ask in asked.items():
            begun = time.perf_counter()
            ask(number)
            if number >= _WARM_UP:
                times[name].append(time.perf_counter() - begun)
    bare = statistics.median(times["python -I -S -c pass"])
    print(f"{'':22} {'ratio':>6} {'p50':>10} {'p99':>10}")
    for name, each in times.items():
        each.sort()
        median, p99 = statistics.median(each), each[int(0.99 * len(each))]
        print(f"{name:22} {median / bare:6.2f} {1000 * median:7.2f} ms {1000 * p99:7.2f} ms")
    print(f"goal: a hook at {_GOAL} of an empty Python or less")
    if not peer.exists():
        print(
            "cc-safety-net is not here: `make test-clients` installs it, INTERLOCK_CLIENTS names it"
        )


def _process(command: Sequence[str], environment: Mapping[str, str]) -> Callable[[int], object]:
    def ask(number: int) -> None:
        done = subprocess.run(
            command,
            input=_payload("bench", number),
            env=environment,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0

    return ask


def _over_http(url: str, token: str) -> Callable[[int], object]:
    connection = http.client.HTTPConnection(url.rpartition("/")[2])
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(number: int) -> None:
        connection.request("POST", "/v1/hooks/claude-code", _payload("http", number), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status in (200, 204)

    return ask


if __name__ == "__main__":
    main()
