"""HTML in which nobody can smuggle anything: whatever is no element of ours is shown as text.

Characters that would not show, or would lie about the order of others, are written out. Jinja
takes an `Html` as it is, by its `__html__`; nothing here needs Jinja.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

_ODD: Final = re.compile(
    # Controls but tab and newline; soft hyphen; marks of direction and of width nothing; fillers;
    # spaces that are not one; separators of lines; halves of characters; private; tags.
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\udfff\ue000-\uf8ff"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
_QUOTED: Final = re.compile(r"`([^`\n]+)`")
_WORDS: Final = {
    "require-confirmation": "ask",
    "block": "deny",
    "granted": "approved",
    "completed": "finished",
}
"""What a person reads for a word of the engine, where it is another one."""
_TONES: Final = {
    "allow": "allow continue finish finished completed advance granted passed go-on at-work"
    " approved resumed",
    "save": "checkpoint saved save",
    "warn": "warn throttle retry failed-once nudge careful",
    "ask": "require-confirmation ask asks pause paused review waits question",
    "block": "block deny stop stopped halted denied failed aborted refused",
}
_TONE_OF: Final = {word: tone for tone, words in _TONES.items() for word in words.split()}
_ALONE: Final = frozenset(("br", "input", "link", "meta"))
"""Elements that nothing stands within."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()

    def __html__(self) -> str:
        """Tell a template that it is."""
        return self


def element(tag: str, *within: str, **attributes: str | bool | None) -> Html:
    """Return an element; `class_` and `aria_label` are spelt so for Python's sake."""
    written = "".join(
        [
            f" {_spelt(name)}" if value is True else f' {_spelt(name)}="{attribute(value)}"'
            for name, value in attributes.items()
            if value is not None and value is not False
        ]
    )
    return Html(
        f"<{tag}{written}>" if tag in _ALONE else f"<{tag}{written}>{joined(within)}</{tag}>"
    )


def joined(parts: Iterable[str]) -> Html:
    """Return HTML and text one after the other; the text is shown as such."""
    return Html("".join([part if isinstance(part, Html) else shown(part) for part in parts]))


def attribute(text: str) -> str:
    """Return what may stand between the quotes of an attribute."""
    return _escaped_text(plain(text))


def _spelt(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def shown(text: object) -> Html:
    """Return text of anybody: what would not show is written out in a box."""
    parts: list[str] = []
    last, whole = 0, str(text)
    for odd in _ODD.finditer(whole):
        parts += (_escaped_text(whole[last : odd.start()]), _box(odd.group()))
        last = odd.end()
    parts.append(_escaped_text(whole[last:]))
    return Html("".join(parts))


def _escaped_text(text: str) -> str:
    """Return text as markup, quotes in the spelling that templates give them."""
    return html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def _box(char: str) -> str:
    return f'<span class="odd">U+{ord(char):04X}</span>'


def plain(text: object) -> str:
    """Return text of anybody in one line, for titles and attributes: what is odd is escaped."""
    return " ".join(_ODD.sub(_escaped, str(text)).split())


def _escaped(odd: re.Match[str]) -> str:
    code = ord(odd.group())
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def said(text: str, *, capital: bool = True) -> Html:
    """Return a sentence of ours: what stands in backticks as code, the first letter a capital."""
    pieces = _QUOTED.split(text)
    if capital:
        pieces[0] = pieces[0][:1].upper() + pieces[0][1:]
    return joined(
        element("code", piece) if place % 2 else piece for place, piece in enumerate(pieces)
    )


def tone(word: object) -> str:
    """Return the colour of a decision or a state: the name of its class."""
    return _TONE_OF.get(str(word).replace(" ", "-"), "none")


def word(word: object) -> str:
    """Return what a badge says."""
    return _WORDS.get(str(word), str(word))


def badge(decision: str) -> Html:
    """Return the word of a decision in its colour."""
    return element("span", word(decision), class_=f"d {tone(decision)}")


def thin_bar(share: float, tone: str = "", held: float = 0.0) -> Html:
    """Return a thin bar that is full to a share of its length; what is only promised is paler."""
    full = min(max(share, 0.0), 1.0)
    pieces = [("rail", 1.0), *([("held", min(full + held, 1.0))] if held else ())]
    pieces.append((f"used {tone}".strip(), full))
    return element("svg", *[_piece(*each) for each in pieces], class_="thin", aria_hidden="true")


def _piece(kind: str, long: float) -> Html:
    width = "100%" if kind == "rail" else f"{100 * long:.2f}%"
    return element("rect", class_=kind, width=width, height="4")
