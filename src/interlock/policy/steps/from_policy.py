"""What the policy says about going on, as the gates want it told."""

from __future__ import annotations

from interlock.policy.config.run_sections import Loops, Steps
from interlock.policy.steps.progress_settings import ProgressSettings
from interlock.policy.steps.settings import StepSettings


def step_settings(steps: Steps) -> StepSettings:
    """Return the limits of the continue gate."""
    return StepSettings(
        max_consecutive_steps=steps.max_consecutive,
        max_total_steps=steps.max_total,
        checkpoint_interval=steps.checkpoint_interval,
        min_coherence=_share(steps.min_coherence_percent),
        # What is not below the one limit is at least in the band above it.
        restricted_coherence=_share(steps.read_only_below_percent),
        full_coherence=_share(steps.restricted_below_percent),
        max_rework_ratio=_share(steps.max_rework_percent),
        max_uncertainty=_share(steps.max_uncertainty_percent),
        max_slope=_share(steps.max_slope_percent),
        delay_ms=steps.delay_ms,
        max_delay_ms=steps.max_delay_ms,
        cooldown_ms=steps.cooldown_ms,
    )


def progress_settings(loops: Loops) -> ProgressSettings:
    """Return the limits that loops and lack of progress are judged by."""
    return ProgressSettings(
        # The meter compares names in lower case.
        volatile=tuple(name.lower() for name in loops.volatile_arguments),
        polling=loops.polling_tools,
        pause_repeats=loops.pause_repeats,
        stop_repeats=loops.stop_repeats,
        patience=loops.patience,
        pause_score=_share(loops.pause_score_percent),
    )


def _share(percent: int) -> float:
    # One division gives the float nearest to the share: 40 percent are 0.4 and nothing else.
    return percent / 100
