"""The corpus: what the scanner must find and what it must leave alone."""

from __future__ import annotations

import os

import msgspec
import pytest

from cli.asking import interlock_process
from interlock import evaluate_edit
from interlock.cli.text.machine_text import machine_value
from secret_packs import SCANNER, cases

_CASES = cases()


def test_the_corpus_is_large_and_says_each_thing_once():
    ids = [case.id for case in _CASES]
    texts = [case.text for case in _CASES]

    assert len(_CASES) >= 300
    assert len(set(ids)) == len(ids)
    assert len(set(texts)) == len(texts)


def test_the_scanner_answers_as_the_corpus_expects():
    found = {case: [match.rule.name for match in SCANNER.scan(case.text)] for case in _CASES}

    assert {
        case.id: names
        for case, names in found.items()
        if ("block" if names else "allow") != case.expect
    } == {}


@pytest.fixture(scope="module")
def answers_of_the_command_line(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Every case put to `interlock check --jsonl` as an edit, in one process."""
    folder = tmp_path_factory.mktemp("elsewhere")
    rows = [{"id": case.id, "path": "notes.txt", "content": case.text} for case in _CASES]
    done = interlock_process(
        *("check", "--jsonl"),
        stdin=b"\n".join([msgspec.json.encode(row) for row in rows]) + b"\n",
        folder=folder,
        environment={**os.environ, "INTERLOCK_CONFIG_HOME": str(folder)},
    )
    assert done.returncode == 0
    answers: list[dict[str, object]] = [
        msgspec.json.decode(line, type=dict[str, object]) for line in done.stdout.splitlines()
    ]
    return {str(answer.pop("id")): answer for answer in answers}


def test_the_api_and_the_command_line_answer_alike(
    answers_of_the_command_line: dict[str, object],
):
    verdicts = {case.id: evaluate_edit("notes.txt", case.text) for case in _CASES}
    answers = {
        name: {
            "decision": verdict.decision.value,
            "short": verdict.decision.short,
            "findings": machine_value(verdict.findings),
        }
        for name, verdict in verdicts.items()
    }

    assert [case.id for case in _CASES if verdicts[case.id].decision.value != case.expect] == []
    wrong = [name for name in answers if answers_of_the_command_line[name] != answers[name]]
    assert {name: answers[name] for name in wrong} == {}
