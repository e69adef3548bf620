"""Is an argument what it has to be? Every public entrance asks this, by its own annotations.

`entrance` makes a function check whatever it is called with: the names, the types and the ranges
that its signature declares, down into the values that it is handed. `Argument` does the same for
a kind of value whenever a caller makes one. Tables, lists and texts are taken wherever a value
can be made of them. What is wrong is an InputError that names the place, what stands there and
what is right. No annotation is looked at before the first call.
"""

from __future__ import annotations

import enum
import math
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache, partial, wraps
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    runtime_checkable,
)

import msgspec

from interlock.errors import InputError
from interlock.model.promised_answer import promised

P = ParamSpec("P")
T = TypeVar("T")

MOST: Final = 2**53
"""More than this is a mistake, and some readers of JSON could not hold it."""
_LONGEST_SHOWN: Final = 60
_LONGEST_WORD: Final = 16
_LONGEST_FIGURE: Final = 3
_CO_COROUTINE: Final = 0x80
"""What `inspect` calls so: a function whose calls are awaited."""

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
"""How many: a whole number, never less than nothing."""
Amount = Annotated[float, msgspec.Meta(ge=0, le=MOST)]
"""How much, or how long."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A part of a whole."""


@runtime_checkable
class PathLike(Protocol):
    """What stands for the name of a file, such as a `Path`."""

    def __fspath__(self) -> str:
        """Return the name."""
        ...


FilePath = str | PathLike
"""The name of a file or folder."""
Given = Annotated[T | Mapping[str, object], "a value, or a table of its fields"]
"""A value as a caller may hand it over; behind the entrance it is the value."""

Check = Callable[[object, str], Any]
"""Returns a value as it is taken, or raises InputError with its place."""


def entrance(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with every argument checked by its annotation."""

    @wraps(function)
    def enter(*args: P.args, **kwargs: P.kwargs) -> T:
        known = _signature_of(function)
        answer = function(*known.placed(args), **known.named(len(args), kwargs))  # pyright: ignore[reportCallIssue] - the same arguments
        return promised(answer) if is_awaited else answer

    is_awaited = function.__code__.co_flags & _CO_COROUTINE
    return enter


def admitted(
    function: Callable[..., T], args: Sequence[object], kwargs: dict[str, Any]
) -> tuple[Callable[..., T], Sequence[Any], dict[str, Any]]:
    """Return what stands behind an entrance, and the arguments that it lets in."""
    behind = cast("Callable[..., T]", function.__wrapped__)  # pyright: ignore[reportFunctionMemberAccess] - of `wraps`
    known = _signature_of(behind)
    return behind, known.placed(args), known.named(len(args), kwargs)


class Argument(msgspec.StructMeta):
    """The kind of what callers make to hand it over.

    It is checked when it is made, not when it is read back: what is on record stays readable.
    """

    if TYPE_CHECKING:
        # A type checker knows the fields by the class itself.
        ...
    else:

        def __new__(cls, *args: object, **options: object) -> type:
            """Make the kind; its values show only what somebody said."""
            return super().__new__(cls, *args, **{"repr_omit_defaults": True, **options})

        def __call__(self, *args: object, **kwargs: object) -> msgspec.Struct:
            """Make one of checked values."""
            if args:
                raise InputError(f"`{self.__name__}` takes its values by their names")
            return _made(self, kwargs, self.__name__)


def of_checked(kind: Callable[P, T]) -> Callable[P, T]:
    """Return a maker of the kind for values that an entrance has let in: they are not looked at."""
    return partial(msgspec.StructMeta.__call__, cast("msgspec.StructMeta", kind))


def checked(value: object, annotation: object, place: str) -> Any:  # noqa: ANN401 - as annotated
    """Return a value that is what an annotation says; raise InputError if it is not."""
    return _kind(annotation).check(value, place)


_OF_TOKENS: Final = ("tokens", "input_tokens", "output_tokens", "total_tokens")
_USAGE: Final = "usage={'input_tokens': 1200, 'output_tokens': 300}"


def unexpected_name(name: str, known: Iterable[str], place: str) -> InputError:
    """Return the error for a name that nobody knows, with the nearest one that is known."""
    names = sorted(known)
    name = name[:_LONGEST_SHOWN]
    # Whoever counts tokens means what a model used, not the name that looks most like it.
    near = _USAGE if name in _OF_TOKENS and "usage" in names else _nearest(name, names)
    right = f"did you mean `{near}`?" if near else f"expected {_listed(names)}"
    return InputError(f"{place} takes no `{ascii(name)[1:-1]}`: {right}")


def _nearest(name: str, known: Iterable[str]) -> str | None:
    import difflib  # noqa: PLC0415 - only where something is wrong

    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)), None)


def _meant(value: object, members: Iterable[str]) -> str:
    """Return a question that names what a misspelt word likely meant, if that is known."""
    near = _nearest(value.lower()[:_LONGEST_SHOWN], members) if isinstance(value, str) else None
    return f"; did you mean `{near}`?" if near else ""


class _Signature:
    """What a function may be called with."""

    def __init__(self, name: str, places: Sequence[str], checks: Mapping[str, Check]) -> None:
        self._name = name
        self._places = tuple((place, checks.get(place, _as_it_is)) for place in places)
        self._checks = checks
        self._taken = [frozenset(places[:count]) for count in range(len(places) + 1)]
        self._needed: Sequence[Sequence[str]] = ()

    def need(self, names: Sequence[str]) -> None:
        """Demand these names: for each number of values that come by place, those still open."""
        self._needed = [tuple(name for name in names if name not in taken) for taken in self._taken]

    def placed(self, args: Sequence[object]) -> Sequence[Any]:
        """Return the values that were given by their place."""
        if len(args) > len(self._places):
            raise InputError(
                f"`{self._name}` got {len(args)} values by their place, it takes"
                f" {len(self._places)}: name what follows, {_listed(self._checks)}"
            )
        return [
            check(value, name) for value, (name, check) in zip(args, self._places, strict=False)
        ]

    def named(self, placed: int, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values that were given by their names."""
        for name, value in given.items():
            check = self._checks.get(name)
            if check is None:
                raise unexpected_name(name, self._checks, f"`{self._name}`")
            given[name] = check(value, name)
        for name in self._needed[placed]:
            if name not in given:
                raise InputError(f"`{self._name}` needs `{name}`: it is missing")
        if not self._taken[placed].isdisjoint(given):
            raise InputError(f"`{self._name}` got a value by its place and by its name as well")
        return given


@cache
def _signature_of(function: Callable[..., object]) -> _Signature:
    code = function.__code__
    places = code.co_varnames[: code.co_argcount]
    by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    checks: dict[str, Check] = {}
    for name, annotation in hints.items():
        if typing.get_origin(annotation) is typing.Unpack:
            fields = typing.get_type_hints(typing.get_args(annotation)[0], include_extras=True)
            checks |= {field: _kind(kind).check for field, kind in fields.items()}
        else:
            checks[name] = _kind(annotation).check
    signature = _Signature(function.__name__, places, checks)
    optional = len(function.__defaults__ or ())
    defaults = function.__kwdefaults__ or {}
    signature.need(
        (
            *places[: len(places) - optional],
            *(name for name in by_name if name not in defaults),
        )
    )
    return signature


class _Kind(NamedTuple):
    """What an annotation asks for."""

    words: str
    """In words, behind "expected"."""
    check: Check
    own: tuple[type, ...] = ()
    """The types that are this kind themselves."""
    made_of: tuple[type, ...] = ()
    """The types that one can be made of."""


def _as_it_is(value: object, _place: str) -> object:
    return value


@cache
def _kind(annotation: Any) -> _Kind:  # noqa: ANN401 - an annotation can be anything
    """Return what an annotation asks for."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        base, note = typing.get_args(annotation)
        if isinstance(note, msgspec.Meta):
            return _number(base, least=note.ge, above=note.gt, most=note.le)
        return _kind(typing.get_args(base)[0])
    if origin in (typing.Union, types.UnionType):
        return _union(typing.get_args(annotation))
    if origin is not None:
        return _generic(origin, typing.get_args(annotation))
    if annotation in (int, float):
        return _number(annotation, least=-MOST, above=None, most=MOST)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    return _class(annotation)


def _refused(value: object, place: str, words: str, hint: str = "") -> InputError:
    # Where a text belongs, a number may be a passphrase.
    shown = _type_shown(value) if _TEXT in words else _shown(value)
    return InputError(f"`{place}` is {shown}, expected {words}{hint}")


def _type_shown(value: object) -> str:
    return "`None`" if value is None else f"of the type `{type(value).__name__}`"


def _shown(value: object) -> str:
    """Return a value as an error may show it: a text may be a secret."""
    match value:
        case bool() | int() | float() | Decimal():
            try:
                return f"`{value}`" if len(f"{value}") <= _LONGEST_SHOWN else "a number too long"
            except ValueError:
                # Python itself refuses to write numbers of thousands of digits.
                return "a number too long"
        case str() if _is_word(value):
            return f"`{value}`"
        case str() if value.isdecimal() and len(value) <= _LONGEST_FIGURE:
            return f"the text `{value}`"
        case str():
            return f"a text of {len(value)} character{'' if len(value) == 1 else 's'}"
        case type():
            return f"the class `{value.__name__}`"
        case _:
            return _type_shown(value)


def _is_word(text: str) -> bool:
    """Whether a text is one that a person wrote for a name: no secret is so short and plain."""
    return 0 < len(text) <= _LONGEST_WORD and text.replace("-", "").replace("_", "").isalpha()


def _one(name: str) -> str:
    """Return the name of a class with its article."""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} `{name}`"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _number(base: type, *, least: float | None, above: float | None, most: float | None) -> _Kind:
    """Ask for a number within bounds; a truth value is none."""
    allowed = (int,) if base is int else (float, int)
    low = f"from {least}" if above is None else f"above {above}"
    words = f"a {'whole ' if base is int else ''}number {low} to {most}"
    lowest = -math.inf if least is None else least
    floor = -math.inf if above is None else above
    highest = math.inf if most is None else most

    def check(value: object, place: str) -> object:
        # No comparison with NaN holds, so that it is refused here as well.
        if type(value) in allowed:
            number = cast("float", value)
            if lowest <= number <= highest and number > floor:
                return value
        raise _refused(value, place, words)

    return _Kind(words, check, own=allowed)


def _text(value: object, place: str) -> str:
    if type(value) is str:
        return value
    # The name of a file is a text as well.
    text = value.__fspath__() if isinstance(value, PathLike) else value
    if isinstance(text, str):
        return str.__str__(text)
    raise _refused(value, place, _TEXT)


def _path(value: object, place: str) -> object:
    text = value.__fspath__() if isinstance(value, PathLike) else value
    # A name that the system has and nobody can write is handed over with halves of characters.
    if not isinstance(text, str) or not text or "\0" in text or not _is_name(text):
        raise _refused(value, place, _PATH)
    return value


def _is_name(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _flag(value: object, place: str) -> bool:
    if value is True or value is False:
        return value
    raise _refused(value, place, _FLAG)


def _nothing(value: object, place: str) -> None:
    if value is not None:
        raise _refused(value, place, _NOTHING)


def _decimal(value: object, place: str) -> Decimal:
    if isinstance(value, Decimal) and value.is_finite():
        return value
    raise _refused(value, place, _DECIMAL)


_TEXT: Final = "a text"
_PATH: Final = "a path"
_FLAG: Final = "`True` or `False`"
_NOTHING: Final = "`None`"
_DECIMAL: Final = "a finite `Decimal`"
_PLAIN: Final[Mapping[object, _Kind]] = {
    str: _Kind(_TEXT, _text, own=(str,), made_of=(PathLike,)),
    bool: _Kind(_FLAG, _flag, own=(bool,)),
    types.NoneType: _Kind(_NOTHING, _nothing, own=(types.NoneType,)),
    Decimal: _Kind(_DECIMAL, _decimal, own=(Decimal,)),
    PathLike: _Kind(_PATH, _path, own=(PathLike,)),
    object: _Kind("anything", _as_it_is, own=(object,)),
}


def _class(kind: type) -> _Kind:
    """Ask for one of a class, or what one can be made of."""
    if issubclass(kind, enum.Enum):
        return _member(kind)
    if isinstance(kind, Argument):
        return _value(cast("type[msgspec.Struct]", kind))
    words = _one(kind.__name__)

    def check(value: object, place: str) -> object:
        if isinstance(value, kind):
            return value
        raise _refused(value, place, words)

    return _Kind(words, check, own=(kind,))


def _member(kind: type[enum.Enum]) -> _Kind:
    """Ask for one of a closed set, or for its text."""
    words = f"one of {_listed(str(member.value) for member in kind)}"

    members = {str(member.value).lower(): member for member in kind}

    def check(value: object, place: str) -> object:
        if type(value) is kind:
            return value
        member = members.get(value.strip().lower()) if isinstance(value, str) else None
        if member is None:
            raise _refused(value, place, words, _meant(value, members))
        return member

    return _Kind(words, check, own=(kind,), made_of=(str,))


def _value(kind: type[msgspec.Struct]) -> _Kind:
    """Ask for a value of several fields, or for a table of them."""
    alone: str | None = getattr(kind, "given_alone", None)
    words = f"{_one(kind.__name__)} or a table of its values"
    if alone is not None:
        words += f" or the list of its `{alone}`"

    def check(value: object, place: str) -> object:
        if isinstance(value, kind):
            return _rechecked(kind, value, place)
        if isinstance(value, Mapping):
            return _made(kind, cast("Mapping[object, object]", value), place)
        if alone is not None and isinstance(value, list | tuple):
            return _made(kind, {alone: cast("object", value)}, place)
        raise _refused(value, place, words)

    return _Kind(words, check, own=(kind,), made_of=(Mapping, *((list, tuple) if alone else ())))


def _rechecked(kind: type[msgspec.Struct], value: msgspec.Struct, place: str) -> msgspec.Struct:
    """Return a value whose fields are what they have to be, however it was made."""
    taken = {name: getattr(value, name) for name in kind.__struct_fields__}
    fields = _fields(kind)
    checks = {name: fields[name].check(each, f"{place}.{name}") for name, each in taken.items()}
    is_same = all(checks[name] is each for name, each in taken.items())
    return value if is_same else msgspec.StructMeta.__call__(kind, **checks)


@cache
def _fields(kind: type[msgspec.Struct]) -> Mapping[str, _Kind]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: _kind(hints[name]) for name in kind.__struct_fields__}


@cache
def _needed_fields(kind: type[msgspec.Struct]) -> Sequence[str]:
    fields = msgspec.structs.fields(kind)
    return tuple(each.name for each in fields if each.required)


def _made(kind: type[msgspec.Struct], given: Mapping[object, object], place: str) -> Any:  # noqa: ANN401 - one of the kind
    """Return a value that is made of checked fields, by whichever of their names."""
    fields = _fields(kind)
    in_our_names = getattr(kind, "in_our_names", None)
    if in_our_names is not None:
        given = in_our_names(given)
    values: dict[str, object] = {}
    for name, value in given.items():
        each = fields.get(name) if isinstance(name, str) else None
        if each is None:
            raise unexpected_name(str(name), fields, f"`{place}`")
        values[str(name)] = each.check(value, f"{place}.{name}")
    for name in _needed_fields(kind):
        if name not in values:
            raise InputError(f"`{place}.{name}` is missing, expected {fields[name].words}")
    return msgspec.StructMeta.__call__(kind, **values)


def _union(members: Sequence[object]) -> _Kind:
    """Ask for one of several kinds: of the value's own type, or else what can be made of it."""
    kinds = [_kind(each) for each in members]
    if any(str in each.made_of for each in kinds):
        # A text beside a closed set has to name one of it.
        kinds = [each for each in kinds if each.own != (str,)]
    if any(PathLike in each.own for each in kinds):
        # A text beside a path is the name of a file, and has to be one.
        kinds = [_Kind(_PATH, _path, own=(str,)) if str in each.own else each for each in kinds]
    words = " or ".join(dict.fromkeys(each.words for each in kinds))
    chosen: dict[type, Check] = {}

    def choose(value: object) -> Check:
        for own, check in (
            *((kind.own, kind.check) for kind in kinds),
            *((kind.made_of, kind.check) for kind in kinds),
        ):
            # A truth value is a number only to Python, and bytes are a list only to Python.
            if isinstance(value, own) and not (
                (type(value) is bool and int in own) or (type(value) in _BYTES and Sequence in own)
            ):
                return check
        return refuse

    def refuse(value: object, place: str) -> object:
        raise _refused(value, place, words)

    def check(value: object, place: str) -> object:
        kind: type = type(value)
        found = chosen.get(kind)
        if found is None:
            found = chosen[kind] = choose(value)
        return found(value, place)

    own = tuple(each for kind in kinds for each in kind.own)
    return _Kind(words, check, own=own, made_of=tuple(t for kind in kinds for t in kind.made_of))


def _generic(origin: Any, of: Sequence[Any]) -> _Kind:  # noqa: ANN401 - an annotation can be anything
    """Ask for many of a kind, by place or by name, or for something to be called."""
    if origin is Callable:
        return _Kind("something that can be called", _callable, own=(object,))
    if not issubclass(origin, Iterable):
        return _class(origin)
    if issubclass(origin, Mapping):
        return _table(_kind(of[1]))
    return _list(_kind(of[0]), cast("type", origin))


def _callable(value: object, place: str) -> object:
    if callable(value):
        return value
    raise _refused(value, place, "something that can be called")


def _table(of: _Kind) -> _Kind:
    words = f"a table whose values are each {of.words}"

    def check(value: object, place: str) -> object:
        if not isinstance(value, Mapping):
            raise _refused(value, place, words)
        table = cast("Mapping[object, object]", value)
        if of.check is _as_it_is:
            # Whoever takes anything reads it with care.
            return table
        for name in table:
            if not isinstance(name, str):
                raise _refused(name, f"{place}: a name", _TEXT)
        return {name: of.check(each, f"{place}.{name}") for name, each in table.items()}

    return _Kind(words, check, own=(Mapping,))


def _list(of: _Kind, kind: type) -> _Kind:
    words = f"a list of which each is {of.words}"
    wanted = Iterable if kind is Iterable else Sequence

    def check(value: object, place: str) -> object:
        if isinstance(value, _NO_LISTS) or not isinstance(value, wanted):
            hint = "; also one alone stands in a list, `[...]`" if isinstance(value, str) else ""
            raise _refused(cast("object", value), place, words, hint)
        items = tuple(cast("Iterable[object]", value))
        taken = tuple([of.check(each, f"{place}[{index}]") for index, each in enumerate(items)])
        return items if all(map(operator.is_, taken, items)) else taken

    return _Kind(words, check, own=(wanted,))


_BYTES: Final = (bytes, bytearray, memoryview)
_NO_LISTS: Final = (str, *_BYTES, Mapping)
