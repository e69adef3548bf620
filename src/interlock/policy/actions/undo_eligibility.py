"""Could an action be put back, so that no person needs to be asked about it?

Only where every rule that asks for a person says `allow-with-undo`, and where everything that
the action touches is known before it happens. Whether that can be copied, the files tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from interlock.commands.affected_paths import (
    AffectedPath,
    AffectedPaths,
    Unknown,
    affected_paths_of,
)
from interlock.model.verdict import DESTRUCTIVE_OPS, USER_RULES, Decision, Finding, strictest
from interlock.policy.actions.calls.json_text import Unreadable
from interlock.policy.actions.calls.payload import Payload
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Inspection, encodable
from interlock.policy.config.document import Policy
from interlock.policy.config.key import ALLOW_WITH_UNDO


def is_undoable(findings: Sequence[Finding], policy: Policy) -> bool:
    """Whether nothing but rules that allow with undo keep an action from going ahead."""
    if strictest(findings) is not Decision.REQUIRE_CONFIRMATION:
        return False
    asking = [each for each in findings if each.decision is Decision.REQUIRE_CONFIRMATION]
    return all(_allows_with_undo(each, policy) for each in asking)


def _allows_with_undo(finding: Finding, policy: Policy) -> bool:
    if finding.gate == DESTRUCTIVE_OPS:
        return policy.destructive_ops.rules.get(finding.rule) == ALLOW_WITH_UNDO
    if finding.gate == USER_RULES:
        own = [rule for rule in policy.rules if rule.id == finding.rule]
        return any(rule.on_match == ALLOW_WITH_UNDO for rule in own)
    return False


def touched_by(inspection: Inspection) -> AffectedPaths | Unknown:
    """Return everything that an action deletes or overwrites, or why that is not known."""
    call = inspection.call
    if call is not None:
        if isinstance(call.params, Unreadable):
            return Unknown(reason=call.params.message)
        if _carries_patch(call.name, call.params, inspection.policy):
            return Unknown(reason="a patch may rename and delete files: send each edit by itself")
        if call.guesses or not call.payloads:
            return Unknown(reason=f"what the tool `{call.name}` touches is not known")
    return _together(_touched_by_payload(each, inspection) for each in inspection.payloads)


def _touched_by_payload(payload: Payload, inspection: Inspection) -> AffectedPaths | Unknown:
    if payload.command is None:
        return _touched_by_edit(payload.path or "", payload.cwd)
    found = inspection.lowered(encodable(payload.command), payload.cwd)
    return affected_paths_of(payload.command, found, inspection.policy.programs)


def _touched_by_edit(path: str, cwd: str | None) -> AffectedPaths | Unknown:
    """Edits are seen from the workspace, unless another folder is given with them."""
    place = path if cwd is None or path.startswith("/") else f"{cwd}/{path}"
    is_clear = path != "" and place.isprintable() and not place.startswith("~")
    if not is_clear or (place != path and not place.startswith("/")):
        return Unknown(reason=f"which file `{path}` is, is not known: name it by its whole path")
    return AffectedPaths(places=(AffectedPath(path=place, follows_links=True),))


def _carries_patch(name: str, params: Mapping[str, object], policy: CompiledPolicy) -> bool:
    return any(not params.keys().isdisjoint(carrier.patch) for carrier in policy.carriers_of(name))


def _together(parts: Iterator[AffectedPaths | Unknown]) -> AffectedPaths | Unknown:
    places: list[AffectedPath] = []
    folders: list[str] = []
    for part in parts:
        if isinstance(part, Unknown):
            return part
        places += part.places
        folders += part.folders
    return AffectedPaths(places=tuple(places), folders=tuple(folders))
