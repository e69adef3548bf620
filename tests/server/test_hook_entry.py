"""A hook is answered, whatever happens to the server; and never with a free pass."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import hook_asker, load_policy, settings
from patience import wait_until
from server.hook_process import Home, home, sessions
from service.ledgers import CHEAP, PASSPHRASE
from warm_python import PythonProcess

__all__ = ["home"]

HARMLESS = {"session": "s1", "action": {"command": "ls"}, "key": "call-1"}
DANGEROUS = {"session": "s1", "action": {"command": "rm -rf /"}}
STRICT = """
[[rules]]
id = "no-ls"
when = 'commands.exists(c, c.program == "ls")'
decision = "deny"
message = "no"
"""
CLAIM = {"session": "s1", "stop": {"text": "Done: all tests pass."}}


def test_a_server_answers(home: Home) -> None:
    with home.served():
        harmless, dangerous = home.hook(HARMLESS), home.hook(DANGEROUS)

    assert (harmless.returncode, harmless.stderr) == (0, b"")
    assert msgspec.json.decode(harmless.stdout)["decision"] == "allow"
    assert dangerous.returncode == 2
    assert msgspec.json.decode(dangerous.stdout)["decision"] == "block"
    assert dangerous.stderr.startswith(b"interlock: deletes the system")


def test_without_a_server_one_is_started_that_answers_from_then_on(home: Home) -> None:
    first, listening = home.hook(DANGEROUS), home.running()
    second = home.hook(HARMLESS)

    assert (first.returncode, second.returncode) == (2, 0)
    assert listening is not None
    assert listening == home.running()


def test_a_server_that_hooks_started_makes_room_for_one_with_a_console(home: Home) -> None:
    home.hook(HARMLESS, as_fork=True)
    started = home.running()
    words = ["-m", "interlock", "serve", "--port=0", "--json"]
    with PythonProcess[bytes](
        words, env=home.environment, stdout=subprocess.PIPE, cwd="/"
    ) as server:
        assert server.stdout is not None
        told = msgspec.json.decode(server.stdout.readline())
        refused = home.hook(DANGEROUS)
        server.terminate()

    assert started is not None
    assert (told["pid"], told["url"] is None) == (server.pid, False)
    assert started.pid != server.pid
    assert refused.returncode == 2


def test_while_all_runs_are_halted_no_session_does_anything_or_begins(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with home.served():
        before = home.hook(HARMLESS)
        with home.ledger(monkeypatch) as interlock:
            interlock.set_up("anna", PASSPHRASE, cost=CHEAP)
            token = interlock.unlock("anna", PASSPHRASE)
            interlock.halt_all(token=token, reason="the token leaked")
        halted = [home.hook({**HARMLESS, "session": each, "key": "k"}) for each in ("s1", "s2")]
        with home.ledger(monkeypatch) as interlock:
            interlock.lift_all(token=token, reason="it is replaced")
        after = [home.hook({**HARMLESS, "session": each, "key": "l"}) for each in ("s1", "s2")]

    assert before.returncode == 0
    assert [each.returncode for each in halted] == [2, 2]
    assert all(b"all runs are halted: the token leaked" in each.stderr for each in halted)
    assert [each.returncode for each in after] == [0, 0]


def test_a_server_takes_up_what_changes_in_the_policy_before_its_next_answer(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = home.folder / "config" / "interlock" / "policy.toml"
    project = home.folder / "interlock.toml"
    own.parent.mkdir(parents=True)

    def code(key: str, session: str = "s1") -> int:
        return home.hook({**HARMLESS, "session": session, "key": key}).returncode

    with home.served():
        codes = [code("before")]
        own.write_text(STRICT)
        codes += [code("stricter"), code("in a new session", "s2")]
        with home.ledger(monkeypatch) as interlock:
            interlock.set_up("anna", PASSPHRASE, cost=CHEAP)
        own.write_text("")
        codes += [code("looser, which an operator has to adopt")]
        own.write_text("[[rules")
        codes += [code("broken: the last good one counts")]
        own.write_text(STRICT)
        with home.ledger(monkeypatch) as interlock:
            token = interlock.unlock("anna", PASSPHRASE)
            own.write_text("")
            interlock.adopt(load_policy(user=own, project=None), token=token)
        codes += [code("adopted in another process")]
        project.write_text(STRICT)
        codes += [code("a project's, which a new session finds", "s3")]
        project.write_text(STRICT.replace("deny", "warn"))
        codes += [code("milder than before, stricter than the user's", "s3")]

    assert codes == [0, 2, 2, 2, 2, 0, 2, 0]


@pytest.mark.parametrize("is_served", [True, False], ids=["a server that starts", "no server"])
def test_what_is_looser_waits_and_what_counts_goes_on_counting(
    home: Home, monkeypatch: pytest.MonkeyPatch, *, is_served: bool
) -> None:
    own = home.folder / "config" / "interlock" / "policy.toml"
    own.parent.mkdir(parents=True)
    own.write_text(STRICT)
    if not is_served:
        (home.folder / "interlock").write_text("")
    with home.ledger(monkeypatch) as interlock:
        interlock.set_up("anna", PASSPHRASE, cost=CHEAP)
    looser = STRICT.replace("ls", "id")
    own.write_text(looser)

    def codes(session: str) -> list[int]:
        asked = ("ls", "id", "pwd")
        actions = [{"action": {"command": line}, "key": line} for line in asked]
        told = [{"session": session, **each} for each in actions]
        return [home.hook(each, as_fork=not is_served).returncode for each in told]

    with home.served() if is_served else contextlib.nullcontext():
        held = codes("s1")
        (home.folder / "interlock.toml").write_text(STRICT.replace("ls", "pwd"))
        in_project = codes("s2")
        (home.folder / "interlock.toml").unlink()
        own.write_text(STRICT + looser)
        with home.ledger(monkeypatch) as interlock:
            token = interlock.unlock("anna", PASSPHRASE)
            own.write_text(looser)
            interlock.adopt(load_policy(user=own, project=None), token=token)
        adopted = codes("s3")

    assert (held, in_project, adopted) == ([2, 2, 0], [2, 2, 2], [0, 2, 0])


def test_of_two_hooks_at_once_one_starts_the_server(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [home.begun({**HARMLESS, "key": f"k{number}"}) for number in range(4)]
    ended = [(process.communicate(), process.returncode) for process in processes]
    listening = home.running()

    assert [code for _, code in ended] == [0, 0, 0, 0]
    assert listening is not None
    with home.ledger(monkeypatch) as interlock:
        assert [run.seq for run in sessions(interlock)] == [5]
    # Those that came second see the first one, and end.
    wait_until(lambda: not set(home.processes()) - {listening.pid})
    assert home.running() == listening
    assert home.hook(HARMLESS).returncode == 0


def test_where_no_server_can_be_the_answer_is_given_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What stands in the place of the folder for sockets lets no server begin.
    (home.folder / "interlock").write_text("")
    harmless, dangerous = home.hook(HARMLESS), home.hook(DANGEROUS)

    assert (harmless.returncode, dangerous.returncode) == (0, 2)
    with home.ledger(monkeypatch) as interlock:
        assert [run.seq for run in sessions(interlock)] == [3]


def test_a_server_that_is_killed_costs_no_answer(home: Home) -> None:
    with home.served() as server:
        home.hook(HARMLESS)
        server.send_signal(signal.SIGSTOP)
        asked = home.begun(DANGEROUS, as_fork=True)
        server.kill()
        said, _ = asked.communicate()

    assert asked.returncode == 2
    assert msgspec.json.decode(said)["decision"] == "block"


@pytest.mark.parametrize("said", [b"", b"0 5 0\n{", b"0 yes 0\n", b"x" * 100])
def test_an_answer_that_is_none_is_not_believed(home: Home, said: bytes) -> None:
    Path(home.place).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(home.place)
        listening.listen()
        asked = home.begun(DANGEROUS, as_fork=True)
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(said)
        listening.close()
        asked.communicate()

    assert asked.returncode == 2


UNREADABLE = {
    b"": b"is not an object|cannot be read",
    b"not json": b"is not JSON",
    b'{"session": "s1"}': b"asks nothing",
    b'1, "hook": "other"': b"is not JSON",
    b'{"session":"s1","action":{"command":7}}': b"expected a string",
    b'{"action":{"command":"ls"}}': b"neither `run` nor `session`",
    b"\xff\xfe": b"is not JSON",
    b"[" * 100_000: b"is not JSON",
}


def test_what_cannot_be_read_is_refused_with_a_reason(home: Home) -> None:
    with home.served():
        for payload, told in UNREADABLE.items():
            refused, stop = home.hook(payload), home.hook(payload, "stop")

            assert (refused.returncode, refused.stdout) == (2, b"")
            assert any(each in refused.stderr for each in told.split(b"|"))
            assert (stop.returncode, stop.stdout) == (0, b"")


def test_a_payload_that_is_too_large_is_refused(home: Home) -> None:
    huge = {"session": "s1", "action": {"path": "a", "content": "x" * (9 << 20)}}
    with home.served():
        refused, stop = home.hook(huge), home.hook(huge, "stop")

    assert refused.returncode == 2
    assert b"larger than 8,388,608 bytes" in refused.stderr
    assert stop.returncode == 0


def test_a_dialect_that_nobody_speaks_is_refused(home: Home) -> None:
    with home.served():
        refused = home.hook(HARMLESS, dialect="klingon")

    assert refused.returncode == 2
    assert (
        b"`klingon` is no dialect of hooks: expected one of `auto`, `claude-code`" in refused.stderr
    )


def test_at_the_deadline_the_answer_is_no_and_an_agent_may_end(home: Home) -> None:
    Path(home.place).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(home.place)
        listening.listen()
        late, end = home.hook(HARMLESS, "--deadline=1"), home.hook(CLAIM, "stop", "--deadline=1")

    assert (late.returncode, late.stdout, end.returncode, end.stdout) == (2, b"", 0, b"")
    assert b"the deadline has passed" in late.stderr


def test_a_session_is_one_run_and_its_end_begins_another(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with home.served():
        home.hook(HARMLESS)
        home.hook({**HARMLESS, "seen": {"exit_code": 0}})
        home.hook({"session": "s1", "prompt": True})
        stop = home.hook(CLAIM, "stop")
        home.hook({"session": "s1", "end": "completed"})
        home.hook(HARMLESS)
        other = home.hook({**HARMLESS, "session": "s2"})

    assert stop.returncode == 0
    assert other.returncode == 0
    with home.ledger(monkeypatch) as interlock:
        runs = sessions(interlock)
        assert sorted(run.outcome or "" for run in runs) == ["", "", "completed"]
        assert {run.workspace for run in runs} == {str(home.folder)}


def test_a_project_is_judged_by_its_own_policy(home: Home) -> None:
    rules = (
        '[[rules]]\nid = "no-ls"\nwhen = \'commands.exists(c, c.program == "ls")\'\n'
        'decision = "block"\nmessage = "no listing"\n'
    )
    (home.folder / "interlock.toml").write_text(rules)
    with home.served():
        answer = home.hook(HARMLESS)

    assert b"no listing" in answer.stderr
    assert answer.returncode == 2


names = st.sampled_from(
    ["", "/run/x", "/tmp/", "relative", "/" + "long" * 40, "~/ledger", "pg://h/d"]
)


@given(state=names, runtime=names, ledger=names)
def test_the_entry_finds_the_place_that_the_settings_name(
    state: str, runtime: str, ledger: str
) -> None:
    told = {"XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": runtime, "INTERLOCK_LEDGER": ledger}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        places = settings.current_server_places(settings.current_ledger_places().ledger)
        assert hook_asker.hooks_place(dict(os.environ)) == str(places.hooks)


@given(text=st.text(), payload=st.binary())
def test_every_argument_is_told_as_it_is(text: str, payload: bytes) -> None:
    line = hook_asker.request_line(["interlock", text], text, 7, b'{"a":\n1}', {})

    assert line.count(b"\n") == 1
    told = msgspec.json.decode(line)
    assert (told["args"], told["cwd"], told["payload"]) == ([text], text, {"a": 1})
    assert b"\n" not in hook_asker.request_line(["x"], "", 7, payload, {})[:-1]


def test_the_entry_imports_next_to_nothing() -> None:
    program = (
        "import sys; before = set(sys.modules); sys.argv = ['x'];"
        f"exec(compile(open({hook_asker.__file__!r}).read(), 'x', 'exec'), {{'__name__': 'x'}});"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["_socket"]
