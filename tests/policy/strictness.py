"""What it means for one policy to be less strict than another, said without the key table."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.policy.document import DestructiveOps, Policy, ProtectedPaths, Secrets, Tools
from policy.files import KNOWN

_RANKS = {"off": 0, "warn": 1, "require-confirmation": 2, "block": 3}


def loosened_parts(below: Policy, above: Policy) -> set[str]:
    """Return the parts of a policy in which `above` is less strict than `below`."""
    return {
        *_limits(below, above),
        *_tool_allowlist(below, above),
        *_tools(below.tools, above.tools),
        *_destructive_ops(below.destructive_ops, above.destructive_ops),
        *_secrets(below.secrets, above.secrets),
        *_diff_size(below, above),
        *_protected_paths(below.protected_paths, above.protected_paths),
        *_rules(below, above),
    }


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
    if not {*above.scratch_folders} <= {*below.scratch_folders}:
        yield "destructive-ops.scratch-folders"
    if not {*above.temp_folders} <= {*below.temp_folders}:
        yield "destructive-ops.temp-folders"
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


def _rules(below: Policy, above: Policy) -> Iterator[str]:
    if not set(below.rules) <= set(above.rules):
        yield "rules"
