"""What the evaluators say at the end of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.model.review import Evaluation, TestCounts
from interlock.model.run import RunState, Violation
from interlock.policy.config.run_sections import Evaluators
from interlock.policy.evidence.evaluators import evaluations

_RUN = RunState(id="run")
_NAMES = (
    "tests-pass",
    "forbidden-commands",
    "forbidden-dependencies",
    "violation-rate",
    "diff-quality",
)
_COUNTS = st.integers(min_value=0, max_value=2**53)
_STATES = st.builds(
    RunState,
    id=st.just("run"),
    files=st.frozensets(st.sampled_from(["a.py", "b.md", ""])),
    tests=st.none() | st.builds(TestCounts, passed=_COUNTS, failed=_COUNTS, skipped=_COUNTS),
    dependencies=st.frozensets(st.sampled_from(["python:requests", "npm:left-pad"])),
    violations=_COUNTS,
    corrected=_COUNTS,
    forbidden=_COUNTS,
    lines_added=_COUNTS,
    lines_removed=_COUNTS,
    rework_lines=_COUNTS,
)


def some_settings(
    *, max_violations: int = 0, max_rework_percent: int = 30, forbidden: tuple[str, ...] = ()
) -> Evaluators:
    return Evaluators(
        max_violations=max_violations,
        max_rework_percent=max_rework_percent,
        forbidden_commands=(),
        forbidden_dependencies=forbidden,
    )


_SETTINGS = st.builds(
    some_settings,
    max_violations=st.integers(min_value=0, max_value=1_000_000),
    max_rework_percent=st.integers(min_value=0, max_value=100),
    forbidden=st.lists(st.sampled_from(["requests", "npm:*", "x"])).map(tuple),
)


def judged(name: str, state: RunState, settings: Evaluators | None = None) -> Evaluation:
    found = evaluations(state, settings or some_settings())
    return found[_NAMES.index(name)]


def test_a_run_that_did_nothing_passes_everything() -> None:
    found = evaluations(_RUN, some_settings())

    assert tuple(each.evaluator for each in found) == _NAMES
    assert all(each.passed and each.score == 1000 and each.evidence for each in found)


def test_code_without_tests_fails() -> None:
    found = judged("tests-pass", replace(_RUN, files=frozenset(["README.md", "src/cart.py"])))

    assert (found.passed, found.score) == (False, 0)
    assert found.evidence == (
        "0 tests ran, but code changed in 1 of 2 files, such as `src/cart.py`: run the tests"
        " before the run ends",
    )


@pytest.mark.parametrize(
    "path",
    ["README.md", "docs/a.rst", "notes.TXT", "logo.png", "LICENSE", "pkg/NOTICE", "docs\\a.md"],
)
def test_documentation_alone_needs_no_tests(path: str) -> None:
    found = judged("tests-pass", replace(_RUN, files=frozenset([path])))

    assert (found.passed, found.score) == (True, 1000)
    assert found.evidence == ("no code changed, so no tests had to run",)


@pytest.mark.parametrize(
    "path",
    ["a.py", "Makefile", "a.unknown", "", "requirements-dev.txt", "CMakeLists.txt", "md", "a.yaml"],
)
def test_whatever_is_not_known_to_be_documentation_needs_tests(path: str) -> None:
    assert not judged("tests-pass", replace(_RUN, files=frozenset([path]))).passed


def test_tests_that_were_all_skipped_are_no_pass() -> None:
    state = replace(_RUN, files=frozenset(["a.py"]), tests=TestCounts(skipped=12))

    found = judged("tests-pass", state)

    assert (found.passed, found.score) == (False, 0)
    assert found.evidence[0].startswith("0 tests ran and 12 were skipped, but code changed in 1 of")


def test_one_failed_test_of_many_fails() -> None:
    state = replace(_RUN, tests=TestCounts(passed=99_999, failed=1))

    found = judged("tests-pass", state)

    assert (found.passed, found.score) == (False, 999)
    assert found.evidence == (
        "99999 of 100000 tests passed, 1 failed: repair them and run them again",
    )


def test_tests_that_passed_pass() -> None:
    state = replace(_RUN, files=frozenset(["a.py"]), tests=TestCounts(passed=3, skipped=1))

    found = judged("tests-pass", state)

    assert (found.passed, found.score, found.evidence) == (True, 1000, ("3 of 3 tests passed",))


def test_a_command_that_should_not_have_run_fails() -> None:
    state = replace(_RUN, forbidden=1, recent_forbidden=("sudo ls: matches `sudo`",))

    found = judged("forbidden-commands", state)

    assert (found.passed, found.score) == (False, 0)
    assert found.evidence == (
        "1 times something ran that should not have, expected 0",
        "sudo ls: matches `sudo`",
    )


def test_evidence_says_how_much_of_it_is_not_shown() -> None:
    state = replace(_RUN, forbidden=25, recent_forbidden=tuple("abc"))

    assert judged("forbidden-commands", state).evidence[-1] == "and 22 of 25 not shown"


@pytest.mark.parametrize(
    ("entry", "package"),
    [
        ("requests", "python:requests"),
        ("python:requests", "python:requests"),
        ("pypi:Requests", "python:requests"),
        ("Foo__Bar.baz", "python:foo-bar-baz"),
        ("python:foo_*", "python:foo-bar"),
        ("Left-Pad", "npm:left-pad"),
        ("npm:@evil/*", "npm:@evil/thing"),
        ("*", "go:example.com/thing"),
        ("*:left-pad", "npm:left-pad"),
        ("org.evil:*", "maven:org.evil:thing"),
        ("maven:org.evil:thing", "maven:org.evil:thing"),
        ("serde_json", "cargo:serde-json"),
        ("Newtonsoft.Json", "nuget:newtonsoft.json"),
    ],
)
def test_a_forbidden_package_fails(entry: str, package: str) -> None:
    state = replace(_RUN, dependencies=frozenset([package, "hex:plug"]))

    found = judged("forbidden-dependencies", state, some_settings(forbidden=("other", entry)))

    assert (found.passed, found.score) == (False, 0)
    assert f"`{package}` is forbidden by `{entry}`" in found.evidence


@pytest.mark.parametrize(
    ("entry", "package"),
    [
        ("request", "python:requests"),
        ("npm:requests", "python:requests"),
        ("left_pad", "npm:left-pad"),
        ("evil-*", "npm:evil"),
        ("python:*", "npm:left-pad"),
        ("thing", "maven:org.evil:thing"),
        ("left?pad", "npm:left-pad"),
    ],
)
def test_a_package_that_is_only_similar_passes(entry: str, package: str) -> None:
    state = replace(_RUN, dependencies=frozenset([package]))

    found = judged("forbidden-dependencies", state, some_settings(forbidden=(entry,)))

    assert (found.passed, found.score) == (True, 1000)
    assert found.evidence == ("0 of 1 packages added are forbidden, expected 0",)


def test_of_many_forbidden_packages_some_are_shown() -> None:
    state = replace(_RUN, dependencies=frozenset(f"npm:evil-{n}" for n in range(50)))

    found = judged("forbidden-dependencies", state, some_settings(forbidden=("evil-*",)))

    assert found.evidence[0] == "50 of 50 packages added are forbidden, expected 0"
    assert len(found.evidence) == 22
    assert found.evidence[-1] == "and 30 of 50 not shown"


@pytest.mark.parametrize(
    ("count", "most", "passed", "score"),
    [(0, 0, True, 1000), (1, 0, False, 0), (3, 3, True, 250), (4, 3, False, 0), (9, 3, False, 0)],
)
def test_violations_pass_up_to_the_limit(count: int, most: int, passed: bool, score: int) -> None:
    state = replace(_RUN, violations=count)

    found = judged("violation-rate", state, some_settings(max_violations=most))

    assert (found.passed, found.score) == (passed, score)
    assert found.evidence[0] == f"violations: {count}, the limit is {most}"


def test_violations_are_quoted() -> None:
    quoted = (Violation(rule="no-print", message="`print` in a.py"),)
    state = replace(_RUN, violations=1, corrected=1, recent_violations=quoted)

    assert judged("violation-rate", state).evidence == (
        "violations: 1 (1 corrected), the limit is 0",
        "`no-print`: `print` in a.py",
    )


@pytest.mark.parametrize(
    ("rework", "added", "removed", "passed", "score"),
    [
        (0, 10, 0, True, 1000),
        (30, 60, 40, True, 700),
        (31, 60, 40, False, 690),
        (300_000_000_000_001, 600_000_000_000_000, 400_000_000_000_000, False, 699),
        (5, 2, 2, False, 0),
        (5, 0, 0, True, 1000),
    ],
)
def test_rework_passes_up_to_the_limit(
    rework: int, added: int, removed: int, passed: bool, score: int
) -> None:
    state = replace(_RUN, rework_lines=rework, lines_added=added, lines_removed=removed)

    found = judged("diff-quality", state)

    assert (found.passed, found.score) == (passed, score)


def test_rework_is_told_with_both_numbers() -> None:
    state = replace(_RUN, rework_lines=4, lines_added=6, lines_removed=4)

    assert judged("diff-quality", state).evidence == (
        "4 of 10 changed lines were the run's own that it removed again, the limit is 30 %",
    )


@given(_STATES, _SETTINGS)
def test_every_score_is_in_range_and_every_judgement_has_evidence(
    state: RunState, settings: Evaluators
) -> None:
    for found in evaluations(state, settings):
        assert 0 <= found.score <= 1000
        assert found.evidence


@given(_STATES, _SETTINGS)
def test_a_judgement_passes_exactly_where_its_limit_holds(
    state: RunState, settings: Evaluators
) -> None:
    passed = {each.evaluator: each.passed for each in evaluations(state, settings)}
    executed = state.tests.executed if state.tests else 0
    failed = state.tests.failed if state.tests else 0
    changed = state.lines_added + state.lines_removed

    assert passed["tests-pass"] == (
        failed == 0 and (executed > 0 or state.files.isdisjoint(["a.py", ""]))
    )
    assert passed["forbidden-commands"] == (state.forbidden == 0)
    assert passed["violation-rate"] == (state.violations <= settings.max_violations)
    assert passed["diff-quality"] == (
        changed == 0 or 100 * state.rework_lines <= settings.max_rework_percent * changed
    )


@given(_STATES, _SETTINGS)
def test_one_more_fault_never_raises_a_score(state: RunState, settings: Evaluators) -> None:
    tests = state.tests or TestCounts(passed=1)
    before = evaluations(replace(state, tests=tests), settings)
    worse = replace(
        state,
        tests=replace(tests, failed=tests.failed + 1),
        violations=state.violations + 1,
        forbidden=state.forbidden + 1,
        rework_lines=state.rework_lines + 1,
        dependencies=state.dependencies | {"npm:x"},
    )
    after = evaluations(worse, settings)

    for one, other in zip(before, after, strict=True):
        if one.evaluator != "tests-pass" or tests.executed:
            assert other.score <= one.score
            assert one.passed or not other.passed
