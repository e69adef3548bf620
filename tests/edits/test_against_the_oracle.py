"""Whatever the files and the edits are, the result is what a plain reading of them says."""

from __future__ import annotations

import codecs
import re
import shutil
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from edits.oracle import ENDINGS, Edit, expected
from edits.workshop import Workshop, an_edit
from effort import examples
from interlock.errors import EditError

MARKS = {
    "utf-8": (b"", "utf-8"),
    "bom": (codecs.BOM_UTF8, "utf-8"),
    "le": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "be": (codecs.BOM_UTF16_BE, "utf-16-be"),
}
WORDS = [
    "a",
    "b",
    "ab",
    "count",
    "größe",
    "𝛑",
    "\u2028",
    "\x0b",
    "x == 1",
    "e\u0301",
    "the quick fox",
]


# Made once: a strategy that is made for each word takes longer than what it draws.
_BLANKS = st.sampled_from([" ", "  ", "\t", "", ", "])
_FEW_WORDS = st.lists(st.tuples(st.sampled_from(WORDS), _BLANKS).map("".join), max_size=5)
_ENDINGS = [
    st.sampled_from(each) for each in (("\n",), ("\r\n",), ("\r",), ("\n", "\r\n"), ENDINGS)
]
_YES = st.booleans()
_FORMS = st.sampled_from(sorted(MARKS))


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line that does not begin with a blank: moving with the indentation has its own rows."""
    return "".join(draw(_FEW_WORDS)).lstrip(" \t\x0b\u2028")


_FEW_LINES = st.lists(lines(), max_size=10)
_KIND_OF_ENDING = st.sampled_from(_ENDINGS)


@st.composite
def texts(draw: st.DrawFn) -> str:
    ending = draw(_KIND_OF_ENDING)
    text = "".join(line + draw(ending) for line in draw(_FEW_LINES))
    return text if draw(_YES) else text.rstrip("\r\n")


_TEXTS = texts()
_KINDS = st.sampled_from(["part", "part", "part", "lines", "alike", "any"])


@st.composite
def edits_of(draw: st.DrawFn, text: str) -> Edit:
    kind = draw(_KINDS)
    if kind == "part" and text:
        start = draw(st.integers(0, len(text) - 1))
        old = text[start : start + draw(st.integers(1, 30))]
        # What is looked for and not found as it is must not begin with blanks.
        old = old.lstrip(" \t\x0b\u2028") or "a"
    else:
        some = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        first = draw(st.integers(0, len(some) - 1))
        chosen = some[first : first + draw(st.integers(1, 4))]
        if kind != "any":
            chosen = [draw(_disturbed(line, alike=kind == "alike")) for line in chosen]
        old = "\n".join(chosen) + draw(st.sampled_from(["", "\n"]))
        old = old.lstrip(" \t\x0b\u2028") or "b"
    if draw(_YES):
        old = old.replace("\r\n", "\n")
    return Edit(old, draw(_TEXTS), draw(_YES))


@st.composite
def _disturbed(draw: st.DrawFn, line: str, *, alike: bool) -> str:
    line = line.replace(" ", draw(st.sampled_from([" ", "  ", "\t"])))
    if alike and line:
        at = draw(st.integers(1, len(line)))
        line = line[:at] + draw(st.sampled_from(["", "q"])) + line[at + 1 :]
    return line + draw(st.sampled_from(["", " "]))


@st.composite
def slices_of(draw: st.DrawFn, text: str) -> list[Edit]:
    """Several edits of parts of a text that do not overlap."""
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=10)))
    parts = [text[start:end] for start, end in pairwise(cuts)]
    chosen = [part for part in parts if part.strip() and draw(_YES)]
    return [Edit(part, draw(_TEXTS), replace_all=False) for part in chosen]


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[Edit], str]:
    text = draw(_TEXTS)
    if len(text) > 10 and draw(_YES):
        edits = draw(slices_of(_numbered(text)))
        text = _numbered(text)
    else:
        edits = draw(st.lists(edits_of(text), min_size=1, max_size=3))
    return text, edits or [Edit("b", "c", replace_all=True)], draw(_FORMS)


def _numbered(text: str) -> str:
    """Return a text in which nothing of some length stands twice."""
    pieces = re.findall("[^\r\n]{1,4}|\r\n|\r|\n", text)
    return "".join(
        piece if piece in ENDINGS else f"{number}#{piece}" for number, piece in enumerate(pieces)
    )


def planned(shop: Workshop, text: str, edits: list[Edit], form: str) -> bytes | None:
    mark, codec = MARKS[form]
    shop.write("a.txt", mark + text.encode(codec))
    asked = [an_edit("a.txt", edit.old, edit.new, replace_all=edit.replace_all) for edit in edits]
    try:
        return shop.plan(*asked).contents["a.txt"]
    except EditError:
        return None


@given(case=cases())
@examples(50, soak=10_000)
def test_a_plan_is_what_a_plain_reading_says(case: tuple[str, list[Edit], str]):
    text, edits, form = case
    mark, codec = MARKS[form]
    if not text:
        return
    with tempfile.TemporaryDirectory() as folder:
        result = planned(Workshop(Path(folder)), text, edits, form)

    wanted = expected(text, edits)
    assert result == (None if wanted is None else mark + wanted.encode(codec))


@given(case=cases())
@examples(15, soak=300)
def test_applying_gives_the_plan_and_undoing_gives_the_original(
    case: tuple[str, list[Edit], str],
):
    text, edits, form = case
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        content = planned(shop, text, edits, form)
        before = shop.everything()
        if content is None:
            return
        shop.apply(
            *(an_edit("a.txt", edit.old, edit.new, replace_all=edit.replace_all) for edit in edits)
        )

        assert shop.read("a.txt") == content
        shop.undo()
        assert shop.everything() == before


@given(case=cases())
@examples(20, soak=1000)
def test_the_diff_turns_one_text_into_the_other(case: tuple[str, list[Edit], str]):
    text, edits, _ = case
    text = text.replace("\r\n", "\0").replace("\r", "\n").replace("\0", "\r\n")
    edits = [
        edit._replace(new=edit.new.replace("\r\n", "\n").replace("\r", "\n")) for edit in edits
    ]
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        shop.write("a.txt", text)
        try:
            plan = shop.plan(
                *(
                    an_edit("a.txt", edit.old, edit.new, replace_all=edit.replace_all)
                    for edit in edits
                )
            )
        except EditError:
            return
        patched = apply_diff(shop, plan.unified_diff())
        assert patched == plan.contents["a.txt"]
        signs = [line[:1] for line in plan.unified_diff().split("\n")[2:]]
        assert (signs.count("+"), signs.count("-")) == (plan.plan.added, plan.plan.removed)


def apply_diff(shop: Workshop, diff: str) -> bytes:
    git = shutil.which("git")
    assert git is not None
    subprocess.run(
        [git, "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        input=diff.encode(),
        cwd=shop.root,
        check=True,
        capture_output=True,
    )
    file = shop.root / "a.txt"
    return file.read_bytes() if file.exists() else b""
