"""How often is each kind of decision right? Every figure on data that you have, as a page.

    make scoreboard DATA=FOLDER
    python benchmarks/scoreboard.py --data FOLDER --peer 'mine=python my_guard.py'

Without a folder `$INTERLOCK_SHARED/data` is read. What files it may hold, and how another tool is
asked, stands in `docs/scoreboard-data.md`. Writes `docs/scoreboard.md` and the pictures in it; two
runs over the same data give the same bytes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from labelled_data import data_folder
from left_out import Figures
from peer_memory import ask_or_remember
from peer_protocol import PATIENCE_S, Peer, peer_from, peers_from
from rates import Rate
from scoreboard_figures import (
    ALL_SOURCES,
    Alarms,
    Bench,
    Board,
    Commands,
    Ends,
    LeftOut,
    Runs,
    Saved,
    Stops,
    board,
)
from scoreboard_page import page
from scoreboard_picture import Line, Mark, Panels, picture
from stop_accuracy import UNFINISHED
from tradeoff_picture import Point
from tradeoff_picture import picture as tradeoff

_HERE: Final = Path(__file__).parent
_GOAL: Final = Point(0.01, 0.15)
_CHOSEN: Final = "at the threshold chosen without this source"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything and write the page."""
    options = _options(arguments)
    folder = data_folder(options.data)
    if folder is None:
        place = f"`{options.data}` is no folder" if options.data else "no data"
        print(f"{place}: name one, as in: make scoreboard DATA=FOLDER", file=sys.stderr)
        return 2
    with ProcessPoolExecutor(options.processes) as pool:
        ask = partial(ask_or_remember, patience_s=options.patience, folder=options.remember)
        bench = Bench(pool, ask, _peers(options), _say)
        measured = board(folder, bench)
    for path, text in _files(measured):
        target = options.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        _say(f"wrote {path}")
    if options.json:
        options.json.write_bytes(msgspec.json.encode(measured))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="the folder of labelled data")
    parser.add_argument("--out", type=Path, default=_HERE.parent / "docs", help="the docs folder")
    parser.add_argument("--json", type=Path, help="write every figure here as well")
    parser.add_argument(
        "--peer", type=_peer, action="append", default=[], metavar="NAME=COMMAND",
        help="another tool that is asked; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--peers", type=Path, default=_HERE / "peers" / "peers.toml", metavar="FILE",
        help="a TOML file with a table [peers] of such tools",
    )  # fmt: skip
    parser.add_argument("--no-peers", action="store_true", help="ask none of that file")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE_S, metavar="SECONDS",
        help="how long a tool may think about one answer",
    )  # fmt: skip
    parser.add_argument(
        "--remember",
        type=Path,
        metavar="FOLDER",
        help="keep the answers of tools here, and ask again only in another version",
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many at once")
    return parser.parse_args(arguments)


def _peer(argument: str) -> Peer:
    try:
        return peer_from(argument)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _peers(options: argparse.Namespace) -> list[Peer]:
    own: list[Peer] = options.peer
    return own if options.no_peers else [*peers_from(options.peers), *own]


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _files(measured: Board) -> Iterator[tuple[str, str]]:
    """Yield what is written: the page, and a picture for each kind that there is data for."""
    yield "scoreboard.md", page(measured, version("interlock"))
    if measured.commands:
        yield "pictures/scoreboard-commands.svg", picture(_command_panels(measured.commands))
    if measured.stops:
        yield "pictures/scoreboard-stops.svg", picture(_stop_panels(measured.stops))
    if measured.runs:
        yield "pictures/scoreboard-runs.svg", picture(_run_panels(measured.runs))
        yield "pictures/scoreboard-tradeoff.svg", tradeoff(measured.runs.curves, goal=_GOAL)


def _command_panels(commands: Commands) -> Panels:
    sources = [each for each in commands.sources if each.caught.total or each.false.total]
    return Panels(
        ("dangerous commands caught", "harmless commands with an alarm"),
        "",
        (
            ("by tool", [_alarm_line(each) for each in commands.tools]),
            ("shell and Git, by tool", [_alarm_line(each) for each in commands.core]),
            ("Interlock, by source", [_alarm_line(each) for each in sources]),
        ),
    )


def _alarm_line(alarms: Alarms) -> Line:
    return Line(alarms.name, (Mark(alarms.caught), Mark(alarms.false)))


def _stop_panels(stops: Stops) -> Panels:
    tools = [*stops.files.values()][-1]
    return Panels(
        ("unfinished turns sent on", "finished turns and questions sent on"),
        _CHOSEN,
        (
            ("by judge", [_end_line(each) for each in tools]),
            ("Interlock, by source", _lines(stops.sources, stops.left_out)),
        ),
    )


def _end_line(ends: Ends) -> Line:
    unfinished = _summed([ends.rates[group] for group in UNFINISHED])
    finished = [rate for group, rate in ends.rates.items() if group not in UNFINISHED]
    return Line(ends.name, (Mark(unfinished), Mark(_summed(finished))))


def _summed(rates: Sequence[Rate]) -> Rate:
    return Rate(sum(each.hits for each in rates), sum(each.total for each in rates))


def _run_panels(runs: Runs) -> Panels:
    return Panels(
        ("failed runs caught", "won runs paused"),
        _CHOSEN,
        (
            ("by detector", [_run_line(each) for each in runs.tools]),
            ("by detector, without InterCode", [_run_line(each) for each in runs.without]),
            ("Interlock, by source", _lines(runs.sources, runs.left_out)),
        ),
    )


def _run_line(saved: Saved) -> Line:
    return Line(saved.name, (Mark(saved.failed), Mark(saved.won)))


def _lines(sources: Sequence[Ends | Saved], left_out: Sequence[LeftOut]) -> list[Line]:
    """Return a line for each source, with what the threshold chosen without it comes to."""
    by_name: Mapping[str, Figures] = {each.source: each.chosen for each in left_out}
    plain = [_end_line(each) if isinstance(each, Ends) else _run_line(each) for each in sources]
    lines = [_beside(line, by_name[line.name]) if line.name in by_name else line for line in plain]
    together = next((each for each in left_out if each.source == ALL_SOURCES), None)
    if together is not None:
        both = (Mark(together.default.caught), Mark(together.default.false))
        lines.append(_beside(Line(ALL_SOURCES, both), together.chosen))
    return lines


def _beside(line: Line, chosen: Figures) -> Line:
    caught, false = line.marks
    return Line(line.name, (Mark(caught.rate, chosen.caught), Mark(false.rate, chosen.false)))


if __name__ == "__main__":
    sys.exit(main())
