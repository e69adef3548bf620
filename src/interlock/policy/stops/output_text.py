"""Is a message, or its end, nothing but code, a diff, or what a tool printed?

Whoever shows only that has not said what came of it.
"""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = "```"
_DATA: Final = ("json", "yaml", "yml", "toml", "xml", "csv", "markdown", "md")
_MOST_LINES: Final = 40
_FEWEST_LINES: Final = 2
_SHARE: Final = 0.85

_PRINTED: Final = re.compile(
    r"(?:diff --git |@@ -\d|--- a/|\+\+\+ b/|traceback \(most recent call last\):"
    r"|\[?(?:tool|function|command|mcp|bash|shell)(?: call| execution| use| run)?\]? "
    r"(?:has |was )?(?:errored|failed|timed out|aborted|cancelled|canceled|returned|exited"
    r"|completed with|interrupted|rejected)\b"
    r"|(?:process |command )?exit(?:ed)?(?: with)?(?: code)?:? ?-?\d+\s*$"
    r"|<(?:system|stdout|stderr|tool_result|function_results?|output)>)",
    re.IGNORECASE,
)
_LONGEST_PRINTED: Final = 200
_LONG_AS_A_RULE: Final = ("diff", "@@", "---", "+++", "traceback", "<")
_CODE_LINE: Final = re.compile(
    r"(?:\s{4}|\t)\s*\S"
    r"|\s*(?:(?:def|class|return|import|raise|async|await|const|let|var|func|fn|public|private"
    r"|static|export|elif|except|finally|while|with|yield|del|assert|switch|case)\b"
    r"|from \S+ import|if .+:$|for .+:$|else:|try:|@\w|//|/\*|\*/|#!|</?\w[^>]*>\s*$)"
    r"|.*[;{}(\[,\\]\s*$|\s*[}\])]+[;,]?\s*$|\s*[\w.\[\]'\"]+ ?[-+*/|&]?= ?\S"
    r"|\s*[\w.]+\(.*\)\s*$"
    r"|\$ \S|total \d+$|[-dlbcps](?:[r-][w-][xst-]){3}[.+@]?\s"
    r"|\S+(?::\d+(?::\d+)?|\(\d+,\d+\))(?::| -) (?:fatal )?(?:error|warning|note)\b"
    r"|(?:npm|pnpm|yarn) (?:WARN|ERR!|warn|error|notice) "
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"
    r"|(?:error|warning|note|help)(?:\[\w+\])?: |\s*--> \S+:\d|\s*\d* \|(?: |$)"
    r"|\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d\b"
    r"|\[\d+/\d+\] \S|\d+ (?:passed|failed|skipped)\b.* in \d|[.FEsx]{3,}(?: +\[ *\d+%\])?$"
    r"|\S+ [.FEsxX]+ +\[ *\d+%\]$|collected \d+ items?\b|(?:FAILED|ERROR) \S+::\S+ - "
    r"|On branch \S+$|Your branch is |Changes (?:not staged|to be committed)|Untracked files:$"
    r"|\s*[\u25cf\u2715\u2717\u00d7] \S"
    r"|[Ff]ound \d+ errors?\b|=+ .* =+$|(?:PASSED|FAILED|ERROR|FAIL|PASS|ok|---) +\S+$|Tests?: +\d"
)
# Calls and what came of them, as clients show them to people beside what was said.
_TOOL_LINE: Final = re.compile(
    r"[ \t]*(?:[\u23fa\u25cf][ \t]*[A-Z]\w*\(|\u23bf"
    r"|[*_`]*\[(?:tool|function)(?:[ _](?:call|use|result))?\b"
    r"(?!\W*\w*(?:done|finish|submit|complete|answer|ask|question)))",
    re.IGNORECASE,
)
_SIGNS_OF_A_TOOL: Final = ("\u23bf", "\u23fa", "\u25cf", "[tool", "[Tool", "[function")
_OF_ITS_RESULT: Final = (" ", "\t", "\u2026")
_OPENERS: Final = ("{", "(", "[", ",", "=>", " =", "&&", "||")
_OPENS_PYTHON: Final = re.compile(
    r"\s*(?:if|for|while|def|class|with|elif|else|try|except)\b[^{]*:$"
)
_SENTENCE: Final = re.compile(r"[A-Z][a-z]+(?: [\w'`,-]+){3,}[.!?:]$")


def is_output(tail: str, *, says_nothing: bool) -> bool:
    """Tell whether the end of a message is nothing but output.

    `says_nothing` is whether nothing stands beside its fenced blocks.
    """
    if is_fenced(tail):
        return says_nothing and _language(tail) not in _DATA
    if tail[:1] == "{":
        return False
    return _was_printed(tail.lstrip()) or _is_code(tail)


def ends_with_a_tool(tail: str) -> bool:
    """Tell whether a message ends with a call, or what came of one, as clients show them."""
    if not any(sign in tail for sign in _SIGNS_OF_A_TOOL):
        return False
    for line in reversed(tail.rsplit("\n", _MOST_LINES)):
        if _TOOL_LINE.match(line):
            return True
        if not line.startswith(_OF_ITS_RESULT):
            return False
    return False


def is_fenced(text: str) -> bool:
    """Tell whether there is a fence; a single character is found many times faster."""
    return "`" in text and _FENCE in text


def is_line_of_code(line: str) -> bool:
    """Tell whether a line is code, or what a tool printed."""
    return _CODE_LINE.match(line) is not None


def is_half_code(block: str) -> bool:
    """Tell whether a block ends where code must go on, with brackets that are still open."""
    language, _, code = block.partition("\n")
    if language.strip().lower() in (*_DATA, "diff", "text", "plaintext", ""):
        return False
    last_line = code.rstrip().rpartition("\n")[2]
    if _OPENS_PYTHON.match(last_line):
        return True
    return last_line.endswith(_OPENERS) and has_open_brackets(code)


def has_open_brackets(code: str) -> bool:
    """Tell whether more brackets are opened than closed."""
    return sum(map(code.count, "([{")) > sum(map(code.count, ")]}"))


def _language(tail: str) -> str:
    """Return what the first fenced block says that it is."""
    return tail.partition(_FENCE)[2].partition("\n")[0].strip().lower()


def _was_printed(text: str) -> bool:
    """Tell whether it begins as a tool does; but for diffs and traces a tool's word is short."""
    if not _PRINTED.match(text):
        return False
    return len(text) <= _LONGEST_PRINTED or text.lower().startswith(_LONG_AS_A_RULE)


def _is_code(text: str) -> bool:
    is_typed = text.startswith("$ ")
    if "\n" not in text and not is_typed:
        return False
    lines = [line for line in text.rsplit("\n", _MOST_LINES)[-_MOST_LINES:] if line.strip()]
    if is_typed:
        return not any(map(_SENTENCE.match, lines))
    if len(lines) < _FEWEST_LINES:
        return False
    # From the end on: what is said stands there, and a few such lines are enough to tell.
    left = len(lines) - _SHARE * len(lines)
    for line in reversed(lines):
        is_code = is_line_of_code(line)
        left -= not is_code
        if left < 0 or (not is_code and _SENTENCE.match(line)):
            return False
    return True
