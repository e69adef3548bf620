"""Adds a line to `shapes/v1.jsonl` for each kind of event that has none; the others stay."""

from __future__ import annotations

from pathlib import Path

from interlock.ledger.chain import decoded, encoded, kind_of
from interlock.model.events import Record
from ledger.events import AGENT, NOON, ONE_OF_EACH

SHAPES = Path(__file__).parent / "shapes" / "v1.jsonl"


def main() -> None:
    lines = SHAPES.read_bytes().splitlines() if SHAPES.exists() else []
    kept = {kind_of(decoded(line).event) for line in lines}
    for number, (kind, event) in enumerate(ONE_OF_EACH.items(), 1):
        if kind not in kept:
            at = NOON + number * 1_000_000
            record = Record(v=1, run="r1", seq=number, at=at, by=AGENT, prev="0f" * 32, event=event)
            lines.append(encoded(record))
    SHAPES.write_bytes(b"".join(line + b"\n" for line in lines))


if __name__ == "__main__":
    main()
