"""What the answers before a run's steps come to, in words."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.model.step_statistics import StepStatistics

_MOST_RANKED = 5


def statistics_rows(known: StepStatistics) -> tuple[tuple[str, str], ...]:
    """Return each figure behind its label; the text is empty where nobody knows it."""
    return (("reasons", _reasons(known)), ("means", _means(known)), ("signal", _signal(known)))


def ranking(counts: Mapping[str, int]) -> str:
    """Return the most frequent, each with its count, and how many more there are."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{name} {count:,}" for name, count in ranked[:_MOST_RANKED]]
    more = len(ranked) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def matches_text(rules: Mapping[str, int], would_have: Mapping[str, int]) -> str:
    """Return how often observed rules matched; an action is one, however many of them match it."""
    several = sum(rules.values()) > sum(would_have.values())
    return ranking(rules) + ("; one action can match several rules" if several else "")


def _reasons(known: StepStatistics) -> str:
    ranked = sorted(known.reason_shares.items(), key=lambda item: (-item[1], item[0]))
    shares = ", ".join(f"{code} {share:.0%}" for code, share in ranked)
    return f"{shares} of {known.evaluations:,} answers" if shares else ""


def _means(known: StepStatistics) -> str:
    figures = (("slope", known.mean_slope, "+.3g"), ("rework", known.mean_rework_ratio, ".1%"))
    return ", ".join(f"{name} {value:{form}}" for name, value, form in figures if value is not None)


def _signal(known: StepStatistics) -> str:
    if known.first_signal_step is None:
        return ""
    used = known.tokens_after_signal
    since = "" if used is None else f"; {used:,} tokens since"
    return f"first paused or stopped at step {known.first_signal_step}{since}"
