"""Where would a past run have been paused or stopped? Judged step by step, as it went.

After each step of the agent the continue gate is asked with what was known then. Checkpoints
count as taken when they were due, budgets are not known, and outcomes are not looked at.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, cast

import msgspec

from interlock.errors import InputError
from interlock.model.progress_meter import Kind, Meter, Observation, noted
from interlock.model.step import ContinueDecision, StepContext, StepDecision, StepReason
from interlock.policy.config.run_sections import Loops, Steps
from interlock.policy.evidence.tool_output import counts_in
from interlock.policy.steps.call_observation import call_seen
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.loop_detector import progress_of, signs_of, stuck_score
from interlock.policy.steps.step_figures import coherence

_SLOPE_STEPS: Final = 10
_DIGITS: Final = 3


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Where a past run would have been held, and how it looked after every step."""

    run_id: object
    stop_at: int | None
    """The step after which it pauses or stops; depends on no later one."""
    decision: StepDecision
    reasons: tuple[StepReason, ...]
    scores: tuple[float, ...]
    """One number per step: the higher, the more speaks for stopping."""


def judged(run: Run, steps: Steps, progress: Loops) -> Judged:
    """Return where a run would first have been paused or stopped."""
    held: ContinueDecision | None = None
    stop_at: int | None = None
    scores: list[float] = []
    for place, (answer, score) in enumerate(_answers(run, steps, progress)):
        scores.append(round(score, _DIGITS))
        if held is None and answer is not None and answer.decision.rank >= StepDecision.PAUSE.rank:
            held, stop_at = answer, place
    return Judged(
        run_id=run.run_id,
        stop_at=stop_at,
        decision=StepDecision.CONTINUE if held is None else held.decision,
        reasons=() if held is None else held.reasons,
        scores=tuple(scores),
    )


def _answers(
    run: Run, steps: Steps, progress: Loops
) -> Iterator[tuple[ContinueDecision | None, float]]:
    """Yield after each step what the gate says, and how much speaks for being stuck.

    Only a step of the agent is answered: on what a person says the agent may yet act.
    """
    meter, at_person, score = Meter(), 0, 0.0
    tokens: deque[int] = deque(maxlen=_SLOPE_STEPS)
    for step, seen in zip(run.steps, observations(run.steps, progress), strict=True):
        if seen is None:
            yield None, score
            continue
        meter = noted(meter, seen)
        score = stuck_score(meter, progress)
        if seen.kind is Kind.PERSON:
            at_person = meter.steps
            yield None, score
            continue
        if step.tokens is not None:
            tokens.append(step.tokens)
        yield decide(_context(meter, at_person, tokens, progress), steps), score


def _context(meter: Meter, at_person: int, tokens: Iterable[int], settings: Loops) -> StepContext:
    went = progress_of(meter)
    return StepContext(
        step_number=meter.steps,
        rework_ratio=went.rework_ratio,
        rework_of=went.actions,
        coherence_score=coherence(
            actions=went.actions, violations=0, rework=went.rework, progress=went.progress
        ),
        last_checkpoint_step=meter.steps,
        steps_since_person=meter.steps - at_person,
        steps_tokens=tuple(tokens),
        signs=signs_of(meter, settings),
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
_CUT: Final = re.compile(r"…(?:\[\+\d+\])?$")
"""How a text ends of which only the beginning is given."""
_MICRO: Final = 1_000_000


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a past run: a message, or a call with what came back."""

    role: str
    text: str
    tool: str | None
    arguments: str
    arguments_digest: str | None
    """Digest of all of them; None where they are given in full."""
    result: str | None
    """None where nobody saw it."""
    result_digest: str | None
    result_size: int | None
    failed: bool | None
    tokens: int | None
    at: int | None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A past run."""

    run_id: object
    steps: tuple[Step, ...]


def run_from_json(line: bytes) -> Run:
    """Return the run that a line of JSON describes."""
    row = _object(_decoded(line), "a run")
    steps = row.get("steps")
    if not isinstance(steps, list):
        raise InputError('`steps` is not a list: expected {"run_id": ..., "steps": [...]}')
    rows = cast("Sequence[object]", steps)
    return Run(
        run_id=row.get("run_id"),
        steps=tuple(_step(_object(step, f"steps[{place}]")) for place, step in enumerate(rows)),
    )


def observations(steps: Sequence[Step], settings: Loops) -> Iterator[Observation | None]:
    """Yield what the meter sees of each step; None where a step adds nothing to it."""
    said_before: set[bytes] = set()
    for step in steps:
        if step.tool is not None:
            yield _call(step, step.tool, settings)
        elif step.role not in _PEOPLE:
            yield Observation.of_message(step.text, at=step.at)
        elif _OUTPUT.match(step.text):
            yield _output(step)
        else:
            words = hashlib.sha256(step.text.encode("utf-8", "surrogatepass")).digest()
            # Nobody says the very same twice: a harness that repeats its prompt is no person.
            yield None if words in said_before else Observation.of_person(at=step.at)
            said_before.add(words)


def _call(step: Step, tool: str, settings: Loops) -> Observation:
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


def _output(step: Step) -> Observation:
    """Return what ran in an agent's message, by what came of it: the call itself is not known."""
    failed = _FAILED.match(step.text) is not None
    result = _HEAD.sub("", step.text, count=1).strip() or step.text
    return call_seen("", arguments="", result=result, failed=failed, at=step.at)


def _step(row: Mapping[str, object]) -> Step:
    arguments, result = _plain(row.get("args")), row.get("result_excerpt")
    tool = row.get("tool")
    given = (result, row.get("result_h"), row.get("result_len"))
    is_seen = any(each is not None for each in given)
    is_cut = not arguments or _CUT.search(arguments) is not None
    return Step(
        role=_plain(row.get("role")) or "assistant",
        text=_plain(row.get("text")),
        tool=None if tool is None else _plain(tool),
        arguments=arguments,
        arguments_digest=_text(row.get("args_h")) if is_cut else None,
        result=_CUT.sub("", _plain(result)) if is_seen else None,
        result_digest=_text(row.get("result_h")),
        result_size=_whole(row.get("result_len")),
        failed=failed if isinstance(failed := row.get("err"), bool) else None,
        tokens=_tokens(row.get("tokens")),
        at=_microseconds(row.get("ts")),
    )


def _decoded(line: bytes) -> object:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(line)
    try:
        # This one takes half a character as well, as cut-off text has.
        return json.loads(line)
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8") from error
    except ValueError as error:
        raise InputError(f"not JSON: {str(error)[:1].lower()}{str(error)[1:]}") from error
    except RecursionError as error:
        raise InputError("not read: nested too deeply") from error


def _object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{place} is not an object")
    return cast("Mapping[str, object]", value)


def _plain(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _tokens(value: object) -> int | None:
    """Return what the model was given and made; None where neither is known."""
    if not isinstance(value, dict):
        return None
    counts = cast("Mapping[str, object]", value)
    known = [each for name in ("in", "out") if (each := _whole(counts.get(name))) is not None]
    return sum(known) if known else None


def _microseconds(moment: object) -> int | None:
    """Return a moment, given in seconds or as a date; None where it cannot be read."""
    try:
        if isinstance(moment, str):
            return int(datetime.fromisoformat(moment).timestamp() * _MICRO)
        return int(moment * _MICRO) if isinstance(moment, int | float) else None
    except (ValueError, OverflowError):
        return None
