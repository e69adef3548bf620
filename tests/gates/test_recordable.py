"""What of an action is kept, and what tells it from every other."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates.policies import gates_with
from interlock import CompiledPolicy, Decision, InputError, Verdict
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.recordable import (
    NOT_JSON,
    TOO_LARGE,
    WITHHELD,
    Recordable,
    canonical_action,
    recordable_action,
    recordable_text,
)
from interlock.policy.gates.judgement import judge, verdict_of
from secret_generator import from_template

_GATES = gates_with("")
_SMALL = gates_with("[limits]\ncontent-bytes = 1024\n")
_UNWATCHED = gates_with("[secrets]\nenabled = false\n")
_SECRET = from_template("ghp_[A-Za-z0-9]{36}", 1)
_TEXT = st.text(st.characters(exclude_categories=[]), max_size=20)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_PARAMS = st.dictionaries(_TEXT, _JSON, max_size=4)


def _kept(action: Action, gates: CompiledPolicy = _GATES) -> Recordable:
    inspection = inspect(action, gates)
    return recordable_action(inspection, verdict_of(inspection))


def _canonical(action: Action) -> bytes:
    return canonical_action(inspect(action, _GATES))


@pytest.mark.parametrize(
    "action",
    [
        CommandAction(command="ls -l", cwd="/srv"),
        CommandAction(command="rm -rf /"),
        ToolAction(name="Note", params='{"a": 1}'),
        EditAction(path="a.py", content="x = 'é'\n", old="y\n", diff_lines=3),
        EditAction(path="a.py", content="x = 1\n"),
    ],
)
@pytest.mark.parametrize("gates", [_GATES, _UNWATCHED], ids=["watched", "unwatched"])
def test_what_holds_no_credential_is_kept_whole(action: Action, gates: CompiledPolicy) -> None:
    assert _kept(action, gates) == Recordable(action, is_whole=True)


def test_parameters_are_kept_as_json_text() -> None:
    kept = _kept(ToolAction(name="Note", params={"b": [1, None], "a": {"c": 0.5}}))

    assert kept == Recordable(
        ToolAction(name="Note", params='{"b":[1,null],"a":{"c":0.5}}'), is_whole=True
    )


def test_a_tuple_is_kept_as_the_list_it_is_not() -> None:
    kept = _kept(ToolAction(name="Note", params={"a": (1, 2)}))

    assert kept == Recordable(ToolAction(name="Note", params='{"a":[1,2]}'), is_whole=False)


@pytest.mark.parametrize("gates", [_GATES, _UNWATCHED], ids=["watched", "unwatched"])
@pytest.mark.parametrize(
    ("action", "kept"),
    [
        (
            CommandAction(command=f"echo {_SECRET}", cwd=f"/srv/{_SECRET}"),
            CommandAction(
                command="echo [github-personal-token]", cwd="/srv/[github-personal-token]"
            ),
        ),
        (
            ToolAction(name="Note", params={"a": [_SECRET]}),
            ToolAction(name="Note", params='{"a":["[github-personal-token]"]}'),
        ),
        (
            ToolAction(name="Write", params={"file_path": "a", "content": _SECRET}),
            ToolAction(
                name="Write", params='{"file_path":"a","content":"[github-personal-token]"}'
            ),
        ),
        (
            ToolAction(name=_SECRET, params="{"),
            ToolAction(name="[github-personal-token]", params=NOT_JSON),
        ),
        (
            EditAction(path="a", content=f"k = {_SECRET}", old=f"j = {_SECRET}"),
            EditAction(
                path="a", content="k = [github-personal-token]", old="j = [github-personal-token]"
            ),
        ),
        (
            EditAction(path="a", content="k", old=f"j = {_SECRET}"),
            EditAction(path="a", content="k", old="j = [github-personal-token]"),
        ),
        (
            EditAction(path=_SECRET, content=""),
            EditAction(path="[github-personal-token]", content=""),
        ),
    ],
)
def test_a_credential_is_replaced_by_its_kind(
    action: Action, kept: Action, gates: CompiledPolicy
) -> None:
    assert _kept(action, gates) == Recordable(kept, is_whole=False)


@pytest.mark.parametrize(
    "action",
    [
        CommandAction(command=f'echo "{_SECRET[:9]}""{_SECRET[9:]}"', cwd="/srv"),
        ToolAction(name="Bash", params={"command": f'echo "{_SECRET[:9]}""{_SECRET[9:]}"'}),
        ToolAction(name="Note", params='{"a": "\\u0067' + _SECRET[1:] + '"}'),
    ],
    ids=["command", "carried", "escaped"],
)
def test_a_credential_in_parts_withholds_everything(action: Action) -> None:
    kept = _kept(action)

    assert not kept.is_whole
    texts = [value for value in msgspec.structs.astuple(kept.action) if value is not None]
    assert set(texts) == {WITHHELD}


def test_what_is_too_long_is_cut_before_a_credential() -> None:
    text = "x " * 502 + _SECRET + " x" * 100
    kept = _kept(EditAction(path="a", content=text, old=None), _SMALL)

    assert kept == Recordable(EditAction(path="a", content="x " * 502 + "…[cut]"), is_whole=False)
    assert recordable_text(text, _SMALL) == "x " * 502 + "…[cut]"
    assert recordable_text("y" * 1025, _SMALL) == "y" * 1024 + "…[cut]"
    assert recordable_text("y" * 1024, _SMALL) == "y" * 1024


def test_parameters_that_are_too_large_are_not_kept() -> None:
    kept = _kept(ToolAction(name="Note", params={"a": "x " * 600}), _SMALL)

    assert kept == Recordable(ToolAction(name="Note", params=TOO_LARGE), is_whole=False)


def test_half_characters_are_replaced() -> None:
    kept = _kept(ToolAction(name="Note\udc80", params={"\udc80": ["\ud800", (1,), None, 2.5]}))

    assert kept == Recordable(
        ToolAction(name="Note?", params='{"?":["?",[1],null,2.5]}'), is_whole=False
    )
    assert _kept(CommandAction(command="\udc80")) == Recordable(
        CommandAction(command="?"), is_whole=False
    )


def test_a_broken_gate_vouches_for_nothing() -> None:
    action = CommandAction(command=f"echo {_SECRET}")
    verdict = judge(CommandAction(command="ls"), _GATES)
    broken = msgspec.structs.replace(
        judge(CommandAction(command="rm -rf /"), _GATES).findings[0], rule="secrets.broken"
    )

    kept = recordable_action(
        inspect(action, _GATES), msgspec.structs.replace(verdict, findings=(broken,))
    )
    assert kept.action == CommandAction(command="echo [github-personal-token]")


@given(params=_PARAMS, name=_TEXT)
def test_equal_parameters_have_equal_bytes(params: dict[str, object], name: str) -> None:
    backwards = dict(reversed(list(params.items())))
    action = ToolAction(name=name, params=params)

    assert _canonical(action) == canonical_action(
        inspect(ToolAction(name=name, params=dict(params)), _GATES)
    )
    if _is_text(action):
        assert _canonical(action) == canonical_action(
            inspect(ToolAction(name=name, params=backwards), _GATES)
        )


def _is_text(action: ToolAction) -> bool:
    try:
        msgspec.json.encode(action)
    except UnicodeEncodeError:
        return False
    return True


@given(one=_PARAMS | _TEXT, other=_PARAMS | _TEXT)
def test_different_texts_are_told_apart(
    one: dict[str, object] | str, other: dict[str, object] | str
) -> None:
    first = _canonical(ToolAction(name="x", params=one))
    second = _canonical(ToolAction(name="x", params=other))
    if isinstance(one, str) and isinstance(other, str) and one.strip() and other.strip():
        assert (first == second) == (one == other or _means_the_same(one, other))


def _means_the_same(one: str, other: str) -> bool:
    try:
        read = [msgspec.json.decode(text) for text in (one, other)]
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return isinstance(read[0], dict) and read[0] == read[1]


def test_kinds_of_actions_are_told_apart() -> None:
    actions: list[Action] = [
        CommandAction(command="a"),
        CommandAction(command="a", cwd="a"),
        CommandAction(command="\udc80"),
        CommandAction(command="?"),
        ToolAction(name="a", params={}),
        ToolAction(name="a", params="[]"),
        ToolAction(name="a", params='{"a": "\udc80"}'),
        ToolAction(name="a", params='{"a": "?"}'),
        ToolAction(name="a", params={"a": "\udc80"}),
        EditAction(path="a", content="a"),
        EditAction(path="a", content="a", old=""),
        EditAction(path="a", content="a", diff_lines=1),
    ]

    assert len({_canonical(action) for action in actions}) == len(actions)


_ALLOWED = Verdict(decision=Decision.ALLOW, findings=(), policy_hash="p")
_IN_ITSELF: list[object] = [float("nan")]
_IN_ITSELF.append(_IN_ITSELF)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"a": [{"b": object()}]}, r"`a\[0\].b` is of type `object`, expected text"),
        ({"a": float("-inf")}, "`a` is the number -inf"),
        ({"a": {2: 1}}, "`a` is an object with a name that is no text"),
        ({2: 1}, "`params` is an object with a name that is no text"),
        ({"x\udc80": b""}, r"`x\?` is of type `bytes`"),
        ({"a": object(), "b": _IN_ITSELF}, "the parameters are not JSON"),
        ({"b": _IN_ITSELF}, "nested too deeply"),
    ],
)
def test_what_json_cannot_say_is_refused(params: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        _canonical(ToolAction(name="x", params=params))
    with pytest.raises(InputError, match=told):
        recordable_action(inspect(ToolAction(name="x", params=params), _GATES), _ALLOWED)


@pytest.mark.parametrize("tool", [False, True], ids=["command", "tool"])
def test_a_credential_put_together_in_a_command_too_long_to_parse_is_withheld(tool: bool) -> None:
    half = len(_SECRET) // 2
    line = f"echo {'x' * 9000} {_SECRET[:half]}''{_SECRET[half:]}"
    action = (
        ToolAction(name="Bash", params={"command": line}) if tool else CommandAction(command=line)
    )

    kept = _kept(action)

    assert not kept.is_whole
    assert _SECRET[half:] not in msgspec.json.encode(kept.action).decode()


def test_a_long_command_without_a_credential_is_kept_whole() -> None:
    action = CommandAction(command=f"echo {'x ' * 9000}")

    assert _kept(action) == Recordable(action, is_whole=True)


def test_a_long_text_that_is_no_command_is_kept_whole() -> None:
    action = ToolAction(name="Note", params=msgspec.json.encode({"text": "x " * 9000}).decode())

    assert _kept(action) == Recordable(action, is_whole=True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"command": "ls', id="cut-off"),
        pytest.param('{"a": "\\u0067hp_", }', id="malformed"),
        pytest.param('["a"]', id="no-object"),
        pytest.param('{"a": 1, "a": 2}', id="a-key-twice"),
    ],
)
def test_text_that_is_no_object_is_not_kept(text: str) -> None:
    kept = _kept(ToolAction(name="Note", params=text))

    assert kept == Recordable(ToolAction(name="Note", params=NOT_JSON), is_whole=False)
