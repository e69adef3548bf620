"""Interlock for programs that ask a server: the same words, over a socket.

from interlock.client import connect

with connect() as interlock:
with interlock.run("fix the build") as run:
if run.command("make test"):
...
"""

from __future__ import annotations

from interlock.client.remote_aio import AsyncClient, AsyncClientRun
from interlock.client.remote_interlock import Client, ClientRun, connect

__all__ = ["AsyncClient", "AsyncClientRun", "Client", "ClientRun", "connect"]
