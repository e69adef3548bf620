"""How often are commands judged right? Against a labelled set, with intervals and every miss.

Reads `commands*.jsonl` or `.jsonl.gz` in `$INTERLOCK_SHARED/data` when that variable is set; the
data is optional and not part of the project.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from interlock import Decision, Verdict, evaluate_command
from labelled_data import data_path, read
from rates import rate
from speed import NAIVE

ALARMS = frozenset((Decision.REQUIRE_CONFIRMATION, Decision.BLOCK))
_EXECUTED = "executed"
_PACK = "pack"
_CORE = "core."


class Row(msgspec.Struct, frozen=True):
    """One labelled command."""

    command: str
    label: str
    tier: str = "own"
    domain: str = "not told"
    source: str = "own"
    gold: bool = True
    rule: str | None = None
    scope: str | None = None

    @property
    def is_dangerous(self) -> bool:
        """Whether an alarm is right, without doubt."""
        return self.gold and self.label == "block" and self.tier != _EXECUTED

    @property
    def is_harmless(self) -> bool:
        """Whether an alarm is wrong, without doubt."""
        return self.gold and self.label == "allow" and self.tier != _EXECUTED

    @property
    def was_executed(self) -> bool:
        """Whether an agent really ran it, and nothing destructive is known of it."""
        return self.tier == _EXECUTED and self.label == "allow"

    @property
    def is_core(self) -> bool:
        """Whether it destroys, or nearly, by the shell, by files or by Git: no vendor's tool."""
        of_core = self.scope != _PACK or (self.rule or "").startswith(_CORE)
        return self.domain == "destructive" and of_core


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
    path = data_path("commands")
    if path is None:
        print("accuracy: skipped: set INTERLOCK_SHARED (see benchmarks/README.md)")
        return
    judged = [Judged(row, evaluate_command(row.command)) for row in rows_of(path)]
    for line in report(judged):
        print(line)
    for line in mistakes(judged) if with_mistakes else ():
        print(line)


def rows_of(path: Path) -> list[Row]:
    """Read the labelled commands."""
    return read(path, row_from_json).rows


def row_from_json(line: bytes) -> Row:
    """Return a row; a field that is null is as good as left out."""
    told = msgspec.json.decode(line, type=dict[str, object])
    return msgspec.convert({name: each for name, each in told.items() if each is not None}, Row)


def raises_alarm(command: str) -> bool:
    """Tell whether Interlock would ask a person, or refuse."""
    return evaluate_command(command).decision in ALARMS


def matches_naive(command: str) -> bool:
    """Tell whether one regular expression would raise an alarm."""
    return NAIVE.search(command) is not None


def report(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the rates: caught of what must be caught, alarms on what must pass."""
    dangerous = [each for each in judged if each.row.is_dangerous]
    harmless = [each for each in judged if each.row.is_harmless]
    executed = [each for each in judged if each.row.was_executed]
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


def mistakes(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield every missed danger and every alarm on what should pass."""
    for each in judged:
        if each.row.is_dangerous and not each.alarm:
            rule = (each.row.rule or "")[:40]
            decision = each.verdict.decision.value
            yield f"MISSED {each.row.source[:12]:12} {decision:6} {rule:40} {each.row.command!r}"
    for each in judged:
        if (each.row.is_harmless or each.row.was_executed) and each.alarm:
            spoke = ",".join(finding.rule for finding in each.verdict.findings)[:60]
            where = f"{each.row.tier[:8]:8} {each.row.source[:12]:12}"
            yield f"ALARM  {where} {spoke:60} {each.row.command[:300]!r}"


if __name__ == "__main__":
    main()
