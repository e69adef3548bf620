"""Words and signs of other scripts, and escaped ones, in the letters the rules are written in.

The rules look through one byte per character. A word of another script is put in as an English one
of the same length, so that what is found stands where it stood.
"""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = {
    "пароль": "passwd",
    "пароля": "passwd",
    "парола": "passwd",
    "секрет": "secret",
    "токен": "token",
    "密码": "pw",
    "密碼": "pw",
    "口令": "pw",
    "密钥": "pw",
    "密鑰": "pw",
    "令牌": "pw",
    "パスワード": "  pwd",
    "비밀번호": " pwd",
    "암호": "pw",
    "סיסמה": "  pwd",
    "סיסמא": "  pwd",
    "كلمة المرور": "   password",
    "كلمة السر": " password",
    "κωδικός": " passwd",
    "पासवर्ड": " passwd",
    "รหัสผ่าน": "password",
    "mật khẩu": "password",
    "hasło": "  pwd",
    "hasła": "  pwd",
    "şifre": "  pwd",
}
_IS: Final = "是为為は는은"
"""What stands for `is` without a space, in Chinese, Japanese and Korean."""

# Not regardless of capitals: a letter that has several would match without being in the table.
_SPELT: Final = {
    spelt: english
    for word, english in _WORDS.items()
    for spelt in (word, word.capitalize(), word.upper())
}
# Written as text: most processes never need it, and to compile it takes milliseconds.
_WORD: Final = f"({'|'.join(_SPELT)})([{_IS}]?)"
_WIDE: Final = 0xFEE0
"""How far the wide forms of the signs are from their own."""
_SIGNS: Final = {
    **{code + _WIDE: chr(code) for code in range(0x21, 0x7F)},
    **{ord(sign): "'" for sign in "\u2018\u2019\u201a\u2039\u203a"},
    **{ord(sign): '"' for sign in "\u201c\u201d\u201e"},
    **{ord(sign): "-" for sign in "\u2010\u2011\u2012\u2013\u2014"},
    **{ord(sign): ">" for sign in "\u2192\u21d2\u279c"},
    0x3000: " ",
    0x2026: ".",
}
ESCAPES: Final = ("%22", "\\u00")
"""One of them stands in whatever has to be unescaped."""
# A quotation mark in an address, with the colon behind a name, and a name with escaped letters.
_QUOTE: Final = r"%22((?i:%3A))?"
_NAME: Final = r"""(?<=["'])[\w-]*(?:\\u00[2-7][0-9A-Fa-f][\w-]*)+(?=["'][ \t]?:)"""


def text_as_bytes(text: str) -> bytes:
    """Return one byte per character, so that offsets are the text's own.

    What neither Latin-1 nor this file knows, lone surrogates included, becomes `?`: no credential
    is written with it.
    """
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return re.sub(_WORD, _in_english, text).translate(_SIGNS).encode("latin-1", "replace")


def _in_english(found: re.Match[str]) -> str:
    return _SPELT[found[1]] + (":" if found[2] else "")


def unescaped(text: str) -> str:
    """Return a text of the same length that holds names and their marks as they read."""
    return re.sub(_NAME, _as_letters, re.sub(_QUOTE, _as_mark, text))


def _as_mark(found: re.Match[str]) -> str:
    return '\\\\"' + (" : " if found[1] else "")


def _as_letters(found: re.Match[str]) -> str:
    letters = re.sub(r"\\u(.{4})", lambda each: chr(int(each[1], 16)), found[0])
    return letters.rjust(len(found[0]))
