"""The scoreboard as a page: tables in plain Markdown, and what each figure means.

The same board gives the same bytes; nothing of the data's rows is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from interlock.backtest.calibrate.calibration import PROMISE
from peer_protocol import Asked
from rates import Rate, Share
from scoreboard_figures import (
    ALL_FILES,
    ALL_SOURCES,
    EVERY,
    EXECUTED,
    FROM_RULES,
    FROM_WAYS,
    OURS,
    OWN_OTHERS,
    OWN_SECRETS,
    WITHOUT,
    Alarms,
    Board,
    Commands,
    Ends,
    LeftOut,
    Runs,
    Saved,
    Secrets,
    Stops,
)

NOTHING: Final = "-"
_GROUPS: Final = {
    "continue": "cut from runs",
    "premature": "really premature",
    "strong": "finished, surely",
    "medium": "finished, probably",
    "ask": "questions",
}
_COSTS: Final = {
    "recorded": "recorded",
    "plain": "modelled, plain",
    "with context": "modelled, with context",
}
_PROMISED: Final = f"{100 * PROMISE:g} %"


def page(board: Board, version: str) -> str:
    """Return the page."""
    parts = [*_beginning(board, version), *_in_short(board)]
    if board.commands:
        parts += _commands(board.commands)
    parts += _secrets(board.secrets)
    if board.stops:
        parts += _stops(board.stops)
    if board.runs:
        parts += _runs(board.runs)
    parts += [*_sessions(board.sessions), *_left_open(board), *_others(board.peers)]
    return "\n\n".join(parts) + "\n"


def _beginning(board: Board, version: str) -> Iterator[str]:
    yield "<!-- `make scoreboard` writes this page; do not edit it. -->"
    yield "# Scoreboard"
    yield " ".join(_in_words(board))
    yield (
        "After this page you know how often each kind of decision is right, beside simple baselines"
        " and other tools. Every rate has its 95 % interval in brackets."
    )
    yield "```shell\nmake scoreboard DATA=FOLDER\n```"
    yield (
        f"made this page with Interlock {version}. [Your own data](scoreboard-data.md) gives your"
        " own page. Where a threshold decides, the tables also show each source at a threshold that"
        " was chosen without it."
    )
    rows = [
        [f"`{each.name}`", f"{each.rows:,}", str(each.unread), f"`{each.digest}`"]
        for each in board.files
    ]
    yield _table(["file", "rows", "lines that are none", "SHA-256 begins with"], rows)


def _in_words(board: Board) -> Iterator[str]:
    """Yield what somebody should know who reads no table."""
    yield (
        "Measured is how often Interlock decides rightly: which commands it denies or asks about,"
        " which credentials it finds, which ended turns it sends on, which runs it pauses."
    )
    rows = sum(each.rows for each in board.files)
    yield f"The data are {rows:,} labelled rows in {len(board.files)} files, labelled by others."
    best, worst = _extremes(board)
    yield f"Of what should be caught, it does best at {best}, and worst at {worst}."
    yield (
        "Saved tokens stand there twice: as the runs recorded them, which few do, and as a model of"
        " what an agent reads again at each step."
    )
    yield (
        "Interlock's rules were written beside this data: expect less on data that nobody here has"
        " seen."
    )


def _extremes(board: Board) -> tuple[str, str]:
    """Return the best and the worst rate of what should be caught, in words."""
    secrets = board.secrets.tools[OURS]
    own = OWN_SECRETS if secrets[OWN_SECRETS].total else FROM_WAYS
    found = {"credentials": secrets[own]}
    if board.commands:
        found["dangerous commands"] = board.commands.tools[0].caught
    if board.stops:
        ours = [*board.stops.files.values()][-1][0].rates
        found["turns cut from runs"] = ours["continue"]
        found["turns that were really premature"] = ours["premature"]
    if board.runs:
        found["failed runs"] = board.runs.tools[0].failed
    known = [(name, rate) for name, rate in found.items() if rate.total]
    ranked = sorted(known, key=lambda each: each[1].hits / each[1].total)
    worst, *_ = [f"{name} ({_rate(rate)})" for name, rate in ranked]
    *_, best = [f"{name} ({_rate(rate)})" for name, rate in ranked]
    return best, worst


def _in_short(board: Board) -> Iterator[str]:
    yield "## In short"
    rows = [*_short_commands(board), *_short_stops(board.stops), *_short_runs(board.runs)]
    yield _table(
        ["what", "as it is installed", "thresholds chosen with each source left out"], rows
    )


def _short_commands(board: Board) -> Iterator[list[str]]:
    if board.commands:
        every, core = board.commands.tools[0], board.commands.core[0]
        yield ["dangerous commands caught", _rate(every.caught), "no threshold"]
        yield ["harmless commands with an alarm", _rate(every.false), "no threshold"]
        yield ["dangerous ones of shell and Git caught", _rate(core.caught), "no threshold"]
        yield ["harmless ones of shell and Git with an alarm", _rate(core.false), "no threshold"]
        yield ["commands that agents ran, with an alarm", _rate(every.executed), "no threshold"]
    found = board.secrets.tools[OURS]
    own = found[OWN_SECRETS].total
    yield ["credentials found", _rate(found[OWN_SECRETS if own else FROM_WAYS]), "no threshold"]
    other = found[OWN_OTHERS if found[OWN_OTHERS].total else EXECUTED]
    yield ["texts without one, taken for one", _rate(other), "no threshold"]


def _short_stops(stops: Stops | None) -> Iterator[list[str]]:
    if stops is None:
        return
    ours = [*stops.files.values()][-1][0].rates
    finished = Rate(
        ours["strong"].hits + ours["medium"].hits, ours["strong"].total + ours["medium"].total
    )
    both = stops.left_out[-1] if stops.left_out else None
    yield ["unfinished turns sent on, cut from runs", _rate(ours["continue"]), ""]
    yield ["unfinished turns sent on, really premature", _rate(ours["premature"]), ""]
    if both:
        told = [_rate(both.default.caught), _rate(both.chosen.caught)]
        yield ["unfinished turns sent on, both kinds", *told]
    yield ["finished turns sent on", _rate(finished), ""]
    yield ["questions overrun", _rate(ours["ask"]), ""]
    if both:
        told = [_rate(both.default.false), _rate(both.chosen.false)]
        yield ["finished turns sent on or questions overrun", *told]


def _short_runs(runs: Runs | None) -> Iterator[list[str]]:
    if runs is None:
        return
    tables = (
        ("", runs.tools[0], runs.left_out, ALL_SOURCES),
        (f", {WITHOUT}", runs.without[0], runs.left_out_without, WITHOUT),
    )
    for where, ours, left_out, name in tables:
        both = left_out[-1].chosen if left_out else None
        tokens = runs.left_out_tokens[name]
        yield [f"won runs paused{where}", _rate(ours.won), _rate(both.false) if both else NOTHING]
        yield [
            f"failed runs caught{where}",
            _rate(ours.failed),
            _rate(both.caught) if both else NOTHING,
        ]
        for cost in ("recorded", "with context"):
            what = f"tokens of failed runs saved, {_COSTS[cost]}{where}"
            yield [what, _share(ours.tokens[cost]), _share(tokens[cost])]


def _commands(commands: Commands) -> Iterator[str]:
    yield "## Commands"
    yield (
        "*Caught*: of the commands that are dangerous without doubt, those where a person is asked"
        " or the command is refused. *False alarms*: the same of those that are harmless without"
        " doubt. *Really ran*: alarms on commands that agents ran and where nothing destructive is"
        " known; some of these alarms are right. Every tool has its own defaults. Other tools are"
        f" asked about every {EVERY}th of the commands that were really run."
    )
    yield _picture("commands", "which share of dangerous commands is caught, of harmless ones too")
    yield _table(
        ["tool", "caught", "false alarms", "really ran"],
        [
            [each.name, _rate(each.caught), _rate(each.false), _rate(each.executed)]
            for each in commands.tools
        ],
    )
    yield (
        "Much of this data comes from test suites of such tools: each tool that has one among them"
        " is also shown without it."
    )
    yield "### Shell and Git"
    yield (
        "The core of it: what destroys by the shell, by files or by Git, without the command lines"
        " of vendors and their services."
    )
    yield _two("tool", commands.core)
    yield "### By domain"
    yield _two("domain", commands.domains)
    yield "### By source"
    yield (
        "No threshold is chosen for commands: each source is judged by the same rules. A source"
        " that falls behind the others is one whose like the rules do not know."
    )
    yield _table(
        ["source", "caught", "false alarms", "really ran"],
        [
            [each.name, _rate(each.caught), _rate(each.false), _rate(each.executed)]
            for each in commands.sources
        ],
    )


def _two(what: str, rows: Sequence[Alarms]) -> str:
    return _table(
        [what, "caught", "false alarms"],
        [[each.name, _rate(each.caught), _rate(each.false)] for each in rows],
    )


def _secrets(secrets: Secrets) -> Iterator[str]:
    yield "## Credentials"
    yield (
        "Nobody may keep real credentials, so they are made anew, the same ones every time. Those"
        " *made from our rules* show that the rules do what they say and nothing more. Those *made"
        " from ways of writing* come from no rule: a word that names a credential, something"
        " between, and a random value. Several ways are there because they were known to be missed,"
        " so that the share says which ways are weak, not how much of the world is found. A file"
        " `secrets*.jsonl` of your own counts more than both. Taken for one: texts without a"
        " credential where one is found."
    )
    columns = [
        each
        for each in (FROM_RULES, FROM_WAYS, EXECUTED, OWN_SECRETS, OWN_OTHERS)
        if any(rates[each].total for rates in secrets.tools.values())
    ]
    rows = [
        [tool, *[_rate(rates[each]) for each in columns]] for tool, rates in secrets.tools.items()
    ]
    yield _table(["tool", *columns], rows)
    for what, rates in (("written", secrets.ways), ("the value", secrets.values)):
        rows = [[name, _rate(each)] for name, each in rates.items()]
        yield _table([what, "found by Interlock"], rows)


def _stops(stops: Stops) -> Iterator[str]:
    yield "## Ends of turns"
    yield (
        "Each figure is the share that is sent on. *Cut from runs*: messages from the middle of a"
        " run whose tool call was taken away; *really premature*: a person had to type that it go"
        " on. Both should be sent on. *Finished, surely*: handed in, or accepted; *probably*: the"
        " next message was a new task; *questions*: a person had to decide. None of these should"
        " be. Labels that are weak or ambiguous are left out."
    )
    yield _picture("stops", "which share of unfinished turns is sent on, of finished ones too")
    for name, tools in stops.files.items():
        yield "### All files" if name == ALL_FILES else f"### `{name}`"
        yield _ends("judge", tools)
    yield "### By source, all files"
    yield _ends("source", stops.sources)
    yield from _left_out(
        stops.left_out,
        key="stops.continue-at",
        unit="",
        false="finished or asked, sent on",
        caught="unfinished, sent on",
        title="Each source left out",
    )


def _ends(what: str, rows: Sequence[Ends]) -> str:
    groups = [group for group in _GROUPS if any(each.rates[group].total for each in rows)]
    return _table(
        [what, *[_GROUPS[group] for group in groups]],
        [[each.name, *[_rate(each.rates[group]) for group in groups]] for each in rows],
    )


def _left_out(
    rows: Sequence[LeftOut], *, key: str, unit: str, false: str, caught: str, title: str
) -> Iterator[str]:
    yield f"### {title}"
    if not rows:
        yield "There is but one source: nothing can be left out."
        return
    yield (
        f"`{key}` is chosen on all other sources as [`interlock calibrate`](calibrate.md) chooses"
        f" it: at most {_PROMISED} of what should be left alone is not, where the exact 95 %"
        " interval ends, and as much as possible of the rest is caught. The default has no say in"
        " it. Then the source is judged by it. *Not proven* means that no value could be shown to"
        " keep that promise on the others, and the highest was taken."
    )
    yield _table(
        [
            "source left out", "chosen without it", f"{false}: default", f"{false}: chosen",
            f"{caught}: default", f"{caught}: chosen",
        ],
        [
            [
                each.source,
                _threshold(each, unit),
                _rate(each.default.false),
                _rate(each.chosen.false),
                _rate(each.default.caught),
                _rate(each.chosen.caught),
            ]
            for each in rows
        ],
    )  # fmt: skip


def _threshold(row: LeftOut, unit: str) -> str:
    if row.threshold is None:
        return "each its own"
    return f"{row.threshold}{unit}{'' if row.keeps else ', not proven'}"


def _runs(runs: Runs) -> Iterator[str]:
    yield "## Runs"
    yield (
        "Past runs with known outcomes. A *won* run that is paused is a sure loss; a *failed* one"
        " that is caught saves what it would have spent afterwards. *Tokens saved*: the share of"
        " what all failed runs spent that comes after the pause. *Recorded*: as the runs tell, of"
        " those that tell; *plain*: a quarter of the characters that each step adds; *with"
        " context*: each step sends again everything that was before it. Intervals of tokens are"
        " drawn from tasks (1,000 times, the same every time), because runs of one task are alike."
    )
    yield _picture("runs", "which share of failed runs is caught, of won ones paused")
    yield "### All runs"
    yield _saved("detector", runs.tools)
    yield (
        "![failed runs that are caught, and tokens saved, against won runs that are paused]"
        "(pictures/scoreboard-tradeoff.svg)"
    )
    yield f"### {WITHOUT[0].upper()}{WITHOUT[1:]}"
    yield (
        "These benchmarks end a run on its first success, so that every long run of them is a"
        " failed one: whoever counts steps looks good there."
    )
    yield _saved("detector", runs.without)
    yield "### By source"
    yield _saved("source", runs.sources)
    for title, rows in (
        ("Each source left out", runs.left_out),
        (f"Each source left out, {WITHOUT}", runs.left_out_without),
    ):
        yield from _left_out(
            rows,
            key="loops.pause-score-percent",
            unit=" %",
            false="won, paused",
            caught="failed, caught",
            title=title,
        )


def _saved(what: str, rows: Sequence[Saved]) -> str:
    return _table(
        [what, "won, paused", "failed, caught", *[f"saved, {each}" for each in _COSTS.values()]],
        [
            [
                each.name,
                _rate(each.won),
                _rate(each.failed),
                *[_share(each.tokens[cost]) for cost in _COSTS],
            ]
            for each in rows
        ],
    )


def _sessions(sessions: Mapping[str, Rate]) -> Iterator[str]:
    if sessions:
        yield "## Sessions"
        yield (
            "Real sessions with a person beside the agent. Nobody knows which of them went well;"
            " most did, so few should be paused."
        )
        rows = [[name, _rate(each)] for name, each in sessions.items()]
        yield _table(["source", "paused at some step"], rows)


def _left_open(board: Board) -> Iterator[str]:
    yield "## Not measured"
    lines = [f"- `{kind}*.jsonl`: there is no such file." for kind in board.missing]
    lines += [
        "- Verdicts of reviews: there is no labelled data for them.",
        "- Replayed runs of the loop: there is no labelled data for them.",
    ]
    yield "\n".join(lines)


def _others(peers: Sequence[Asked]) -> Iterator[str]:
    yield "## Other tools"
    yield (
        "Each is asked through a [protocol](scoreboard-data.md#another-tool) that any program can"
        " speak, and sees no label. What it does not answer counts as no alarm."
    )
    absent = {each.name: each.introduction.absent for each in peers if each.introduction.absent}
    rows = [
        [
            each.name,
            each.introduction.version or NOTHING,
            f"{len(each.answers):,}",
            str(each.unable),
            str(each.missing),
            str(each.wrong),
            each.ended or "as it should",
        ]
        for each in peers
        if _took_part(each)
    ]
    if rows:
        heads = ["tool", "version", "asked", "no opinion", "missing", "wrong", "ended"]
        yield _table(heads, rows)
    if absent:
        yield "\n".join(f"- {name} is not installed: {how}." for name, how in absent.items())
    if not rows and not absent:
        yield "None was asked."


def _took_part(asked: Asked) -> bool:
    answered = any(each is not None for each in asked.answers)
    return answered or bool(asked.unable or asked.missing or asked.wrong or asked.ended)


def _picture(name: str, alternative: str) -> str:
    return f"![{alternative}](pictures/scoreboard-{name}.svg)"


def _rate(rate: Rate) -> str:
    if not rate.total:
        return NOTHING
    return f"{rate.hits:,} of {rate.total:,}: {_percent(rate.share)} {_between(rate.interval)}"


def _share(share: Share | None) -> str:
    return NOTHING if share is None else f"{_percent(share.share)} {_between(share.interval)}"


def _between(interval: tuple[float, float]) -> str:
    return f"({_number(interval[0])} to {_number(interval[1])})"


def _percent(share: float) -> str:
    return f"{_number(share)} %"


def _number(share: float) -> str:
    """Return percent, with a digit more where it is less than one."""
    return f"{100 * share:.2f}" if 0.00005 <= share < 0.00995 else f"{100 * share:.1f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_line(heads), _line(["---"] * len(heads)), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"
