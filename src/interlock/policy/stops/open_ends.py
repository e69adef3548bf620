"""Does a text break off where something must follow?

A table, a list, code or a sentence was begun and not ended: its last word needs another one, its
last mark opens what nothing closes.
"""

from __future__ import annotations

import re
from typing import Final

from interlock.policy.stops.output_text import has_open_brackets, is_fenced, is_line_of_code

_LONGEST_MARKER: Final = 5
_FEWEST_WORDS: Final = 4
_COMMAS: Final = (",", "\uff0c", "\u3001")
_BEFORE_ANOTHER: Final = frozenset(
    """
    the a an and or but because when while if whether which every my your our its their than
    we they he she until unless although whereas
    der das den dem des ein eine einen einem einer und oder aber von mit für beim zum zur weil wenn
    dass wird werden durch sondern sowie zwischen wegen während obwohl sodass im vom ins diese jede
    le la les une du et ou mais avec pour dans par que qui sont sur sans est dont lorsque puisque
    afin aux cette ces leurs entre selon depuis pendant
    el los las una del pero con para por sobre sin aunque porque mientras desde hasta según mediante
    os um uma da dos das mas com na ao aos pelo pela num numa é são enquanto embora até pois nos nas
    il gli della dello dei degli delle dal dalla nel nella nei nelle sul sulla per che ma perché
    mentre oppure sono è
    het een voor naar omdat terwijl zodat maar tussen zonder tegen volgens
    oraz albo lub ale natomiast ponieważ który która które jeśli aby żeby przez dla bez że jest są
    и или но для по что который которая которые если в во на с со к от до из за при без между через
    чтобы поскольку когда либо
    і й та або але що який яка які якщо у з зі від над під між щоб бо коли
    ve veya ancak çünkü ile fakat
    và hoặc nhưng của với để vì nếu là các những bởi
    dan atau tetapi yang untuk dengan dari ke di pada karena agar bahwa adalah oleh serta
    و أو ثم في من على إلى عن مع أن إن التي الذي الذين حيث بينما لأن لكن إذا كما بين حتى
    और या का के की में से को पर कि लेकिन जो तथा एवं ने क्योंकि जब
    """.split()
)
"""Words that need another one behind them."""
_BEFORE_A_NOUN: Final = frozenset(
    "of to with for from by into at between without is are was were has have".split()
)
"""So do these, unless what they belong to stands before them: "what they wait for"."""
_RELATED: Final = re.compile(
    r"\b(?:wh\w+|that|you|we|i|they|he|she|it|how|as|than)\b", re.IGNORECASE
)
_JOINS: Final = frozenset("and or und oder et ou e o en of oraz".split())
_BEHIND_A_JOIN: Final = frozenset("in at by for with from ab auf aus bei nach seit vor bis".split())
"""These may end a sentence, but not right behind a word that joins: "and from"."""
# Japanese, Chinese and Korean write what needs another word without a blank before it.
_PARTICLE: Final = re.compile(
    r"[\u3041-\u9fff]{3}(?:[はがを]|(?<!も)の)$"
    r"|[\u4e00-\u9fff]{3}(?:是|以及|因为|由于|并且|而且|但是|如果|其中|(?<![总温缓饱])和|把|被)$"
    r"|[가-힣]{2}(?:[을를은는]|(?<![회정동주합논강])의)$"
)

_FEWEST_OF_A_LINE: Final = 6
_LAST_OF_ALL: Final = frozenset(
    "pass passes green now done clean ready works ok okay fine again too well so here it".split()
)
"""Words that those end with who leave out the last mark of a report."""
_NO_BLANKS_FROM: Final = "\u2e80"
_FENCE: Final = "```"
_COLONS: Final = (":", "\uff1a")
# A heading at the very end opens something where it counts steps; any other is a sentence.
_HEADING: Final = re.compile(
    r"\s*#{1,6}\s+(?:[*_]{2})?"
    r"(?:(?:step|task|phase|fix|part|change|item|issue|stage) #?\d+\b|#?\d{1,3}[.):])"
    r".{0,78}(?<![.!?\u2026\u3002\uff01\uff1f])$",
    re.IGNORECASE,
)
_PLAIN_WORDS: Final = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,3}")
_REPORTS: Final = frozenset(
    "done complete completed fixed passed ready resolved merged works verified success all".split()
)
_IN_EXPRESSION: Final = re.compile(r"[\w)\]] ?(?:[-+*/|&%]?=|&&|\|\|| [+*|&]|=>|->)$")
ITEM: Final = re.compile(r"\s*(?:[-*+\u2022]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
PLAIN_END: Final = re.compile(r"[.!?][\"')\]*_]*\s+")


def breaks_off(tail: str) -> bool:
    """Tell whether the last line of a text is not its end."""
    last_line = tail[tail.rfind("\n") + 1 :]
    if last_line.rstrip("*_ ").endswith(_COLONS):
        return True
    if last_line[:1] in ("#", "|"):
        return (
            _HEADING.match(last_line) is not None
            or _is_half_a_row(tail, last_line)
            or _heads_nothing(tail, last_line)
        )
    return (
        _is_cut(last_line)
        or _lacks_its_mark(tail, last_line)
        or _is_half_a_block(tail)
        or _opens_code(last_line)
        or (len(last_line) <= _LONGEST_MARKER and _is_an_empty_item(tail, last_line))
    )


def _is_half_a_row(tail: str, last_line: str) -> bool:
    """Tell whether the last row of a table is not closed or too short, and those before are not."""
    *_, first, before = ("", "", *tail[: -len(last_line)].splitlines())
    if last_line[0] != "|" or not before.endswith("|"):
        return False
    return last_line[-1] != "|" or last_line.count("|") < min(first.count("|"), before.count("|"))


def _heads_nothing(tail: str, last_line: str) -> bool:
    """Tell whether a heading of a few plain words has no text, and one like it before has."""
    mark, _, words = last_line.partition(" ")
    if not _PLAIN_WORDS.fullmatch(words) or not _REPORTS.isdisjoint(words.lower().split()):
        return False
    return f"\n{mark} " in tail[: -len(last_line)]


def _opens_code(last_line: str) -> bool:
    """Tell whether a line ends with the mark that begins code."""
    return last_line[-1:] == "`" and last_line.count("`") % 2 == 1 and _FENCE not in last_line


def _is_an_empty_item(tail: str, last_line: str) -> bool:
    """Tell whether the last line is the mark of one more item, with nothing behind it."""
    item = ITEM.match(f"{last_line} ")
    before = tail[: -len(last_line)].rstrip()
    return (
        item is not None
        and item.end() > len(last_line)
        and ITEM.match(before[before.rfind("\n") + 1 :]) is not None
    )


def _is_cut(last_line: str) -> bool:
    """Tell whether a line ends with a word that needs another one, or with a comma."""
    end = last_line[-1:]
    if end.isascii() and not (end.isalpha() or end == ","):
        return False
    if end >= _NO_BLANKS_FROM and _PARTICLE.search(last_line):
        return True
    words = last_line.rsplit(None, _FEWEST_WORDS)
    if len(words) <= _FEWEST_WORDS:
        return False
    if words[-1] in _BEFORE_A_NOUN:
        return _RELATED.search(last_line) is None
    if words[-1] in _BEHIND_A_JOIN:
        return words[-2] in _JOINS
    return words[-1] in _BEFORE_ANOTHER or words[-1][-1] in _COMMAS


def _lacks_its_mark(tail: str, last_line: str) -> bool:
    """Tell whether prose ends within a sentence, although those before it have their marks."""
    end = last_line[-1:]
    if not (end.isalpha() and end < _NO_BLANKS_FROM and last_line[0].isupper()):
        return False
    words = last_line.split()
    last = words[-1]
    is_closed = last in _LAST_OF_ALL or last.endswith("ed") or "/" in last
    if len(words) < _FEWEST_OF_A_LINE or is_closed:
        return False
    if PLAIN_END.search(last_line):
        return True
    before = tail[: -len(last_line)].rstrip()
    return ":" not in last_line and before.endswith((".", "!")) and before[-2:-1].isalpha()


def _is_half_a_block(tail: str) -> bool:
    """Tell whether the last fence is never closed, nor a bracket or an expression behind it."""
    if not is_fenced(tail) or tail.count(_FENCE) % 2 == 0:
        return False
    language, _, block = tail.rpartition(_FENCE)[2].partition("\n")
    last_line = block[block.rfind("\n") + 1 :]
    if not language.strip():
        return False
    return _IN_EXPRESSION.search(last_line) is not None or (
        is_line_of_code(last_line) and has_open_brackets(block)
    )
