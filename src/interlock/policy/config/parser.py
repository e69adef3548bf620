"""From a policy file's text to a layer, with everything that is wrong with it."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar, assert_never

import msgspec

from interlock.errors import InputError
from interlock.policy.config.action_sections import Carrier
from interlock.policy.config.complaints import (
    Complaints,
    TooManyMistakesError,
    joined,
    kind_of,
    nearest,
    one_of,
    shown,
    suggestion,
)
from interlock.policy.config.document import KEY_BY_PATH, KEYS, SECTIONS
from interlock.policy.config.key import (
    INHERITED,
    MOST_ITEMS,
    Budget,
    Choice,
    Entries,
    Examples,
    Field,
    FieldShape,
    Flag,
    Key,
    Money,
    NamedTables,
    NamedValues,
    NameKind,
    Number,
    OrderedTexts,
    Scalar,
    Schemas,
    Setting,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
)
from interlock.policy.config.layers import (
    CompileCondition,
    KnownRules,
    Layer,
    Leaf,
    Role,
    Source,
    Value,
    canonical_permission,
    schema_problem,
    text_problem,
)
from interlock.policy.config.review_section import ReviewGateEntry
from interlock.policy.config.toml_values import (
    is_list,
    is_table,
    json_problem,
    json_value,
    parsed_table,
)


def read_layer(
    source: Source, role: Role, *, known: KnownRules, compile_condition: CompileCondition
) -> Layer:
    """Read one file to its end; what is wrong with it stands in the layer's complaints."""
    complaints = Complaints(source.name)
    reader = _Reader(role, known, Desk(complaints, compile_condition))
    try:
        table = parsed_table(source.text, complaints)
        if table is None:
            reader.doubtful.update(KEY_BY_PATH)
        else:
            reader.read(table)
    except TooManyMistakesError:
        reader.doubtful.update(KEY_BY_PATH)
    doubtful = frozenset(reader.doubtful)
    return Layer(role, source.name, reader.values, complaints.sentences, doubtful)


class _Reader:
    """Walks through one file and collects its values."""

    def __init__(self, role: Role, known: KnownRules, desk: Desk) -> None:
        self.values: dict[Leaf, Value] = {}
        self.doubtful: set[str] = set()
        self._role = role
        self._known = known
        self._desk = desk

    def read(self, table: dict[str, object]) -> None:
        """Read every key of the file, then look at what its keys say together."""
        for key, value in self._found_keys(table):
            said = len(self._desk.complaints.sentences)
            self._read_key(key, value)
            if len(self._desk.complaints.sentences) > said:
                self._doubt(key.path)
        self._look_for_tools_both_allowed_and_denied()

    def _found_keys(self, table: dict[str, object]) -> Iterator[tuple[Key, object]]:
        for name, value in table.items():
            if name not in SECTIONS:
                yield from self._found_key("", name, value)
            elif is_table(value):
                for inner, inner_value in value.items():
                    yield from self._found_key(name, inner, inner_value)
            else:
                problem = f"{shown(value)} is {kind_of(value)}; expected a table, `[{name}]`"
                self._desk.complaints.about(name, problem)
                self._doubt(name)

    def _found_key(self, section: str, name: str, value: object) -> Iterator[tuple[Key, object]]:
        key = KEY_BY_PATH.get(joined(section, name))
        if key is not None:
            yield key, value
            return
        self._desk.complaints.about(joined(section, name), f"unknown key{_hint(section, name)}")
        self._doubt(_meant(section, name))

    def _doubt(self, path: str | None) -> None:
        self.doubtful.update(key.path for key in KEYS if path in (key.path, key.section))

    def _read_key(self, key: Key, value: object) -> None:
        if key.tighter is Tighter.USER_ONLY and self._role is Role.PROJECT:
            problem = "stands in the user's file only, because an agent can write the project's"
            self._desk.complaints.about(key.path, problem)
            return
        match key.shape:
            case NamedValues() | Schemas() | Tables() | Budget() | NamedTables() as shape:
                entries = read_entries(key, shape, value, self._desk, self._known)
                self.values.update({Leaf(key.path, name): read for name, read in entries})
            case shape:
                read = read_value(shape, key.path, value, self._desk)
                if read is not None:
                    self.values[Leaf(key.path)] = read

    def _look_for_tools_both_allowed_and_denied(self) -> None:
        allowed = self.values.get(Leaf("tool-allowlist.allow"))
        denied = self.values.get(Leaf("tool-allowlist.deny"))
        if isinstance(allowed, tuple) and isinstance(denied, tuple):
            for tool in sorted({*allowed} & {*denied} - {INHERITED}):
                problem = f"{shown(tool)} stands under `allow` as well; expected it in one of them"
                self._desk.complaints.about("tool-allowlist.deny", problem)


def _hint(section: str, name: str) -> str:
    meant = _meant(section, name)
    if meant is None:
        return f"; expected {one_of(sorted(_siblings(section)))}"
    return f"; did you mean `{meant.removeprefix(f'{section}.')}`?"


def _meant(section: str, name: str) -> str | None:
    """Return the path of the key or table that a misspelt or misplaced name stands for."""
    if name in KEY_BY_PATH:
        return name
    siblings = _siblings(section)
    if close := nearest(name, siblings):
        return siblings[close]
    elsewhere = [key.path for key in KEYS if key.name == name]
    return elsewhere[0] if len(elsewhere) == 1 else None


def _siblings(section: str) -> dict[str, str]:
    """Return what may stand in a section, each name with its path."""
    keys = {key.name: key.path for key in KEYS if key.section == section}
    return keys if section else {**keys, **{name: name for name in SECTIONS}}


Entry = tuple[str, Value]

_RULES = "rules"
_ASKS = "require-confirmation"
_REVIEW_GATES = "reviews.gates"


def read_entries(
    key: Key, shape: Entries, value: object, desk: Desk, known: KnownRules
) -> Iterator[Entry]:
    """Yield every good entry behind a key; complain about the others."""
    match shape:
        case NamedValues():
            return _named_values(key, shape, value, desk, known)
        case Schemas():
            return _schemas(key, value, desk)
        case Tables(identity="tools"):
            return _carriers(key, shape, value, desk)
        case Tables():
            return _identified_tables(key, shape, value, desk, known)
        case Budget():
            return _limits(key, shape, value, desk)
        case NamedTables():
            return _named_tables(key, shape, value, desk)
        case _:
            assert_never(shape)


def _named_values(
    key: Key, shape: NamedValues, value: object, desk: Desk, known: KnownRules
) -> Iterator[Entry]:
    names = _vocabulary(shape.names, known)
    for name, item in _items(key, value, desk):
        place = joined(key.path, name)
        if name not in names:
            problem = f"unknown {shape.names.value}{suggestion(name, names)}"
            desk.complaints.about(place, problem)
            continue
        read = read_value(shape.value, place, item, desk)
        if read is not None:
            yield name, read


def _vocabulary(names: NameKind, known: KnownRules) -> Collection[str]:
    match names:
        case NameKind.PACK:
            return known.packs
        case NameKind.COMMAND_RULE:
            return known.commands
        case NameKind.SECRET_RULE:
            return known.secrets
        case _:
            assert_never(names)


def _schemas(key: Key, value: object, desk: Desk) -> Iterator[Entry]:
    for tool, item in _items(key, value, desk):
        place = joined(key.path, tool)
        if not is_table(item):
            desk.complaints.about(place, f"{shown(item)} is {kind_of(item)}; expected a table")
        elif foreign := json_problem(item, place):
            desk.complaints.about(*foreign)
        elif invalid := schema_problem(plain := _plain_table(item), place):
            desk.complaints.about(*invalid)
        else:
            yield tool, plain


def _plain_table(table: dict[str, object]) -> dict[str, object]:
    return {name: json_value(part) for name, part in table.items()}


def _limits(key: Key, shape: Budget, value: object, desk: Desk) -> Iterator[Entry]:
    table = dict(_items(key, value, desk))
    limits = read_fields(shape.fields, key.path, table, desk).values
    yield from ((name, limit) for name, limit in limits.items() if isinstance(limit, int))


def _named_tables(key: Key, shape: NamedTables, value: object, desk: Desk) -> Iterator[Entry]:
    """Yield each table that is wholly right, under the name that it is for."""
    for name, item in _items(key, value, desk):
        place = joined(key.path, name)
        if read_text(TextKind.GLOB, place, name, desk) is None:
            continue
        if not is_table(item):
            desk.complaints.about(place, f"{shown(item)} is {kind_of(item)}; expected a table")
            continue
        fields = read_fields(shape.fields, place, item, desk)
        if fields.complete:
            yield name, fields.values


def _items(key: Key, value: object, desk: Desk) -> Iterator[tuple[str, object]]:
    if is_table(value):
        yield from value.items()
    else:
        problem = f"{shown(value)} is {kind_of(value)}; expected a table, `[{key.path}]`"
        desk.complaints.about(key.path, problem)


def _carriers(key: Key, shape: Tables, value: object, desk: Desk) -> Iterator[Entry]:
    """Yield, for each tool, everything that the list says about it."""
    carried: dict[str, set[Carrier]] = {}
    for place, fields in _tables(key, shape, value, desk):
        if not fields.complete:
            continue
        carrier = msgspec.convert(fields.values, Carrier)
        if not carrier.tools:
            desk.complaints.about(f"{place}.tools", "`[]` is empty; expected at least one tool")
        for tool in carrier.tools:
            carried.setdefault(tool, set()).add(msgspec.structs.replace(carrier, tools=()))
    for tool, carriers in carried.items():
        yield tool, frozenset(carriers)


def _identified_tables(
    key: Key, shape: Tables, value: object, desk: Desk, known: KnownRules
) -> Iterator[Entry]:
    """Yield each table under its identity, which nothing else may have."""
    built_in = (*known.commands, *known.secrets) if key.path == _RULES else ()
    taken = dict.fromkeys(built_in, "a built-in rule")
    for place, fields in _tables(key, shape, value, desk):
        identity = fields.values.pop(shape.identity, None)
        if not isinstance(identity, str):
            continue
        if identity in taken:
            problem = f"{shown(identity)} is already the {shape.identity} of {taken[identity]}"
            desk.complaints.about(f"{place}.{shape.identity}", problem)
        elif not fields.complete:
            pass
        elif key.path == _REVIEW_GATES and (wrong := _gate_problem(place, identity, fields)):
            desk.complaints.about(*wrong)
        elif key.path == _RULES and (problem := _rule_problem(fields)):
            desk.complaints.about(f"{place}.on_match", problem)
        else:
            yield identity, fields.values
        taken.setdefault(identity, f"`{place}`")


def _gate_problem(place: str, identity: str, fields: Fields) -> tuple[str, str] | None:
    """Return where and why a gate of reviews asks nothing although each of its fields is right."""
    entry = msgspec.convert({"id": identity, **fields.values}, ReviewGateEntry)
    if entry.check is not None and not "".join(entry.check[:1]).strip():
        words = shown(list(entry.check))
        return f"{place}.check", f'{words} names no program; expected such as `["pytest"]`'
    try:
        _ = entry.gate
    except InputError as error:
        return place, str(error)
    return None


def _rule_problem(fields: Fields) -> str | None:
    """Return why the two answers of a rule cannot go together."""
    decision = fields.values.get("decision", _ASKS)
    if "on_match" not in fields.values or decision == _ASKS:
        return None
    return (
        f"{shown(fields.values['on_match'])} asks a person where nothing can be copied, and does"
        f" not go with {shown(decision)}; leave `decision` out"
    )


def _tables(key: Key, shape: Tables, value: object, desk: Desk) -> Iterator[tuple[str, Fields]]:
    if not is_list(value):
        problem = f"{shown(value)} is {kind_of(value)}; expected a list, `[[{key.path}]]`"
        desk.complaints.about(key.path, problem)
        return
    if len(value) > shape.most:
        desk.complaints.about(key.path, f"{len(value)} entries; expected at most {shape.most}")
        return
    for at, item in enumerate(value):
        place = f"{key.path}[{at}]"
        if is_table(item):
            yield place, read_fields(shape.fields, place, item, desk)
        else:
            desk.complaints.about(place, f"{shown(item)} is {kind_of(item)}; expected a table")


EXAMPLE_KEYS = {
    "command": ("command", "cwd"),
    "tool": ("tool", "params"),
    "path": ("path", "content", "old"),
}
"""What tells the three kinds of examples apart, and the keys of each."""


class Fields(NamedTuple):
    """The good fields of a table, and whether they are all of it."""

    values: dict[str, object]
    complete: bool


def read_fields(
    fields: Sequence[Field], place: str, table: dict[str, object], desk: Desk
) -> Fields:
    """Return the good fields; complain about each that is wrong, unknown or missing."""
    by_name = {field.name: field for field in fields}
    required = {field.name for field in fields if field.required and field.instead not in table}
    missing = required - table.keys()
    read: dict[str, object] = {}
    for name, value in table.items():
        if name in by_name:
            read[name] = _read_field(by_name[name].shape, f"{place}.{name}", value, desk)
        else:
            unknown = f"unknown key{suggestion(name, by_name)}"
            desk.complaints.about(joined(place, name), unknown)
            # Whoever misspelt a key has not forgotten it.
            missing.discard(nearest(name, by_name) or "")
    for field in fields:
        if field.name in missing:
            desk.complaints.about(place, f"the key `{field.name}` is missing")
    good = {name: value for name, value in read.items() if value is not None}
    complete = len(good) == len(table) and required <= good.keys()
    return Fields(good, complete=complete and _all_mean_something(fields, place, good, desk))


def _all_mean_something(
    fields: Sequence[Field], place: str, good: dict[str, object], desk: Desk
) -> bool:
    """Complain about each field that stands there without the one that it speaks about."""
    alone = [
        field
        for field in fields
        if field.name in good and field.needs and good.keys().isdisjoint(field.needs)
    ]
    for field in alone:
        desk.complaints.about(f"{place}.{field.name}", f"needs {one_of(field.needs)} beside it")
    return not alone


def _read_field(shape: FieldShape, place: str, value: object, desk: Desk) -> object | None:
    match shape:
        case Flag() | Number() | Money() | Choice() | Text() | Texts():
            return read_value(shape, place, value, desk)
        case OrderedTexts():
            return read_items(place, value, desk, partial(read_text, shape.kind))
        case Examples():
            return read_items(place, value, desk, _read_example)
        case _:
            assert_never(shape)


def _read_example(place: str, item: object, desk: Desk) -> object | None:
    if isinstance(item, str):
        return item
    problems = list(_example_problems(place, item))
    for where, problem in problems:
        desk.complaints.about(where, problem)
    return None if problems else json_value(item)


def _example_problems(place: str, item: object) -> Iterator[tuple[str, str]]:
    if not is_table(item):
        yield place, f"{shown(item)} is {kind_of(item)}; expected a command line or a table"
        return
    kinds = [kind for kind in EXAMPLE_KEYS if kind in item]
    if len(kinds) != 1:
        yield place, f"expected exactly one of the keys {one_of(tuple(EXAMPLE_KEYS))}"
        return
    [kind] = kinds
    for name, value in item.items():
        if name not in EXAMPLE_KEYS[kind]:
            hint = suggestion(name, EXAMPLE_KEYS[kind])
            yield joined(place, name), f"unknown key beside `{kind}`{hint}"
        elif name == "params":
            yield from filter(None, [json_problem(value, joined(place, name))])
        elif not isinstance(value, str):
            yield joined(place, name), f"{shown(value)} is {kind_of(value)}; expected text"


_MILLIONTH = decimal.Decimal("0.000001")
_MONEY_PLACES = 6


_Item = TypeVar("_Item")


class Desk(NamedTuple):
    """What reading needs at hand."""

    complaints: Complaints
    compile_condition: CompileCondition


def read_value(
    shape: Setting, place: str, value: object, desk: Desk
) -> bool | int | str | tuple[str, ...] | None:
    """Return the value as its shape wants it, or complain and return nothing."""
    match shape:
        case Flag() if isinstance(value, bool):
            return value
        case Number() if isinstance(value, int) and not isinstance(value, bool):
            return _read_number(shape, place, value, desk)
        case Money() if isinstance(value, int | float) and not isinstance(value, bool):
            return _read_money(shape, place, value, desk)
        case Choice() if isinstance(value, str):
            return _read_choice(shape, place, value, desk)
        case Text() if isinstance(value, str):
            return read_text(shape.kind, place, value, desk)
        case Texts():
            return _read_set(shape, place, value, desk)
        case _:
            desk.complaints.about(place, _mismatch(shape, value))
            return None


def read_text(kind: TextKind, place: str, value: object, desk: Desk) -> str | None:
    """Return a text of the kind, or complain and return nothing."""
    if not isinstance(value, str):
        desk.complaints.about(place, _mismatch(Text(kind=kind), value))
        return None
    if problem := text_problem(value, kind, desk.compile_condition):
        desk.complaints.about(place, problem)
        return None
    return canonical_permission(value) if kind is TextKind.KEY_PATH else value


def read_items(
    place: str,
    value: object,
    desk: Desk,
    read: Callable[[str, object, Desk], _Item | None],
    *,
    most: int = MOST_ITEMS,
) -> tuple[_Item, ...] | None:
    """Return a list item by item, or complain about each that is wrong and return nothing."""
    if not is_list(value):
        desk.complaints.about(place, f"{shown(value)} is {kind_of(value)}; expected a list")
        return None
    if len(value) > most:
        desk.complaints.about(place, f"{len(value)} entries; expected at most {most}")
        return None
    items = [read(f"{place}[{at}]", item, desk) for at, item in enumerate(value)]
    good = tuple(item for item in items if item is not None)
    return good if len(good) == len(items) else None


def expected(shape: Scalar) -> str:
    """Return in words what a shape takes."""
    match shape:
        case Flag():
            return "`true` or `false`"
        case Number(minimum=minimum, maximum=maximum) if minimum == maximum:
            return f"`{minimum}`"
        case Number():
            return f"a whole number from {shape.minimum} to {shape.maximum}"
        case Money():
            return (
                f"US dollars from 0 to {shape.maximum}, with at most {_MONEY_PLACES} decimal places"
            )
        case Choice():
            return one_of(shape.values)
        case Text(kind=TextKind.HIDDEN | TextKind.COMMAND as kind):
            return f"text, {kind.value}"
        case Text():
            return "text"
        case _:
            assert_never(shape)


def _read_number(shape: Number, place: str, value: int, desk: Desk) -> int | None:
    if shape.minimum <= value <= shape.maximum:
        return value
    desk.complaints.about(place, f"{shown(value)} is out of range; expected {expected(shape)}")
    return None


def _read_money(shape: Money, place: str, value: float, desk: Desk) -> int | None:
    if not 0 <= value <= shape.maximum:
        desk.complaints.about(place, f"{shown(value)} is out of range; expected {expected(shape)}")
        return None
    micro_usd = _micro_usd(value)
    if micro_usd is None:
        desk.complaints.about(place, f"{shown(value)} is too fine; expected {expected(shape)}")
    return micro_usd


def _micro_usd(value: float) -> int | None:
    """Return dollars in millionths, exactly as written, or nothing where some would be lost."""
    try:
        written = decimal.Decimal(str(value))
    except decimal.InvalidOperation:  # an exponent beyond all bounds
        return None
    amount = written.quantize(_MILLIONTH)
    return int(amount.scaleb(_MONEY_PLACES)) if amount == written else None


def _read_choice(shape: Choice, place: str, value: str, desk: Desk) -> str | None:
    if value in shape.values:
        return value
    close = nearest(value, shape.values)
    hint = f"; did you mean `{close}`?" if close else ""
    desk.complaints.about(place, f"{shown(value)} is unknown; expected {expected(shape)}{hint}")
    return None


def _read_set(shape: Texts, place: str, value: object, desk: Desk) -> tuple[str, ...] | None:
    def read(at: str, item: object, desk: Desk) -> str | None:
        return INHERITED if item == INHERITED else read_text(shape.kind, at, item, desk)

    items = read_items(place, value, desk, read, most=shape.most)
    return None if items is None else tuple(sorted(set(items)))


def _mismatch(shape: Scalar, value: object) -> str:
    if shape == Text(kind=TextKind.HIDDEN):
        return f"the value is {kind_of(value)}; expected {expected(shape)}"
    return f"{shown(value)} is {kind_of(value)}; expected {expected(shape)}"
