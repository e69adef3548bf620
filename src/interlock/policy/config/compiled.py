"""A policy made ready to judge: what the file says, and everything that is built from it once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interlock.commands.programs.places import Places
from interlock.commands.programs.program_tables import Programs
from interlock.model.review import ReviewGate
from interlock.policy.actions.conditions import Condition
from interlock.policy.actions.parameters import ToolSchema
from interlock.policy.actions.path_guard import PathGuard
from interlock.policy.actions.rulebook import Rulebook
from interlock.policy.config.action_sections import UserRule
from interlock.policy.config.document import Policy
from interlock.policy.config.merge import MergedPolicy
from interlock.policy.reviews.settings import ReviewSettings
from interlock.policy.steps.progress_settings import ProgressSettings
from interlock.policy.steps.settings import StepSettings
from interlock.policy.stops.settings import StopSettings
from interlock.secrets.scanner import SecretScanner


class CompiledPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy made ready to judge."""

    config: Policy
    hash: str
    merged: MergedPolicy
    programs: Programs
    places: Places
    rulebook: Rulebook
    scanner: SecretScanner
    guard: PathGuard
    schemas: Mapping[str, ToolSchema]
    user_rules: tuple[tuple[UserRule, Condition], ...]
    steps: StepSettings
    progress: ProgressSettings
    stops: StopSettings
    credit: int
    """How often a run may be told to go on before something verifiable comes of it."""
    checkpoint_command: str
    """`git`, `none`, or a command line for no shell."""
    reviews: ReviewSettings
    review_gates: Mapping[str, ReviewGate]
    """By their ids."""
    completion: tuple[str, ...]
    """The ids of the gates whose checks must pass before a run may finish."""
    check_environment: tuple[str, ...]
    """The variables that a check may see: names, or globs where a `*` is written."""
    fuzzy_edits: str
    """The answer to an edit whose text was found only by likeness: `off` or a decision."""
    undo_limit_bytes: int
    """How much may be copied away before an action that can be put back."""
