from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InputError
from interlock.service.cycles.event_input import ALWAYS_KNOWN, IncomingEvent, event_from

SECOND = 1_000_000
DAY = 86_400 * SECOND
NOW = 1_800_000_000 * SECOND
NAME = "agent/loop.complete"
HALF = "\ud800"


def an_event(
    name: str | None = NAME,
    raw: str | bytes | None = None,
    *,
    known: Sequence[str] = (),
    **told: object,
) -> IncomingEvent:
    return event_from(name, raw, now=NOW, known=known, **told)  # pyright: ignore[reportArgumentType] - wrong types are asked for as well


def refusal(
    name: str | None = NAME,
    raw: str | bytes | None = None,
    *,
    known: Sequence[str] = (),
    **told: object,
) -> str:
    with pytest.raises(InputError) as caught:
        an_event(name, raw, known=known, **told)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 500
    return message


def a_cloud_event(**changed: object) -> str:
    return json.dumps(
        {
            "specversion": "1.0",
            "id": "7",
            "source": "ci",
            "type": "ci/build.failed",
            "time": "2027-01-15T08:59:59.5+01:00",
            "data": {"run": "r1"},
            **changed,
        }
    )


def test_a_name_alone_is_an_event_that_happened_now() -> None:
    event = an_event()

    assert event == IncomingEvent(
        id=event.id,
        name=NAME,
        scope="default",
        occurred_at=NOW,
        depth=0,
        cause=None,
        data="",
    )


@pytest.mark.parametrize("raw", [None, "", b"", " \n"])
def test_an_empty_body_is_no_data(raw: str | bytes | None) -> None:
    assert an_event(raw=raw).data == ""


@pytest.mark.parametrize("raw", ['{"b": [1, null], "a": "ü"}', '{"b":[1,null],"a":"ü"}'.encode()])
def test_data_is_kept_in_one_form(raw: str | bytes) -> None:
    assert an_event(raw=raw).data == '{"a":"ü","b":[1,null]}'


def test_everything_can_be_told_beside_the_data() -> None:
    event = an_event(
        "ci/build.failed", "{}", id="x", scope="web", occurred_at=NOW - 5, depth=2, cause="d1"
    )

    assert event == IncomingEvent(
        id="x",
        name="ci/build.failed",
        scope="web",
        occurred_at=NOW - 5,
        depth=2,
        cause="d1",
        data="{}",
    )


def test_a_cloud_event_says_everything_itself() -> None:
    raw = a_cloud_event(causationdepth=3, causationid="d9", scope="web", traceparent="00-1")

    assert an_event(None, raw) == IncomingEvent(
        id="ci#7",
        name="ci/build.failed",
        scope="web",
        occurred_at=NOW - SECOND // 2,
        depth=3,
        cause="d9",
        data='{"run":"r1"}',
    )


def test_a_cloud_event_without_data_or_time_is_one_that_happened_now() -> None:
    event = an_event(None, a_cloud_event(data=None, time=None))

    assert event.data == ""
    assert event.occurred_at == NOW


def test_the_same_id_of_two_sources_is_two_events() -> None:
    ids = {an_event(None, a_cloud_event(source=source)).id for source in ("ci", "cd", "ci")}

    assert len(ids) == 2


def test_who_says_the_same_beside_a_cloud_event_and_in_it_is_understood() -> None:
    assert an_event("ci/build.failed", a_cloud_event(), scope="web").scope == "web"
    assert refusal(NAME, a_cloud_event()) == (
        "`name` is `agent/loop.complete` beside the CloudEvent and `ci/build.failed` in it:"
        " say it once"
    )
    assert "`id` is `\\udc80` beside" in refusal(None, a_cloud_event(), id="\udc80")


def test_a_replayed_body_without_an_id_is_the_same_event() -> None:
    at = NOW - SECOND

    first = an_event(raw='{"a":1,"b":2}', occurred_at=at)

    assert (
        event_from(NAME, b' {"b": 2, "a": 1}', now=NOW + DAY, known=(), occurred_at=at).id
        == first.id
    )
    others = [
        an_event(raw='{"a":1}', occurred_at=at),
        an_event(raw='{"a":1,"b":2}'),
        an_event("system/note", '{"a":1,"b":2}', occurred_at=at),
    ]
    assert len({first.id, *(other.id for other in others)}) == 4


@pytest.mark.parametrize("name", [*ALWAYS_KNOWN, "ci/build.failed", "ci/failed", "a.failed"])
def test_some_names_always_count(name: str) -> None:
    assert an_event(name).name == name


@pytest.mark.parametrize(
    ("name", "known", "is_taken"),
    [
        ("ci/done", ["ci/done"], True),
        ("ci/done", ["ci/*"], True),
        ("ci/a/done", ["ci/*"], True),
        ("ci/done", ["*"], True),
        ("ci/done2", ["ci/done"], False),
        ("ci/donf", ["ci/don[a-z]"], False),
        ("ci/done", ["ci/don?"], False),
        ("CI/done", ["ci/*"], False),
        ("ci/failing", [], False),
        ("heartbeat", ["*"], False),
        ("manual", ["manual"], False),
    ],
)
def test_other_names_count_as_the_policy_writes_them(
    name: str, known: Sequence[str], is_taken: bool
) -> None:
    if is_taken:
        assert an_event(name, known=known).name == name
    else:
        refusal(name, known=known)


def test_the_nearest_name_is_named() -> None:
    assert refusal("agent/lop.complete") == (
        "no event is called `agent/lop.complete`; did you mean `agent/loop.complete`?; other"
        " names are added to the policy, below `[loop]`"
    )
    assert "`ci/done`" in refusal("ci/dome", known=["ci/done"])
    assert "expected `agent/loop.complete`," in refusal("zzz")


@pytest.mark.parametrize(
    "name",
    [
        *("", ".failed", "/failed", "a b.failed", "a\n.failed", "é/failed", "a//failed"),
        *("`.failed", "x" * 200 + ".failed", "x" * 9000, "\ud800.failed"),
    ],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    assert refusal(name, known=["*"]).startswith("`name` is `")


def test_an_event_has_a_name() -> None:
    assert refusal(None, "{}") == (
        "the event has no name: name it, or send a CloudEvent with its `type`"
    )


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("{", "not JSON: expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"a": 1,\n "b" 2}', "not JSON: expecting ':' delimiter at line 2, column 6"),
        ("run=1", "not JSON: expecting value at line 1, column 1"),
        ("{} {}", "not JSON: extra data at line 1, column 4"),
        ("\ufeff{}", "not JSON: unexpected UTF-8 BOM"),
        (b"\xff{}", "not Unicode text: send it as UTF-8"),
        ("{\x00}", "not JSON"),
        ("[1]", "is a list: expected an object"),
        ("null", "is null: expected an object"),
        ('"text"', "is text: expected an object"),
        ("1", "is a whole number: expected an object"),
        ('{"a": 1, "a": 2}', "names `a` twice in one object"),
        ('{"x": [{"a": 1, "\\u0061": 1}]}', "names `a` twice in one object"),
        ('{"\\ud800": 1, "\\ud800": 2}', "names `\\ud800` twice in one object"),
        ('{"a": NaN}', "`data.a` is `nan`: not every reader of JSON"),
        ('{"a": [0, -Infinity]}', "`data.a[1]` is `-inf`: not every reader"),
        ('{"a": 1e999}', "`data.a` is `inf`"),
        ('{"a": 1e300}', "`data.a` is `1e+300`"),
        ('{"a": 9007199254740993}', "`data.a` is `9007199254740993`: not every reader"),
        ('{"a": -9007199254740993}', "`data.a` is `-9007199254740993`"),
        (f'{{"a": {"9" * 400}}}', "`data.a` is `0x"),
        (f'{{"a": {"9" * 5000}}}', "a number too long to be read"),
        ('{"a b": {"c": "x\\ud800y"}}', '`data."a b".c` holds half of a surrogate pair'),
        ('{"a": {"\\udfff": 1}}', "`data.a` holds half of a surrogate pair"),
        (f'{{"a": "{HALF}"}}', "not Unicode text"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested more than 64 levels deep: send it flatter"),
        ('{"a":' + "[" * 30_000 + "]" * 30_000 + "}", "nested more than 64 levels deep"),
        ('{"a": "' + "x" * 65_536 + '"}', "has 65,545 bytes, and at most 65,536 are taken"),
        ('{"a": "' + "ü" * 32_768 + '"}', "has 65,545 bytes"),
    ],
)
def test_data_that_cannot_be_taken_is_refused(raw: str | bytes, reason: str) -> None:
    assert reason in refusal(raw=raw)


def test_the_limits_themselves_are_taken() -> None:
    deep = '{"a":' * 64 + "1" + "}" * 64
    assert an_event(raw=deep).data == deep
    large = '{"a":"' + "x" * (65_536 - 8) + '"}'
    assert an_event(raw=large).data == large
    edge = '{"a":9007199254740992,"b":-9007199254740992,"c":0.5,"d":true,"e":"\U0001f600"}'
    assert an_event(raw=edge).data == edge


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"specversion": "0.3"}, '`specversion` is `"0.3"`: expected the text `1.0`'),
        ({"specversion": 1.0}, "`specversion` is `1.0`: expected the text `1.0`"),
        ({"specversion": None}, "`specversion` is `None`"),
        ({"id": None}, "the CloudEvent has no `id`: every one needs it"),
        ({"source": None}, "has no `source`"),
        ({"type": None}, "has no `type`"),
        ({"id": 7}, "`id` is of the type `int`, expected a text"),
        ({"id": ""}, "`id` is ``, expected 1 to 512 printable characters"),
        ({"id": "a\u001bb"}, "`id` is `a\\x1bb`, expected 1 to"),
        ({"id": "x" * 600}, "expected 1 to 512 printable characters"),
        ({"id": "x" * 300, "source": "y" * 300}, "expected 1 to 512 printable characters"),
        ({"type": ["a"]}, "`type` is of the type `list`, expected a text"),
        ({"data": [1]}, "`data` is a list: expected an object"),
        ({"data_base64": "AAAA"}, "data is not `application/json`: nothing else is read"),
        ({"datacontenttype": "text/xml"}, "data is not `application/json`"),
        ({"datacontenttype": 5}, "data is not `application/json`"),
        ({"time": 5}, "`time` is of the type `int`, expected a text"),
        ({"time": "yesterday"}, "`time` is `yesterday`: expected a time with its zone"),
        ({"time": "2027-01-15T08:00:00"}, "expected a time with its zone"),
        ({"causationdepth": "1"}, "`depth` is the text `1`, expected a whole number from 0"),
        ({"causationid": 5}, "`cause` is of the type `int`, expected a text"),
        ({"scope": {}}, "`scope` is of the type `dict`, expected a text"),
    ],
)
def test_a_cloud_event_that_is_none_is_refused(changed: Mapping[str, object], reason: str) -> None:
    assert reason in refusal(None, a_cloud_event(**changed))


def test_json_may_be_named_with_its_character_set() -> None:
    raw = a_cloud_event(datacontenttype="Application/JSON; charset=utf-8")

    assert an_event(None, raw).data == '{"run":"r1"}'


@pytest.mark.parametrize("depth", [-1, 1.5, "1", True, 2**40])
def test_depth_is_a_count(depth: object) -> None:
    assert "`depth` is" in refusal(depth=depth)


@pytest.mark.parametrize("field", ["id", "scope", "cause"])
@pytest.mark.parametrize("text", ["", "x" * 600, "a\nb", "\u202eb", "\ud800"])
def test_what_is_told_beside_the_data_is_short_and_printable(field: str, text: str) -> None:
    assert f"`{field}` is `" in refusal(**{field: text})


def test_events_of_the_future_are_refused() -> None:
    assert an_event(occurred_at=NOW + 300 * SECOND).occurred_at == NOW + 300 * SECOND
    assert refusal(occurred_at=NOW + 301 * SECOND) == (
        "the event is from the future: it happens 301 s from now, and 300 s are tolerated: set the"
        " clocks, or send it when it has happened"
    )
    assert "from the future" in refusal(None, a_cloud_event(time="9999-12-31T23:59:59-23:59"))


def test_events_of_long_ago_are_refused() -> None:
    assert an_event(occurred_at=NOW - 7 * DAY).occurred_at == NOW - 7 * DAY
    assert refusal(occurred_at=NOW - 8 * DAY) == (
        "the event is too old: it happened 8 days ago, and only those of the last 7 are answered:"
        " send it with the time of now if it still matters"
    )
    assert "too old" in refusal(None, a_cloud_event(time="0001-01-01T00:00:00+23:59"))


@pytest.mark.parametrize("at", ["now", 1.5, True, 2**60])
def test_a_time_is_in_microseconds(at: object) -> None:
    assert "`occurred_at` is" in refusal(occurred_at=at)


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_whatever_comes_is_an_event_or_a_refusal(raw: str | bytes) -> None:
    try:
        event = an_event(raw=raw)
    except InputError:
        return
    assert event.data == "" or isinstance(json.loads(event.data), dict)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(), values, max_size=4).filter(lambda each: "specversion" not in each)
)
def test_what_was_said_is_what_is_kept(table: dict[str, object]) -> None:
    for raw in (json.dumps(table), json.dumps(table, ensure_ascii=False, indent=1).encode()):
        assert json.loads(an_event(raw=raw).data) == table


@pytest.mark.parametrize("own", ["heartbeat-1", "approval-a1", "job-r1", "retro-r1", "note-n1"])
def test_no_event_takes_the_id_of_a_trigger_of_the_loop(own: str) -> None:
    with pytest.raises(InputError, match="are the loop's own"):
        event_from("ci/failed", None, now=NOW, known=(), id=own)
