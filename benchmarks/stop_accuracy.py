"""How often is the end of a turn judged right, beside the original formula on the same rows?

    python benchmarks/stop_accuracy.py            rates, cost of a decision, and every mistake
    python benchmarks/stop_accuracy.py --brief    without the mistakes

Reads `stops*.jsonl` or `.jsonl.gz` in `$INTERLOCK_SHARED/data` (and `sessions*` for what evidence
is worth) when that variable is set; the data is optional and not part of the project. Files may
come from other formats: those of chats know no `finish_reason`.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from clock import line, median_us
from interlock.model.stop import StopContext
from interlock.policy.config.stop_section import DEFAULT, SEED, Stops
from interlock.policy.stops.stop_gate import decide
from interlock.policy.stops.stop_row import context_from_row
from labelled_data import data_folder, data_path, files_of, lines_of, read
from rates import rate

FED: Final = ("text", "last_event", "finish_reason", "tool_ratio", "n_prev_turns", "model")
"""What a decision is told; everything else in a row is the evidence of its label."""
GROUPS: Final = {
    ("continue", "counterfactual"): "continue",
    ("continue", "strong"): "premature",
    ("finish", "strong"): "strong",
    ("finish", "medium"): "medium",
    ("finish", "ask"): "ask",
}
"""Which rows count, by label and strength; weak and ambiguous ones do not."""
UNFINISHED: Final = ("continue", "premature")
CONTINUE_AT: Final = (40, 45, 50, 55, 60, 65, 70, 75, 80, 90, 100, 120, 1000)
"""The grid of `stops.continue-at` that a threshold is chosen from."""
BAND: Final = 10


class Row(msgspec.Struct, frozen=True):
    """One labelled end of a turn."""

    source: str
    group: str
    """What the label says; empty where it does not count."""
    fed: Mapping[str, object]
    context: StopContext

    @property
    def is_finished(self) -> bool:
        """Whether it must not be sent on."""
        return self.group not in UNFINISHED


Judge = Callable[[StopContext], bool]


def main() -> None:
    """Print rates with intervals, the cost of a decision, and what was judged wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="leave the list of mistakes out")
    print_report(with_mistakes=not parser.parse_args().brief)


def print_report(*, with_mistakes: bool) -> None:
    """Judge every labelled end of a turn and print how that went."""
    paths = files_of("stops", data_folder())
    if not paths:
        print("stops: skipped: set INTERLOCK_SHARED (see benchmarks/README.md)")
        return
    files = [(path.name, counted(read(path, row_from_json).rows)) for path in paths]
    rows = [row for _, own in files for row in own]
    for name, own in files:
        print(f"\n# {name}")
        for text in report(own):
            print(text)
    for text in (*bands(rows), *cost(rows), *evidence_report()):
        print(text)
    for text in mistakes(rows) if with_mistakes else ():
        print(text)


def row_from_json(line: bytes) -> Row:
    """Return a labelled end of a turn."""
    raw = msgspec.json.decode(line, type=dict[str, object])
    fed = {field: raw.get(field) for field in FED}
    labelled = (str(raw.get("label")), str(raw.get("strength", "strong")))
    return Row(str(raw.get("source", "own")), GROUPS.get(labelled, ""), fed, context_from_row(fed))


def counted(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that count."""
    return [row for row in rows if row.group]


def ours(settings: Stops) -> Judge:
    """Return the gate under a profile."""
    return lambda context: decide(context, settings).goes_on


def goes_on_by(context: StopContext) -> Mapping[str, bool]:
    """Return what the default profile, the seed's and the original formula say, by name."""
    return {name: judge(context) for name, judge in JUDGES.items()}


def goes_on_at(context: StopContext) -> tuple[bool, ...]:
    """Return whether a turn is sent on, at each threshold of the grid."""
    return tuple(
        decide(
            context,
            msgspec.structs.replace(DEFAULT, continue_at=at, warn_at=min(at, DEFAULT.warn_at)),
        ).goes_on
        for at in CONTINUE_AT
    )


INTENT = (
    "let me continue,i'll continue,i will continue,now i'll,next, i'll,moving on to,proceed with,"
    "now let me,i'll now,next step,continuing with,now i need to,i still need to,remaining steps"
)
COMPLETION = (
    "task is complete,i'm done,all changes have been made,the implementation is complete,"
    "finished implementing,all files have been,everything is now,successfully completed,"
    "i have completed,the bug is fixed"
)
SUMMARY = (
    "to summarize,in summary,here's a summary,let me summarize,overview of changes,"
    "here's what was done,recap of,let me know if,when you're ready,waiting for your,please review"
)


def original(context: StopContext) -> bool:
    """Judge by the original formula: five signals, substrings, no vetoes."""
    text = None if context.text is None else context.text.lower()
    reason = None if context.finish_reason is None else context.finish_reason.value
    score = {"tool_calls": 30, None: 15}.get(reason, 0)
    score += 25 if context.last_event and context.last_event.value == "tool_result" else 0
    if text is not None and not holds(text, COMPLETION) and holds(text, INTENT):
        score += 25
    score += 0 if text is not None and holds(text, SUMMARY) else 10
    score += 10 if (context.tool_ratio or 0) > 0.5 else 0
    return score >= 60


def holds(text: str, phrases: str) -> bool:
    """Tell whether a text holds one of the phrases, as the original looks for them."""
    return any(phrase in text for phrase in re.split(r",(?! )", phrases))


JUDGES: Final[Mapping[str, Judge]] = {
    "default profile": ours(DEFAULT),
    "seed profile, with vetoes": ours(SEED),
    "the original formula": original,
}


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rates of each judge, in all and by source."""
    for name, judge in JUDGES.items():
        judged = [(row, judge(row.context)) for row in rows]
        yield f"\n## {name}"
        yield from rates(judged, with_goals=True)
        for source in sorted({row.source for row in rows}):
            yield f"  {source}"
            yield from rates([each for each in judged if each[0].source == source])


def rates(judged: Sequence[tuple[Row, bool]], *, with_goals: bool = False) -> Iterator[str]:
    """Yield recall on continues and false continues on each kind of finish."""
    kinds = (
        ("recall, counterfactual continues", ("continue",), ">= 60 %"),
        ("recall, really premature", ("premature",), ""),
        ("false continues, finish strong", ("strong",), ""),
        ("false continues, finish medium", ("medium",), ""),
        ("false continues, finish strong+medium", ("strong", "medium"), "<= 3 %"),
        ("false continues, ask", ("ask",), "<= 1 %"),
    )
    for name, groups, goal in kinds:
        outcomes = [goes_on for row, goes_on in judged if row.group in groups]
        if outcomes:
            yield rate(f"    {name}", outcomes, goal=goal if with_goals else "")


def bands(rows: Sequence[Row]) -> Iterator[str]:
    """Yield how many of the ends in each band of the score were unfinished."""
    yield "\n## unfinished, by the score of the default profile"
    found: dict[int, list[bool]] = {}
    for row in rows:
        score = max(decide(row.context, DEFAULT).score, -BAND)
        found.setdefault(score // BAND, []).append(not row.is_finished)
    for band, outcomes in sorted(found.items()):
        name = "vetoed" if band < 0 else f"{BAND * band} to {BAND * band + BAND - 1}"
        yield rate(f"    {name}", outcomes)


def cost(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what a decision costs on real rows, and at growing lengths of text."""
    yield "\n## cost of a decision"
    times = [median_us(lambda row=row: decide(row.context, DEFAULT), rounds=5) for row in rows[::5]]
    yield line("median of real rows", f"{statistics.median(times):.0f} us", "<= 100 us")
    for length in (100, 1_000, 10_000, 1_000_000):
        text = ("The tests pass and `main` is fixed. " * (length // 36 + 1))[:length]
        context = StopContext(text=f"{text}\nNow let me run the linter.")
        took = median_us(lambda context=context: decide(context, DEFAULT))
        yield line(f"a text of {length:,} characters", f"{took:.0f} us")


def evidence_report() -> Iterator[str]:
    """Yield how often evidence is on record in mid-run, and at ends that a person accepted."""
    path = data_path("sessions")
    if path is None:
        return
    found: dict[tuple[str, str], list[bool]] = {}
    for session in map(msgspec.json.decode, lines_of(path)):
        for moment, todo, check in moments(session["steps"]):
            for kind, holds_now in (("open to-do", todo), ("failing check", check)):
                if holds_now is not None:
                    found.setdefault((kind, moment), []).append(holds_now)
    yield "\n## evidence, where its kind is on record at all"
    for (kind, moment), outcomes in sorted(found.items()):
        yield rate(f"    {kind}, {moment}", outcomes)


CHECKS = re.compile(
    r"\b(?:go test|pytest|(?:npm|bun|pnpm|yarn) (?:run )?test|cargo test|jest|vitest|lint"
    r"|typecheck)\b"
)
FAILURES = re.compile(r"\b(?:FAIL|FAILED|[1-9]\d* (?:failed|fail|failures))\b")


def moments(
    steps: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[str, bool | None, bool | None]]:
    """Yield each message: mid-run or at an end, and what was on record before it."""
    todo: bool | None = None
    check: bool | None = None
    listed = list(steps)
    for step, after in zip(listed, [*listed[1:], None], strict=True):
        arguments = step.get("args") or ""
        if step.get("tool") in {"TodoWrite", "update_plan"}:
            todo = "pending" in arguments or "in_progress" in arguments
        if step.get("tool") and CHECKS.search(arguments):
            failed = FAILURES.search(step.get("result_excerpt") or "")
            check = bool(step.get("err")) or failed is not None
        if step.get("role") != "assistant" or not step.get("text"):
            continue
        if step.get("tool"):
            yield "mid-run", todo, check
        elif after is None or after.get("role") == "user":
            yield "at the end", todo, check


def mistakes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield every false continue, and how the missed ones end."""
    for row in rows:
        decision = decide(row.context, DEFAULT)
        end = " ".join((row.context.text or "").split())[-160:]
        if decision.goes_on and row.is_finished:
            yield f"FALSE CONTINUE {row.group:7} {row.source[:12]:12} {decision.score:3} {end!r}"
        elif not decision.goes_on and not row.is_finished:
            veto = decision.veto.value if decision.veto else ""
            yield f"MISSED {row.source[:12]:12} {decision.score:3} {veto:14} {end!r}"


if __name__ == "__main__":
    main()
