"""What a run's steps came to: the meter that loops, rework and progress are read from.

An `Observation` is one thing that happened, reduced to fingerprints; `noted` folds it into the
`Meter`. The meter remembers a bounded number of steps, so that neither its size nor the cost of
one more step grows with the length of a run.
"""

from __future__ import annotations

import enum
import hashlib
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from interlock.model.review import TestCounts

MOST_CALLS: Final = 48
"""So many calls are remembered: nearly five rounds of the longest loop."""
MOST_SAID: Final = 16
"""So many messages are remembered."""
LONGEST_TEXT: Final = 160
"""So much of a message is remembered."""
SOMEWHERE: Final = "?"
"""A place that nobody can tell."""
ALIKE: Final = 85
"""From this likeness on, of 100, two messages say the same."""
_MOST_CONTENTS: Final = 128
_SHORTEST_WAIT_US: Final = 500_000
_MOST_BESIDE: Final = 16
"""So many calls side by side are one attempt at most."""
_FEWEST_WORDS: Final = 5
"""A shorter message may well be said twice."""


class Kind(enum.StrEnum):
    """Who did something."""

    CALL = "call"
    """The agent called a tool."""
    MESSAGE = "message"
    """The agent said something and called nothing."""
    PERSON = "person"
    """A person spoke."""
    CHECK = "check"
    """Tests were run to see for oneself: no step of the agent's."""


class ChangedFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that a call changed, by fingerprints."""

    path: str
    before: str | None
    """What it held; None where it did not exist or nobody looked."""
    after: str | None


class Observation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to a run, as the meter sees it."""

    kind: Kind
    tool: str = ""
    call: str = ""
    """Fingerprint of the tool and its arguments, without those that always change."""
    shape: str = ""
    """The same with every number taken out."""
    numbers: tuple[int, ...] = ()
    """The numbers that were taken out."""
    result: str | None = None
    """Digest of what came back; None where nobody saw it."""
    silent: bool = False
    """Whether what came back says nothing: empty, an acknowledgement, or a passing trouble."""
    brief: bool = False
    """Whether it is so short that it tells something only together with the call."""
    error: str | None = None
    """What went wrong, without what differs each time; None where nothing did."""
    complaint: str = ""
    """Fingerprint of what went wrong with its figures: two that agree say that nothing moved."""
    place: str = ""
    """Fingerprint of where it was to change something; empty where nobody can tell."""
    failing: int | None = None
    """How many tests failed or errors were found; None where nobody counted."""
    waiting: bool = False
    """Whether what came back says: not yet."""
    changed: bool = False
    """Whether it changed something outside of the conversation."""
    files: tuple[ChangedFile, ...] = ()
    rewritten: int = 0
    """Lines of the run's own that it wrote over."""
    tests: TestCounts | None = None
    text: str = ""
    """The beginning of what was said."""
    at: int | None = None
    """Microseconds since 1970."""
    turn: int | None = None
    """The step of the run that it is part of; None where nobody asks before steps."""
    asked: int | None = None
    """The record that it was asked with; None where nobody asked."""
    told: int = 0
    """The latest record when it was reported on."""

    @classmethod
    def of_message(
        cls, text: str, *, at: int | None = None, turn: int | None = None
    ) -> Observation:
        """Return that the agent said something."""
        return cls(kind=Kind.MESSAGE, text=text[:LONGEST_TEXT], at=at, turn=turn)

    @classmethod
    def of_person(cls, *, at: int | None = None) -> Observation:
        """Return that a person spoke."""
        return cls(kind=Kind.PERSON, at=at)

    @classmethod
    def of_check(cls, tests: TestCounts, *, at: int | None = None) -> Observation:
        """Return what a check of the work counted."""
        return cls(kind=Kind.CHECK, tests=tests, at=at)


class PastCall(msgspec.Struct, frozen=True, array_like=True):
    """A call, as the meter remembers it."""

    step: int
    trace: str
    """Fingerprint of the call with what came of it."""
    outcome: str
    """What came of it: its error, or else its result; empty where nobody saw it."""
    error: str
    new: bool
    """Whether it brought anything that had not been seen before."""
    rework: bool
    """Whether it did work over again."""
    waiting: bool
    silent: bool
    at: int | None
    turn: int = 0
    """The step of the run that it was part of."""
    attempt: int = 0
    """The first of the calls that were made side by side with it: together they are one attempt."""
    complaint: str = ""
    """What went wrong, with its figures."""
    place: str = ""
    """Where it changed something; empty where it changed nothing."""
    failing: int | None = None
    """How many tests failed or errors were found."""
    passing: int | None = None
    """How many tests passed."""

    @property
    def call(self) -> str:
        """Fingerprint of the call alone."""
        return self.trace.partition(">")[0]


class PastMessage(msgspec.Struct, frozen=True, array_like=True):
    """A message, as the meter remembers it."""

    step: int
    text: str
    echoes: int
    """How many of the messages before it said the same."""
    turn: int = 0
    """The step of the run that it was part of."""


class Counting(msgspec.Struct, frozen=True, array_like=True):
    """Calls in a row that differ in one number, which goes up or down evenly."""

    shape: str = ""
    outcome: str = ""
    numbers: tuple[int, ...] = ()
    gap: tuple[int, int] | None = None
    """Which number changes, and by how much."""
    calls: int = 0
    brief: bool = False


class Meter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is remembered of a run's steps."""

    steps: int = 0
    """How many steps there were: calls and messages."""
    since: int = 0
    """The last step before which nothing counts as a repeat: then a person spoke, or something
    was changed for good."""
    cleared: int = 0
    """The last step before which nothing is held against the run at all: then a person spoke, or
    a check found less wrong than ever, or no more wrong and more that passes."""
    calls: tuple[PastCall, ...] = ()
    said: tuple[PastMessage, ...] = ()
    echoes: int = 0
    """Messages since then that said what had been said before."""
    failures: int = 0
    """How many of the latest attempts failed, without one between them that did not."""
    counting: Counting = Counting()
    contents: tuple[str, ...] = ()
    """What files have held, by fingerprints of path and content."""
    fewest_failing: int | None = None
    """The fewest tests that ever failed."""
    told: int = 0
    """The latest record when the first call of the latest attempt was reported on."""


def noted(meter: Meter, observation: Observation) -> Meter:
    """Return the meter after one more observation."""
    match observation.kind:
        case Kind.CALL:
            return _after_call(meter, observation)
        case Kind.MESSAGE:
            return _after_message(meter, observation)
        case Kind.PERSON:
            return replace(
                meter,
                since=meter.steps,
                cleared=meter.steps,
                echoes=0,
                failures=0,
                counting=Counting(),
            )
        case Kind.CHECK:
            return _after_check(meter, observation)
        case _:
            assert_never(observation.kind)


def _after_call(meter: Meter, observed: Observation) -> Meter:
    step = meter.steps + 1
    outcome = _outcome(observed)
    trace = f"{observed.call}>{outcome}"
    new = _is_new(meter, observed, outcome, trace)
    attempt = _attempt(meter, observed, step)
    called = PastCall(
        step=step,
        trace=trace,
        outcome=outcome,
        error=observed.error or "",
        new=new,
        rework=_is_put_back(meter, observed)
        or (not new and _is_repeat(meter, observed, trace, attempt)),
        waiting=observed.waiting and not _hurries(meter, observed),
        silent=observed.silent,
        at=observed.at,
        turn=_turn(observed, step),
        attempt=attempt,
        complaint=observed.complaint,
        place=(observed.place or SOMEWHERE) if observed.changed else "",
        failing=observed.failing,
        passing=None if observed.tests is None else observed.tests.passed,
    )
    passes_more = _passes_more(meter, observed)
    moved_on = passes_more or (new and observed.changed)
    # Whoever gets on may use the same words for it each time.
    echoes = 0 if called.new else _echoes(meter, observed.text)
    return replace(
        meter,
        steps=step,
        since=step if moved_on else meter.since,
        cleared=step if passes_more or _finds_less(meter, observed) else meter.cleared,
        calls=(*meter.calls[1 - MOST_CALLS :], called),
        said=_with_said(meter, step, observed, echoes),
        echoes=0 if moved_on else meter.echoes + (echoes > 0),
        failures=_failures(meter, observed, is_beside=attempt != step),
        counting=meter.counting
        if attempt != step
        else _counted_on(meter.counting, observed, outcome),
        told=meter.told if attempt != step else observed.told,
        contents=_with_contents(meter.contents, observed.files),
        fewest_failing=_fewest(meter, observed),
    )


def _attempt(meter: Meter, observed: Observation, step: int) -> int:
    """Return the first of the calls that were all asked for before it was reported on."""
    if not meter.calls or observed.asked is None or observed.asked > meter.told:
        return step
    first = meter.calls[-1].attempt
    return step if step - first >= _MOST_BESIDE else first


def _turn(observed: Observation, step: int) -> int:
    """Return the step of the run; where nobody asks before steps, the meter's own count is one."""
    return step if observed.turn is None else observed.turn


def _failures(meter: Meter, observed: Observation, *, is_beside: bool) -> int:
    """Return how many attempts in a row failed: one fails when all of its calls do."""
    if observed.error is None:
        return 0
    return meter.failures if is_beside else meter.failures + 1


def _after_check(meter: Meter, observed: Observation) -> Meter:
    if not _passes_more(meter, observed):
        return meter
    return replace(
        meter,
        since=meter.steps,
        cleared=meter.steps,
        echoes=0,
        fewest_failing=_fewest(meter, observed),
    )


def _hurries(meter: Meter, observed: Observation) -> bool:
    """Return whether it looks again at once, as nobody does who waits for something."""
    last = meter.calls[-1].at if meter.calls else None
    return observed.at is not None and last is not None and observed.at - last < _SHORTEST_WAIT_US


def _outcome(observed: Observation) -> str:
    """Return what came of it: errors are told apart by what is wrong, not by all their words."""
    if observed.error is not None:
        return (
            f"!{hashlib.sha256(observed.error.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
        )
    return observed.result or ""


def _is_new(meter: Meter, observed: Observation, outcome: str, trace: str) -> bool:
    """Return whether it brought something: a result, an error, a content, fewer failing tests."""
    if _passes_more(meter, observed):
        return True
    if observed.files:
        return any(_key(each) not in meter.contents for each in observed.files if _differs(each))
    if observed.error is None and (
        observed.changed or observed.silent or observed.brief or not outcome
    ):
        # What came back tells little by itself, so that it may be new with every other call.
        return trace not in [each.trace for each in meter.calls]
    return outcome not in [each.outcome for each in meter.calls]


def _is_put_back(meter: Meter, observed: Observation) -> bool:
    """Return whether it writes over the run's own lines, or puts a file back."""
    if observed.rewritten:
        return True
    return any(_key(each) in meter.contents for each in observed.files if _differs(each))


def _is_repeat(meter: Meter, observed: Observation, trace: str, attempt: int) -> bool:
    """Return whether the same call came to the same with nothing changed in between."""
    if observed.waiting:
        return False
    # The same edit a second time means that something in between has taken it back.
    since = 0 if observed.changed else meter.since
    return trace in [each.trace for each in meter.calls if since < each.step < attempt]


def _differs(file: ChangedFile) -> bool:
    return file.after != file.before


def _key(file: ChangedFile) -> str:
    return f"{file.path}={file.after}"


def _with_contents(contents: tuple[str, ...], files: tuple[ChangedFile, ...]) -> tuple[str, ...]:
    if not files:
        return contents
    before = [f"{each.path}={each.before}" for each in files]
    new = dict.fromkeys((*before, *(_key(each) for each in files)))
    return (*contents, *(key for key in new if key not in contents))[-_MOST_CONTENTS:]


def _passes_more(meter: Meter, observed: Observation) -> bool:
    """Return whether fewer tests fail than ever before."""
    if observed.tests is None or not observed.tests.executed:
        return False
    return meter.fewest_failing is None or observed.tests.failed < meter.fewest_failing


def _finds_less(meter: Meter, observed: Observation) -> bool:
    """Return whether the same check has never found so little wrong, as far as is remembered.

    Where it finds as much wrong as ever, more that passes than ever is progress all the same.
    """
    if observed.failing is None:
        return False
    earlier = [
        each for each in meter.calls if each.failing is not None and each.call == observed.call
    ]
    if not earlier:
        return False
    fewest = min(each.failing or 0 for each in earlier)
    if observed.failing != fewest or observed.tests is None:
        return observed.failing < fewest
    return observed.tests.passed > max(each.passing or 0 for each in earlier)


def _fewest(meter: Meter, observed: Observation) -> int | None:
    if observed.tests is not None and _passes_more(meter, observed):
        return observed.tests.failed
    return meter.fewest_failing


def _counted_on(counting: Counting, observed: Observation, outcome: str) -> Counting:
    """Return how far the agent has counted, with the same outcome for every number."""
    if observed.silent or observed.changed or not outcome:
        # Nobody can tell that nothing came of it.
        return Counting()
    gap = None
    if counting.shape == observed.shape and counting.outcome == outcome:
        if counting.numbers == observed.numbers:
            # To try the same number twice is no way out of it.
            return counting
        gap = _gap(counting.numbers, observed.numbers)
    calls = 1
    if gap is not None:
        calls = counting.calls + 1 if counting.gap in (None, gap) else 2
    return Counting(observed.shape, outcome, observed.numbers, gap, calls, observed.brief)


def _gap(before: tuple[int, ...], now: tuple[int, ...]) -> tuple[int, int] | None:
    """Return which number changed and by how much, if it was exactly one."""
    if len(before) != len(now):
        return None
    changed = [
        place for place, pair in enumerate(zip(before, now, strict=True)) if pair[0] != pair[1]
    ]
    return (changed[0], now[changed[0]] - before[changed[0]]) if len(changed) == 1 else None


def _after_message(meter: Meter, observed: Observation) -> Meter:
    step = meter.steps + 1
    echoes = _echoes(meter, observed.text[:LONGEST_TEXT])
    return replace(
        meter,
        steps=step,
        said=_with_said(meter, step, observed, echoes),
        echoes=meter.echoes + (echoes > 0),
    )


def _with_said(
    meter: Meter, step: int, observed: Observation, echoes: int
) -> tuple[PastMessage, ...]:
    if not observed.text:
        return meter.said
    said = PastMessage(step, observed.text[:LONGEST_TEXT], echoes, _turn(observed, step))
    return (*meter.said[1 - MOST_SAID :], said)


def _echoes(meter: Meter, text: str) -> int:
    """Return how many of the remembered messages say the same."""
    if not text:
        return 0
    if text.count(" ") < _FEWEST_WORDS - 1:
        # So few words may well be said twice, but not twice in a row.
        last = [each for each in meter.said[-1:] if each.step == meter.steps > meter.since]
        return len([each for each in last if each.text == text])
    # Runs that say nothing need not load it.
    from rapidfuzz.fuzz import ratio  # noqa: PLC0415 - the same

    # What was said before the last thing that got it on does not count any more.
    got_on = max((each.step for each in meter.calls if each.new), default=0)
    earlier = [each.text for each in meter.said if meter.since < each.step >= got_on]
    return len([each for each in earlier if ratio(each, text, score_cutoff=ALIKE)])
