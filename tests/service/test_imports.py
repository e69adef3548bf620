"""Importing Interlock costs nothing; what is heavy is loaded by whoever needs it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import interlock
from interlock import values
from patience import LONG_ENOUGH_S


def _loaded_by(code: str, heavy: tuple[str, ...]) -> list[str]:
    told = f"import sys\n{code}\nprint(*[name for name in {heavy!r} if name in sys.modules])"
    # Measuring coverage loads modules of its own.
    plain = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    result = subprocess.run(
        [sys.executable, "-c", told],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG_ENOUGH_S,
        env=plain,
    )
    return result.stdout.split()


def test_importing_interlock_loads_nothing_heavy() -> None:
    heavy = ("apsw", "asyncio", "psycopg", "msgspec", "re2", "tree_sitter", "typing", "logging")

    assert _loaded_by("import interlock", heavy) == []


def test_judging_without_a_ledger_loads_no_store() -> None:
    code = "from interlock import evaluate_command\nevaluate_command('ls')"

    assert _loaded_by(code, ("apsw", "asyncio", "psycopg", "genai_prices")) == []


def test_a_ledger_in_a_file_loads_no_postgres_and_no_prices() -> None:
    code = (
        "from interlock import Interlock\n"
        "with Interlock.open(':memory:') as interlock:\n"
        "    interlock.run('t').command('ls')\n"
    )

    assert _loaded_by(code, ("psycopg", "genai_prices", "click", "rich")) == []


@pytest.mark.parametrize("name", interlock.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(interlock, name) is not None
    assert name in dir(interlock)


def test_what_programs_write_fits_on_one_screen() -> None:
    assert len(interlock.__all__) <= 45
    assert not {*interlock.__all__} & {*values.__all__}


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = getattr(interlock, "nonsense")  # noqa: B009 - there is no such name to write
