"""The default policy as a file for people: every key with its default and what it means.

It is written from the fields of the document. Defaults that are long lists come from
`defaults.toml`, as they stand there, with their own comments.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import msgspec

from interlock.policy.config.document import KEYS, SECTIONS, TITLES
from interlock.policy.config.key import (
    Budget,
    Default,
    Entries,
    Key,
    NamedTables,
    NamedValues,
    Schemas,
    Tables,
)

_WIDTH = 100
_NAME_WIDTH = 27
_INTRO = """\
# Interlock's default policy: every key once, with its default and what it means.
#
# Three files make the policy that counts: these defaults, then the user's file
# (~/.config/interlock/policy.toml), then the project's (interlock.toml). Each needs to hold only
# what it changes.
#
#   - One value replaces the value below it: true or false, a number, a word, a text.
#   - A list replaces the list below it. Where "..." stands in a list, the list below goes in:
#     scratch-folders = ["...", "generated"] adds one folder to the defaults.
#   - What has names is merged name by name: [destructive-ops.packs], [destructive-ops.rules],
#     [secrets.rules], [tools.schemas], [stops.models], [budgets.run] and its like, and the lists of
#     tables [[protected-paths.entries]] (named by `path`), [[rules]] and [[reviews.gates]] (named
#     by `id`), [[budgets.prices]] (named by `model`) and [[tools.carriers]] (named by each of its
#     `tools`).
#     "off" or false switches off what a layer below has under that name.
#   - Order never counts, except among the parameters of a carrier, the criteria of a gate and the
#     words of its check.
#
# The user's file may set anything. The project's file may only tighten, because an agent can write
# to it and a cloned repository can bring one along: what it would loosen is refused, unless the
# user's file names that key under `layers.project-may-loosen`. While a gate is off below, a project
# may switch it on with whatever settings it likes.
#
# A decision is one of "warn" (goes ahead, with a word to the agent), "require-confirmation" (a
# person must agree) and "block". Of all that speak about an action, the strictest counts.
"""


def default_policy_text(lists: str) -> str:
    """Return the default policy in TOML; `lists` is the text of `defaults.toml`."""
    blocks = _blocks(lists)
    lines = [_INTRO]
    for key in KEYS:
        if not key.section and not isinstance(key.shape, Entries):
            lines += [*_key_lines(key, blocks), ""]
    for section in SECTIONS:
        lines += [_heading(TITLES[section]), "", *_section_lines(section, blocks), ""]
    for key in KEYS:
        if not key.section and isinstance(key.shape, Entries):
            lines += [_heading(TITLES[key.path]), "", *_key_lines(key, blocks), ""]
    return "\n".join(lines)


def _blocks(lists: str) -> dict[str, str]:
    """Return the defaults that are long lists, by their keys, with the comments inside them."""
    blocks: dict[str, str] = {}
    for section, body in re.findall(r"^\[([a-z-]+)\]\n(.*?)(?=^\[[a-z-]+\]\n|\Z)", lists, _MULTI):
        for name, block in re.findall(r"^([a-z-]+) = \[\n(.*?^\])$", body, _MULTI):
            blocks[f"{section}.{name}"] = f"{name} = [\n{block}"
        if tables := re.search(r"^\[\[[a-z-]+\.([a-z-]+)\]\]$", body, re.MULTILINE):
            blocks[f"{section}.{tables[1]}"] = f"\n{body.strip()}"
    return blocks


_MULTI = re.MULTILINE | re.DOTALL


def _heading(title: str) -> str:
    return f"# --- {title} ".ljust(_WIDTH, "-")


def _section_lines(section: str, blocks: dict[str, str]) -> Iterator[str]:
    """Yield a section: its own keys, then the tables in it, then the lists of tables."""
    yield f"[{section}]"
    keys = sorted((key for key in KEYS if key.section == section), key=_rank)
    for before, key in zip((None, *keys), keys, strict=False):
        if before is not None and (_is_table(key) or _is_table(before)):
            yield ""
        if _is_table(key):
            yield f"[{key.path}]"
        yield from _group_lines(key) if key.group else ()
        yield from _row_lines(key) if key.seed is not None else _key_lines(key, blocks)
        if key.ends_group or (key.example and key.default is None):
            yield "#"


def _is_table(key: Key) -> bool:
    return isinstance(key.shape, NamedValues | Schemas | Budget)


def _rank(key: Key) -> int:
    match key.shape:
        case NamedValues() | Schemas() | Budget():
            return 1
        case Tables() | NamedTables():
            return 2
        case _:
            return 0


def _key_lines(key: Key, blocks: dict[str, str]) -> Iterator[str]:
    """Yield what a key means, an example, and its default where it has one."""
    example = "For example:" if key.example else ""
    yield from _comment(" ".join(filter(None, [key.meaning, key.more, example])))
    if key.example:
        yield "#"
        yield from (f"#   {line}".rstrip() for line in key.example.splitlines())
    if key.path in blocks:
        yield blocks[key.path]
    elif not isinstance(key.shape, Entries) and key.default is not None:
        yield _setting(key.name, key.default)


def _setting(name: str, value: Default) -> str:
    line = f"{name} = {_toml(value)}"
    if len(line) <= _WIDTH or not isinstance(value, tuple):
        return line
    items = " ".join(f"{_toml(item)}," for item in value)
    return f"{name} = [\n{_filled(items, '    ', '    ')}\n]"


def _toml(value: Default) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return msgspec.json.encode(value).decode()


def _group_lines(key: Key) -> Iterator[str]:
    yield from _comment(key.group)
    yield "#"


def _row_lines(key: Key) -> Iterator[str]:
    """Yield a key that holds what the profile says, as a row of its group."""
    indent = "#".ljust(4 + _NAME_WIDTH)
    yield _filled(key.meaning, f"#   {key.name.ljust(_NAME_WIDTH)}", indent)
    if key.more:
        yield _filled(key.more, indent, indent)


def _comment(text: str) -> Iterator[str]:
    yield _filled(text, "# ", "# ")


def _filled(text: str, first: str, others: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
