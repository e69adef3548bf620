from __future__ import annotations

import sys
from pathlib import Path

import pytest

from supervision.supervised import Place

if sys.platform != "linux":
    pytest.skip("what a command has started is found on Linux only", allow_module_level=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A ledger with an operator, and a folder to work in."""
    return Place(tmp_path)
