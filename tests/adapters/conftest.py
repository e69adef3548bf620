from __future__ import annotations

from pathlib import Path

import pytest

from adapters.users import a_user


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, with nobody's settings and no client on the path."""
    return a_user(tmp_path, monkeypatch)
