"""What it means for one policy to be less strict than another, said without the key table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec

from interlock.policy.config.action_sections import (
    DestructiveOps,
    ProtectedPaths,
    Secrets,
    Tools,
    UserRule,
)
from interlock.policy.config.document import Policy
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.config.run_sections import (
    Budgets,
    Evaluators,
    Loops,
    Reviews,
    Steps,
)
from interlock.policy.config.stop_section import Stops
from policy.files import KNOWN

_RANKS = {
    "off": 0,
    "observe": 1,
    "warn": 2,
    "allow-with-undo": 3,
    "require-confirmation": 4,
    "block": 5,
}
_SEVERITIES = ["low", "medium", "high", "critical"]
_PRESETS = ["observe", "balanced", "strict"]


def loosened_parts(below: Policy, above: Policy) -> set[str]:
    """Return the parts of a policy in which `above` is less strict than `below`."""
    return {
        *_modes(below, above),
        *_limits(below, above),
        *_tool_allowlist(below, above),
        *_tools(below.tools, above.tools),
        *_names(below, above),
        *_destructive_ops(below.destructive_ops, above.destructive_ops),
        *_secrets(below.secrets, above.secrets),
        *_diff_size(below, above),
        *_protected_paths(below.protected_paths, above.protected_paths),
        *_budgets(below.budgets, above.budgets),
        *_approvals(below, above),
        *_steps(below.steps, above.steps),
        *_loops(below.loops, above.loops),
        *_stops(below.stops, above.stops),
        *_reviews(below.reviews, above.reviews),
        *_edits(below, above),
        *_evaluators(below.evaluators, above.evaluators),
        *_loop(below.loop, above.loop),
        *_rules(below, above),
    }


def _modes(below: Policy, above: Policy) -> Iterator[str]:
    if _PRESETS.index(above.preset) < _PRESETS.index(below.preset):
        yield "preset"
    for name, before, after in (
        ("mode", below, above),
        ("steps.mode", below.steps, above.steps),
        ("stops.mode", below.stops, above.stops),
        ("reviews.mode", below.reviews, above.reviews),
    ):
        if before.mode == "enforce" and after.mode == "observe":
            yield name


def _limits(below: Policy, above: Policy) -> Iterator[str]:
    if above.limits.command_bytes > below.limits.command_bytes:
        yield "limits.command-bytes"
    if above.limits.content_bytes > below.limits.content_bytes:
        yield "limits.content-bytes"
    if above.limits.nesting > below.limits.nesting:
        yield "limits.nesting"


def _tool_allowlist(below: Policy, above: Policy) -> Iterator[str]:
    before, after = below.tool_allowlist, above.tool_allowlist
    if not {*before.deny} <= {*after.deny}:
        yield "tool-allowlist.deny"
    if before.enabled and not after.enabled:
        yield "tool-allowlist.enabled"
    if before.enabled and not {*after.allow} <= {*before.allow}:
        yield "tool-allowlist.allow"


def _tools(below: Tools, above: Tools) -> Iterator[str]:
    if not _carried(below) <= _carried(above):
        yield "tools.carriers"
    if any(above.schemas[tool] != schema for tool, schema in below.schemas.items()):
        yield "tools.schemas"
    if not {*above.idempotent} <= {*below.idempotent}:
        yield "tools.idempotent"


def _names(below: Policy, above: Policy) -> Iterator[str]:
    before, after = below.tool_names, above.tool_names
    for kind in ("runs", "queries", "writes", "files", "acts", "stores"):
        if not {*getattr(before, kind)} <= {*getattr(after, kind)}:
            yield f"tool-names.{kind}"
    for kind in ("reads", "trusted"):
        if not {*getattr(after, kind)} <= {*getattr(before, kind)}:
            yield f"tool-names.{kind}"
    if _RANKS[after.opaque] < _RANKS[before.opaque]:
        yield "tool-names.opaque"
    held, said = below.parameter_names, above.parameter_names
    for kind in ("command", "arguments", "code", "query", "path", "content", "patch"):
        if not {*getattr(held, kind)} <= {*getattr(said, kind)}:
            yield f"parameter-names.{kind}"
    if not {*said.data} <= {*held.data}:
        yield "parameter-names.data"


def _carried(tools: Tools) -> set[tuple[str, bytes]]:
    return {
        (tool, msgspec.json.encode(msgspec.structs.replace(carrier, tools=())))
        for carrier in tools.carriers
        for tool in carrier.tools
    }


def _destructive_ops(below: DestructiveOps, above: DestructiveOps) -> Iterator[str]:
    if not below.enabled:
        return
    if not above.enabled:
        yield "destructive-ops.enabled"
    if _RANKS[above.unresolved] < _RANKS[below.unresolved]:
        yield "destructive-ops.unresolved"
    loosening = {
        "scratch-folders": (above.scratch_folders, below.scratch_folders),
        "temp-folders": (above.temp_folders, below.temp_folders),
        "accepted-commands": (above.accepted_commands, below.accepted_commands),
    }
    for name, (more, fewer) in loosening.items():
        if not {*more} <= {*fewer}:
            yield f"destructive-ops.{name}"
    if not {*below.protected_branches} <= {*above.protected_branches}:
        yield "destructive-ops.protected-branches"
    if any(below.packs.get(pack, True) > above.packs.get(pack, True) for pack in KNOWN.packs):
        yield "destructive-ops.packs"
    for rule, own in KNOWN.commands.items():
        if _RANKS[above.rules.get(rule, own)] < _RANKS[below.rules.get(rule, own)]:
            yield "destructive-ops.rules"


def _secrets(below: Secrets, above: Secrets) -> Iterator[str]:
    if not below.enabled:
        return
    if not above.enabled:
        yield "secrets.enabled"
    if above.decision.rank < below.decision.rank:
        yield "secrets.decision"
    if not {*above.allow} <= {*below.allow}:
        yield "secrets.allow"
    if not {*below.patterns} <= {*above.patterns}:
        yield "secrets.patterns"
    if any(below.rules.get(rule, True) > above.rules.get(rule, True) for rule in KNOWN.secrets):
        yield "secrets.rules"


def _diff_size(below: Policy, above: Policy) -> Iterator[str]:
    before, after = below.diff_size, above.diff_size
    if not before.enabled:
        return
    if not after.enabled:
        yield "diff-size.enabled"
    if after.threshold > before.threshold:
        yield "diff-size.threshold"
    if after.decision.rank < before.decision.rank:
        yield "diff-size.decision"


def _protected_paths(below: ProtectedPaths, above: ProtectedPaths) -> Iterator[str]:
    if not below.enabled:
        return
    if not above.enabled:
        yield "protected-paths.enabled"
    after = {entry.path: entry.decision.rank for entry in above.entries}
    if any(after.get(entry.path, 0) < entry.decision.rank for entry in below.entries):
        yield "protected-paths.entries"


def _budgets(below: Budgets, above: Budgets) -> Iterator[str]:
    if above.lease_seconds < below.lease_seconds:
        yield "budgets.lease-seconds"
    if _RANKS[above.unpriced] < _RANKS[below.unpriced]:
        yield "budgets.unpriced"
    if _admits_more(below.run, above.run):
        yield "budgets.run"
    if _admits_more(below.tree, above.tree):
        yield "budgets.tree"
    if _admits_more(below.agent, above.agent):
        yield "budgets.agent"
    if _admits_more(below.project_day, above.project_day):
        yield "budgets.project-day"
    if above.prices != below.prices:
        yield "budgets.prices"


def _admits_more(below: Mapping[str, int], above: Mapping[str, int]) -> bool:
    return any(above.get(name, math.inf) > limit for name, limit in below.items())


def _approvals(below: Policy, above: Policy) -> Iterator[str]:
    if above.approvals.expires_seconds > below.approvals.expires_seconds:
        yield "approvals.expires-seconds"


def _steps(below: Steps, above: Steps) -> Iterator[str]:
    if above.max_consecutive > below.max_consecutive:
        yield "steps.max-consecutive"
    if below.max_total is not None and (above.max_total or math.inf) > below.max_total:
        yield "steps.max-total"
    if above.checkpoint_interval > below.checkpoint_interval:
        yield "steps.checkpoint-interval"
    if above.checkpoint_command != below.checkpoint_command:
        yield "steps.checkpoint-command"
    if above.cooldown_ms > below.cooldown_ms:
        yield "steps.cooldown-ms"
    yield from _steps_by_score(below, above)
    yield from _delays(below, above)


def _steps_by_score(below: Steps, above: Steps) -> Iterator[str]:
    if above.min_coherence_percent < below.min_coherence_percent:
        yield "steps.min-coherence-percent"
    if above.read_only_below_percent < below.read_only_below_percent:
        yield "steps.read-only-below-percent"
    if above.restricted_below_percent < below.restricted_below_percent:
        yield "steps.restricted-below-percent"
    if above.max_rework_percent > below.max_rework_percent:
        yield "steps.max-rework-percent"
    if above.max_uncertainty_percent > below.max_uncertainty_percent:
        yield "steps.max-uncertainty-percent"
    if above.max_slope_percent > below.max_slope_percent:
        yield "steps.max-slope-percent"


def _delays(below: Steps, above: Steps) -> Iterator[str]:
    if above.delay_ms < below.delay_ms:
        yield "steps.delay-ms"
    if above.max_delay_ms < below.max_delay_ms:
        yield "steps.max-delay-ms"


def _loops(below: Loops, above: Loops) -> Iterator[str]:
    if not {*below.volatile_arguments} <= {*above.volatile_arguments}:
        yield "loops.volatile-arguments"
    if not {*above.polling_tools} <= {*below.polling_tools}:
        yield "loops.polling-tools"
    if above.pause_repeats > below.pause_repeats:
        yield "loops.pause-repeats"
    if above.stop_repeats > below.stop_repeats:
        yield "loops.stop-repeats"
    if above.patience > below.patience:
        yield "loops.patience"
    if above.pause_score_percent > below.pause_score_percent:
        yield "loops.pause-score-percent"


def _stops(below: Stops, above: Stops) -> Iterator[str]:
    if (above.profile, above.models) != (below.profile, below.models):
        yield "stops.profile or stops.models"
    if above.auto_continue != below.auto_continue:
        yield "stops.auto-continue"
    if above.continue_at < below.continue_at:
        yield "stops.continue-at"
    if not {*above.continue_phrases} <= {*below.continue_phrases}:
        yield "stops.continue-phrases"
    for name in ("completion_phrases", "summary_phrases", "awaiting_phrases"):
        if not {*getattr(below, name)} <= {*getattr(above, name)}:
            yield f"stops.{name}"
    smaller = [name for name in Stops.__struct_fields__ if name.startswith("points_")]
    for name in ("credit", "warn_at", "max_retries", *smaller):
        if getattr(above, name) > getattr(below, name):
            yield f"stops.{name}"


def _reviews(below: Reviews, above: Reviews) -> Iterator[str]:
    if above.max_attempts > below.max_attempts:
        yield "reviews.max-attempts"
    if above.max_resets > below.max_resets:
        yield "reviews.max-resets"
    if above.most_hints > below.most_hints:
        yield "reviews.most-hints"
    if above.check_timeout_seconds > below.check_timeout_seconds:
        yield "reviews.check-timeout-seconds"
    if above.check_tail_bytes > below.check_tail_bytes:
        yield "reviews.check-tail-bytes"
    if not {*above.check_environment} <= {*below.check_environment}:
        yield "reviews.check-environment"
    if not {*below.completion} <= {*above.completion}:
        yield "reviews.completion"
    if not {*below.gates} <= {*above.gates}:
        yield "reviews.gates"


def _edits(below: Policy, above: Policy) -> Iterator[str]:
    if _RANKS[above.edits.fuzzy_matches] < _RANKS[below.edits.fuzzy_matches]:
        yield "edits.fuzzy-matches"
    if above.undo.limit_bytes > below.undo.limit_bytes:
        yield "undo.limit-bytes"


def _evaluators(below: Evaluators, above: Evaluators) -> Iterator[str]:
    if above.max_violations > below.max_violations:
        yield "evaluators.max-violations"
    if above.max_rework_percent > below.max_rework_percent:
        yield "evaluators.max-rework-percent"
    limit = below.max_changed_lines
    if limit is not None and (above.max_changed_lines or limit + 1) > limit:
        yield "evaluators.max-changed-lines"
    if not {*below.forbidden_commands} <= {*above.forbidden_commands}:
        yield "evaluators.forbidden-commands"
    if not {*below.forbidden_dependencies} <= {*above.forbidden_dependencies}:
        yield "evaluators.forbidden-dependencies"


_MODES = {"enforce": 0, "shadow": 1, "off": 2}
_FREEDOM = {"allow": 0, "require-confirmation": 1, "off": 2}
_ACTIONS = ("start_loop", "process_notes", "apply_retro_recommendation", "emit_alert")
_DECIDED_BY = ("decider", "model", "base_url", "api_key_variable")
_AT_MOST = (
    "max_depth",
    "source_timeout_seconds",
    "stale_minutes",
    "day_cost_micro_usd",
    "cycle_cost_micro_usd",
    "model_timeout_seconds",
    "max_output_tokens",
    *[f"{action}_per_hour" for action in _ACTIONS],
)


def _loop(below: SystemLoop, above: SystemLoop) -> Iterator[str]:
    if _MODES[above.mode] < _MODES[below.mode]:
        yield "loop.mode"
    for action in _ACTIONS:
        if _FREEDOM[getattr(above, action)] < _FREEDOM[getattr(below, action)]:
            yield f"loop.{action}"
    for name in _AT_MOST:
        if getattr(above, name) > getattr(below, name):
            yield f"loop.{name}"
    for name in ("heartbeat_minutes", "debounce_seconds"):
        if getattr(above, name) < getattr(below, name):
            yield f"loop.{name}"
    if not {*above.events} <= {*below.events}:
        yield "loop.events"
    yield from _loop_by_user(below, above)


def _loop_by_user(below: SystemLoop, above: SystemLoop) -> Iterator[str]:
    for name in _DECIDED_BY:
        if getattr(above, name) != getattr(below, name):
            yield f"loop.{name}"
    if _admits_more(below.job_budget, above.job_budget):
        yield "loop.job-budget"
    for name in ("jobs", "sinks"):
        if {*getattr(above, name)} != {*getattr(below, name)}:
            yield f"loop.{name}"


def _rules(below: Policy, above: Policy) -> Iterator[str]:
    after = {rule.id: rule for rule in above.rules}
    if any(rule.id not in after or _is_milder(after[rule.id], rule) for rule in below.rules):
        yield "rules"


def _is_milder(rule: UserRule, than: UserRule) -> bool:
    if (rule.when, rule.message, rule.remediation) != (than.when, than.message, than.remediation):
        return True
    return (
        (than.mode == "enforce" and rule.mode == "observe")
        or _RANKS[rule.on_match or rule.decision] < _RANKS[than.on_match or than.decision]
        or _SEVERITIES.index(rule.severity) < _SEVERITIES.index(than.severity)
    )
