from __future__ import annotations

from pathlib import Path

import pytest

from edits.workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)
