"""A run knows its own lines again when it takes them out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.events import FileChange
from interlock.policy.actions.calls.payload import Payload
from interlock.policy.actions.inspection import inspect
from interlock.policy.evidence.changed_lines import edits_of, file_changes, fingerprint
from interlock.service.policies.policy_files import default_policy

_PATH = "src/cart.py"
_LINES = st.lists(st.sampled_from(["", "}", "  a = 1", "a = 1", "b = 2", "c = 3", "\x0c", "é"]))


def an_edit(content: str, old: str | None = None, path: str = _PATH) -> Payload:
    return Payload(path=path, content=content, old=old)


def changes_of(*edits: Payload) -> list[FileChange]:
    """Return what each of several edits did, each knowing what the ones before it wrote."""
    written: dict[str, frozenset[int]] = {}
    told: list[FileChange] = []
    for edit in edits:
        (change,) = file_changes([edit], written)
        kept = written.get(change.path, frozenset()) - set(change.gone)
        written[change.path] = kept | set(change.wrote)
        told.append(change)
    return told


def edits_made(action: Action) -> list[Payload]:
    return list(edits_of(inspect(action, default_policy())))


def test_lines_that_are_replaced_count_on_both_sides() -> None:
    (change,) = file_changes([an_edit("one\ntwo\nfour", old="one\nthree")], {})

    assert (change.added, change.removed, change.rework) == (2, 1, 0)
    assert change.wrote == tuple(sorted([fingerprint("two"), fingerprint("four")]))


def test_a_line_of_somebody_else_is_no_rework() -> None:
    _, second = changes_of(an_edit("mine = 1", old=""), an_edit("", old="theirs = 2"))

    assert (second.removed, second.rework) == (1, 0)


def test_a_line_that_the_run_wrote_and_removes_is_rework() -> None:
    _, second = changes_of(an_edit("mine = 1", old=""), an_edit("better = 1", old="mine = 1"))

    assert (second.added, second.removed, second.rework) == (1, 1, 1)


def test_a_line_is_known_again_only_in_its_file() -> None:
    _, second = changes_of(an_edit("mine = 1", old=""), an_edit("", old="mine = 1", path="b.py"))

    assert second.rework == 0


def test_an_edit_that_is_taken_back_is_rework() -> None:
    there, back = changes_of(
        an_edit("keep\nnew = 1\nnew = 2", old="keep\nold = 1"),
        an_edit("keep\nold = 1", old="keep\nnew = 1\nnew = 2"),
    )

    assert (there.added, there.removed, there.rework) == (2, 1, 0)
    assert (back.added, back.removed, back.rework) == (1, 2, 2)


def test_every_copy_of_an_own_line_counts() -> None:
    _, second = changes_of(an_edit("twice\ntwice", old=""), an_edit("", old="twice\ntwice"))

    assert second.rework == 2


def test_a_file_written_anew_is_held_against_the_runs_own_lines() -> None:
    first, second = changes_of(an_edit("one\ntwo\nthree"), an_edit("one\nzwei\ndrei\nvier"))

    assert (first.added, first.removed, first.rework) == (3, 0, 0)
    assert (second.added, second.removed, second.rework) == (3, 2, 2)


def test_a_file_written_again_unchanged_is_no_change() -> None:
    _, second = changes_of(an_edit("one\ntwo"), an_edit("one\ntwo"))

    assert (second.added, second.removed, second.rework) == (0, 0, 0)


def test_a_file_that_is_emptied_takes_all_own_lines_along() -> None:
    _, second = changes_of(an_edit("one\ntwo"), an_edit(""))

    assert (second.added, second.removed, second.rework) == (0, 2, 2)


@pytest.mark.parametrize("trivial", ["}", "", "  ", "),", "\t})"])
def test_a_trivial_line_is_never_rework(trivial: str) -> None:
    first, second = changes_of(an_edit(f"{trivial}\n", old=""), an_edit("", old=f"{trivial}\n"))

    assert (first.added, first.wrote) == (1, ())
    assert (second.removed, second.rework) == (1, 0)


def test_the_shortest_telling_line_has_three_characters() -> None:
    _, second = changes_of(an_edit("abc\nab", old=""), an_edit("", old="abc\nab"))

    assert (second.removed, second.rework) == (2, 1)


def test_a_line_that_only_moves_to_the_right_is_no_rework() -> None:
    _, second = changes_of(an_edit("a = 1", old=""), an_edit("if b:\n    a = 1", old="a = 1"))

    assert (second.added, second.removed, second.rework) == (2, 1, 0)


def test_line_ends_of_another_system_change_nothing() -> None:
    _, again, gone = changes_of(
        an_edit("one\r\ntwo\r\n", old=""),
        an_edit("one\ntwo\n", old="one\r\ntwo\r\n"),
        an_edit("", old="one\ntwo\n"),
    )

    assert (again.added, again.removed, again.rework) == (0, 0, 0)
    assert gone.rework == 2


def test_text_that_no_encoding_holds_is_counted_all_the_same() -> None:
    _, second = changes_of(
        an_edit("\ud800\ud801\ud802", old=""), an_edit("", old="\ud800\ud801\ud802")
    )

    assert second.rework == 1


def test_an_edit_without_a_path_still_counts() -> None:
    (change,) = file_changes([Payload(content="one\ntwo", old="")], {})

    assert (change.path, change.added) == ("", 2)


@pytest.mark.large
def test_of_a_huge_change_all_lines_count_and_some_are_known_again() -> None:
    text = "\n".join(f"line {number}" for number in range(200_000))

    first, second = changes_of(an_edit(text, old=""), an_edit("", old=text))

    assert (first.added, len(first.wrote)) == (200_000, 2000)
    assert (second.removed, second.rework) == (200_000, 2000)


@given(own=_LINES, old=st.none() | _LINES, new=_LINES)
def test_rework_is_a_part_of_what_was_removed(
    own: list[str], old: list[str] | None, new: list[str]
) -> None:
    before = None if old is None else "\n".join(old)

    _, change = changes_of(an_edit("\n".join(own), old=""), an_edit("\n".join(new), old=before))

    assert 0 <= change.rework <= change.removed
    assert change.added <= len("\n".join(new).splitlines())
    assert len(change.wrote) <= change.added


@given(old=_LINES, new=_LINES)
def test_what_one_way_adds_the_way_back_removes(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    (there,) = file_changes([an_edit(after, old=before)], {})
    (back,) = file_changes([an_edit(before, old=after)], {})

    assert (there.added, there.removed) == (back.removed, back.added)


def test_a_command_carries_no_edit() -> None:
    assert edits_made(CommandAction(command="echo hello > a.py")) == []
    assert edits_made(ToolAction(name="Bash", params={"command": "echo hello > a.py"})) == []


@pytest.mark.parametrize(
    ("action", "changed"),
    [
        pytest.param(EditAction(path="a", content="b\nc"), 2, id="counted"),
        pytest.param(EditAction(path="a", content="b\nc", diff_lines=7), 7, id="told"),
        pytest.param(
            EditAction(path="a", content="b\nc", old="b", diff_lines=7), 1, id="counted, not told"
        ),
    ],
)
def test_an_edit_carries_itself_with_its_size(action: EditAction, changed: int) -> None:
    assert edits_made(action) == [
        Payload(path="a", content=action.content, old=action.old, changed=changed)
    ]


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"file_path": "a.py", "content": "one"}, id="parsed"),
        pytest.param('{"file_path": "a.py", "content": "one"}', id="raw"),
    ],
)
def test_a_tool_call_carries_its_edits(params: dict[str, object] | str) -> None:
    (edit,) = edits_made(ToolAction(name="Write", params=params))

    assert (edit.path, edit.content, edit.old, edit.changed) == ("a.py", "one", None, 1)


def test_parameters_that_are_not_json_carry_nothing() -> None:
    assert edits_made(ToolAction(name="Write", params='{"file_path": ')) == []


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("append_to_file", {"path": "a.py", "content": "more"}),
        ("fs_write", {"command": "append", "path": "a.py", "new_str": "more"}),
        ("str_replace_editor", {"command": "insert", "path": "a.py", "new_str": "more"}),
        ("edit_file", {"target_file": "a.py", "code_edit": "more"}),
        ("NotebookEdit", {"notebook_path": "a.py", "new_source": "more", "cell_id": "3"}),
        ("move_file", {"source": "a.py", "destination": "b.py"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_part_of_a_file_is_not_taken_for_the_whole(tool: str, params: dict[str, object]) -> None:
    written = {"a.py": frozenset([fingerprint("mine = 1")])}

    changes = file_changes(edits_made(ToolAction(name=tool, params=params)), written)

    assert changes
    assert all(change.rework == 0 for change in changes)


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("Write", {"file_path": "a.py", "content": "other"}),
        ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "other"}),
        ("Edit", {"file_path": "a.py", "old_string": "mine = 1", "new_string": "other"}),
        ("apply_patch", {"patch": "+++ b/a.py\n-mine = 1\n+other"}),
        ("remove_file", {"path": "a.py"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_way_to_lose_an_own_line_is_rework(tool: str, params: dict[str, object]) -> None:
    written = {"a.py": frozenset([fingerprint("mine = 1")])}

    (change,) = file_changes(edits_made(ToolAction(name=tool, params=params)), written)

    assert change.rework == 1


def test_a_line_that_was_lost_counts_once_however_often_the_file_is_written_anew() -> None:
    changes = changes_of(*[an_edit(f"version = {number}\n") for number in range(5)])

    assert [change.rework for change in changes] == [0, 1, 1, 1, 1]
