"""The policy: what counts, what counted before, what it says of an action, and another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from interlock.model.action import Action, action_given
from interlock.model.entrance import entrance
from interlock.model.principal import Scope
from interlock.model.verdict import Explanation
from interlock.policy.config.policy_changes import policy_changes_between
from interlock.server.desk.endpoint import Call, Endpoint, Limit
from interlock.service.people.operators import proven
from interlock.service.policies.policy_draft import adopt_text
from interlock.views.action_explanation import explain
from interlock.views.policy_history import (
    PolicyShown,
    PolicyVersion,
    policy_shown,
    policy_versions,
)


class Adopted(msgspec.Struct, frozen=True, kw_only=True):
    """A policy that counts from now on."""

    hash: str
    changes: tuple[str, ...]
    """What is different from the one before, in words; nothing where it is the same."""


async def _show(call: Call) -> PolicyShown:
    return await call.look(lambda: policy_shown(call.desk.governor.context.policy.merged))


async def _versions(call: Call) -> Sequence[PolicyVersion]:
    limit = call.query.get("limit", 50)
    return await call.look(lambda: policy_versions(call.desk.ledger.rows, limit=limit))


@entrance
async def trial(call: Call, action: Action | Mapping[str, object]) -> Explanation:
    """Judge an action, and record nothing."""
    policy = call.desk.governor.context.policy
    return await call.look(lambda: explain(action_given(action), policy))


async def _try(call: Call) -> Explanation:
    return await call.say(trial, call)


@entrance
async def adoption(call: Call, policy: str) -> Adopted:
    """Let a policy count that is given as the text of its file."""
    return await call.look(lambda: _adopt(call, policy))


def _adopt(call: Call, text: str) -> Adopted:
    governor = call.desk.governor
    by = proven(governor.context, call.who.token, "adopt a policy", Scope.ADMIN)
    before = governor.context.policy.config
    policy = adopt_text(text, lambda policy: governor.adopt(policy, by=by))
    return Adopted(hash=policy.hash, changes=policy_changes_between(before, policy.config))


async def _take(call: Call) -> Adopted:
    return await call.say(adoption, call)


POLICY_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/v1/policy",
        scope=Scope.VIEWER,
        agents=True,
        summary="The policy that counts, key by key, each with whose file said so",
        perform=_show,
        answer=PolicyShown,
    ),
    Endpoint(
        method="GET",
        path="/v1/policy/versions",
        scope=Scope.VIEWER,
        summary="The policies that counted, the latest first",
        perform=_versions,
        query={"limit": Limit},
        answer=list[PolicyVersion],
    ),
    Endpoint(
        method="POST",
        path="/v1/policy/try",
        scope=Scope.VIEWER,
        agents=True,
        summary="What the policy says of an action; nothing is recorded",
        perform=_try,
        body=trial,
        given=("call",),
        answer=Explanation,
    ),
    Endpoint(
        method="POST",
        path="/v1/policy/adopt",
        scope=Scope.ADMIN,
        summary="Let another policy count, given as the text of its file",
        perform=_take,
        body=adoption,
        given=("call",),
        answer=Adopted,
        decides=True,
    ),
)
