"""How did the run go? Judgements on what is known of it at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from interlock.model.review import Evaluation
from interlock.model.run import RunState
from interlock.policy.config.run_sections import Evaluators
from interlock.policy.evidence.dependencies import Forbidden

_FULL: Final = 1000
_MOST_EVIDENCE: Final = 20

_NO_CODE_SUFFIXES: Final = tuple(
    ".md .markdown .mdx .rst .adoc .asciidoc .txt .text .log .csv .tsv .pdf .doc .docx .odt .rtf"
    " .png .jpg .jpeg .gif .webp .svg .ico .bmp .tif .tiff .avif .mp3 .mp4 .wav .webm"
    " .ttf .otf .woff .woff2".split()
)
_NO_CODE_NAMES: Final = frozenset(
    "authors changelog changes codeowners contributing contributors copying history license licence"
    " maintainers news notice readme security thanks".split()
)
_CODE_NAMES: Final = ("requirements", "constraints", "cmakelists")
"""Text files that decide what is built or installed all the same."""


def evaluations(state: RunState, settings: Evaluators) -> tuple[Evaluation, ...]:
    """Return what each evaluator says of a run."""
    return (
        _tests_pass(state),
        _forbidden_commands(state),
        _forbidden_dependencies(state, settings.forbidden_dependencies),
        _violation_rate(state, settings.max_violations),
        _diff_quality(state, settings.max_rework_percent),
        *_diff_size(state, settings.max_changed_lines),
    )


def _tests_pass(state: RunState) -> Evaluation:
    tests = state.tests
    if tests is not None and tests.executed > 0:
        evidence = f"{tests.passed} of {tests.executed} tests passed"
        if tests.failed:
            evidence += f", {tests.failed} failed: repair them and run them again"
        score = _share(tests.passed, tests.executed)
        return _judged("tests-pass", evidence, passed=tests.failed == 0, score=score)
    code = sorted(path for path in state.files if _is_code(path))
    if not code:
        return _judged("tests-pass", "no code changed, so no tests had to run")
    skipped = f" and {tests.skipped} were skipped" if tests is not None else ""
    evidence = (
        f"0 tests ran{skipped}, but code changed in {len(code)} of {len(state.files)} files,"
        f" such as `{code[0]}`: run the tests before the run ends"
    )
    return _judged("tests-pass", evidence, passed=False, score=0)


def _is_code(path: str) -> bool:
    """Whether a change to a file asks for tests: everything does that is not known not to."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if name in _NO_CODE_NAMES:
        return False
    return not name.endswith(_NO_CODE_SUFFIXES) or any(word in name for word in _CODE_NAMES)


def _forbidden_commands(state: RunState) -> Evaluation:
    evidence = f"{state.forbidden} times something ran that should not have, expected 0"
    return _judged(
        "forbidden-commands",
        evidence,
        *_quoted(state.recent_forbidden, of=state.forbidden),
        passed=state.forbidden == 0,
        score=0 if state.forbidden else _FULL,
    )


def _forbidden_dependencies(state: RunState, forbidden: tuple[str, ...]) -> Evaluation:
    names = Forbidden(forbidden)
    found = [
        f"`{package}` is forbidden by `{entry}`"
        for package in sorted(state.dependencies)
        if (entry := names.entry_for(package)) is not None
    ]
    return _judged(
        "forbidden-dependencies",
        f"{len(found)} of {len(state.dependencies)} packages added are forbidden, expected 0",
        *_quoted(found[:_MOST_EVIDENCE], of=len(found)),
        passed=not found,
        score=0 if found else _FULL,
    )


def _violation_rate(state: RunState, most: int) -> Evaluation:
    count = state.violations
    corrected = f" ({state.corrected} corrected)" if state.corrected else ""
    recent = [f"`{each.rule}`: {each.message}" for each in state.recent_violations]
    return _judged(
        "violation-rate",
        f"violations: {count}{corrected}, the limit is {most}",
        *_quoted(recent, of=count),
        passed=count <= most,
        score=_share(most + 1 - count, most + 1),
    )


def _diff_quality(state: RunState, most_percent: int) -> Evaluation:
    changed, rework = state.lines_added + state.lines_removed, state.rework_lines
    if not changed:
        return _judged("diff-quality", "no lines changed")
    return _judged(
        "diff-quality",
        f"{rework} of {changed} changed lines were the run's own that it removed again,"
        f" the limit is {most_percent} %",
        passed=rework * 100 <= most_percent * changed,
        score=_share(changed - rework, changed),
    )


def _diff_size(state: RunState, most: int | None) -> Iterator[Evaluation]:
    if most is None:
        return
    changed = state.lines_added + state.lines_removed
    yield _judged(
        "diff-size",
        f"{changed} lines changed, the limit is {most}",
        passed=changed <= most,
        score=_FULL if changed <= most else _share(most, changed),
    )


def _judged(evaluator: str, *evidence: str, passed: bool = True, score: int = _FULL) -> Evaluation:
    return Evaluation(evaluator=evaluator, passed=passed, score=score, evidence=evidence)


def _share(part: int, whole: int) -> int:
    """Return a part in thousandths, rounded down: only the whole is full."""
    return max(0, part * _FULL // whole)


def _quoted(named: Iterable[str], *, of: int) -> list[str]:
    """Return the cases that are named, and say how many are not."""
    cases = list(named)
    return [*cases, f"and {of - len(cases)} of {of} not shown"] if of > len(cases) else cases
