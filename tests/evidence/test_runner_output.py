"""What a test runner counted is read from the lines with which it closes, and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.evidence.tool_output import counts_in
from interlock.values import TestCounts
from warm_python import run_python

_JEST = """\
Test Suites: 1 failed, 1 skipped, 2 passed, 3 of 4 total
Tests:       1 failed, 2 skipped, 1 todo, 3 passed, 7 total
Snapshots:   0 total
Time:        1.234 s
Ran all test suites.
"""
_VITEST = """\
 Test Files  1 failed | 1 passed (2)
      Tests  2 failed | 5 passed | 1 skipped (8)
   Start at  10:11:12
   Duration  312ms
"""
_CARGO = """\
   Compiling shop v0.1.0
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.51s
     Running unittests src/lib.rs (target/debug/deps/shop-ecbf1877257deb43)

running 3 tests
test tests::a ... ok

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.11s

     Running tests/t.rs (target/debug/deps/t-ecbf1877257deb43)

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
_MOCHA = """
  cart
    ✔ adds
    1) removes

  5 passing (10ms)
  1 pending
  2 failing

  1) cart
       removes:
"""
_RSPEC = "Finished in 0.01 seconds (files took 0.1 seconds to load)\n"
_MAVEN = """\
[INFO] Running shop.CartTest
[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in shop.CartTest
[INFO] Results:
[INFO]
[ERROR] Tests run: 7, Failures: 1, Errors: 1, Skipped: 2
[INFO]
"""
_DOTNET = (
    "Failed!  - Failed:     1, Passed:     5, Skipped:     2, Total:     8, Duration: 12 ms - "
)
_VSTEST = """\
Test Run Failed.
Total tests: 6
     Passed: 3
     Failed: 1
    Skipped: 2
 Total time: 1.2 Seconds
"""
_NODE = """\
1..5
# tests 5
# suites 1
# pass 2
# fail 1
# cancelled 1
# skipped 1
# todo 0
# duration_ms 180.955724
"""
_CTEST = """\
3/3 Test #3: s ................................***Failed   0.00 sec

67% tests passed, 1 tests failed out of 3

Total Test time (real) =   0.01 sec
"""
_TAP = """\
TAP version 13
1..4
ok 1 - adds
not ok 2 - removes
    not ok 1 - a step of it
ok 3 - sends # skip no network
not ok 4 - prices # TODO
"""
_GO = """\
--- FAIL: TestCart (0.00s)
    --- FAIL: TestCart/removes (0.00s)
        cart_test.go:7: want 1
FAIL
FAIL\texample.com/shop/cart\t0.012s
ok  \texample.com/shop/price\t(cached)
ok  \texample.com/shop/tax\t0.010s\tcoverage: 71.4% of statements
ok  \texample.com/shop/none\t0.010s [no tests to run]
?   \texample.com/shop/cmd\t[no test files]
FAIL
"""
_GO_VERBOSE = """\
=== RUN   TestCart
=== RUN   TestCart/adds
--- PASS: TestCart (0.00s)
    --- PASS: TestCart/adds (0.00s)
=== RUN   TestNet
    net_test.go:5: no network
--- SKIP: TestNet (0.00s)
PASS
ok  \texample.com/shop/cart\t0.012s
"""


def counts(passed: int = 0, failed: int = 0, skipped: int = 0) -> TestCounts:
    return TestCounts(passed=passed, failed=failed, skipped=skipped)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param("=== 3 passed in 0.12s ===", counts(3), id="pytest"),
        pytest.param("3 failed, 2 passed, 1 skipped in 0.12s", counts(2, 3, 1), id="pytest-q"),
        pytest.param("= 9 passed, 2 warnings in 65.03s (0:01:05) =", counts(9), id="pytest-long"),
        pytest.param("=== 1 failed, 2 errors in 0.1s ===", counts(0, 3), id="pytest-errors"),
        pytest.param("1 warning, 1 error in 0.1s", counts(0, 1), id="pytest-collection"),
        pytest.param("= 2 passed in 0.12 seconds =", counts(2), id="pytest-of-old"),
        pytest.param("=== no tests ran in 0.01s ===", counts(), id="pytest-none"),
        pytest.param("4 deselected in 0.01s", counts(), id="pytest-deselected"),
        pytest.param("1 xfailed, 2 xpassed in 0.1s", counts(2, 0, 1), id="pytest-expected"),
        pytest.param("2 passed, 3 subtests passed in 0.1s", counts(2), id="pytest-subtests"),
        pytest.param(
            "bringing up nodes...\n.. [100%]\n2 passed in 0.12s", counts(2), id="pytest-xdist"
        ),
        pytest.param(
            "==== tests finished: 5 passed, 2 failed, 1 exceptions, in 0.50 seconds ====",
            counts(5, 3),
            id="sympy",
        ),
        pytest.param("Ran 5 tests in 0.001s\n\nOK", counts(5), id="unittest"),
        pytest.param("Ran 1 test in 0.001s\n\nOK (skipped=1)", counts(0, 0, 1), id="unittest-skip"),
        pytest.param(
            "Ran 9 tests in 0.001s\n\nFAILED (failures=1, errors=2, skipped=1)",
            counts(5, 3, 1),
            id="unittest-failed",
        ),
        pytest.param(
            "Ran 4 tests in 1s\n\nFAILED (expected failures=1, unexpected successes=1)",
            counts(2, 1, 1),
            id="unittest-expected",
        ),
        pytest.param("Ran 0 tests in 0.000s\n\nNO TESTS RAN", counts(), id="unittest-none"),
        pytest.param(
            "Ran 0 tests in 0.0s\n\nFAILED (errors=1)", counts(0, 1), id="unittest-class-set-up"
        ),
        pytest.param(_JEST, counts(3, 1, 3), id="jest"),
        pytest.param("Tests:       6 passed, 6 total", counts(6), id="jest-green"),
        pytest.param(
            "Test Suites: 2 failed, 2 total\nTests:       0 total",
            counts(0, 2),
            id="jest-suites-that-do-not-load",
        ),
        pytest.param(_VITEST, counts(5, 2, 1), id="vitest"),
        pytest.param(
            " Test Files  1 failed (1)\n      Tests  no tests", counts(0, 1), id="vitest-no-load"
        ),
        pytest.param(_CARGO, counts(3, 1, 1), id="cargo"),
        pytest.param(
            "     Summary [   0.010s] 5 tests run: 4 passed (1 slow, 1 flaky), 1 failed, 2 skipped",
            counts(4, 1, 2),
            id="nextest",
        ),
        pytest.param(_MOCHA, counts(5, 2, 1), id="mocha"),
        pytest.param(_RSPEC + "5 examples, 1 failure, 2 pending", counts(2, 1, 2), id="rspec"),
        pytest.param(
            "0 examples, 0 failures, 1 error occurred outside of examples",
            counts(0, 1),
            id="rspec-outside",
        ),
        pytest.param(
            "5 runs, 7 assertions, 1 failures, 1 errors, 1 skips", counts(2, 2, 1), id="minitest"
        ),
        pytest.param("OK (5 tests, 7 assertions)", counts(5), id="phpunit-green"),
        pytest.param(
            "FAILURES!\nTests: 6, Assertions: 7, Errors: 1, Failures: 1, Skipped: 1, Risky: 1.",
            counts(3, 2, 1),
            id="phpunit",
        ),
        pytest.param("No tests executed!", counts(), id="phpunit-none"),
        pytest.param(_MAVEN, counts(3, 2, 2), id="maven"),
        pytest.param("7 tests completed, 2 failed, 1 skipped", counts(4, 2, 1), id="gradle"),
        pytest.param(_DOTNET + "Shop.dll (net8.0)", counts(5, 1, 2), id="dotnet"),
        pytest.param(
            "Test summary: total: 6, failed: 1, succeeded: 3, skipped: 2, duration: 1.2s",
            counts(3, 1, 2),
            id="dotnet-build",
        ),
        pytest.param(_VSTEST, counts(3, 1, 2), id="vstest"),
        pytest.param(_NODE, counts(2, 2, 1), id="node"),
        pytest.param(_NODE.replace("#", "\u2139"), counts(2, 2, 1), id="node-spec"),
        pytest.param("# tests 3\n# pass  2\n# fail  1", counts(2, 1), id="tape"),
        pytest.param(_TAP, counts(1, 1, 2), id="tap"),
        pytest.param(_CTEST, counts(2, 1), id="ctest"),
        pytest.param("5 tests, 1 failure, 2 skipped", counts(2, 1, 2), id="bats"),
        pytest.param("3 tests, 0 failures in 2 seconds", counts(3), id="bats-timed"),
        pytest.param(_GO, counts(2, 2), id="go"),
        pytest.param(_GO_VERBOSE, counts(2, 0, 1), id="go-verbose"),
        pytest.param("FAIL\texample.com/shop [build failed]", counts(0, 1), id="go-build"),
        pytest.param(
            "--- PASS: TestA (0.00s)\npanic: x\nFAIL\texample.com/shop\t0.01s",
            counts(1, 1),
            id="go-panic",
        ),
        pytest.param("--- PASS: TestA (0.00s)\nPASS", counts(1), id="go-binary"),
    ],
)
def test_every_runner_is_understood(output: str, expected: TestCounts) -> None:
    assert counts_in(output) == expected


@pytest.mark.parametrize(
    "output",
    [
        "",
        "5 passed the exam",
        "all 5 tests passed in the end",
        "5 passed in 2020",
        "he passed 5 tests in 3s",
        "Found 3 errors in 2 files",
        "3 errors, 5 warnings",
        "3 files in 0.5s",
        "Tests: many",
        "Tests: 3",
        "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 sec",
        "Ran 5 tests in 0.001s",
        "Ran 5 tests in 0.001s\nand then this\nOK",
        "OK",
        "FAILED (failures=1)",
        "test result: I think it passed",
        "5 passing cars",
        "# tests\n# pass",
        "# pass 3",
        "ok 1 - a step, and no plan",
        "1..4",
        "1..many of them\nok 1 - a step",
        "ok 1 0.5s",
        "FAIL src/cart.test.js",
        "FAIL src/cart.test.js (5.1 s)",
        "PASS",
        '{"Action":"pass"}',
        '{"Action":"output","Package":"shop","Output":"--- FAIL: TestA (0.00s)\\n"}',
        '{"Action": not json',
        "5 examples, and 2 more",
        "80% tests passed, it said",
        "99999999999999999999 passed in 0.1s",
    ],
)
def test_text_that_only_talks_of_tests_does_not_count(output: str) -> None:
    assert counts_in(output) is None


def test_go_events_are_counted_by_package_even_where_they_mix() -> None:
    events = [
        ("run", "shop/cart", "TestA"),
        ("pass", "shop/price", "TestP"),
        ("fail", "shop/cart", "TestA"),
        ("pass", "shop/price", None),
        ("skip", "shop/cart", "TestB"),
        ("fail", "shop/cart", None),
        ("skip", "shop/cmd", None),
        ("fail", "shop/broken", None),
    ]
    output = "\n".join(
        json.dumps({"Action": action, "Package": package, **({"Test": test} if test else {})})
        for action, package, test in events
    ).replace('"Action": ', '"Action":')

    assert counts_in(output) == counts(1, 2, 1)


def test_of_several_runs_the_last_counts() -> None:
    assert counts_in("3 failed in 0.1s\n...\n1 failed, 2 passed in 0.1s") == counts(2, 1)
    assert counts_in("Tests: 1 failed, 1 total\nTests: 1 passed, 1 total") == counts(1)
    assert counts_in("Tests: 2, Assertions: 2, Failures: 1.\nOK (2 tests, 3 assertions)") == (
        counts(2)
    )
    assert counts_in("OK (2 tests, 3 assertions)\nTests: 2, Assertions: 2, Failures: 1.") == (
        counts(1, 1)
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(_CARGO, _CARGO, id="cargo"),
        pytest.param(_GO, _GO, id="go"),
        pytest.param(_TAP, _TAP, id="tap"),
        pytest.param(_DOTNET + "Shop.dll", _DOTNET + "Shop.dll", id="dotnet"),
        pytest.param(
            "[INFO] Scanning for projects...\n" + _MAVEN,
            "[INFO] Scanning for projects...\n" + _MAVEN,
            id="maven",
        ),
        pytest.param(
            "3 tests completed, 1 failed\nBUILD FAILED in 3s",
            "3 tests completed, 1 failed\nBUILD FAILED in 4s",
            id="gradle",
        ),
    ],
)
def test_a_run_that_is_repeated_counts_once(first: str, second: str) -> None:
    assert counts_in(f"{first}\n{second}") == counts_in(second)


def test_the_parts_of_one_run_add_up() -> None:
    dotnet = f"{_DOTNET}Shop.dll (net8.0)\n{_DOTNET}Price.dll (net8.0)"
    gradle = "3 tests completed, 1 failed\n2 tests completed, 2 failed\nBUILD FAILED in 3s"

    assert counts_in(dotnet) == counts(10, 2, 4)
    assert counts_in(gradle) == counts(2, 3)
    assert counts_in(_MAVEN * 2) == counts(6, 4, 4)


def test_a_runner_that_passes_does_not_hide_one_that_fails() -> None:
    assert counts_in("1 failed, 2 passed in 0.1s\n" + "Tests: 4 passed, 4 total") == counts(6, 1)


@pytest.mark.parametrize("ending", ["\r\n", "\r"], ids=["windows", "progress-bar"])
def test_lines_end_in_any_style(ending: str) -> None:
    assert counts_in(_MOCHA.replace("\n", ending)) == counts(5, 2, 1)


def test_colours_and_links_are_taken_off() -> None:
    red, bold, plain = "\x1b[31m", "\x1b[1;38;5;9m", "\x1b[0m"
    link = "\x1b]8;;file:///a\x07Tests:\x1b]8;;\x1b\\"

    assert counts_in(f"{red}= {bold}1 failed{plain}{red}, 2 passed{plain} in 0.1s =") == (
        counts(2, 1)
    )
    assert counts_in(f"{link}       {red}1 failed{plain}, 1 total") == counts(0, 1)


def test_only_the_closing_part_of_a_long_output_is_read() -> None:
    rest = "compiling\n" * 10_000

    assert counts_in(rest + "3 passed in 0.1s") == counts(3)
    assert counts_in("3 passed in 0.1s\n" + rest) is None
    # A line that is cut off in front says something else than it did: `13 passed`.
    cut = "13 passed in 0.1s\n" + "x" * (64 * 1024 - len("3 passed in 0.1s\n"))
    assert counts_in(cut) is None


@pytest.mark.parametrize(
    "piece",
    ["1 passed, ", "1 a ", "=", "\x1b[", "\x1b]", "Tests: 1 ", "(1 ", "ok ", "--- FAIL: ", "1..1 "],
)
def test_hostile_text_is_read_all_the_same(piece: str) -> None:
    assert counts_in(piece * 20_000 + "\n" + (piece * 30 + "\n") * 1_000) is None


@given(st.text(max_size=300))
def test_no_text_is_too_odd(text: str) -> None:
    told = counts_in(text)

    assert told is None or min(told.passed, told.failed, told.skipped) >= 0


_PIECES = (
    *"0123456789 ,;|:=()[]#.!\n-s\x1bé",
    *(" passed| failed|Tests|Ran | tests| in |test result: ok. |OK|FAILED|ok |FAIL".split("|")),
    *("1..|# pass|Tests: | total|=== | passing (|--- FAIL: |\x1b[|\r\n".split("|")),
)


@given(st.lists(st.sampled_from(_PIECES), max_size=80).map("".join))
def test_no_pieces_of_summaries_are_too_odd(text: str) -> None:
    told = counts_in(text)

    assert told is None or min(told.passed, told.failed, told.skipped) >= 0


_COUNTS = st.builds(
    counts, st.integers(0, 9999), st.integers(0, 9999), st.integers(0, 9999)
).filter(lambda told: told.executed + told.skipped > 0)
_WAYS_TO_TELL = {
    "pytest": "==== {failed} failed, {passed} passed, {skipped} skipped in 1.23s ====",
    "unittest": "Ran {total} tests in 0.1s\n\nFAILED (failures={failed}, skipped={skipped})",
    "jest": "Tests:       {failed} failed, {skipped} skipped, {passed} passed, {total} total",
    "vitest": "      Tests  {failed} failed | {passed} passed | {skipped} skipped ({total})",
    "cargo": "test result: FAILED. {passed} passed; {failed} failed; {skipped} ignored; 0 measured",
    "mocha": "  {passed} passing (1s)\n  {skipped} pending\n  {failed} failing",
    "rspec": "{total} examples, {failed} failures, {skipped} pending",
    "minitest": "{total} runs, 7 assertions, {failed} failures, 0 errors, {skipped} skips",
    "phpunit": "Tests: {total}, Assertions: 7, Failures: {failed}, Skipped: {skipped}.",
    "maven": "[ERROR] Tests run: {total}, Failures: {failed}, Errors: 0, Skipped: {skipped}",
    "gradle": "{total} tests completed, {failed} failed, {skipped} skipped",
    "dotnet": "Failed!  - Failed: {failed}, Passed: {passed}, Skipped: {skipped}, Total: {total}",
    "node": "# tests {total}\n# pass {passed}\n# fail {failed}\n# skipped {skipped}",
    "bats": "{total} tests, {failed} failures, {skipped} skipped",
}


@given(_COUNTS, st.sampled_from(sorted(_WAYS_TO_TELL)), st.text("abc .\n", max_size=60))
def test_what_a_runner_tells_is_what_it_counted(told: TestCounts, runner: str, before: str) -> None:
    total = told.passed + told.failed + told.skipped
    line = _WAYS_TO_TELL[runner].format(
        passed=told.passed, failed=told.failed, skipped=told.skipped, total=total
    )

    assert counts_in(f"{before}\n{line}\n") == told


_SUITE = """\
import unittest
class Cart(unittest.TestCase):
    def test_adds(self): pass
    def test_removes(self): self.fail()
    @unittest.skip("not now")
    def test_sends(self): pass
"""


@pytest.mark.parametrize("runner", [["pytest", "-q", "-p", "no:cacheprovider"], ["unittest"]])
def test_a_runner_that_really_ran_is_understood(runner: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_cart.py").write_text(_SUITE, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    ran = run_python("-m", *runner, "test_cart.py", folder=tmp_path)

    assert ran.returncode == 1
    assert counts_in((ran.stdout + ran.stderr).decode()) == counts(1, 1, 1)
