"""A session of opencode's own server, run in the jail: `opencode run` ends at the first idle.

`python opencode_session.py OPENCODE PROMPT FILE` goes on until FILE is there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

_NAP_S = 0.05


def main(opencode: str, prompt: str, ended: str) -> None:
    """Have the server do what a prompt says, and whatever it goes on with by itself."""
    words = [opencode, "serve", "--hostname", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = next(each for each in server.stdout if "http://" in each)
        address = "http://" + line.strip().rpartition("http://")[2]
        session = _post(f"{address}/session", {})["id"]
        _post(f"{address}/session/{session}/message", {"parts": [{"type": "text", "text": prompt}]})
        while not Path(ended).exists():
            time.sleep(_NAP_S)
        server.kill()


def _post(address: str, body: object) -> dict[str, Any]:
    request = urllib.request.Request(
        address, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        return json.loads(reply.read())


if __name__ == "__main__":
    main(*sys.argv[1:])
