"""Which histories are found, and that each is known again only while nothing in it changed."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from interlock.adapters.known_histories import known_readers
from interlock.backtest.history_files import found_files
from interlock.ports import HistoryReader

Adds = Callable[[], object]
Written = Generator[Adds]
"""Writes a history, and gives what adds to it."""


def stamps(folder: Path) -> dict[str, str]:
    """Return the stamp of each history below a folder."""
    files, unread = found_files([folder], known_readers())
    assert unread == []
    return {Path(each.path).name: each.stamp for each in files}


def written(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


@contextmanager
def a_folder_of_events(folder: Path) -> Written:
    events = folder / "s1" / "events"
    for number in (2, 10):
        written(events / f"{number}.json", {"id": number, "source": "agent", "action": "run"})
    yield lambda: written(events / "11.json", {"id": 11, "source": "agent", "action": "run"})


@contextmanager
def an_event_written_anew(folder: Path) -> Written:
    with a_folder_of_events(folder):
        yield lambda: written(folder / "s1" / "events" / "10.json", {"id": 10})


@contextmanager
def a_database(folder: Path) -> Written:
    """Yield with the database open: what is written stands beside it until it is closed."""
    with closing(sqlite3.connect(folder / "opencode.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE session (id, parent_id, directory, time_created)")
        database.execute("PRAGMA wal_checkpoint (TRUNCATE)")
        yield lambda: database.executescript("INSERT INTO session VALUES ('s', NULL, '/w', 1)")


@contextmanager
def a_message_in_a_file(folder: Path) -> Written:
    written(folder / "session" / "p" / "ses_1.json", {"id": "ses_1"})
    yield lambda: written(folder / "message" / "ses_1" / "m1.json", {"role": "user"})


@contextmanager
def a_part_in_a_file(folder: Path) -> Written:
    with a_message_in_a_file(folder) as write:
        write()
        yield lambda: written(folder / "part" / "m1" / "p1.json", {"type": "text", "text": "x"})


@contextmanager
def the_folder_of_a_chat(folder: Path) -> Written:
    written(folder / "chats" / "c.json", {"sessionId": "c", "projectHash": "p", "messages": []})
    yield lambda: (folder / ".project_root").write_text("/w")


@pytest.mark.parametrize(
    ("history", "name"),
    [
        (a_folder_of_events, "2.json"),
        (an_event_written_anew, "2.json"),
        (a_database, "opencode.db"),
        (a_message_in_a_file, "ses_1.json"),
        (a_part_in_a_file, "ses_1.json"),
        (the_folder_of_a_chat, "c.json"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_what_is_written_beside_a_file_changes_its_history(
    history: Callable[[Path], AbstractContextManager[Adds]], name: str, tmp_path: Path
) -> None:
    with history(tmp_path) as write:
        before = stamps(tmp_path)[name]
        again = stamps(tmp_path)[name]
        write()
        after = stamps(tmp_path)[name]

    assert before == again != after


@pytest.mark.parametrize("reader", known_readers(), ids=lambda each: each.name)
def test_beside_a_file_that_stands_alone_is_nothing(reader: HistoryReader, tmp_path: Path) -> None:
    path = written(tmp_path / "session.jsonl", {})

    assert not any(each.exists() for each in reader.beside(path))


def test_a_session_that_is_linked_from_its_storage_is_found(tmp_path: Path) -> None:
    away = written(tmp_path / "away" / "ses_1.json", {"id": "ses_1"})
    link = tmp_path / "storage" / "session" / "ses_1.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(away)

    assert list(stamps(tmp_path / "storage")) == ["ses_1.json"]


def test_a_packed_file_is_more_work_than_its_size_tells(tmp_path: Path) -> None:
    line = f"{json.dumps({'steps': [], 'text': 'x' * 5_000})}\n".encode()
    (tmp_path / "plain.jsonl").write_bytes(line)
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(line))
    plain, packed = found_files([tmp_path], known_readers())[0]

    assert plain.work == plain.size
    assert packed.work > packed.size


def test_a_part_that_cannot_be_looked_at_keeps_no_history_from_being_found(tmp_path: Path) -> None:
    first = written(tmp_path / "s1" / "events" / "0.json", {"id": 0, "action": "run"})
    loop = first.with_name("1.json")
    loop.symlink_to(loop)

    files, unread = found_files([tmp_path], known_readers())

    assert [each.path for each in files] == [str(first)]
    assert [each.path for each in unread] == [str(loop)]
