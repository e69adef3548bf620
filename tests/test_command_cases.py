"""The corpus of commands: every case through the Python API and through the command line."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from msgspec.structs import replace

import interlock
from cli.asking import interlock_process
from gates.policies import gates_with
from interlock import Decision, Verdict
from interlock.cli.text.machine_text import machine_text
from interlock.service.policies.builtin_rules import packs_with_examples
from interlock.service.policies.policy_files import default_policy
from interlock.service.policies.rule_tests import pack_tests
from secret_generator import from_template

_FOLDER = Path(__file__).parent / "cases"
_GENERATED = re.compile(r"\{\{gen:(.+?)\}\}(?!\})")


class Case(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A command and the answer it must get: one exactly, or at least so strict."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    command: str
    expect: Decision | None = None
    at_least: Decision | None = None
    rule: str | None = None
    cwd: str | None = None
    why: str | None = None

    def __post_init__(self) -> None:
        if (self.expect is None) == (self.at_least is None):
            raise ValueError(f"`{self.id}`: expected either `expect` or `at-least`")

    @property
    def line(self) -> str:
        """The command with made-up credentials in their places."""
        return _GENERATED.sub(lambda found: from_template(found[1], self.id), self.command)

    def accepts(self, decision: Decision) -> bool:
        """Return whether the decision is a right answer."""
        if self.at_least is not None:
            return decision.rank >= self.at_least.rank
        return decision is self.expect


class _Corpus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    case: tuple[Case, ...]


def _cases_of(file: Path) -> tuple[Case, ...]:
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), _Corpus).case


_FILES = {file.stem: _cases_of(file) for file in sorted(_FOLDER.glob("commands-*.toml"))}
_CASES = tuple(case for cases in _FILES.values() for case in cases)


@pytest.mark.parametrize("file", _FILES)
def test_the_api_answers_as_the_corpus_expects(file: str):
    verdicts = {case: interlock.evaluate_command(case.line, cwd=case.cwd) for case in _FILES[file]}

    assert {
        case.id: _told(verdict)
        for case, verdict in verdicts.items()
        if not case.accepts(verdict.decision)
    } == {}
    assert {
        case.id: _told(verdict)
        for case, verdict in verdicts.items()
        if case.rule not in {None, *(finding.rule for finding in verdict.findings)}
    } == {}


def test_the_command_line_finds_what_the_api_finds(answers: Mapping[str, bytes]):
    verdicts = {case.id: interlock.evaluate_command(case.line, cwd=case.cwd) for case in _CASES}
    found = {name: machine_text(verdict.findings).encode() for name, verdict in verdicts.items()}

    assert {name: found[name] for name in found if answers[name] != found[name]} == {}
    assert answers.keys() == found.keys()


def test_the_corpus_is_large_and_says_each_thing_once():
    ids = Counter(case.id for case in _CASES)
    questions = Counter((case.command, case.cwd) for case in _CASES)

    assert len(_CASES) >= 600
    assert [name for name, count in ids.items() if count > 1] == []
    assert [line for (line, _), count in questions.items() if count > 1] == []


def test_every_rule_is_shown_by_a_case_or_by_its_own_examples():
    tests = list(pack_tests(default_policy(), packs_with_examples()))
    # What only the strict preset looks for has its examples there.
    known = {test.rule for test in tests}
    more = tuple(
        replace(pack, rules=tuple(r for r in pack.rules if f"{pack.id}.{r.id}" not in known))
        for pack in packs_with_examples()
    )
    tests += pack_tests(gates_with('preset = "strict"\n'), more)
    shown = {case.rule for case in _CASES} | {test.rule for test in tests if test.expected}
    rules = {f"{pack.id}.{rule.id}" for pack in packs_with_examples() for rule in pack.rules}

    assert sorted(rules - shown) == []
    assert [test for test in tests if test.fired != test.expected] == []


def test_every_rule_that_a_case_names_exists():
    rules = {f"{pack.id}.{rule.id}" for pack in packs_with_examples() for rule in pack.rules}
    named = {case.rule for case in _CASES if case.rule is not None}

    assert sorted(named - rules) == ["unresolved-command"]


class _Answer(msgspec.Struct, frozen=True):
    id: str
    findings: msgspec.Raw


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The findings of the whole corpus, as the command line writes them."""
    folder = tmp_path_factory.mktemp("elsewhere")
    # Somewhere that is not there, and that no line of the corpus comes near.
    settings = {"INTERLOCK_CONFIG_HOME": str(Path.home() / ".nowhere")}
    inherited = {name: value for name, value in os.environ.items() if name != "INTERLOCK_POLICY"}
    done = interlock_process(
        *("check", "--jsonl"),
        stdin=b"\n".join(_question(case) for case in _CASES),
        folder=folder,
        environment=inherited | settings,
    )
    assert done.returncode == 0
    lines = (msgspec.json.decode(line, type=_Answer) for line in done.stdout.splitlines())
    return {answer.id: bytes(answer.findings) for answer in lines}


def _question(case: Case) -> bytes:
    question = {"id": case.id, "command": case.line}
    return msgspec.json.encode(question if case.cwd is None else {**question, "cwd": case.cwd})


def _told(verdict: Verdict) -> str:
    rules = ", ".join(finding.rule for finding in verdict.findings) or "no rule"
    return f"{verdict.decision.value} by {rules}"
