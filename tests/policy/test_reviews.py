"""Whether work is good enough, and whether it can be put back: what a file may say about it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from interlock.model.review import Check, ReviewGate, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.config.document import Policy, policy_from_stored, stored_bytes
from interlock.policy.config.policy_changes import policy_changes_between
from interlock.policy.config.reference import policy_reference_markdown
from interlock.policy.config.run_sections import Reviews
from interlock.secrets.credential_rules import names_credential
from interlock.service.policies.policy_files import load_policy
from policy.documents import Document, documents, loaded
from policy.files import LISTS, complaints, merged

PERMISSION = "a project may only tighten: take it out, or list `{}` under"
TESTS = "[[reviews.gates]]\nid = 'tests'\ncheck = ['pytest', '-q']\n"
LOOKED_OVER = "[[reviews.gates]]\nid = 'looked-over'\ncriteria = ['it reads well']\n"


def policy(user: str, project: str | None = None) -> Policy:
    return merged(user, project).policy


def gates(user: str, project: str | None = None) -> dict[str, ReviewGate]:
    return {entry.id: entry.gate for entry in policy(user, project).reviews.gates}


def test_the_defaults_are_those_of_reviews():
    reviews = policy("").reviews

    assert reviews == Reviews()
    assert (reviews.gates, reviews.completion) == ((), ())


def test_the_defaults_let_fuzzy_matches_through_and_keep_64_mebibytes():
    assert policy("").edits.fuzzy_matches == "off"
    assert policy("").undo.limit_bytes == 64 * 1024 * 1024


def test_the_default_environment_of_checks_names_no_credential():
    names = policy("").reviews.check_environment

    assert {"PATH", "HOME", "LANG", "LC_*", "TMPDIR", "TZ", "USER", "LOGNAME"} < {*names}
    assert [name for name in names if names_credential(name)] == []


def test_reviews_are_told_every_limit():
    told = policy(
        "[reviews]\nmax-attempts = 5\nmax-resets = 0\nmost-hints = 7\n"
        "check-timeout-seconds = 600\ncheck-tail-bytes = 1"
    )

    assert told.reviews == Reviews(
        max_attempts=5, max_resets=0, most_hints=7, check_timeout_seconds=600, check_tail_bytes=1
    )


def test_a_gate_is_told_whole():
    told = gates("""
[[reviews.gates]]
id = "tests"
criteria = ["every test passes", "and the last one too"]
severity = "low"
mode = "blocking"
max-attempts = 3
improvement-hints = false
preserve-context = false
check = ["pytest", "-q", ""]
timeout-seconds = 300
""")

    assert told == {
        "tests": ReviewGate(
            id="tests",
            criteria=("every test passes", "and the last one too"),
            severity=Severity.LOW,
            mode=ReviewMode.BLOCKING,
            max_attempts=3,
            improvement_hints=False,
            preserve_context=False,
            check=Check(argv=("pytest", "-q", ""), timeout_s=300),
        )
    }


def test_a_gate_that_says_little_is_as_the_model_has_it():
    assert gates(LOOKED_OVER + TESTS) == {
        "looked-over": ReviewGate(id="looked-over", criteria=("it reads well",)),
        "tests": ReviewGate(id="tests", check=Check(argv=("pytest", "-q"))),
    }


def test_a_gate_may_bear_the_name_of_a_built_in_rule():
    assert list(gates(LOOKED_OVER.replace("looked-over", "git.push-force"))) == ["git.push-force"]


@given(documents())
def test_whatever_loads_can_be_reviewed_by(document: Document):
    reviews = loaded(document).policy.reviews
    made = {entry.id: entry.gate for entry in reviews.gates}

    assert list(made) == sorted(made)
    assert all(made[gate].check is not None for gate in reviews.completion)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "[reviews]\nmax-attempts = 0",
            "reviews.max-attempts: `0` is out of range; expected a whole number from 1 to 100",
            id="no-attempt-at-all",
        ),
        pytest.param(
            "[reviews]\ncheck-timeout-seconds = 601",
            "reviews.check-timeout-seconds: `601` is out of range; "
            "expected a whole number from 1 to 600",
            id="a-check-without-end",
        ),
        pytest.param(
            "[reviews]\ncompletions = []",
            "reviews.completions: unknown key; did you mean `completion`?",
            id="a-misspelt-key",
        ),
        pytest.param(
            LOOKED_OVER + "severity = 'severe'",
            'reviews.gates[0].severity: `"severe"` is unknown; '
            "expected `low`, `medium`, `high` or `critical`",
            id="an-unknown-severity",
        ),
        pytest.param(
            LOOKED_OVER + "mode = 'block'",
            'reviews.gates[0].mode: `"block"` is unknown; '
            "expected `informational`, `advisory` or `blocking`; did you mean `blocking`?",
            id="an-unknown-mode",
        ),
        pytest.param(
            "[[reviews.gates]]\nid = 'empty'",
            "reviews.gates[0]: gate `empty` has no criteria and no check: it would ask nothing",
            id="a-gate-that-asks-nothing",
        ),
        pytest.param(
            "[[reviews.gates]]\ncriteria = ['x']",
            "reviews.gates[0]: the key `id` is missing",
            id="a-gate-without-a-name",
        ),
        pytest.param(
            LOOKED_OVER.replace("looked-over", "1"),
            'reviews.gates[0].id: `"1"` is not the id of a gate; expected 1 to 64 letters, digits,'
            " `.`, `_`, `/` and `-`, with a letter among them",
            id="a-bare-number-for-a-name",
        ),
        pytest.param(
            LOOKED_OVER + TESTS + LOOKED_OVER,
            'reviews.gates[2].id: `"looked-over"` is already the id of `reviews.gates[0]`',
            id="the-same-gate-twice",
        ),
        pytest.param(
            LOOKED_OVER.replace("'it reads well'", "'it reads well', ' '"),
            'reviews.gates[0].criteria[1]: `" "` is empty; expected text',
            id="an-empty-criterion",
        ),
        pytest.param(
            LOOKED_OVER.replace("it reads well", "..."),
            "reviews.gates[0]: gate `looked-over`: `criteria` is `...`, expected words",
            id="a-criterion-without-words",
        ),
        pytest.param(
            LOOKED_OVER.replace("'it reads well'", "'x'," * 51),
            "reviews.gates[0]: gate `looked-over` has 51 criteria, at most 50 are kept:"
            " make it two gates",
            id="endless-criteria",
        ),
        pytest.param(
            LOOKED_OVER + "timeout-seconds = 5",
            "reviews.gates[0].timeout-seconds: needs `check` beside it",
            id="a-timeout-of-no-check",
        ),
        pytest.param(
            TESTS + "timeout-seconds = 0",
            "reviews.gates[0].timeout-seconds: `0` is out of range; "
            "expected a whole number from 1 to 600",
            id="a-check-without-time",
        ),
        pytest.param(
            TESTS.replace("['pytest', '-q']", "'pytest -q'"),
            'reviews.gates[0].check: `"pytest -q"` is text; expected a list',
            id="a-line-for-a-command",
        ),
        pytest.param(
            TESTS.replace("'pytest', '-q'", ""),
            'reviews.gates[0].check: `[...]` names no program; expected such as `["pytest"]`',
            id="a-check-of-no-words",
        ),
        pytest.param(
            TESTS.replace("'pytest'", "' '"),
            'reviews.gates[0].check: `[...]` names no program; expected such as `["pytest"]`',
            id="a-check-without-a-program",
        ),
        pytest.param(
            TESTS.replace("'-q'", '"-\\u0000"'),
            r'reviews.gates[0].check[1]: `"-\u0000"` is not a word of a command; '
            "expected text without a NUL character",
            id="a-word-that-no-program-takes",
        ),
        pytest.param(
            TESTS + "improvement-hints = 'yes'",
            'reviews.gates[0].improvement-hints: `"yes"` is text; expected `true` or `false`',
            id="a-word-for-a-flag",
        ),
        pytest.param(
            TESTS + "timeout = 5",
            "reviews.gates[0].timeout: unknown key; did you mean `timeout-seconds`?",
            id="a-misspelt-field",
        ),
        pytest.param(
            "[reviews]\ngates = [" + "{ id = 'g', criteria = ['x'] }, " * 65 + "]",
            "reviews.gates: 65 entries; expected at most 64",
            id="too-many-gates",
        ),
        pytest.param(
            "[reviews]\ncompletion = ['tests']",
            'reviews.completion: `"tests"` is no gate; add it as one of `[[reviews.gates]]`',
            id="no-gates-at-all",
        ),
        pytest.param(
            "[reviews]\ncompletion = ['test']\n" + TESTS,
            'reviews.completion: `"test"` is no gate; did you mean `tests`?',
            id="a-gate-that-does-not-exist",
        ),
        pytest.param(
            "[reviews]\ncompletion = ['looked-over']\n" + LOOKED_OVER,
            'reviews.completion: `"looked-over"` has no check, and nothing else can pass it; '
            "give the gate a `check`",
            id="a-gate-without-a-check",
        ),
        pytest.param(
            "[reviews]\ncompletion = ['tests']\n" + TESTS + "severity = 'high'",
            'reviews.completion: `"tests"` is advisory and would hold nothing up; '
            'give the gate `mode = "blocking"`',
            id="a-gate-that-only-advises",
        ),
        pytest.param(
            "[reviews]\ncompletion = ['all the tests']",
            'reviews.completion[0]: `"all the tests"` is not the id of a gate; expected 1 to 64'
            " letters, digits, `.`, `_`, `/` and `-`, with a letter among them",
            id="what-no-gate-can-be-called",
        ),
        pytest.param(
            "[reviews]\ncheck-environment = ['PATH', 'MY_API_KEY']",
            'reviews.check-environment[1]: `"MY_API_KEY"` is not a variable that a check may see; '
            "expected the name of a variable that holds no credential, or a glob where a `*` is"
            " written",
            id="a-credential-for-checks",
        ),
        pytest.param(
            "[reviews]\ncheck-environment = ['A=b']",
            'reviews.check-environment[0]: `"A=b"` is not a variable that a check may see; '
            "expected the name of a variable that holds no credential, or a glob where a `*` is"
            " written",
            id="a-value-for-a-name",
        ),
        pytest.param(
            "[edits]\nfuzzy-matches = 'on'",
            'edits.fuzzy-matches: `"on"` is unknown; expected `off`, `warn`, `ask` or `deny`',
            id="an-unknown-answer",
        ),
        pytest.param(
            "[undo]\nlimit-bytes = -1",
            "undo.limit-bytes: `-1` is out of range; expected a whole number from 0 to "
            "1099511627776",
            id="less-than-nothing-to-put-back",
        ),
    ],
)
def test_names_what_is_wrong(text: str, complaint: str):
    assert complaints(text) == [f"policy.toml: {complaint}"]


def test_says_nothing_of_completion_where_the_gates_are_wrong_by_themselves():
    [complaint] = complaints("[reviews]\ncompletion = ['tests']\n" + TESTS + "mode = 'no'")

    assert complaint.startswith("policy.toml: reviews.gates[0].mode: ")


def test_names_the_file_that_asks_for_a_gate_that_is_not_there():
    [complaint] = complaints(TESTS, "[reviews]\ncompletion = ['lint']")

    assert complaint == (
        'interlock.toml: reviews.completion: `"lint"` is no gate; expected `tests`'
    )


def test_a_project_adds_gates_and_asks_for_those_of_the_user():
    told = policy(TESTS, "[reviews]\ncompletion = ['tests']\n" + LOOKED_OVER)

    assert [gate.id for gate in told.reviews.gates] == ["looked-over", "tests"]
    assert told.reviews.completion == ("tests",)


@pytest.mark.parametrize(
    ("user", "project"),
    [
        ("", "[reviews]\nmax-attempts = 1"),
        ("", "[reviews]\nmax-resets = 0"),
        ("", "[reviews]\nmost-hints = 0"),
        ("", "[reviews]\ncheck-timeout-seconds = 1"),
        ("", "[reviews]\ncheck-tail-bytes = 0"),
        ("", "[reviews]\ncheck-environment = ['PATH']"),
        ("", "[edits]\nfuzzy-matches = 'warn'"),
        ("", "[undo]\nlimit-bytes = 0"),
        (TESTS, TESTS),
    ],
)
def test_a_project_may_tighten(user: str, project: str):
    assert merged(user, project).origins


@pytest.mark.parametrize(
    ("user", "project", "place", "problem"),
    [
        ("", "[reviews]\nmax-attempts = 3", "reviews.max-attempts", "`3` is looser than `2` of"),
        ("", "[reviews]\nmax-resets = 4", "reviews.max-resets", "`4` is looser than `3` of"),
        (
            "",
            "[reviews]\ncheck-environment = ['...', 'CI']",
            "reviews.check-environment",
            'adds `"CI"` to the list of',
        ),
        (
            "[reviews]\ncompletion = ['tests']\n" + TESTS,
            "[reviews]\ncompletion = []",
            "reviews.completion",
            'leaves out `"tests"` from the list of',
        ),
        (
            TESTS,
            TESTS.replace("'-q'", "'--version'"),
            "reviews.gates.tests",
            "differs from the entry of the same name of",
        ),
        (
            "[edits]\nfuzzy-matches = 'block'",
            "[edits]\nfuzzy-matches = 'warn'",
            "edits.fuzzy-matches",
            '`"warn"` is looser than `"deny"` of',
        ),
        (
            "",
            "[undo]\nlimit-bytes = 67108865",
            "undo.limit-bytes",
            "`67108865` is looser than `67108864` of",
        ),
    ],
)
def test_a_project_may_not_loosen(user: str, project: str, place: str, problem: str):
    [complaint] = complaints(user, project)

    assert complaint.startswith(f"interlock.toml: {place}: {problem} ")
    assert PERMISSION.format(place) in complaint


def test_a_policy_from_before_reviews_has_the_defaults_of_today():
    kept = msgspec.json.decode(stored_bytes(policy("")), type=dict[str, msgspec.Raw])
    for section in ("reviews", "edits", "undo"):
        del kept[section]

    assert policy_from_stored(msgspec.json.encode(kept), policy("")) == policy("")


def test_a_stored_gate_is_read_again():
    told = policy(TESTS + LOOKED_OVER + "severity = 'high'")

    assert policy_from_stored(stored_bytes(told), policy("")) == told


def test_tells_which_gates_are_new_and_what_is_different_of_others():
    before, after = policy(TESTS), policy(TESTS + "timeout-seconds = 9\n" + LOOKED_OVER)

    assert policy_changes_between(before, after) == (
        '`reviews.gates.looked-over`: set to {"criteria":["it reads well"]}',
        "`reviews.gates.tests`: timeout-seconds nothing → 9",
    )


def test_the_gates_are_told_what_the_files_say(tmp_path: Path):
    user, project = tmp_path / "policy.toml", tmp_path / "interlock.toml"
    user.write_text(
        "[edits]\nfuzzy-matches = 'warn'\n[undo]\nlimit-bytes = 7\n"
        "[reviews]\nmax-attempts = 9\ncheck-environment = ['PATH', 'LC_*']\n"
    )
    project.write_text("[reviews]\ncompletion = ['tests']\n" + TESTS)

    told = load_policy(user=user, project=project)

    assert told.config.reviews.max_attempts == 9
    assert told.review_gates == {
        "tests": ReviewGate(id="tests", check=Check(argv=("pytest", "-q")))
    }
    assert told.config.reviews.completion == ("tests",)
    assert told.config.reviews.check_environment == ("LC_*", "PATH")
    assert told.config.edits.fuzzy_matches == "warn"
    assert told.config.undo.limit_bytes == 7


def test_the_reference_tells_what_a_gate_takes():
    reference = policy_reference_markdown(LISTS)

    assert "| `check` | a list in order, each entry text without a NUL character, optional | " in (
        reference
    )
    assert "| `improvement-hints` | `true` or `false`, optional | " in reference
