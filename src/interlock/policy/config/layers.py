"""What a layer of the policy is, and which value counts where several set one.

A layer is a flat map from places to values: defaults < user < project.
"""

from __future__ import annotations

import decimal
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, assert_never

import msgspec

from interlock.errors import PolicyError
from interlock.model.review import ReviewMode, mode_of
from interlock.model.verdict import Ranked
from interlock.policy.config.action_sections import Carrier, UserRule, carriers_by_tool
from interlock.policy.config.complaints import is_table, joined, notation, shown, suggestion
from interlock.policy.config.document import (
    KEY_BY_PATH,
    KEYS,
    PROFILE_KEYS,
    SECTIONS,
    MergedPolicy,
    Place,
    Policy,
    canonical_bytes,
)
from interlock.policy.config.key import (
    INHERITED,
    RULE_OUTCOMES,
    Budget,
    Choice,
    Examples,
    Key,
    Money,
    NamedTables,
    NamedValues,
    NameKind,
    Schemas,
    Shape,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    in_short,
)
from interlock.policy.config.run_sections import ReviewGateEntry
from interlock.policy.config.stop_section import PROFILES

_KEY_ORDER = {key.path: at for at, key in enumerate(KEYS)}
_MOST_NAMED = 5
_BUILT_IN = "the built-in rules"
_CARRIES_NOTHING = Carrier(tools=())
_ITSELF = ""
"""The entry under which a key without entries is assembled."""


class Role(Ranked):
    """Whose file a layer is, from the bottom up."""

    DEFAULT = "default"
    USER = "user"
    PROJECT = "project"


class KnownRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that come with Interlock, which a policy may name."""

    packs: frozenset[str]
    commands: Mapping[str, str]
    """The id of each rule about commands, to its own decision."""
    secrets: frozenset[str]
    unpriced_models: frozenset[str] = frozenset()
    """Models whose cost nobody knows unless the policy says it."""


Value = bool | int | str | tuple[str, ...] | frozenset[Carrier] | Mapping[str, object]


class Leaf(NamedTuple):
    """A place that holds one value: a key, or one entry of the table behind a key."""

    key_path: str
    entry: str | None = None

    @property
    def key(self) -> Key:
        """The key of the place."""
        return KEY_BY_PATH[self.key_path]

    @property
    def path(self) -> str:
        """The place as it is written in complaints and in `project-may-loosen`."""
        return self.key_path if self.entry is None else joined(self.key_path, self.entry)

    def order(self) -> tuple[int, str]:
        """Return what leaves are sorted by where people see them: the order of the key table."""
        return _KEY_ORDER[self.key_path], self.entry or ""


class Layer(NamedTuple):
    """One file, read: its values, and everything that is wrong with it."""

    role: Role
    name: str
    values: Mapping[Leaf, Value] = {}
    complaints: tuple[str, ...] = ()
    doubtful: frozenset[str] = frozenset()
    """Keys that something was wrong with: nothing further may be concluded from them."""
    presets: Mapping[str, Mapping[Leaf, Value]] = {}
    """Of the defaults: what each preset says instead."""


_PERMISSIONS = Leaf("layers.project-may-loosen")
_PRESET = Leaf("preset")
_PROFILE = Leaf("stops.profile")
_COMPLETION = Leaf("reviews.completion")
_GATES = "reviews.gates"
_MODELS = "stops.models"
_OWN_RULES = "rules"


class Stack(NamedTuple):
    """The layers so far, as one."""

    values: Mapping[Leaf, Value] = {}
    origins: Mapping[Leaf, Layer] = {}
    complaints: tuple[str, ...] = ()
    doubtful: frozenset[str] = frozenset()


def default_layer(
    lists: Mapping[str, object], presets: Mapping[str, Mapping[str, object]] | None = None
) -> Layer:
    """Return what holds where no file says otherwise.

    `lists` is what `defaults.toml` says, and `presets` is what `presets.toml` does.
    """
    sections: dict[str, object] = {section: {} for section in SECTIONS}
    policy = msgspec.convert({**sections, "rules": (), **lists}, Policy)
    by_profile = {key.path for key in PROFILE_KEYS}
    values = {
        leaf: value for leaf, value in leaves_of(policy).items() if leaf.key_path not in by_profile
    }
    tables = {name: dict(_preset_leaves(table)) for name, table in (presets or {}).items()}
    return Layer(Role.DEFAULT, "defaults.toml", values, presets=tables)


def _preset_leaves(table: Mapping[str, object]) -> Iterator[tuple[Leaf, Value]]:
    for key in KEYS:
        section = table.get(key.section) if key.section else table
        if is_table(section) and key.name in section:
            for leaf, value in _leaves(key, section):
                yield leaf, _in_micros(key.shape, leaf.entry, value)


def _in_micros(shape: Shape, name: str | None, value: Value) -> Value:
    """Return money of a budget as it is kept, and everything else as it is."""
    keys = shape.keys if isinstance(shape, Budget) else ()
    is_money = any(key.name == name and isinstance(key.shape, Money) for key in keys)
    return value * 1_000_000 if is_money and isinstance(value, int) else value


def merge(layers: Sequence[Layer], known: KnownRules) -> MergedPolicy:
    """Merge the layers; raise with every complaint where one is wrong or loosens unasked."""
    stack = Stack()
    for layer in _with_preset(_with_profile(layers)):
        stack = _stacked(stack, layer, known)
    complaints = (*stack.complaints, *_disagreements(stack))
    if complaints:
        raise PolicyError(complaints)
    return msgspec.structs.replace(assembled(stack.values), find_places=partial(_places, stack))


def _places(stack: Stack) -> Iterator[Place]:
    for leaf in sorted(stack.values, key=Leaf.order):
        value = visible_value(leaf, stack.values[leaf])
        yield Place(leaf.path, value, stack.origins[leaf].role.value)


def leaves_of(policy: Policy) -> dict[Leaf, Value]:
    """Return what a policy holds, place by place."""
    # JSON and back leaves lists, tables and scalars: one policy then looks like another.
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(policy))
    return {
        leaf: value
        for key in KEYS
        for leaf, value in _leaves(key, (document[key.section] if key.section else document))
    }


def _leaves(key: Key, section: dict[str, Any]) -> Iterator[tuple[Leaf, Value]]:
    """Yield each place behind a key with what it holds."""
    value = section[key.name]
    match key.shape:
        case NamedValues() | Schemas() | Budget() | NamedTables():
            yield from ((Leaf(key.path, name), item) for name, item in value.items())
        case Tables(identity="tools"):
            carried = carriers_by_tool(msgspec.convert(value, list[Carrier]))
            yield from ((Leaf(key.path, tool), carriers) for tool, carriers in carried.items())
        case Tables(identity=identity):
            yield from ((Leaf(key.path, table.pop(identity)), table) for table in value)
        case Texts(is_ordered=True):
            yield Leaf(key.path), tuple(value)
        case Texts():
            yield Leaf(key.path), tuple(sorted(set(value)))
        case _:
            if value is not None:
                yield Leaf(key.path), value


def assembled(values: Mapping[Leaf, Value]) -> MergedPolicy:
    """Return the policy; equal values give an equal policy, in whatever order they came."""
    entries: dict[str, dict[str, Value]] = {key.path: {} for key in KEYS}
    for leaf in sorted(values):
        entries[leaf.key_path][leaf.entry or _ITSELF] = values[leaf]
    sections: dict[str, dict[str, object]] = {key.section: {} for key in KEYS}
    for key in KEYS:
        sections[key.section][key.name] = _gathered(key.shape, entries[key.path])
    top = sections.pop("")
    policy = msgspec.convert({**top, **sections}, Policy)
    return MergedPolicy(policy=policy, hash=hashlib.sha256(canonical_bytes(policy)).hexdigest())


def _gathered(shape: Shape, entries: Mapping[str, Value]) -> object:
    match shape:
        case NamedValues() | Schemas() | Budget() | NamedTables():
            return entries
        case Tables(identity="tools"):
            return _carriers(entries)
        case Tables(identity=identity):
            return [
                {identity: name, **fields}
                for name, fields in entries.items()
                if isinstance(fields, Mapping) and fields.get("decision") != "off"
            ]
        case _:
            return entries.get(_ITSELF)


def _carriers(entries: Mapping[str, Value]) -> list[Carrier]:
    pairs = [
        (carrier, tool)
        for tool, carriers in entries.items()
        if isinstance(carriers, frozenset)
        for carrier in carriers
    ]
    tools: dict[Carrier, list[str]] = {}
    for carrier, tool in pairs:
        tools.setdefault(carrier, []).append(tool)
    grouped = [
        msgspec.structs.replace(carrier, tools=tuple(names)) for carrier, names in tools.items()
    ]
    return sorted(grouped, key=msgspec.json.encode)


def is_hidden(leaf: Leaf) -> bool:
    """Tell whether nobody may see what a place holds."""
    shape = leaf.key.shape
    return isinstance(shape, Text) and shape.kind is TextKind.HIDDEN


def visible_value(leaf: Leaf, value: Value) -> object:
    """Return the value as plain JSON with money in dollars; of what is hidden, that it is set."""
    match leaf.key.shape, value:
        case Text(kind=TextKind.HIDDEN), _:
            return "(set, not shown)" if value else ""
        case _, frozenset():
            return sorted(map(_carried, value), key=msgspec.json.encode)
        case Money(), int():
            return in_dollars(value)
        case Budget() as shape, _:
            return _in_dollars(shape.keys, leaf.entry, value)
        case Tables() as shape, Mapping():
            return {name: _in_dollars(shape.keys, name, part) for name, part in value.items()}
        case _:
            return value


def _carried(carrier: Carrier) -> dict[str, object]:
    parts: dict[str, object] = msgspec.to_builtins(carrier)
    return {name: parameters for name, parameters in parts.items() if parameters}


def _in_dollars(keys: Iterable[Key], name: str | None, value: object) -> object:
    """Return money as it would be written in a file, and the rest as it is."""
    is_money = any(key.name == name and isinstance(key.shape, Money) for key in keys)
    return in_dollars(value) if is_money and isinstance(value, int) else value


def in_dollars(micro_usd: int) -> decimal.Decimal:
    """Return money as it would be written in a file."""
    dollars, micros = divmod(micro_usd, 1_000_000)
    return decimal.Decimal(f"{dollars}.{micros:06}".rstrip("0").removesuffix("."))


def _stacked(below: Stack, layer: Layer, known: KnownRules) -> Stack:
    settled = {
        leaf: _settled(value, below.values.get(leaf)) for leaf, value in layer.values.items()
    }
    refusals = _refusals(below, layer, settled, known) if layer.role is Role.PROJECT else ()
    return Stack(
        values={**below.values, **settled},
        origins={**below.origins, **dict.fromkeys(settled, layer)},
        complaints=(*below.complaints, *layer.complaints, *refusals),
        doubtful=below.doubtful | layer.doubtful,
    )


def _settled(value: Value, below: Value | None) -> Value:
    """Return what a value comes to once it is known what stands below it."""
    match value, below:
        case tuple(), _ if INHERITED in value:
            inherited = below if isinstance(below, tuple) else ()
            return tuple(sorted({*value, *inherited} - {INHERITED}))
        case frozenset(), frozenset() if _CARRIES_NOTHING not in value:
            return value | below
        case frozenset(), _:
            return value - {_CARRIES_NOTHING}
        case _:
            return value


def _refusals(
    below: Stack, layer: Layer, settled: Mapping[Leaf, Value], known: KnownRules
) -> Iterator[str]:
    permissions = below.values.get(_PERMISSIONS)
    if _PERMISSIONS.key_path in below.doubtful or not isinstance(permissions, tuple):
        return
    for leaf, value in settled.items():
        floor = _floor_beneath(leaf, below.values, known)
        is_certain = below.doubtful.isdisjoint((leaf.key_path, leaf.key.switch))
        if floor is None or not is_certain or _permits(permissions, leaf.path):
            continue
        if is_looser(leaf.key, value, than=floor):
            origin = below.origins.get(leaf)
            difference = _difference(leaf, value, floor)
            yield (
                f"{layer.name}: {leaf.path}: {difference} {origin.name if origin else _BUILT_IN}; "
                f"a project may only tighten: take it out, or list `{leaf.path}` under "
                f"`{_PERMISSIONS.path}` in the user's file"
            )


def _difference(leaf: Leaf, value: Value, floor: Value) -> str:
    """Say what a looser value changes, up to the name of the file that it changes."""
    match leaf.key.tighter, value, floor:
        case Tighter.FEWER, _, _:
            return f"adds {_listed(_members(value) - _members(floor))} to the list of"
        case Tighter.MORE, tuple(), _:
            return f"leaves out {_listed(_members(floor) - _members(value))} from the list of"
        case Tighter.MORE, _, _:
            return "takes away what the tool carries according to"
        case Tighter.STRONGER, {"decision": str(above)}, {"decision": str(below)}:
            return f"{shown(in_short(above))} is looser than {shown(in_short(below))} of"
        case Tighter.STRONGER, str(above), str(below):
            return f"{shown(in_short(above))} is looser than {shown(in_short(below))} of"
        case _, Mapping(), _:
            return "differs from the entry of the same name of"
        case _:
            above, below = (visible_value(leaf, each) for each in (value, floor))
            return f"{shown(above)} is looser than {shown(below)} of"


def _listed(items: frozenset[object]) -> str:
    names = sorted(shown(item) for item in items)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _permits(permissions: Iterable[str], path: str) -> bool:
    """Tell whether one of the permissions covers a place."""
    return any(
        path.startswith(each.removesuffix("*")) if each.endswith(".*") else path == each
        for each in permissions
    )


def _with_profile(layers: Sequence[Layer]) -> Sequence[Layer]:
    """Return the layers with what the chosen profile says right above the defaults."""
    defaults, *files = layers
    chosen = [str(layer.values[_PROFILE]) for layer in layers if _PROFILE in layer.values]
    is_doubtful = any(_PROFILE.key_path in layer.doubtful for layer in layers)
    if is_doubtful or not chosen:
        # Nothing is certain where it is not known which profile counts.
        doubtful = frozenset(key.path for key in PROFILE_KEYS)
        return (defaults, Layer(Role.DEFAULT, "no profile", doubtful=doubtful), *files)
    values = {Leaf(key.path): profile_value(chosen[-1], key) for key in PROFILE_KEYS}
    return (defaults, Layer(Role.DEFAULT, f"the profile `{chosen[-1]}`", values), *files)


def _with_preset(layers: Sequence[Layer]) -> Sequence[Layer]:
    """Return the layers with what the chosen preset says right above the defaults."""
    defaults, *others = layers
    chosen = [str(layer.values[_PRESET]) for layer in layers if _PRESET in layer.values]
    if any(_PRESET.key_path in layer.doubtful for layer in layers):
        # Nothing is certain where it is not known which preset counts.
        said = (leaf.key_path for values in defaults.presets.values() for leaf in values)
        return (defaults, Layer(Role.DEFAULT, "no preset", doubtful=frozenset(said)), *others)
    values = defaults.presets.get(chosen[-1], {})
    return (defaults, Layer(Role.DEFAULT, f"the preset `{chosen[-1]}`", values), *others)


def profile_value(profile: str, key: Key) -> Value:
    """Return what a profile has under a key; lists are sets, as they are in a file."""
    value: int | tuple[str, ...] = getattr(PROFILES[profile], key.field)
    return tuple(sorted(set(value))) if isinstance(value, tuple) else value


def _floor_beneath(leaf: Leaf, below: Mapping[Leaf, Value], known: KnownRules) -> Value | None:
    """Return the value that the layers above must not loosen, or nothing where they are free."""
    return None if is_off(leaf, below) else standing(leaf, below, known)


def is_off(leaf: Leaf, values: Mapping[Leaf, Value]) -> bool:
    """Tell whether a gate is off: nothing that is set for it can take anything away then."""
    switch = leaf.key.switch
    return switch is not None and values.get(Leaf(switch)) is False


def standing(leaf: Leaf, values: Mapping[Leaf, Value], known: KnownRules) -> Value | None:
    """Return what a place holds, also where nobody wrote it down."""
    match leaf.key.shape:
        case NamedValues(names=NameKind.COMMAND_RULE):
            return values.get(leaf, known.commands.get(leaf.entry or ""))
        case NamedValues():
            return values.get(leaf, True)
        case _:
            return values.get(leaf)


def is_looser(key: Key, value: Value, *, than: Value) -> bool:
    """Compare two values; where neither is tighter, any change is looser."""
    match key.tighter:
        case Tighter.TRUE:
            return than is True and value is not True
        case Tighter.SMALLER | Tighter.LIMITED:
            return not (isinstance(value, int) and isinstance(than, int) and value <= than)
        case Tighter.LARGER:
            return not (isinstance(value, int) and isinstance(than, int) and value >= than)
        case Tighter.STRONGER:
            return _rank(key, value) < _rank(key, than)
        case Tighter.FEWER:
            return bool(_members(value) - _members(than))
        case Tighter.MORE:
            return bool(_members(than) - _members(value))
        case Tighter.KEPT if key.path == _OWN_RULES:
            return _is_entry_looser(UserRule.keys, value, than)
        case Tighter.KEPT | Tighter.FIXED | Tighter.USER_ONLY:
            # As JSON, because in a schema `true` is not 1.
            return notation(value) != notation(than)
        case _:
            assert_never(key.tighter)


def _is_entry_looser(keys: Sequence[Key], value: Value, than: Value) -> bool:
    """Compare two entries field by field: choices have ranks, and examples bind nobody."""
    said, before = _said(keys, value), _said(keys, than)
    for key in keys:
        ranks = RULE_OUTCOMES if key.instead else getattr(key.shape, "values", ())
        one, other = said.get(key.name), before.get(key.name)
        if isinstance(key.shape, Examples) or notation(one) == notation(other):
            continue
        if one not in ranks or other not in ranks or ranks.index(one) < ranks.index(other):
            return True
    return False


def _said(keys: Sequence[Key], entry: Value) -> dict[str, Any]:
    """Return what an entry says, also by default; what stands in another's place is put there."""
    fields: dict[str, Any] = {key.name: key.default for key in keys if not key.is_required}
    fields |= entry if isinstance(entry, Mapping) else {}
    for key in keys:
        if key.instead is not None:
            fields[key.name] = fields.pop(key.instead) or fields.get(key.name, key.default)
    return fields


def _members(value: Value) -> frozenset[object]:
    return frozenset(value) if isinstance(value, tuple | frozenset) else frozenset()


def _rank(key: Key, value: Value) -> int:
    """Return how strict a word is: a key has its own from mild to strict, or those of rules."""
    outcome = value["decision"] if isinstance(value, Mapping) else value
    words = key.shape.values if isinstance(key.shape, Choice) else RULE_OUTCOMES
    return words.index(str(outcome))


def _disagreements(stack: Stack) -> Iterator[str]:
    """Complain about values that cannot go together."""
    yield from _nothing_allowed(stack)
    yield from _wrong_order(stack)
    yield from _wrong_order_for_models(stack)
    yield from _useless_completion(stack)


def _nothing_allowed(stack: Stack) -> Iterator[str]:
    enabled, allow = Leaf("tool-allowlist.enabled"), Leaf("tool-allowlist.allow")
    nothing_allowed = stack.values.get(enabled) is True and stack.values.get(allow) == ()
    if nothing_allowed and stack.doubtful.isdisjoint((enabled.path, allow.path)):
        yield (
            f"{stack.origins[enabled].name}: {enabled.path}: `true` with nothing under "
            f"`{allow.path}` would refuse every tool; list the tools that may be called"
        )


def _wrong_order(stack: Stack) -> Iterator[str]:
    """Complain where one number must not go below another and does, in the upper file of both."""
    for key, least in _ordered(KEYS):
        higher, lower = Leaf(key.path), Leaf(least)
        is_doubtful = not stack.doubtful.isdisjoint((higher.path, lower.path))
        if is_doubtful or not _is_less(stack.values.get(higher), stack.values.get(lower)):
            continue
        if stack.origins[higher].role.rank >= stack.origins[lower].role.rank:
            place, other, relation = higher, lower, "less"
        else:
            place, other, relation = lower, higher, "more"
        yield (
            f"{stack.origins[place].name}: {place.path}: {shown(stack.values[place])} is {relation}"
            f" than {shown(stack.values[other])} of `{other.path}` in {stack.origins[other].name};"
            f" expected `{higher.path}` to be at least `{lower.path}`"
        )


def _wrong_order_for_models(stack: Stack) -> Iterator[str]:
    """Complain of the same where a table for some models sets one of the two numbers, or both."""
    tables = [(leaf, value) for leaf, value in stack.values.items() if leaf.key_path == _MODELS]
    for leaf, own in sorted(tables):
        for key, least in _ordered(PROFILE_KEYS):
            names = key.name, least.rpartition(".")[2]
            higher, lower = (_for_models(stack, own, name) for name in names)
            if _is_less(higher, lower) and stack.doubtful.isdisjoint((key.path, least)):
                yield (
                    f"{stack.origins[leaf].name}: {joined(leaf.path, names[0])}: "
                    f"{shown(higher)} is less than {shown(lower)} of `{names[1]}` for these"
                    f" models; expected at least as much"
                )


def _useless_completion(stack: Stack) -> Iterator[str]:
    """Complain about gates that a run is to pass before it may finish, and that cannot hold it."""
    named = stack.values.get(_COMPLETION)
    if not isinstance(named, tuple) or not stack.doubtful.isdisjoint((_COMPLETION.path, _GATES)):
        return
    gates = {leaf.entry: value for leaf, value in stack.values.items() if leaf.key_path == _GATES}
    for gate in named:
        if problem := _completion_problem(gate, gates):
            file = stack.origins[_COMPLETION].name
            yield f"{file}: {_COMPLETION.path}: {shown(gate)} {problem}"


def _completion_problem(gate: str, gates: Mapping[str | None, Value]) -> str | None:
    fields = gates.get(gate)
    if not isinstance(fields, Mapping):
        hint = suggestion(gate, [name for name in gates if name is not None])
        return f"is no gate{hint or f'; add it as one of `[[{_GATES}]]`'}"
    entry = msgspec.convert({"id": gate, **fields}, ReviewGateEntry)
    if entry.check is None:
        return "has no check, and nothing else can pass it; give the gate a `check`"
    mode = mode_of(entry.gate)
    if mode is not ReviewMode.BLOCKING:
        return f'is {mode.value} and would hold nothing up; give the gate `mode = "blocking"`'
    return None


def _ordered(keys: tuple[Key, ...]) -> Iterator[tuple[Key, str]]:
    return ((key, key.least) for key in keys if key.least is not None)


def _is_less(higher: object, lower: object) -> bool:
    return isinstance(higher, int) and isinstance(lower, int) and higher < lower


def _for_models(stack: Stack, own: Value, name: str) -> object:
    """Return what counts for models with a table of their own."""
    everywhere = stack.values.get(Leaf(f"stops.{name}"))
    return own.get(name, everywhere) if isinstance(own, Mapping) else everywhere
