"""The types that answers contain and calls accept, for annotations and comparisons.

    from interlock.values import StepReason, StopVeto

Importing them is optional: calls also accept a dict or a str, and every enum member equals its
str value.
"""

from __future__ import annotations

from interlock.model.access import NewOperator, Operator, Token
from interlock.model.action import Action
from interlock.model.answers import ReviewOpening
from interlock.model.approval import ApprovalState
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.budget import Alert
from interlock.model.edit import (
    Applied,
    AppliedFile,
    EditPlan,
    EditSet,
    Encoding,
    FilePlan,
    PlannedChange,
)
from interlock.model.events import UndoKind, Undone
from interlock.model.facts import Layer
from interlock.model.principal import PrincipalKind, Scope
from interlock.model.question_fields import ReviewFields, RunFields, Seen, VerdictFields
from interlock.model.review import (
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
    ReviewMode,
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
    StepMetrics,
    StepReason,
)
from interlock.model.step_loop import AsyncStepLoop, GovernedStep, StepLoop
from interlock.model.step_statistics import StepStatistics
from interlock.model.stop import SignalScore, StopDecision, StopOutcome, StopVeto
from interlock.model.turn_report import StepFields, StopFields
from interlock.model.verdict import Severity
from interlock.service.records.runs import RunLedger

__all__ = [
    "Action",
    "Alert",
    "Applied",
    "AppliedFile",
    "ApprovalState",
    "AsyncStepLoop",
    "Authority",
    "Belief",
    "CheckResult",
    "Checkpoint",
    "CheckpointKind",
    "ContinueDecision",
    "Course",
    "EditPlan",
    "EditSet",
    "Encoding",
    "EntryKind",
    "Evaluation",
    "Evidence",
    "FaultKind",
    "FilePlan",
    "GateAction",
    "GateCoverage",
    "GateFault",
    "GateVerdict",
    "GovernedStep",
    "Layer",
    "LintCounts",
    "NewOperator",
    "Operator",
    "Overall",
    "PendingGateReview",
    "PlannedChange",
    "PrincipalKind",
    "Remaining",
    "Report",
    "ReviewDecision",
    "ReviewEntry",
    "ReviewFields",
    "ReviewMode",
    "ReviewOpening",
    "ReviewVerdict",
    "Ruling",
    "RunFields",
    "RunLedger",
    "RunState",
    "Scope",
    "Seen",
    "Severity",
    "Sign",
    "SignalScore",
    "StepFields",
    "StepLoop",
    "StepMetrics",
    "StepReason",
    "StepStatistics",
    "StopDecision",
    "StopFields",
    "StopOutcome",
    "StopVeto",
    "TestCounts",
    "Token",
    "UndoKind",
    "Undone",
    "Unreadable",
    "VerdictFields",
    "Witness",
]
