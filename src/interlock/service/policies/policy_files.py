"""The composition root: files → policy → gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final

import msgspec

from interlock import settings
from interlock.commands.programs.places import Places
from interlock.descriptors import content_of
from interlock.errors import PolicyError
from interlock.model.entrance import FilePath, PathLike, entrance
from interlock.policy.actions.calls.payload import carriers_of
from interlock.policy.actions.calls.tool_vocabulary import Vocabulary
from interlock.policy.actions.compiled_policy import CompiledPolicy, PathGuard
from interlock.policy.actions.conditions import compile_condition, complaint_about
from interlock.policy.actions.parameters import tool_schema
from interlock.policy.actions.rulebook import Rulebook
from interlock.policy.config.action_sections import (
    DestructiveOps,
    OwnSecret,
    ParameterNames,
    ToolNames,
)
from interlock.policy.config.document import MergedPolicy
from interlock.policy.config.key import ALLOW_WITH_UNDO, OBSERVE
from interlock.policy.own.own_guard import own_guard
from interlock.secrets.scanner import SecretScanner
from interlock.service.policies.builtin_rules import (
    builtin_layer,
    builtin_tables,
    command_packs,
    known_rules,
    programs,
    secret_rules,
)
from interlock.service.policies.rule_compiler import PACKAGE
from interlock.service.policies.rule_tests import failing_examples

_CONFIG = PACKAGE / "policy" / "config"
_SHARED = 16
_REMEMBERED = 256
_MOST_BYTES = 4 * 1024 * 1024
"""What a policy file may hold."""


class Found:
    """Stands for the layer that is found here."""


_HERE: Final = Found()


@entrance
def load_policy(
    *,
    user: FilePath | Found | None = _HERE,
    project: FilePath | Sequence[FilePath] | Found | None = _HERE,
) -> CompiledPolicy:
    """Read the policy's layers and make them ready; raise PolicyError with every complaint.

    A layer that is not named is the one that every door finds: the user's by `INTERLOCK_POLICY`
    or in the folder of the configuration, the project's from the working folder upwards. None
    leaves it out. Where a project has several policies, each tightens those before it.
    """
    if isinstance(user, Found):
        user = settings.current_places().user
    if isinstance(project, Found):
        project = settings.current_places().project
    own = None if user is None else Path(user)
    given = [project] if isinstance(project, (str, PathLike)) else project or ()
    gates = compile_policy(merged_policy(user=own, project=[Path(each) for each in given]))
    complaints = failing_examples(gates)
    if complaints:
        raise PolicyError(complaints)
    return gates


AnyPolicy = CompiledPolicy | FilePath
"""A policy as a door takes it: one that was loaded, or the file that stands for the user's."""


def policy_given(given: AnyPolicy | None) -> CompiledPolicy:
    """Return the policy that a door was handed, or else the one that every door finds here.

    A file stands for the user's, as with `--policy`: the project's is found here all the same.
    """
    if given is None:
        return found_policy()
    if isinstance(given, CompiledPolicy):
        return given
    file = str(Path(given).expanduser())
    return _policy_in(file, settings.file_trace(file), settings.policy_traces())


@lru_cache(_SHARED)
def _policy_in(
    file: str, _trace: settings.FileTrace, _traces: settings.PolicyTraces
) -> CompiledPolicy:
    return load_policy(user=file)


def found_policy() -> CompiledPolicy:
    """Return the policy that every door finds here, for questions without a ledger.

    It is read again when one of its files comes, goes or changes.
    """
    return _policy_of(settings.policy_traces())


@lru_cache(_SHARED)
def _policy_of(_traces: settings.PolicyTraces) -> CompiledPolicy:
    places = settings.current_places()
    if places.user is None and not places.project:
        return default_policy()
    return load_policy(user=places.user, project=places.project)


class PolicyFiles:
    """The user's policy and those of a project, for whoever outlives a change of them."""

    def __init__(self, project: Sequence[Path] = ()) -> None:
        self._project = project
        self.seen = self.traces()
        """How the files were when they were last read."""
        self.refused_under: str | None = None
        """The policy that counted when what they say was refused; None where it was not."""

    def traces(self) -> tuple[settings.FileTrace, ...]:
        """Return what changes with the files."""
        files = (settings.current_user_file(), *self._project)
        return tuple(settings.file_trace(str(file)) for file in files)

    def policy(self) -> CompiledPolicy:
        """Return the policy as they have it now."""
        project = [file for file in self._project if file.exists()]
        return load_policy(user=settings.current_places().user, project=project)


@cache
def default_policy() -> CompiledPolicy:
    """Return the gates of the built-in policy."""
    return compile_policy(merged_policy())


def merged_policy(
    *, user: Path | None = None, project: Path | Sequence[Path] | None = None
) -> MergedPolicy:
    """Read and merge the policy's layers."""
    compiled = builtin_tables().policy.merged
    projects = (project,) if isinstance(project, Path) else project or ()
    if user is not None or projects or compiled is None:
        return _merged(user, projects)
    return MergedPolicy(
        policy=compiled.policy, hash=compiled.hash, find_places=lambda: _merged(None, ()).places
    )


def _merged(user: Path | None, projects: Sequence[Path]) -> MergedPolicy:
    from interlock.policy.config import layers as layering  # noqa: PLC0415 - most have no file to read
    from interlock.policy.config import parser  # noqa: PLC0415 - the same

    known = known_rules()
    told: set[str] = set()

    def complaint_once(source: str) -> str | None:
        """What is wrong with every condition alike, such as a missing extra, is told once."""
        said = complaint_about(source)
        if said is None or said in told:
            return None
        told.add(said)
        return said

    files = ((layering.Role.USER, user), *((layering.Role.PROJECT, each) for each in projects))
    layers = [
        parser.read_layer(
            str(path), _text(path), role, known=known, compile_condition=complaint_once
        )
        for role, path in files
        if path is not None
    ]
    every = [builtin_layer(), *layers]
    merged = layering.merge(every, known)
    if not projects:
        return merged
    own = [layer for layer in every if layer.role is not layering.Role.PROJECT]
    return msgspec.structs.replace(merged, find_user_level=lambda: layering.merge(own, known))


def _text(path: Path) -> str:
    try:
        return content_of(path, most=_MOST_BYTES).decode()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PolicyError([f"{path}: cannot be read: {why}"]) from error
    except UnicodeDecodeError as error:
        raise PolicyError([f"{path}: cannot be read: {error}"]) from error


def default_policy_text() -> str:
    """Return the default policy as a file for people, with every key."""
    from interlock.policy.config import reference  # noqa: PLC0415 - only those who look at it need it

    return reference.default_policy_text((_CONFIG / "defaults.toml").read_text("utf-8"))


def compile_policy(merged: MergedPolicy) -> CompiledPolicy:
    """Make a merged policy ready to judge."""
    policy = merged.policy
    ops = policy.destructive_ops
    return CompiledPolicy(
        config=policy,
        hash=merged.hash,
        merged=merged,
        programs=programs(),
        places=_places(ops.scratch_folders, ops.temp_folders),
        rulebook=_rulebook(
            _switched_off(ops.packs),
            ops.protected_branches,
            rules_answered(ops, "off"),
            rules_answered(ops, ALLOW_WITH_UNDO),
        ),
        scanner=_scanner(
            policy.secrets.allow, _switched_off(policy.secrets.rules), policy.secrets.patterns
        ),
        guard=PathGuard(policy.protected_paths),
        own=own_guard(settings.current_own_places()),
        # What would be looked up by whole tables is looked up once.
        vocabulary=cache(partial(_vocabulary, policy.tool_names, policy.parameter_names)),
        carriers_of=lru_cache(_REMEMBERED)(partial(carriers_of, policy.tools.carriers)),
        schemas={tool: tool_schema(schema) for tool, schema in policy.tools.schemas.items()},
        user_rules=tuple((rule, compile_condition(rule.when)) for rule in policy.rules),
        review_gates={entry.id: entry.gate for entry in policy.reviews.gates},
        observed_rules=rules_answered(ops, OBSERVE)
        | {rule.id for rule in policy.rules if rule.mode == OBSERVE},
    )


def rules_answered(ops: DestructiveOps, answer: str) -> frozenset[str]:
    """Return the built-in rules that a policy gives this answer to."""
    return frozenset(rule for rule, given in ops.rules.items() if given == answer)


# Policies differ in little: what is built from the same settings is built once.


@lru_cache(_SHARED)
def _places(scratch: tuple[str, ...], temp: tuple[str, ...]) -> Places:
    return Places(builtin_tables().programs.places, scratch=scratch, temp=temp)


@lru_cache(_SHARED)
def _rulebook(
    packs_off: frozenset[str],
    branches: tuple[str, ...],
    off: frozenset[str],
    undoable: frozenset[str],
) -> Rulebook:
    packs = [pack for pack in command_packs() if pack.id not in packs_off]
    return Rulebook(packs, branches=branches, off=off, undoable=undoable)


@lru_cache(_SHARED)
def _vocabulary(tools: ToolNames, parameters: ParameterNames) -> Vocabulary:
    return Vocabulary(tools, parameters)


@lru_cache(_SHARED)
def _scanner(
    allow: tuple[str, ...], off: frozenset[str], own: tuple[OwnSecret, ...]
) -> SecretScanner:
    titles = {each.pattern: each.name for each in own}
    return SecretScanner(secret_rules(), allow=allow, off=off, own=titles)


def _switched_off(names: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, is_on in names.items() if not is_on)
