"""Runs the scoreboard in forks of one process, in which its modules and patterns are ready.

Reads a call per line: the files to write standard output and errors to, and the arguments. Answers
each with the exit code.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import scoreboard
import secret_accuracy
from scoreboard_figures import command_judged


def main() -> None:
    """Do once the work that every measurement begins with, then fork one for each line."""
    command_judged(b'{"command": "ls", "label": "allow"}')
    for row in secret_accuracy.made_from_rules():
        secret_accuracy.is_found(row.text)
    for line in sys.stdin:
        call: list[str] = json.loads(line)
        child = os.fork()
        if child == 0:
            _measure(*call)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201 - the answer


def _measure(out: str, errors: str, *arguments: str) -> NoReturn:
    for number, path in ((1, out), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    code: object = 1
    try:
        code = scoreboard.main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
