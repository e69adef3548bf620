"""Types that threads read values of are ready before the first request."""

from __future__ import annotations

import subprocess
import sys

THREADS = """\
import threading
import msgspec
from interlock.server.server_process import prepare_types
prepare_types()
from interlock.model.events import Record
from interlock.model.review import ReviewVerdict
from interlock.policy.config.document import Policy
from interlock.model.run import RunState

kinds = [Policy, ReviewVerdict, Record, RunState]
gate = threading.Barrier(8)

def read():
    gate.wait()
    for _ in range(200):
        for kind in kinds:
            try:
                msgspec.convert({}, kind)
            except msgspec.ValidationError:
                pass

threads = [threading.Thread(target=read) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print("alive")
"""


def test_threads_may_read_a_type_at_once_as_soon_as_a_server_is_ready() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, check=False)

        assert done.returncode == 0, done.stderr
        assert done.stdout == b"alive\n"
