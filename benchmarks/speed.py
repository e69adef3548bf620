"""How fast is an answer? In process, in bulk, and at start-up, beside a naive baseline."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from clock import line, median_us
from interlock import evaluate_command, evaluate_edit, evaluate_tool_use

TYPICAL = (
    "git status",
    "git diff --stat HEAD~1",
    'git add -A && git commit -m "fix: handle empty input"',
    "git push -u origin feature/parser",
    "git log --oneline -20 | cat",
    "npm run test -- --watch=false 2>&1 | tail -20",
    "npm install --save-dev vitest",
    "cd packages/api && npx tsc --noEmit",
    'grep -rn "TODO" src | head -50',
    'rg -n "foo|bar" packages --glob "*.ts" | head',
    "sed -n '1,200p' src/app/main.py",
    "cat package.json | jq '.scripts'",
    "ls -la src/ && cat README.md",
    'python3 -m pytest tests/unit -q -k "not slow" 2>&1 | tail -5',
    "python3 -c \"import json; print(json.load(open('a.json'))['version'])\"",
    "find . -name '*.py' -not -path './node_modules/*' | wc -l",
    "docker compose up -d && docker compose logs --tail 50 api",
    "curl -s http://localhost:3000/health | jq .status",
    "make build && ./bin/server --port 8080 &",
    "for f in a.txt b.txt c.txt; do wc -l $f; done",
    "mkdir -p build/output && cp -r assets build/output/",
    "rm -rf build dist",
    "cargo test --workspace --quiet 2>&1 | grep -E 'test result|FAILED'",
    "go build ./... && go vet ./...",
    "test -f .env || cp .env.example .env",
    "kubectl get pods -n staging -o wide",
    'gh pr create --title "Parser" --body "Adds a parser" --draft',
    "echo 'done' >> notes.md",
    "VERSION=$(git describe --tags) && echo $VERSION",
    "ps aux | grep node | grep -v grep | awk '{print $2}'",
)
NAIVE = re.compile(
    r"rm\s+-rf?\b|drop\s+(table|database)|truncate\s+table|git\s+push.*--force|git\s+reset\s+--hard"
    r"|mkfs|dd\s+if=|curl.*\|\s*(ba)?sh|AKIA[0-9A-Z]{16}|-----BEGIN .*PRIVATE KEY-----",
    re.IGNORECASE,
)
BULK = 6000


def main() -> None:
    """Print one row per figure, ratios beside."""
    print(line("what", "measured", "goal", "beside it"))
    _commands()
    _other_actions()
    _bulk()
    _start_up()


def _commands() -> None:
    ours = [median_us(lambda command=command: evaluate_command(command)) for command in TYPICAL]
    naive = [median_us(lambda command=command: NAIVE.search(command)) for command in TYPICAL]
    ratio = statistics.median(ours) / statistics.median(naive)
    measured = f"{statistics.median(ours):.0f} µs"
    print(line("a typical command, median", measured, "<= 100 µs", f"{ratio:.0f}x one regex"))
    print(line("  slowest of them", f"{max(ours):.0f} µs"))
    print(line("  fastest of them", f"{min(ours):.0f} µs"))


def _other_actions() -> None:
    content = Path(__file__).read_text()[:4000]
    tool = median_us(lambda: evaluate_tool_use("Bash", {"command": "git status"}))
    edit = median_us(lambda: evaluate_edit("src/app.py", content, old=content[:2000]))
    print(line("a tool call that carries a command", f"{tool:.0f} µs"))
    print(line("an edit of 4 KB", f"{edit:.0f} µs"))


def _bulk() -> None:
    rows = [
        msgspec.json.encode({"id": index, "command": TYPICAL[index % len(TYPICAL)]})
        for index in range(BULK)
    ]
    entry = Path(sys.executable).parent / "interlock"
    start = time.perf_counter()
    lines = b"\n".join(rows) + b"\n"
    done = subprocess.run(
        [str(entry), "check", "--jsonl"], input=lines, capture_output=True, check=True
    )
    seconds = time.perf_counter() - start
    assert done.stdout.count(b"\n") == BULK
    measured = f"{BULK / seconds:,.0f} /s"
    print(line("interlock check --jsonl, whole process", measured, ">= 3,000 /s"))


def _start_up() -> None:
    bare = _process_ms("pass")
    light = _process_ms("import interlock")
    full = _process_ms("from interlock import evaluate_command; evaluate_command('ls')")
    ratio = f"{light / bare:.2f}x bare ({bare:.1f} ms)"
    print(line("python -c 'import interlock'", f"{light:.1f} ms", "<= 3x bare", ratio))
    print(line("first answer of a new process", f"{full:.0f} ms", "", f"{full / bare:.1f}x bare"))


def _process_ms(code: str, rounds: int = 15) -> float:
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
