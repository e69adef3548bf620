"""How `review`, `verdict`, `choose` and `reviews` are called: input, output, and terminals."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from cli.asking import as_person, interlock, interlock_process, program, without_colour
from cli.reviewing import a_reviewed_run
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess

GATES = '["tests", {"id": "names", "criteria": ["they explain themselves"], "mode": "blocking"}]'


def test_the_same_key_counts_once(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        interlock("review", "open", at.run.id, "merge", "tests")
        first = interlock("review", "submit", at.run.id, "PASS - fine", "--key", "k1", "--json")
        again = interlock("review", "submit", at.run.id, "PASS - fine", "--key", "k1", "--json")
        shown = interlock("review", "submit", at.run.id, "PASS - fine", "--key", "k1")

        one, two = json.loads(first.stdout), json.loads(again.stdout)
        assert (one["repeated"], two["repeated"]) == (False, True)
        assert one["seq"] == two["seq"]
        assert "nothing was run or counted again" in shown.stdout
        assert at.run.state.reviews.pending["merge"].review.attempt_count == 1


def test_a_reply_counts_only_where_it_is_marked(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        at.mend()
        interlock("review", "open", at.run.id, "merge", "tests")
        bare = interlock("review", "submit", at.run.id, "--reply", stdin="PASS - it is fine")
        marked = interlock(
            "review", "submit", at.run.id, "-", "--reply", stdin="GATE PASS - it is fine"
        )

        assert (bare.exit_code, marked.exit_code) == (4, 0)
        assert "the verdict could not be read" in bare.stdout


def test_programs_get_everything(place: str, empty_place: Path) -> None:
    verdict = {
        "overall": "FAIL",
        "rationale": "too long",
        "per_gate": [{"gate": "style", "passed": False, "rationale": "long"}],
    }
    with a_reviewed_run(place, empty_place) as at:
        opened = json.loads(
            interlock("review", "open", at.run.id, "merge", "tests", "style", "--json").stdout
        )
        answered = json.loads(
            interlock("review", "submit", at.run.id, "--json", stdin=json.dumps(verdict)).stdout
        )
        interlock("review", "submit", at.run.id, "FAIL - no")
        [shown] = json.loads(interlock("review", "list", "--json").stdout)
        [same] = json.loads(interlock("review", "list", at.run.id, "--json").stdout)
        run = json.loads(interlock("show", at.run.id, "--json").stdout)
        chosen = json.loads(as_person("review", "resolve", at.question, "skip", "--json").stdout)

        assert (opened["review"]["id"], opened["repeated"]) == ("merge", False)
        assert answered["decision"] == answered["detail"]["outcome"] == "retry"
        assert [each["witness"] for each in answered["coverage"]] == ["against", "verdict"]
        assert shown == same == run["reviews"]
        [pending] = shown["pending"]
        assert (pending["attempts_used"], pending["waits_for"]) == (2, "choice")
        assert pending["choices"] == ["retry", "skip", "abort"]
        assert pending["commands"][0].startswith("interlock review resolve ")
        assert run["run"]["pending_reviews"] == ["merge"]
        assert chosen["decision"] == "advance"


def test_gates_can_be_made_for_the_occasion(place: str, empty_place: Path, tmp_path: Path) -> None:
    file = tmp_path / "gates.json"
    file.write_text(GATES)
    with a_reviewed_run(place, empty_place) as at:
        from_file = interlock("review", "open", at.run.id, "one", "--gates-json", str(file))
        from_stdin = interlock("review", "open", at.run.id, "two", "--gates-json", "-", stdin=GATES)
        again = interlock("review", "open", at.run.id, "two", "--gates-json", "-", stdin=GATES)

        assert (from_file.exit_code, from_stdin.exit_code) == (0, 0)
        assert "The gates: [1] tests [2] names" in " ".join(from_file.stdout.split())
        assert again.stdout.startswith("PENDING  it is pending already")
        assert at.run.state.reviews.pending["two"].review.gate_ids == ("tests", "names")


def test_every_criterion_is_shown_if_asked_for(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        few = interlock("review", "open", at.run.id, "merge", "tests", "style")
        every = interlock("review", "open", at.run.id, "merge", "tests", "style", "--all-hints")

        assert ("no dead code" in few.stdout, "no dead code" in every.stdout) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "stdin", "told"),
    [
        (
            ["review", "open", "RUN", "merge"],
            "",
            "name at least one gate: the policy of this ledger has",
        ),
        (["review", "open", "RUN", "merge", "nope"], "", "the policy has no review gate `nope`"),
        (["review", "open", "RUN", "completion", "tests"], "", "name it otherwise"),
        (["review", "open", "RUN", "7", "tests"], "", "with a letter among them"),
        (["review", "open", "RUN", "a", "--gates-json", "-"], "{", "the gates are not JSON"),
        (
            ["review", "open", "RUN", "a", "--gates-json", "-"],
            '{"id": "x"}',
            "the gates are no list",
        ),
        (
            ["review", "open", "RUN", "a", "--gates-json", "-"],
            "[1]",
            "gate 0 is neither a name nor a table",
        ),
        (
            ["review", "open", "RUN", "a", "--gates-json", "-"],
            '[{"id": "x", "cheque": 1}]',
            "`cheque`",
        ),
        (
            ["review", "open", "RUN", "a", "--gates-json", "-"],
            "[" * 2**20 + "]",
            "longer than 1048576",
        ),
        (["review", "open", "nobody", "a", "tests"], "", "there is no run `nobody`"),
        (["review", "submit", "RUN", "PASS - x"], "", "is pending in run"),
        (["review", "submit", "RUN"], "x" * (2**20 + 1), "longer than 1048576"),
        (["review", "resolve", "RUN"], "", "expected one of `retry`, `skip`, `abort`"),
        (["review", "resolve", "--review", "merge", "a", "skip"], "", "expected `[APPROVAL]"),
        (["review", "resolve", "RUN", "nix"], "", "expected one of `retry`, `skip`, `abort`"),
        (["review", "resolve", "nobody", "skip"], "", "there is no approval `nobody`"),
        (["review", "resolve", "--run", "RUN", "skip"], "", "is pending in run"),
        (["review", "list", "nobody"], "", "there is no run `nobody`"),
    ],
)
def test_what_cannot_be_meant_is_told(
    arguments: list[str], stdin: str, told: str, place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        words = [at.run.id if word == "RUN" else word for word in arguments]
        result = as_person(*words, stdin=stdin)

        assert result.exit_code == 2
        assert told in result.stderr
        assert result.stdout == ""


def test_what_a_check_prints_cannot_draw_on_the_terminal(place: str, empty_place: Path) -> None:
    with a_reviewed_run(place, empty_place) as at:
        (at.folder / "check.sh").write_text("printf 'a\\033[2Jb\\n'; exit 1\n")
        interlock("review", "open", at.run.id, "merge", "tests", "--subject", "a\x1b[2Jb")
        shown = [
            interlock("review", "submit", at.run.id, "FAIL - a\x1b[2Jb").stdout,
            interlock("review", "list", at.run.id).stdout,
            interlock("show", at.run.id, "--all").stdout,
            interlock("watch", at.run.id, "--once").stdout,
        ]

        assert [text for text in shown if "\x1b" in text] == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_nothing_is_wider_than_the_terminal(
    width: int, place: str, empty_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with a_reviewed_run(place, empty_place) as at:
        shown = [
            interlock(
                "review", "open", at.run.id, "merge", "tests", "style", "--subject", "form " * 40
            ),
            interlock("review", "submit", at.run.id, f"PASS - {'all good ' * 30}"),
            interlock("review", "submit", at.run.id, f"FAIL - {'not good ' * 30}"),
            interlock("review", "list"),
            interlock("approvals"),
            interlock("watch", at.run.id, "--once"),
            as_person("review", "resolve", at.question, "retry", "--instructions", "look " * 50),
        ]

        widest = [max(map(len, each.stdout.splitlines())) for each in shown]
        assert [each for each in widest if each > width] == []


def test_a_terminal_sees_that_checks_are_run_and_a_pipe_does_not(
    place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        interlock("review", "open", at.run.id, "merge", "tests")
        ours, theirs = pty.openpty()
        with PythonProcess[bytes](
            program(["review", "submit", at.run.id, "PASS - fine"]),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=without_colour(),
        ) as process:
            os.close(theirs)
            printed, _ = process.communicate(timeout=LONG_ENOUGH_S)
        seen = os.read(ours, 65536).decode()
        os.close(ours)
        piped = interlock_process("review", "submit", at.run.id, "PASS - fine")

        assert (process.returncode, piped.returncode) == (4, 3)
        assert "running the checks of tests" in seen
        assert b"running the checks" not in printed
        assert piped.stderr == b""


def test_a_verdict_is_expected_of_somebody_who_sits_at_a_terminal(
    place: str, empty_place: Path
) -> None:
    with a_reviewed_run(place, empty_place) as at:
        ours, theirs = pty.openpty()
        done = interlock_process("review", "submit", at.run.id, stdin=theirs)
        os.close(theirs)
        os.close(ours)

        assert done.returncode == 2
        assert b"expected the verdict as TEXT, or on stdin" in done.stderr
