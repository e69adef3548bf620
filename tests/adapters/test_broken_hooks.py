"""Whatever breaks between a client and its answer, the dangerous command does not run.

And no agent is kept from ending. The clients are those of `client_readings`.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw
import msgspec
import pytest

from adapters.client_readings import RUNS, call, is_sent_on, stop
from interlock import hook_asker
from server.hook_process import ENTRY, Home, home

__all__ = ["home"]

DANGEROUS = "rm -rf /etc"
UNFINISHED = "I have read the file. Next I will run the tests."

Ended = tuple[int, bytes, bytes]


def hooks(
    home: Home,
    payloads: Mapping[str, object],
    *args: str,
    entry: str = ENTRY,
    as_fork: bool = False,
    before: str = "",
    middle: Callable[[], None] | None = None,
) -> dict[str, Ended]:
    """Run the hooks of all clients at once, each to its end."""
    begun = {
        client: home.started(client, *args, entry=entry, as_fork=as_fork, before=before)
        for client in payloads
    }
    for client, process in begun.items():
        given = payloads[client]
        assert process.stdin is not None
        try:
            process.stdin.write(given if isinstance(given, bytes) else msgspec.json.encode(given))
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
    if middle is not None:
        middle()
    ended: dict[str, Ended] = {}
    for client, process in begun.items():
        said, complaint = process.communicate()
        ended[client] = process.returncode, said, complaint
    return ended


CALLS = {client: call(client, DANGEROUS) for client in RUNS}
STOPS = {client: stop(client, UNFINISHED) for client in RUNS}


def check_nothing_runs(ended: Mapping[str, Ended]) -> None:
    ran = [client for client, reply in ended.items() if RUNS[client](*reply)]
    assert ran == []


def check_all_may_end(ended: Mapping[str, Ended]) -> None:
    kept = [client for client, reply in ended.items() if is_sent_on(client, *reply)]
    assert kept == []


def test_a_server_that_answers_stops_it_in_the_words_of_each(home: Home) -> None:
    with home.served():
        refused = hooks(home, CALLS)
        harmless = hooks(home, {client: call(client, "ls", "s-2") for client in RUNS})

    check_nothing_runs(refused)
    assert [client for client, reply in harmless.items() if not RUNS[client](*reply)] == []


def test_no_server(home: Home) -> None:
    check_nothing_runs(hooks(home, CALLS, as_fork=True))


def test_no_server_and_none_can_begin(home: Home) -> None:
    (home.folder / "interlock").write_text("")

    check_nothing_runs(hooks(home, CALLS, as_fork=True))


@contextmanager
def answering(home: Home, said: bytes | None) -> Generator[socket.socket]:
    """Have something stand in the server's place, which says this; or nothing for ever."""
    Path(home.place).parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(home.place)
        listening.listen(16)
        yield listening
    Path(home.place).unlink(missing_ok=True)


def test_a_server_that_never_answers(home: Home) -> None:
    with answering(home, None):
        refused = hooks(home, CALLS, "--deadline=1")
        ends = hooks(home, STOPS, "stop", "--deadline=1")

    check_nothing_runs(refused)
    check_all_may_end(ends)


@pytest.mark.parametrize("said", [b"", b"0 60 0\n" + b'{"hookSpecificOutput":{"perm'])
def test_an_answer_that_is_cut_off(home: Home, said: bytes) -> None:
    with ExitStack() as stack:
        listening = stack.enter_context(answering(home, said))

        def cut() -> None:
            for _ in RUNS:
                connection, _ = listening.accept()
                connection.recv(65536)
                connection.sendall(said)
                connection.close()
            listening.close()
            # From here on a server of our own may stand there.
            Path(home.place).unlink(missing_ok=True)

        refused = hooks(home, CALLS, as_fork=True, middle=cut)

    check_nothing_runs(refused)


def test_a_server_that_is_killed_in_the_middle(home: Home) -> None:
    with home.served() as server:
        hooks(home, {"codex": call("codex", "ls")})
        server.send_signal(signal.SIGSTOP)
        refused = hooks(home, CALLS, as_fork=True, middle=server.kill)

    check_nothing_runs(refused)


def test_a_ledger_that_is_locked(home: Home) -> None:
    with home.served():
        hooks(home, {"codex": call("codex", "ls")})
    # The server is gone, and somebody holds on to its ledger.
    (home.folder / "interlock" / "server.hooks").unlink(missing_ok=True)
    connection = apsw.Connection(str(home.folder / "state" / "interlock" / "ledger.db"))
    try:
        connection.execute("BEGIN EXCLUSIVE")
        refused = hooks(home, CALLS, "--deadline=3", as_fork=True)
        ends = hooks(home, STOPS, "stop", "--deadline=3", as_fork=True)
    finally:
        connection.close()

    check_nothing_runs(refused)
    check_all_may_end(ends)


_NO_ROOM = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


def test_a_disk_that_is_full(home: Home) -> None:
    refused = hooks(home, CALLS, as_fork=True, before=_NO_ROOM)
    ends = hooks(home, STOPS, "stop", as_fork=True, before=_NO_ROOM)

    check_nothing_runs(refused)
    check_all_may_end(ends)


_NO_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))"


def test_no_room_for_another_open_file(home: Home) -> None:
    check_nothing_runs(hooks(home, CALLS, as_fork=True, before=_NO_FILES))


def test_a_payload_that_is_none(home: Home) -> None:
    with home.served():
        for payload in (b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"{}"):
            refused = hooks(home, dict.fromkeys(RUNS, payload))
            ends = hooks(home, dict.fromkeys(RUNS, payload), "stop")

            # What is no call of a tool is none that could run; but nothing may say yes to one.
            for client, (code, said, complaint) in refused.items():
                assert (client, code, said) == (client, 2, b"")
                assert complaint.strip()
            check_all_may_end(ends)


def test_an_entry_that_cannot_be_read_says_yes_to_nobody_who_looks_at_exit_codes(
    home: Home,
) -> None:
    """The one thing that only the client's own settings close, where it has any: see the docs."""
    ended = hooks(home, CALLS, entry=str(home.folder / "gone.py"))

    assert {client for client, reply in ended.items() if not RUNS[client](*reply)} >= {
        "claude-code",
        "codex",
        "copilot",
        "opencode",
    }


def test_the_hook_is_isolated_from_the_folder_that_the_agent_works_in(home: Home) -> None:
    for name in ("json", "socket", "msgspec", "sitecustomize", "usercustomize", "interlock"):
        (home.folder / f"{name}.py").write_text("import os\nos._exit(0)\n")
    home.environment["PYTHONPATH"] = str(home.folder)
    home.environment["PYTHONSTARTUP"] = str(home.folder / "json.py")
    try:
        # The first one is answered by itself, or by the server that it starts: as all others are.
        check_nothing_runs(hooks(home, {"codex": CALLS["codex"]}))
        check_nothing_runs(hooks(home, CALLS))
    finally:
        del home.environment["PYTHONPATH"]


def test_the_last_words_of_a_hook_come_before_its_client_stops_waiting() -> None:
    assert hook_asker._DEADLINE_S < 30
    assert os.path.isabs(ENTRY)  # noqa: PTH117 - a text in the settings
