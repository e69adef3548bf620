"""nah as a peer: by its own `nah test`, with its own defaults."""

from __future__ import annotations

import json
import shutil

from answers import Place, absent, empty_place, serve


def main() -> None:
    """Answer for it, where it is installed."""
    program = shutil.which("nah")
    if program is None:
        absent("nah", "`pip install nah`, in an environment of its own, and on the path")
        return
    with empty_place() as place:
        version = (place.said([program, "--version"]) or "").strip().removeprefix("nah ")
        serve("nah", version, lambda line: _alarms(program, place, line), own_sources=["nah"])


def _alarms(program: str, place: Place, line: str) -> bool | None:
    said = place.said([program, "test", "--json", "--", line])
    return None if not said else json.loads(said)["decision"] in ("ask", "block", "deny")


if __name__ == "__main__":
    main()
