"""Interlock: the control plane for AI agents that work unattended.

    >>> from interlock import evaluate_command
    >>> evaluate_command("git push --force").decision.value
    'require-confirmation'

Names are loaded when they are first used, so that `import interlock` costs nothing.
"""

from __future__ import annotations


if TYPE_CHECKING:
    from interlock.errors import DamagedError
    from interlock.errors import DecidedError
    from interlock.errors import EditError
    from interlock.errors import InputError
    from interlock.errors import InterlockError
    from interlock.errors import KeyConflictError
    from interlock.errors import LedgerError
    from interlock.errors import NotPermittedError
    from interlock.errors import PolicyError
    from interlock.errors import UnavailableError
    from interlock.errors import UnfinishedError
    from interlock.model.action import Action
    from interlock.model.action import CommandAction
    from interlock.model.action import EditAction
    from interlock.model.action import ToolAction
    from interlock.model.answers import Answer
    from interlock.model.answers import EditAnswer
    from interlock.model.answers import ReviewAnswer
    from interlock.model.answers import ReviewOpening
    from interlock.model.answers import StepAnswer
    from interlock.model.answers import StopAnswer
    from interlock.model.approval import Approval
    from interlock.model.approval import ApprovalState
    from interlock.model.belief import Belief
    from interlock.model.belief import Evidence
    from interlock.model.budget import Alert
    from interlock.model.budget import Budget
    from interlock.model.budget import TokenUsage
    from interlock.model.checkpoint import Checkpoint
    from interlock.model.checkpoint import CheckpointKind
    from interlock.model.edit import Applied
    from interlock.model.edit import AppliedFile
    from interlock.model.edit import EditPlan
    from interlock.model.edit import EditSet
    from interlock.model.edit import Encoding
    from interlock.model.edit import FileEdit
    from interlock.model.edit import FilePlan
    from interlock.model.edit import Layer
    from interlock.model.edit import PlannedChange
    from interlock.model.events import UndoKind
    from interlock.model.events import Undone
    from interlock.model.report import Evaluation
    from interlock.model.report import Report
    from interlock.model.report import TestCounts
    from interlock.model.review import Check
    from interlock.model.review import CheckResult
    from interlock.model.review import EntryKind
    from interlock.model.review import FaultKind
    from interlock.model.review import GateAction
    from interlock.model.review import GateCoverage
    from interlock.model.review import GateFault
    from interlock.model.review import GateVerdict
    from interlock.model.review import LintCounts
    from interlock.model.review import Overall
    from interlock.model.review import PendingGateReview
    from interlock.model.review import ReviewDecision
    from interlock.model.review import ReviewEntry
    from interlock.model.review import ReviewGate
    from interlock.model.review import ReviewMode
    from interlock.model.review import ReviewOutcome
    from interlock.model.review import ReviewVerdict
    from interlock.model.review import Witness
    from interlock.model.ruling import Authority
    from interlock.model.ruling import Course
    from interlock.model.ruling import Ruling
    from interlock.model.run import RunState
    from interlock.model.step import ContinueDecision
    from interlock.model.step import Remaining
    from interlock.model.step import Sign
    from interlock.model.step import StepContext
    from interlock.model.step import StepDecision
    from interlock.model.step import StepMetrics
    from interlock.model.step import StepReason
    from interlock.model.stop import SignalScore
    from interlock.model.stop import StopDecision
    from interlock.model.stop import StopOutcome
    from interlock.model.stop import StopVeto
    from interlock.model.verdict import Decision
    from interlock.model.verdict import Finding
    from interlock.model.verdict import Severity
    from interlock.model.verdict import Verdict
    from interlock.model.verdict import aggregate
    from interlock.policy.actions.compiled_policy import CompiledPolicy
    from interlock.service.aio import AsyncInterlock
    from interlock.service.aio import AsyncRun
    from interlock.service.gateway import evaluate_command
    from interlock.service.gateway import evaluate_edit
    from interlock.service.gateway import evaluate_tool_use
    from interlock.service.interlock import Interlock
    from interlock.service.interlock import Run
    from interlock.service.operations import ReviewFields
    from interlock.service.operations import RunFields
    from interlock.service.operations import Seen
    from interlock.service.operations import VerdictFields
    from interlock.service.policy_files import load_policy
    from interlock.service.turns import StepFields
    from interlock.service.turns import StopFields
    from interlock.policy.config.compiled import CompiledPolicy


# Spares the import of `typing`, which takes longer than starting Python does.
TYPE_CHECKING = False



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
    "Authority": "model.ruling",
    "Belief": "model.belief",
    "Budget": "model.budget",
    "Check": "model.review",
    "CheckResult": "model.review",
    "Checkpoint": "model.checkpoint",
    "CheckpointKind": "model.checkpoint",
    "CommandAction": "model.action",
    "ContinueDecision": "model.step",
    "Course": "model.ruling",
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
    "Evaluation": "model.report",
    "Evidence": "model.belief",
    "FaultKind": "model.review",
    "FileEdit": "model.edit",
    "FilePlan": "model.edit",
    "Finding": "model.verdict",
    "GateAction": "model.review",
    "GateCoverage": "model.review",
    "GateFault": "model.review",
    "GateVerdict": "model.review",
    "CompiledPolicy": "policy.actions.compiled_policy",
    "InputError": "errors",
    "Interlock": "service.interlock",
    "InterlockError": "errors",
    "KeyConflictError": "errors",
    "Layer": "model.edit",
    "LedgerError": "errors",
    "LintCounts": "model.review",
    "NotPermittedError": "errors",
    "Overall": "model.review",
    "PendingGateReview": "model.review",
    "PlannedChange": "model.edit",
    "PolicyError": "errors",
    "Remaining": "model.step",
    "Report": "model.report",
    "ReviewAnswer": "model.answers",
    "ReviewDecision": "model.review",
    "ReviewEntry": "model.review",
    "ReviewFields": "service.operations",
    "ReviewGate": "model.review",
    "ReviewMode": "model.review",
    "ReviewOpening": "model.answers",
    "ReviewOutcome": "model.review",
    "ReviewVerdict": "model.review",
    "Ruling": "model.ruling",
    "Run": "service.interlock",
    "RunFields": "service.operations",
    "RunState": "model.run",
    "Seen": "service.operations",
    "Severity": "model.verdict",
    "Sign": "model.step",
    "SignalScore": "model.stop",
    "StepAnswer": "model.answers",
    "StepContext": "model.step",
    "StepDecision": "model.step",
    "StepFields": "service.turns",
    "StepMetrics": "model.step",
    "StepReason": "model.step",
    "StopAnswer": "model.answers",
    "StopDecision": "model.stop",
    "StopFields": "service.turns",
    "StopOutcome": "model.stop",
    "StopVeto": "model.stop",
    "TestCounts": "model.report",
    "TokenUsage": "model.budget",
    "ToolAction": "model.action",
    "UnavailableError": "errors",
    "UndoKind": "model.events",
    "Undone": "model.events",
    "UnfinishedError": "errors",
    "Verdict": "model.verdict",
    "VerdictFields": "service.operations",
    "Witness": "model.review",
    "aggregate": "model.verdict",
    "evaluate_command": "service.gateway",
    "evaluate_edit": "service.gateway",
    "evaluate_tool_use": "service.gateway",
    "load_policy": "service.policy_files",
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
    "Verdict",
    "VerdictFields",
    "Witness",
    "aggregate",
    "evaluate_command",
    "evaluate_edit",
    "evaluate_tool_use",
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
