"""Strategies for policy files: right ones, and ones that are almost right."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any, assert_never

from hypothesis import reject
from hypothesis import strategies as st

from effort import SOAK
from interlock.errors import PolicyError
from interlock.policy.config.complaints import is_table
from interlock.policy.config.document import KEYS, MergedPolicy
from interlock.policy.config.key import (
    MODES,
    OUTCOMES,
    SWITCHABLE_OUTCOMES,
    Budget,
    Choice,
    Entries,
    Examples,
    Flag,
    Key,
    Money,
    NamedTables,
    NamedValues,
    NameKind,
    Number,
    Schemas,
    Setting,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
)
from policy.files import DEFAULTS, KNOWN, merged, toml

Document = dict[str, object]

_NAMES = {
    NameKind.PACK: sorted(KNOWN.packs),
    NameKind.COMMAND_RULE: sorted(KNOWN.commands),
    NameKind.SECRET_RULE: sorted(KNOWN.secrets),
}
_WORDS = st.sampled_from(["a", "b", "c", "main", "build", "Bash", "mcp__*"])
_TEXTS = {
    TextKind.COMMAND: st.sampled_from(["git", "none", "make 'a backup'"]),
    TextKind.HIDDEN: st.sampled_from(["", "k" * 32, "k" * 40]),
}
_PRICES = st.integers(0, 10**12).map(lambda micro_usd: micro_usd / 10**6)
_CHECKED_GATES: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {"id": st.just("kept"), "check": st.sampled_from([["true"], ["make", "", "check"]])},
    optional={"timeout-seconds": st.integers(1, 600), "improvement-hints": st.booleans()},
)
_READ_GATES: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {"id": st.just("read"), "criteria": st.lists(_WORDS, min_size=1, max_size=2)},
    optional={
        "severity": st.sampled_from(["low", "medium", "high", "critical"]),
        "mode": st.sampled_from(["blocking", "advisory", "informational"]),
        "max-attempts": st.integers(1, 100),
    },
)
_TABLES: dict[str, st.SearchStrategy[dict[str, object]]] = {
    "tools.carriers": st.fixed_dictionaries(
        {"tools": st.lists(_WORDS, min_size=1, max_size=3)},
        optional={
            "command": st.lists(_WORDS, max_size=2),
            "path": st.lists(_WORDS, max_size=2),
            "patch": st.lists(_WORDS, max_size=2),
        },
    ),
    "secrets.patterns": st.fixed_dictionaries(
        {"pattern": st.sampled_from(["ACME-[0-9]+", "a", "b"])}, optional={"name": _WORDS}
    ),
    "protected-paths.entries": st.fixed_dictionaries(
        {
            "path": st.sampled_from(["~/.ssh/**", "~/.bashrc", "a", "b"]),
            "decision": st.sampled_from(SWITCHABLE_OUTCOMES),
        },
        optional={"reason": _WORDS},
    ),
    "budgets.prices": st.fixed_dictionaries(
        {
            "model": st.sampled_from(["small", "large", "dotted.name"]),
            "input-usd": _PRICES,
            "output-usd": _PRICES,
        }
    ),
    "reviews.gates": _CHECKED_GATES | _READ_GATES,
    "loop.jobs": st.fixed_dictionaries(
        {"name": st.sampled_from(["mend", "tidy/up"]), "command": st.just(["make", "", "mend"])},
        optional={
            "workspace": st.sampled_from(["/srv/project", "."]),
            "on": st.lists(st.sampled_from(["ci/*", "heartbeat"]), max_size=2),
            "timeout-seconds": st.integers(1, 604_800),
        },
    ),
    "loop.sinks": st.fixed_dictionaries(
        {
            "name": st.sampled_from(["ops", "lab"]),
            "kind": st.sampled_from(["webhook", "inngest"]),
            "url": st.just("https://hooks.example.com/interlock"),
            "secret-variable": st.just("HOOK_SECRET"),
        },
        optional={"timeout-seconds": st.integers(1, 300)},
    ),
    "rules": st.fixed_dictionaries(
        {
            "id": st.sampled_from(["r", "s"]),
            "when": st.sampled_from(["true", "false"]),
            "decision": st.sampled_from(OUTCOMES),
            "message": _WORDS,
        },
        optional={
            "match": st.lists(_WORDS, max_size=2),
            "mode": st.sampled_from(MODES),
            "severity": st.sampled_from(["low", "critical"]),
        },
    ),
}
_IDENTITIES: dict[str, Callable[[dict[str, object]], str]] = {
    "tools.carriers": str,
    "secrets.patterns": lambda table: str(table["pattern"]),
    "protected-paths.entries": lambda table: str(table["path"]),
    "budgets.prices": lambda table: str(table["model"]),
    "reviews.gates": lambda table: str(table["id"]),
    "loop.jobs": lambda table: str(table["name"]),
    "loop.sinks": lambda table: str(table["name"]),
    "rules": lambda table: str(table["id"]),
}

_WITHIN = {
    "steps.min-coherence-percent": (0, 45),
    "steps.read-only-below-percent": (45, 60),
    "steps.restricted-below-percent": (60, 100),
    "steps.delay-ms": (0, 20_000),
    "steps.max-delay-ms": (20_000, 3_600_000),
    "loops.pause-repeats": (2, 4),
    "loops.stop-repeats": (4, 1_000),
    "stops.warn-at": (0, 50),
    "stops.continue-at": (50, 1_000),
}
"""Numbers that must keep an order do so here, whichever of them a file sets."""


def _few_defaults() -> str:
    """Return defaults of the same shape with fewer entries, which are faster to read."""
    table = tomllib.loads(DEFAULTS)
    table["tools"]["carriers"] = [
        {**carrier, "tools": carrier["tools"][:2]} for carrier in table["tools"]["carriers"][:2]
    ]
    table["protected-paths"]["entries"] = [
        entry
        for entry in table["protected-paths"]["entries"]
        if entry["path"] in ("~/.ssh/**", "~/.bashrc")
    ]
    # So that there is something that a run can be held to pass before it finishes.
    table["reviews"]["gates"] = [{"id": "kept", "check": ["true"]}]
    return toml(table)


FEW_DEFAULTS = _few_defaults()


def attempt(user: Document, project: Document | None = None) -> MergedPolicy | PolicyError:
    """Return the merged policy, or why it does not load."""
    try:
        return merged(toml(user), toml(project or {}), defaults=FEW_DEFAULTS)
    except PolicyError as error:
        return error


def loaded(user: Document, project: Document | None = None) -> MergedPolicy:
    """Return the merged policy; what does not load is not what the law is about."""
    outcome = attempt(user, project)
    if isinstance(outcome, PolicyError):
        reject()
    return outcome


def admitted(project: Document, *, below: Document) -> Document:
    """Return a project's file without the keys for which it would not load over a user's file."""
    outcome = attempt(below, project)
    if not isinstance(outcome, PolicyError):
        return project
    refused = {complaint.split(": ")[1] for complaint in outcome.complaints}
    left = {path: value for path, value in _flat(project).items() if path not in refused}
    if len(left) == len(_flat(project)):
        reject()
    return admitted(_nested(left), below=below)


def documents(*, for_project: bool = False) -> st.SearchStrategy[Document]:
    """Generate files that are right: any of the keys, each with a value that fits."""
    keys = [key for key in KEYS if not (for_project and key.tighter is Tighter.USER_ONLY)]
    return _some({key.path: _values(key) for key in keys}).map(_nested)


@st.composite
def _some(draw: st.DrawFn, values: Mapping[str, st.SearchStrategy[object]]) -> dict[str, object]:
    """Generate some of the entries: one in four in the short round, every other one in soak.

    Which ones is drawn as a whole: key by key it takes longer than all their values.
    """
    whole = st.binary(min_size=len(values) // 8 + 1, max_size=len(values) // 8 + 1)
    bits = int.from_bytes(draw(whole))
    chosen = bits if SOAK else bits & int.from_bytes(draw(whole))
    return {
        path: draw(strategy)
        for number, (path, strategy) in enumerate(values.items())
        if chosen >> number & 1
    }


def documents_of(sections: Collection[str], *, most: int) -> st.SearchStrategy[Document]:
    """Generate files that set a few keys of some sections."""
    values = {key.path: _values(key) for key in KEYS if key.section in sections}
    paths = st.lists(st.sampled_from(sorted(values)), max_size=most, unique=True)
    chosen = paths.flatmap(lambda few: st.fixed_dictionaries({path: values[path] for path in few}))
    return chosen.map(_nested)


def for_a_project(user: Document) -> Document:
    """Return a user's file without what only a user's file may hold."""
    sealed = {key.path for key in KEYS if key.tighter is Tighter.USER_ONLY}
    return {
        section: {name: value for name, value in inner.items() if f"{section}.{name}" not in sealed}
        if is_table(inner)
        else inner
        for section, inner in user.items()
    }


def _nested(flat: dict[str, object]) -> Document:
    document: dict[str, Any] = {}
    for path, value in flat.items():
        section, _, name = path.rpartition(".")
        (document.setdefault(section, {}) if section else document)[name] = value
    return document


def _flat(document: Document) -> dict[str, object]:
    sections = {name: inner for name, inner in document.items() if is_table(inner)}
    alone = {name: value for name, value in document.items() if name not in sections}
    return alone | {
        f"{section}.{name}": value
        for section, inner in sections.items()
        for name, value in inner.items()
    }


def _values(key: Key) -> st.SearchStrategy[object]:
    if key.path in _WITHIN:
        return st.integers(*_WITHIN[key.path])
    match key.shape:
        case NamedValues() | Schemas() | Tables() | Budget() | NamedTables() as shape:
            return _entries(key, shape)
        case shape:
            return _settings(shape)


def _settings(shape: Setting) -> st.SearchStrategy[object]:
    match shape:
        case Flag():
            return st.booleans()
        case Number() | Money():
            return _amounts(shape)
        case Choice():
            return _choices(shape)
        case Text(kind=kind):
            return _TEXTS.get(kind, _WORDS)
        case Texts(kind=TextKind.KEY_PATH):
            return st.just([])
        case Texts(kind=TextKind.GATE_ID):
            return st.lists(st.sampled_from(["kept", "..."]), max_size=2)
        case Texts(kind=TextKind.VARIABLE):
            return st.lists(st.sampled_from(["PATH", "LC_*", "CI", "..."]), max_size=4)
        case Texts() | Examples():
            return st.lists(st.one_of(_WORDS, st.just("...")), max_size=4)
        case _:
            assert_never(shape)


def _entries(key: Key, shape: Entries) -> st.SearchStrategy[object]:
    match shape:
        case NamedValues():
            value = st.booleans() if isinstance(shape.value, Flag) else _choices(shape.value)
            return st.dictionaries(st.sampled_from(_NAMES[shape.names]), value)
        case Schemas():
            schemas = st.sampled_from([{}, {"type": "object"}, {"maximum": 0.1}])
            return st.dictionaries(_WORDS, schemas, max_size=2)
        case Tables():
            return st.lists(_TABLES[key.path], max_size=3, unique_by=_IDENTITIES[key.path])
        case Budget():
            return st.fixed_dictionaries({}, optional=dict(map(_limit, shape.keys)))
        case NamedTables():
            own = {field.name: _field_values(key, field) for field in shape.keys}
            tables = st.fixed_dictionaries({}, optional=own)
            return st.dictionaries(_WORDS, tables, max_size=2)
        case _:
            assert_never(shape)


def _field_values(key: Key, field: Key) -> st.SearchStrategy[object]:
    within = _WITHIN.get(f"{key.section}.{field.name}")
    if within is not None:
        return st.integers(*within)
    assert isinstance(field.shape, Number | Texts)
    return _settings(field.shape)


def _limit(field: Key) -> tuple[str, st.SearchStrategy[object]]:
    assert isinstance(field.shape, Number | Money)
    return field.name, _amounts(field.shape)


def _amounts(shape: Number | Money) -> st.SearchStrategy[int | float]:
    if isinstance(shape, Number):
        return st.integers(shape.minimum, shape.maximum)
    micro_usd = st.integers(0, shape.maximum * 10**6)
    return st.integers(0, shape.maximum) | micro_usd.map(lambda amount: amount / 10**6)


def _choices(shape: Choice) -> st.SearchStrategy[str]:
    return st.sampled_from(shape.values)
