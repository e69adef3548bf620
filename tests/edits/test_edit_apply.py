"""A set is applied as one, keeps what belongs to a file, and is put back when anything fails."""

from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from edits.workshop import Workshop, an_edit
from effort import SOAK
from interlock.edits import edit_apply
from interlock.edits.edit_apply import apply_once, recover
from interlock.edits.journal import SetFolder
from interlock.errors import EditError
from interlock.model.edit import FileEdit, Outcome

SYSCALLS = ["fsync", "rename", "open", "write", "mkdir", "fchmod", "unlink"]


@pytest.fixture
def five(shop: Workshop) -> tuple[FileEdit, ...]:
    """A set of five files, one of them new, in a new folder."""
    for number in range(4):
        shop.write(f"{number}.txt", f"old {number}\n", mode=0o600 + number)
    edits = [an_edit(f"{number}.txt", "old", "new") for number in range(4)]
    return (*edits, an_edit("deep/down/4.txt", "", "new 4\n"))


class Failing:
    """A call of the system that fails: once, or from then on."""

    def __init__(self, name: str, *, at: int, for_good: bool) -> None:
        self._real: Callable[..., Any] = getattr(os, name)
        self._name = name
        self._at = at
        self._for_good = for_good
        self.calls = 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == self._at or (self._for_good and self.calls > self._at):
            raise OSError(errno.ENOSPC, f"no room for {self._name}")
        return self._real(*given, **named)


@contextmanager
def failing(name: str, *, at: int, for_good: bool = False) -> Generator[Failing]:
    with pytest.MonkeyPatch.context() as patch:
        call = Failing(name, at=at, for_good=for_good)
        patch.setattr(os, name, call)
        yield call


def test_every_file_of_a_set_is_changed(shop: Workshop, five: tuple[FileEdit, ...]):
    applied = shop.apply(*five)

    assert [shop.read(f"{number}.txt") for number in range(4)] == [
        f"new {number}\n".encode() for number in range(4)
    ]
    assert shop.read("deep/down/4.txt") == b"new 4\n"
    assert applied.id == "set"
    assert [file.before is None for file in applied.files] == [False] * 4 + [True]
    assert shop.unfinished() == []


def test_permissions_stay(shop: Workshop):
    shop.write("run.sh", "old", mode=0o4755)

    shop.apply(an_edit("run.sh", "old", "new"))

    assert (shop.root / "run.sh").stat().st_mode & 0o7777 == 0o4755


def test_a_new_file_gets_the_permissions_of_any_new_file(shop: Workshop):
    (shop.root / "plain").touch()

    shop.apply(an_edit("made", "", "new"))

    modes = {(shop.root / name).stat().st_mode for name in ("plain", "made")}
    assert len(modes) == 1


def test_a_link_stays_a_link(shop: Workshop):
    shop.write("sub/real.txt", "old")
    (shop.root / "link").symlink_to("sub/real.txt")

    shop.apply(an_edit("link", "old", "new"))

    assert (shop.root / "link").readlink() == Path("sub/real.txt")
    assert shop.read("sub/real.txt") == b"new"


def test_owner_and_attributes_stay(shop: Workshop):
    file = shop.write("a.txt", "old")
    if os.geteuid() == 0:
        os.chown(file, 1234, 1234)
    owner = (file.stat().st_uid, file.stat().st_gid)
    with suppress(OSError):
        os.setxattr(file, "user.origin", b"elsewhere")
    attributes = os.listxattr(file)

    shop.apply(an_edit("a.txt", "old", "new"))

    assert (file.stat().st_uid, file.stat().st_gid) == owner
    assert os.listxattr(file) == attributes


def test_only_the_files_of_the_set_are_touched(shop: Workshop, five: tuple[FileEdit, ...]):
    other = shop.write("other.txt", "old")
    before = other.stat()

    shop.apply(*five)

    assert other.stat() == before
    assert [name for name in shop.everything() if ".interlock" in name] == []


def become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def become_a_link(file: Path) -> None:
    file.rename(file.with_name("b"))
    file.symlink_to("b")


def say_something_else(file: Path) -> None:
    file.write_text("else")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (say_something_else, "`a.txt` has changed since"),
        (Path.unlink, "`a.txt` is gone since"),
        (become_a_folder, "`a.txt`: is a folder"),
        (become_a_link, "`a.txt` leads to another file than when it was planned"),
    ],
)
def test_a_file_that_changed_meanwhile_is_refused(
    shop: Workshop, change: Callable[[Path], object], told: str
):
    file = shop.write("a.txt", "old")
    shop.write("first.txt", "old")
    planned = shop.plan(an_edit("first.txt", "old", "new"), an_edit("a.txt", "old", "new"))
    change(file)

    with pytest.raises(EditError, match="^" + told):
        apply_once(planned, store=shop.store, set_id="set")

    assert shop.read("first.txt") == b"old"
    assert shop.unfinished() == []


def test_a_file_that_came_to_be_meanwhile_is_refused(shop: Workshop):
    planned = shop.plan(an_edit("a.txt", "", "mine"))
    shop.write("a.txt", "theirs")

    with pytest.raises(EditError, match=r"^`a\.txt` exists since"):
        apply_once(planned, store=shop.store, set_id="set")

    assert shop.read("a.txt") == b"theirs"


def test_a_folder_that_became_a_link_meanwhile_is_not_followed(shop: Workshop, tmp_path: Path):
    shop.write("sub/a.txt", "old")
    planned = shop.plan(an_edit("sub/a.txt", "old", "new"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("old")
    (shop.root / "sub").rename(shop.root / "gone")
    (shop.root / "sub").symlink_to(tmp_path / "outside")

    with pytest.raises(EditError, match="leads out of the workspace"):
        apply_once(planned, store=shop.store, set_id="set")

    assert (tmp_path / "outside" / "a.txt").read_text() == "old"


def test_a_write_at_the_last_moment_is_not_lost(
    shop: Workshop, five: tuple[FileEdit, ...], monkeypatch: pytest.MonkeyPatch
):
    real, file = SetFolder.commit, shop.root / "3.txt"

    def commit_and_write(folder: SetFolder) -> None:
        real(folder)
        file.write_text("somebody else's\n")

    monkeypatch.setattr(SetFolder, "commit", commit_and_write)
    with pytest.raises(EditError, match=r"`3\.txt` was changed by somebody else") as caught:
        shop.apply(*five)

    assert [shop.read(f"{number}.txt") for number in range(3)] == [
        f"old {number}\n".encode() for number in range(3)
    ]
    assert file.read_text() == "somebody else's\n"
    assert not (shop.root / "deep").exists()
    assert "as it was but for `3.txt`, which somebody else has written" in str(caught.value)


def test_an_id_is_used_once(shop: Workshop):
    shop.write("a.txt", "one")
    applied = shop.apply(an_edit("a.txt", "one", "two"))

    assert shop.apply(an_edit("a.txt", "two", "three")) == applied
    assert shop.read("a.txt") == b"two"


@pytest.mark.parametrize("set_id", ["", "..", "a/b", ".hidden", "a\n", "x" * 121, "ä"])
def test_an_id_that_is_no_name_is_refused(shop: Workshop, set_id: str):
    shop.write("a.txt", "one")

    with pytest.raises(EditError, match="is no id"):
        shop.apply(an_edit("a.txt", "one", "two"), set_id=set_id)

    assert shop.read("a.txt") == b"one"


def test_a_store_that_cannot_be_used_is_told(shop: Workshop):
    shop.write("a.txt", "one")
    shop.store.write_text("a file")

    with pytest.raises(EditError, match=r"the store `.*` cannot be used"):
        shop.apply(an_edit("a.txt", "one", "two"))


def moments(name: str) -> range:
    """When a call fails: every time, or now and then where there are very many."""
    return range(1, 400, 7 if name == "open" and not SOAK else 1)


@pytest.mark.parametrize("name", SYSCALLS)
def test_whatever_fails_once_every_file_is_as_it_was(
    shop: Workshop, five: tuple[FileEdit, ...], name: str
):
    before = shop.everything()
    planned = shop.plan(*five)
    for at in moments(name):
        with failing(name, at=at) as call:
            try:
                apply_once(planned, store=shop.store, set_id=f"set{at}")
            except EditError as error:
                told = str(error)
            else:
                assert call.calls < at
                return
        if "could not be put back" in told:
            recover(shop.store)
        assert shop.everything() == before
        assert shop.unfinished() == []
    raise AssertionError("it never succeeds")


@pytest.mark.parametrize("name", ["fsync", "rename", "open", "write"])
def test_whatever_fails_for_good_is_brought_to_one_state_later(
    shop: Workshop, five: tuple[FileEdit, ...], name: str
):
    before = shop.everything()
    planned = shop.plan(*five)
    for at in moments(name):
        with failing(name, at=at, for_good=True) as call:
            try:
                apply_once(planned, store=shop.store, set_id=f"set{at}")
            except EditError:
                pass
            else:
                assert call.calls < at
                return
        if [each.outcome for each in recover(shop.store)] == [Outcome.COMPLETED]:
            assert shop.read("deep/down/4.txt") == b"new 4\n"
            shop.undo(f"set{at}")
        assert shop.everything() == before
        assert shop.unfinished() == []
    raise AssertionError("it never succeeds")


def test_a_full_disk_leaves_everything_as_it_was(shop: Workshop):
    """The kernel itself refuses: no file may grow beyond 64 KiB."""
    shop.write("small.txt", "old")
    shop.write("large.txt", "old" + "x" * 100_000)
    before = shop.everything()
    planned = shop.plan(an_edit("small.txt", "old", "new"), an_edit("large.txt", "old", "new"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, hard))
    try:
        with pytest.raises(EditError, match=r"was not applied: .*too large.*; every file is as"):
            apply_once(planned, store=shop.store, set_id="set")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert shop.everything() == before
    assert shop.unfinished() == []


def test_ctrl_c_puts_everything_back(
    shop: Workshop, five: tuple[FileEdit, ...], monkeypatch: pytest.MonkeyPatch
):
    before = shop.everything()

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(edit_apply, "_finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shop.apply(*five)

    assert shop.everything() == before
    assert shop.unfinished() == []


def test_what_does_not_hold_what_was_written_is_told(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    shop.write("a.txt", "old")
    shop.write("b.txt", "old")
    real = edit_apply.write_draft

    def write_badly(root: Path, entry: Any, content: bytes, state: Any) -> None:
        real(root, entry, b"rotten" if content == b"new" else content, state)

    monkeypatch.setattr(edit_apply, "write_draft", write_badly)
    with pytest.raises(EditError, match=r"`a\.txt` does not hold what was written") as caught:
        shop.apply(an_edit("a.txt", "old", "new"), an_edit("b.txt", "old", "new!"))

    assert shop.read("b.txt") == b"old"
    assert "but for `a.txt`" in str(caught.value)


def test_two_threads_never_mix_their_sets(shop: Workshop):
    for number in range(3):
        shop.write(f"{number}.txt", "old\n")
    edits = {
        name: tuple(an_edit(f"{number}.txt", "old", name) for number in range(3))
        for name in ("left", "right")
    }
    plans = {name: shop.plan(*some) for name, some in edits.items()}
    refused: list[str] = []

    def work(name: str) -> None:
        try:
            apply_once(plans[name], store=shop.store, set_id=name)
        except EditError:
            refused.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (loser,) = refused
    (winner,) = set(plans) - {loser}
    assert {shop.read(f"{number}.txt") for number in range(3)} == {f"{winner}\n".encode()}


def test_recovering_an_empty_store_does_nothing(shop: Workshop):
    assert recover(shop.store) == ()


def test_a_set_that_somebody_else_wrote_over_is_put_back_around_it(
    shop: Workshop, five: tuple[FileEdit, ...]
):
    with failing("rename", at=4, for_good=True), pytest.raises(EditError, match="recover"):
        shop.apply(*five)
    shop.write("0.txt", "somebody else's\n")

    (recovered,) = recover(shop.store)

    assert recovered.outcome is Outcome.PUT_BACK
    assert recovered.left_alone == ("0.txt",)
    assert shop.read("0.txt") == b"somebody else's\n"
    assert [shop.read(f"{number}.txt") for number in (1, 2, 3)] == [
        b"old 1\n",
        b"old 2\n",
        b"old 3\n",
    ]
    assert not (shop.root / "deep").exists()


def test_a_journal_that_cannot_be_read_is_told(shop: Workshop):
    shop.write("a.txt", "old")
    with failing("fsync", at=6, for_good=True), pytest.raises(EditError):
        shop.apply(an_edit("a.txt", "old", "new"))
    journal = shop.store / "pending" / "set" / "journal.json"
    journal.write_text("{")

    with pytest.raises(EditError, match=r"the set `set` is still half done: .* is damaged"):
        recover(shop.store)
    with pytest.raises(EditError, match="was not finished: recover the store first"):
        shop.apply(an_edit("a.txt", "old", "new"))
    with pytest.raises(EditError, match="was not finished: recover the store first"):
        shop.undo()
