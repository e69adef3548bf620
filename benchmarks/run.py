"""Everything that is measured, in one run: speed, secrets, accuracy.

    make bench

Ratios to a baseline stand beside each figure, because they hold on other machines too.
"""

from __future__ import annotations

import accuracy
import secret_scanning
import speed


def main() -> None:
    """Print the three reports."""
    print("# Speed")
    speed.main()
    print("\n# Secrets")
    secret_scanning.main()
    print("\n# Accuracy")
    accuracy.print_report(with_mistakes=True)


if __name__ == "__main__":
    main()
