"""Keys of the policy may stand there by the names of other definitions, and mean the same."""

from __future__ import annotations

import pytest

from interlock.model.review import ReviewMode
from policy.files import complaints, merged

_GATE = '[[reviews.gates]]\nid = "tests"\ncriteria = ["every test passes"]\n'


@pytest.mark.parametrize(
    ("other", "ours"),
    [
        ('secretPatterns = ["ACME-[0-9]{4}"]', '[[secrets.patterns]]\npattern = "ACME-[0-9]{4}"'),
        (
            '[secrets]\npatterns = ["A[0-9]", "...", "B", "A[0-9]"]',
            '[[secrets.patterns]]\npattern = "B"\n[[secrets.patterns]]\npattern = "A[0-9]"',
        ),
        ("diffSizeThreshold = 7", "[diff-size]\nthreshold = 7"),
        ("auto_continue.enabled = false", "[stops]\nauto-continue = false"),
        (
            "[auto_continue]\nenabled = true\nconfidence_threshold = 70\nmax_retries = 2",
            "[stops]\nauto-continue = true\ncontinue-at = 70\nmax-retries = 2",
        ),
        (
            '[auto_continue]\nintent_phrases = ["go on"]\ncompletion_phrases = ["so be it"]',
            '[stops]\ncontinue-phrases = ["go on"]\ncompletion-phrases = ["so be it"]',
        ),
        (f'{_GATE}enforcementMode = "advisory"', f'{_GATE}mode = "advisory"'),
        (f'{_GATE}failureAction = "skip"', f'{_GATE}mode = "advisory"'),
        (
            f"{_GATE}retry_config = {{ max_attempts = 4, improvement_hints = false }}",
            f"{_GATE}max-attempts = 4\nimprovement-hints = false",
        ),
        (
            f"{_GATE}retryConfig = {{ maxAttempts = 4, preserve-context = false }}",
            f"{_GATE}max-attempts = 4\npreserve-context = false",
        ),
        (
            'secretPatterns = ["A"]\n[secrets]\npatterns = ["A"]',
            '[secrets]\npatterns = ["A"]',
        ),
        (
            f"{_GATE}max-attempts = 4\nretry_config = {{ max_attempts = 4 }}",
            f"{_GATE}max-attempts = 4",
        ),
    ],
)
def test_another_name_means_the_same(other: str, ours: str) -> None:
    assert merged(other).hash == merged(ours).hash
    assert merged(other).hash != merged("").hash


def test_a_project_adds_patterns_and_renames_none() -> None:
    named = '[[secrets.patterns]]\npattern = "A"\nname = "a badge"'

    layered = merged(named, '[secrets]\npatterns = ["B"]').policy
    assert {each.pattern: each.name for each in layered.secrets.patterns} == {
        "A": "a badge",
        "B": "what the policy calls a secret",
    }
    (told,) = complaints(named, '[[secrets.patterns]]\npattern = "A"\nname = "nothing"')
    assert "differs from the entry of the same name of policy.toml" in told


def test_a_project_may_use_them_and_only_tighten() -> None:
    layered = merged("", f'secretPatterns = ["B"]\n{_GATE}failureAction = "stop"\n').policy

    assert [each.pattern for each in layered.secrets.patterns] == ["B"]
    assert [gate.mode for gate in layered.reviews.gates] == [ReviewMode.BLOCKING]
    for loose, problem in (
        (
            "auto_continue.enabled = false",
            "stops.auto-continue: may be set in the user's file only",
        ),
        ("diffSizeThreshold = 8", "diff-size.threshold: `8` is looser than `7` of policy.toml"),
    ):
        (told,) = complaints("diffSizeThreshold = 7", loose)
        assert problem in told


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            'secretPatterns = ["A"]\n[secrets]\npatterns = ["B"]',
            "secretPatterns: `secrets.patterns` says something else: keep that one",
        ),
        (
            "auto_continue.enabld = true",
            "auto_continue.enabld: unknown key; did you mean `enabled`?",
        ),
        ("auto_continue.zzz = true", "auto_continue.zzz: unknown key"),
        ("auto_continue = true", "auto_continue: unknown key"),
        (
            "secretPatterns = 3",
            "secrets.patterns: `3` is a whole number; expected a list, `[[secrets.patterns]]`",
        ),
        (
            '[[secrets.patterns]]\nname = "badge"',
            "secrets.patterns[0]: the key `pattern` is missing",
        ),
        (
            '[[secrets.patterns]]\npattern = "A"\ncolour = "red"',
            "secrets.patterns[0].colour: unknown key; expected `name` or `pattern`",
        ),
        (
            '[[secrets.patterns]]\npattern = "A"\n[[secrets.patterns]]\npatternn = "B"',
            "secrets.patterns[1].patternn: unknown key; did you mean `pattern`?",
        ),
        (
            '[[secrets.patterns]]\npattern = "A"\nname = 5',
            "secrets.patterns[0].name: `5` is a whole number; expected text",
        ),
        (
            '[[secrets.patterns]]\npattern = "("',
            'secrets.patterns[0].pattern: `"("` is not an RE2 pattern',
        ),
        ('secretPatterns = ["A"]\nsecrets = 3', "secrets: `3` is a whole number; expected a table"),
        (
            f"{_GATE}max-attempts = 2\nretry_config = {{ max_attempts = 3 }}",
            "reviews.gates[0]: `max-attempts` and `retry_config.max_attempts` say two things of",
        ),
        (f"{_GATE}retry_config = 3", "reviews.gates[0]: `retry_config` is `3`, expected a table"),
        (f'{_GATE}failureAction = "boom"', "reviews.gates[0]: `failureAction` is `boom`"),
        (f"{_GATE}max_attempts = 3", "reviews.gates[0].max_attempts: unknown key"),
    ],
)
def test_what_is_wrong_with_one_is_told(text: str, complaint: str) -> None:
    (told,) = complaints(text)

    assert complaint in told
