"""opencode's storage: its database, and the files of older versions."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from histories.written_history import WORK, asked, at, read, written
from interlock.adapters.histories.bounded_lines import MOST_HELD
from interlock.adapters.histories.opencode_history import OpencodeHistory
from interlock.model.arbitration import AUTOMATIC

READER = OpencodeHistory()
SESSION = "ses_1"
SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, time_created integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
"""
Message = tuple[str, dict[str, Any], list[Any]]


def said(id_: str, *parts: Any, second: int = 0, **more: object) -> Message:
    tokens = {"input": 60, "output": 15, "reasoning": 5, "cache": {"read": 30, "write": 10}}
    about = {"role": "assistant", "modelID": "gpt", "tokens": tokens, "finish": "tool-calls"}
    time = {"created": at(second) // 1000}
    return id_, {**about, "time": time, "path": {"cwd": WORK}, **more}, list(parts)


def person(id_: str, *parts: Any) -> Message:
    return id_, {"role": "user", "time": {"created": at(1) // 1000}}, list(parts)


def text(words: object, **more: object) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(id_: str, tool: str, given: object, **state: object) -> dict[str, Any]:
    return {"type": "tool", "tool": tool, "callID": id_, "state": {"input": given, **state}}


@contextmanager
def database(path: Path, *messages: Message, parent: str | None = None) -> Generator[Any]:
    with closing(sqlite3.connect(path)) as found:
        found.executescript(SCHEMA)
        found.execute("INSERT INTO session VALUES (?, ?, ?, 1)", (SESSION, parent, WORK))
        for place, (id_, about, parts) in enumerate(messages):
            row = (id_, SESSION, place, json.dumps(about))
            found.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
            for number, each in enumerate(parts):
                data = each if isinstance(each, (str, bytes)) else json.dumps(each)
                row = (f"{id_}-{number}", id_, SESSION, data)
                found.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
        found.commit()
        yield found


CHAT = (
    person("m1", text("fix it"), text("be brief", synthetic=True), {"type": "file", "url": "x"}),
    said(
        "m2",
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        text("I look."),
        call("c1", "bash", {"command": "ls"}, status="completed", output="a", metadata={"exit": 0}),
        call("c2", "bash", {"command": "x"}, status="completed", output="b", metadata={"exit": 3}),
        call("c3", "write", {"filePath": "a"}, status="error", error="disk is full"),
        call("c4", "edit", {"filePath": "a"}, status="error", error="Interlock: not allowed"),
        call("c5", "task", {"prompt": "p"}, status="running", time={"start": at(9) // 1000}),
        {"type": "tool", "tool": "none"},
        second=2,
    ),
    said("m3", text("What happened before."), summary=True),
    said("m4", text("Done."), second=4, finish="stop"),
    person("m5"),
)


def check(found: Any) -> None:
    assert found.unread == []
    run = found.only
    assert (run.head.id, run.head.project, run.head.workspace) == (SESSION, "shop", WORK)
    told, listed, broke, failed, refused, runs, last = run.steps
    assert (told.role, told.text, told.at, told.line) == ("user", "fix it", at(1), 1)
    assert asked(listed) == ("bash", {"command": "ls", "cwd": WORK})
    assert (listed.text, listed.result, listed.failed) == ("I look.", "a", False)
    assert (listed.at, listed.turn, listed.model) == (at(2), 1, "gpt")
    assert (broke.result, broke.failed, broke.ran) == ("b", True, True)
    assert (failed.result, failed.failed, failed.ran) == ("disk is full", True, True)
    assert (refused.failed, refused.ran) == (True, False)
    assert (runs.result, runs.failed, runs.at) == (None, None, at(9))
    assert (last.text, last.finish_reason, last.at) == ("Done.", "stop", at(4))
    assert (listed.tokens, last.tokens) == (120, 240)


def test_a_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with database(path, *CHAT):
        pass

    check(read(READER, path))


def test_a_database_that_is_written_to_is_read_from_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with database(path) as found:
        found.execute("PRAGMA journal_mode = WAL")
        found.execute("UPDATE session SET directory = '/elsewhere'")
        found.commit()

        run = read(READER, path).only

    assert run.head.workspace == "/elsewhere"


def test_files_of_older_versions_are_read(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    about = {"id": SESSION, "directory": WORK, "version": "0.5"}
    path = written(storage / "session" / "p1" / f"{SESSION}.json", [about])
    for id_, message, parts in CHAT:
        written(storage / "message" / SESSION / f"{id_}.json", [message])
        for number, part in enumerate(parts):
            written(storage / "part" / id_ / f"{number:02d}.json", [part])

    check(read(READER, path))


def test_a_file_of_a_part_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    path = written(storage / "session" / "p1" / f"{SESSION}.json", [{"id": SESSION}])
    written(storage / "message" / SESSION / "m1.json", [CHAT[3][1]])
    (storage / "message" / SESSION / "m0.json").mkdir()
    (storage / "part" / "m1" / "00.json").mkdir(parents=True)
    written(storage / "part" / "m1" / "01.json", [text("Done.")])

    found = read(READER, path)

    assert [each.path for each in found.unread] == [
        str(storage / "message" / SESSION / "m0.json"),
        str(storage / "part" / "m1" / "00.json"),
    ]
    assert found.only.said == [("assistant", "Done.")]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"id"'])
def test_a_session_that_cannot_be_read_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "session" / "ses_1.json"
    path.parent.mkdir()
    path.write_bytes(content)

    found = read(READER, path)

    assert (found.runs, len(found.unread)) == ([], 1)


def test_a_session_that_is_too_large_is_told_once(tmp_path: Path) -> None:
    path = written(tmp_path / "session" / "ses_1.json", [])
    os.truncate(path, MOST_HELD + 1)

    found = read(READER, path)

    assert (found.runs, len(found.unread)) == ([], 1)


def test_calls_of_one_name_are_calls_each(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    done = {"status": "completed", "output": "a"}
    first, last = (call("call_0", "bash", {"command": each}, **done) for each in ("ls", "make"))
    with database(path, said("m1", first), said("m2", first, last)):
        pass

    commands = [asked(step)[1]["command"] for step in read(READER, path).only.calls]

    assert commands == ["ls", "ls", "make"]


@pytest.mark.parametrize(
    "part", [text(f"{AUTOMATIC}: go on"), text(" "), text("x", ignored=True), {"type": "file"}]
)
def test_what_no_person_typed_is_not_heard(tmp_path: Path, part: dict[str, Any]) -> None:
    path = tmp_path / "opencode.db"
    with database(path, person("m1", part), person("m2", text("fix it"))):
        pass

    assert read(READER, path).only.said == [("user", "fix it")]


def test_a_sub_agent_hears_no_person(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with database(path, person("m1", text("Do it.")), said("m2", text("Did it.")), parent="ses_0"):
        pass

    run = read(READER, path).only

    assert (run.head.parent, run.said) == ("ses_0", [("assistant", "Did it.")])


def test_what_cannot_be_read_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    broken = said("m1", text(3), "{half", b"{}", text("a"))
    unread = ("m2", {"role": 7}, [text("never")])
    with database(path, broken, unread, said("m3", text("Done."))) as found:
        found.execute("INSERT INTO part VALUES ('m3-9', 'm3', ?, NULL)", (SESSION,))
        found.execute("UPDATE part SET data = CAST(x'7b22ff227d' AS TEXT) WHERE id = 'm1-1'")
        found.commit()

    found = read(READER, path)

    assert [each.line for each in found.unread] == [1, 2, 5, 7]
    assert found.only.said == [("assistant", "a"), ("assistant", "Done.")]


def test_a_database_that_is_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 4000)
    assert "is no database that can be read" in read(READER, path).unread[0].reason

    other = tmp_path / "opencode-dev.db"
    with closing(sqlite3.connect(other)) as found:
        found.execute("CREATE TABLE session (id, parent_id, directory, time_created)")
        found.execute("INSERT INTO session VALUES ('s', NULL, NULL, 1)")
        found.commit()

    history = read(READER, other)
    assert "session s: no such table" in history.unread[0].reason
    assert history.only.steps == []


def test_it_knows_its_own_files_and_where_they_are(tmp_path: Path) -> None:
    assert READER.reads(tmp_path / "opencode.db", b"SQLite format 3\0...")
    assert not READER.reads(tmp_path / "opencode.db", b"")
    assert not READER.reads(tmp_path / "other.db", b"SQLite format 3\0...")
    assert READER.reads(tmp_path / "storage" / "session" / "p" / "ses_1.json", b"{")
    assert not READER.reads(tmp_path / "storage" / "message" / "ses_1" / "msg_1.json", b"{")
    (place,) = READER.usual_places(tmp_path, {})
    assert place == tmp_path / ".local" / "share" / "opencode"
    assert READER.usual_places(tmp_path, {"XDG_DATA_HOME": "/x"}) == [Path("/x/opencode")]


def test_a_message_counts_though_what_it_used_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with database(path, said("m1", text("Done."), tokens={"input": None, "output": 7})):
        pass

    found = read(READER, path)

    assert (found.only.said, found.only.tokens, found.unread) == ([("assistant", "Done.")], 7, [])


def test_a_folder_that_is_no_text_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with database(path, said("m1", text("Done."))) as found:
        found.execute("UPDATE session SET directory = x'ff'")
        found.commit()

    head = read(READER, path).only.head

    assert (head.workspace, head.project) == (None, "")


def test_a_session_that_is_linked_from_its_storage_is_told(tmp_path: Path) -> None:
    found = read(READER, written(tmp_path / f"{SESSION}.json", [{"id": SESSION}]))

    assert (found.runs, len(found.unread)) == ([], 1)
