"""What calibration found, for a terminal: the chosen point, the curve, the patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from interlock.backtest.calibrate.calibration import (
    Calibration,
    Conclusion,
    Interval,
    Point,
    Slice,
)
from interlock.backtest.calibrate.calibration_report import CalibrationReport
from interlock.backtest.calibrate.outcomes import MarkedRule
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    drawable,
    heading_lines,
    labelled_lines,
    labelled_rows,
    text_width,
    wrapped_lines,
)
from interlock.model.recommendation import PatchOperation
from interlock.service.policies.policy_patch import patched
from interlock.views import units
from interlock.views.audit_view import LEAST_MARKS

_BAR: Final = 30
_BESIDE_A_BAR: Final = 52
_MOST_SLICES: Final = 12


class _Words(NamedTuple):
    """How the two gates are spoken of."""

    title: str
    key: str
    good: str
    bad: str
    held: str


_STEPS: Final = _Words(
    "Step gate",
    "loops.pause-score-percent",
    good="good runs",
    bad="failed runs",
    held="held",
)
_STOPS: Final = _Words(
    "Stop gate",
    "stops.continue-at",
    good="finished turns",
    bad="unfinished turns",
    held="sent on",
)


def calibration_lines(report: CalibrationReport) -> Iterator[Line]:
    """Yield everything there is to say; where nothing can be concluded, that first."""
    if not report.is_conclusive:
        yield from _refusal_lines(report)
    known = ", ".join(
        f"{count:,} {_ORIGINS[name]}" for name, count in sorted(report.outcomes.items())
    )
    yield from labelled_rows(
        ("promise", f"at most {_percent(report.promise)} by mistake, where the 95 % interval ends"),
        ("runs", f"{report.runs:,}{f': {known}' if known else ''}"),
        ("turns", f"{units.counted(report.ends, 'end')} with a label" if report.ends else ""),
        indent="",
    )
    if report.steps is not None:
        yield from _gate_lines(report.steps, _STEPS)
    if report.stops is not None:
        yield from _gate_lines(report.stops.threshold, _STOPS)
        yield from labelled_lines("points", _points(report), indent="  ")
    if report.rules:
        yield from _rule_lines(report.rules)
    yield from _patch_lines("Patch", "paste it into your policy file", report.patch)
    yield from _patch_lines("Suggestion", "look at the rule first", report.suggested)


def _refusal_lines(report: CalibrationReport) -> Iterator[Line]:
    stops = None if report.stops is None else report.stops.threshold
    for found, words in ((report.steps, _STEPS), (stops, _STOPS)):
        if found is not None and found.conclusion is Conclusion.TOO_FEW:
            known = f"{found.now.good:,} of {found.needed:,} {words.good} known"
            yield (Span(f"Not enough: {known}.", Tone.CAREFUL),)
    if not report.runs and not report.ends:
        yield (Span("Not enough: no run and no end of a turn was read.", Tone.CAREFUL),)
    yield from wrapped_lines((), _MORE)
    yield ()


_MORE: Final = (
    "Tell how more runs ended: rows `run_id,outcome` with `--outcomes FILE`, `--git REPO`, or"
    " `interlock audit mark`; name more histories; or promise less, as with `--promise 5`."
)
_ORIGINS: Final = {
    "file": "known from the file",
    "marks": "from marks",
    "history": "from the record itself",
    "git": "from git",
    "unknown": "not known",
}


def patch_of(report: CalibrationReport) -> str:
    """Return the patch as TOML; a comment where nothing changes."""
    if not report.patch:
        return "# nothing to change: see `interlock calibrate`\n"
    return patched("", report.patch)


def _points(report: CalibrationReport) -> str:
    stops = report.stops
    if stops is None or not stops.points:
        return "no other points catch more beyond chance"
    return ", ".join(f"{name} = {value}" for name, value in stops.points.items())


def _gate_lines(found: Calibration, words: _Words) -> Iterator[Line]:
    yield from heading_lines(words.title, words.key)
    tone = Tone.GOOD if found.is_conclusive else Tone.CAREFUL
    yield from labelled_lines("chosen", _chosen(found, words), tone)
    if found.chosen is not None:
        yield from labelled_rows(*_rates(found, found.chosen, words))
    if any(each.false_stops or each.caught for each in found.curve):
        yield from labelled_rows(*_unseen(found, words))
        yield ()
        yield from _curve_lines(found)
    if found.conclusion is Conclusion.TOO_FEW:
        return
    for kind in ("agent", "model"):
        own = [each for each in found.slices if each.kind == kind]
        if own:
            yield from _slice_lines(kind, own, words)


def _chosen(found: Calibration, words: _Words) -> str:
    now = found.now
    match found.conclusion:
        case Conclusion.TOO_FEW:
            return (
                f"nothing: {_are(now.good, words.good)} too few, {found.needed:,} are needed to"
                f" promise {_percent(found.search.promise)}"
                f"{_with_held(found, words)}"
            )
        case Conclusion.BROKEN:
            return (
                f"nothing: of the {words.good} more are {words.held} at every value than promised:"
                f" {_share(found.held_always, now.good)}; promise less"
            )
        case Conclusion.KEPT:
            return f"{now.threshold}, as it is: no other value catches more beyond chance"
        case Conclusion.CHANGED:
            value = now.threshold if found.chosen is None else found.chosen.threshold
            return f"{value} instead of {now.threshold}"


def _with_held(found: Calibration, words: _Words) -> str:
    held = found.held_always
    return f" while {held:,} {_verb(held)} {words.held} at every value" if held else ""


def _are(count: int, plural: str) -> str:
    """Return so many of something, with the verb that fits."""
    return f"{count:,} {plural.removesuffix('s') if count == 1 else plural} {_verb(count)}"


def _verb(count: int) -> str:
    return "is" if count == 1 else "are"


def _rates(found: Calibration, point: Point, words: _Words) -> Iterator[tuple[str, str]]:
    drawn, now = found.drawn, found.now
    yield (
        "mistaken",
        f"{_share(point.false_stops, point.good)} {words.good} {words.held}"
        f"{_between(drawn and drawn.false_rate)}; the exact 95 % interval ends at"
        f" {_percent(point.bound)}",
    )
    yield (
        "caught",
        f"{_share(point.caught, point.bad)} {words.bad}{_between(drawn and drawn.caught_rate)}",
    )
    if point.cost:
        yield (
            "saved",
            f"{units.short_count(point.saved)} of their {units.short_count(point.cost)} tokens"
            f" came afterwards ({_percent(point.saved / point.cost)})",
        )
    if now.threshold != point.threshold:
        yield (
            "before",
            f"{now.false_stops:,} {words.held} by mistake and {now.caught:,} caught at"
            f" {now.threshold}",
        )
    if drawn is not None:
        low, high = drawn.threshold.low, drawn.threshold.high
        none = f"; nothing in {drawn.unchosen} of 100" if drawn.unchosen else ""
        yield "redrawn", f"{low:g} to {high:g} is chosen in 95 of 100 draws of the groups{none}"


def _unseen(found: Calibration, words: _Words) -> Iterator[tuple[str, str]]:
    parts = {"time": "the first 70 %", "group": "70 % of the groups"}[found.split]
    if found.tried is None or found.seen is None:
        yield "unseen", f"not tried: {parts} alone cannot prove the promise"
        return
    seen = found.seen
    yield (
        "unseen",
        f"{found.tried.threshold}, chosen on {parts}: of the others"
        f" {_share(seen.false_stops, seen.good)} {words.good} are {words.held} by mistake and"
        f" {_share(seen.caught, seen.bad)} {words.bad} are caught",
    )


def _curve_lines(found: Calibration) -> Iterator[Line]:
    width = max(8, min(_BAR, text_width() - _BESIDE_A_BAR))
    full, empty = drawable("█░", "#.")
    yield (Span(f"  {'value':>6}  {'by mistake':>15}  {'at most':>8}  caught", Tone.FAINT),)
    for point in found.curve:
        filled = round(width * point.caught_rate)
        is_kept = point.bound <= found.search.promise
        chosen = found.chosen
        is_chosen = chosen is not None and chosen.threshold == point.threshold
        note = " chosen" if is_chosen else ""
        note += " now" if point.threshold == found.now.threshold else ""
        note += " not searched" if point.threshold < found.search.least else ""
        yield (
            Span(f"  {point.threshold:>6}  ", Tone.STRONG if is_chosen else Tone.PLAIN),
            Span(f"{point.false_stops:>7,} {_percent(point.false_rate):>7}  "),
            Span(f"{_percent(point.bound):>8}  ", Tone.GOOD if is_kept else Tone.CAREFUL),
            Span(full * filled, Tone.GOOD if is_kept else Tone.CAREFUL),
            Span(empty * (width - filled), Tone.FAINT),
            Span(f" {_percent(point.caught_rate):>6}"),
            Span(note, Tone.STRONG if is_chosen else Tone.FAINT),
        )


def _slice_lines(kind: str, slices: Sequence[Slice], words: _Words) -> Iterator[Line]:
    yield ()
    yield (Span(f"  by {kind}", Tone.STRONG),)
    for each in slices[:_MOST_SLICES]:
        point = each.point
        if point is None:
            missing = max(0, each.needed - each.good)
            told = f"{each.good:,} {words.good}, {missing:,} more are needed"
        else:
            told = (
                f"{point.threshold}: {_share(point.false_stops, point.good)} by mistake,"
                f" {_share(point.caught, point.bad)} caught"
            )
        yield (Span(f"    {each.name or 'not known':<28}  "), Span(told, Tone.FAINT))
    if len(slices) > _MOST_SLICES:
        yield (Span(f"    and {len(slices) - _MOST_SLICES:,} more (--json)", Tone.FAINT),)


def _rule_lines(rules: Sequence[MarkedRule]) -> Iterator[Line]:
    yield from heading_lines("Rules", "by your marks")
    for each in rules:
        tone = Tone.BAD if each.is_suspect else Tone.PLAIN
        of = each.wrong + each.right
        counted = f"{each.wrong:,} of {of:,}"
        told = f"wrong {_share(each.wrong, of) if of >= LEAST_MARKS else counted}"
        yield (Span(f"  {each.rule:<32}  "), Span(told, tone))


def _patch_lines(title: str, note: str, patch: Sequence[PatchOperation]) -> Iterator[Line]:
    if patch:
        yield from heading_lines(title, note)
        for line in patched("", patch).splitlines():
            yield (Span(f"  {line}", Tone.CODE),)


def _share(hits: int, total: int) -> str:
    rate = f" ({_percent(hits / total)})" if total else ""
    return f"{hits:,} of {total:,}{rate}"


def _between(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f", {_percent(interval.low)} to {_percent(interval.high)} when redrawn"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share < 0.1 else f"{100 * share:.1f} %"
