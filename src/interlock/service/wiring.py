"""The composition root: files → policy → gates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from interlock.commands.programs.places import Places
from interlock.errors import PolicyError
from interlock.policy.actions.conditions import compile_condition, complaint_about
from interlock.policy.actions.parameters import ToolSchema
from interlock.policy.actions.path_guard import PathGuard
from interlock.policy.actions.rulebook import Rulebook
from interlock.policy.config.compiled import CompiledPolicy
from interlock.policy.config.document import DestructiveOps
from interlock.policy.config.layer import Source
from interlock.policy.config.layering import MergedPolicy, merge
from interlock.policy.config.shapes import ALLOW_WITH_UNDO
from interlock.policy.reviews.from_policy import review_gates, review_settings
from interlock.policy.steps.from_policy import progress_settings, step_settings
from interlock.policy.stops.from_policy import stop_settings
from interlock.secrets.scanner import SecretScanner
from interlock.service.builtin_rules import (
    command_packs,
    known_rules,
    place_lists,
    programs,
    secret_rules,
)
from interlock.service.rule_tests import failing_examples

_CONFIG = Path(__file__).parent.parent / "policy" / "config"


def load_gates(*, user: Path | None = None, project: Path | None = None) -> CompiledPolicy:
    """Read the policy's layers and make them ready; raise PolicyError with every complaint."""
    gates = gates_of(load_policy(user=user, project=project))
    complaints = failing_examples(gates)
    if complaints:
        raise PolicyError(complaints)
    return gates


@cache
def default_gates() -> CompiledPolicy:
    """Return the gates of the built-in policy."""
    return gates_of(load_policy())


def load_policy(*, user: Path | None = None, project: Path | None = None) -> MergedPolicy:
    """Read and merge the policy's layers."""
    return merge(
        Source("defaults.toml", (_CONFIG / "defaults.toml").read_text("utf-8")),
        _source(user),
        _source(project),
        known=known_rules(),
        compile_condition=complaint_about,
    )


def gates_of(merged: MergedPolicy) -> CompiledPolicy:
    """Make a merged policy ready to judge."""
    policy = merged.policy
    ops = policy.destructive_ops
    packs = [pack for pack in command_packs() if ops.packs.get(pack.id, True)]
    off = rules_answered(ops, "off")
    undoable = rules_answered(ops, ALLOW_WITH_UNDO)
    return CompiledPolicy(
        policy=policy,
        policy_hash=merged.hash,
        merged=merged,
        programs=programs(),
        places=Places(place_lists(), scratch=ops.scratch_folders, temp=ops.temp_folders),
        rulebook=Rulebook(packs, branches=ops.protected_branches, off=off, undoable=undoable),
        scanner=SecretScanner(
            secret_rules(),
            allow=policy.secrets.allow,
            off=frozenset(name for name, on in policy.secrets.rules.items() if not on),
        ),
        guard=PathGuard(policy.protected_paths),
        schemas={tool: ToolSchema(schema) for tool, schema in policy.tools.schemas.items()},
        user_rules=tuple((rule, compile_condition(rule.when)) for rule in policy.rules),
        steps=step_settings(policy.steps),
        progress=progress_settings(policy.loops),
        stops=stop_settings(policy.stops),
        credit=policy.stops.credit,
        checkpoint_command=policy.steps.checkpoint_command,
        reviews=review_settings(policy.reviews),
        review_gates=review_gates(policy.reviews),
        completion=policy.reviews.completion,
        check_environment=policy.reviews.check_environment,
        fuzzy_edits=policy.edits.fuzzy_matches,
        undo_limit_bytes=policy.undo.limit_bytes,
    )


def rules_answered(ops: DestructiveOps, answer: str) -> frozenset[str]:
    """Return the built-in rules that a policy gives this answer to."""
    return frozenset(rule for rule, given in ops.rules.items() if given == answer)


def _source(path: Path | None) -> Source | None:
    if path is None:
        return None
    try:
        return Source(str(path), path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError([f"{path}: cannot be read: {error}"]) from error
