"""A policy file with other values under a few keys, and as it was before."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from effort import examples
from interlock.errors import InputError, PolicyError
from interlock.model.recommendation import PatchOperation
from interlock.policy.config.complaints import is_list, is_table
from interlock.service.policies.policy_files import default_policy_text
from interlock.service.policies.policy_patch import located, patched, unpatched

FILE = """\
# what we agreed on
version = 1

[steps] # the run
max-slope-percent = 2   # careful
delay-ms = 0x1388

# commands
[destructive-ops.rules]
"git.push-force" = "block" # never
'git.reset-hard' = 'warn'
"""


def operation(*path: str, value: str, before: str | None = None) -> PatchOperation:
    return PatchOperation(path=path, value=value, before=before)


def test_everything_around_a_value_stays() -> None:
    patch = [
        operation("steps", "max-slope-percent", value="25"),
        operation("destructive-ops", "rules", "git.push-force", value='"warn"'),
        operation("destructive-ops", "rules", "git.clean", value='"allow-with-undo"'),
        operation("diff-size", "decision", value='"warn"'),
    ]

    assert patched(FILE, patch) == snapshot("""\
# what we agreed on
version = 1

[steps] # the run
max-slope-percent = 25   # careful
delay-ms = 0x1388

# commands
[destructive-ops.rules]
"git.push-force" = "warn" # never
'git.reset-hard' = 'warn'
"git.clean" = "allow-with-undo"

[diff-size]
decision = "warn"
""")


@pytest.mark.parametrize(
    "text",
    [
        "",
        FILE,
        FILE.replace("\n", "\r\n"),
        FILE.rstrip("\n"),
        "steps.max-slope-percent = 2",
        'steps = { max-slope-percent = 2, delay-ms = 1 }\n["destructive-ops"]\nenabled = true\n',
        "[[rules]]\nid = 'a'\n[steps]\n[[rules]]\nid = 'b'",
        "[destructive-ops.packs]\ngit = true\n[steps]\n[destructive-ops]\nenabled = true\n",
        "[steps]\nmax-slope-percent = [\n  1, # one\n  2,\n]\n",
        "destructive-ops.rules = {}\nsteps.delay-ms = 1_000\n",
        default_policy_text(),
    ],
)
def test_what_was_there_comes_back(text: str) -> None:
    patch = located(
        text,
        [
            operation("steps", "max-slope-percent", value="25"),
            operation("destructive-ops", "rules", "git.push-force", value='"warn"'),
        ],
    )

    after = patched(text, patch)

    document = tomllib.loads(after)
    assert document["steps"]["max-slope-percent"] == 25
    assert document["destructive-ops"]["rules"]["git.push-force"] == "warn"
    assert without_empty(tomllib.loads(unpatched(after, patch))) == without_empty(
        tomllib.loads(text)
    )


def test_a_file_in_which_both_keys_stood_is_the_same_to_the_byte() -> None:
    patch = located(FILE, [operation("steps", "delay-ms", value="1")])

    assert patch[0].before == "0x1388"
    assert unpatched(patched(FILE, patch), patch) == FILE


def test_what_the_patch_brought_goes_again() -> None:
    patch = [operation("destructive-ops", "rules", "git.clean", value='"warn"')]

    assert unpatched(patched("version = 1\n", patch), patch) == "version = 1\n"


def test_a_table_with_a_comment_in_it_stays() -> None:
    text = "[steps]\n# to be filled in\n"
    patch = [operation("steps", "delay-ms", value="1")]

    assert unpatched(patched(text, patch), patch) == text


@pytest.mark.parametrize(
    ("now", "complaint"),
    [
        (
            "[steps]\ndelay-ms = 2\n",
            snapshot(
                "p.toml: `steps.delay-ms` was changed since it was set to 1: put it back by hand"
            ),
        ),
        (
            "[steps]\n",
            snapshot("p.toml: `steps.delay-ms` is gone since it was set to 1: put it back by hand"),
        ),
    ],
)
def test_what_somebody_changed_since_is_left_alone(now: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        unpatched(now, [operation("steps", "delay-ms", value="1", before="5")], name="p.toml")

    assert str(caught.value) == complaint


def test_a_truth_value_is_no_number() -> None:
    with pytest.raises(InputError, match="was changed since"):
        unpatched("a.b = 1\n", [operation("a", "b", value="true")])


@pytest.mark.parametrize("change", [patched, unpatched, located])
def test_what_is_no_toml_is_not_changed(change: Callable[..., object]) -> None:
    with pytest.raises(PolicyError) as caught:
        change("[steps\n", [operation("steps", "delay-ms", value="1")], name="p.toml")

    assert caught.value.complaints == snapshot(
        ("p.toml: line 1, column 7: not TOML: expected ']' at the end of a table declaration",)
    )


@pytest.mark.parametrize(
    ("text", "patch", "complaint"),
    [
        (
            "steps = 3\n",
            operation("steps", "delay-ms", value="1"),
            snapshot("policy: `steps.delay-ms` cannot be set: `steps` is no table"),
        ),
        (
            "[[steps]]\n",
            operation("steps", "delay-ms", value="1"),
            snapshot("policy: `steps.delay-ms` cannot be set: `steps` is no table"),
        ),
        (
            "",
            operation("a", "b", value="1\nc = 2"),
            snapshot('policy: `a.b`: `"1\\nc = 2"` is no value of TOML: more than one value'),
        ),
        (
            "",
            operation("a", "b", value=""),
            snapshot('policy: `a.b`: `""` is no value of TOML: invalid value (at end of document)'),
        ),
    ],
    ids=["a number", "a list of tables", "two values", "no value"],
)
def test_what_cannot_be_set_is_told(text: str, patch: PatchOperation, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        patched(text, [patch])

    assert str(caught.value) == complaint


def test_a_whole_table_is_no_value_to_come_back_to() -> None:
    with pytest.raises(InputError, match="`steps` holds tables: name one of their keys"):
        located(FILE, [operation("steps", value="1")])


KEYS = st.sampled_from(["a", "b", "c-d", "git.push", "é", "with space", ""])
VALUES = st.sampled_from(
    ["1", "0x1F", "1_000", "1.50", "nan", "-inf", "true", '"text"', "'lit\\eral'", '"# none"']
) | st.sampled_from(
    ["1979-05-27", "07:32:00", '"""two\nlines"""', "[1, 2]", "[\n  1, # one\n  2,\n]"]
)
TABLES = st.sampled_from(["{}", "{ x = 1, y = { z = 2 } }", "[{ x = 1 }, { y = 2 }]"])
COMMENTS = st.sampled_from(["", " # why", "# close"])
GAPS = st.sampled_from(["", "\n", "\n\n", "# alone\n", "\n# alone\n\n"])
ENDS = st.sampled_from(["\n", ""])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Lines of TOML as people write them; not all of them together are a document."""
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 9))):
        path = draw(st.lists(KEYS, min_size=1, max_size=3))
        written = draw(st.sampled_from([" . ", "."])).join(map(quoted, path))
        form = draw(st.sampled_from(["{} = {}", "{} = {}", "[{}]", "[ {} ]", "[[{}]]"]))
        lines.append(draw(GAPS) + form.format(written, draw(VALUES | TABLES)) + draw(COMMENTS))
    text = "\n".join(lines) + draw(ENDS)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def quoted(part: str) -> str:
    return (
        part if part.replace("-", "").isascii() and part.replace("-", "").isalpha() else f'"{part}"'
    )


PATCHES = st.lists(
    st.builds(
        PatchOperation,
        path=st.lists(KEYS, min_size=1, max_size=3).map(tuple),
        value=VALUES,
    ),
    min_size=1,
    max_size=3,
)


@examples(60, soak=8_000)
@given(texts(), PATCHES)
def test_a_document_says_the_same_but_for_the_keys_of_the_patch(
    text: str, patch: Sequence[PatchOperation]
) -> None:
    try:
        document = tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError:
        return
    expected = deepcopy(document)
    if not all(put(expected, each) for each in patch):
        return

    after = patched(text, patch)

    assert tomllib.loads(after, parse_float=str) == expected
    assert after.endswith("\n") == (text.endswith("\n") or not text)
    assert ("\r" in after) == ("\r" in text) or "\n" not in text
    if all(found(document, each.path) is None for each in patch):
        assert is_part_of(WORDS.findall(text), WORDS.findall(after))


WORDS = re.compile(r"[^\s{},]+")


def found(document: object, path: Sequence[str]) -> object:
    for part in path:
        document = document.get(part) if is_table(document) else None
    return document


def is_part_of(some: Sequence[str], all_of_them: Sequence[str]) -> bool:
    """Whether some words stand among others, in their order."""
    rest = iter(all_of_them)
    return all(word in rest for word in some)


def put(document: dict[str, object], operation: PatchOperation) -> bool:
    """Set a key in plain tables; return False where it cannot stand there."""
    table: object = document
    for part in operation.path[:-1]:
        if not is_table(table):
            return False
        table = table.setdefault(part, {})
    *_, last = operation.path
    if not is_table(table) or holds_tables(table.get(last)):
        return False
    table[last] = tomllib.loads(f"x = {operation.value}", parse_float=str)["x"]
    return True


def holds_tables(value: object) -> bool:
    return is_table(value) or (is_list(value) and any(map(is_table, value)))


@examples(60, soak=8_000)
@given(texts(), PATCHES)
def test_whatever_was_changed_is_put_back(text: str, patch: Sequence[PatchOperation]) -> None:
    try:
        known = located(text, patch)
        after = patched(text, known)
    except (PolicyError, InputError):
        return
    if any(
        one.path[: len(other.path)] == other.path
        for one in patch
        for other in patch
        if one is not other
    ):
        return

    back = unpatched(after, known)

    assert without_empty(tomllib.loads(back, parse_float=str)) == without_empty(
        tomllib.loads(text, parse_float=str)
    )


def without_empty(value: object) -> object:
    """Return a table without tables in which nothing stands: they say nothing."""
    if not is_table(value):
        return value
    inner = {name: without_empty(each) for name, each in value.items()}
    return {name: each for name, each in inner.items() if each != {}}
