"""Whatever is let through because it can be put back comes back, byte for byte.

The commands are really run, by a real shell, on random files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import examples
from interlock.model.action import CommandAction
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.undo_eligibility import touched_by
from interlock.service.records.context import Context
from interlock.service.records.undo_snapshot import snapshot_of
from service.ledgers import in_memory
from undo_snapshots.workplace import POLICY, Workplace

_names = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="/"), min_size=1, max_size=5
).filter(lambda name: name not in {".", ".."})
_files = st.tuples(st.just("file"), st.binary(max_size=50), st.sampled_from([0o400, 0o644, 0o755]))
_links = st.tuples(st.just("link"), st.sampled_from(["..", "/nowhere", "a/b", "."]), st.just(0))
_folders = st.tuples(st.just("folder"), st.none(), st.sampled_from([0o700, 0o755, 0o711]))
_trees = st.dictionaries(
    st.lists(_names, min_size=1, max_size=3).map("/".join),
    st.one_of(_files, _links, _folders),
    max_size=8,
)


Tree = dict[str, tuple[str, object, int]]


@contextmanager
def _workplace() -> Generator[tuple[Workplace, Context]]:
    with tempfile.TemporaryDirectory() as folder, in_memory(POLICY) as interlock:
        place = Workplace(Path(folder) / "here")
        yield place, replace(interlock.governor.context, undo_store=place.store)


def _plant(root: Path, tree: Tree) -> None:
    """Make what can be made: where a file stands, no folder can stand as well."""
    for path, (kind, content, mode) in sorted(tree.items()):
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                place.symlink_to(str(content))
            elif kind == "folder":
                place.mkdir(mode=mode)
            else:
                assert isinstance(content, bytes)
                place.write_bytes(content)
                place.chmod(mode)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue


def _allowed(place: Workplace, context: Context, line: str) -> str | None:
    """Return what puts a line back, where it would be let through."""
    action = CommandAction(command=line, cwd=str(place.root))
    touches = touched_by(inspect(action, context.policy))
    copied = snapshot_of(context, str(place.root), touches).snapshot
    return None if copied is None else copied.id


@pytest.mark.soak
@examples(30, soak=2000)
@given(_trees, _trees)
def test_a_deleted_tree_comes_back_whatever_was_in_it(build: Tree, old: Tree):
    with _workplace() as (place, context):
        _plant(place.root / "build", build)
        _plant(place.root / "src" / "old", old)
        before = place.everything()

        undo_id = _allowed(place, context, "rm -rf build src/old")
        place.run("rm -rf build src/old")
        assert not (place.root / "build").exists()
        assert not (place.root / "src" / "old").exists()
        place.restore(undo_id)

        assert place.everything() == before


_WORDS = """
    a b d d/a d/e d/e/b l l/a m n n/p o z h new new/a ./a d/ l/ d/../b l/../b ../outside/p n/
    """.split()
_FORMS = """
    rm -rf {}; rm -rf {} {}; rm -r {}; rm {}; unlink {}; rmdir {}; mv {} {}; mv -f {} {} {};
    cp {} {}; cp -p {} {} {}; cp -r {} {}; ln -s {} {}; ln -sf {} {}; mkdir {}; mkdir -p {};
    echo hi > {}; echo hi >> {}; echo hi &> {}; echo hi >| {}; echo hi | tee {} {}; > {};
    sort < {} > {}; truncate -s 1 {}; sed -i s/a/x/ {}; ls {}; cat {}; cd {}; true; false
    """.split(";")
_BEGINNINGS = ["", "", "", "cd d && ", "cd l; ", "cd n && ", "cd new; "]


@st.composite
def _lines(draw: st.DrawFn) -> str:
    """Lines of a few commands that get in each other's way, most of which would be let through."""
    words = st.sampled_from(draw(st.lists(st.sampled_from(_WORDS), min_size=2, max_size=3)))
    line = draw(st.sampled_from(_BEGINNINGS))
    for at in range(draw(st.integers(1, 3))):
        form = draw(st.sampled_from(_FORMS)).strip()
        joint = draw(st.sampled_from(["; ", " && ", " || ", " | ", " & ", "\n"])) if at else ""
        line += joint + form.format(*[draw(words) for _ in range(form.count("{}"))])
    return f"{line}\nwait"


def _furnish(place: Workplace) -> None:
    """Make a file of every kind: links to files, to folders, out of the workspace, to nothing."""
    (place.outside / "p").write_text("outside")
    for path in ("a", "b", "d/a", "d/e/b", "c"):
        place.write(path, f"a file named {path}\n", mode=0o640)
    (place.root / "h").hardlink_to(place.root / "c")
    for name, leads_to in {
        "l": "d",
        "m": "a",
        "n": "../outside",
        "o": "../outside/p",
        "z": "x",
    }.items():
        (place.root / name).symlink_to(leads_to)


@pytest.mark.soak
@examples(60, soak=5000)
@given(_lines())
@example("mv l new; rm -rf new/a")
@example("ln -s d new; rm -rf new/a")
@example("cd new; rm -rf a")
@example("echo hi > h")
@example("echo hi > o")
@example("rm -rf l/ n/")
@example("cp b m")
@example("mv d/a l/../b")
@example("cd l && rm -rf ../b e")
def test_nothing_is_lost_by_a_line_that_is_let_through(line: str):
    with _workplace() as (place, context):
        _furnish(place)
        before = place.everything()

        undo_id = _allowed(place, context, line)
        event("let through" if undo_id else "asked")
        if undo_id is None:
            return
        place.run(line)
        place.restore(undo_id)

        after = place.everything()
        assert {path: after.get(path) for path in before} == before
