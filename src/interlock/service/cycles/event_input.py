"""What happened? An event as somebody sends it, read once and checked at the door.

It comes as a name with JSON beside it, or as a CloudEvent that says everything itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Final

import msgspec

from interlock.errors import InputError
from interlock.model.entrance import MOST, checked
from interlock.model.system_loop import DEFAULT_SCOPE, MOST_BYTES, Trigger
from interlock.policy.config.complaints import (
    as_clause,
    is_list,
    is_table,
    joined,
    kind_of,
    shortened,
    shown,
    suggestion,
)
from interlock.service.cycles.loop_chain import OWN_IDS
from interlock.service.records.context import SECOND, checked_name

ALWAYS_KNOWN: Final = (
    "agent/loop.complete",
    "agent/loop.completed",
    "agent/loop.failed",
    "agent/loop.retro.complete",
    "system/approval.decided",
    "system/note",
)
"""Names that count whatever the policy says, with all that end in `.failed` or `/failed`."""
_FAILURES: Final = (".failed", "/failed")
_OWN_NAMES: Final = ("heartbeat", "manual")
"""What the loop calls triggers that are no events: nobody else may say so."""
_NAME: Final = r"[A-Za-z0-9_:-]+(?:[./][A-Za-z0-9_:-]+)*"
_LONGEST_NAME: Final = 128
_FUTURE_S: Final = 300
_PAST_S: Final = 7 * 24 * 3600
_DEEPEST: Final = 64
_JSON: Final = "application/json"
_EXTENSIONS: Final = {"causationdepth": "depth", "causationid": "cause", "scope": "scope"}
"""What a CloudEvent can say of its cause and its scope."""
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_Time = Annotated[int, msgspec.Meta(ge=-(10**18), le=10**18)]
"""In microseconds: every year that a text can name."""
_Depth = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class IncomingEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened elsewhere."""

    id: str
    """Whatever has the same id is the same event."""
    name: str
    scope: str
    occurred_at: int
    depth: int
    cause: str | None
    data: str
    """What it brought: an object in JSON with sorted names, or nothing at all."""

    @property
    def trigger(self) -> Trigger:
        """The event as what a cycle answers."""
        return Trigger(
            id=self.id,
            name=self.name,
            scope=self.scope,
            depth=self.depth,
            cause=self.cause,
            occurred_at=self.occurred_at,
            due_at=self.occurred_at,
            data=self.data,
        )


def event_from(
    name: str | None,
    raw: str | bytes | None,
    *,
    now: int,
    known: Sequence[str],
    id: str | None = None,  # noqa: A002 - what it is called everywhere
    scope: str | None = None,
    occurred_at: int | None = None,
    depth: int | None = None,
    cause: str | None = None,
) -> IncomingEvent:
    """Return an event that was sent by its name, with JSON, or as a CloudEvent.

    `known` are the names that the policy adds, exact or with a `*`. Without an id, events of the
    same name, data and time are the same; without a time, it happened now. Raise InputError for
    what is wrong.
    """
    told: dict[str, object] = {
        "name": name,
        "id": id,
        "scope": scope,
        "occurred_at": occurred_at,
        "depth": depth,
        "cause": cause,
    }
    told = {field: value for field, value in told.items() if value is not None}
    table = _table(raw)
    if table is not None and "specversion" in table:
        within, table = _from_cloud_event(table)
        told = _united(told, within)
    if "name" not in told:
        raise InputError("the event has no name: name it, or send a CloudEvent with its `type`")
    data = "" if table is None else _ENCODER.encode(table).decode()
    happened_at = _checked_time(told.get("occurred_at", now), now)
    event_name = _checked_event_name(told["name"], known)
    digest = hashlib.sha256(f"{event_name}\0{happened_at}\0{data}".encode()).hexdigest()
    return IncomingEvent(
        id=_checked_id(told.get("id", digest)),
        name=event_name,
        scope=_short_text("scope", told.get("scope", DEFAULT_SCOPE)),
        occurred_at=happened_at,
        depth=checked(told.get("depth", 0), _Depth, "depth"),
        cause=_short_text("cause", told["cause"]) if "cause" in told else None,
        data=data,
    )


def _table(raw: str | bytes | None) -> Mapping[str, object] | None:
    """Return the object that a text is in JSON; None where nothing was said."""
    import json  # noqa: PLC0415 - only who gets events needs it

    text = _decoded(raw or "")
    if not text.strip():
        return None
    try:
        value: object = json.loads(text, object_pairs_hook=_unambiguous)
    except json.JSONDecodeError as error:
        raise InputError(
            f"the event's data is not JSON: {as_clause(error.msg)} at line {error.lineno}, column"
            f" {error.colno}"
        ) from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise InputError("the event's data holds a number too long to be read") from error
    if not is_table(value):
        raise InputError(
            f'the event\'s data is {_kind(value)}: expected an object, such as `{{"run": "..."}}`'
        )
    _check_values(value)
    return value


def _decoded(raw: str | bytes) -> str:
    try:
        size = len(raw if isinstance(raw, bytes) else raw.encode())
        text = raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeError as error:
        raise InputError(
            "the event's data is not Unicode text: send it as UTF-8, without halves of surrogate"
            " pairs"
        ) from error
    if size > MOST_BYTES:
        raise InputError(
            f"the event's data has {size:,} bytes, and at most {MOST_BYTES:,} are taken: send"
            " where it can be read instead"
        )
    return text


def _unambiguous(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    table: dict[str, object] = {}
    for name, value in pairs:
        if name in table:
            raise InputError(
                f"the event's data names `{_in_short(name)}` twice in one object, so that nobody"
                " knows which one counts: leave one out"
            )
        table[name] = value
    return table


def _check_values(value: object, place: str = "data", depth: int = 1) -> None:
    """Refuse what other readers of JSON would read otherwise, or could not hold."""
    if depth > _DEEPEST and (is_table(value) or is_list(value)):
        raise _too_deep()
    if is_table(value):
        for name, inner in value.items():
            _check_text(name, place)
            _check_values(inner, joined(place, name), depth + 1)
    elif is_list(value):
        for at, inner in enumerate(value):
            _check_values(inner, f"{place}[{at}]", depth + 1)
    elif isinstance(value, str):
        _check_text(value, place)
    # No comparison with NaN holds, so that it is refused as well.
    elif isinstance(value, int | float) and not abs(value) <= MOST:
        raise InputError(
            f"`{_in_short(place)}` is {shown(value)}: not every reader of JSON holds numbers beyond"
            " 2**53, so write it as text"
        )


def _check_text(text: str, place: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(
            f"`{_in_short(place)}` holds half of a surrogate pair, which is no character: leave it"
            " out"
        )


def _too_deep() -> InputError:
    return InputError(
        f"the event's data is nested more than {_DEEPEST} levels deep: send it flatter"
    )


def _from_cloud_event(
    table: Mapping[str, object],
) -> tuple[dict[str, object], Mapping[str, object] | None]:
    """Return what a CloudEvent tells about itself, and its data."""
    told = {name: value for name, value in table.items() if value is not None}
    version = told.get("specversion")
    if version != "1.0":
        raise InputError(f"`specversion` is {shown(version)}: expected the text `1.0`")
    media = str(told.get("datacontenttype", _JSON)).partition(";")[0].strip().lower()
    if "data_base64" in told or media != _JSON:
        raise InputError(f"the CloudEvent's data is not `{_JSON}`: nothing else is read")
    data = told.get("data")
    if not (data is None or is_table(data)):
        raise InputError(f"`data` is {_kind(data)}: expected an object")
    id_, source, name = (_required(told, field) for field in ("id", "source", "type"))
    # An id is that of its source only.
    said: dict[str, object] = {"id": f"{source}#{id_}", "name": name}
    if "time" in told:
        said["occurred_at"] = _microseconds(_short_text("time", told["time"]))
    said |= {ours: told[theirs] for theirs, ours in _EXTENSIONS.items() if theirs in told}
    return said, data


def _required(told: Mapping[str, object], field: str) -> str:
    if field not in told:
        raise InputError(f"the CloudEvent has no `{field}`: every one needs it")
    return _short_text(field, told[field])


def _microseconds(time: str) -> int:
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - only CloudEvents need it

    try:
        since = datetime.fromisoformat(time) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"`time` is `{_in_short(time)}`: expected a time with its zone, such as"
            " `2026-01-31T12:00:00Z`"
        ) from error
    return since // timedelta(microseconds=1)


def _united(beside: Mapping[str, object], within: Mapping[str, object]) -> dict[str, object]:
    """Return what is told beside a CloudEvent and in it; where both speak, they must agree."""
    for field in beside.keys() & within.keys():
        if beside[field] != within[field]:
            raise InputError(
                f"`{field}` is `{_in_short(str(beside[field]))}` beside the CloudEvent and"
                f" `{_in_short(str(within[field]))}` in it: say it once"
            )
    return {**within, **beside}


def _checked_time(occurred_at: object, now: int) -> int:
    at: int = checked(occurred_at, _Time, "occurred_at")
    ahead_s = (at - now) // SECOND
    if ahead_s > _FUTURE_S:
        raise InputError(
            f"the event is from the future: it happens {ahead_s:,} s from now, and {_FUTURE_S} s"
            " are tolerated: set the clocks, or send it when it has happened"
        )
    if -ahead_s > _PAST_S:
        raise InputError(
            f"the event is too old: it happened {-ahead_s // 86_400} days ago, and only those of"
            f" the last {_PAST_S // 86_400} are answered: send it with the time of now if it still"
            " matters"
        )
    return at


def _checked_event_name(name: object, known: Sequence[str]) -> str:
    text = _short_text("name", name)
    if text in _OWN_NAMES:
        raise InputError(f"`{text}` is no event: a cycle is started by `interlock loop tick`")
    if len(text) > _LONGEST_NAME or not re.fullmatch(_NAME, text):
        raise InputError(
            f"`name` is `{_in_short(text)}`: expected at most {_LONGEST_NAME} letters, digits, `-`,"
            " `_` and `:`, with `/` and `.` between them, such as `ci/build.failed`"
        )
    if text in ALWAYS_KNOWN or text.endswith(_FAILURES) or _is_listed(text, known):
        return text
    raise InputError(
        f"no event is called `{text}`{suggestion(text, {*ALWAYS_KNOWN, *known})}; other"
        " names are added to the policy, below `[loop]`"
    )


def _is_listed(name: str, known: Sequence[str]) -> bool:
    return any(each == name or ("*" in each and fnmatchcase(name, each)) for each in known)


def _checked_id(value: object) -> str:
    """Return an id that nobody can take for one of the loop's own triggers."""
    text = _short_text("id", value)
    own = next((each for each in OWN_IDS if text.startswith(each)), None)
    if own is not None:
        raise InputError(
            f"`id` is `{_in_short(text)}`: ids that begin with `{own}` are the loop's own, give it"
            " another one"
        )
    return text


def _short_text(field: str, value: object) -> str:
    return checked_name(field, checked(value, str, field))


def _kind(value: object) -> str:
    return "null" if value is None else kind_of(value)


def _in_short(text: str) -> str:
    """Return a text as every terminal can show it."""
    return shortened(text.encode("unicode_escape").decode())
