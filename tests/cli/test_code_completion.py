"""Tab behind a command that wants a code: what is open, by the real program and a real bash."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.asking import completed_by_bash
from cli.control import a_stuck_run
from cli.ledgers import a_question, a_run, a_story
from cli.stage import a_stage
from cli.test_loop_log import ADVICE, recommend
from interlock import Interlock
from interlock.model.short_code import code_of
from warm_python import run_python


def offered(*words: str, shell: str = "zsh") -> dict[str, str]:
    """Return what the program offers for the last word, each with its help."""
    typed = "interlock " + " ".join(words)
    place = words[-1] if shell == "fish" else str(len(words))
    done = run_python(
        *("-m", "interlock"),
        environment={
            **os.environ,
            "COMP_WORDS": typed,
            "COMP_CWORD": place,
            "_INTERLOCK_COMPLETE": f"{shell}_complete",
        },
    )
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    if shell == "zsh":
        return dict(zip(lines[1::3], lines[2::3], strict=True))
    found = [line.partition(",")[2].partition("\t") for line in lines]
    return {value: text for value, _, text in found}


@pytest.mark.parametrize("command", ["approve", "deny"])
def test_open_questions_are_offered_by_their_codes(command: str, place: str) -> None:
    with a_question(place) as asked:
        assert offered(command, "") == {code_of(asked): "git push --force origin topic"}
        assert offered(command, code_of(asked), "") == {}
        assert offered(command, "zz") == {}


def test_what_was_typed_goes_on_as_it_is(place: str) -> None:
    story = a_story(place)
    code = code_of(story.checkout)

    small = code[:3].lower()
    assert list(offered("show", small)) == [small + code[3:]]
    assert story.checkout in offered("show", story.checkout[:30])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_codes_and_those_that_show_it_help(shell: str, place: str) -> None:
    story = a_story(place)

    found = offered("show", "", shell=shell)

    text = "claude: fix the checkout: totals are off by one cent"
    assert found[code_of(story.checkout)] == ("" if shell == "bash" else text)
    assert len(found) == 3


def test_runs_are_offered_where_they_can_be_meant(place: str) -> None:
    story = a_story(place)
    at_work, known = [story.checkout], [story.checkout, story.history, story.changelog]
    codes = {each: code_of(each) for each in known}

    for words in (["halt"], ["run", "step"], ["run", "exec", "--run"], ["check", "--run"]):
        assert list(offered(*words, "")) == [codes[each] for each in at_work]
    for words in (["show"], ["explain"], ["watch"], ["tail"], ["verify"], ["checkpoint", "list"]):
        assert set(offered(*words, "")) == set(codes.values())
    assert offered("resume", "") == {}


def test_only_held_runs_can_be_resumed(place: str) -> None:
    with a_stuck_run(place) as stuck:
        assert offered("resume", "") == {code_of(stuck.run.id): "claude: escape the quotes"}


def _review(folder: Path, place: str, stack: ExitStack) -> tuple[list[str], str]:
    stage = stack.enter_context(a_stage(["review", "resolve"], place, folder))
    return ["review", "resolve"], next(value for key, value in stage.ids.items() if key[0] == "K")


def _undo(folder: Path, place: str, stack: ExitStack) -> tuple[list[str], str]:
    stage = stack.enter_context(a_stage(["undo"], place, folder))
    return ["undo"], next(iter(stage.ids.values()))


def _checkpoint(folder: Path, place: str, stack: ExitStack) -> tuple[list[str], str]:
    stage = stack.enter_context(a_stage(["checkpoint"], place, folder))
    return ["checkpoint", "restore"], next(v for key, v in stage.ids.items() if key[0] == "N")


def _recommendation(_folder: Path, place: str, _stack: ExitStack) -> tuple[list[str], str]:
    recommend(place)
    return ["recommendations", "apply"], ADVICE.id


@pytest.mark.parametrize(
    ("set_up", "text"),
    [
        (_review, "before-merge"),
        (_undo, "edits: app.py"),
        (_checkpoint, "step 2"),
        (_recommendation, "git.push-force: asked 14 times"),
    ],
)
def test_so_is_whatever_else_has_a_code(
    set_up: Callable[[Path, str, ExitStack], tuple[list[str], str]],
    text: str,
    place: str,
    empty_place: Path,
) -> None:
    with ExitStack() as stack:
        words, wanted = set_up(empty_place, place, stack)
        found = offered(*words, "")

    assert text in found[code_of(wanted)]


def test_a_review_is_followed_by_what_can_be_chosen(place: str, empty_place: Path) -> None:
    with ExitStack() as stack:
        words, wanted = _review(empty_place, place, stack)

        assert list(offered(*words, "")) == [code_of(wanted), "retry", "skip", "abort"]
        assert list(offered(*words, code_of(wanted), "")) == ["retry", "skip", "abort"]


@pytest.mark.parametrize("content", [None, b"", b"no ledger at all"])
def test_without_a_ledger_nothing_is_offered_and_nothing_is_made(
    content: bytes | None, place: str
) -> None:
    folder = Path(place).parent
    if content is not None:
        folder.mkdir()
        Path(place).write_bytes(content)
    before = sorted(folder.parent.rglob("*"))

    for words in (["approve"], ["show"], ["undo"], ["resume"], ["checkpoint", "restore"]):
        assert offered(*words, "") == {}
    assert sorted(folder.parent.rglob("*")) == before


def test_nothing_is_written_by_it(place: str) -> None:
    a_story(place)
    folder = Path(place).parent.parent

    def files() -> dict[Path, bytes]:
        return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}

    before = files()
    for words in (["approve"], ["show"], ["resume"], ["undo"], ["checkpoint", "restore"]):
        offered(*words, "")
    assert files() == before


def test_another_ledger_is_looked_into_where_the_line_names_it(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = a_story(place)
    monkeypatch.setenv("INTERLOCK_LEDGER", str(tmp_path / "nowhere.db"))

    assert code_of(story.checkout) in offered("show", "--ledger", place, "")
    assert offered("show", "--ledger", "postgresql://127.0.0.1:1/none", "") == {}


def test_help_is_one_line_that_draws_nothing(place: str) -> None:
    with Interlock.open(place) as interlock:
        run = a_run(interlock, "first, second\n\x1b[2Jthird\tfourth " + "long " * 30)

        for shell in ("zsh", "fish"):
            [text] = offered("halt", "", shell=shell).values()
            assert text.startswith("claude: first, second")
            assert "\x1b" not in text
            assert len(text) <= 70
        assert list(offered("halt", "")) == [code_of(run.id)]


def test_bash_itself_completes_a_code(place: str) -> None:
    with a_question(place) as asked:
        done = completed_by_bash("interlock", "approve", "")

    assert (done.stdout.split(), done.stderr) == ([code_of(asked)], "")
