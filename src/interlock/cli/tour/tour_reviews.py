"""Work that is reviewed: a real check fails, a PASS is refused, the mistake is mended."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock.cli.tour.tour_run import PassingClock
from interlock.cli.tour.tour_steps import Beat, Story
from interlock.model.review import Check, ReviewGate, ReviewMode
from interlock.service.interlock import Interlock, Run
from interlock.service.wiring import default_gates

TITLE: Final = "Was it good enough?"
ABOUT: Final = (
    "Done means that the evidence says so. A gate has criteria for whoever reviews the work, and a "
    "check that Interlock runs itself: here a real test, in a folder that is gone afterwards. "
    "`interlock review` and `interlock verdict` do the same from any agent."
)
_TEST: Final = """\
import unittest

from vat import vat


class Totals(unittest.TestCase):
    def test_rounds_once_at_the_end(self):
        self.assertEqual(vat([1.004, 1.004]), 2.01)

    def test_nothing_is_nothing(self):
        self.assertEqual(vat([]), 0)
"""
_WRONG: Final = "def vat(parts):\n    return sum(round(part, 2) for part in parts)\n"
_RIGHT: Final = "def vat(parts):\n    return round(sum(parts), 2)\n"
_GATES: Final = (
    ReviewGate(
        id="tests",
        criteria=("every test passes",),
        mode=ReviewMode.BLOCKING,
        check=Check(argv=("python3", "-m", "unittest", "-q")),
    ),
    ReviewGate(id="readable", criteria=("a newcomer can follow it",), mode=ReviewMode.ADVISORY),
)


@contextmanager
def played_reviews() -> Generator[tuple[Beat, ...]]:
    """Play the run; its ledger and its folder are gone afterwards."""
    clock = PassingClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Interlock.open(":memory:", gates=default_gates(), clock=clock) as interlock,
    ):
        run = interlock.run(
            "make the totals come out right", agent="coder", project="shop", workspace=folder
        )
        yield tuple(_beats(interlock, run, clock, Path(folder)))


def _beats(interlock: Interlock, run: Run, clock: PassingClock, folder: Path) -> Iterator[Beat]:
    story = Story(interlock, run)
    (folder / "test_vat.py").write_text(_TEST)
    (folder / "vat.py").write_text(_WRONG)
    run.review("before-merge", _GATES, subject="the VAT is right")
    clock.passes(20)
    run.verdict("GATE_REVIEW: PASS - the totals are right now, every test passes")
    yield story.beat("It says that every test passes; its word is held against the check")
    clock.passes(60)
    (folder / "vat.py").write_text(_RIGHT)
    run.verdict(
        "GATE_REVIEW: PASS - rounded once, at the end\n"
        "GATE_VERDICTS:\n[1] PASS - both cases\n[2] FAIL - `parts` says little"
    )
    yield story.beat("It mends the mistake: the check agrees, and what only advises is told")
