"""Where would a past run have been paused or stopped? Judged step by step, as it went.

After each step of the agent the continue gate is asked with what was known then. Checkpoints
count as taken when they were due, budgets are not known, and outcomes are not looked at.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from interlock.model.past_run import PastRun, PastStep
from interlock.model.progress_meter import Kind, Meter, Observation, noted
from interlock.model.step import ContinueDecision, Sign, StepContext, StepDecision, StepReason
from interlock.policy.config.run_sections import Loops, Steps
from interlock.policy.evidence.tool_output import counts_in
from interlock.policy.steps.call_observation import call_seen
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.loop_detector import progress_of, signs_and_score
from interlock.policy.steps.step_figures import coherence

_MOST_TOGETHER: Final = 128
_LARGE_TOGETHER: Final = 4_000_000
_SLOPE_STEPS: Final = 10
_DIGITS: Final = 3
_NOTHING_KNOWN: Final = StepContext()


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Where a past run would have been held, and how it looked after every step."""

    run_id: object
    stop_at: int | None
    """The step after which it pauses or stops; depends on no later one."""
    decision: StepDecision
    reasons: tuple[StepReason, ...]
    scores: tuple[float, ...]
    """One number per step: the higher, the more speaks for stopping."""


def judged(run: PastRun, steps: Steps, loops: Loops) -> Judged:
    """Return where a run would first have been paused or stopped."""
    held: ContinueDecision | None = None
    stop_at: int | None = None
    scores: list[float] = []
    for place, each in enumerate(watched(run.steps, steps, loops)):
        scores.append(round(each.score, _DIGITS))
        if held is None and each.is_held:
            held, stop_at = each.answer, place
    return Judged(
        run_id=run.id,
        stop_at=stop_at,
        decision=StepDecision.CONTINUE if held is None else held.decision,
        reasons=() if held is None else held.reasons,
        scores=tuple(scores),
    )


def batches(steps: Iterable[PastStep]) -> Iterator[list[PastStep]]:
    """Yield a run in parts, none of which holds much more than a long text.

    Many steps in a row through the same work take two thirds of the time.
    """
    batch: list[PastStep] = []
    size = 0
    for step in steps:
        batch.append(step)
        size += len(step.arguments) + len(step.result or "") + len(step.text)
        if len(batch) >= _MOST_TOGETHER or size >= _LARGE_TOGETHER:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Watched(NamedTuple):
    """A step, and what the continue gate says after it."""

    step: PastStep
    seen: Observation | None
    """What the meter sees of it; nothing, where it adds nothing."""
    number: int
    """How many steps the agent has taken, as the meter counts them and reasons name them."""
    score: float
    """How much speaks for being stuck: the higher, the more."""
    answer: ContinueDecision | None
    """Only a step of the agent is answered: on what a person says the agent may yet act."""

    @property
    def is_held(self) -> bool:
        """Whether the agent would not have gone on."""
        return self.answer is not None and self.answer.decision.rank >= StepDecision.PAUSE.rank


def watched(steps: Iterable[PastStep], settings: Steps, loops: Loops) -> Iterator[Watched]:
    """Yield every step with what is said after it; what is kept does not grow with the run."""
    sight = _Sight(loops)
    meter, score, at_person = Meter(), 0.0, 0
    tokens: deque[int] = deque(maxlen=_SLOPE_STEPS)
    for batch in batches(steps):
        sights = [sight.of(step) for step in batch]
        meters = [meter := meter if seen is None else noted(meter, seen) for seen in sights]
        marks = [signs_and_score(each, loops) for each in meters]
        for step, seen, meter, (signs, score) in zip(batch, sights, meters, marks, strict=True):
            answer = None
            if seen is not None and seen.kind is Kind.PERSON:
                at_person = meter.steps
            elif seen is not None:
                if step.tokens is not None:
                    tokens.append(step.tokens)
                answer = decide(_context(meter, at_person, tokens, signs), settings)
            yield Watched(step, seen, meter.steps, score, answer)


def _context(
    meter: Meter, at_person: int, tokens: Iterable[int], signs: tuple[Sign, ...]
) -> StepContext:
    went = progress_of(meter)
    # What comes from our own meter is as it has to be: nobody need look at each field again.
    return replace(
        _NOTHING_KNOWN,
        step_number=meter.steps,
        rework_ratio=went.rework_ratio,
        rework_of=went.actions,
        coherence_score=coherence(
            actions=went.actions, violations=0, rework=went.rework, progress=went.progress
        ),
        last_checkpoint_step=meter.steps,
        steps_since_person=meter.steps - at_person,
        steps_tokens=tuple(tokens),
        signs=signs,
    )


_PEOPLE: Final = frozenset(("user", "human"))
_OUTPUT: Final = re.compile(
    r"\s*(?:exit ?code: ?-?\d|<returncode>|<output>|observation:|code output:|traceback \()",
    re.IGNORECASE,
)
"""How output begins that agents without tools are given as if a person had said it."""
_CODE: Final = "```"
_HEAD: Final = re.compile(
    r"\s*(?:exit ?code: ?[^\n]*\n\s*(?:code output:)?|<returncode>[^\n]*\n\s*(?:<output>)?)",
    re.IGNORECASE,
)
"""What such output begins with and every time alike."""
_FAILED: Final = re.compile(r"\s*(?:exit ?code: ?|<returncode>)-?[1-9]", re.IGNORECASE)


def observations(steps: Iterable[PastStep], settings: Loops) -> Iterator[Observation | None]:
    """Yield what the meter sees of each step; None where a step adds nothing to it."""
    sight = _Sight(settings)
    return (sight.of(step) for step in steps)


class _Sight:
    """What the meter sees of one step after the other."""

    def __init__(self, settings: Loops) -> None:
        self._settings = settings
        self._said_before: set[bytes] = set()
        self._turn: int | None = None
        self._turns = 0
        self._is_given_output = False
        self._was_output = False

    def of(self, step: PastStep) -> Observation | None:
        was_output, self._was_output = self._was_output, False
        if step.tool is not None:
            if step.turn is None or step.turn != self._turn or step.text:
                self._turn, self._turns = step.turn, self._turns + 1
            seen = _call(step, step.tool, self._settings)
            # The calls of one message were all asked for before anything came of the first.
            return replace(seen, asked=self._turns, told=self._turns)
        self._turn = None
        if step.role not in _PEOPLE:
            return Observation.of_message(step.text, at=step.at)
        if _OUTPUT.match(step.text):
            self._was_output = self._is_given_output = True
            return _output(step)
        if was_output or (self._is_given_output and _CODE in step.text):
            # Agents that talk to each other are each other's users: who answers output, or writes
            # what is run, is one of them.
            return Observation.of_message(step.text, at=step.at)
        words = hashlib.sha256(step.text.encode("utf-8", "surrogatepass")).digest()
        if words in self._said_before:
            # Nobody says the very same twice: a harness that repeats its prompt is no person.
            return None
        self._said_before.add(words)
        return Observation.of_person(at=step.at)


def _call(step: PastStep, tool: str, settings: Loops) -> Observation:
    return call_seen(
        tool,
        arguments=step.arguments,
        arguments_digest=step.arguments_digest,
        result=step.result,
        result_digest=step.result_digest,
        result_size=step.result_size,
        failed=False if step.declined else step.failed,
        changed=None if step.ran else False,
        tests=None if step.result is None else counts_in(step.result),
        volatile=settings.volatile_arguments,
        polling=settings.polling_tools,
        text=step.text,
        at=step.at,
    )


def _output(step: PastStep) -> Observation:
    """Return what ran in an agent's message, by what came of it: the call itself is not known."""
    failed = _FAILED.match(step.text) is not None
    result = _HEAD.sub("", step.text, count=1).strip() or step.text
    return call_seen("", arguments="", result=result, failed=failed, at=step.at)
