"""What do a step's and a stop's decision cost, early and late in a run?

Everything is measured that happens between the record and the answer: the facts from the run's
state, the detectors, the gates and the arbiter. A repeat counter is the baseline beside it: what
most detectors do, and all that they do.

    python benchmarks/going.py
"""

from __future__ import annotations

from clock import line, median_us
from interlock.model.budget import Amounts, BudgetBalance, Limits
from interlock.model.control_state import ControlState
from interlock.model.progress_meter import Observation, noted
from interlock.model.run import RunState
from interlock.model.step import StepContext
from interlock.model.stop import FinishReason, LastEvent, StopContext
from interlock.policy.arbiter import ruling
from interlock.policy.config.stop_section import DEFAULT
from interlock.policy.steps.call_observation import call_seen
from interlock.policy.steps.continue_gate import decide as decide_step
from interlock.policy.stops.stop_gate import decide as decide_stop
from interlock.service.governor import Governor
from interlock.service.ledgers import open_governor
from interlock.service.questions.step_question import step_facts
from interlock.service.records.context import Context

STEPS = (10, 1_000, 100_000)
TEXTS = {
    "short": "Now let me run the tests.",
    "typical": "I've updated the parser and its tests. " * 12 + "Next, I'll run the whole suite:",
    "long": "The output of the build is below. " * 3_000 + "Let me fix the two failing tests.",
}
_BALANCES = (
    BudgetBalance(
        scope="run/r",
        used=Amounts(tokens=50_000, tool_calls=200),
        limits=Limits(tokens=10_000_000, tool_calls=1_000_000),
    ),
)

_CALLS = [f"call {number}" for number in range(64)]


def main() -> None:
    """Print one row per figure, ratios beside."""
    governor = open_governor(":memory:", policy=None, clock=None, keys=None)
    try:
        print(line("what", "measured", "goal", "beside it"))
        _steps(governor)
        _stops()
    finally:
        governor.ledger.close()


def _steps(governor: Governor) -> None:
    first, naive = 0.0, median_us(_repeats, rounds=2_000)
    for steps in STEPS:
        run = _run_after(steps)
        took = median_us(lambda run=run: _step(governor.context, run), rounds=2_000)
        first = first or took
        beside = f"{took / first:.2f}x step {STEPS[0]}, {took / naive:.0f}x a repeat counter"
        print(line(f"step decision at step {steps:,}", f"{took:.1f} µs", "<= 50 µs", beside))
    meter, seen = _run_after(STEPS[1]).control.meter, _seen(7)
    observed = median_us(lambda: noted(meter, seen), rounds=2_000)
    print(line("noting what a call came to", f"{observed:.1f} µs"))


def _step(context: Context, run: RunState) -> object:
    facts = step_facts(context, run, StepContext(), balances=_BALANCES, now=run.started_at + 10**9)
    decision = decide_step(facts, context.policy.config.steps)
    return ruling((), decision, credit=5)


def _stops() -> None:
    first = 0.0
    for name, text in TEXTS.items():
        context = StopContext(
            text=text,
            last_event=LastEvent.TOOL_RESULT,
            finish_reason=FinishReason.STOP,
            tool_ratio=0.8,
            n_prev_turns=9,
        )
        took = median_us(lambda context=context: decide_stop(context, DEFAULT), rounds=2_000)
        first = first or took
        beside = f"{len(text):,} characters, {took / first:.2f}x the short one"
        print(line(f"stop decision, {name} message", f"{took:.1f} µs", "<= 100 µs", beside))


def _run_after(steps: int) -> RunState:
    """Return a run that has taken so many ordinary steps: reads, searches, edits, tests."""
    meter = ControlState().meter
    for number in range(steps):
        meter = noted(meter, _seen(number))
    control = ControlState(
        steps=steps,
        actions=steps,
        meter=meter,
        tokens_at_step=steps * 4_000,
        step_tokens=tuple(4_000 + step for step in range(10)),
        checkpoint_step=max(0, steps - 5),
        person_step=max(0, steps - 50),
    )
    return RunState(
        id="r", started_at=1, control=control, spent=Amounts(tokens=(steps + 1) * 4_000)
    )


def _seen(number: int) -> Observation:
    kind = number % 4
    if kind == 3:
        return call_seen(
            "Bash", arguments='{"command":"pytest -q"}', result=f"{number % 7 + 1} failed, 3 passed"
        )
    name = ("Read", "Grep", "Edit")[kind]
    return call_seen(name, arguments=f'{{"path":"file{number}.py"}}', result=f"content {number}")


def _repeats() -> int:
    """Return how often the last call came in a row: the baseline."""
    count = 0
    for call in reversed(_CALLS):
        if call != _CALLS[-1]:
            break
        count += 1
    return count


if __name__ == "__main__":
    main()
