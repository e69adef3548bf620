"""Every figure of the scoreboard, taken from labelled data: by kind, by tool, by source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec

import accuracy
import secret_accuracy
import step_accuracy
import stop_accuracy
from interlock.adapters.histories.own_rows import run_from_json
from interlock.backtest.calibrate.calibration import PROMISE, Case, Search
from interlock.backtest.calibrate.scored_run import steps_search
from interlock.backtest.calibrate.turn_points import stops_search
from interlock.errors import InputError
from interlock.policy.config.run_sections import Loops
from interlock.policy.config.stop_section import DEFAULT
from labelled_data import KINDS, Read, files_of, read
from left_out import Figures, case_of, chosen_without_each, figures
from peer_protocol import Asked, Peer, Question
from rates import Rate, Share, drawn
from step_accuracy import COSTS, DETECTORS, PAUSE_SCORES, Held, Past
from stop_accuracy import CONTINUE_AT
from tradeoff_picture import Curve

OURS: Final = "Interlock"
NAIVE: Final = "one regular expression"
ALL_FILES: Final = "all files"
ALL_SOURCES: Final = "all sources"
EVERY: Final = 8
"""Of the commands that were really run, other tools are asked about every so many."""
_CHUNK: Final = 40

Item = TypeVar("Item")
Result = TypeVar("Result")


class FileNote(msgspec.Struct, frozen=True):
    """A file that was read."""

    kind: str
    name: str
    digest: str
    rows: int
    unread: int


class Alarms(msgspec.Struct, frozen=True):
    """How a tool judges commands, or texts: what it catches, what it need not have said."""

    name: str
    caught: Rate
    false: Rate
    executed: Rate


class Commands(msgspec.Struct, frozen=True):
    """Dangerous and harmless commands."""

    tools: list[Alarms]
    core: list[Alarms]
    """The same, of the shell, of files and of Git alone."""
    domains: list[Alarms]
    sources: list[Alarms]


class Secrets(msgspec.Struct, frozen=True):
    """Credentials: how many of them each tool finds, by where they come from."""

    tools: Mapping[str, Mapping[str, Rate]]
    ways: Mapping[str, Rate]
    values: Mapping[str, Rate]


class Ends(msgspec.Struct, frozen=True):
    """How a tool judges ends of turns: what it sends on, by what the label says."""

    name: str
    rates: Mapping[str, Rate]


class LeftOut(msgspec.Struct, frozen=True):
    """A source at the default threshold, and at the one that was chosen without it."""

    source: str
    threshold: int | None
    """None where it is several sources, each at its own."""
    keeps: bool
    default: Figures
    chosen: Figures


class Stops(msgspec.Struct, frozen=True):
    """Ends of turns."""

    files: Mapping[str, list[Ends]]
    sources: list[Ends]
    left_out: list[LeftOut]


class Saved(msgspec.Struct, frozen=True):
    """How a tool judges runs: which it holds, and what comes after that."""

    name: str
    won: Rate
    failed: Rate
    tokens: Mapping[str, Share | None]
    """The share of what failed runs cost that comes after the signal, by the way of counting."""


class Runs(msgspec.Struct, frozen=True):
    """Past runs with known outcomes."""

    tools: list[Saved]
    without: list[Saved]
    """The same, without the runs that success ends."""
    sources: list[Saved]
    left_out: list[LeftOut]
    left_out_without: list[LeftOut]
    left_out_tokens: Mapping[str, Mapping[str, Share | None]]
    """Tokens saved in all sources, each at the threshold chosen without it: all, and without."""
    curves: list[Curve]


class Board(msgspec.Struct, frozen=True):
    """Everything that was measured; None where there is no data."""

    files: list[FileNote]
    missing: list[str]
    peers: list[Asked]
    commands: Commands | None
    secrets: Secrets
    stops: Stops | None
    runs: Runs | None
    sessions: Mapping[str, Rate]


class Bench:
    """Who does the work, who is asked beside us, and who hears how far it is."""

    def __init__(
        self,
        pool: Executor,
        ask: Callable[[Peer, str, Sequence[Question]], Asked],
        peers: Sequence[Peer],
        say: Callable[[str], None],
    ) -> None:
        self._pool, self._ask, self._peers, self.say = pool, ask, peers, say
        self.files: list[FileNote] = []
        self.asked: list[Asked] = []

    def through(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Do the same with many, several at once."""
        return list(self._pool.map(work, items, chunksize=_CHUNK))

    def one_by_one(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The same for work that takes long each."""
        return list(self._pool.map(work, items))

    def rows(
        self, kind: str, folder: Path, row_of: Callable[[bytes], Item | None]
    ) -> list[Read[Item]]:
        """Return the files of a kind, each row made in parallel."""
        return [self._file(kind, path, row_of) for path in files_of(kind, folder)]

    def _file(self, kind: str, path: Path, row_of: Callable[[bytes], Item | None]) -> Read[Item]:
        self.say(f"{path.name}: reading and judging")
        lines = read(path, bytes)
        made = self.through(partial(_tried, row_of), lines.rows)
        rows = [each for each in made if each is not None]
        unread = lines.unread + len(made) - len(rows)
        self.files.append(FileNote(kind, path.name, lines.digest, len(rows), unread))
        return Read(path.name, lines.digest, rows, unread)

    def ask(self, kind: str, questions: Sequence[Question]) -> list[Asked]:
        """Ask every peer that does this kind."""
        heard: list[Asked] = []
        for peer in self._peers if questions else ():
            self.say(f"{peer.name}: asked about {len(questions):,} of kind `{kind}`")
            heard.append(self._ask(peer, kind, questions))
        self.asked += heard
        return [each for each in heard if any(said is not None for said in each.answers)]


def _tried(row_of: Callable[[bytes], Item], line: bytes) -> Item | None:
    try:
        return row_of(line)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, InputError):
        return None


def board(folder: Path, bench: Bench) -> Board:
    """Take every figure that there is data for."""
    commands = [row for each in bench.rows("commands", folder, command_judged) for row in each.rows]
    return Board(
        commands=_commands(commands, bench) if commands else None,
        secrets=_secrets(folder, [each.row for each in commands if each.row.was_executed], bench),
        stops=_stops(folder, bench),
        runs=_runs(folder, bench),
        sessions=_sessions(folder, bench),
        files=sorted(bench.files, key=lambda each: (KINDS.index(each.kind), each.name)),
        missing=[kind for kind in KINDS if kind not in {each.kind for each in bench.files}],
        peers=bench.asked,
    )


class CommandJudged(msgspec.Struct, frozen=True):
    """A command with what Interlock and one expression say to it."""

    row: accuracy.Row
    ours: bool
    naive: bool


def command_judged(line: bytes) -> CommandJudged:
    """Read a command and judge it."""
    row = accuracy.row_from_json(line)
    ours = accuracy.raises_alarm(row.command)
    return CommandJudged(row, ours, accuracy.matches_naive(row.command))


Said = tuple[accuracy.Row, bool]


def _commands(judged: Sequence[CommandJudged], bench: Bench) -> Commands:
    ours = [(each.row, each.ours) for each in judged]
    tools = {OURS: ours, NAIVE: [(each.row, each.naive) for each in judged]}
    executed = [each.row for each in judged if each.row.was_executed]
    rows = [each.row for each in judged if each.row.is_dangerous or each.row.is_harmless]
    rows += executed[::EVERY]
    for heard in bench.ask("command", [{"command": row.command} for row in rows]):
        told = [(row, said is True) for row, said in zip(rows, heard.answers, strict=True)]
        tools[heard.name] = told
        own = heard.introduction.own_sources
        if any(row.source in own for row in rows):
            name = f"{heard.name}, without its own suite"
            tools[name] = [each for each in told if each[0].source not in own]
    domains = sorted({row.domain for row, _ in ours if row.is_dangerous or row.is_harmless})
    counted = {row.source for row in rows} | {row.source for row in executed}
    return Commands(
        tools=[_alarms(name, told) for name, told in tools.items()],
        core=[
            _alarms(name, [each for each in told if each[0].is_core])
            for name, told in tools.items()
        ],
        domains=[_alarms(each, [one for one in ours if one[0].domain == each]) for each in domains],
        sources=[
            _alarms(each, [one for one in ours if one[0].source == each])
            for each in sorted(counted)
        ],
    )


def _alarms(name: str, told: Sequence[Said]) -> Alarms:
    return Alarms(
        name,
        Rate.of(alarm for row, alarm in told if row.is_dangerous),
        Rate.of(alarm for row, alarm in told if row.is_harmless),
        Rate.of(alarm for row, alarm in told if row.was_executed),
    )


FROM_RULES: Final = "made from our rules, found"
FROM_WAYS: Final = "made from ways of writing, found"
EXECUTED: Final = "commands that were really run, taken for one"
OWN_SECRETS: Final = "own data, found"
OWN_OTHERS: Final = "own data, taken for one"


def _secrets(folder: Path, executed: Sequence[accuracy.Row], bench: Bench) -> Secrets:
    own = [
        row
        for each in bench.rows("secrets", folder, secret_accuracy.row_from_json)
        for row in each.rows
    ]
    ways = secret_accuracy.made_from_ways()
    columns = {
        FROM_RULES: [row.text for row in secret_accuracy.made_from_rules()],
        FROM_WAYS: [row.text for row in ways],
        EXECUTED: [row.command for row in executed],
        OWN_SECRETS: [row.text for row in own if row.is_secret],
        OWN_OTHERS: [row.text for row in own if not row.is_secret],
    }
    bench.say("secrets: searching")
    texts = [(name, text) for name, column in columns.items() for text in column]
    said: dict[str, list[bool]] = {
        OURS: bench.through(secret_accuracy.is_found, [text for _, text in texts]),
        NAIVE: [secret_accuracy.matches_naive(text) for _, text in texts],
    }
    for heard in bench.ask("text", [{"text": text} for _, text in texts]):
        said[heard.name] = [each is True for each in heard.answers]
    found = dict(zip([text for _, text in texts], said[OURS], strict=True))
    return Secrets(
        tools={
            tool: {
                column: Rate.of(
                    hit for (name, _), hit in zip(texts, hits, strict=True) if name == column
                )
                for column in columns
            }
            for tool, hits in said.items()
        },
        ways=_shares((row.way, found[row.text]) for row in ways),
        values=_shares((row.value, found[row.text]) for row in ways),
    )


def _shares(outcomes: Iterable[tuple[str, bool]]) -> dict[str, Rate]:
    """Return a rate for each name, in the order in which they came."""
    by_name: dict[str, list[bool]] = {}
    for name, outcome in outcomes:
        by_name.setdefault(name, []).append(outcome)
    return {name: Rate.of(each) for name, each in by_name.items()}


class EndJudged(msgspec.Struct, frozen=True):
    """An end of a turn with what each judge says to it, and at each threshold."""

    row: stop_accuracy.Row
    said: Mapping[str, bool]
    at: tuple[bool, ...]


def end_judged(line: bytes) -> EndJudged:
    """Read an end of a turn and judge it."""
    row = stop_accuracy.row_from_json(line)
    if not row.group:
        return EndJudged(row, {}, ())
    context = row.context
    return EndJudged(row, stop_accuracy.goes_on_by(context), stop_accuracy.goes_on_at(context))


def _stops(folder: Path, bench: Bench) -> Stops | None:
    files = {
        each.file: [one for one in each.rows if one.row.group]
        for each in bench.rows("stops", folder, end_judged)
    }
    judged = [each for own in files.values() for each in own]
    if not judged:
        return None
    heard = bench.ask("stop", [each.row.fed for each in judged])
    said = [
        {
            **{_STOP_NAMES.get(name, name): goes_on for name, goes_on in each.said.items()},
            **{peer.name: peer.answers[place] is True for peer in heard},
        }
        for place, each in enumerate(judged)
    ]
    told = [(each.row, answers) for each, answers in zip(judged, said, strict=True)]
    tables: dict[str, list[Ends]] = {}
    begin = 0
    for name, own in files.items():
        tables[name] = _ends(told[begin : begin + len(own)])
        begin += len(own)
    if len(files) > 1:
        tables[ALL_FILES] = _ends(told)
    sources = sorted({each.row.source for each in judged})
    cases = [
        case_of(
            each.row.source,
            zip(CONTINUE_AT, each.at, strict=True),
            is_good=each.row.is_finished,
        )
        for each in judged
    ]
    return Stops(
        files=tables,
        sources=[
            msgspec.structs.replace(
                _ends([one for one in told if one[0].source == each])[0], name=each
            )
            for each in sources
        ],
        left_out=_left_out(cases, stops_search(DEFAULT, promise=PROMISE)),
    )


_STOP_NAMES: Final = {"default profile": OURS, "seed profile, with vetoes": "its seed profile"}


def _ends(told: Sequence[tuple[stop_accuracy.Row, Mapping[str, bool]]]) -> list[Ends]:
    names = told[0][1] if told else ()
    groups = stop_accuracy.GROUPS.values()
    return [
        Ends(
            name,
            {
                group: Rate.of(said[name] for row, said in told if row.group == group)
                for group in groups
            },
        )
        for name in names
    ]


def _left_out(cases: Sequence[Case], search: Search) -> list[LeftOut]:
    """Return each source at both thresholds, and all of them together."""
    by_source = chosen_without_each(cases, search)
    if not by_source:
        return []
    rows = [
        LeftOut(
            source,
            choice.threshold,
            choice.keeps,
            figures(own, search.current),
            figures(own, choice.threshold),
        )
        for source, choice in by_source.items()
        for own in ([each for each in cases if each.agent == source],)
    ]
    together = LeftOut(
        ALL_SOURCES,
        None,
        all(each.keeps for each in rows),
        _summed([each.default for each in rows]),
        _summed([each.chosen for each in rows]),
    )
    return [*rows, together]


def _summed(each_source: Sequence[Figures]) -> Figures:
    return Figures(
        Rate(sum(each.false.hits for each in each_source), sum(e.false.total for e in each_source)),
        Rate(
            sum(each.caught.hits for each in each_source), sum(e.caught.total for e in each_source)
        ),
    )


class RunJudged(msgspec.Struct, frozen=True):
    """A run with what every detector says to it, and what another tool may be told of it."""

    past: Past
    question: Question


def run_judged(line: bytes) -> RunJudged:
    """Read a run and judge it."""
    past = step_accuracy.past_from_json(line, PAUSE_SCORES)
    return RunJudged(past, step_accuracy.question_from_json(line))


def _runs(folder: Path, bench: Bench) -> Runs | None:
    judged = [row for each in bench.rows("trajectories", folder, run_judged) for row in each.rows]
    judged = [each for each in judged if each.past.success is not None]
    if not judged:
        return None
    runs = [each.past for each in judged]
    held = {OURS: [Held(past, past.paused[_SEARCH.current]) for past in runs]}
    for detector in DETECTORS[1:]:
        for limit in detector.limits:
            held[f"{detector.name} {limit:g}"] = step_accuracy.held(runs, detector, limit)
    for heard in bench.ask("run", [each.question for each in judged]):
        held[heard.name] = [Held(past, at) for past, at in zip(runs, heard.answers, strict=True)]
    bench.say("runs: drawing intervals")
    sources = sorted({each.source for each in runs})
    without = {name: _without(each) for name, each in held.items()}
    by_source = {name: [e for e in held[OURS] if e.past.source == name] for name in sources}
    chosen = {ALL_SOURCES: _at_chosen(runs), WITHOUT: _at_chosen(_lengthy(runs))}
    tables = _saved([held, without, by_source, chosen], bench)
    return Runs(
        tools=tables[0],
        without=tables[1],
        sources=tables[2],
        left_out=_left_out(_cases(runs), _SEARCH),
        left_out_without=_left_out(_cases(_lengthy(runs)), _SEARCH),
        left_out_tokens={each.name: each.tokens for each in tables[3]},
        curves=step_accuracy.curves(runs),
    )


WITHOUT: Final = "without InterCode"
_SEARCH: Final = steps_search(Loops(), promise=PROMISE)


def _without(held: Sequence[Held]) -> list[Held]:
    return [each for each in held if not each.past.ends_on_success]


def _lengthy(runs: Sequence[Past]) -> list[Past]:
    """Return the runs whose length says something."""
    return [each for each in runs if not each.ends_on_success]


def _cases(runs: Sequence[Past]) -> list[Case]:
    return [
        case_of(
            each.source,
            ((score, at is not None) for score, at in each.paused.items()),
            is_good=each.success is True,
        )
        for each in runs
    ]


def _at_chosen(runs: Sequence[Past]) -> list[Held]:
    """Return where each run is held by the threshold that was chosen without its source."""
    by_source = chosen_without_each(_cases(runs), _SEARCH)
    return [Held(each, each.paused[by_source[each.source].threshold]) for each in runs if by_source]


def _saved(tables: Sequence[Mapping[str, Sequence[Held]]], bench: Bench) -> list[list[Saved]]:
    """Return what each table comes to; the intervals of all of them are drawn in parallel."""
    asked = [
        step_accuracy.parts([each for each in held if not each.past.success], cost)
        for table in tables
        for held in table.values()
        for cost in COSTS.values()
    ]
    shares = iter(bench.one_by_one(drawn, asked))
    return [
        [
            Saved(
                name,
                Rate.of(each.at is not None for each in held if each.past.success),
                Rate.of(each.at is not None for each in held if not each.past.success),
                {cost: next(shares) for cost in COSTS},
            )
            for name, held in table.items()
        ]
        for table in tables
    ]


class Session(msgspec.Struct, frozen=True):
    """A session, as far as it is needed."""

    source: str = "own"


def session_judged(line: bytes) -> tuple[str, bool]:
    """Read a session; tell whether it would have been paused."""
    source = msgspec.json.decode(line, type=Session).source
    at = step_accuracy.paused_at(run_from_json(line), Loops().pause_score_percent)
    return source, at is not None


def _sessions(folder: Path, bench: Bench) -> Mapping[str, Rate]:
    judged = [row for each in bench.rows("sessions", folder, session_judged) for row in each.rows]
    if not judged:
        return {}
    by_source = dict(sorted(_shares(judged).items()))
    return {**by_source, ALL_SOURCES: Rate.of(paused for _, paused in judged)}
