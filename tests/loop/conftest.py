from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from effort import DURABLE
from loop.loop_bench import LoopBench
from service.ledgers import HandClock


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopBench]:
    """A loop with its ledger in a file, where the store cannot matter."""
    yield from opened_bench(str(tmp_path / "ledger.db"), tmp_path, monkeypatch)


@pytest.fixture(params=DURABLE)
def lasting_bench(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LoopBench]:
    """The same wherever ledgers last."""
    yield from opened_bench(_place(request, tmp_path), tmp_path, monkeypatch)


@pytest.fixture(params=["sqlite", "postgres"])
def both_bench(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LoopBench]:
    """The same in a file and in Postgres, always."""
    yield from opened_bench(_place(request, tmp_path), tmp_path, monkeypatch)


def _place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    is_file = request.param == "sqlite"
    return (
        str(tmp_path / "ledger.db") if is_file else request.getfixturevalue("postgres_ledger_url")
    )


def opened_bench(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LoopBench]:
    """Open a loop over a place of its own, and check it in the end."""
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        bench = LoopBench(stack, place, tmp_path, HandClock())
        yield bench
        bench.check()
