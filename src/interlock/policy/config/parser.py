"""From a policy file's text to a layer, with everything that is wrong with it."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar, assert_never, cast

import msgspec

from interlock.errors import InputError
from interlock.model.gate_names import gate_in_our_names
from interlock.policy.config.action_sections import Carrier, carriers_by_tool
from interlock.policy.config.complaints import (
    did_you_mean,
    is_list,
    is_table,
    joined,
    kind_of,
    mistaken,
    nearest,
    one_of,
    shortened,
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
    Flag,
    Key,
    Money,
    NamedTables,
    NamedValues,
    NameKind,
    Number,
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
    KnownRules,
    Layer,
    Leaf,
    Role,
    Value,
)
from interlock.policy.config.other_names import policy_in_our_names
from interlock.policy.config.run_sections import ReviewGateEntry
from interlock.policy.config.toml_values import (
    CompileCondition,
    Problem,
    canonical_permission,
    json_problem,
    json_table,
    json_value,
    parsed_table,
    placed_in_file,
    schema_problem,
    text_problem,
)

EXAMPLE_KEYS = {
    "command": ("command", "cwd"),
    "tool": ("tool", "params"),
    "path": ("path", "content", "old"),
}
"""What tells the three kinds of examples apart, and the keys of each."""

_MOST_COMPLAINTS = 200
_MILLIONTH = decimal.Decimal("0.000001")
_MONEY_PLACES = 6
_RULES = "rules"
_ALLOW = "allow"
_ASKS = "require-confirmation"
REVIEW_GATES = "reviews.gates"

Entry = tuple[str, Value]
_Item = TypeVar("_Item")


def read_layer(
    name: str, text: str, role: Role, *, known: KnownRules, compile_condition: CompileCondition
) -> Layer:
    """Read one file to its end; what is wrong with it stands in the layer's complaints."""
    reader = _Reader(name, role, known, compile_condition)
    try:
        reader.read(text)
    except _TooManyMistakesError:
        reader.doubtful.update(KEY_BY_PATH)
    doubtful = frozenset(reader.doubtful)
    return Layer(role, name, reader.values, tuple(reader.complaints), doubtful)


class _TooManyMistakesError(Exception):
    """A file has so many mistakes that it was not read to its end."""


class _Fields(NamedTuple):
    """The good fields of a table, and whether they are all of it."""

    values: dict[str, object]
    complete: bool


class _Reader(msgspec.Struct):
    """Walks through one file and collects its values, and what is wrong in the order of reading."""

    file: str
    role: Role
    known: KnownRules
    compile_condition: CompileCondition
    values: dict[Leaf, Value] = {}
    complaints: list[str] = []
    doubtful: set[str] = set()
    text: str = ""

    def read(self, text: str) -> None:
        """Read every key of the file, then look at what its keys say together."""
        self.text = text
        table = parsed_table(text)
        if isinstance(table, tuple):
            self.doubtful.update(KEY_BY_PATH)
            self._complain(*table)
            return
        table, doubts = policy_in_our_names(table)
        for doubt in doubts:
            self._complain(doubt.place, doubt.problem)
            self._doubt(doubt.key)
        for key, value in self._found_keys(table):
            said = len(self.complaints)
            self._read_key(key, value)
            if len(self.complaints) > said:
                self._doubt(key.path)
        self._look_for_tools_both_allowed_and_denied()

    def _complain(self, place: str, problem: str) -> None:
        """Add one sentence that names the file and the place in it; raise when it gets too long."""
        self.complaints.append(f"{self.file}: {shortened(place)}: {problem}")
        if len(self.complaints) == _MOST_COMPLAINTS:
            self.complaints.append(f"{self.file}: too many mistakes: the rest was not read")
            raise _TooManyMistakesError

    def _found_keys(self, table: dict[str, object]) -> Iterator[tuple[Key, object]]:
        for name, value in table.items():
            if name not in SECTIONS:
                yield from self._found_key("", name, value)
            elif is_table(value):
                for inner, inner_value in value.items():
                    yield from self._found_key(name, inner, inner_value)
            else:
                self._complain(name, mistaken(value, f"a table, `[{name}]`"))
                self._doubt(name)

    def _found_key(self, section: str, name: str, value: object) -> Iterator[tuple[Key, object]]:
        path = joined(section, name)
        if path in KEY_BY_PATH:
            yield KEY_BY_PATH[path], value
            return
        self._complain(path, f"unknown key{_hint(section, name)}")
        self._doubt(_meant(section, name))

    def _doubt(self, path: str | None) -> None:
        self.doubtful.update(key.path for key in KEYS if path in (key.path, key.section))

    def _read_key(self, key: Key, value: object) -> None:
        if key.tighter is Tighter.USER_ONLY and self.role is Role.PROJECT:
            problem = "may be set in the user's file only, because an agent can write the project's"
            self._complain(key.path, problem)
        elif isinstance(key.shape, Entries):
            entries = self._entries(key, key.shape, value)
            self.values.update({Leaf(key.path, name): read for name, read in entries})
        elif (read := self._setting(key.shape, key.path, value)) is not None:
            # Lists of examples, the only other kind, stand inside of tables.
            self.values[Leaf(key.path)] = cast("Value", read)

    def _look_for_tools_both_allowed_and_denied(self) -> None:
        allowed = self.values.get(Leaf("tool-allowlist.allow"))
        denied = self.values.get(Leaf("tool-allowlist.deny"))
        if isinstance(allowed, tuple) and isinstance(denied, tuple):
            for tool in sorted({*allowed} & {*denied} - {INHERITED}):
                problem = f"{shown(tool)} stands under `allow` as well; expected it in one of them"
                self._complain("tool-allowlist.deny", problem)

    def _entries(self, key: Key, shape: Entries, value: object) -> Iterator[Entry]:
        """Yield every good entry behind a key; complain about the others."""
        match shape:
            case Tables(identity="tools"):
                return self._carriers(key, shape, value)
            case Tables():
                return self._identified_tables(key, shape, value)
            case NamedValues():
                return self._named_values(key, shape, value)
            case Schemas():
                return self._schemas(key, value)
            case Budget():
                return self._limits(key, shape, value)
            case NamedTables():
                return self._named_tables(key, shape, value)
            case _:
                assert_never(shape)

    def _named_values(self, key: Key, shape: NamedValues, value: object) -> Iterator[Entry]:
        names = {
            NameKind.PACK: self.known.packs,
            NameKind.COMMAND_RULE: self.known.commands.keys(),
            NameKind.SECRET_RULE: self.known.secrets,
        }[shape.names]
        for name, item in self._items(key, value):
            place = joined(key.path, name)
            if name not in names:
                self._complain(place, f"unknown {shape.names.value}{suggestion(name, names)}")
            elif (read := self._scalar(shape.value, place, item)) is not None:
                yield name, read

    def _schemas(self, key: Key, value: object) -> Iterator[Entry]:
        for tool, item in self._items(key, value):
            place = joined(key.path, tool)
            schema = self._table(place, item)
            if schema is None:
                continue
            if foreign := json_problem(schema, place):
                self._complain(*foreign)
            elif invalid := schema_problem(plain := json_table(schema), place):
                self._complain(*invalid)
            else:
                yield tool, plain

    def _limits(self, key: Key, shape: Budget, value: object) -> Iterator[Entry]:
        limits = self._fields(shape.keys, key.path, dict(self._items(key, value))).values
        yield from ((name, limit) for name, limit in limits.items() if isinstance(limit, int))

    def _named_tables(self, key: Key, shape: NamedTables, value: object) -> Iterator[Entry]:
        """Yield each table that is wholly right, under the name that it is for."""
        for name, item in self._items(key, value):
            place = joined(key.path, name)
            if self._text(TextKind.GLOB, place, name) is None:
                continue
            table = self._table(place, item)
            if table is not None and (fields := self._fields(shape.keys, place, table)).complete:
                yield name, fields.values

    def _items(self, key: Key, value: object) -> Iterator[tuple[str, object]]:
        if is_table(value):
            yield from value.items()
        else:
            self._complain(key.path, mistaken(value, f"a table, `[{key.path}]`"))

    def _carriers(self, key: Key, shape: Tables, value: object) -> Iterator[Entry]:
        """Yield, for each tool, everything that the list says about it."""
        carriers: list[Carrier] = []
        for place, fields in self._tables(key, shape, value):
            if fields.complete and not fields.values["tools"]:
                self._complain(f"{place}.tools", "`[]` is empty; expected at least one tool")
            elif fields.complete:
                carriers.append(msgspec.convert(fields.values, Carrier))
        yield from carriers_by_tool(carriers).items()

    def _identified_tables(self, key: Key, shape: Tables, value: object) -> Iterator[Entry]:
        """Yield each table under its identity, which nothing else may have."""
        known = self.known
        built_in = (*known.commands, *known.secrets) if key.path == _RULES else ()
        taken = dict.fromkeys(built_in, "a built-in rule")
        for place, fields in self._tables(key, shape, value):
            identity = fields.values.pop(shape.identity, None)
            if not isinstance(identity, str):
                continue
            if identity in taken:
                problem = f"{shown(identity)} is already the {shape.identity} of {taken[identity]}"
                self._complain(f"{place}.{shape.identity}", problem)
            elif not fields.complete:
                pass
            elif wrong := _table_problem(key, place, identity, fields.values):
                self._complain(*wrong)
            else:
                yield identity, fields.values
            taken.setdefault(identity, f"`{place}`")

    def _tables(self, key: Key, shape: Tables, value: object) -> Iterator[tuple[str, _Fields]]:
        if not is_list(value):
            self._complain(key.path, mistaken(value, f"a list, `[[{key.path}]]`"))
            return
        if len(value) > shape.most:
            self._complain(key.path, f"{len(value)} entries; expected at most {shape.most}")
            return
        for at, item in enumerate(value):
            place = f"{key.path}[{at}]"
            table = self._table(place, item)
            if table is not None and key.path == REVIEW_GATES:
                table = self._gate(place, table)
            if table is not None:
                yield place, self._fields(shape.keys, place, table)

    def _gate(self, place: str, table: dict[str, object]) -> dict[str, object] | None:
        try:
            return gate_in_our_names(table, dash="-")
        except InputError as error:
            self._complain(place, str(error))
            return None

    def _table(self, place: str, item: object) -> dict[str, object] | None:
        if is_table(item):
            return item
        self._complain(place, mistaken(item, "a table"))
        return None

    def _fields(self, keys: Sequence[Key], place: str, table: dict[str, object]) -> _Fields:
        """Return the good fields; complain about each that is wrong, unknown or missing."""
        shapes = {key.name: key.shape for key in keys}
        required = {key.name for key in keys if key.is_required and key.instead not in table}
        missing = required - table.keys()
        read: dict[str, object] = {}
        for name, value in table.items():
            shape = shapes.get(name)
            if shape is not None and not isinstance(shape, Entries):
                read[name] = self._setting(shape, f"{place}.{name}", value)
            else:
                self._complain(joined(place, name), f"unknown key{suggestion(name, shapes)}")
                # Whoever misspelt a key has not forgotten it.
                missing.discard(nearest(name, shapes) or "")
        for key in keys:
            if key.name in missing:
                self._complain(place, f"the key `{key.name}` is missing")
        good = {name: value for name, value in read.items() if value is not None}
        complete = len(good) == len(table) and required <= good.keys()
        return _Fields(good, complete=complete and self._all_mean_something(keys, place, good))

    def _all_mean_something(self, keys: Sequence[Key], place: str, good: dict[str, object]) -> bool:
        """Complain about each field that stands there without the one that it speaks about."""
        alone = [
            key
            for key in keys
            if key.name in good and key.needs and good.keys().isdisjoint(key.needs)
        ]
        for key in alone:
            self._complain(f"{place}.{key.name}", f"needs {one_of(key.needs)} beside it")
        return not alone

    def _setting(self, shape: Setting, place: str, value: object) -> object | None:
        """Return the value as its shape wants it, or complain and return nothing."""
        match shape:
            case Texts(kind=kind, is_ordered=True):
                return self._list(place, value, partial(self._text, kind))
            case Texts(kind=kind):
                items = self._list(place, value, partial(self._member, kind), shape.most)
                return None if items is None else tuple(sorted(set(items)))
            case Examples():
                return self._list(place, value, self._example)
            case _:
                return self._scalar(shape, place, value)

    def _list(
        self,
        place: str,
        value: object,
        read: Callable[[str, object], _Item | None],
        most: int = MOST_ITEMS,
    ) -> tuple[_Item, ...] | None:
        """Return a list item by item, or complain about each that is wrong and return nothing."""
        if not is_list(value):
            self._complain(place, mistaken(value, "a list"))
            return None
        if len(value) > most:
            self._complain(place, f"{len(value)} entries; expected at most {most}")
            return None
        items = [read(f"{place}[{at}]", item) for at, item in enumerate(value)]
        good = tuple(item for item in items if item is not None)
        return good if len(good) == len(items) else None

    def _member(self, kind: TextKind, place: str, value: object) -> str | None:
        return INHERITED if value == INHERITED else self._text(kind, place, value)

    def _text(self, kind: TextKind, place: str, value: object) -> str | None:
        if not isinstance(value, str):
            self._mismatch(Text(kind), place, value)
        elif problem := text_problem(value, kind, self.compile_condition):
            is_condition = kind is TextKind.CONDITION
            self._complain(
                place, placed_in_file(problem, value, self.text) if is_condition else problem
            )
        else:
            return canonical_permission(value) if kind is TextKind.KEY_PATH else value
        return None

    def _example(self, place: str, item: object) -> object | None:
        if isinstance(item, str):
            return item
        problems = list(_example_problems(place, item))
        for where, problem in problems:
            self._complain(where, problem)
        return None if problems else json_value(item)

    def _scalar(self, shape: Scalar, place: str, value: object) -> bool | int | str | None:
        match shape:
            case Flag() if isinstance(value, bool):
                return value
            case Number() if isinstance(value, int) and not isinstance(value, bool):
                is_within = shape.minimum <= value <= shape.maximum
                return value if is_within else self._refuse(shape, place, value, "out of range")
            case Money() if isinstance(value, int | float) and not isinstance(value, bool):
                return self._money(shape, place, value)
            case Choice() if isinstance(value, str):
                known = shape.read(value)
                return self._refuse(shape, place, value, "unknown") if known is None else known
            case Text():
                return self._text(shape.kind, place, value)
            case _:
                return self._mismatch(shape, place, value)

    def _money(self, shape: Money, place: str, value: float) -> int | None:
        if not 0 <= value <= shape.maximum:
            return self._refuse(shape, place, value, "out of range")
        micro_usd = _micro_usd(value)
        return self._refuse(shape, place, value, "too fine") if micro_usd is None else micro_usd

    def _refuse(self, shape: Scalar, place: str, value: object, why: str) -> None:
        if isinstance(shape, Choice) and value == _ALLOW and "rules" in place:
            self._complain(place, f"{shown(value)} is unknown; {_never_allows(shape)}")
            return
        close = (
            nearest(str(value), (*shape.words, *shape.values))
            if isinstance(shape, Choice)
            else None
        )
        self._complain(
            place, f"{shown(value)} is {why}; expected {expected(shape)}{did_you_mean(close)}"
        )

    def _mismatch(self, shape: Scalar, place: str, value: object) -> None:
        is_hidden = isinstance(shape, Text) and shape.kind is TextKind.HIDDEN
        named = "the value" if is_hidden else shown(value)
        self._complain(place, f"{named} is {kind_of(value)}; expected {expected(shape)}")


def _never_allows(shape: Choice) -> str:
    """Say what to write in the place of `allow`."""
    if "off" in shape.values:
        return f"expected {expected(shape)}: a rule never allows, and `off` switches it off"
    return (
        f"expected {expected(shape)}: a rule never allows. `[destructive-ops.rules]` makes a"
        " built-in rule milder, `destructive-ops.accepted-commands` accepts one command"
    )


def _hint(section: str, name: str) -> str:
    meant = _meant(section, name)
    if meant is None:
        return f"; expected {one_of(sorted(_siblings(section)))}"
    return did_you_mean(meant.removeprefix(f"{section}."))


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


def _table_problem(
    key: Key, place: str, identity: str, fields: dict[str, object]
) -> Problem | None:
    """Return where and why a table cannot be meant although each of its fields is right."""
    if key.path == REVIEW_GATES:
        return _gate_problem(place, msgspec.convert({"id": identity, **fields}, ReviewGateEntry))
    decision = fields.get("decision", _ASKS)
    if key.path != _RULES or "on_match" not in fields or decision == _ASKS:
        return None
    return f"{place}.on_match", (
        f"{shown(fields['on_match'])} asks a person where nothing can be copied, and does"
        f" not go with {shown(decision)}; leave `decision` out"
    )


def _gate_problem(place: str, entry: ReviewGateEntry) -> Problem | None:
    if entry.check is not None and not "".join(entry.check[:1]).strip():
        words = shown(list(entry.check))
        return f"{place}.check", f'{words} names no program; expected such as `["pytest"]`'
    try:
        _ = entry.gate
    except InputError as error:
        return place, str(error)
    return None


def _example_problems(place: str, item: object) -> Iterator[Problem]:
    if not is_table(item):
        yield place, mistaken(item, "a command line or a table")
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
            yield joined(place, name), mistaken(value, "text")


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
            return one_of(shape.words)
        case Text(kind=TextKind.HIDDEN | TextKind.COMMAND as kind):
            return f"text, {kind.value}"
        case Text():
            return "text"
        case _:
            assert_never(shape)


def _micro_usd(value: float) -> int | None:
    """Return dollars in millionths, exactly as written, or nothing where some would be lost."""
    try:
        written = decimal.Decimal(str(value))
    except decimal.InvalidOperation:  # an exponent beyond all bounds
        return None
    amount = written.quantize(_MILLIONTH)
    return int(amount.scaleb(_MONEY_PLACES)) if amount == written else None
