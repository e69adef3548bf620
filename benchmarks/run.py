"""Everything that is measured, in one run: speed, durable answers, secrets, accuracy.

    make bench

Ratios to a baseline stand beside each figure, because they hold on other machines too.
"""

from __future__ import annotations

import accuracy
import durable
import secret_scanning
import speed


def main() -> None:
    """Print the reports."""
    print("# Speed")
    speed.main()
    print("\n# Durable")
    durable.main()
    print("\n# Secrets")
    secret_scanning.main()
    print("\n# Accuracy")
    accuracy.print_report(with_mistakes=True)


if __name__ == "__main__":
    main()
