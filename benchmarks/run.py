"""Everything that is measured, in one run: speed, durable answers, secrets, accuracy, runs.

    make bench

Ratios to a baseline stand beside each figure, because they hold on other machines too.
"""

from __future__ import annotations

import accuracy
import durable
import edit_speed
import hook_speed
import loop_speed
import review_speed
import secret_scanning
import server_load
import speed
import step_accuracy
import step_speed
import stop_accuracy
import unseen_commands


def main() -> None:
    """Print the reports."""
    print("# Speed")
    speed.main()
    print("\n# Commands that were never seen before")
    unseen_commands.main()
    print("\n# Durable")
    durable.main()
    print("\n# Steps and stops: what a decision costs")
    step_speed.main()
    print("\n# Reviews")
    review_speed.main()
    print("\n# Edits")
    edit_speed.main()
    print("\n# The loop")
    loop_speed.main()
    print("\n# The server")
    server_load.main()
    print("\n# Hooks")
    hook_speed.main()
    print("\n# Secrets")
    secret_scanning.main()
    print("\n# Accuracy")
    accuracy.print_report(with_mistakes=True)
    print("\n# Steps: which runs are stuck")
    step_accuracy.main()
    print("\n# Stops: which turns are done")
    stop_accuracy.print_report(with_mistakes=False)


if __name__ == "__main__":
    main()
