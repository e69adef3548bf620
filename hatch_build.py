"""Compile the rules when a wheel or an editable install is built."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCES = Path(__file__).parent / "src"


class CompileRules(BuildHookInterface[Any]):
    """Writes the compiled rules beside the package's sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the hook's shape
        """Compile before files are collected."""
        sys.path.insert(0, str(_SOURCES))
        from interlock.service.policies.rule_compiler import COMPILED, compile_rules  # noqa: PLC0415 - needs the path

        place = _SOURCES / "interlock" / COMPILED
        rules = compile_rules()
        # Whoever runs from these sources meanwhile reads the old rules or the new, never half.
        if not place.exists() or place.read_bytes() != rules:
            beside = place.with_suffix(".new")
            beside.write_bytes(rules)
            beside.replace(place)
        build_data["artifacts"].append(f"src/interlock/{COMPILED}")
