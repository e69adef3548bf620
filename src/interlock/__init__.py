"""Interlock: the control plane for AI agents that work unattended.

    >>> from interlock import evaluate_command
    >>> evaluate_command("git push --force").decision.value
    'require-confirmation'

Names are loaded when they are first used, so that `import interlock` costs nothing.
"""

from __future__ import annotations

# Spares the import of `typing`, which takes longer than starting Python does.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from interlock.errors import InputError, InterlockError, PolicyError
    from interlock.model.action import Action, CommandAction, EditAction, ToolAction
    from interlock.model.verdict import Decision, Finding, Severity, Verdict, aggregate
    from interlock.policy.actions.decide import Gates
    from interlock.service.gateway import evaluate_command, evaluate_edit, evaluate_tool_use
    from interlock.service.wiring import load_gates

_HOMES = {
    "Action": "model.action",
    "CommandAction": "model.action",
    "Decision": "model.verdict",
    "EditAction": "model.action",
    "Finding": "model.verdict",
    "Gates": "policy.actions.decide",
    "InputError": "errors",
    "InterlockError": "errors",
    "PolicyError": "errors",
    "Severity": "model.verdict",
    "ToolAction": "model.action",
    "Verdict": "model.verdict",
    "aggregate": "model.verdict",
    "evaluate_command": "service.gateway",
    "evaluate_edit": "service.gateway",
    "evaluate_tool_use": "service.gateway",
    "load_gates": "service.wiring",
}

__all__ = [
    "Action",
    "CommandAction",
    "Decision",
    "EditAction",
    "Finding",
    "Gates",
    "InputError",
    "InterlockError",
    "PolicyError",
    "Severity",
    "ToolAction",
    "Verdict",
    "aggregate",
    "evaluate_command",
    "evaluate_edit",
    "evaluate_tool_use",
    "load_gates",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only when a name is really used

    return getattr(import_module(f"interlock.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
