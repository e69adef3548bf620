"""Interlock: the control plane for AI agents that work unattended.

    >>> from interlock import evaluate_command
    >>> evaluate_command("git push --force").decision.short
    'ask'

The names most programs need are here. The other types that answers contain are in
`interlock.values`, all errors in `interlock.errors`, and the client of a server in
`interlock.client`.

Names are loaded when they are first used, so that `import interlock` costs nothing.
"""

from __future__ import annotations

# Spares the import of `typing`, which takes longer than starting Python does.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from interlock.errors import (
        HaltedError,
        InputError,
        InterlockError,
        NotPermittedError,
        PolicyError,
        UnavailableError,
    )
    from interlock.model.action import CommandAction, EditAction, ToolAction
    from interlock.model.answers import Answer, EditAnswer, ReviewAnswer, StepAnswer, StopAnswer
    from interlock.model.approval import Approval
    from interlock.model.budget import Budget, TokenUsage
    from interlock.model.edit import FileEdit
    from interlock.model.principal import Principal
    from interlock.model.review import Check, ReviewGate, ReviewOutcome
    from interlock.model.step import StepContext, StepDecision
    from interlock.model.verdict import Decision, Finding, Verdict, aggregate
    from interlock.policy.actions.compiled_policy import CompiledPolicy
    from interlock.service.aio import AsyncInterlock, AsyncRun
    from interlock.service.gateway import (
        evaluate_command,
        evaluate_destructive_ops,
        evaluate_diff_size,
        evaluate_edit,
        evaluate_secrets,
        evaluate_tool_allowlist,
        evaluate_tool_use,
        gate_verdict,
    )
    from interlock.service.interlock import Interlock, Run
    from interlock.service.policies.policy_files import load_policy
    from interlock.service.unrecorded_gate import ContinueGate

_HOMES = {
    "errors": (
        "HaltedError InputError InterlockError NotPermittedError PolicyError UnavailableError"
    ),
    "model.action": "CommandAction EditAction ToolAction",
    "model.answers": "Answer EditAnswer ReviewAnswer StepAnswer StopAnswer",
    "model.approval": "Approval",
    "model.budget": "Budget TokenUsage",
    "model.edit": "FileEdit",
    "model.principal": "Principal",
    "model.review": "Check ReviewGate ReviewOutcome",
    "model.step": "StepContext StepDecision",
    "model.verdict": "Decision Finding Verdict aggregate",
    "policy.actions.compiled_policy": "CompiledPolicy",
    "service.aio": "AsyncInterlock AsyncRun",
    "service.gateway": (
        "evaluate_command evaluate_destructive_ops evaluate_diff_size evaluate_edit"
        " evaluate_secrets evaluate_tool_allowlist evaluate_tool_use gate_verdict"
    ),
    "service.interlock": "Interlock Run",
    "service.policies.policy_files": "load_policy",
    "service.unrecorded_gate": "ContinueGate",
}
"""The public names, by the module that they are loaded from."""

__all__ = [
    "Answer",
    "Approval",
    "AsyncInterlock",
    "AsyncRun",
    "Budget",
    "Check",
    "CommandAction",
    "CompiledPolicy",
    "ContinueGate",
    "Decision",
    "EditAction",
    "EditAnswer",
    "FileEdit",
    "Finding",
    "HaltedError",
    "InputError",
    "Interlock",
    "InterlockError",
    "NotPermittedError",
    "PolicyError",
    "Principal",
    "ReviewAnswer",
    "ReviewGate",
    "ReviewOutcome",
    "Run",
    "StepAnswer",
    "StepContext",
    "StepDecision",
    "StopAnswer",
    "TokenUsage",
    "ToolAction",
    "UnavailableError",
    "Verdict",
    "aggregate",
    "evaluate_command",
    "evaluate_destructive_ops",
    "evaluate_diff_size",
    "evaluate_edit",
    "evaluate_secrets",
    "evaluate_tool_allowlist",
    "evaluate_tool_use",
    "gate_verdict",
    "load_policy",
]


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only when a name is really used

    return getattr(import_module(f"interlock.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
