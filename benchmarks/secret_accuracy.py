"""How many credentials are found, and how often is something taken for one that is none?

Nobody may keep real credentials, so that they are made anew for each run, the same ones every
time. Some are made from Interlock's own rules: that shows that the rules do what they say. Some are
made from ways of writing, some of them known to be missed: a word that names a credential,
something between, and a random value. Data of one's own counts more than both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from interlock.secrets.scanner import SecretScanner
from secret_scanning import NAIVE, load_rules

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from secret_generator import examples_of, from_template

_POSITIVE = frozenset(("secret", "block", "positive", "true"))
_VALUES = {
    "hexadecimal": "[0-9a-f]{40}",
    "letters and digits": "[A-Za-z0-9]{31}[0-9]",
    "letters alone": "[A-Za-z]{36}",
    "short, with signs": "[A-Z][a-z]{3}[0-9]{3}[!#%][a-z]{3}[0-9]",
}
_WAYS = {
    "assigned": ('{name} = "{value}"', "{name}={value}", "export {upper}={value}"),
    "in data": ('"{camel}": "{value}"', "{name}: {value}", "<{camel}>{value}</{camel}>"),
    "near a word": ("{name} - {value}", "| {name} | {value} |", "the {name} is {value}"),
    "in a command": (
        "tool --{dashed} {value}",
        "curl -u admin:{value} example.com",
        "curl -H 'X-{dashed}: {value}' example.com",
    ),
    "in an address": (
        "postgres://app:{value}@db.example.com/app",
        "https://hooks.example.com/services/{value}",
        "https://api.example.com/v1?{name}={value}",
    ),
}
_NAMES = ("api_key", "password", "access_token", "client_secret", "key")
_NAMED = ("{name}", "{camel}", "{upper}", "{dashed}")
_ROUNDS = 2


class Row(msgspec.Struct, frozen=True):
    """A text, and whether there is a credential in it."""

    text: str
    is_secret: bool
    way: str = ""
    """How it is written, where that is known."""
    value: str = ""
    """What the value consists of, where that is known."""


class Labelled(msgspec.Struct, frozen=True):
    """A text of one's own data."""

    text: str
    label: str | bool


def row_from_json(line: bytes) -> Row:
    """Return a row of one's own data."""
    told = msgspec.json.decode(line, type=Labelled)
    return Row(told.text, str(told.label).lower() in _POSITIVE)


def made_from_rules() -> list[Row]:
    """Return one text for each example of each rule of ours."""
    return [
        Row(text, is_secret=True)
        for rule in load_rules()
        for text in examples_of(rule, "scoreboard")
    ]


def made_from_ways() -> list[Row]:
    """Return every way of writing with every name and every kind of value."""
    return [
        Row(text, is_secret=True, way=way, value=kind)
        for way, forms in _WAYS.items()
        for kind, template in _VALUES.items()
        for form in forms
        for text in _written(form, template)
    ]


def _written(form: str, template: str) -> Iterator[str]:
    for name in _NAMES if any(each in form for each in _NAMED) else _NAMES[:1]:
        first, *rest = name.split("_")
        for number in range(_ROUNDS):
            yield form.format(
                name=name,
                upper=name.upper(),
                dashed=name.replace("_", "-"),
                camel=first + "".join(each.title() for each in rest),
                value=from_template(template, f"{form}{name}{number}"),
            )


def is_found(text: str) -> bool:
    """Tell whether Interlock finds a credential in a text."""
    return bool(_scanner().scan(text))


def matches_naive(text: str) -> bool:
    """Tell whether one regular expression finds one."""
    return NAIVE.search(text) is not None


@cache
def _scanner() -> SecretScanner:
    return SecretScanner(load_rules())
