"""What does it cost to ask whether the work was good enough?

    python benchmarks/review_speed.py

A verdict is read, judged and recorded; the baseline beside it is the line that most agents are
judged by: a pattern that looks for PASS. A check is run by itself and through a review.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from clock import line, median_us
from interlock.model.control_state import OpenReview
from interlock.model.review import Check, PendingGateReview, ReviewGate
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.review_gate import judge, opened
from interlock.policy.reviews.verdict_grammar import VerdictSource, gate_verdict_from
from interlock.service.interlock import Interlock, Run

SETTINGS = Reviews(max_attempts=100, max_resets=100)
GATES = tuple(
    ReviewGate(id=f"gate-{number}", criteria=(f"demand {number} holds",)) for number in range(10)
)
TEXT = "GATE_REVIEW: FAIL - two demands do not hold\nGATE_VERDICTS:\n" + "\n".join(
    f"[{number}] {'FAIL' if number > 8 else 'PASS'} - looked at it" for number in range(1, 11)
)
_PASS = re.compile(r"GATE_REVIEW:\s*PASS", re.IGNORECASE)


def main() -> None:
    """Print what each takes, and how that compares."""
    for text in report():
        print(text)


def report() -> Iterator[str]:
    """Yield one row for each."""
    naive = median_us(lambda: _PASS.search(TEXT), rounds=2_000)
    yield line("a pattern that looks for PASS", f"{naive:.2f} us")
    for attempts in (0, 90):
        review = _tried(attempts)
        took = median_us(lambda review=review: _judged(review), rounds=500)
        told = f"a verdict on 10 gates read and judged, after {attempts} attempts"
        yield line(told, f"{took:.0f} us", "", f"{took / naive:.0f} x")
    with tempfile.TemporaryDirectory() as folder, Interlock.open(":memory:") as interlock:
        run = interlock.run("measure", workspace=folder)
        yield from _recorded(run)
        yield from _checked(run, Path(folder))


def _judged(review: PendingGateReview) -> PendingGateReview | None:
    said = gate_verdict_from(TEXT, VerdictSource.VERDICT)
    return judge(OpenReview(review=review, gates=GATES), said, SETTINGS).review


def _tried(attempts: int) -> PendingGateReview:
    review = opened("work", GATES, SETTINGS)
    for _ in range(attempts):
        review = _judged(review) or review
    return review


def _recorded(run: Run) -> Iterator[str]:
    names = count()

    def reviewed() -> None:
        name = f"r{next(names)}"
        run.review(name, GATES)
        run.verdict("PASS - every demand holds", review=name)

    took = median_us(reviewed, rounds=200)
    yield line("a review opened, passed and recorded, in memory", f"{took:.0f} us")


def _checked(run: Run, folder: Path) -> Iterator[str]:
    gate = ReviewGate(id="true", check=Check(argv=("true",)))
    names = count()

    def bare() -> None:
        subprocess.run(["true"], check=True, cwd=folder, capture_output=True)

    def through_review() -> None:
        name = f"c{next(names)}"
        run.review(name, [gate])
        run.verdict("PASS - it ends well", review=name)

    plain, took = median_us(bare, rounds=50), median_us(through_review, rounds=50)
    yield line("`true` run by itself", f"{plain / 1000:.2f} ms")
    ratio = f"{took / plain:.2f} x"
    yield line("the same as a check of a review", f"{took / 1000:.2f} ms", "", ratio)


if __name__ == "__main__":
    main()
