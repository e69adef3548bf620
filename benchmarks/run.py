"""Everything that is measured, in one run: speed, durable answers, secrets, accuracy, runs.

    make bench

Ratios to a baseline stand beside each figure, because they hold on other machines too.
"""

from __future__ import annotations

import accuracy
import durable
import editing
import going
import reviewing
import secret_scanning
import speed
import stops
import trajectories


def main() -> None:
    """Print the reports."""
    print("# Speed")
    speed.main()
    print("\n# Durable")
    durable.main()
    print("\n# Steps and stops: what a decision costs")
    going.main()
    print("\n# Reviews")
    reviewing.main()
    print("\n# Edits")
    editing.main()
    print("\n# Secrets")
    secret_scanning.main()
    print("\n# Accuracy")
    accuracy.print_report(with_mistakes=True)
    print("\n# Steps: which runs are stuck")
    trajectories.print_report()
    print("\n# Stops: which turns are done")
    stops.print_report(with_mistakes=False)


if __name__ == "__main__":
    main()
