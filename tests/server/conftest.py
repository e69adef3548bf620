"""What every test of the server may ask for."""

from __future__ import annotations

from server.served import served, shared

__all__ = ["served", "shared"]
