"""What was applied can be put back, as long as nobody has changed it since."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

import pytest
from inline_snapshot import snapshot

from edits.workshop import Workshop, an_edit
from interlock.edits.edit_apply import recover
from interlock.errors import EditError


def test_everything_is_as_before(shop: Workshop):
    shop.write("a.txt", b"\xef\xbb\xbfone\r\ntwo", mode=0o751)
    shop.write("sub/b.txt", "b", mode=0o600)
    (shop.root / "link").symlink_to("sub/b.txt")
    before = shop.everything()
    applied = shop.apply(
        an_edit("a.txt", "two", "2\n3"),
        an_edit("link", "b", "c"),
        an_edit("made/for/it.txt", "", "new"),
    )
    assert shop.everything() != before

    undone = shop.undo()

    assert shop.everything() == before
    assert undone.id == "set-undo"
    assert undone.undoes == "set"
    assert [(file.after, file.before) for file in undone.files] == [
        (file.before, file.after) for file in applied.files
    ]


def test_permissions_come_back(shop: Workshop):
    file = shop.write("a.sh", "one", mode=0o755)
    shop.apply(an_edit("a.sh", "one", "two"))
    file.chmod(0o600)

    shop.undo()

    assert file.stat().st_mode & 0o777 == 0o755


def test_putting_back_can_be_put_back(shop: Workshop):
    shop.write("a.txt", "one")
    shop.apply(an_edit("a.txt", "one", "two"), an_edit("deep/b.txt", "", "new"))
    after = shop.everything()
    shop.undo()

    shop.undo("set-undo")

    assert shop.everything() == after


def test_a_set_is_put_back_once(shop: Workshop):
    shop.write("a.txt", "one")
    shop.apply(an_edit("a.txt", "one", "two"))
    shop.undo()

    with pytest.raises(EditError) as caught:
        shop.undo()

    assert str(caught.value) == snapshot(
        "the set `set` was put back already: put back `set-undo` to have it again"
    )


def test_a_file_that_changed_since_is_not_overwritten(shop: Workshop):
    shop.write("a.txt", "one")
    shop.write("b.txt", "one")
    shop.apply(an_edit("a.txt", "one", "two"), an_edit("b.txt", "one", "two"))
    shop.write("b.txt", "somebody else's")

    with pytest.raises(EditError) as caught:
        shop.undo()

    assert str(caught.value) == snapshot(
        "`b.txt` has changed since `set` was applied: nothing was put back; undo the later change"
        " first, or edit the file by hand"
    )
    assert shop.read("a.txt") == b"two"
    assert shop.read("b.txt") == b"somebody else's"


def test_a_file_that_is_gone_is_not_made_again(shop: Workshop):
    file = shop.write("a.txt", "one")
    shop.apply(an_edit("a.txt", "one", "two"))
    file.unlink()

    with pytest.raises(EditError, match=r"`a\.txt` has changed since"):
        shop.undo()


def test_later_sets_are_put_back_first(shop: Workshop):
    shop.write("a.txt", "one")
    shop.apply(an_edit("a.txt", "one", "two"), set_id="first")
    shop.apply(an_edit("a.txt", "two", "three"), set_id="second")

    with pytest.raises(EditError, match="undo the later change first"):
        shop.undo("first")
    shop.undo("second")
    shop.undo("first")

    assert shop.read("a.txt") == b"one"


def test_a_folder_that_somebody_else_uses_stays(shop: Workshop):
    shop.apply(an_edit("made/a.txt", "", "new"))
    shop.write("made/b.txt", "somebody else's")

    shop.undo()

    assert list(shop.everything()) == ["made", "made/b.txt"]


def test_a_copy_that_is_damaged_is_not_put_back(shop: Workshop):
    shop.write("a.txt", "one")
    shop.apply(an_edit("a.txt", "one", "two"))
    (shop.store / "kept" / "set" / "before" / "0").write_text("0ne")

    with pytest.raises(EditError, match=r"what was kept of `a\.txt` in .* is not what it was"):
        shop.undo()

    assert shop.read("a.txt") == b"two"


@pytest.mark.parametrize("set_id", ["unknown", "../kept/set", ""])
def test_an_unknown_set_is_refused(shop: Workshop, set_id: str):
    shop.write("a.txt", "one")
    shop.apply(an_edit("a.txt", "one", "two"))

    with pytest.raises(EditError, match=r"there is no set `unknown`|is no id"):
        shop.undo(set_id)


def test_putting_back_is_done_as_one(shop: Workshop, monkeypatch: pytest.MonkeyPatch):
    for name in ("a.txt", "b.txt"):
        shop.write(name, "one")
    shop.apply(
        an_edit("a.txt", "one", "two"), an_edit("b.txt", "one", "two"), an_edit("d/c", "", "new")
    )
    after = shop.everything()
    real = os.fsync
    for at in range(1, 40):
        left = iter(range(1, at))

        def failing(file: int, *, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise OSError(errno.EIO, "the disk fails")
            real(file)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing)
            try:
                shop.undo()
                break
            except EditError:
                pass
        recover(shop.store)
        assert shop.everything() == after
    else:
        raise AssertionError("it never succeeds")
    assert list(shop.everything()) == ["a.txt", "b.txt"]
