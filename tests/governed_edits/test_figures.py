"""What is judged, spent and recorded is what the plan counts, whatever the files look like."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from gates.policies import gates_with
from governed_edits.workbench import Workbench, an_edit
from interlock import EditAnswer, FileEdit, Run
from interlock.edits.edit_plan import plan_edits
from interlock.model.edit import EditSet
from interlock.model.events import ActionJudged, ActionObserved
from interlock.model.facts import Layer
from interlock.policy.actions.inspection import inspect
from interlock.policy.evidence.changed_lines import edits_of
from interlock.secrets.credential_rules import Form
from interlock.service.records.edit_sets import planned_action
from secret_generator import examples_of
from secret_packs import RULES
from service.ledgers import everything_stored

_LINES = st.lists(
    st.sampled_from(["a", "b", "  a", "}", "", "x = 1", "é", "a\fb", "a\u2028b", "\x85"]),
    min_size=1,
    max_size=12,
)
_ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def _changes(draw: st.DrawFn) -> tuple[dict[str, str], list[FileEdit]]:
    """Draw files, and edits of whole lines in them that are numbered, so that each is unique."""
    files: dict[str, str] = {}
    edits: list[FileEdit] = []
    for name in draw(st.sets(st.sampled_from(["a", "b", "c"]), min_size=1)):
        lines = [f"{number:02} {line}" for number, line in enumerate(draw(_LINES))]
        ending = draw(_ENDINGS)
        files[name] = ending.join(lines) + draw(st.sampled_from(["", ending]))
        chosen = draw(st.sets(st.integers(0, len(lines) - 1), min_size=1))
        for number in sorted(chosen):
            new = "\n".join(draw(st.lists(st.sampled_from([*lines, "new", "}"]), max_size=4)))
            if new != lines[number]:
                edits.append(an_edit(name, lines[number], new))
    return files, edits


@given(_changes())
@examples(50, soak=2000)
def test_the_action_says_exactly_what_the_plan_does(
    drawn: tuple[dict[str, str], list[FileEdit]],
) -> None:
    files, edits = drawn
    if not edits:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_bytes(text.encode())
        wanted = EditSet(edits=tuple(edits))
        planned = plan_edits(wanted, workspace=Path(folder))

    inspection = inspect(planned_action(planned, wanted), gates_with(""))
    carried = {each.path: each for each in edits_of(inspection)}
    assert {name: each.changed for name, each in carried.items()} == {
        file.target: file.changed_lines for file in planned.plan.files
    }


def _observed(bench: Workbench) -> ActionObserved:
    observed = bench.events(ActionObserved)[-1]
    assert isinstance(observed, ActionObserved)
    return observed


def _adds_up(bench: Workbench, told: EditAnswer) -> None:
    observed, judged = _observed(bench), bench.events(ActionJudged)[-1]
    assert told.plan is not None
    assert isinstance(judged, ActionJudged)
    assert sum(change.added for change in observed.changes) == told.plan.added
    assert sum(change.removed for change in observed.changes) == told.plan.removed
    assert judged.facts.asked.diff_lines == told.plan.changed_lines
    assert observed.spent.diff_lines == told.plan.changed_lines
    assert observed.spent.storage_bytes == judged.facts.asked.storage_bytes


@pytest.mark.parametrize(
    ("content", "edits"),
    [
        pytest.param("a\nb\nc\nd\n", [("a\n", ""), ("d\n", "d\na\n")], id="a-line-moves"),
        pytest.param("a\nb\nc\n", [("a\nb", "b\na")], id="two-lines-are-swapped"),
        pytest.param("a = 1; b = 2\n", [("1", "3"), ("2", "4")], id="twice-in-one-line"),
        pytest.param("a\nb", [("b", "b\n")], id="the-last-line-ends"),
        pytest.param("a\n\n\nb\n", [("a\n", "a\n\n\n"), ("b", "c")], id="blank-lines"),
        pytest.param("a\fb\nc\n", [("c", "d\fe\x85f")], id="odd-breaks"),
    ],
)
def test_what_is_recorded_adds_up(
    small_bench: Workbench, content: str, edits: list[tuple[str, str]]
) -> None:
    small_bench.write("a.txt", content)

    told = small_bench.apply(*[an_edit("a.txt", old, new) for old, new in edits])

    assert told.allowed
    _adds_up(small_bench, told)
    assert small_bench.replays_identically()


def test_what_is_too_large_to_be_kept_still_adds_up(small_bench: Workbench) -> None:
    small_bench.policy = "[limits]\ncontent-bytes = 1200\n"

    told = small_bench.apply(*[an_edit(f"{name}.txt", "", "some words\n" * 60) for name in "abc"])

    assert told.allowed
    _adds_up(small_bench, told)
    assert [change.path for change in _observed(small_bench).changes] == ["a.txt", "b.txt", "c.txt"]


def _secret() -> str:
    rule = next(rule for rule in RULES if rule.form is Form.TOKEN)
    return examples_of(rule, 7)[0].strip()


_LETS_SECRETS_PASS = '[secrets]\ndecision = "warn"\n'


@pytest.mark.parametrize("policy", ["", _LETS_SECRETS_PASS], ids=["refused", "let-pass"])
def test_no_secret_is_kept_or_told(small_bench: Workbench, policy: str) -> None:
    small_bench.policy = policy
    secret = _secret()
    small_bench.write(f"{secret}/a.txt", f"before = '{secret}'\n")

    told = [
        small_bench.apply(an_edit(f"{secret}/a.txt", "before", "after"), key=secret),
        small_bench.apply(an_edit("b.txt", "", f"key = '{secret}'\nother\n")),
    ]
    with small_bench.resumed() as run:
        told.append(_looked_at(run, secret))
    with small_bench.opened() as interlock:
        stored = everything_stored(interlock.ledger)

    assert [each.allowed for each in told] == [bool(policy), bool(policy), False]
    assert secret.encode() not in stored
    for each in told:
        assert secret.encode() not in msgspec.json.encode(each)
    if policy:
        assert f"after = '{secret}'\n" in small_bench.text(f"{secret}/a.txt")
        _adds_up(small_bench, told[1])
        undone = small_bench.undo(told[0].undo_id)
        assert secret not in " ".join(undone)
        assert f"before = '{secret}'\n" in small_bench.text(f"{secret}/a.txt")
    assert small_bench.replays_identically()


def _looked_at(run: Run, secret: str) -> EditAnswer:
    return run.apply_edits([an_edit(f"{secret}/new.txt", "", secret)], dry_run=True)


def test_the_least_sure_of_several_ways_counts(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nif  x:\n    go(1, 2, 3, 4, 5, 6)\nend = 1\n")
    edits = EditSet(
        edits=(
            an_edit("a.py", "x = 1", "x = 2"),
            an_edit("a.py", "if x:", "if not x:"),
            an_edit("a.py", "    go(1, 2, 3, 4, 5, 7)\n", "    stop()\n"),
            an_edit("a.py", "end = 1", "end = 2"),
        )
    )

    planned = plan_edits(edits, workspace=tmp_path)

    # The last two are neighbours, so that they are told as one change.
    told = [(lines.removed, lines.layer) for lines in planned.changed_lines()]
    assert told == [
        ("x = 1\n", Layer.EXACT),
        ("if  x:\n", Layer.WHITESPACE),
        ("    go(1, 2, 3, 4, 5, 6)\nend = 1\n", Layer.FUZZY),
    ]
