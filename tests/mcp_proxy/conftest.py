"""A home of its own for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_proxy.ends import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)
