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
    from interlock.errors import (
        DamagedError,
        DecidedError,
        InputError,
        InterlockError,
        KeyConflictError,
        LedgerError,
        NotPermittedError,
        PolicyError,
        UnavailableError,
    )
    from interlock.model.action import Action, CommandAction, EditAction, ToolAction
    from interlock.model.answer import Answer, StepAnswer, StopAnswer
    from interlock.model.approval import Approval, ApprovalState
    from interlock.model.belief import Belief, Evidence
    from interlock.model.budget import Alert
    from interlock.model.checkpoint import Checkpoint, CheckpointKind
    from interlock.model.report import Evaluation, Report, TestCounts
    from interlock.model.ruling import Authority, Course, Ruling
    from interlock.model.run import RunState
    from interlock.model.step import (
        ContinueDecision,
        Remaining,
        Sign,
        StepContext,
        StepDecision,
        StepMetrics,
        StepReason,
    )
    from interlock.model.stop import SignalScore, StopDecision, StopOutcome, StopVeto
    from interlock.model.usage import Budget, TokenUsage
    from interlock.model.verdict import Decision, Finding, Severity, Verdict, aggregate
    from interlock.policy.actions.decide import Gates
    from interlock.service.aio import AsyncInterlock, AsyncRun
    from interlock.service.gateway import evaluate_command, evaluate_edit, evaluate_tool_use
    from interlock.service.interlock import Interlock, Run
    from interlock.service.operations import RunFields, Seen
    from interlock.service.turns import StepFields, StopFields
    from interlock.service.wiring import load_gates

_HOMES = {
    "Action": "model.action",
    "Alert": "model.budget",
    "Answer": "model.answer",
    "Approval": "model.approval",
    "ApprovalState": "model.approval",
    "AsyncInterlock": "service.aio",
    "AsyncRun": "service.aio",
    "Authority": "model.ruling",
    "Belief": "model.belief",
    "Budget": "model.usage",
    "Checkpoint": "model.checkpoint",
    "CheckpointKind": "model.checkpoint",
    "CommandAction": "model.action",
    "ContinueDecision": "model.step",
    "Course": "model.ruling",
    "DamagedError": "errors",
    "DecidedError": "errors",
    "Decision": "model.verdict",
    "EditAction": "model.action",
    "Evaluation": "model.report",
    "Evidence": "model.belief",
    "Finding": "model.verdict",
    "Gates": "policy.actions.decide",
    "InputError": "errors",
    "Interlock": "service.interlock",
    "InterlockError": "errors",
    "KeyConflictError": "errors",
    "LedgerError": "errors",
    "NotPermittedError": "errors",
    "PolicyError": "errors",
    "Remaining": "model.step",
    "Report": "model.report",
    "Ruling": "model.ruling",
    "Run": "service.interlock",
    "RunFields": "service.operations",
    "RunState": "model.run",
    "Seen": "service.operations",
    "Severity": "model.verdict",
    "Sign": "model.step",
    "SignalScore": "model.stop",
    "StepAnswer": "model.answer",
    "StepContext": "model.step",
    "StepDecision": "model.step",
    "StepFields": "service.turns",
    "StepMetrics": "model.step",
    "StepReason": "model.step",
    "StopAnswer": "model.answer",
    "StopDecision": "model.stop",
    "StopFields": "service.turns",
    "StopOutcome": "model.stop",
    "StopVeto": "model.stop",
    "TestCounts": "model.report",
    "TokenUsage": "model.usage",
    "ToolAction": "model.action",
    "UnavailableError": "errors",
    "Verdict": "model.verdict",
    "aggregate": "model.verdict",
    "evaluate_command": "service.gateway",
    "evaluate_edit": "service.gateway",
    "evaluate_tool_use": "service.gateway",
    "load_gates": "service.wiring",
}

__all__ = [
    "Action",
    "Alert",
    "Answer",
    "Approval",
    "ApprovalState",
    "AsyncInterlock",
    "AsyncRun",
    "Authority",
    "Belief",
    "Budget",
    "Checkpoint",
    "CheckpointKind",
    "CommandAction",
    "ContinueDecision",
    "Course",
    "DamagedError",
    "DecidedError",
    "Decision",
    "EditAction",
    "Evaluation",
    "Evidence",
    "Finding",
    "Gates",
    "InputError",
    "Interlock",
    "InterlockError",
    "KeyConflictError",
    "LedgerError",
    "NotPermittedError",
    "PolicyError",
    "Remaining",
    "Report",
    "Ruling",
    "Run",
    "RunFields",
    "RunState",
    "Seen",
    "Severity",
    "Sign",
    "SignalScore",
    "StepAnswer",
    "StepContext",
    "StepDecision",
    "StepFields",
    "StepMetrics",
    "StepReason",
    "StopAnswer",
    "StopDecision",
    "StopFields",
    "StopOutcome",
    "StopVeto",
    "TestCounts",
    "TokenUsage",
    "ToolAction",
    "UnavailableError",
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
