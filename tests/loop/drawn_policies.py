"""Policies for simulated loops, drawn by chance out of a few that are compiled only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from gates.policies import gates_with
from interlock import CompiledPolicy

SINKS: Final = ("ops", "audit")
JOBS: Final = ("mend", "tidy", "nightly")
_ON: Final = {
    "mend": ("ci/*",),
    "tidy": ("deploy/*", "agent/loop.complete", "agent/loop.retro.complete"),
    "nightly": ("heartbeat",),
}
_MONEY: Final = (("0.05", "0.012"), ("0.04", "0.025"), ("0.5", "0.012"))
"""What deciding may cost on a day and in a cycle: little enough that it runs out."""
_PEOPLE: Final = ("start-loop", "process-notes", "emit-alert")
_THEMES: Final[Sequence[Mapping[str, str]]] = (
    {},
    {"mode": "shadow", "emit-alert": "allow"},
    {"mode": "enforce", "decider": "model"},
    {"mode": "enforce", "decider": "rules", "start-loop": "allow", "emit-alert": "allow"},
    {"mode": "enforce", **dict.fromkeys(_PEOPLE, "require-confirmation")},
)
"""What a history is about: anything, the shadow mode, a model, jobs, people."""
_POLICIES: Final = 12
"""How many policies there are to draw from, for each of these."""


class DrawnPolicies:
    """What a history goes by, and what everything comes to its end under."""

    def __init__(self, random: Random) -> None:
        money, theme = random.choice(_MONEY), random.choice(_THEMES)
        self.day_micros, self.cycle_micros = (round(float(each) * 1_000_000) for each in money)
        self.drawn: Final = [
            gates_with(policy_text(Random(random.randrange(_POLICIES)), money, theme))
            for _ in range(3)
        ]
        self.calm: Final = gates_with(calm_text(money))

    def all(self) -> Sequence[CompiledPolicy]:
        """Return every policy that a worker may go by."""
        return (*self.drawn, self.calm)


def policy_text(random: Random, money: tuple[str, str], theme: Mapping[str, str]) -> str:
    """Return a policy as somebody might have it; what it may spend, and its theme, are given."""
    may = ("allow", "allow", "allow", "require-confirmation", "off")
    asks = ("allow", "allow", "allow", "require-confirmation", "require-confirmation", "off")
    chosen = {
        "mode": random.choice(("enforce",) * 12 + ("shadow", "off")),
        "decider": random.choice(("rules", "rules", "model")),
        "start-loop": random.choice(asks),
        "apply-retro-recommendation": random.choice(asks),
        "process-notes": random.choice(may),
        "emit-alert": random.choice(may),
        **theme,
    }
    numbers = {
        "debounce-seconds": random.choice((0, 2, 30)),
        "max-depth": random.randint(1, 3),
        "start-loop-per-hour": random.randint(1, 3),
        "process-notes-per-hour": random.randint(1, 3),
        "apply-retro-recommendation-per-hour": random.randint(1, 2),
        "emit-alert-per-hour": random.randint(1, 3),
    }
    jobs = [job for job in JOBS if random.random() < 0.8]
    on = {job: _ON[job] if random.random() < 0.7 else () for job in jobs}
    sinks = [sink for sink in SINKS if random.random() < 0.8]
    return _written(chosen, numbers, on, sinks, money)


def calm_text(money: tuple[str, str]) -> str:
    """Return the policy under which everything comes to its end."""
    may = ("start-loop", "apply-retro-recommendation", "process-notes", "emit-alert")
    chosen = {"mode": "enforce", "decider": "rules", **dict.fromkeys(may, "allow")}
    numbers = {"debounce-seconds": 2, "max-depth": 3, **{f"{each}-per-hour": 99 for each in may}}
    return _written(chosen, numbers, dict.fromkeys(JOBS, ()), SINKS, money)


def _written(
    chosen: dict[str, str],
    numbers: dict[str, int],
    on: dict[str, tuple[str, ...]],
    sinks: Sequence[str],
    money: tuple[str, str],
) -> str:
    day, cycle = money
    lines = ["version = 1", "[loop]", 'model = "sim:m"', 'events = ["deploy/*"]']
    lines += [f"day-cost-usd = {day}", f"cycle-cost-usd = {cycle}", "max-output-tokens = 100"]
    lines += [f'{key} = "{value}"' for key, value in chosen.items()]
    lines += [f"{key} = {value}" for key, value in numbers.items()]
    for job, names in on.items():
        lines += ["[[loop.jobs]]", f'name = "{job}"', 'command = ["true"]', f"on = {list(names)}"]
    for sink in sinks:
        lines += ["[[loop.sinks]]", f'name = "{sink}"', 'kind = "webhook"']
        lines += ['url = "https://hooks.example.com/x"', 'secret-variable = "NO_SECRET"']
    lines += ["[[budgets.prices]]", 'model = "m"', "input-usd = 1.0", "output-usd = 4.0"]
    lines += ["[approvals]", "expires-seconds = 1800"]
    return "\n".join([*lines, ""])
