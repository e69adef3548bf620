"""Does it stop runs that are stuck, and only those? Past runs with known outcomes, held or not.

    python benchmarks/step_accuracy.py

Reads `trajectories*.jsonl` or `.jsonl.gz` in `$INTERLOCK_SHARED/data` when that variable is set;
the data is optional and not part of the project. Beside Interlock stand simple detectors on the
same runs: fixed step limits, exact repeats, and the slope of spending in two readings. A run counts
as held at the first step whose score reaches the detector's limit; what comes after that step is
saved.

Tokens are counted three times. Recorded: what the run itself tells that its model was given and
made, of the runs that tell. Plain: what each step adds, a quarter of its characters. With context:
everything before the step and the step, since every step sends the whole conversation again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from interlock.adapters.histories.own_rows import OwnRun, run_from_json
from interlock.backtest.hindsight import judged, observations, watched
from interlock.model.past_run import PastStep
from interlock.model.progress_meter import Kind
from interlock.policy.config.run_sections import Loops, Steps
from interlock.policy.steps.step_figures import budget_slope
from labelled_data import data_path, read
from rates import Rate
from tradeoff_picture import Curve, Point

ENDS_ON_SUCCESS: Final = "intercode"
"""Sources of this name end a run when it succeeds: their lengths say nothing."""
CHARACTERS_PER_TOKEN: Final = 4
SLOPE_STEPS: Final = 10
PEOPLE: Final = frozenset(("user", "human"))
PAUSE_SCORES: Final = (70, 80, 90, 100, 105, 110, 120, 130, 150, 200, 300, 500, 1000)
"""The grid of `loops.pause-score-percent` that a threshold is chosen from."""
STEP_FIELDS: Final = (
    "i", "role", "turn", "text", "text_len", "tool", "args", "args_h", "result_excerpt", "result_h",
    "result_len", "err", "finish_reason", "tokens", "cost", "ts",
)  # fmt: skip
"""What a detector is told of a step."""

Scores = Sequence[float]


class Outcome(msgspec.Struct, frozen=True):
    """What is known of a run besides its steps; no detector sees it."""

    steps: tuple[Size, ...]
    success: bool | None = None
    source: str = "own"
    group: str | None = None


class Size(msgspec.Struct, frozen=True):
    """How long the texts of a step really were."""

    text: str | None = None
    text_len: int | None = None
    args: str | None = None
    result_excerpt: str | None = None
    result_len: int | None = None

    @property
    def tokens(self) -> float:
        """Roughly what the step adds to the conversation."""
        said = len(self.text or "") if self.text_len is None else self.text_len
        came = len(self.result_excerpt or "") if self.result_len is None else self.result_len
        return (said + len(self.args or "") + came) / CHARACTERS_PER_TOKEN


class Tokens(msgspec.Struct, frozen=True):
    """What each step costs, counted in three ways."""

    recorded: tuple[float, ...]
    """As told; empty where the run tells nothing."""
    plain: tuple[float, ...]
    with_context: tuple[float, ...]


class Past(msgspec.Struct, frozen=True):
    """A past run with its outcome, and how every detector judged it."""

    source: str
    group: str
    """The task: runs of one task are alike."""
    success: bool | None
    steps: int
    tokens: Tokens
    scores: Mapping[str, Scores]
    """By the name of the detector, one after every step."""
    paused: Mapping[int, int | None] = {}
    """Where the gate pauses or stops it, by the pause scores of a grid."""

    @property
    def ends_on_success(self) -> bool:
        """Whether success ended it."""
        return self.source.startswith(ENDS_ON_SUCCESS)


class Detector(msgspec.Struct, frozen=True):
    """A way to tell that a run is stuck: a score after every step, and limits for it."""

    name: str
    scores: Callable[[OwnRun], Scores]
    limits: tuple[float, ...]
    """The limits that it is usually run with."""
    sweep: tuple[float, ...]
    """The limits that its curve is drawn from."""


class Held(msgspec.Struct, frozen=True):
    """A run and the step after which it was held, if it was."""

    past: Past
    at: int | None


def main() -> None:
    """Print how every detector does."""
    path = data_path("trajectories")
    if path is None:
        print("trajectories: skipped: set INTERLOCK_SHARED (see benchmarks/README.md)")
        return
    runs = [each for each in read(path, past_from_json).rows if each.success is not None]
    for line in report(runs):
        print(line)


def past_from_json(line: bytes, pause_scores: Sequence[int] = ()) -> Past:
    """Read a run and have every detector judge it, and the gate at each of some pause scores."""
    run, outcome = run_from_json(line), msgspec.json.decode(line, type=Outcome)
    return Past(
        source=outcome.source,
        group=outcome.group or run.id,
        success=outcome.success,
        steps=len(run.steps),
        tokens=_tokens(run, [each.tokens for each in outcome.steps]),
        scores={each.name: tuple(each.scores(run)) for each in DETECTORS},
        paused={each: paused_at(run, each) for each in pause_scores},
    )


def question_from_json(line: bytes) -> Mapping[str, object]:
    """Return what another tool is told of a run: its steps, and nothing of how it ended."""
    run = msgspec.json.decode(line, type=dict[str, object])
    steps = msgspec.convert(run["steps"], list[dict[str, object]])
    return {"steps": [{name: step[name] for name in STEP_FIELDS if name in step} for step in steps]}


def _tokens(run: OwnRun, added: Sequence[float]) -> Tokens:
    recorded = tuple(float(step.tokens or 0) for step in run.steps)
    return Tokens(
        recorded if any(recorded) else (),
        tuple(added),
        tuple(
            0.0 if _is_said_to_it(step) else context
            for step, context in zip(run.steps, accumulate(added), strict=True)
        ),
    )


def with_context(steps: Sequence[PastStep], added: Sequence[float]) -> Iterator[float]:
    """Yield what each step costs: as told where most steps tell, or with all that was before."""
    told = [step.tokens for step in steps]
    known = sum(each is not None for each in told) * 3 >= len(steps)
    for step, tokens, context in zip(steps, told, accumulate(added), strict=True):
        if known:
            yield tokens or 0
        else:
            yield 0 if _is_said_to_it(step) else context


def _is_said_to_it(step: PastStep) -> bool:
    return step.role in PEOPLE and step.tool is None


def paused_at(run: OwnRun, pause_score_percent: int) -> int | None:
    """Return the step after which the gate pauses or stops a run, at some pause score."""
    every = watched(run.steps, Steps(), Loops(pause_score_percent=pause_score_percent))
    return next((place for place, each in enumerate(every) if each.is_held), None)


def our_scores(run: OwnRun) -> Scores:
    """Return Interlock's scores, raised to the limit from where the gate itself holds the run."""
    answer = judged(run, Steps(), Loops())
    held = answer.stop_at if answer.stop_at is not None else len(answer.scores)
    return [
        max(score, 1.0) if place == held else score for place, score in enumerate(answer.scores)
    ]


def step_counts(run: OwnRun) -> Scores:
    """Return how many steps the agent has taken."""
    return list(accumulate(step.tool is not None or step.role not in PEOPLE for step in run.steps))


def repeat_counts(run: OwnRun) -> Scores:
    """Return how often in a row the same call was made, whatever came back."""
    counts: list[float] = []
    last, count = None, 0
    for step, seen in zip(run.steps, observations(run.steps, Loops()), strict=True):
        if step.tool is not None and seen is not None and seen.kind is Kind.CALL:
            count = count + 1 if seen.call == last else 1
            last = seen.call
        counts.append(count)
    return counts


def seed_slopes(run: OwnRun) -> Scores:
    """Return the slope of all tokens used over the step, in tokens: the seed's reading."""
    return [regressed(list(accumulate(costs))) if len(costs) > 1 else 0.0 for costs in windows(run)]


def normalised_slopes(run: OwnRun) -> Scores:
    """Return by how much of their average the tokens per step grow with each step."""
    return [budget_slope(tuple(round(each) for each in costs)) or 0.0 for costs in windows(run)]


def windows(run: OwnRun) -> Iterator[Sequence[float]]:
    """Yield what the latest steps used, after every step."""
    added = [len(step.text) + len(step.arguments) + (step.result_size or 0) for step in run.steps]
    costs = [*with_context(run.steps, added)]
    for place in range(len(costs)):
        yield costs[max(0, place + 1 - SLOPE_STEPS) : place + 1]


def regressed(values: Sequence[float]) -> float:
    """Return the slope of the line of least squares."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    across = sum((place - middle) * (value - mean) for place, value in enumerate(values))
    return across / sum((place - middle) ** 2 for place in range(len(values)))


DETECTORS: Final = (
    Detector("interlock", our_scores, (1.0,), tuple(1.1**each / 1000 for each in range(85))),
    Detector("step limit", step_counts, (10, 20, 30, 50, 100), tuple(range(1, 131))),
    Detector("exact repeats", repeat_counts, (3, 4, 5), tuple(range(2, 17))),
    Detector("slope, the seed's", seed_slopes, (0.02,), tuple(2.0**each for each in range(-6, 20))),
    Detector("slope, normalised", normalised_slopes, (0.02,), tuple(e / 50 for e in range(1, 26))),
)


def report(runs: Sequence[Past]) -> Iterator[str]:
    """Yield a table of every detector at its usual limits, and ours for each source."""
    without = [each for each in runs if not each.ends_on_success]
    for title, chosen in (("all runs", runs), (f"without {ENDS_ON_SUCCESS}", without)):
        yield f"\n{title}"
        yield HEADING
        for detector in DETECTORS:
            for limit in detector.limits:
                yield row(f"{detector.name} {limit:g}", held(chosen, detector, limit))
    yield "\ninterlock, by source"
    yield HEADING
    for source in sorted({each.source for each in runs}):
        own = [each for each in runs if each.source == source]
        yield row(source, held(own, DETECTORS[0], 1.0))


HEADING: Final = (
    f"{'':30} {'false stops':>24} {'caught of failed':>26}   after the signal, of failed (of"
    " caught): tokens recorded, plain, with context"
)


def held(runs: Sequence[Past], detector: Detector, limit: float) -> list[Held]:
    """Return where each run was first held."""
    return [
        Held(past, next((at for at, each in enumerate(scores) if each >= limit), None))
        for past in runs
        for scores in (past.scores[detector.name],)
    ]


def row(name: str, runs: Sequence[Held]) -> str:
    """Return one line of a table."""
    good = [each for each in runs if each.past.success]
    failed = [each for each in runs if not each.past.success]
    caught = [each for each in failed if each.at is not None]
    shares = ", ".join(
        f"{saved(failed, cost):6.1%} ({saved(caught, cost):4.0%})" for cost in COSTS.values()
    )
    return f"{name:30} {_rate(good):>24} {_rate(failed):>26}   {shares}"


def _rate(runs: Sequence[Held]) -> str:
    """Return how many were held, with the 95 % interval."""
    counted = Rate.of(each.at is not None for each in runs)
    low, high = counted.interval
    return f"{counted.hits}/{counted.total} {counted.share:.1%} [{low:.1%}, {high:.1%}]"


Cost = Callable[[Past], Sequence[float]]
COSTS: Final[Mapping[str, Cost]] = {
    "recorded": lambda past: past.tokens.recorded,
    "plain": lambda past: past.tokens.plain,
    "with context": lambda past: past.tokens.with_context,
}


def parts(runs: Sequence[Held], cost: Cost) -> list[tuple[str, float, float]]:
    """Return for each run that tells its cost: its group, what came after the signal, and all."""
    return [
        (each.past.group, sum(told[each.at + 1 :]) if each.at is not None else 0.0, sum(told))
        for each in runs
        if (told := cost(each.past))
    ]


def saved(runs: Sequence[Held], cost: Cost) -> float:
    """Return the share of what the runs cost that comes after the signal."""
    told = parts(runs, cost)
    total = sum(whole for _, _, whole in told)
    return sum(part for _, part, _ in told) / total if total else 0.0


def curves(runs: Sequence[Past]) -> list[Curve]:
    """Return the trade-off of every detector: caught and saved against false stops."""
    return [
        Curve(
            detector.name,
            [point(held(runs, detector, limit)) for limit in detector.sweep],
            [point(held(runs, detector, limit)) for limit in detector.limits],
        )
        for detector in DETECTORS
    ]


def point(runs: Sequence[Held]) -> Point:
    """Return one point of a trade-off."""
    failed = [each for each in runs if not each.past.success]
    return Point(
        Rate.of(each.at is not None for each in runs if each.past.success).share,
        Rate.of(each.at is not None for each in failed).share,
        saved(failed, COSTS["with context"]),
    )


if __name__ == "__main__":
    main()
