"""Past runs made of steps: some that work, some that go round and round."""

from __future__ import annotations

import random
from collections.abc import Iterator

from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastRun, PastStep


def person(text: str, at: int | None = None) -> PastStep:
    return PastStep(role="user", text=text, at=at)


def words(text: str, **fields: object) -> PastStep:
    return PastStep(text=text, **fields)  # pyright: ignore[reportArgumentType] - as a test names them


def call(arguments: str, result: str, **fields: object) -> PastStep:
    given: dict[str, object] = {"tool": "Bash", "arguments": arguments, "result": result}
    given["usage"] = TokenUsage(input_tokens=100)
    return PastStep(**{**given, **fields})  # pyright: ignore[reportArgumentType] - the same


def working(steps: int, name: str) -> Iterator[PastStep]:
    """Yield calls each of which brings something new."""
    for number in range(steps):
        yield call(f"cat {name}-{number}.py", f"def {name}_{number}(): ...")


def going_round(times: int) -> Iterator[PastStep]:
    """Yield one call with one result, again and again."""
    for _ in range(times):
        yield call("grep -rn needle src", "src/a.py:1: needle in a haystack")


def run_of(dice: random.Random, number: int, *, times: int, success: bool) -> PastRun:
    """Return a run that works, goes round so often, and works again."""
    steps = [
        person("find the needle"),
        *working(dice.randint(1, 12), "before"),
        *going_round(times),
        *working(dice.randint(1, 6), "after"),
        words("The needle is found and the haystack is gone."),
    ]
    return PastRun(id=f"r{number}", steps=steps, client="made", success=success)
