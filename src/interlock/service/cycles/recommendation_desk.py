"""Recommendations at work: applied to the policy file with a person's word, dismissed, undone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock import settings
from interlock.errors import InputError
from interlock.model.loop_events import CycleDecided
from interlock.model.principal import SYSTEM, Principal, PrincipalKind
from interlock.model.recommendation import PatchOperation, Recommendation, RecommendationState
from interlock.model.run import LEDGER_RUN
from interlock.service.cycles.lessons import (
    Settlement,
    found_recommendation,
    settle_recommendation,
)
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.governor import Governor
from interlock.service.policies.policy_files import load_policy
from interlock.service.policies.policy_patch import located, patched, unpatched

_NEW_FILE: Final = "version = 1\n"


class RecommendationDesk:
    """Changes the user's policy as recommendations say, and puts it back."""

    def __init__(self, governor: Governor, chain: LoopChain) -> None:
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
        with _draft(file, text) as draft:
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
        with _draft(file, new) as draft:
            policy = load_policy(user=draft, project=settings.current_places().project)
            self._governor.adopt(policy, by=by)
            draft.replace(file)
        settlement = Settlement(state, before=_digest(text), after=_digest(new), patch=tuple(patch))
        return settle_recommendation(self._chain, recommendation, settlement, by)


@contextmanager
def _draft(file: Path, text: str) -> Generator[Path]:
    """Yield a file beside another one, with what that may say next."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{_digest(text)[:12]}.new")
    _write(draft, text)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner reads, and have it on disk."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
