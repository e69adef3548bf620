"""What a linter counted is read from its closing line, or else from its complaints."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.review import LintCounts
from interlock.policy.evidence.tool_output import lint_counts_in
from warm_python import run_python

_RUFF_FULL = """\
F401 [*] `os` imported but unused
 --> shop/cart.py:1:8
  |
1 | import os
  |        ^^
help: Remove unused import: `os`

invalid-syntax: Expected a parameter or the end of the parameter list
 --> shop/price.py:4:7
  |
"""
_RUFF_CONCISE = """\
shop/cart.py:1:8: F401 [*] `os` imported but unused
shop/cart.py:4:7: invalid-syntax: Expected a parameter
shop/book.ipynb:cell 11:1:7: F821 Undefined name `total`
"""
_ESLINT = """\

/shop/src/index.js
  2:7   warning  'x' is assigned a value but never used  no-unused-vars
  2:10  error    'y' is not defined                      no-undef

\u2716 2 problems (1 error, 1 warning)
  1 error and 0 warnings potentially fixable with the `--fix` option.
"""
_ESLINT_COMPACT = """\
/shop/index.js: line 1, col 7, Error - 'x' is not defined. (no-undef)
/shop/index.js: line 2, col 1, Warning - Unexpected console statement. (no-console)

2 problems
"""
_ESLINT_UNIX = """\
/shop/index.js:1:7: 'x' is not defined. [Error/no-undef]
/shop/index.js:2:1: Unexpected console statement. [Warning/no-console]
"""
_MYPY = """\
shop/cart.py:3: error: Incompatible return value type (got "int", expected "str")  [return-value]
shop/cart.py:3: note: See the documentation
shop/price.py:7:5: error: Name "total" is not defined  [name-defined]
"""
_TSC = """\
src/cart.ts(3,5): error TS2322: Type 'number' is not assignable to type 'string'.
src/cart.ts(9,1): error TS2304: Cannot find name 'total'.
"""
_TSC_PRETTY = """\
src/cart.ts:3:5 - error TS2322: Type 'number' is not assignable to type 'string'.

3 const a: string = 1;
        ~
"""
_PYRIGHT = """\
/shop/cart.py
  /shop/cart.py:1:10 - error: "str" is not assignable to "int" (reportAssignmentType)
  /shop/cart.py:2:1 - warning: Import "x" is unused
"""


def counts(errors: int = 0, warnings: int = 0) -> LintCounts:
    return LintCounts(errors=errors, warnings=warnings)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param(_RUFF_FULL + "Found 2 errors.\n[*] 1 fixable.", counts(2), id="ruff"),
        pytest.param("Found 1 error.", counts(1), id="ruff-one"),
        pytest.param("Found 5 errors (3 fixed, 2 remaining).", counts(2), id="ruff-fix"),
        pytest.param("All checks passed!", counts(), id="ruff-clean"),
        pytest.param(_RUFF_FULL, counts(2), id="ruff-quiet"),
        pytest.param(_RUFF_CONCISE, counts(3), id="ruff-quiet-concise"),
        pytest.param(_ESLINT, counts(1, 1), id="eslint"),
        pytest.param("\u2716 1 problem (0 errors, 1 warning)", counts(0, 1), id="eslint-one"),
        pytest.param(_ESLINT.partition("\u2716")[0], counts(1, 1), id="eslint-without-closing"),
        pytest.param(_ESLINT_COMPACT, counts(1, 1), id="eslint-compact"),
        pytest.param(_ESLINT_UNIX, counts(1, 1), id="eslint-unix"),
        pytest.param(
            _MYPY + "Found 2 errors in 2 files (checked 9 source files)", counts(2), id="mypy"
        ),
        pytest.param(
            "Found 1 error in 1 file (errors prevented further checking)",
            counts(1),
            id="mypy-syntax",
        ),
        pytest.param("Success: no issues found in 9 source files", counts(), id="mypy-clean"),
        pytest.param("Success: no issues found in 1 source file", counts(), id="mypy-clean-one"),
        pytest.param(_MYPY, counts(2), id="mypy-without-summary"),
        pytest.param(_TSC, counts(2), id="tsc"),
        pytest.param("error TS5083: Cannot read file 'a.json'.", counts(1), id="tsc-no-place"),
        pytest.param(
            _TSC_PRETTY + "Found 1 error in src/cart.ts:3", counts(1), id="tsc-pretty-one"
        ),
        pytest.param(
            "Found 2 errors in the same file, starting at: src/cart.ts:3",
            counts(2),
            id="tsc-pretty-same-file",
        ),
        pytest.param("Found 3 errors in 2 files.\n\nErrors  Files", counts(3), id="tsc-pretty"),
        pytest.param(_TSC_PRETTY, counts(1), id="tsc-pretty-without-closing"),
        pytest.param(
            "[10:11:12 AM] Found 0 errors. Watching for file changes.", counts(), id="tsc-watch"
        ),
        pytest.param(
            "10:11:12 AM - Found 2 errors. Watching for file changes.", counts(2), id="tsc-watch-2"
        ),
        pytest.param(_PYRIGHT + "1 error, 1 warning, 0 notes", counts(1, 1), id="basedpyright"),
        pytest.param("0 errors, 0 warnings, 0 information" + "s ", counts(), id="pyright"),
        pytest.param(_PYRIGHT, counts(1, 1), id="pyright-without-closing"),
    ],
)
def test_every_checker_is_understood(output: str, expected: LintCounts) -> None:
    assert lint_counts_in(output) == expected


@pytest.mark.parametrize(
    "output",
    [
        "",
        "Found 3 errors in your reasoning",
        "I found 3 errors.",
        "Found many errors.",
        "3 problems",
        "all checks passed",
        "Success: it works",
        "2 errors, 3 warnings",
        "error: could not compile `shop`",
        "  --> src/main.rs:1:5",
        "3 failed, 2 passed in 0.1s",
        "cart.py:3: note: See the documentation",
        "cart.c:3:5: error: expected ';'",
        "Found 99999999999999999999 errors.",
    ],
)
def test_text_that_only_talks_of_errors_does_not_count(output: str) -> None:
    assert lint_counts_in(output) is None


def test_of_several_runs_the_last_counts_and_different_checkers_add_up() -> None:
    assert lint_counts_in("Found 3 errors.\nAll checks passed!") == counts()
    assert lint_counts_in("All checks passed!\nFound 3 errors.") == counts(3)
    assert lint_counts_in(f"{_ESLINT}\nFound 3 errors.\n{_TSC}") == counts(6, 1)
    assert lint_counts_in(_TSC + _TSC) == counts(2)


def test_colours_are_taken_off_and_lines_end_in_any_style() -> None:
    assert lint_counts_in("\x1b[1;31mFound 3 errors\x1b[0m.") == counts(3)
    assert lint_counts_in(_ESLINT.replace("\n", "\r\n")) == counts(1, 1)


def test_only_the_closing_part_of_a_long_output_is_read() -> None:
    rest = "compiling\n" * 10_000

    assert lint_counts_in(rest + "Found 3 errors.") == counts(3)
    assert lint_counts_in("Found 3 errors.\n" + rest) is None
    assert lint_counts_in("x" * 401 + ".py:1: error: much") is None


@pytest.mark.parametrize(
    "piece",
    [
        ":1:1: ",
        ":1:1: [Error/",
        "a(1,1): ",
        "Found 1 error",
        " [Error/",
        "1 errors, ",
        "a.py:1:1",
        "\x1b[",
    ],
)
def test_hostile_text_is_read_all_the_same(piece: str) -> None:
    assert lint_counts_in(piece * 20_000 + "\n" + (piece * 30 + "\n") * 1_000) is None


_PIECES = (
    *"0123456789 :,()[]/.\n-\x1bé", "Found ", " errors", ".py", " error ", "TS", ": ", "problems (",
    "\u2716 ", " in ", " files", "warning", "F401", " --> ", "Error", "line 1, col 1, ",
)  # fmt: skip


@given(st.text(max_size=300) | st.lists(st.sampled_from(_PIECES), max_size=60).map("".join))
def test_no_text_is_too_odd(text: str) -> None:
    told = lint_counts_in(text)

    assert told is None or min(told.errors, told.warnings) >= 0


@pytest.mark.parametrize("way", [[], ["--quiet"], ["--output-format=concise", "--quiet"]])
def test_a_linter_that_really_ran_is_understood(way: list[str], tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text("import os\nimport sys\n", "utf-8")
    options = ["check", "--isolated", "--no-cache", *way]
    ran = run_python("-m", "ruff", *options, "cart.py", folder=tmp_path)

    assert ran.returncode == 1
    assert lint_counts_in((ran.stdout + ran.stderr).decode()) == counts(2)
