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

from interlock.policy.stops.open_ends import ITEM, PLAIN_END, breaks_off
from interlock.policy.stops.output_text import ends_with_a_tool, is_fenced, is_half_code, is_output

_MOST_READ: Final = 4_000
_MOST_PROSE: Final = 1_500
_MOST_OF_A_LINE: Final = 600
_CUT_OF_A_LINE: Final = 240
_ENOUGH_SENTENCES: Final = 4
_MOST_SENTENCES: Final = 12
_MOST_BEHIND_A_CALL: Final = 600

_FENCE: Final = "```"
_COMMANDS: Final = ("bash", "sh", "shell", "zsh", "console", "powershell")
_UNSHOWN: Final = ("[object Object]", "No response requested.")
"""What some clients write in the place of a call that they cannot show, or of no answer."""
_OPEN_BOXES: Final = ("[ ]", "\u2b1c", "\u2610", "\u23f3", "\U0001f504", "\U0001f6a7")
_TICKED: Final = ("[x]", "[X]", "\u2705", "\u2611", "\u2714", "\u2713")
_THOUGHTS_ONLY: Final = ("</thinking>", "</think>", "</reasoning>", "</thought>")
_APOSTROPHES: Final = ("\u2019", "\u2018", "\u02bc")

_HALF_CHARACTER: Final = re.compile(r"[\ud800-\udfff]")
# A picture before the first word, but for the ticks: those report.
_PICTURE: Final = re.compile(
    r"^(?:(?![\u2705\u2713\u2714\u2611])"
    r"[\u2190-\u21ff\u231a-\u23ff\u25a0-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff])+\s+"
)
_MARKS: Final = re.compile(r"[*_]{2,}|^\s*#+\s+")
_CODE: Final = re.compile(r"`[^`\n]*`")
_QUOTED: Final = re.compile(
    r'"[^"\n]*"|\u201c[^\u201c\u201d\n]*\u201d|\u00ab[^\u00ab\u00bb\n]*\u00bb'
)
_QUOTED_LINE: Final = re.compile(r"\n[ \t]*>[^\n]*")
_MARK_OF_QUOTE: Final = re.compile(r"\n[ \t]*>[ \t]?")
_SAYS: Final = re.compile(r"^[ \t]*(?!\[[^\]\n]*\]\s*$)[^\s>][^\n]*", re.MULTILINE)
"""A line that says something: a heading in brackets does not."""
_THOUGHT: Final = re.compile(r"</?(?:think|thinking|thought|reasoning|answer|result|response)>")
_STRING_OF_JSON: Final = re.compile(r'\\[nrt]|",?\s*"[\w ]{1,40}"\s*:\s*"?')
# A line that goes on in the next one: it ends within a sentence, the next begins within it.
_WRAPPED: Final = re.compile(r"\n(?=[a-z])(?<=[\w,;)'` ]\n)")
# A sentence ends at a mark with a blank behind it; scripts that write without blanks need none.
_SENTENCE_END: Final = re.compile(
    r"[.!?\u2026\u061f\u037e\u0964][\"')\]*_]*(?:\s+|(?=[^\x00-\u2e7f]))"
    r"|[\u3002\uff01\uff1f\uff0e][\"')\]*_]*(?:\s+|(?=[^\x00-\x2f\x3a-\x40]|`))"
)
_HAS_WORD: Final = re.compile(r"\w")
# Tags that are named for an act hold a call; those named for a thing hold an answer.
_OF_TOOLS: Final = (
    "(?:execute|run|read|write|list|search|apply|create|edit|use|open|replace|insert|delete|new"
    "|switch|str|view|find|get|fetch|call|update|invoke|browse|grep|make|move|copy|remove|add)"
)
_CALL: Final = re.compile(
    r"<function=|</?function_calls>|</function>|</?invoke\b|</?tool_calls?>|</?tool_use\b>?"
    r"|<\|tool_call|<\uff5ctool.calls?.begin|\[/?tool_calls?\]|\naction input:"
    rf"|</(?:{_OF_TOOLS}_[a-z_]+|[a-z_]+_(?:action|tool|bash|command|search)"
    r"|bash|shell|execute|command)>(?=\s*$)"
    r'|"(?:(?:name|tool|tool_name|function)"\s*:\s*"[^"\n]{1,80}"\s*,\s*"(?:arguments|tool_input'
    r'|parameters)|(?:tool|tool_name|function)"\s*:\s*"[^"\n]{1,80}"\s*,\s*"(?:args|params|input'
    r'|kwargs))"\s*:'
)
_SIGNS_OF_A_CALL: Final = (
    "</", "<function", "<invoke", "<tool_use", "tool_call", '"arguments"', '"tool_input"',
    "\naction input:", "<\uff5ctool", '"parameters"', '"args"', '"params"', '"input"', '"kwargs"',
)  # fmt: skip
# Calls that are the last line, as functions or as the act that follows a thought.
_LINE_OF_A_CALL: Final = re.compile(
    r"(?:^|\n)(?:(?:functions|tools|default_api)\.\w+\(.*|<\|python_tag\|>.*"
    r"|<\|channel\|>(?:commentary|analysis).*"
    r"|thought(?: \d+)?:(?s:.{0,900}?)\naction(?: \d+)?: ?"
    r"(?!finish|submit|final|none|n/a|no\b)[\w.-]+(?:\[[^\]\n]*\]|\([^\n]*\))?)\s*$"
)
_BEGINNINGS_OF_A_LINE: Final = ("functions.", "tools.", "default_api.", "<|", "action")
# What is said of a call that was just written; anything else behind it is an answer.
_REMARKS_ON_A_CALL: Final = ("this will", "this should", "please wait", "please hold", "once i")


_STEP: Final = re.compile(
    r'\{\s*"(?:(?:thoughts?|current_state)"\s*:(?s:.*)"(?:actions?|command|tool|tool_name|next_\w+)'
    r'|(?:reasoning|reflection)"\s*:(?s:.*)"next_(?:action|step|goal))"\s*:'
)
_LAST_STEP: Final = re.compile(r'"(?:answer|final_answer|final|done|response)"')
_HANDING_IN: Final = (
    "submit", "finish", "final_answer", "attempt_completion", "complete_task", "task_complete",
    "task_done", "submit_answer", "submit_solution", "finish_task", "end_task", "mark_complete",
)  # fmt: skip
"""What agents' frameworks call the act that hands the work in."""
_OF_HANDING_IN: Final = ("submit", "finish", "answer", "complet", "task")
"""One of these is part of each of its names."""
_LAST_WORDS: Final = (
    "\nterminate",
    " terminate",
    "task_complete",
    "<finish></finish>",
    "</finish>",
    "</attempt_completion>",
    "</final_answer>",
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
    is_half_ticked: bool = False
    """It ends with a list of what is ticked and what is not."""
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
    is_half = block is not None and not is_command and is_half_code(block)
    return Closing(
        sentences=sentences,
        is_open=is_half or breaks_off(said) or (tail[0] == "{" and _is_half_an_object(tail)),
        calls=_ends_with_a_call(end) or _is_a_step(end) or ends_with_a_tool(tail),
        shows=block is not None and not is_command and not is_half,
        shows_command=is_command,
        only_thinks=tail[-len("</thinking>") :].lower().endswith(_THOUGHTS_ONLY),
        is_silent=not sentences and _HAS_WORD.search(tail) is None,
        is_output=is_output(tail, says_nothing=not sentences),
        ends_by_call=_hands_in(end),
        is_half_ticked=_is_half_ticked(said),
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
        for unshown in _UNSHOWN:
            tail = tail.removesuffix(unshown).rstrip()
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
        prose = _THOUGHT.sub("\n", _own_lines(f"\n{prose}"))
    prose = straightened(prose[-most:])
    return _WRAPPED.sub(" ", prose) if "\n" in prose else prose


def _own_lines(prose: str) -> str:
    """Return the lines that are not quoted; where every line is marked so, nothing is."""
    own = _QUOTED_LINE.sub("", prose)
    return own if _SAYS.search(own) else _MARK_OF_QUOTE.sub("\n", prose)


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


def _is_half_ticked(tail: str) -> bool:
    """Tell whether the last item of a list is open, and one before it is ticked."""
    last_line = tail[tail.rfind("\n") + 1 :].lstrip("-*+ ")
    if not last_line.startswith(_OPEN_BOXES):
        return False
    return any(line.lstrip("-*+ ").startswith(_TICKED) for line in tail[-_MOST_PROSE:].splitlines())


def _is_half_an_object(tail: str) -> bool:
    """Tell whether it is JSON that ends within one of its values."""
    return '":' in tail and tail[-1] not in "}]" and tail.count("{") > tail.count("}")


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
    item = ITEM.match(line)
    rest = line[item.end() :] if item else line
    if "**" in rest or "__" in rest or "#" in rest:
        rest = _MARKS.sub("", rest)
    if not rest[:1].isascii():
        rest = _PICTURE.sub("", rest)
    pieces = _pieces(rest, cut)
    if len(pieces) > 1 and not rest.isascii():
        pieces = [each if each[:1].isascii() else _PICTURE.sub("", each) for each in pieces]
    plain = str.lower if _is_plain(rest) else _plain
    if rest is line and len(pieces) == 1:
        return [Sentence(pieces[0], plain(pieces[0]), is_item=False, begins_line=True)]
    pieces = [piece for piece in pieces if piece[:1].isalpha() or _HAS_WORD.search(piece)]
    return [
        Sentence(piece, plain(piece), item is not None, index == 0)
        for index, piece in enumerate(pieces)
    ]


def _pieces(line: str, cut: int) -> list[str]:
    """Return a line cut behind the end of each sentence, if enough of them lie in its end."""
    if line.isascii() and not ("." in line[:-1] or "!" in line or "?" in line):
        return [line.strip()]
    whole = line
    if '"' in line or not line.isascii():
        # The end of a sentence within a quote is none.
        line = _QUOTED.sub(lambda quote: "x" * len(quote.group()), line)
    # Plain text knows fewer marks, and is looked through faster.
    mark = PLAIN_END if line.isascii() else _SENTENCE_END
    ends = [end.end() for end in mark.finditer(line, max(0, len(line) - cut))]
    if len(ends) <= _ENOUGH_SENTENCES and len(line) > cut:
        ends = [end.end() for end in mark.finditer(line)]
    return [whole[start:end].strip() for start, end in pairwise([0, *ends, len(line)])]


def _is_plain(line: str) -> bool:
    """Tell whether nothing in a line is code or quoted, so that its sentences need no look each."""
    if not (line.isascii() and line.isprintable()):
        return False
    return not ('"' in line or "`" in line or "  " in line)


def _plain(sentence: str) -> str:
    plain = sentence.lower()
    if "  " in plain or not plain.isprintable():
        plain = " ".join(plain.split())
    if "`" in plain:
        plain = _CODE.sub(_named if holds_one(plain, _OF_HANDING_IN) else "code", plain)
    if '"' in plain or (not plain.isascii() and ("\u201c" in plain or "\u00ab" in plain)):
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
    return may_call and holds_one(end, _OF_HANDING_IN) and _CALLED_IN.search(end) is not None


def _ends_with_a_call(end: str) -> bool:
    """Tell whether a call is the last thing that a message holds."""
    # Single characters are found many times faster, and most messages hold none of them.
    may_call = "<" in end or '"' in end or "[" in end or "\na" in end
    if not (may_call and holds_one(end, _SIGNS_OF_A_CALL)):
        return False
    calls = list(_CALL.finditer(end))
    if not calls:
        return False
    last = calls[-1]
    behind = end[last.end() :].strip(" `\n")
    if behind == ">" and "<function_calls>" in end:
        # The last of its calls is whole, and the block of them never closed.
        return True
    if last.group().startswith(("</", "[/")):
        return not behind or behind.startswith(_REMARKS_ON_A_CALL)
    return len(behind) <= _MOST_BEHIND_A_CALL and "\n\n" not in behind


def _is_a_step(end: str) -> bool:
    """Tell whether it is the JSON that some agents write for each step, or ends with a call."""
    if not (end[0] == "{" and _STEP.match(end)):
        may_be = end.startswith(_BEGINNINGS_OF_A_LINE, end.rfind("\n") + 1)
        return may_be and _LINE_OF_A_CALL.search(end) is not None
    return _LAST_STEP.search(end) is None


def holds_one(text: str, signs: tuple[str, ...]) -> bool:
    """Tell at little cost whether a longer look at a text is worth it; a generator costs more."""
    for sign in signs:  # noqa: SIM110 - see above
        if sign in text:
            return True
    return False


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
