"""How often are commands judged right? Against a labelled set, with intervals and every miss.

Reads `$INTERLOCK_SHARED/data/commands.dev.jsonl.gz` when that variable is set; the data is
optional and not part of the project.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from interlock import Decision, Verdict, evaluate_command

ALARMS = frozenset((Decision.REQUIRE_CONFIRMATION, Decision.BLOCK))


class Row(msgspec.Struct, frozen=True):
    """One labelled command."""

    id: str
    command: str
    label: str
    tier: str
    domain: str
    source: str
    gold: bool
    rule: str | None = None


class Judged(msgspec.Struct, frozen=True):
    """A row and what Interlock says to it."""

    row: Row
    verdict: Verdict

    @property
    def alarm(self) -> bool:
        """Whether a person would be asked, or the command refused."""
        return self.verdict.decision in ALARMS


def main() -> None:
    """Print rates with intervals, and what was judged wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="leave the list of mistakes out")
    print_report(with_mistakes=not parser.parse_args().brief)


def print_report(*, with_mistakes: bool) -> None:
    """Judge every labelled command and print how that went."""
    path = data_path()
    if path is None:
        print("accuracy: skipped: set INTERLOCK_SHARED (see benchmarks/README.md)")
        return
    judged = [Judged(row, evaluate_command(row.command)) for row in rows_of(path)]
    for line in report(judged):
        print(line)
    for line in mistakes(judged) if with_mistakes else ():
        print(line)


def data_path() -> Path | None:
    """Return where the labelled commands lie, if they are there."""
    shared = os.environ.get("INTERLOCK_SHARED")
    path = Path(shared) / "data" / "commands.dev.jsonl.gz" if shared else None
    return path if path is not None and path.exists() else None


def rows_of(path: Path) -> list[Row]:
    """Read the labelled commands."""
    decoder = msgspec.json.Decoder(Row)
    with gzip.open(path) as lines:
        return [decoder.decode(line) for line in lines]


def report(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the rates: caught of what must be caught, alarms on what must pass."""
    dangerous = gold(judged, "block")
    harmless = gold(judged, "allow")
    executed = [
        each for each in judged if each.row.tier == "executed" and each.row.label == "allow"
    ]
    yield rate("caught, gold block rows", [each.alarm for each in dangerous], goal=">= 95 %")
    yield rate("false alarms, gold allow rows", [each.alarm for each in harmless], goal="<= 1.5 %")
    yield rate("alarms, executed allow rows", [each.alarm for each in executed], goal="<= 0.5 %")
    for domain in sorted({each.row.domain for each in dangerous}):
        chosen = [each.alarm for each in dangerous if each.row.domain == domain]
        yield rate(f"  caught in {domain}", chosen)
    for source in sorted({each.row.source for each in dangerous}):
        chosen = [each.alarm for each in dangerous if each.row.source == source]
        yield rate(f"  caught of {source}", chosen)
    others = Counter(
        (each.row.tier, each.row.label, each.verdict.decision.value)
        for each in judged
        if not each.row.gold
    )
    for (tier, label, decision), count in sorted(others.items()):
        yield f"  not scored: {tier} rows labelled {label}: {count} {decision}"


def gold(judged: Sequence[Judged], label: str) -> list[Judged]:
    """Return the rows that count, by label."""
    return [each for each in judged if each.row.gold and each.row.label == label]


def rate(name: str, outcomes: Sequence[bool], goal: str = "") -> str:
    """Return a rate with its 95 % interval (Wilson)."""
    total = len(outcomes)
    hits = sum(outcomes)
    low, high = interval(hits, total)
    share = hits / total if total else 0.0
    wanted = f"  goal {goal}" if goal else ""
    return f"{name:44} {hits:5}/{total:<5} {share:7.2%}  [{low:.2%}, {high:.2%}]{wanted}"


def interval(hits: int, total: int) -> tuple[float, float]:
    """Return the Wilson score interval at 95 %."""
    if not total:
        return 0.0, 1.0
    z = 1.96
    share = hits / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def mistakes(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield every missed danger and every alarm on what should pass."""
    for each in gold(judged, "block"):
        if not each.alarm:
            rule = (each.row.rule or "")[:40]
            decision = each.verdict.decision.value
            yield f"MISSED {each.row.source[:12]:12} {decision:6} {rule:40} {each.row.command!r}"
    for each in judged:
        harmless = each.row.label == "allow" and (each.row.gold or each.row.tier == "executed")
        if harmless and each.alarm:
            spoke = ",".join(finding.rule for finding in each.verdict.findings)[:60]
            where = f"{each.row.tier[:8]:8} {each.row.source[:12]:12}"
            yield f"ALARM  {where} {spoke:60} {each.row.command[:300]!r}"


if __name__ == "__main__":
    main()
