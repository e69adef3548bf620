"""Where would a past run have been paused or stopped? Judged step by step, as it went.

After each step of the agent the continue gate is asked with what was known then. Checkpoints
count as taken when they were due, budgets are not known, and outcomes are not looked at.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

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
    watch = Watch(steps, loops)
    held: ContinueDecision | None = None
    stop_at: int | None = None
    scores: list[float] = []
    for place, step in enumerate(run.steps):
        answer = watch.after(step)
        scores.append(round(watch.score, _DIGITS))
        if held is None and answer is not None and answer.decision.rank >= StepDecision.PAUSE.rank:
            held, stop_at = answer, place
    return Judged(
        run_id=run.id,
        stop_at=stop_at,
        decision=StepDecision.CONTINUE if held is None else held.decision,
        reasons=() if held is None else held.reasons,
        scores=tuple(scores),
    )


class Watch:
    """The continue gate, asked after every step of a past run; what it keeps does not grow."""

    def __init__(self, steps: Steps, loops: Loops) -> None:
        self._steps, self._loops = steps, loops
        self._sight = _Sight(loops)
        self._at_person = 0
        self._tokens: deque[int] = deque(maxlen=_SLOPE_STEPS)
        self.meter = Meter()
        self.seen: Observation | None = None
        """What was seen of the last step."""
        self.score = 0.0
        """How much speaks for being stuck: the higher, the more."""

    def after(self, step: PastStep) -> ContinueDecision | None:
        """Return what the gate says after a step.

        Only a step of the agent is answered: on what a person says the agent may yet act.
        """
        self.seen = seen = self._sight.of(step)
        if seen is None:
            return None
        meter = self.meter = noted(self.meter, seen)
        signs, self.score = signs_and_score(meter, self._loops)
        if seen.kind is Kind.PERSON:
            self._at_person = meter.steps
            return None
        if step.tokens is not None:
            self._tokens.append(step.tokens)
        return decide(_context(meter, self._at_person, self._tokens, signs), self._steps)


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

    def of(self, step: PastStep) -> Observation | None:
        if step.tool is not None:
            return _call(step, step.tool, self._settings)
        if step.role not in _PEOPLE:
            return Observation.of_message(step.text, at=step.at)
        if _OUTPUT.match(step.text):
            return _output(step)
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
        failed=step.failed,
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
