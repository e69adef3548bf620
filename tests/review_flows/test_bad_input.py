"""What nobody can have wanted: a clear error, and nothing on the record; and no secret, ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock import InputError, Interlock, Run
from interlock.model.review import Overall, ReviewOutcome, ReviewVerdict
from review_flows.checking import SECRET, checked, scripted
from review_flows.conftest import OpenWorkshop
from review_flows.workshop import FAIL, PASS, Workshop
from service.ledgers import everything_stored, in_memory, kinds_of

GATE: dict[str, Any] = {"id": "g", "criteria": ["it holds"]}
DEEP: dict[str, Any] = {}
_inner = DEEP
for _ in range(3_000):
    _inner["overall"] = {}
    _inner = _inner["overall"]


def gate(**known: Any) -> list[dict[str, Any]]:
    return [{**GATE, **known}]


def with_check(**known: Any) -> list[dict[str, Any]]:
    return gate(check={"argv": ["true"], **known})


@pytest.mark.parametrize(
    ("review_id", "gates", "why"),
    [
        ("a\nb", gate(), "expected 1 to 64 of letters"),
        ("", gate(), "expected 1 to 64 of letters"),
        ("12", gate(), "with a letter among them"),
        ("r" * 65, gate(), "expected 1 to 64 of letters"),
        ("completion", gate(), "name it otherwise"),
        ("r", [], "has no gates"),
        ("r", "nix", "the policy has no review gate `nix`"),
        ("r", ["nowhere"], "no review gate `nowhere`"),
        ("r", gate() * 2, "names gate `g` twice"),
        ("r", gate(id="a\nb"), "expected 1 to 64 of letters"),
        ("r", gate(id="a\0"), "expected 1 to 64 of letters"),
        ("r", gate(id=7), "`gates[0].id` is of the type `int`, expected a text"),
        ("r", gate(criteria=[]), "no criteria and no check"),
        ("r", gate(criteria=["..."]), "expected words"),
        ("r", gate(criteria=["x" * 2_001]), "2001 characters, expected at most 2000"),
        ("r", gate(criteria=["it holds"] * 51), "51 criteria, at most 50"),
        ("r", gate(criteria="it holds"), "also one alone stands in a list, `[...]`"),
        ("r", gate(severity="huge"), "`gates[0].severity` is `huge`, expected one of"),
        ("r", gate(mode="block"), "did you mean `blocking`"),
        ("r", gate(max_attempts=0), "expected a whole number from 1 to 100"),
        ("r", gate(max_attempts=101), "expected a whole number from 1 to 100"),
        ("r", gate(colour="red"), "`gates[0]` takes no `colour`"),
        ("r", with_check(argv=[]), "names no program"),
        ("r", with_check(argv=[" "]), "names no program"),
        ("r", with_check(argv=["a\0b"]), "holds a NUL character"),
        ("r", with_check(argv=["a", "\udc80"]), "holds half a character"),
        ("r", with_check(argv="true"), "also one alone stands in a list, `[...]`"),
        ("r", with_check(argv=["echo", "x" * 300_000]), "bytes, at most 262144 are kept"),
        ("r", with_check(timeout_s=0), "expected a whole number from 1 to 600"),
        ("r", with_check(timeout_s=601), "expected a whole number from 1 to 600"),
        ("r", with_check(shell=True), "`gates[0].check` takes no `shell`"),
        (
            "r",
            [{"id": f"g{n}", "criteria": ["x" * 2_000]} for n in range(200)],
            "bytes, at most 262144 are kept",
        ),
        pytest.param(SECRET, gate(), "its id holds a secret", id="secret"),
        ("r", gate(id=SECRET), "its id holds a secret"),
    ],
)
def test_a_review_that_nobody_could_give_a_verdict_on_is_refused(
    review_id: str, gates: Any, why: str
) -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        with pytest.raises(InputError) as refused:
            run.review(review_id, gates)

        assert why in str(refused.value)
        assert kinds_of(interlock.ledger, run.id) == ["run-started"]


@pytest.mark.parametrize("given", [None, 7, [None], [7], [b"plan"]])
def test_what_is_no_gate_at_all_leaves_no_trace(given: Any) -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        with pytest.raises((InputError, TypeError)):
            run.review("r", given)

        assert kinds_of(interlock.ledger, run.id) == ["run-started"]


_UNREADABLE: dict[str, tuple[Any, str]] = {
    "nothing": (None, "neither text nor a table"),
    "number": (7, "neither text nor a table"),
    "bytes": (b"PASS - good", "neither text nor a table"),
    "list": (["PASS"], "neither text nor a table"),
    "empty": ({}, "missing required field `overall`"),
    "numbered": ({1: 2}, "expected `str`"),
    "deep": (DEEP, "expected `str`, got `object`"),
    "nested": ({"overall": {"overall": "PASS"}, "rationale": "x"}, "expected `str`, got `object`"),
    "no list": ({"overall": "PASS", "rationale": "x", "per_gate": {}}, "expected `array`"),
    "more": ({"overall": "PASS", "rationale": "x", "verdict": "FAIL"}, "unknown field `verdict`"),
    "deep text": ('{"overall":' * 5_000, "expected `str`, got `object`"),
    "long": ("PASS - " + "x" * 1_000_000, "1000007 characters, at most 65536 are read"),
    "half a character": ("\udc80", "its first line is"),
    "NUL": ("\0", "its first line is"),
}


@pytest.mark.parametrize("kind", _UNREADABLE)
def test_a_verdict_of_any_kind_that_cannot_be_read_counts_as_an_attempt(kind: str) -> None:
    said, why = _UNREADABLE[kind]
    with in_memory() as interlock:
        run = interlock.run("t")
        run.review("r", [GATE])
        answer = run.verdict(said)

        assert answer.outcome is ReviewOutcome.RETRY
        assert why in answer.reason
        assert len(answer.reason) < 2_000
        assert run.state.reviews.pending["r"].review.attempt_count == 1


def test_a_megabyte_of_reasons_is_cut(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    workshop.review("plan")
    long = "x" * 1_000_000
    gates = [{"gate": "plan", "passed": False, "rationale": long}]
    table = {"overall": "FAIL", "rationale": long, "per_gate": gates}
    answer = workshop.does(lambda run: run.verdict(table))

    assert len(answer.reason) < 2_000
    with workshop.opened() as interlock:
        assert len(everything_stored(interlock.ledger)) < 200_000


@pytest.mark.parametrize(
    "made",
    [
        {"overall": "PASS"},
        {"overall": None},
        {"per_gate": None},
        {"per_gate": ({"gate": "g"},)},
        {"per_gate": ({"gate": "g", "passed": "no", "rationale": "x"},)},
        {"rationale": "PASS", "per_gate": [object()]},
    ],
)
def test_a_verdict_that_was_made_wrong_is_refused_or_read_as_meant(made: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"overall": Overall.FAIL, "rationale": "x y", **made}
    with in_memory() as interlock:
        run = interlock.run("t")
        run.review("r", [GATE])
        before = kinds_of(interlock.ledger, run.id)
        try:
            answer = run.verdict(ReviewVerdict(**fields))
        except InputError:
            assert kinds_of(interlock.ledger, run.id) == before
        else:
            assert answer.outcome in (ReviewOutcome.RETRY, ReviewOutcome.ADVANCE)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"review": "nowhere"}, "no review `nowhere` is pending"),
        ({"review": "a\nb"}, "is pending"),
        ({"review": "\udc80", "key": "k"}, "is pending"),
        ({"key": ""}, "the key is empty"),
    ],
)
def test_a_verdict_on_nothing_that_is_pending_is_refused(fields: Any, why: str) -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        run.review("r", [GATE])
        before = kinds_of(interlock.ledger, run.id)
        with pytest.raises(InputError) as refused:
            run.verdict(FAIL, **fields)

        assert why in str(refused.value)
        assert kinds_of(interlock.ledger, run.id) == before


def test_a_run_has_twenty_pending_reviews_at_most() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        for number in range(20):
            run.review(f"r{number}", [GATE])
        with pytest.raises(InputError, match="has 20 pending reviews, 20 are the most"):
            run.review("r20", [GATE])
        run.verdict(PASS, review="r0")
        run.review("r20", [GATE])

        assert len(run.state.reviews.pending) == 20


@pytest.mark.parametrize(
    ("action", "instructions", "why"),
    [
        ("retri", None, "expected one of `retry`"),
        ("", None, "expected one of `retry`, `skip`"),
        ("approve", None, "expected one of `retry`, `skip`"),
        pytest.param("retry", "x" * 2_001, "2001 characters, expected at most 2000", id="long"),
        ("retry", "...", "expected words"),
    ],
)
def test_a_choice_that_nobody_could_follow_is_refused(
    file_workshop: OpenWorkshop, action: str, instructions: str | None, why: str
) -> None:
    workshop = file_workshop()
    workshop.review("plan")
    workshop.says(FAIL)
    question = workshop.says(FAIL).approval_id
    before = workshop.kinds
    with pytest.raises(InputError) as refused:
        workshop.chooses(question, action, instructions=instructions)

    assert why in str(refused.value)
    assert workshop.kinds == before
    with pytest.raises(InputError, match="there is no approval"):
        workshop.chooses("nowhere", "retry")
    with pytest.raises(InputError, match="there is no run"):
        workshop.uses(
            lambda interlock: interlock.choose_review("nowhere", "retry", token=workshop.operator)
        )


Telling = Callable[[Interlock, Run, str], object]


def _in_a_choice(interlock: Interlock, run: Run, token: str) -> None:
    run.review("r", [{**GATE, "max_attempts": 1}])
    question = run.verdict(FAIL).approval_id
    interlock.choose(question or "", "retry", token=token, instructions=f"use {SECRET}")


_PLACES: dict[str, Telling] = {
    "subject": lambda _, run, __: run.review("r", [GATE], subject=f"see {SECRET}"),
    "criteria": lambda _, run, __: run.review("r", gate(criteria=[f"{SECRET} is gone"])),
    "rationale": lambda _, run, __: run.verdict(f"FAIL - it shows {SECRET}", review="p"),
    "unread": lambda _, run, __: run.verdict(f"it shows {SECRET}", review="p"),
    "table": lambda _, run, __: run.verdict({"overall": SECRET, "rationale": SECRET}, review="p"),
    "field": lambda _, run, __: run.verdict({SECRET: 1}, review="p"),
    "of a gate": lambda _, run, __: run.verdict(
        {
            "overall": "FAIL",
            "rationale": "no",
            "per_gate": [{"gate": "g", "passed": False, "rationale": f"it is {SECRET}"}],
        },
        review="p",
    ),
    "gate": lambda _, run, __: run.verdict(
        f"FAIL - no\nGATE_VERDICTS:\n[{SECRET}] FAIL - no", review="p"
    ),
    "value": lambda _, run, __: run.verdict(
        ReviewVerdict(overall=Overall.FAIL, rationale=f"it shows {SECRET}"), review="p"
    ),
    "key": lambda _, run, __: run.verdict(FAIL, review="p", key=f"k {SECRET}"),
    "instructions": _in_a_choice,
}


@pytest.mark.parametrize("where", _PLACES)
def test_no_secret_is_kept_of_a_review(tmp_path: Path, where: str) -> None:
    workshop = Workshop(str(tmp_path / "ledger.db"), tmp_path)
    with workshop.opened() as interlock:
        run = interlock.resume(workshop.run_id)
        run.review("p", [GATE])
        if where == "instructions":
            run.verdict(PASS)
        _PLACES[where](interlock, run, workshop.operator)

        assert SECRET.encode() not in everything_stored(interlock.ledger)


def test_no_secret_is_kept_of_a_check(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    (workshop.folder / "out").write_text(f"token: {SECRET}\n1 failed in 1s\n")
    gates = [scripted(workshop, "cat out; exit 1\n"), checked([f"./{SECRET[:5]}/x"], "other")]
    workshop.does(lambda run: run.review("first", gates))
    answer = workshop.says(PASS)

    assert SECRET not in (answer.guidance or "")
    assert "1 test failed" in answer.reason
    with workshop.opened() as interlock:
        assert SECRET.encode() not in everything_stored(interlock.ledger)
