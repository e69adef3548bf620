"""Does an end tell by its own count that a part of the work is left?

"3 of the 7 files are converted" is a report. Beside it, "the remaining four follow" says that its
writer is not at the end; "the other four stay as they are" says the opposite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.policy.stops.closing_text import Sentence, holds_one
from interlock.policy.stops.phrases import Late, Signs

_SIGNS: Final = Signs()

_SIGNS_OF_A_REST: Final = ("remain", " other ", "rest ", " left", " to go", " pending", " open")
_REST: Final = _SIGNS.whole(
    r"(?:remaining|other|rest) (?:[^.;]* )?(?:follow|to go|to do|pending|open|still|next|the same)"
    r"|(?:are|is|still) (?:still )?(?:left|to do|pending|open)|remain|to go"
)
# It says that the rest stays, why, or that it is somebody else's.
_STAYS: Final = _SIGNS.whole(
    r"\w+n't|not|no|none|nothing|never|fail\w*|skip\w*|pass\w*|errors?|warnings?|tests|unchanged"
    r"|already|separate|scope|blocked|because|since|so|as|only|intentionally|deliberately|known"
    r"|harmless|you|your|team|upstream|users?|they|optional(?:ly)?|later|if|which"
)
_COUNTS: Final = {
    word: count
    for count, words in enumerate(
        (
            "one ein eine un une uno um uma una een",
            "two zwei deux dos dois duas due twee",
            "three drei trois tres três tre drie",
            "four vier quatre cuatro quatro quattro",
            "five fünf cinq cinco cinque vijf",
            "six sechs seis sei zes",
            "seven sieben sept siete sete sette zeven",
            "eight acht huit ocho oito otto",
            "nine neun neuf nueve nove negen",
            "ten zehn dix diez dez dieci tien",
            "eleven elf onze undici",
            "twelve zwölf douze doce doze dodici twaalf",
        ),
        start=1,
    )
    for word in words.split()
}
_NUMBER: Final = rf"(\d{{1,6}}|{'|'.join(_COUNTS)})"
_PART_OF_ALL: Final = Late(
    rf"\b{_NUMBER}(?: ?/ ?|(?: [^ ,.;:]+){{0,2}} (?:of|out of|von|der|sur|de|di|su|van|z|з|із|из"
    rf"|trong|dari|من أصل|من)(?: (?:the|all|den|les|los|las|os|as|de|total))? ){_NUMBER}\b"
)
_ALL_WITH_A_PART: Final = Late(
    r"(\d{1,6})(?:[^\d.\u3002]{0,8}?(?:중|のうち|中|में से)|[^\d.,]{1,24}[dt][ae]n)"
    r"[^\d.\u3002]{0,12}?(\d{1,6})"
)


def counts_a_rest(sentences: Sequence[Sentence], *, is_left: bool) -> bool:
    """Tell whether a count leaves something over and the last sentence names that.

    `is_left` is whether that sentence is known to say what is left.
    """
    return (is_left or _names_a_rest(sentences[-1])) and any(
        _counts_a_part(each.plain) for each in sentences
    )


def _names_a_rest(sentence: Sentence) -> bool:
    plain = sentence.plain
    if sentence.is_item or not holds_one(plain, _SIGNS_OF_A_REST):
        return False
    return _REST.is_in(plain) and not _STAYS.is_in(plain)


def _counts_a_part(plain: str) -> bool:
    part, whole = _PART_OF_ALL.search(plain), _ALL_WITH_A_PART.search(plain)
    return (part is not None and _count(part[1]) < _count(part[2])) or (
        whole is not None and _count(whole[2]) < _count(whole[1])
    )


def _count(number: str) -> int:
    return _COUNTS.get(number) or int(number)
