"""What all readers of public formats promise: they know their files, and nothing upsets them."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories.public_run_files import (
    Row,
    a_sample,
    a_simulation,
    a_tau2_result,
    a_tau_run,
    a_trajectory,
    an_archive,
    an_inspect_log,
    read,
    written,
)
from interlock.adapters.histories.packed_json import mended, microseconds, text, value
from interlock.adapters.histories.run_files import repository_of
from interlock.adapters.public_runs import PUBLIC_READERS
from interlock.adapters.public_runs.chat_messages import usage_from
from interlock.errors import InputError
from interlock.model.budget import TokenUsage
from interlock.model.past_run import Unread
from interlock.ports import HistoryReader

READERS = {each.name: each for each in PUBLIC_READERS}
EVENT: Row = {"id": 0, "source": "user", "action": "message", "args": {"content": "hi"}}
OUTPUT: Row = {"instance_id": "a__b-1", "test_result": {}, "history": [EVENT]}
FILES: dict[str, tuple[str, Any]] = {
    "interlock": ("runs.jsonl", {"run_id": 1, "steps": [{"role": "user"}]}),
    "swe-agent": ("a__b-1.traj", a_trajectory()),
    "openhands-outputs": ("output.jsonl", OUTPUT),
    "openhands": ("trajectory.json", [EVENT]),
    "tau-bench": ("tau.json", [a_tau_run()]),
    "tau2-bench": ("tau2.json", a_tau2_result(a_simulation())),
    "inspect": ("log.json", an_inspect_log(a_sample())),
}
each_format = pytest.mark.parametrize("name", FILES)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=6)
    | st.sampled_from(["user", "assistant", "tool", "run", "ActionEvent", "bash", "…[+3]"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                "role content tool_calls function name arguments id action observation args kind"
                " extras text history steps messages traj trajectory usage timestamp state score"
                " scores value events event output choices message error tool tokens".split()
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


def all_of(reader: HistoryReader, path: Path) -> list[Unread]:
    """Read a file to its end, whatever is in it."""
    unread: list[Unread] = []
    for run in reader.runs(path, unread.append):
        for step in run.steps:
            hash(step.text)
    return unread


def test_every_format_has_a_reader() -> None:
    assert list(READERS) == list(FILES)


@each_format
def test_a_file_is_read_by_its_reader_and_by_no_other(name: str, tmp_path: Path) -> None:
    file, content = FILES[name]
    plain = tmp_path / file
    plain.write_text(json.dumps(content))
    packed = tmp_path / f"{file}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    for path in (plain, packed):
        beginning = path.read_bytes()[:4096]
        assert [each.name for each in PUBLIC_READERS if each.reads(path, beginning)] == [name]
        found, unread = read(READERS[name], path)
        assert (len(found), unread) == (1, [])


@pytest.mark.parametrize("name", [each for each in FILES if each != "interlock"])
def test_files_that_are_named_alike_have_runs_of_their_own(name: str, tmp_path: Path) -> None:
    file, content = FILES[name]
    unnamed = json.dumps(content).replace('"u-1"', '""').replace('"sim-1"', '""')
    ids: list[str] = []
    for folder in ("one", "other", "one/task", "other/task"):
        path = tmp_path / folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(unnamed)
        ids += [each.run.id for each in read(READERS[name], path)[0]]

    assert len(set(ids)) == len(ids) == 4


@each_format
def test_a_reader_goes_to_another_process_and_looks_nowhere_by_itself(name: str) -> None:
    reader = pickle.loads(pickle.dumps(READERS[name]))

    assert (reader.name, reader.version) == (name, 1)
    assert reader.usual_places(Path("/home/x"), {}) == ()


@each_format
def test_an_empty_file_has_no_runs(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[name][0]
    path.touch()

    assert not READERS[name].reads(path, b"")
    found, unread = read(READERS[name], path)
    assert found == []
    assert len(unread) <= 1


@each_format
def test_what_cannot_be_opened_is_an_error_of_the_system(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path, tmp_path / "none", tmp_path / "loop", tmp_path / "pipe"):
        with pytest.raises(OSError, match=r"regular files|No such file|symbolic links|Is a dir"):
            all_of(READERS[name], path)


@each_format
def test_a_file_that_may_not_be_read_is_an_error_of_the_system(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = written(Path(folder, FILES[name][0]), FILES[name][1])
        path.chmod(0)
        is_root = os.geteuid() == 0
        try:
            if is_root:
                os.seteuid(65534)
            with pytest.raises(PermissionError):
                all_of(READERS[name], path)
        finally:
            if is_root:
                os.seteuid(0)


@each_format
def test_a_file_that_is_cut_off_anywhere_is_told(name: str, tmp_path: Path) -> None:
    file, content = FILES[name]
    whole = json.dumps(content).encode()
    path = tmp_path / file

    for size in range(1, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:size])
        assert len(all_of(READERS[name], path)) == 1


@each_format
@given(content=st.binary(max_size=200), start=st.integers(0, 3))
def test_no_bytes_upset_a_reader(name: str, content: bytes, start: int) -> None:
    beginning = (b"", b"PK\3\4", b"\x1f\x8b", b'{"steps": [')[start]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, FILES[name][0])
        path.write_bytes(beginning + content)
        READERS[name].reads(path, beginning + content)
        all_of(READERS[name], path)

        assert path.read_bytes() == beginning + content
        assert list(Path(folder).iterdir()) == [path]


FRAMES: dict[str, Callable[[Any], Any]] = {
    "interlock": lambda part: {"run_id": part, "steps": [part, {"tool": part, "args": part}]},
    "swe-agent": lambda part: {"trajectory": [part], "history": [part], "info": part},
    "openhands-outputs": lambda part: {"instance_id": "x", "history": [part], "metadata": part},
    "openhands": lambda part: [part, {"action": "run", "args": part}, {"kind": "ActionEvent"}],
    "tau-bench": lambda part: [{"traj": [part], "reward": part}, part],
    "tau2-bench": lambda part: {"info": part, "simulations": [{"messages": [part]}, part]},
    "inspect": lambda part: {
        "eval": part,
        "samples": [{"messages": [part], "events": part, "scores": {"a": part}}, part],
    },
}


@each_format
@given(part=json_values)
def test_no_fields_of_the_wrong_kind_upset_a_reader(name: str, part: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, FILES[name][0])
        path.write_text(json.dumps(FRAMES[name](part)))
        all_of(READERS[name], path)


@given(part=json_values)
def test_no_message_of_the_wrong_kind_upsets_a_reader(part: object) -> None:
    mini = {"messages": [{"role": "user"}, part, {"role": "assistant", "extra": part}]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.traj.json")
        path.write_text(json.dumps(mini))
        all_of(READERS["swe-agent"], path)


@given(place=st.integers(0, 3000), byte=st.integers(0, 255))
def test_no_damage_to_an_archive_upsets_a_reader(place: int, byte: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = an_archive(Path(folder, "log.eval"), a_sample())
        content = bytearray(path.read_bytes())
        content[place % len(content)] = byte
        path.write_bytes(content)
        all_of(READERS["inspect"], path)


@pytest.mark.parametrize("name", ["swe-agent", "openhands", "tau-bench", "tau2-bench", "inspect"])
def test_a_document_that_is_too_large_is_told_before_it_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[name][0]
    with path.open("wb") as file:
        file.truncate(2 << 30)

    [unread] = all_of(READERS[name], path)

    assert unread.reason.startswith("it is one document of 2,147,483,648 bytes or more")


def test_half_a_character_is_mended(tmp_path: Path) -> None:
    traj = [{"role": "assistant", "content": "a\ud83d b", "x": ["\ud83d", {"\ud83d": "\u00e4"}]}]
    [found], unread = read(
        READERS["tau-bench"], written(tmp_path / "a.json", [a_tau_run(traj=traj)])
    )

    assert unread == []
    assert found.steps[0].text == "a\ufffd b"
    assert mended(["\ud83d\ude00", 1]) == ["\U0001f600", 1]


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, (5, 2, 0, 0)),
        ({"input_tokens": 5}, (5, 0, 0, 0)),
        ({"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 60}, (100, 1, 60, 0)),
        (
            {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 60},
            (63, 1, 0, 60),
        ),
        ({"prompt_tokens": "5"}, None),
        ({"prompt_tokens": 10**17, "completion_tokens": 1}, None),
        ({}, None),
        (None, None),
    ],
)
def test_tokens_from_the_cache_are_part_of_the_input(
    told: object, usage: tuple[int, int, int, int] | None
) -> None:
    found = usage_from(told)

    assert found == (
        None
        if usage is None
        else TokenUsage(
            input_tokens=usage[0],
            output_tokens=usage[1],
            cache_read_tokens=usage[2],
            cache_write_tokens=usage[3],
        )
    )


def test_odd_parts_are_read_as_far_as_they_go() -> None:
    assert text(["\ud83d"]) == '["\ufffd"]'
    assert microseconds(b'"0001-01-01T00:00:00"') is None
    assert value(b"[NaN, 1e999, 1.5]") == [None, None, 1.5]
    with pytest.raises(InputError, match="not UTF-8"):
        value(b'"\xff"')
    with pytest.raises(InputError, match="nested too deeply"):
        value(b"[" * 100_000)


@pytest.mark.parametrize(
    ("instance", "repository"),
    [("django__django-11099", "django/django"), ("a__b-c-1", "a/b-c"), ("x", ""), ("x__", "")],
)
def test_the_name_of_a_task_holds_the_repository(instance: str, repository: str) -> None:
    assert repository_of(instance) == repository
