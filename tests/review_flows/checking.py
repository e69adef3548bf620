"""Gates with checks of their own, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.model.events import CheckRan
from review_flows.workshop import PASS, Workshop
from secret_generator import from_template

SECRET = from_template("ghp_[A-Za-z0-9]{36}", "reviews")

Gate = dict[str, object]


def checked(argv: Sequence[str], gate_id: str = "checked", /, **known: object) -> Gate:
    """Return a gate with a check."""
    return {"id": gate_id, "check": {"argv": [*argv]}, **known}


def scripted(workshop: Workshop, text: str, **known: object) -> Gate:
    """Return a gate whose check is a script of the shell."""
    (workshop.folder / "check.sh").write_text(text)
    return checked(["sh", "check.sh"], **known)


def ran(workshop: Workshop) -> list[CheckRan]:
    """Return every check of the run as it is on record."""
    return [event for event in workshop.events if isinstance(event, CheckRan)]


def shown(workshop: Workshop, text: str) -> CheckRan:
    """Return what is recorded of a check that runs a script, for a verdict that passes it."""
    gate = scripted(workshop, text)
    workshop.does(lambda run: run.review("first", [gate]))
    workshop.says(PASS)
    return ran(workshop)[-1]
