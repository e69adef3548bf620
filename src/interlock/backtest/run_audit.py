"""What would Interlock have said to one past run? Every call, every step and every end of a turn.

The run is judged as it went, step by step, with what was known then. What it keeps does not grow
with the run, and no text of it is kept that could hold a credential.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import tee
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from interlock.backtest.audit_sum import worst
from interlock.backtest.hindsight import Watched, batches, watched
from interlock.backtest.turn_ends import TurnEnd, TurnEnds, failed_tests
from interlock.model.action import Action, ToolAction, line_of, summary_of
from interlock.model.audit import Moment, MomentKind, RunAudit
from interlock.model.past_run import PastRun, PastStep
from interlock.model.progress_meter import Kind
from interlock.model.review import TestCounts
from interlock.model.step import ContinueDecision, StepDecision
from interlock.model.stop import EvidenceKind, StopDecision, StopOutcome
from interlock.model.verdict import Decision, Finding, Severity, Verdict
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.recordable import recordable_action, recordable_text
from interlock.policy.gates import secrets_gate
from interlock.policy.gates.judgement import judge_all
from interlock.policy.stops.stop_gate import decide as decide_stop
from interlock.service.records.prices import Prices, SteadyPrices

_MOST_MOMENTS: Final = 25
"""So many of one kind are kept of a run, the worst; all of them are counted."""
_LONGEST_TEXT: Final = 400
_LONGEST_WORDS: Final = 160
_CLOSING: Final = 16_000
"""So much of a message is searched for credentials before a few words of it are shown."""
_REMEMBERED: Final = 4_096
_LONGEST_NAME: Final = 2_000
_DIGITS: Final = 10
_NAMES: Final = ("id", "client", "project")
_FAILURE: Final = re.compile(r"\bfail|\bbroken\b|\bred\b|not pass", re.IGNORECASE)
"""Whoever says so does not claim that all is well."""
_SENT_ON: Final = (StopOutcome.NUDGED, StopOutcome.RESUMED)
_DONE: Final = (StopOutcome.FINISHED, StopOutcome.FINISHED_WITH_WARNING)
_SEVERITIES: Final = {each: place for place, each in enumerate(Severity)}
_OF_DECISION: Final = {Decision.BLOCK: 400, Decision.REQUIRE_CONFIRMATION: 200}
_OF_SECRET: Final = 20
"""A credential in a call weighs a little more than what else is asked about."""
_OF_LOOP: Final = {StepDecision.STOP: 160, StepDecision.PAUSE: 120}
_OF_FALSE_DONE: Final = 80
_OF_EARLY_STOP: Final = 40


def audited(run: PastRun, path: str, judge_of_calls: AuditJudge) -> RunAudit:
    """Return what a run comes to under a policy; its steps are used up."""
    auditor = _Auditor(run, path, judge_of_calls)
    config = judge_of_calls.policy.config
    steps, again = tee(run.steps)
    answers = judge_of_calls.answers(again)
    for each, answer in zip(watched(steps, config.steps, config.loops), answers, strict=True):
        auditor.add(each, answer)
    return auditor.told()


class _Answer(NamedTuple):
    """What is said to a call."""

    decision: Decision
    findings: tuple[Finding, ...]
    action: Action


class AuditJudge:
    """Judges calls of past runs by one policy; what was asked lately is not judged again."""

    def __init__(self, policy: CompiledPolicy) -> None:
        self.policy = policy
        self.prices = SteadyPrices(Prices(policy.config.budgets.prices))
        self._known: dict[bytes | int, _Answer] = {}

    def answers(self, steps: Iterable[PastStep]) -> Iterator[_Answer | None]:
        """Yield what is said to each step, if it is a call that ran and is known whole."""
        for batch in batches(steps):
            calls = [step.action if step.ran else None for step in batch]
            # By all that it says; one that cannot be written down has its place for a name.
            names = [_whole(call) or place for place, call in enumerate(calls)]
            asked = {
                name: call for name, call in zip(names, calls, strict=True) if call is not None
            }
            yield from map(self._said(asked).get, names)

    def _said(self, asked: Mapping[bytes | int, Action]) -> dict[bytes | int, _Answer]:
        said = {name: self._known[name] for name in asked if name in self._known}
        new = {name: call for name, call in asked.items() if name not in said}
        for name, verdict in zip(new, judge_all(new.values(), self.policy), strict=True):
            said[name] = _Answer(verdict.decision, verdict.findings, new[name])
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        kept = (name for name in new if isinstance(name, bytes) and len(name) <= _LONGEST_NAME)
        self._known.update((name, said[name]) for name in kept)
        return said

    def text(self, answer: _Answer) -> str:
        """Return a call in one line, without credentials."""
        verdict = Verdict(
            decision=answer.decision, findings=answer.findings, policy_hash=self.policy.hash
        )
        action = recordable_action(inspect(answer.action, self.policy), verdict).action
        line = line_of(action) if isinstance(action, ToolAction) else None
        return _line(recordable_text(line or summary_of(action), self.policy))


def _whole(action: Action | None) -> bytes:
    """Return all that is known of a call: the same line does something else in another folder.

    Nothing where that cannot be written down: numbers too long, half a character.
    """
    try:
        return b"" if action is None else msgspec.json.encode(action)
    except (OverflowError, UnicodeEncodeError):
        return b""


class _Hold(NamedTuple):
    """Where a run would have been held, and what it had used until then."""

    step: PastStep
    place: int
    decision: ContinueDecision
    text: str
    tokens: int
    micro_usd: int


class _Auditor:
    """Follows one run."""

    def __init__(self, run: PastRun, path: str, own: AuditJudge) -> None:
        policy = own.policy
        # A folder or a name may hold a credential as well.
        named = {each: recordable_text(getattr(run, each), policy) for each in _NAMES}
        self._run, self._path, self._policy, self._judge = replace(run, **named), path, policy, own
        self._place = self._calls = self._judged = self._turns = 0
        self._tokens = self._unpriced = self._micro_usd = 0
        self._burnt = self._burnt_micro_usd = 0
        self._first: int | None = None
        self._last: int | None = None
        self._model = run.model
        self._decisions: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._counts: Counter[MomentKind] = Counter()
        self._moments: dict[MomentKind, list[Moment]] = {kind: [] for kind in MomentKind}
        self._held: _Hold | None = None
        self._last_call: _Answer | None = None
        self._turn_ends = TurnEnds(run.model)
        self._has_tested = False

    def add(self, watched: Watched, answer: _Answer | None) -> None:
        """Take the next step, with what is said to the call that it is."""
        step, seen = watched.step, watched.seen
        if step.at is not None:
            self._first = step.at if self._first is None else min(self._first, step.at)
            self._last = step.at if self._last is None else max(self._last, step.at)
        self._model = step.model or self._model
        self._place = watched.number
        ended = self._turn_ends.add(step, seen)
        if seen is not None and seen.kind is Kind.PERSON:
            self._judge_end(ended, step)
            self._let_go()
        else:
            self._pay(step)
        self._has_tested |= bool(seen is not None and seen.tests and seen.tests.executed)
        if step.tool is not None:
            self._call(step, answer)
        if watched.answer is not None and watched.is_held:
            self._hold(step, watched.answer)

    def told(self) -> RunAudit:
        """Return what it came to, once all of it was seen."""
        self._judge_end(self._turn_ends.end(), None)
        self._let_go()
        kept = [each for found in self._moments.values() for each in worst(found, _MOST_MOMENTS)]
        return RunAudit(
            client=self._run.client,
            began_at=self._first,
            ended_at=self._last,
            steps=self._place,
            calls=self._calls,
            judged=self._judged,
            turns=self._turns,
            tokens=self._tokens,
            unpriced=self._unpriced,
            micro_usd=self._micro_usd,
            decisions=dict(self._decisions),
            rules=dict(self._rules),
            counts=dict(self._counts),
            tested=self._has_tested,
            burnt=self._burnt,
            burnt_micro_usd=self._burnt_micro_usd,
            moments=tuple(sorted(kept, key=lambda each: each.step)),
        )

    def _pay(self, step: PastStep) -> None:
        usage = step.usage
        if usage is None:
            return
        self._tokens += usage.total
        cost = self._judge.prices.cost_micros(step.model or self._model, usage, step.at)
        if cost is None:
            self._unpriced += usage.total
        else:
            self._micro_usd += cost

    def _call(self, step: PastStep, answer: _Answer | None) -> None:
        if not step.ran:
            return
        self._calls += 1
        self._last_call = answer
        if answer is None:
            return
        self._judged += 1
        self._decisions[answer.decision.value] += 1
        if answer.decision.rank < Decision.REQUIRE_CONFIRMATION.rank:
            return
        asking = [
            each
            for each in answer.findings
            if each.decision.rank >= Decision.REQUIRE_CONFIRMATION.rank
        ]
        self._rules.update({each.rule for each in asking})
        secret = [each for each in asking if each.gate == secrets_gate.GATE.name]
        other = [each for each in asking if each.gate != secrets_gate.GATE.name]
        text = self._judge.text(answer)
        if secret:
            self._note_action(MomentKind.SECRET, step, secret, text)
        if other:
            self._note_action(MomentKind.ACTION, step, other, text)

    def _judge_end(self, ended: TurnEnd | None, person: PastStep | None) -> None:
        """Ask whether the agent was done, where its turn ended with words."""
        if ended is None:
            return
        self._turns += 1
        then = "" if person is None else person.text
        decision = decide_stop(ended.context, self._policy.config.stops)
        if decision.outcome in _SENT_ON:
            self._note_early_stop(ended, decision, then)
        elif decision.outcome in _DONE and ended.tests is not None and ended.tests.failed:
            self._note_false_done(ended, decision, then, ended.tests)

    def _hold(self, step: PastStep, answer: ContinueDecision) -> None:
        if self._held is None:
            called = self._last_call if step.tool is not None else None
            text = (
                step.tool or self._words(step.text) if called is None else self._judge.text(called)
            )
            self._held = _Hold(step, self._place, answer, text, self._tokens, self._micro_usd)

    def _let_go(self) -> None:
        """Note how far the run went on after it would have been held."""
        held, self._held = self._held, None
        if held is None:
            return
        tokens, cost = self._tokens - held.tokens, self._micro_usd - held.micro_usd
        self._burnt += tokens
        self._burnt_micro_usd += cost
        reason = held.decision.reasons[0]
        share = tokens / self._tokens if self._tokens else 0.0
        self._note(
            MomentKind.LOOP,
            held.step,
            place=held.place,
            decision=held.decision.decision.value,
            rule=reason.code,
            weight=_OF_LOOP[held.decision.decision] + round(30 * share),
            text=held.text,
            why=recordable_text(reason.message, self._policy),
            instead=reason.remediation,
            rounds=_rounds(reason.message),
            steps=self._place,
            tokens=tokens,
            micro_usd=cost,
            of_tokens=self._tokens,
        )

    def _note_action(
        self, kind: MomentKind, step: PastStep, findings: Sequence[Finding], text: str
    ) -> None:
        worst = max(findings, key=_weight)
        weight = _weight(worst) + (_OF_SECRET if kind is MomentKind.SECRET else 0)
        self._note(
            kind,
            step,
            decision=worst.decision.value,
            rule=worst.rule,
            rules=tuple(dict.fromkeys(each.rule for each in findings)),
            weight=weight,
            text=text,
            why=recordable_text(worst.message, self._policy),
            instead=worst.remediation,
            failed=bool(step.failed),
        )

    def _note_early_stop(self, ended: TurnEnd, decision: StopDecision, then: str) -> None:
        strongest = max(decision.signals, key=lambda each: each.points)
        self._note(
            MomentKind.EARLY_STOP,
            ended.step,
            place=ended.place,
            decision="continue",
            rule=strongest.signal,
            weight=_OF_EARLY_STOP + min(decision.score, 100) // 5,
            text=self._words(ended.step.text),
            why=decision.reason,
            then=self._words(then, from_end=False),
        )

    def _note_false_done(
        self, ended: TurnEnd, decision: StopDecision, then: str, tests: TestCounts
    ) -> None:
        if _FAILURE.search(ended.step.text) is not None:
            return
        self._note(
            MomentKind.FALSE_DONE,
            ended.step,
            place=ended.place,
            decision=decision.outcome.value,
            rule=EvidenceKind.FAILING_CHECK.value,
            weight=_OF_FALSE_DONE,
            text=self._words(ended.step.text),
            why=f"{failed_tests(tests)} when it last ran them, and it ended without saying so",
            instead="have checks run before work counts as done: `[reviews.completion]`",
            then=self._words(then, from_end=False),
        )

    def _note(
        self,
        kind: MomentKind,
        step: PastStep,
        *,
        rule: str,
        place: int | None = None,
        **told: object,
    ) -> None:
        self._counts[kind] += 1
        at = place or self._place
        run = self._run
        named = f"{run.client}\0{run.id}\0{step.line or at}\0{at}\0{kind.value}\0{rule}"
        identity = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        fields: Mapping[str, object] = {
            "id": identity,
            "kind": kind,
            "rule": rule,
            "client": run.client,
            "run": run.id,
            "project": run.project,
            "path": self._path,
            "line": step.line,
            "step": at,
            "at": self._last if step.at is None else step.at,
            **told,
        }
        kept = self._moments[kind]
        kept.append(Moment(**fields))  # pyright: ignore[reportArgumentType] - as named
        if len(kept) > 2 * _MOST_MOMENTS:
            self._moments[kind] = worst(kept, _MOST_MOMENTS)

    def _words(self, text: str, *, from_end: bool = True) -> str:
        """Return the words that matter of a text, in one line and without credentials."""
        near = text[-_CLOSING:] if from_end else text[:_CLOSING]
        words = recordable_text(near, self._policy).split()
        if len(near) < len(text):
            # Half a credential is not known for one.
            words = words[1:] if from_end else words[:-1]
        line = " ".join(words)
        if len(line) <= _LONGEST_WORDS:
            return line
        return f"…{line[-_LONGEST_WORDS:]}" if from_end else f"{line[:_LONGEST_WORDS]}…"


def _weight(finding: Finding) -> int:
    return _OF_DECISION.get(finding.decision, 0) + 10 * _SEVERITIES[finding.severity]


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else f"{line[:_LONGEST_TEXT]}…"


_ROUNDS: Final = re.compile(
    r"\b(?:went round|came|looked) (\d+)|\b(\d+) (?:of the latest|calls in)"
)


def _rounds(message: str) -> int:
    """Return how often it went round, as the reason says."""
    found = _ROUNDS.search(message)
    return int(found[1] or found[2]) if found else 0
