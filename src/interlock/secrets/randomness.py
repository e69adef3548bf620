"""Was a text made by chance, or by a person?

Ordinary text is known by which character follows which: `th` is common, `qz` is not, and a capital
stands where a word begins. How much longer a text would be to write down by these habits than by
throwing dice is evidence that dice were thrown, in bits; it grows with the length by itself.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from operator import sub
from typing import Final

# How surprising each symbol is after each other one, in quarters of a bit from `0` on: counted in
# 420,000 words and names that stand in at least two folders of the source code of a Python, a Perl
# and a Node installation, the headers of C libraries and their documentation.
_SURPRISES: Final = (
    "LD?ALLBUDTK=@>ZCQ<?;GKMKIVHE",  # a
    "<IEL?LLR?@P;LJ@LPCCI=STQDSA?",
    ">KGK>NS=EZ@@HP9KSBF=DRUUKZGA",
    ">HJC7ILK=TQELNALTECHFOPPKZD;",
    "BL@AHFISMQT@D=MFJ;=>QHLBIZK<",
    "@IHI@@RS:YUBQK=NSAFEBTVVIZB:",
    "CKGP7MGD>YUCHBFKU@ADEPQVHRO;",
    "9NMM9OUU=VPKGP>LPDD@CTQZKYK<",
    "EGA@DFBZUWSAC8=FRE>=QGZKZGSG",
    "@GML9LRQDTNPMN?ION7KBPMZKQM<",
    "AMDG7KGN>WTJIFJGUJ@IEOITQWK8",
    ">KKD:ANR;ZQ?QN=KVNCBBLTZHYP<",
    ":EKH8NNX?SSFDL?>UPBJFPVTNZN=",
    "?O@>>D>SCUJKOH@HXM>;EHUWPZL>",
    "HEA?RIHWGQIA@9D@Z;CCBHENWYWC",
    ";OKH;NEGCZI@KL>CQ<F?CSUWEXP?",
    "BJFNBHHPFRQ=FMMODEEG5MMQNPG@",
    "=NDG8LFU>ZIHFG=LXC@@FJQZEZP>",
    "DRCN:MOC@ZGCJICBML?:DPNYGZK;",
    ">NEL:KR@<ZPHKO@HZ>BEFRPNCUK;",
    "FAFD?GIZBZW>?<N?Z=?<QMZMZWFG",
    "9NHO5MNT=UTQHNFDXNFMOSRYQVB@",
    "<LHI?KMD:UNJKA>LS=BJRPDQRSI=",
    "CJBL@DURDVGHFOM?VNG:VSVLJZ8<",
    "FJDFFKHQGVUCC@H8VJ?APOHQQNK8",
    ">LLL4NMM@PSGGJBNMNIJKSJIHJG?",  # z
    "EFFDEDUTPYWQSSTQYRPQTOU>WV3;",  # a digit
    "AE>BBBDDANJCCCD?QA=@GGHMWUCD",  # anything else
)
_DIGIT: Final = 26
_OTHER: Final = 27
_QUARTERS: Final = 4
_SIGNS: Final = b"!#$^*~%"
_ENCODED: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_SIGN_BITS: Final = 6.0
"""What a sign says that no name holds, beside what stands for the other signs."""

_UPPER, _LOWER, _NEITHER = b"ulo"
_CASE_SURPRISES: Final = {
    (_UPPER, _UPPER): 5, (_UPPER, _LOWER): 3, (_LOWER, _UPPER): 12, (_LOWER, _LOWER): 1,
    (_NEITHER, _UPPER): 5, (_NEITHER, _LOWER): 3,
}  # fmt: skip

_LETTERS: Final = 26
_HEX_LETTERS: Final = 6
_MOST_DIGITS: Final = 10 / 16
"""The largest share of digits that chance makes, in hexadecimal: more are a number or a date."""
_OTHER_COST: Final = 24.0
_MOST_STEPS: Final = 0.35
_FEW_CHARACTERS: Final = 24
"""Among fewer, neighbours follow each other by chance."""


def random_bits(text: str) -> float:
    """Return how many bits speak for chance; below nothing, they speak for a person."""
    data = text.encode("latin-1", "replace")
    symbols = data.translate(_SYMBOLS)
    surprise = sum(map(_PAIRS.__getitem__, pairwise(symbols)))
    rest = symbols[1:]
    digits, others = rest.count(_DIGIT), rest.count(_OTHER)
    letters = len(rest) - digits - others
    cases = data.translate(_CASES)
    is_mixed = _UPPER in cases and _LOWER in cases
    chance = _cost_of_chance(letters, digits, is_hex=is_hexadecimal(text))
    chance += others * _OTHER_COST
    if is_mixed:
        surprise += sum(map(_CASE_PAIRS.__getitem__, pairwise(cases)))
        chance += letters * _QUARTERS
    signs = len(data) - len(data.translate(None, _SIGNS))
    if signs and b"%" in data:
        signs -= len(_ENCODED.findall(data))
    return (surprise - chance) / _QUARTERS + signs * _SIGN_BITS


def is_hexadecimal(text: str) -> bool:
    """Tell whether it holds nothing but hexadecimal digits and dashes."""
    return not text.strip("0123456789abcdefABCDEF-")


def is_counted_up(text: str, *, most: float = _MOST_STEPS) -> bool:
    """Tell whether characters repeat or follow their neighbours, as in `0123` and `aabbcc`."""
    data = text.encode("latin-1", "replace")
    steps = list(map(sub, data[1:], data))
    return steps.count(0) + steps.count(1) > most * max(len(data), _FEW_CHARACTERS)


def _cost_of_chance(letters: int, digits: int, *, is_hex: bool) -> float:
    """Return what so many letters and digits cost where each of their kind is equally likely."""
    if not digits:
        return letters * _QUARTERS * math.log2(_LETTERS)
    share = min(digits / (letters + digits), _MOST_DIGITS)
    alphabet = _HEX_LETTERS if is_hex else _LETTERS
    letter = math.log2(alphabet / (1 - share))
    return _QUARTERS * (letters * letter - digits * math.log2(share))


def _symbol(code: int) -> int:
    character = chr(code).lower()
    if "a" <= character <= "z":
        return ord(character) - ord("a")
    return _DIGIT if "0" <= character <= "9" else _OTHER


def _case(code: int) -> int:
    character = chr(code)
    if not character.isascii() or not character.isalpha():
        return _NEITHER
    return _UPPER if character.isupper() else _LOWER


_SYMBOLS: Final = bytes(map(_symbol, range(256)))
_CASES: Final = bytes(map(_case, range(256)))
_PAIRS: Final = {
    (before, after): ord(sign) - ord("0")
    for before, row in enumerate(_SURPRISES)
    for after, sign in enumerate(row)
}
_CASE_PAIRS: Final = {
    (before, after): _CASE_SURPRISES.get((before, after), 0)
    for before in b"ulo"
    for after in b"ulo"
}
