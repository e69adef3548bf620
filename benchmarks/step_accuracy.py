"""Does it stop runs that are stuck, and only those? Past runs with known outcomes, held or not.

    python benchmarks/step_accuracy.py

Reads `$INTERLOCK_SHARED/data/trajectories.dev.jsonl.gz` when that variable is set; the data is
optional and not part of the project. Beside Interlock stand simple detectors on the same runs:
fixed step limits, exact repeats, and the slope of spending in two readings. A run counts as held
at the first step whose score reaches the detector's limit; what comes after that step is saved.

Tokens are counted twice. Plain: what each step adds, a quarter of its characters. With context:
what the model was given and made, as told, or else everything before the step and the step, since
every step sends the whole conversation again.
"""

from __future__ import annotations

import argparse
import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

import msgspec

from accuracy import interval
from interlock.adapters.histories.own_rows import OwnRun, run_from_json
from interlock.backtest.hindsight import judged, observations
from interlock.model.past_run import PastStep
from interlock.model.progress_meter import Kind
from interlock.policy.config.run_sections import Loops, Steps
from interlock.policy.steps.step_figures import budget_slope
from tradeoff_picture import Curve, Point, picture

PICTURE: Final = Path(__file__).parent.parent / "docs" / "pictures" / "steps-tradeoff.svg"
ENDS_ON_SUCCESS: Final = "intercode"
"""Sources of this name end a run when it succeeds: their lengths say nothing."""
CHARACTERS_PER_TOKEN: Final = 4
SLOPE_STEPS: Final = 10
PEOPLE: Final = frozenset(("user", "human"))

Scores = Sequence[float]


class Outcome(msgspec.Struct, frozen=True):
    """What is known of a run besides its steps; no detector sees it."""

    source: str
    success: bool | None
    steps: tuple[Size, ...]


class Size(msgspec.Struct, frozen=True):
    """How long the texts of a step really were."""

    text_len: int | None = None
    args: str | None = None
    result_len: int | None = None


class Past(msgspec.Struct, frozen=True):
    """A past run with its outcome."""

    run: OwnRun
    source: str
    success: bool
    plain: tuple[float, ...]
    """Tokens that each step adds."""
    with_context: tuple[float, ...]
    """Tokens that each step costs."""

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
    """Print how every detector does, and draw the trade-off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where the picture goes")
    print_report(parser.parse_args().picture)


def print_report(where: Path = PICTURE) -> None:
    """Judge every run with every detector, print how that went and draw the picture."""
    path = data_path()
    if path is None:
        print("trajectories: skipped: set INTERLOCK_SHARED (see benchmarks/README.md)")
        return
    runs = past_runs(path)
    scored = {each: [(past, each.scores(past.run)) for past in runs] for each in DETECTORS}
    for line in report(scored):
        print(line)
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(picture(curves(scored), goal=Point(0.01, 0.15)), encoding="utf-8")
    print(f"\nthe trade-off is drawn in {where.name}")


def data_path() -> Path | None:
    """Return where the runs lie, if they are there."""
    shared = os.environ.get("INTERLOCK_SHARED")
    path = Path(shared) / "data" / "trajectories.dev.jsonl.gz" if shared else None
    return path if path is not None and path.exists() else None


def past_runs(path: Path) -> list[Past]:
    """Read the runs whose outcome is known."""
    decoder = msgspec.json.Decoder(Outcome)
    with gzip.open(path) as lines:
        told = [(decoder.decode(line), run_from_json(line)) for line in lines]
    return [
        past(run, outcome, success=outcome.success)
        for outcome, run in told
        if outcome.success is not None
    ]


def past(run: OwnRun, outcome: Outcome, *, success: bool) -> Past:
    """Return a run with what each of its steps cost."""
    added = [
        sum((size.text_len or 0, len(size.args or ""), size.result_len or 0)) / CHARACTERS_PER_TOKEN
        for size in outcome.steps
    ]
    return Past(run, outcome.source, success, tuple(added), tuple(with_context(run.steps, added)))


def with_context(steps: Sequence[PastStep], added: Sequence[float]) -> Iterator[float]:
    """Yield what each step costs: as told where most steps tell, or with all that was before."""
    told = [step.tokens for step in steps]
    known = sum(each is not None for each in told) * 3 >= len(steps)
    for step, tokens, context in zip(steps, told, accumulate(added), strict=True):
        if known:
            yield tokens or 0
        else:
            yield 0 if step.role in PEOPLE and step.tool is None else context


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


def report(scored: dict[Detector, list[tuple[Past, Scores]]]) -> Iterator[str]:
    """Yield a table of every detector at its usual limits, and ours for each source."""
    for title, chosen in (("all runs", False), (f"without {ENDS_ON_SUCCESS}", True)):
        yield f"\n{title}"
        yield HEADING
        for detector, runs in scored.items():
            for limit in detector.limits:
                rows = held(runs, limit)
                kept = [each for each in rows if not (chosen and each.past.ends_on_success)]
                yield row(f"{detector.name} {limit:g}", kept)
    yield "\ninterlock, by source"
    yield HEADING
    ours = held(scored[DETECTORS[0]], 1.0)
    for source in sorted({each.past.source for each in ours}):
        yield row(source, [each for each in ours if each.past.source == source])


HEADING: Final = (
    f"{'':30} {'false stops':>24} {'caught of failed':>26}   after the signal, of failed (of"
    " caught): steps, tokens plain, tokens with context"
)


def held(runs: Sequence[tuple[Past, Scores]], limit: float) -> list[Held]:
    """Return where each run was first held."""
    return [
        Held(past, next((place for place, each in enumerate(scores) if each >= limit), None))
        for past, scores in runs
    ]


def row(name: str, runs: Sequence[Held]) -> str:
    """Return one line of a table."""
    good = [each for each in runs if each.past.success]
    failed = [each for each in runs if not each.past.success]
    caught = [each for each in failed if each.at is not None]
    shares = ", ".join(
        f"{saved(failed, cost):6.1%} ({saved(caught, cost):4.0%})"
        for cost in (one_each, plain_tokens, context_tokens)
    )
    return f"{name:30} {rate(good):>24} {rate(failed):>26}   {shares}"


def rate(runs: Sequence[Held]) -> str:
    """Return how many were held, with the 95 % interval."""
    hits, total = sum(each.at is not None for each in runs), len(runs)
    if not total:
        return "-"
    low, high = interval(hits, total)
    return f"{hits}/{total} {hits / total:.1%} [{low:.1%}, {high:.1%}]"


def one_each(past: Past) -> Sequence[float]:
    """Count steps."""
    return [1.0] * len(past.run.steps)


def plain_tokens(past: Past) -> Sequence[float]:
    """Count the tokens that each step adds."""
    return past.plain


def context_tokens(past: Past) -> Sequence[float]:
    """Count the tokens that each step costs."""
    return past.with_context


def saved(runs: Sequence[Held], cost: Callable[[Past], Sequence[float]]) -> float:
    """Return the share of what the runs cost that comes after the signal."""
    total = sum(sum(cost(each.past)) for each in runs)
    after = sum(sum(cost(each.past)[each.at + 1 :]) for each in runs if each.at is not None)
    return after / total if total else 0.0


def curves(scored: dict[Detector, list[tuple[Past, Scores]]]) -> list[Curve]:
    """Return the trade-off of every detector: caught and saved against false stops."""
    return [
        Curve(
            detector.name,
            [point(held(runs, limit)) for limit in detector.sweep],
            [point(held(runs, limit)) for limit in detector.limits],
        )
        for detector, runs in scored.items()
    ]


def point(runs: Sequence[Held]) -> Point:
    """Return one point of a trade-off."""
    good = [each.at is not None for each in runs if each.past.success]
    failed = [each for each in runs if not each.past.success]
    return Point(
        sum(good) / len(good),
        sum(each.at is not None for each in failed) / len(failed),
        saved(failed, context_tokens),
    )


if __name__ == "__main__":
    main()
