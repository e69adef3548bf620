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
        HaltedError,
        InputError,
        InterlockError,
        KeyConflictError,
        LedgerError,
        NotPermittedError,
        PolicyError,
        UnavailableError,
        UnfinishedError,
        UnknownError,
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
    from interlock.model.operator import NewOperator, Operator, Token
    from interlock.model.principal import Principal, PrincipalKind, Scope
    from interlock.model.question_fields import ReviewFields, RunFields, Seen, VerdictFields
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
    from interlock.model.step_loop import AsyncStepLoop, GovernedStep, StepLoop
    from interlock.model.step_statistics import StepStatistics
    from interlock.model.stop import SignalScore, StopDecision, StopOutcome, StopVeto
    from interlock.model.turn_report import StepFields, StopFields
    from interlock.model.verdict import Decision, Finding, Severity, Verdict, aggregate
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
    from interlock.service.records.runs import RunLedger
    from interlock.service.unrecorded_gate import ContinueGate

_HOMES = {
    "errors": (
        "DamagedError DecidedError EditError HaltedError InputError InterlockError"
        " KeyConflictError LedgerError NotPermittedError PolicyError UnavailableError"
        " UnfinishedError UnknownError"
    ),
    "model.action": "Action CommandAction EditAction ToolAction",
    "model.answers": "Answer EditAnswer ReviewAnswer ReviewOpening StepAnswer StopAnswer",
    "model.approval": "Approval ApprovalState",
    "model.arbitration": "Authority Course Ruling",
    "model.budget": "Alert Budget TokenUsage",
    "model.edit": "Applied AppliedFile EditPlan EditSet Encoding FileEdit FilePlan PlannedChange",
    "model.events": "UndoKind Undone",
    "model.facts": "Layer",
    "model.operator": "NewOperator Operator Token",
    "model.principal": "Principal PrincipalKind Scope",
    "model.review": (
        "Check CheckResult EntryKind Evaluation FaultKind GateAction GateCoverage GateFault"
        " GateVerdict LintCounts Overall PendingGateReview Report ReviewDecision ReviewEntry"
        " ReviewGate ReviewMode ReviewOutcome ReviewVerdict TestCounts Unreadable Witness"
    ),
    "model.question_fields": "ReviewFields RunFields Seen VerdictFields",
    "model.run": "RunState",
    "model.step": (
        "Belief Checkpoint CheckpointKind ContinueDecision Evidence Remaining Sign StepContext"
        " StepDecision StepMetrics StepReason"
    ),
    "model.step_loop": "AsyncStepLoop GovernedStep StepLoop",
    "model.step_statistics": "StepStatistics",
    "model.stop": "SignalScore StopDecision StopOutcome StopVeto",
    "model.turn_report": "StepFields StopFields",
    "model.verdict": "Decision Finding Severity Verdict aggregate",
    "policy.actions.compiled_policy": "CompiledPolicy",
    "service.aio": "AsyncInterlock AsyncRun",
    "service.gateway": (
        "evaluate_command evaluate_destructive_ops evaluate_diff_size evaluate_edit"
        " evaluate_secrets evaluate_tool_allowlist evaluate_tool_use gate_verdict"
    ),
    "service.interlock": "Interlock Run",
    "service.policies.policy_files": "load_policy",
    "service.records.runs": "RunLedger",
    "service.unrecorded_gate": "ContinueGate",
}
"""The public names, by the module that they are loaded from."""

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
    "AsyncStepLoop",
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
    "GovernedStep",
    "HaltedError",
    "InputError",
    "Interlock",
    "InterlockError",
    "KeyConflictError",
    "Layer",
    "LedgerError",
    "LintCounts",
    "NewOperator",
    "NotPermittedError",
    "Operator",
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
    "Scope",
    "Seen",
    "Severity",
    "Sign",
    "SignalScore",
    "StepAnswer",
    "StepContext",
    "StepDecision",
    "StepFields",
    "StepLoop",
    "StepMetrics",
    "StepReason",
    "StepStatistics",
    "StopAnswer",
    "StopDecision",
    "StopFields",
    "StopOutcome",
    "StopVeto",
    "TestCounts",
    "Token",
    "TokenUsage",
    "ToolAction",
    "UnavailableError",
    "UndoKind",
    "Undone",
    "UnfinishedError",
    "UnknownError",
    "Unreadable",
    "Verdict",
    "VerdictFields",
    "Witness",
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
    for home, names in _HOMES.items():
        if name in names.split():
            from importlib import import_module  # noqa: PLC0415 - only when a name is really used

            return getattr(import_module(f"interlock.{home}"), name)
    raise AttributeError(f"module 'interlock' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
