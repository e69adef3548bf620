"""Files of settings as people write them: any order, blanks, comments and trailing commas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

_BLANKS = st.sampled_from(["", " ", "\n", "\r\n", "\n  ", "\n\t", "\r\n    ", "\n\n  "])
_COMMENTS = st.sampled_from(['// a, "b": {\n', "// x\r\n", "/* c */", "/* [\n ] */", "/**/"])
_TRIVIA = st.one_of(
    _BLANKS,
    _BLANKS,
    st.tuples(_BLANKS, _COMMENTS, _BLANKS).map("".join),
    st.tuples(_BLANKS, _COMMENTS, _COMMENTS, _BLANKS).map("".join),
)
_SCALARS = st.one_of(
    st.sampled_from(
        ["1", "-0.5e3", "true", "false", "null", '"/* no */"', '"// \\" no"', '"\\u00e9"']
    ),
    st.text(max_size=6).map(json.dumps),
)


@st.composite
def _boxes(draw: st.DrawFn, brackets: str, items: Sequence[str]) -> str:
    text = brackets[0]
    for index, item in enumerate(items):
        comma = "," if index < len(items) - 1 or draw(st.integers(0, 3)) == 0 else ""
        text += draw(_TRIVIA) + item + draw(_TRIVIA) + comma
    return text + draw(_TRIVIA) + brackets[1]


@st.composite
def _objects(draw: st.DrawFn, members: Mapping[str, st.SearchStrategy[str]]) -> str:
    items = [
        json.dumps(key) + draw(_TRIVIA) + ":" + draw(_TRIVIA) + draw(value)
        for key, value in members.items()
    ]
    return draw(_boxes("{}", draw(st.permutations(items))))


@st.composite
def _arrays(draw: st.DrawFn, items: st.SearchStrategy[str]) -> str:
    return draw(_boxes("[]", draw(st.lists(items, max_size=3))))


@st.composite
def _some(draw: st.DrawFn, members: Mapping[str, st.SearchStrategy[str]]) -> str:
    names = draw(st.lists(st.sampled_from(sorted(members)), unique=True))
    return draw(_objects({name: members[name] for name in names}))


_VALUES = st.recursive(
    _SCALARS, lambda inner: _arrays(inner) | _some({"a": inner, "hooks": inner}), max_leaves=6
)
_HOOK = _some({"type": st.just('"command"'), "command": st.just('"true"'), "timeout": st.just("5")})
_GROUP = _objects({"hooks": _arrays(_HOOK)}) | _some({"matcher": _SCALARS, "hooks": _arrays(_HOOK)})
_EVENTS = _some(
    {name: _arrays(_GROUP) for name in ("PreToolUse", "Stop", "SessionEnd", "Notification")}
)
_MARK = st.sampled_from(["", "", "\ufeff"])

settings_texts: st.SearchStrategy[str] = st.tuples(
    _MARK,
    _TRIVIA,
    _some({"hooks": _EVENTS, "model": _VALUES, "permissions": _VALUES}),
    _TRIVIA,
).map("".join)
"""Settings that a client could have, with hooks of others or without."""
