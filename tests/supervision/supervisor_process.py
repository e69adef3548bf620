"""A supervisor as a program of its own, quicker than the real one: it tells what happens.

    python -m supervision.supervisor_process ORDERS COMMAND...

ORDERS is JSON; what it says goes to the descriptor `report`, a line each, and its ending last.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from gates.policies import gates_with
from interlock import Budget, Interlock
from interlock.adapters.supervision.command_watch import Cadence
from interlock.adapters.supervision.supervisor import Supervisor

_QUICK = Cadence(quiet_s=0.1, longest_s=0.3, enough=4096, shortest_s=0.05)


def main() -> int:
    """Run the command, and return what the supervisor would end with."""
    orders = json.loads(sys.argv[1])
    report = orders["report"]
    os.set_inheritable(report, False)

    def say(text: str) -> None:
        os.write(report, f"{json.dumps(text)}\n".encode())

    with Interlock.open(
        orders["ledger"], keys=orders["keys"], policy=gates_with(orders["policy"])
    ) as interlock:
        run = interlock.run(
            "a test",
            workspace=Path.cwd(),
            tree_budget=Budget(wall_time_s=orders["wall_time_s"]),
        )
        say(run.id)
        supervisor = Supervisor(interlock, run, say, cadence=_QUICK, grace_s=orders["grace_s"])
        ending = supervisor.supervise(sys.argv[2:], folder=Path.cwd(), environment=dict(os.environ))
    say(json.dumps(ending._asdict()))
    return ending.exit_code


if __name__ == "__main__":
    sys.exit(main())
