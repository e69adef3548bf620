"""The corpus: what the scanner must find and what it must leave alone."""

from __future__ import annotations

import pytest

from secret_packs import SCANNER, Case, cases

_CASES = cases()


def test_the_corpus_is_large_and_says_each_thing_once():
    ids = [case.id for case in _CASES]
    texts = [case.text for case in _CASES]

    assert len(_CASES) >= 300
    assert len(set(ids)) == len(ids)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.id)
def test_the_scanner_answers_as_the_corpus_expects(case: Case):
    found = [match.rule.name for match in SCANNER.scan(case.text)]

    assert ("block" if found else "allow") == case.expect, found
