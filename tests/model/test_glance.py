"""What a value tells of itself: one line that says it, a table that no text breaks out of."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from inline_snapshot import snapshot

from gates.policies import gates_with
from interlock import Budget, CommandAction, Interlock, TokenUsage, Verdict, evaluate_command
from interlock.model.access import NewOperator
from interlock.model.answers import Answer, EditAnswer
from interlock.model.approval import Approval, Subject
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.edit import EditPlan, Encoding, FilePlan
from interlock.model.glance import Glanced, shortened
from interlock.model.review import FaultKind, GateFault, ReviewDecision, ReviewMode, ReviewOutcome
from interlock.model.run import RunState
from interlock.model.step import ContinueDecision, Sign, StepDecision, StepReason
from interlock.model.step_loop import GovernedStep
from interlock.model.stop import SignalScore, StopDecision, StopOutcome
from interlock.model.verdict import Decision, Finding, Severity
from service.ledgers import in_memory

_HOSTILE = "</td></table><script>alert(1)</script>\"'&\n\x1b[2J\u202e end"


class _Page(HTMLParser):
    """Reads a page as a browser does: which elements there are, and what stands in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs == []
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _finding(decision: Decision, text: str) -> Finding:
    return Finding(
        gate="rules",
        rule=text,
        decision=decision,
        severity=Severity.LOW,
        message=text,
        remediation=text,
        excerpt=text,
    )


def _verdict(*texts: str) -> Verdict:
    findings = tuple(map(_finding, (Decision.WARN, Decision.BLOCK), texts))
    decision = findings[-1].decision if findings else Decision.ALLOW
    return Verdict(decision=decision, findings=findings, policy_hash="p")


def _values(text: str) -> list[Glanced]:
    """Return one of each that holds words from outside, with the same in every place."""
    answer = Answer(
        run_id=text,
        action_id=text,
        decision=Decision.REQUIRE_CONFIRMATION,
        verdict=_verdict(text, text),
        approval_id=text,
        undo_id=text,
    )
    change: Any = {"target": text, "before": None, "after": "", "changes": (), "mode": None}
    file = FilePlan(path=text, added=2, removed=1, encoding=Encoding.UTF_8, **change)
    signs = (Sign(name=text, decision=StepDecision.CONTINUE, message=text, remediation=text),)
    reason = StepReason(code=text, decision=StepDecision.PAUSE, message=text, remediation=text)
    return [
        _verdict(text, text),
        answer,
        EditAnswer(answer=answer, plan=EditPlan(workspace=text, files=(file,))),
        Approval(
            id=text,
            run_id=text,
            subject=Subject.ACTION,
            digest=text,
            summary=text,
            findings=(_finding(Decision.WARN, text),),
            policy_hash=text,
            opened_at=0,
            expires_at=0,
            uses_left=1,
            decided_by=text,
            note=text,
        ),
        ContinueDecision(
            decision=StepDecision.PAUSE, reasons=(reason, reason), warnings=signs, delay_ms=1500
        ),
        StopDecision(
            goes_on=True,
            score=60,
            signals=(SignalScore(signal=text, points=1, because=text),),
            reason=text,
            outcome=StopOutcome.NUDGED,
            nudge=text,
        ),
        ReviewDecision(
            outcome=ReviewOutcome.RETRY,
            reason=text,
            faults=(
                GateFault(gate=text, mode=ReviewMode.BLOCKING, kind=FaultKind.FAILED, why=text),
            ),
            guidance=text,
        ),
        Ruling(course=Course.HALT, by=Authority.STEP, reason=text, approval=text),
        RunState(id=text, task=text, agent=text, project=text, outcome=text, pending_approvals=1),
    ]


_NAMES = [type(each).__name__ for each in _values("x")]


@pytest.mark.parametrize("index", range(len(_NAMES)), ids=_NAMES)
def test_no_text_breaks_out_of_its_line_or_its_cell(index: int) -> None:
    value: Any = _values(_HOSTILE)[index]
    line, page = repr(value), _Page(value._repr_html_())

    assert line.isprintable()
    assert line.startswith(f"<{type(value).__name__} ")
    assert len(line) < 300
    assert {*page.elements} <= {"table", "caption", "tbody", "tr", "th", "td"}
    assert page.elements.count("tr") == page.elements.count("td") == page.elements.count("th")
    assert page.elements.count("tr") > 1
    assert any("<script>alert(1)</script>" in each for each in page.texts)
    assert all(each.isprintable() for each in page.texts)


def test_the_lines_tell() -> None:
    assert [repr(each) for each in (_verdict(), *_values("so"))] == snapshot(
        [
            "<Verdict allow: no rule matched>",
            "<Verdict deny: so (so) and 1 more>",
            "<Answer ask: so (so) and 1 more, approval so>",
            "<EditAnswer ask: so (so) and 1 more, approval so; 1 file, +2 -1 lines>",
            "<Approval so pending: so>",
            "<ContinueDecision pause: so (so) and 1 more>",
            "<StopDecision nudged: so>",
            "<ReviewDecision retry: so>",
            "<Ruling halt: so (step)>",
            "<RunState so so: so>",
        ]
    )


def test_a_run_tells_of_itself_without_a_look_at_the_record() -> None:
    with in_memory() as interlock:
        run = interlock.run("look around", budget=Budget(tool_calls=3, cost_usd="2.5"))
        answer = run.command("git push -f")
        step, stop, loop = run.step(), run.stopped("I looked."), run.steps()
        child, state = run.child("look closer"), run.state
        opening = run.review("r", [{"id": "tests", "criteria": ["they pass"]}])
        reviewed = run.verdict("FAIL - no")
        names = {
            run.id: "RUN",
            child.id: "CHILD",
            str(answer.approval_id): "ID",
            interlock.governor.policy_hash[:12]: "POLICY",
        }
    # It is closed by now: nobody is asked.
    told: list[Any] = [interlock, run, child, run.ledger, answer, step, stop, loop, opening]
    told += [reviewed, state, GovernedStep(step, "go on")]
    texts = [repr(each) for each in told]
    for name, shown in names.items():
        texts = [each.replace(name, shown) for each in texts]

    assert texts == snapshot(
        [
            "<Interlock memory, policy POLICY>",
            "<Run RUN: look around>",
            "<Run CHILD: look closer>",
            "<RunLedger of run RUN>",
            "<Answer ask: overwrites what others see on the remote (git.push-force), approval ID>",
            "<StepAnswer continue, after 0 steps>",
            "<StopAnswer await-person: a person has to decide: git push -f, approval ID>",
            "<StepLoop 0 steps: nothing was asked yet>",
            "<ReviewOpening r: 1 gate, attempt 1 of 2>",
            "<ReviewAnswer r retry: attempt 1 of 2: FAIL: no>",
            "<RunState RUN running: look around>",
            "<GovernedStep continue, after 0 steps>",
        ]
    )
    assert all(_Page(each._repr_html_()).elements[0] == "table" for each in told)
    assert "0 of 3 tool calls" in state._repr_html_()
    assert "0 of 2.5 USD" in state._repr_html_()


def test_a_secret_is_in_no_line() -> None:
    code = "correct-horse-battery"
    made = NewOperator(name="ada", recovery_code=code)

    assert code not in repr(made) + made._repr_html_()
    assert made.recovery_code == code


def test_edits_that_were_only_looked_at_say_so() -> None:
    assert repr(EditAnswer()) == "<EditAnswer only looked at>"


def test_a_policy_tells_what_it_has() -> None:
    own = '[[rules]]\nid = "mine"\nwhen = "true"\ndecision = "block"\nmessage = "m"\n'
    assert repr(gates_with(own)).endswith(" built-in rules, 1 rule of its own>")
    assert "<th>mine</th>" in gates_with(own)._repr_html_()
    assert evaluate_command("ls", policy=gates_with("")).decision.short == "allow"


def test_what_callers_make_shows_what_they_said() -> None:
    assert repr(Budget(tool_calls=3)) == "Budget(tool_calls=3)"
    assert repr(TokenUsage(input_tokens=5)) == "TokenUsage(input_tokens=5)"
    assert repr(CommandAction(command="ls")) == "CommandAction(command='ls')"


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("", 5, ""),
        ("a\n  b\tc", 9, "a b c"),
        ("abcdef", 5, "abcd…"),
        (" " * 40 + "x", 5, "…"),
        ("\x1b[31m", 9, "?[31m"),
    ],
)
def test_a_text_is_kept_to_one_line(text: str, most: int, shown: str) -> None:
    assert shortened(text, most) == shown


def test_whoever_tells_nothing_is_a_mistake_of_ours() -> None:
    with pytest.raises(NotImplementedError):
        repr(Glanced())


def test_an_open_ledger_is_told_by_its_place(tmp_path: Any) -> None:
    with Interlock.open(tmp_path / "ledger.db", keys=tmp_path / "keys") as interlock:
        assert f"{tmp_path}/ledger.db, policy " in repr(interlock)
