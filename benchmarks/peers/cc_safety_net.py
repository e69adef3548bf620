"""cc-safety-net as a peer: by the hook that it gives to Claude Code, with its own defaults."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import msgspec
from answers import Place, absent, empty_place, serve

_NAME: Final = "cc-safety-net"
_PACKAGE: Final = "node_modules/cc-safety-net"


class Package(msgspec.Struct):
    """Its description, as far as it is needed."""

    version: str


def main() -> None:
    """Answer for it, where it is installed."""
    clients = os.environ.get("INTERLOCK_CLIENTS", "build/clients")
    package = Path(clients).absolute() / _PACKAGE
    if not package.exists():
        absent(_NAME, "`make test-clients` installs it, INTERLOCK_CLIENTS names the folder")
        return
    told = msgspec.json.decode((package / "package.json").read_bytes(), type=Package)
    hook = package / "dist" / "bin" / "cc-safety-net.js"
    with empty_place() as place:
        serve(
            _NAME,
            told.version,
            lambda line: _alarms(hook, place, line),
            own_sources=["claude-code-safety-net"],
        )


def _alarms(hook: Path, place: Place, line: str) -> bool | None:
    payload = {
        "session_id": "peer",
        "cwd": str(place.project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": line},
    }
    said = place.said(["node", str(hook), "hook", "--claude-code"], json.dumps(payload))
    if said is None or not said.strip():
        return None if said is None else False
    return json.loads(said)["hookSpecificOutput"]["permissionDecision"] != "allow"


if __name__ == "__main__":
    main()
