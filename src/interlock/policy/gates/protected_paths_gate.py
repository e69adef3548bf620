"""Does an action write where an agent must not write?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.commands.programs.places import MAX_PATH
from interlock.commands.shell.command import WRITES, Effect, EffectKind
from interlock.commands.shell.scope import OWN_VARIABLES, normal_path
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.calls.payload import is_arrival, path_of
from interlock.policy.actions.compiled_policy import CompiledPolicy, PathGuard
from interlock.policy.actions.inspection import Call, CommandLine, InspectedEdit
from interlock.policy.config.action_sections import ProtectedPath
from interlock.policy.gates.contract import Gate, while_off
from interlock.policy.own.own_guard import Relation
from interlock.policy.own.own_touches import (
    Touch,
    leads_to_own,
    own_edit,
    worst_touch,
)

_SETS_VARIABLES: Final = (
    r"(?i)(?:^|/)(?:\.env[^/]*|[^/]*\.env|[^/]*compose[^/]*\.ya?ml|[^/]*makefile|[^/]*\.mk"
    r"|dockerfile[^/]*)$"
)
"""Files that set variables for programs which are run with them."""
_OWN_SETTING: Final = r"\b(INTERLOCK_(?:POLICY|LEDGER|CONFIG_HOME|TOKEN))\b\s{0,9}[:?+]{0,2}[=:]"
_LINKS: Final = frozenset(("link", "symlink"))
_TAKES: Final = _LINKS.union(
    "copy cp duplicate clone move mv rename upload send share attach zip tar archive"
    " compress pack bundle backup sync mirror mount serve publish export".split()
)
"""What the name of a tool says that takes a folder with everything in it."""
_UP: Final = re.compile(r"(?:\.\./)+")
_FAR_UP: Final = len("../") * 4
_REMEDIATION: Final = "leave this path alone; a person who owns it can change it"


def _of_edit(edit: InspectedEdit, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak when an edit writes to a protected path."""
    path = normal_path(path_of(edit.path), edit.cwd)
    guard = policy.guard
    entries = [guard.entry_for(path) or _entry_above(path, guard)]
    if edit.payload.removes:
        entries.append(guard.entry_within(path))
    entry = max(filter(None, entries), key=lambda each: each.decision.rank, default=None)
    if entry is not None:
        yield _finding(entry, "writes to", edit.path)
    elif (decision := own_edit(path, policy.own)) is not Decision.ALLOW:
        yield _own_finding(Touch(decision, "writes to", edit.path))
    elif edit.removal is not None:
        touch = worst_touch(edit.removal.lowered, policy.programs, policy.own)
        if touch is not None:
            yield _own_finding(touch)
    if (name := _own_setting(path, edit.content)) is not None:
        yield _own_finding(Touch(Decision.BLOCK, f"sets `{name}` in", edit.path))


def _own_setting(path: str, content: str) -> str | None:
    """Return the variable of Interlock's own that a file sets for what is run with it."""
    if OWN_VARIABLES not in content or not re.search(_SETS_VARIABLES, path):
        return None
    found = re.search(_OWN_SETTING, content)
    return None if found is None else found[1]


def _entry_above(path: str, guard: PathGuard) -> ProtectedPath | None:
    """Return what may lie above a folder that is not known; far up, everything may."""
    outside = _UP.match(path)
    if outside is None:
        return None
    rest = path[outside.end() :]
    found = [guard.entry_for(f"{root}/{rest}") for root in ("", "~")]
    far = outside.end() >= _FAR_UP
    grave = [each for each in found if each and (far or each.decision is Decision.BLOCK)]
    return max(grave, key=lambda entry: entry.decision.rank, default=None)


def _of_command(command: CommandLine, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak when a command writes to a protected path, once per path."""
    guard = policy.guard
    seen: set[str] = set()
    strictest = Decision.ALLOW
    for effect in command.lowered.effects:
        if effect.kind not in WRITES or not effect.target or effect.target in seen:
            continue
        path = normal_path(effect.target, effect.command.cwd)
        entry = guard.entry_for(path)
        if entry is None and effect.kind is not EffectKind.PERMIT and _takes_all(effect):
            entry = guard.entry_within(path)
        if entry is not None:
            seen.add(effect.target)
            strictest = max(strictest, entry.decision, key=lambda decision: decision.rank)
            yield _finding(entry, WRITES[effect.kind], effect.target)
    touch = worst_touch(command.lowered, policy.programs, policy.own)
    if touch is not None and touch.decision.rank > strictest.rank:
        yield _own_finding(touch)


def _of_call(call: Call, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak when a tool is given the path of what lets one sign or decide."""
    for text in call.leaves:
        # A short value stands there with its name, as `name="value"`.
        name, _, value = text.partition('="')
        value = value.removesuffix('"') or text
        path = path_of(value)
        if len(path) > MAX_PATH or "/" not in path:
            continue
        relation = policy.own.relation(normal_path(path, None))
        if relation is Relation.SECRET:
            yield _own_finding(Touch(Decision.BLOCK, "reads", value))
            return
        if relation is Relation.SHARED and _takes_folder(call, name, policy):
            yield _own_finding(Touch(Decision.REQUIRE_CONFIRMATION, "takes along", value))
            return
    for payload in call.found.searches:
        if leads_to_own(payload.path or "", None, policy.own):
            search = call.looked_into(payload)
            touch = worst_touch(search.lowered, policy.programs, policy.own)
            if touch is not None:
                yield _own_finding(touch)
                return


def _takes_folder(call: Call, name: str, policy: CompiledPolicy) -> bool:
    """Whether a tool, by its name, does something with all that lies in what a parameter names."""
    role = policy.vocabulary().role_of(call.name)
    if role.reads or _TAKES.isdisjoint(role.words):
        return False
    # What a link leads to is often called its target.
    return not is_arrival(name) or not _LINKS.isdisjoint(role.words)


def _takes_all(effect: Effect) -> bool:
    """Whether a folder goes with everything in it."""
    return effect.recursive or effect.forced


def _own_finding(touch: Touch) -> Finding:
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.interlock",
        decision=touch.decision,
        severity=Severity.CRITICAL,
        message=f"{touch.does} `{touch.target}`, where Interlock keeps what it goes by",
        remediation="leave Interlock's own files alone; a person who set it up can change them",
        excerpt=touch.target,
    )


def _finding(entry: ProtectedPath, verb: str, target: str) -> Finding:
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.{entry.path}",
        decision=entry.decision,
        severity=Severity.HIGH,
        message=f"{verb} the protected path `{target}`: {entry.reason}",
        remediation=_REMEDIATION,
        excerpt=target,
    )


GATE = Gate(
    name="protected-paths",
    command=_of_command,
    edit=_of_edit,
    call=_of_call,
    idle=while_off("protected_paths"),
)
