from __future__ import annotations

import io
import os
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from house.repository import ROOT, files, name_of, sources
from interlock.secrets.credential_rules import Form, Judge, SecretRule
from interlock.secrets.scanner import SecretScanner
from interlock.service.policies.builtin_rules import secret_rules

_SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore|pragma:)")
_NOTHING = re.compile(r"(?!)")
_WITH_CODE_AND_REASON = re.compile(
    r"# (?:noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*|pyright: ignore\[[\w, ]+\]) {0,2}(?:- |# )\w.{5,}"
)


def comments(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def is_issued_by_a_machine(rule: SecretRule) -> bool:
    """Leave out what a person could have chosen, and headers without a key behind them."""
    return rule.judge is Judge.TOKEN and rule.form is not Form.NAMED and rule.family != "generic"


def remarks(words: re.Pattern[str], besides: re.Pattern[str]) -> Iterator[str]:
    """Return each comment that holds such words and not the others, behind its place."""
    for path in sources("src", "tests", "benchmarks", "docs"):
        text = path.read_text("utf-8")
        # To take a file apart takes long, and hardly one holds such words alone.
        if any(not besides.match(text, found.start()) for found in words.finditer(text)):
            for line, comment in comments(path):
                if words.search(comment) and not besides.search(comment):
                    yield f"{name_of(path)}:{line}: {comment}"


def test_every_suppression_has_its_code_and_a_reason() -> None:
    assert list(remarks(_SUPPRESSION, besides=_WITH_CODE_AND_REASON)) == []


def test_nothing_is_left_to_do() -> None:
    marks = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")

    assert list(remarks(marks, besides=_NOTHING)) == []


def test_no_file_tells_where_it_was_written() -> None:
    places = [str(ROOT), *filter(None, [os.environ.get("INTERLOCK_SHARED")])]

    telling = [
        name_of(path)
        for path in files()
        if any(place.encode() in path.read_bytes() for place in places)
    ]

    assert telling == []


@pytest.mark.parametrize(
    "name",
    [
        "pyproject.toml",
        "constraints.txt",
        "constraints-llm.txt",
        "constraints-run.txt",
        "Makefile",
        ".github/workflows/test.yml",
        ".pre-commit-config.yaml",
    ],
)
def test_no_address_of_a_registry_is_pinned(name: str) -> None:
    assert "://" not in (ROOT / name).read_text()


def test_no_token_shaped_text_stands_in_the_repository() -> None:
    scanner = SecretScanner(filter(is_issued_by_a_machine, secret_rules()))

    found = [
        f"{name_of(path)}: {match.rule.name} at {match.start}"
        for path in files()
        for match in scanner.scan(path.read_text(errors="replace"))
    ]

    assert found == []
