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
        EditError,
        InputError,
        InterlockError,
        KeyConflictError,
        LedgerError,
        NotPermittedError,
        PolicyError,
        UnavailableError,
        UnfinishedError,
    )
    from interlock.model.action import Action, CommandAction, EditAction, ToolAction
    from interlock.model.answers import (
        Answer,
        EditAnswer,
        ReviewAnswer,
        ReviewOpening,
        StepAnswer,
        StopAnswer,
    )
    from interlock.model.approval import Approval, ApprovalState
    from interlock.model.arbitration import Authority, Course, Ruling
    from interlock.model.budget import Alert, Budget, TokenUsage
    from interlock.model.edit import (
        Applied,
        AppliedFile,
        EditPlan,
        EditSet,
        Encoding,
        FileEdit,
        FilePlan,
        PlannedChange,
    )
    from interlock.model.events import UndoKind, Undone
    from interlock.model.facts import Layer
    from interlock.model.principal import Principal, PrincipalKind
    from interlock.model.review import (
        Check,
        CheckResult,
        EntryKind,
        Evaluation,
        FaultKind,
        GateAction,
        GateCoverage,
        GateFault,
        GateVerdict,
        LintCounts,
        Overall,
        PendingGateReview,
        Report,
        ReviewDecision,
        ReviewEntry,
        ReviewGate,
        ReviewMode,
        ReviewOutcome,
        ReviewVerdict,
        TestCounts,
        Unreadable,
        Witness,
    )
    from interlock.model.run import RunState
    from interlock.model.step import (
        Belief,
        Checkpoint,
        CheckpointKind,
        ContinueDecision,
        Evidence,
        Remaining,
        Sign,
        StepContext,
        StepDecision,
        StepMetrics,
        StepReason,
    )
    from interlock.model.stop import SignalScore, StopDecision, StopOutcome, StopVeto
    from interlock.model.verdict import Decision, Finding, Severity, Verdict, aggregate
    from interlock.policy.actions.compiled_policy import CompiledPolicy
    from interlock.policy.steps.continue_gate import ContinueGate
    from interlock.service.aio import AsyncInterlock, AsyncRun
    from interlock.service.gateway import (
        evaluate_command,
        evaluate_edit,
        evaluate_tool_use,
        gate_verdict,
    )
    from interlock.service.interlock import Interlock, Run
    from interlock.service.policies.policy_files import load_policy
    from interlock.service.questions.step_question import StepFields
    from interlock.service.questions.stop_question import StopFields
    from interlock.service.questions.verdict_question import VerdictFields
    from interlock.service.records.observations import Seen
    from interlock.service.records.reviews import ReviewFields
    from interlock.service.records.runs import RunFields, RunLedger

_HOMES = {
    "Action": "model.action",
    "Alert": "model.budget",
    "Answer": "model.answers",
    "Applied": "model.edit",
    "AppliedFile": "model.edit",
    "Approval": "model.approval",
    "ApprovalState": "model.approval",
    "AsyncInterlock": "service.aio",
    "AsyncRun": "service.aio",
    "Authority": "model.arbitration",
    "Belief": "model.step",
    "Budget": "model.budget",
    "Check": "model.review",
    "CheckResult": "model.review",
    "Checkpoint": "model.step",
    "CheckpointKind": "model.step",
    "CommandAction": "model.action",
    "CompiledPolicy": "policy.actions.compiled_policy",
    "ContinueDecision": "model.step",
    "ContinueGate": "policy.steps.continue_gate",
    "Course": "model.arbitration",
    "DamagedError": "errors",
    "DecidedError": "errors",
    "Decision": "model.verdict",
    "EditAction": "model.action",
    "EditAnswer": "model.answers",
    "EditError": "errors",
    "EditPlan": "model.edit",
    "EditSet": "model.edit",
    "Encoding": "model.edit",
    "EntryKind": "model.review",
    "Evaluation": "model.review",
    "Evidence": "model.step",
    "FaultKind": "model.review",
    "FileEdit": "model.edit",
    "FilePlan": "model.edit",
    "Finding": "model.verdict",
    "GateAction": "model.review",
    "GateCoverage": "model.review",
    "GateFault": "model.review",
    "GateVerdict": "model.review",
    "InputError": "errors",
    "Interlock": "service.interlock",
    "InterlockError": "errors",
    "KeyConflictError": "errors",
    "Layer": "model.facts",
    "LedgerError": "errors",
    "LintCounts": "model.review",
    "NotPermittedError": "errors",
    "Overall": "model.review",
    "PendingGateReview": "model.review",
    "PlannedChange": "model.edit",
    "PolicyError": "errors",
    "Principal": "model.principal",
    "PrincipalKind": "model.principal",
    "Remaining": "model.step",
    "Report": "model.review",
    "ReviewAnswer": "model.answers",
    "ReviewDecision": "model.review",
    "ReviewEntry": "model.review",
    "ReviewFields": "service.records.reviews",
    "ReviewGate": "model.review",
    "ReviewMode": "model.review",
    "ReviewOpening": "model.answers",
    "ReviewOutcome": "model.review",
    "ReviewVerdict": "model.review",
    "Ruling": "model.arbitration",
    "Run": "service.interlock",
    "RunFields": "service.records.runs",
    "RunLedger": "service.records.runs",
    "RunState": "model.run",
    "Seen": "service.records.observations",
    "Severity": "model.verdict",
    "Sign": "model.step",
    "SignalScore": "model.stop",
    "StepAnswer": "model.answers",
    "StepContext": "model.step",
    "StepDecision": "model.step",
    "StepFields": "service.questions.step_question",
    "StepMetrics": "model.step",
    "StepReason": "model.step",
    "StopAnswer": "model.answers",
    "StopDecision": "model.stop",
    "StopFields": "service.questions.stop_question",
    "StopOutcome": "model.stop",
    "StopVeto": "model.stop",
    "TestCounts": "model.review",
    "TokenUsage": "model.budget",
    "ToolAction": "model.action",
    "UnavailableError": "errors",
    "UndoKind": "model.events",
    "Undone": "model.events",
    "UnfinishedError": "errors",
    "Unreadable": "model.review",
    "Verdict": "model.verdict",
    "VerdictFields": "service.questions.verdict_question",
    "Witness": "model.review",
    "aggregate": "model.verdict",
    "evaluate_command": "service.gateway",
    "evaluate_edit": "service.gateway",
    "evaluate_tool_use": "service.gateway",
    "gate_verdict": "service.gateway",
    "load_policy": "service.policies.policy_files",
}

__all__ = [
    "Action",
    "Alert",
    "Answer",
    "Applied",
    "AppliedFile",
    "Approval",
    "ApprovalState",
    "AsyncInterlock",
    "AsyncRun",
    "Authority",
    "Belief",
    "Budget",
    "Check",
    "CheckResult",
    "Checkpoint",
    "CheckpointKind",
    "CommandAction",
    "CompiledPolicy",
    "ContinueDecision",
    "ContinueGate",
    "Course",
    "DamagedError",
    "DecidedError",
    "Decision",
    "EditAction",
    "EditAnswer",
    "EditError",
    "EditPlan",
    "EditSet",
    "Encoding",
    "EntryKind",
    "Evaluation",
    "Evidence",
    "FaultKind",
    "FileEdit",
    "FilePlan",
    "Finding",
    "GateAction",
    "GateCoverage",
    "GateFault",
    "GateVerdict",
    "InputError",
    "Interlock",
    "InterlockError",
    "KeyConflictError",
    "Layer",
    "LedgerError",
    "LintCounts",
    "NotPermittedError",
    "Overall",
    "PendingGateReview",
    "PlannedChange",
    "PolicyError",
    "Principal",
    "PrincipalKind",
    "Remaining",
    "Report",
    "ReviewAnswer",
    "ReviewDecision",
    "ReviewEntry",
    "ReviewFields",
    "ReviewGate",
    "ReviewMode",
    "ReviewOpening",
    "ReviewOutcome",
    "ReviewVerdict",
    "Ruling",
    "Run",
    "RunFields",
    "RunLedger",
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
    "UndoKind",
    "Undone",
    "UnfinishedError",
    "Unreadable",
    "Verdict",
    "VerdictFields",
    "Witness",
    "aggregate",
    "evaluate_command",
    "evaluate_edit",
    "evaluate_tool_use",
    "gate_verdict",
    "load_policy",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only when a name is really used

    return getattr(import_module(f"interlock.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
