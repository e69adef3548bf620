"""DECIDE: who is asked, in which order, and what is done with what they say.

What costs nothing comes first: a freeze, a person's word, a state that has not changed. Whatever
a model says is a proposal: it is read strictly, and the rails decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from interlock.errors import InputError, MissingExtraError
from interlock.loop.model_decider import AskedModel, ModelReply, ModelUnavailableError
from interlock.model.budget import TokenUsage
from interlock.model.loop_events import ModelFailure
from interlock.model.loop_state import LoopState, ScopeState
from interlock.model.system_loop import (
    APPROVAL_DECIDED,
    DoNothing,
    EmitAlert,
    LoopMode,
    Proposal,
    Snapshot,
    Trigger,
)
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.model_answer import (
    InvalidAnswerError,
    ModelQuestion,
    proposal_from,
    question,
    repair_text,
)
from interlock.policy.loop.orientation import (
    NOTHING_ACTIONABLE,
    SAME_STATE,
    short_circuit,
)
from interlock.policy.loop.rules_decider import RULES, by_rules
from interlock.service.cycles.cycle_decision import PERSON, Findings, word_given
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.cycles.model_money import Answered, promise, settle

NOBODY: Final = "nobody"
"""What the slog calls it where no decider had to be asked."""
_SHORT_CIRCUITS: Final = {
    NOTHING_ACTIONABLE: "nothing calls for an action",
    SAME_STATE: "nothing has changed since the last decision",
}
_QUIET: Final = frozenset((APPROVAL_DECIDED, "heartbeat", "manual"))
"""The triggers that say nothing of their own."""
_LONGEST_RAW: Final = 4_000
_OVERHEAD: Final = 2_000
"""So many tokens more than bytes are in the text a provider may count: roles, schema, marks."""


class Deciders:
    """Whoever chooses the next action, by the policy's word."""

    def __init__(
        self, chain: LoopChain, model: Callable[[SystemLoop], AskedModel] | None = None
    ) -> None:
        self._chain = chain
        self._model = model or model_from

    def refused(self, scope: str, triggers: Sequence[Trigger]) -> Findings:
        """Return that nobody is asked about what may not start a cycle."""
        return Findings(
            scope=scope, triggers=_ids(triggers), decider=NOBODY, proposal=_idle("nobody was asked")
        )

    def unasked(self, scope: str, triggers: Sequence[Trigger]) -> Findings | None:
        """Return what needs no look at the state: the loop is off or frozen."""
        if self._chain.standstill is None and self._chain.settings.mode != LoopMode.OFF:
            return None
        return self.refused(scope, triggers)

    def decided(
        self,
        scope: str,
        triggers: Sequence[Trigger],
        snapshot: Snapshot,
        loop: LoopState,
        spent: int = 0,
    ) -> Findings:
        """Return what is chosen in a state; `spent` is what the same cycle has cost before."""
        settings = self._chain.settings
        plain = msgspec.structs.replace(self.refused(scope, triggers), snapshot=snapshot)
        # Whatever else happened is not answered by what was agreed to before.
        is_quiet = all(each.name in _QUIET for each in triggers)
        held = word_given(self._chain, loop, scope) if is_quiet else None
        if held is not None:
            proposal = Proposal(choice=held.choice, reasoning=held.reasoning)
            return msgspec.structs.replace(
                plain, decider=PERSON, proposal=proposal, held=held.approval
            )
        policy_hash = self._chain.governor.context.policy.hash
        before = loop.scopes.get(scope, ScopeState()).thought_under(policy_hash)
        short = short_circuit(snapshot, triggers, settings, before=before)
        if short is not None:
            return msgspec.structs.replace(
                plain, short_circuit=short, proposal=_idle(_SHORT_CIRCUITS[short])
            )
        if settings.decider == RULES or settings.model is None:
            return _by_rules(plain, triggers, settings)
        return _Conversation(self._chain, self._model(settings), plain, triggers, spent).findings()


def model_from(settings: SystemLoop) -> AskedModel:
    """Return the model that the policy names."""
    return AskedModel(
        model=settings.model or "",
        base_url=settings.base_url or "",
        api_key_variable=settings.api_key_variable or "",
        timeout_s=float(settings.model_timeout_seconds),
        max_output_tokens=settings.max_output_tokens,
    )


def _idle(why: str) -> Proposal:
    return Proposal(choice=DoNothing(), reasoning=why)


def _ids(triggers: Sequence[Trigger]) -> tuple[str, ...]:
    return tuple(trigger.id for trigger in triggers)


def _by_rules(plain: Findings, triggers: Sequence[Trigger], settings: SystemLoop) -> Findings:
    snapshot = plain.snapshot or Snapshot(readings=())
    proposal = by_rules(snapshot, triggers, settings)
    return msgspec.structs.replace(plain, decider=RULES, proposal=proposal)


class _Heard(NamedTuple):
    """What came of asking a model once."""

    text: str
    answer: Answered
    proposal: Proposal | None = None
    invalid: str | None = None


class _Conversation:
    """One cycle's questions to a model: the question, and one more if the answer is unreadable."""

    def __init__(
        self,
        chain: LoopChain,
        model: AskedModel,
        plain: Findings,
        triggers: Sequence[Trigger],
        spent: int,
    ) -> None:
        self._chain = chain
        self._settings = chain.settings
        self._model = model
        self._plain = plain
        self._triggers = triggers
        self._snapshot = plain.snapshot or Snapshot(readings=())
        self._decider = f"model {self._settings.model}"
        self._spent = spent

    def findings(self) -> Findings:
        """Return what the model chooses, or what is done where it cannot."""
        asked = question(self._snapshot, self._triggers, self._settings.job_names)
        said = self._said(asked, None, None, is_last=False)
        if not isinstance(said, Findings):
            text, invalid = said
            said = self._said(asked, text, repair_text(invalid), is_last=True)
        if not isinstance(said, Findings):
            text, invalid = said
            said = self._with(raw=self._recordable(text), invalid=invalid)
        return said

    def _said(
        self, asked: ModelQuestion, earlier: str | None, repair: str | None, *, is_last: bool
    ) -> Findings | tuple[str, str]:
        """Ask once; return the findings, or what was said and why it cannot be taken."""
        most = self._most_micros(asked, earlier, repair)
        promised = promise(
            self._chain, self._plain.scope, self._decider, micros=most, spent=self._spent
        )
        if promised.call is None:
            if promised.unpaid is not None:
                return self._with(unpaid=promised.unpaid, raw=self._recordable(earlier or ""))
            return self._instead("it failed too often, and is left alone for now")
        heard = self._heard(asked, earlier, repair, most or 0)
        self._spent += heard.answer.micros
        is_repaired = heard.invalid is not None and not is_last
        answer = heard.answer._replace(asks_again=is_repaired)
        settle(self._chain, promised.call, self._decider, answer)
        if heard.proposal is not None:
            return self._with(raw=self._recordable(heard.text), proposal=heard.proposal)
        if heard.invalid is not None:
            return heard.text, heard.invalid
        return self._instead(heard.answer.detail)

    def _heard(
        self, asked: ModelQuestion, earlier: str | None, repair: str | None, most: int
    ) -> _Heard:
        """Ask the model; whatever goes wrong, it is charged no less than it may have cost."""
        try:
            reply = self._model.ask(asked, earlier, repair)
        except ModelUnavailableError as error:
            failed = Answered(micros=most, failure=error.failure, detail=str(error))
            return _Heard("", failed)
        except (InputError, MissingExtraError) as error:
            # It was never asked: a key or a package is missing.
            unasked = Answered(micros=0, failure=ModelFailure.UNAVAILABLE, detail=str(error))
            return _Heard("", unasked)
        usage = _usage(reply)
        answer = Answered(micros=self._cost(usage, most), usage=usage)
        try:
            proposal = _clean(
                proposal_from(reply.text, self._snapshot, self._settings.job_names),
                self._chain.governor.context.clean,
            )
        except InvalidAnswerError as error:
            unreadable = answer._replace(failure=ModelFailure.UNREADABLE, detail=str(error))
            return _Heard(reply.text, unreadable, invalid=str(error))
        return _Heard(reply.text, answer, proposal)

    def _most_micros(
        self, asked: ModelQuestion, earlier: str | None, repair: str | None
    ) -> int | None:
        """Return what asking can cost at most; a token is never shorter than a byte."""
        texts = (asked.system, asked.user, earlier or "", repair or "")
        size = sum(len(text.encode("utf-8", "replace")) for text in texts)
        return self._priced(
            TokenUsage(
                input_tokens=size + len(msgspec.json.encode(asked.schema)) + _OVERHEAD,
                output_tokens=self._settings.max_output_tokens,
            )
        )

    def _cost(self, usage: TokenUsage | None, most: int) -> int:
        """Return what an answer cost; where the model does not say, as much as it can have."""
        cost = None if usage is None else self._priced(usage)
        return most if cost is None else min(cost, most)

    def _recordable(self, text: str) -> str:
        """Return what a model said as the engine and the ledger may keep it."""
        return self._chain.governor.context.clean(text)[:_LONGEST_RAW]

    def _priced(self, usage: TokenUsage) -> int | None:
        name = (self._settings.model or "").rpartition(":")[2]
        return self._chain.governor.context.prices.cost_micros(name, usage)

    def _with(self, **more: object) -> Findings:
        return msgspec.structs.replace(
            self._plain, decider=self._decider, cost_micros=self._spent, **more
        )

    def _instead(self, why: str) -> Findings:
        """Return what the rules choose in the model's place."""
        found = _by_rules(self._plain, self._triggers, self._settings)
        return msgspec.structs.replace(
            found, degraded=f"{self._decider}: {why}", cost_micros=self._spent
        )


def _clean(proposal: Proposal, clean: Callable[[str], str]) -> Proposal:
    """Return a proposal whose words hold no credential."""
    choice = proposal.choice
    if isinstance(choice, EmitAlert):
        choice = msgspec.structs.replace(choice, message=clean(choice.message))
    return Proposal(choice=choice, reasoning=clean(proposal.reasoning))


def _usage(reply: ModelReply) -> TokenUsage | None:
    """Return what a model says that it used, if it says both."""
    read, wrote = reply.input_tokens, reply.output_tokens
    if read is None or wrote is None or min(read, wrote) < 0:
        return None
    return TokenUsage(input_tokens=read, output_tokens=wrote)
