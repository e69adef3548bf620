"""Logs of Inspect, as a document and as an archive."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import pytest

from histories.public_run_files import a_sample, an_archive, an_inspect_log, read, written
from interlock.adapters.public_runs.inspect_logs import InspectLogs
from interlock.model.action import ToolAction
from interlock.model.budget import TokenUsage


@pytest.mark.parametrize("is_packed", [False, True], ids=["json", "eval"])
def test_a_sample_is_a_run(tmp_path: Path, is_packed: bool) -> None:
    path = (
        an_archive(tmp_path / "log.eval", a_sample())
        if is_packed
        else written(tmp_path / "log.json", an_inspect_log(a_sample()))
    )

    assert InspectLogs().reads(path, path.read_bytes()[:4096])
    [found], unread = read(InspectLogs(), path)

    assert unread == []
    run = found.run
    assert (run.id, run.client, run.project) == ("u-1", "inspect", "files")
    assert (run.group, run.model, run.success) == ("files:sample-1", "openai/gpt-5", True)
    person, shell, refused, end = found.steps
    assert person.text == "List all the files. " * 9
    assert shell.action == ToolAction(name="bash", params={"command": "ls -l"})
    assert (shell.text, shell.result, shell.failed, shell.ran) == ("I look.", "a.txt", False, True)
    assert shell.usage == TokenUsage(input_tokens=110, output_tokens=5, cache_read_tokens=100)
    assert (shell.finish_reason, shell.at, shell.model) == (
        "tool_calls",
        1_767_261_600_000_000,
        "openai/gpt-5",
    )
    assert refused.action == ToolAction(name="python", params={"code": "1"})
    assert (refused.result, refused.failed, refused.ran) == ("not approved", True, False)
    assert (refused.usage, refused.text) == (None, "")
    assert (end.text, end.tool) == ("a.txt", None)


@pytest.mark.parametrize(
    ("value", "success"),
    [
        ("C", True),
        ("I", False),
        ("P", False),
        ("N", False),
        ("yes", True),
        (1, True),
        (0.5, False),
        (True, True),
        (float("nan"), None),
        ({"a": 1}, None),
        (None, None),
    ],
)
def test_the_first_score_says_how_it_ended(
    tmp_path: Path, value: object, success: bool | None
) -> None:
    scores = {"first": {"value": value}, "second": {"value": "C"}}
    path = written(tmp_path / "log.json", an_inspect_log(a_sample(scores=scores)))

    [found], unread = read(InspectLogs(), path)

    assert (found.run.success, unread) == (success, [])
    assert len(found.steps) == 4


def test_older_logs_have_one_score_and_no_ids(tmp_path: Path) -> None:
    sample = a_sample(score={"value": "I"}, uuid=None)
    del sample["scores"]
    for each in (*sample["messages"], sample["events"][1]["output"]["choices"][0]["message"]):
        each.pop("id", None)
    path = written(tmp_path / "a" / "log.json", an_inspect_log(sample))

    [found], _ = read(InspectLogs(), path)

    assert found.run.id == f"{tmp_path.name}/a/log.json:sample-1:1"
    assert found.run.success is False
    assert [each.usage for each in found.steps] == [None] * 4


def test_a_document_that_stands_twice_in_an_archive_is_one_run(tmp_path: Path) -> None:
    path = an_archive(tmp_path / "log.eval", a_sample())
    with (
        zipfile.ZipFile(path, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("samples/0_epoch_1.json", json.dumps(a_sample(uuid="u-2")))

    [found], unread = read(InspectLogs(), path)

    assert (found.run.id, unread) == ("u-2", [])


def test_what_is_no_sample_is_told_with_its_place(tmp_path: Path) -> None:
    path = an_archive(
        tmp_path / "log.eval", a_sample(), more={"samples/x.json": b"{", "samples/y.json": b"{}"}
    )

    [_], unread = read(InspectLogs(), path)

    assert [(each.line, each.reason.split(":")[0]) for each in unread] == [
        (2, "`samples/x.json`"),
        (3, "`samples/y.json`"),
    ]


def test_a_document_that_unpacks_to_too_much_is_left_out(tmp_path: Path) -> None:
    path = an_archive(
        tmp_path / "log.eval", a_sample(), more={"samples/bomb.json": bytes((64 << 20) + 1)}
    )
    assert path.stat().st_size < 1 << 20

    [_], [unread] = read(InspectLogs(), path)

    assert unread.reason == "`samples/bomb.json`: longer than 67,108,864 bytes"


def test_an_archive_that_lies_about_its_size_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 1 << 30, 4, 0)
    with path.open("wb") as file:
        file.write(b"PK\3\4")
        file.truncate((1 << 30) + 4)
        file.seek(0, 2)
        file.write(end)

    unread: list[str] = []
    assert list(InspectLogs().runs(path, lambda each: unread.append(each.reason))) == []
    assert unread == ["its archive cannot be read: it asks for 1,073,741,824 bytes at once"]


@pytest.mark.parametrize("cut", [1, 30, 200, -1])
def test_a_broken_archive_is_told(tmp_path: Path, cut: int) -> None:
    path = an_archive(tmp_path / "log.eval", a_sample())
    path.write_bytes(path.read_bytes()[:cut])

    found, [unread] = read(InspectLogs(), path)

    assert found == []
    assert "cannot be read" in unread.reason or "not JSON" in unread.reason


def test_a_damaged_document_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = an_archive(tmp_path / "log.eval", a_sample(), a_sample(id="two"))
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("samples/0_epoch_1.json").header_offset + 120
    content = bytearray(path.read_bytes())
    content[place : place + 40] = bytes(40)
    path.write_bytes(content)

    [found], [unread] = read(InspectLogs(), path)

    assert found.run.group == "files:two"
    assert unread.reason.startswith("`samples/0_epoch_1.json`: ")


def test_packings_that_python_does_not_know_are_told(tmp_path: Path) -> None:
    path = an_archive(tmp_path / "log.eval")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("samples/a.json", json.dumps(a_sample()))

    _, [unread] = read(InspectLogs(), path)

    assert unread.reason.endswith("packed in a way that is not read here (method 12)")


def test_an_interrupted_log_says_what_it_was_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps(an_inspect_log()))
        archive.writestr("samples/a.json", json.dumps(a_sample()))

    [found], _ = read(InspectLogs(), path)

    assert found.run.project == "files"
