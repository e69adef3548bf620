"""The templates of the console: how values become text that nobody can smuggle anything into.

Whatever comes from an agent, a repository or a tool is text. Characters that would not show, or
would lie about the order of others, are written out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, cast

import jinja2
import msgspec
from markupsafe import Markup

from interlock.errors import InputError
from interlock.model.short_code import code_of
from interlock.server.console.charts import budget_tone, sparkline
from interlock.server.markup import safe_html
from interlock.views import units

_HERE: Final = Path(__file__).parent.parent
_TEMPLATES: Final = _HERE / "templates"
STATIC: Final = _HERE / "static"
"""Where the style, the script and the emblem are."""

_SECOND: Final = 1_000_000
_JUST_NOW_S: Final = 10


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """When the chains were last held against what they say."""

    at: int
    whole: bool


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around every page."""

    now: int
    """Microseconds since 1970, UTC, like every time here."""
    position: int
    """The end of the order of writing, from where news are followed."""
    waiting: int
    who: str
    scope: str
    csrf: str
    theme: str | None
    keys: bool
    """Whether single letters are keys."""
    ledger: str
    records: int
    checked: Checked | None
    policy: str
    frozen: str | None
    """Why the loop stands still, where a person stopped it."""
    halted: str | None
    """Why every run stands still, where a person stopped all of them."""


def rendered(
    template: str, title: str, values: Mapping[str, object], frame: Frame, part: str | None = None
) -> str:
    """Return a page, or only the part of that name; raise InputError where there is none."""
    found = _environment().get_template(template)
    # The macros are made anew: they know the frame, also where a part is shown alone.
    macros = _environment().get_template("macros.html").make_module({"frame": frame})
    known = {**values, "here": _here(template), "title": title, "frame": frame, "m": macros}
    if part is None:
        return found.render(known)
    block = found.blocks.get(f"part_{part}") or _base_blocks().get(f"part_{part}")
    if block is None:
        raise InputError(f"page `{template}` has no part `{part}`")
    return "".join(block(found.new_context(known)))


def _here(template: str) -> str:
    """Return under which name of the navigation a page stands."""
    page = template.removesuffix(".html").partition("_")[0]
    return "runs" if page in ("run", "decision") else page


@cache
def static_path(name: str) -> str:
    """Return the address of a file under `STATIC`: another content has another address."""
    content = (STATIC / name).read_bytes()
    return f"/static/{hashlib.sha256(content).hexdigest()[:16]}/{name}"


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    cast("dict[str, object]", made.globals).update(
        static=static_path,
        thin_bar=safe_html.thin_bar,
        sparkline=sparkline,
        budget_tone=budget_tone,
    )
    made.filters.update(FILTERS)
    return made


@cache
def _base_blocks() -> Mapping[str, Callable[[jinja2.runtime.Context], Iterator[str]]]:
    return _environment().get_template("base.html").blocks


def shown(text: object) -> Markup:
    """Return text of anybody: what would not show is written out in a box."""
    return Markup(safe_html.shown(text))  # noqa: S704 - it was escaped right there


def said(text: str, capital: bool = True) -> Markup:  # noqa: FBT001, FBT002 - a filter's argument
    """Return a sentence of ours: what stands in backticks as code, the first letter a capital."""
    return Markup(safe_html.said(text, capital=capital))  # noqa: S704 - it was escaped right there


def iso(at: int) -> str:
    """Return a point in time for programs."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at // _SECOND))


def ago(at: int, now: int) -> str:
    """Return how long ago something was; the script counts on in the same words."""
    return "just now" if now - at < _JUST_NOW_S * _SECOND else f"{units.span(now - at)} ago"


def left(at: int, now: int) -> str:
    """Return how much time is left, such as `8:28`."""
    return units.offset(at - now)


def money(micros: int) -> str:
    """Return an amount of money in cents, smaller ones exactly."""
    return (
        f"${micros / 1_000_000:,.2f}" if not micros or micros >= 10_000 else units.dollars(micros)
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return units.counted(number, noun)


def short(text: str) -> str:
    """Return the code of an id."""
    return code_of(text)


FILTERS: Final[Mapping[str, Callable[..., str]]] = {
    "shown": shown,
    "plain": safe_html.plain,
    "said": said,
    "tone": safe_html.tone,
    "word": safe_html.word,
    "iso": iso,
    "moment": units.moment,
    "clock": units.time_of_day,
    "ago": ago,
    "left": left,
    "money": money,
    "tokens": units.tokens,
    "counted": counted,
    "short": short,
    "duration": units.duration,
    "span": units.span,
    "size": units.size,
}
"""What templates call on values."""
