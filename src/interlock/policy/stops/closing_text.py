"""How does a message end?

Only the end of a message says whether its writer goes on, asks or is done, so only the end is
read, however long the message is. Code and quoted text are somebody else's words and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, cast

import msgspec

from interlock.policy.stops.output_text import is_fenced, is_output

_MOST_READ: Final = 4_000
_MOST_PROSE: Final = 1_500
_MOST_OF_A_LINE: Final = 600
_CUT_OF_A_LINE: Final = 240
_ENOUGH_SENTENCES: Final = 4
_MOST_SENTENCES: Final = 12
_MOST_BEHIND_A_CALL: Final = 600

_FENCE: Final = "```"
_COMMANDS: Final = ("bash", "sh", "shell", "zsh", "console", "powershell")
_UNSHOWN: Final = "[object Object]"
"""What some clients write in the place of a call that they cannot show."""
_COLONS: Final = (":", "\uff1a")
_THOUGHTS_ONLY: Final = ("</thinking>", "</think>", "</reasoning>")
_APOSTROPHES: Final = ("\u2019", "\u2018", "\u02bc")

_HALF_CHARACTER: Final = re.compile(r"[\ud800-\udfff]")
# A heading at the very end opens something where it counts steps; any other is a sentence.
_HEADING: Final = re.compile(
    r"\s*#{1,6}\s+(?:[*_]{2})?"
    r"(?:(?:step|task|phase|fix|part|change|item|issue|stage) #?\d+\b|#?\d{1,3}[.):])"
    r".{0,78}(?<![.!?\u2026\u3002\uff01\uff1f])$",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(r"\s*(?:[-*+\u2022]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_MARKS: Final = re.compile(r"[*_]{2,}|^\s*#+\s+")
_CODE: Final = re.compile(r"`[^`\n]*`")
_QUOTED: Final = re.compile(
    r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d|\u00ab[^\u00ab\u00bb\n]*\u00bb'
)
_QUOTED_LINE: Final = re.compile(r"\n[ \t]*>[^\n]*")
_THOUGHT: Final = re.compile(r"</?(?:think|thinking|reasoning|answer|result|response)>")
_STRING_OF_JSON: Final = re.compile(r'\\[nrt]|",?\s*"[\w ]{1,40}"\s*:\s*"?')
# A line that goes on in the next one: it ends within a sentence, the next begins within it.
_WRAPPED: Final = re.compile(r"\n(?=[a-z])(?<=[\w,;)'` ]\n)")
# A sentence ends at a mark with a blank behind it; scripts that write without blanks need none.
_PLAIN_END: Final = re.compile(r"[.!?][\"')\]*_]*\s+")
_SENTENCE_END: Final = re.compile(
    r"[.!?\u2026\u061f\u037e\u3002\uff01\uff1f\uff0e][\"')\]*_]*(?:\s+|(?=[^\x00-\u2e7f]))"
)
_HAS_WORD: Final = re.compile(r"\w")
_CALL: Final = re.compile(
    r"<function=|</?function_calls>|</function>|</?invoke\b|</?tool_calls?>|</?tool_use\b"
    r"|<\|tool_call|\[/?tool_calls?\]|\naction input:|</[a-z]+_[a-z_]+>(?=\s*$)"
    r'|"(?:name|tool|tool_name|function)"\s*:\s*"[^"\n]{1,80}"\s*,\s*"(?:arguments|tool_input)"\s*:'
)
_BEGINNINGS_OF_A_CALL: Final = ("<", "[", '"', "action input")
_SIGNS_OF_A_CALL: Final = ("function", "invoke", "tool", "arguments", "action input", "</")
# What is said of a call that was just written; anything else behind it is an answer.
_REMARKS_ON_A_CALL: Final = ("this will", "this should", "please wait", "please hold", "once i")


_HANDING_IN: Final = (
    "submit", "finish", "final_answer", "attempt_completion", "complete_task", "task_complete",
    "task_done", "submit_answer", "submit_solution", "finish_task", "end_task", "mark_complete",
)  # fmt: skip
"""What agents' frameworks call the act that hands the work in."""
_LAST_WORDS: Final = (
    "\nterminate",
    " terminate",
    "task_complete",
    "<finish></finish>",
    "</finish>",
    "</attempt_completion>",
    "</ask_followup_question>",
)
"""What agents write to say that they are done, or to ask, where nobody reads a call."""
_CALL_NAMES: Final = "|".join(_HANDING_IN)
_CALLED_IN: Final = re.compile(
    rf"(?:<function=|<invoke name=\"|\"(?:name|tool|tool_name|function|action)\"\s*:\s*\")"
    rf"(?:{_CALL_NAMES})\b[^<]{{0,600}}(?:<(?!function=|invoke)[^<]{{0,200}})*$"
)
_SUBMITS: Final = re.compile(
    rf"(?:(?:bash|sh|shell|console|python|text)\n)?\s*(?:(?:{_CALL_NAMES})\b(?:\(.*\))?"
    r"|echo complete_task_and_submit_final_output\b.*)\s*$"
)


class Sentence(msgspec.Struct, frozen=True):
    """A sentence near the end of a message."""

    said: str
    """As it was written, without marks of emphasis."""
    plain: str
    """The same in lower case, without code and quoted text."""
    is_item: bool
    """Whether it stands in a list."""
    begins_line: bool


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """How a message ends."""

    sentences: tuple[Sentence, ...] = ()
    """The last ones, oldest first."""
    is_open: bool = False
    """It ends with a colon or with the heading of a step: what it announces is missing."""
    calls: bool = False
    """It ends with a tool call written as text."""
    shows: bool = False
    """It ends with a block that is no command: what it announces stands there already."""
    shows_command: bool = False
    """It ends with a block that holds a command."""
    is_silent: bool = False
    """It says nothing: there is no word in it."""
    is_output: bool = False
    """It holds nothing but code, a diff, or what a tool printed."""
    ends_by_call: bool = False
    """The call that it ends with, or the block, is the one that hands the work in."""
    only_thinks: bool = False
    """It ends with its thoughts: nothing was said or done after them."""


def closing_of(text: str | None) -> Closing:
    """Return how a message ends; None is not known, and blank text says nothing."""
    tail = _tail(text)
    if not tail:
        return Closing(is_silent=text is not None)
    end = tail[-_MOST_PROSE:].lower()
    said = _unwrapped(tail)
    sentences = _last_sentences(_prose(said, _MOST_PROSE))
    block = _last_block(said)
    is_command = block is not None and _is_command(block)
    return Closing(
        sentences=sentences,
        is_open=_breaks_off(said),
        calls=_ends_with_a_call(end),
        shows=block is not None and not is_command,
        shows_command=is_command,
        only_thinks=tail[-len("</thinking>") :].lower().endswith(_THOUGHTS_ONLY),
        is_silent=not sentences and _HAS_WORD.search(tail) is None,
        is_output=is_output(tail, says_nothing=not sentences),
        ends_by_call=_hands_in(end),
    )


def sentences_of(text: str | None) -> tuple[Sentence, ...]:
    """Return every sentence of the part that is read, for phrases that count anywhere."""
    lines = _prose(_unwrapped(_tail(text)), _MOST_READ).split("\n")
    return tuple([sentence for line in lines for sentence in _sentences_of_line(line, _MOST_READ)])


def straightened(text: str) -> str:
    """Return a text with straight apostrophes, whichever it was written with."""
    if not text.isascii():
        for apostrophe in _APOSTROPHES:
            text = text.replace(apostrophe, "'")
    return text


def _tail(text: str | None) -> str:
    """Return the part of a message that is read, without half characters."""
    tail = (text or "")[-_MOST_READ:].rstrip()
    while tail.endswith(_UNSHOWN):
        tail = tail[: -len(_UNSHOWN)].rstrip()
    if not tail.isascii():
        try:
            tail.encode()
        except UnicodeEncodeError:
            return _HALF_CHARACTER.sub("\ufffd", tail)
    return tail


def _prose(tail: str, most: int) -> str:
    """Return the end of the text, without code and without what it quotes line by line."""
    prose = _without_blocks(tail) if is_fenced(tail) else tail
    if ">" in prose:
        prose = _THOUGHT.sub("\n", _QUOTED_LINE.sub("", f"\n{prose}"))
    prose = straightened(prose[-most:])
    return _WRAPPED.sub(" ", prose) if "\n" in prose else prose


def _unwrapped(text: str) -> str:
    """Return what is said in a message that some clients wrap into JSON, perhaps in a block."""
    if text[:1] not in ("{", "`"):
        return text
    inner = text
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        inner = text.strip("`").partition("\n")[2].strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        return text
    try:
        return "\n".join(_strings(msgspec.json.decode(inner)))
    except (msgspec.DecodeError, RecursionError):
        return _STRING_OF_JSON.sub("\n", inner.rstrip('"}] \n'))


def _strings(value: object, mark: str = "") -> Iterator[str]:
    """Yield what stands in a value, a list as a list; a single word is a name, and not said."""
    match value:
        case str() if " " in value or not value.isascii():
            yield f"{mark}{value}"
        case dict():
            for each in cast("dict[str, object]", value).values():
                yield from _strings(each, mark)
        case list():
            for each in cast("list[object]", value):
                yield from _strings(each, "- ")
        case _:
            pass


def _without_blocks(text: str) -> str:
    """Return the text without its fenced blocks."""
    parts = text.split(_FENCE)
    one_is_missing = len(parts) % 2 == 0
    # The end of a long text may begin within a block; the fence that closes names no language.
    if one_is_missing and len(text) >= _MOST_READ and not parts[1][:1].strip():
        return "\n".join(parts[1::2])
    prose = parts[::2]
    # A last fence that never closes is stray, unless it names a language: what follows is said.
    if one_is_missing and not parts[-1].partition("\n")[0].strip():
        prose.append(parts[-1])
    return "\n".join(prose)


def _breaks_off(tail: str) -> bool:
    last_line = tail[tail.rfind("\n") + 1 :]
    if last_line.rstrip("*_ ").endswith(_COLONS):
        return True
    return "#" in last_line and _HEADING.match(last_line) is not None


def _last_sentences(prose: str) -> tuple[Sentence, ...]:
    """Return the last sentences, oldest first; a list at the end comes with what introduces it."""
    found: list[Sentence] = []
    for line in reversed(prose.split("\n")):
        found.extend(reversed(_sentences_of_line(line[-_MOST_OF_A_LINE:], _CUT_OF_A_LINE)))
        if len(found) >= _ENOUGH_SENTENCES and not (
            found[-1].is_item and len(found) < _MOST_SENTENCES
        ):
            break
    return tuple(reversed(found[:_MOST_SENTENCES]))


def _sentences_of_line(line: str, cut: int) -> list[Sentence]:
    """Return the sentences of a line; what comes before the part that is cut may be left whole."""
    if not _HAS_WORD.search(line):
        return []
    item = _ITEM.match(line)
    rest = line[item.end() :] if item else line
    if "**" in rest or "__" in rest or "#" in rest:
        rest = _MARKS.sub("", rest)
    pieces = [piece for piece in _pieces(rest, cut) if _HAS_WORD.search(piece)]
    return [
        Sentence(piece, _plain(piece), item is not None, index == 0)
        for index, piece in enumerate(pieces)
    ]


def _pieces(line: str, cut: int) -> list[str]:
    """Return a line cut behind the end of each sentence, if enough of them lie in its end."""
    if line.isascii() and not ("." in line[:-1] or "!" in line or "?" in line):
        return [line.strip()]
    # Plain text knows fewer marks, and is looked through faster.
    mark = _PLAIN_END if line.isascii() else _SENTENCE_END
    ends = [end.end() for end in mark.finditer(line, max(0, len(line) - cut))]
    if len(ends) <= _ENOUGH_SENTENCES and len(line) > cut:
        ends = [end.end() for end in mark.finditer(line)]
    return [line[start:end].strip() for start, end in pairwise([0, *ends, len(line)])]


def _plain(sentence: str) -> str:
    plain = sentence.lower()
    if "  " in plain or not plain.isprintable():
        plain = " ".join(plain.split())
    if "`" in plain:
        plain = _CODE.sub(_named if _holds(plain, _HANDING_IN) else "code", plain)
    if '"' in plain or "\u201c" in plain or "\u00ab" in plain:
        plain = _QUOTED.sub("quote", plain)
    return plain


def _named(code: re.Match[str]) -> str:
    """Return what stands for code: the name of an act that hands in is one that counts."""
    name = code.group().strip("`")
    return name if name in _HANDING_IN else "code"


def _hands_in(end: str) -> bool:
    """Tell whether the last thing that a message holds is the call or the command to hand in."""
    block = _last_block(end)
    if (block is not None and _SUBMITS.match(block.strip())) or end.endswith(_LAST_WORDS):
        return True
    may_call = "<" in end or '"' in end
    return may_call and _holds(end, _HANDING_IN) and _CALLED_IN.search(end) is not None


def _ends_with_a_call(end: str) -> bool:
    """Tell whether a call is the last thing that a message holds."""
    if not (_holds(end, _BEGINNINGS_OF_A_CALL) and _holds(end, _SIGNS_OF_A_CALL)):
        return False
    calls = list(_CALL.finditer(end))
    if not calls:
        return False
    last = calls[-1]
    behind = end[last.end() :].strip(" `\n")
    if last.group().startswith(("</", "[/")):
        return not behind or behind.startswith(_REMARKS_ON_A_CALL)
    return len(behind) <= _MOST_BEHIND_A_CALL and "\n\n" not in behind


def _holds(text: str, signs: tuple[str, ...]) -> bool:
    """Tell at little cost whether a longer look at a text is worth it."""
    return any(sign in text for sign in signs)


def _last_block(tail: str) -> str | None:
    """Return the fenced block that is the last thing in a message, with what it says it is."""
    if not tail.endswith(_FENCE):
        return None
    return tail[: -len(_FENCE)].rpartition(_FENCE)[2]


def _is_command(block: str) -> bool:
    """Tell whether a block holds a command: it says so, or it is a single line of no language."""
    language, _, inner = block.partition("\n")
    name = language.strip().lower()
    return name in _COMMANDS or (not name and bool(inner.strip()) and "\n" not in inner.strip())
