"""Does what came back report a failure? By how it opens, by what its lines are, by how it ends.

Nobody need flag it. A result that is nothing but an error opens as one, or says in one sentence
what could not be done. What ran also fails somewhere within what it prints: compilers, builds and
test runners each have a form of line for it. Text that was only looked at may hold every such line
and report nothing, so that of it only the beginning counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

OPENS_WITHIN: Final = 300
"""So much of a result is its beginning."""
_FEW_LINES: Final = 3
_SENTENCE_WITHIN: Final = 120

_OPENING: Final = re.compile(
    r"(?!\[\")\W*(?:(?:an |execution |runtime |syntax |uncaught |unhandled |mcp )?"
    r"(?:error|exception|failure)\b"
    r"(?!\"?\s*[:=]\s*\"?(?:null|none|false|0\b|\"|\[\]|\{\})|[|.]\w)"
    r"(?=[^\w\n]{0,3}[:!>(\[\]]|\W*\n\W*\w"
    r"|\s+(?:[a-z]{3,}ing|in|at|from|on|when|while|occurred|response|code|message|-?\d+)\b)"
    r"|[\w.]+(?:Error|Exception)\b(?!\.\w)|(?:\w+\.)+errors?\.\w+: |net::err_|err_\w+  "
    r"|traceback \(|fatal\b|panic:|malformed |invalid |unknown (?:command|option)"
    r"|(?-i:[a-z/.])[\w./+-]*: (?:[^:\n]{1,120}: )*[^:\n]{0,80}?(?:no such"
    r"|not found|cannot |can't |could not |couldn't |invalid |illegal |unrecognized |unexpected "
    r"|unable to |failed|permission denied|is a directory|not a |syntax error|unknown |missing "
    r"|too many |bad |paths must precede|file exists|timed out|connection refused))",
    re.IGNORECASE,
)
"""How a result begins that is nothing but an error: named as one, or reported by a program."""
_TROUBLES: Final = (
    "fail", "unable", "could", "can't", "cannot", "incorrect", "wrong", "reject", "denied",
    "forbid", "unauth", "time", "unknown", "unsupp", "not ", "http", "refuse", "abort", "exist",
    "no ", "range", "exceed", "<error", "<tool", "e: ", "unavail",
)  # fmt: skip
"""One of these is in every sentence that says what could not be done; most results hold none."""
# Written as text: most processes never need them, and to compile them takes milliseconds.
_SENTENCE: Final = (
    r"(?i)[^\w]*(?:\d+ )?(?:(?:failed|unable) to \w|(?:could not|couldn't|cannot|can't) (?:be )?\w"
    r"|(?:incorrect|wrong)(?:[,.!:;]| (?:answer|flag|passw\w+|guess|solution|result|code|format"
    r"|type|usage|arguments?|number|token|pin)\b)|rejected\b[.:,!]|(?:access|permission) denied"
    r"|(?:denied|forbidden|unauthori[sz]ed)\b\W|time(?:out|d out)\b|unsupported \w|not allowed\b"
    r"|unknown (?:tool|function|action|argument|parameter|field|key|host)\b"
    r"|http(?:/\d\S*)?(?: error| status)?(?: code)?:? [45]\d\d\b"
    r"|(?:the )?(?:http |tool )?(?:request|command|operation|execution|call|tool|query|upload"
    r"|connection|action|search/replace blocks?)\b[^.\n]{0,60}?"
    r" (?:failed|timed out|(?:was|were) (?:rejected|refused|denied|aborted)|not found)\b"
    r"|(?:the )?(?:file|path|ref|folder|directory)\b[^\n]{0,200}?"
    r" (?:(?:was |is |could )?not (?:be )?found|does(?: not|n't) exist)\b(?:\W*$|[.:!\n]| in the)"
    r"|no (?:file|page|session|document|tab) (?:is )?(?:open|loaded|active|selected)\b"
    r"|(?:<error_details|<tool_use_error)|e: [a-z])"
)
"""A result of few lines that says in one sentence what could not be done."""
_PREDICATE: Final = (
    r"(?i)\w[^\n.\"'`]{0,60}"
    r" (?:failed|rejected|refused|denied|unavailable|aborted|exceeded|out of range)\b"
    r"(?:[:,!]|\.(?!\w)|\W*$| (?:because|to|with|due|after|while|at)\b)"
)
"""The same, whatever it was that could not be done."""
_ANSWER: Final = re.compile(
    r"\s*\{[^{}\[\]\n]{0,120}?\"(?:(?:success|ok)\": ?false|is_?error\": ?true"
    r"|error(?:_?message)?\": ?(?:\"[^\"\s]|\{\s*\"|true)|status(?:_?code)?\": ?\"?(?:[45]\d\d\b"
    r"|error\b)|(?:result|outcome)\": ?\"(?:failure|failed|error)\")",
    re.IGNORECASE,
)
"""How a service answers that it has not done what was asked."""


def opens_as_failure(result: str, *, shows: bool) -> bool:
    """Return whether a result begins as one that is nothing but a failure.

    What only `shows` something may well show a sentence that says what could not be done.
    """
    beginning = result[:OPENS_WITHIN]
    if _OPENING.match(beginning) is not None:
        return True
    if any(each in beginning for each in _CODES) and re.match(_EXITED, beginning) is not None:
        return True
    return _is_refusing_answer(beginning) or _is_failing_sentence(result, shows=shows)


_SHELLS: Final = ("bash", "-bash", "sh", "zsh", "fish", "ksh", "fatal", "error", "Error")


def view_fails(result: str, arguments: str) -> bool:
    """Return whether a command that only shows something fails: it says so under its own name.

    What it shows may be the log of any failure there is.
    """
    first = result[:OPENS_WITHIN].lstrip().partition("\n")[0]
    names = (*_SHELLS, *(part.partition(" ")[0] for part in _parts(arguments)))
    if _OPENING.match(first) is not None and first.removeprefix("/bin/").startswith(
        tuple(f"{name}: " for name in names)
    ):
        return True
    if any(each in first for each in _CODES) and re.match(_EXITED, first) is not None:
        return True
    return _is_failing_sentence(result, shows=True) or ends_as_failure(result, shows=True)


def _is_refusing_answer(beginning: str) -> bool:
    return beginning.lstrip()[:1] == "{" and _ANSWER.match(beginning) is not None


def _is_failing_sentence(result: str, *, shows: bool) -> bool:
    if result.count("\n", 0, OPENS_WITHIN) > _FEW_LINES:
        return False
    beginning = result[:_SENTENCE_WITHIN].lower()
    if not any(map(beginning.__contains__, _TROUBLES)):
        return False
    if re.match(_SENTENCE, result) is not None:
        return True
    return not shows and re.match(_PREDICATE, result) is not None


_CODES: Final = ("xit", "eturn")
_EXITED: Final = (
    r"(?i)\W*(?:(?:process |command )?(?:exit(?:ed)?|failed)(?: with)?(?: exit)?(?: ?code| status)"
    r"|return ?code)"
    r"\W{0,3}[1-9]\d{0,2}\b|\{[^{}\n]{0,80}\"(?:exit_?code|returncode)\": ?[1-9]"
)
"""How it begins where that stands in front."""
_TRACEBACK: Final = "Traceback (most recent call last)"
_EXIT: Final = (
    r"(?i)(?:^|[\[( ])(?:exit(?:ed)?(?: with)?(?: code| status)|returned non-zero exit status)"
    r"\W{1,3}[1-9]\d{0,2}\W{0,9}$|\"exit_?code\": ?[1-9]\d{0,2}[^{}\[\]]{0,60}\}\s*\}\s*$"
)
"""How output ends to which somebody has added that the command failed."""
_ADDED: Final = ("[", "(", "<")
"""Lines that begin so may stand below it."""
_NAMED: Final = re.compile(r"\s*(?:[\w.]*(?:Error|Exception)|error|fatal|panic)\b")


def ends_as_failure(result: str, *, shows: bool) -> bool:
    """Return whether what ran ended with an exception, or with a code that says so.

    What only `shows` something may show how another run ended, but for what its client adds.
    """
    if _TRACEBACK not in result and "exit" not in result[-200:].lower():
        return False
    lines = result.rstrip()[-1_000:].splitlines()
    for line in lines[:-4:-1]:
        if re.search(_EXIT, line[-120:]) is not None:
            return not shows or line.startswith((*_ADDED, "{")) or line.lower().startswith("exit")
        if not line.startswith(_ADDED):
            break
    return (
        not shows and _TRACEBACK in result and bool(lines) and _NAMED.match(lines[-1]) is not None
    )


_SIGNS: Final = (
    "rror", "ERR", "***", ".go:", "rejected]", "CONFLICT (", "FAIL", "failed", "failing",
    "fatal: [", "BEGIN f", "x Build f", "X ", "...Failed", "problem",
)  # fmt: skip
"""One of these is in every line that only a failure prints."""
_MOST_LINES: Final = 24
"""Of the lines with a sign so many are looked at: who fails says so in more than one."""
_WITHIN: Final = (
    r"[^\s:(][^:(]{0,200}[(:]\d+(?:[,:]\d+){0,2}\)?: ?(?:fatal )?(?:error|ERROR)\b"
    r"|[^\s:][^:]{0,200}:\d+(?::\d+)? - error\b"
    r"|[^\s:]{1,200}\.go:\d+:\d+: \S|[^\s:]{1,200}:\d+:in .{1,200}\(\w*(?:Error|Exception)\)"
    r"|error\[\w+\]: |npm (?:ERR!|error) |CMake Error\b|\W{0,3}(?:\u2502 )Error: |#\d+ ERROR: "
    r"|\[ERROR\] |make(?:\[\d+\])?: \*\*\* |FAILURE: |BUILD FAIL|Build FAILED|x Build failed"
    r"|PHP (?:Fatal|Parse) error|fatal: \[|CONFLICT \(| ! \[(?:remote )?rejected\]"
    r"|Hunk #\d+ FAILED|BEGIN failed|[1-9]\d* error(?:s)? generated|X .{0,80}exit code [1-9]"
    r"|[\u2716\u00d7x] \d+ problems? \([1-9]|Found [1-9]\d* errors?\b"
    r"|[1-9]\d* errors?, \d+ warnings?\b|.*: FAIL code [1-9]|.{0,200}\.{3,}Failed\s*$"
    r"|\s{0,4}[1-9]\d* (?:failed|failing)\s*$"
)
"""Lines that only a failure prints, wherever they stand in what ran."""
_LATE: Final = (
    r"(?:error|fatal)(?:: |\[)|(?:ERROR|FATAL|E)(?:: |\s*\[)"
    r"|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b"
    r"|.*(?:Segmentation fault|core dumped|compilation aborted|[Tt]ests? failed)\b|Killed\s*$"
    r"|[a-z][\w.+-]*: (?:fatal )?error: "
    r"|.*(?<!\b0 )\b(?:failed|failure)(?:\W*$| (?:because|to|at)\b)"
    r"|Aborted\b|! [A-Z]|Automatic merge failed|Could not |Unable to |Cannot |Execution halted"
)
"""What a line among the last ones says of all that ran."""
_LAST_LINES: Final = 4
_WENT_WELL: Final = (
    r"(?i)\W*(?:(?:build |all |successfully |everything )?(?:success\w*|succeeded|passed|done"
    r"|finished|completed?|installed|up to date|ok)\b|0 errors)"
)


def fails_within(result: str, arguments: str) -> bool:
    """Return whether what ran tells of a failure in any of its lines, or in one of the last."""
    last = [*_last_lines(result)]
    if last and re.match(_WENT_WELL, last[0]) is not None:
        return False
    programs = tuple(f"{name}: " for name in _programs(arguments))
    if any(line.startswith(programs) and re.search(_NO_NEWS, line) is None for line in last):
        return True
    if any(re.match(_LATE, line) or _OPENING.match(line) for line in last):
        return True
    return any(re.match(_WITHIN, line) for line in islice(_signed_lines(result), _MOST_LINES))


_NO_NEWS: Final = r"(?i): (?:(?!missing\b)[a-z]+ing\b|note|info|'|`|\W*(?:ok|done)\b)"
"""What a program says under its name that is no complaint: what it is doing, above all."""


def _programs(arguments: str) -> Iterator[str]:
    """Yield the programs that a command line runs: each complains under its own name."""
    for part in _parts(arguments):
        name = part.partition(" ")[0].rpartition("/")[2]
        if name and name not in _VIEWERS:
            yield name


def _signed_lines(result: str) -> Iterator[str]:
    """Yield the lines that may be some that only a failure prints."""
    if any(map(result.__contains__, _SIGNS)):
        for line in result.splitlines():
            if any(map(line.__contains__, _SIGNS)):
                yield line[:OPENS_WITHIN]


def _last_lines(result: str) -> Iterator[str]:
    """Yield the last lines, the very last first, without what is indented: it belongs to others."""
    left = _LAST_LINES
    for line in reversed(result.splitlines()):
        if left and line.strip() and not line[0].isspace() and line[0] not in "}])":
            left -= 1
            yield line[:OPENS_WITHIN]


_REFUSED: Final = (
    r"(?i)no (?:replacement|changes?) (?:was|were) (?:performed|made)|(?:was|were|been) not applied"
    r"|not (?:be )?appl(?:y|ied)|did not (?:match|appear)|(?:not|no match) found in|no match for"
    r"|multiple (?:matches|occurrences)|not unique|must be unique|(?:exactly the same|identical)"
    r"|has not been read|modified since|already exists|hunks? (?:#\d+ )?(?:failed|ignored)"
    r"|(?:introduced|contains) (?:new |a )?syntax error|edit (?:was )?(?:rejected|failed)"
    r"|failed to (?:exactly )?match|does(?: not|n't) match|no (?:\w+ ){0,2}match found"
    r"|tool execution failed"
)
"""How an edit is refused in a result that does not begin like an error."""


def refuses_edit(result: str) -> bool:
    """Return whether an edit was refused: what was edited may follow, and say anything."""
    first, _, rest = result[:OPENS_WITHIN].lstrip().partition("\n")
    if first.startswith("<") and len(first) < OPENS_WITHIN // 10:
        # A line that is nothing but a tag.
        first = rest.partition("\n")[0]
    return re.search(_REFUSED, first) is not None


_VIEWERS: Final = frozenset(
    "cat bat head tail less more sed awk grep egrep fgrep zgrep rg ag ack find fd ls tree wc sort"
    " uniq cut nl od xxd hexdump strings file stat diff cmp jq yq man which type whereis locate env"
    " printenv echo printf ps pgrep df du date journalctl dmesg history cd pwd export set source"
    " open goto view search_dir search_file find_file scroll_up scroll_down".split()
)
"""Programs that show what is there already."""
_VIEWING: Final = re.compile(
    r"(?:git (?:-\S+ )*(?:log|diff|show|blame|status|grep|branch|ls-files|reflog)"
    r"|gh \w+ (?:view|list|checks|diff)|docker (?:logs|ps|images|inspect)|systemctl status"
    r"|kubectl (?:get|describe|logs)|helm (?:list|status|history))\b"
)
_COMMAND: Final = re.compile(r'"(?:command|cmd|code|script)": ?(?:"|\[(?:"[^"]*", ?){2}")')
_MOST_PARTS: Final = 32
_JOINTS: Final = re.compile(r"&&|\|\|?|;|\\n|\n")


def only_views(arguments: str) -> bool:
    """Return whether a command line shows what is there already, and runs nothing."""
    return all(
        part.partition(" ")[0] in _VIEWERS or _VIEWING.match(part) is not None
        for part in _parts(arguments)
    )


def _parts(arguments: str) -> Iterator[str]:
    """Yield the commands of a command line, as far as it can be told without a parser."""
    named = _COMMAND.search(arguments)
    line = arguments[named.end() :] if named else arguments
    for part in _JOINTS.split(line, _MOST_PARTS):
        if bare := part.strip(" \"'}()]"):
            yield bare
