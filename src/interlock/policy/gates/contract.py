"""What a gate is: one question about an action or its run, answered with findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from interlock.model.action import Action
from interlock.model.facts import Facts
from interlock.model.verdict import Finding
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call, CommandLine, InspectedEdit

OFF: Final = "off by the policy"


def _never(_action: Action, _policy: CompiledPolicy) -> str:
    return ""


def while_off(section: str) -> Callable[[Action, CompiledPolicy], str]:
    """Return that a gate is idle while its section of the policy is switched off."""
    return lambda _action, policy: "" if getattr(policy.config, section).enabled else OFF


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate and what it looks at: one function for each kind of thing that it judges.

    It yields findings, never raises to refuse, and knows no other gate. If it breaks, the answer
    is no, and says so.
    """

    name: str
    call: Callable[[Call, CompiledPolicy], Iterable[Finding]] | None = None
    """A tool call, before what it carries is looked into."""
    command: Callable[[CommandLine, CompiledPolicy], Iterable[Finding]] | None = None
    edit: Callable[[InspectedEdit, CompiledPolicy], Iterable[Finding]] | None = None
    call_as_a_whole: Callable[[Call, CompiledPolicy], Iterable[Finding]] | None = None
    """A tool call, after what it carries."""
    facts: Callable[[Facts, CompiledPolicy], Iterable[Finding]] | None = None
    """What is known of the run that asks."""
    says_once: bool = False
    """Whether a rule that spoke before is not heard again about what a call carries."""
    is_binding: bool = False
    """Whether its findings count even where findings are only observed: a person's word does."""
    idle: Callable[[Action, CompiledPolicy], str | None] = _never
    """Why it has nothing to decide about an action; None where it has no part in it at all."""
