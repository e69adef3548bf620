"""Recommendations at work: applied to the policy file with a person's word, dismissed, undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from interlock import settings
from interlock.errors import InputError
from interlock.model.loop_events import CycleDecided
from interlock.model.principal import SYSTEM, Principal, PrincipalKind
from interlock.model.recommendation import PatchOperation, Recommendation, RecommendationState
from interlock.model.run import LEDGER_RUN
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.service.cycles.lessons import (
    Settlement,
    found_recommendation,
    settle_recommendation,
)
from interlock.service.cycles.loop_chain import LoopChain, LoopGovernor
from interlock.service.policies.policy_draft import digest_of, draft_beside
from interlock.service.policies.policy_files import load_policy
from interlock.service.policies.policy_patch import located, patched, unpatched

_NEW_FILE: Final = "version = 1\n"


class PolicyGovernor(LoopGovernor, Protocol):
    """Whoever can take another policy: the governor, as far as it is needed here."""

    def adopt(
        self, policy: CompiledPolicy, project: str | None = None, by: Principal | None = None
    ) -> bool:
        """Judge by another policy from now on."""
        ...


class RecommendationDesk:
    """Changes the user's policy as recommendations say, and puts it back."""

    def __init__(self, governor: PolicyGovernor, chain: LoopChain) -> None:
        self._governor = governor
        self._chain = chain

    def apply_decided(self, recommendation: str, decided: CycleDecided) -> str:
        """Apply what a decision asks for, by the person who approved it."""
        known = self._chain.state.recommendations.get(recommendation)
        if known is None or known.state is not RecommendationState.PENDING:
            return "settled already"
        approval = None if decided.approval is None else self._approval(decided.approval)
        return self.apply(recommendation, approval or SYSTEM).title

    def apply(self, recommendation: str, by: Principal) -> Recommendation:
        """Write the change into the policy file, keeping everything else as it stands."""
        found = self._pending(recommendation)
        if not found.patch:
            raise InputError(
                f"recommendation `{found.id}` is for people to see to, there is nothing to apply:"
                f" {found.reason}"
            )
        text = self._text()
        patch = located(text, found.patch)
        return self._settled(found.id, text, patched(text, found.patch), patch, by)

    def undo(self, recommendation: str, by: Principal) -> Recommendation:
        """Put back what a recommendation changed, unless somebody has changed it since."""
        found = found_recommendation(self._chain.state.recommendations, recommendation)
        if found.state is not RecommendationState.APPLIED:
            raise InputError(
                f"recommendation `{found.id}` is {found.state.value}: only what was applied can be"
                " undone"
            )
        text = self._text()
        new = unpatched(text, found.patch)
        return self._settled(found.id, text, new, (), by, state=RecommendationState.UNDONE)

    def dismiss(
        self, recommendation: str, by: Principal, note: str | None = None
    ) -> Recommendation:
        """Do not recommend this any more."""
        found = self._pending(recommendation)
        settlement = Settlement(RecommendationState.DISMISSED, note=note)
        return settle_recommendation(self._chain, found.id, settlement, by)

    def _pending(self, recommendation: str) -> Recommendation:
        found = found_recommendation(self._chain.state.recommendations, recommendation)
        if found.state is not RecommendationState.PENDING:
            raise InputError(f"recommendation `{found.id}` is {found.state.value} already")
        return found

    def _approval(self, approval_id: str) -> Principal | None:
        """Return the operator who approved, as the record names them."""
        approval = self._governor.ledger.rows.approval(approval_id)
        decided_by = None if approval is None else approval.decided_by
        kind, _, name = (decided_by or "").partition(":")
        if kind != PrincipalKind.OPERATOR.value:
            return None
        return Principal(kind=PrincipalKind.OPERATOR, name=name)

    def _text(self) -> str:
        """Return the policy file as it counts; whatever else stands there is no part of a patch."""
        file = settings.current_user_file()
        try:
            text = file.read_text("utf-8")
        except FileNotFoundError:
            text = _NEW_FILE
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: it is no text in UTF-8: {error.reason}") from error
        with draft_beside(file, text) as draft:
            found = load_policy(user=draft, project=None).hash
        own = self._governor.ledger.state(LEDGER_RUN)
        if own is not None and own.policy_hash not in ("", found):
            raise InputError(
                f"{file}: it is not the policy that counts: an operator takes it first with"
                " `interlock policy adopt`, or puts it back"
            )
        return text

    def _settled(
        self,
        recommendation: str,
        text: str,
        new: str,
        patch: Sequence[PatchOperation],
        by: Principal,
        *,
        state: RecommendationState = RecommendationState.APPLIED,
    ) -> Recommendation:
        """Check the new file, let it count, write it, and put that on record.

        Whoever dies on the way does all of it again: each step comes to the same.
        """
        file = settings.current_user_file()
        with draft_beside(file, new) as draft:
            policy = load_policy(user=draft, project=settings.current_places().project)
            self._governor.adopt(policy, by=by)
            draft.replace(file)
        settlement = Settlement(
            state, before=digest_of(text), after=digest_of(new), patch=tuple(patch)
        )
        return settle_recommendation(self._chain, recommendation, settlement, by)
