"""Attacks on who decides: every way that is no person's must fail, and a person's must not."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import apsw
import msgspec
import pytest

from cli.asking import interlock
from interlock import Budget, InputError, Interlock, NotPermittedError, Run, load_policy
from interlock.ledger.verification import Mismatch, verify_all
from interlock.model.events import AccessRefused, RunResumed
from interlock.model.principal import PassphraseCost, Principal, PrincipalKind, agent_named
from interlock.model.run import LEDGER_RUN
from interlock.processes import ancestors, from_proc, from_ps, is_alive, own_name
from interlock.service.operations import Operations
from interlock.service.people.credentials import derived_token, new_token, token_digest
from interlock.service.questions.run_entries import person_heard
from interlock.service.run_operations import RunOperations
from service.ledgers import CHEAP, PASSPHRASE, another, events_of, in_memory, operator_of
from terminal import Ended, at_terminal, interlock_at_terminal, own_terminal
from warm_python import PythonProcess

PUSH = "git push --force origin topic"
WRONG = "not the right passphrase"


# Every operation that takes a token, whichever there are.

_OPERATIONS = {
    name: kind
    for kind in (Operations, RunOperations)
    for name, method in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_") and "token" in inspect.signature(method).parameters
}
_EXPECTED = {"approve", "deny", "choose", "halt", "lift", "set_budget", "person_spoke", "adopt"}


class _Scene(NamedTuple):
    """A run that waits for a person, in a ledger that has an operator."""

    interlock: Interlock
    run: Run
    approval: str
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def scene() -> Generator[_Scene]:
    with in_memory() as interlock:
        code = interlock.set_up("ada", PASSPHRASE, cost=CHEAP).recovery_code
        ada = interlock.unlock("ada", PASSPHRASE)
        gone = another(interlock, PrincipalKind.OPERATOR, "gone")
        interlock.revoke_operator("gone", token=ada)
        earlier = another(interlock, PrincipalKind.OPERATOR, "grace")
        interlock.change_passphrase("another passphrase", token=earlier, cost=CHEAP)
        run = interlock.run("push it")
        asked = run.command(PUSH)
        tokens = {
            "an agent's": interlock.add_agent("coder", token=ada),
            "a revoked operator's": gone,
            "that of an earlier passphrase": earlier,
            "nobody's": new_token(),
            "an empty one": "",
            "the passphrase itself": PASSPHRASE,
            "the recovery code": code,
            "the recovery code as it is digested": f"recovery code {code.replace('-', '')}",
            "a digest from the ledger": token_digest(ada),
            "a token with a blank behind it": f"{ada} ",
        }
        yield _Scene(interlock, run, asked.approval_id or "", tokens)


def _called(scene: _Scene, operation: str, token: str) -> object:
    """Call an operation with whatever it needs besides the token."""
    given: dict[str, object] = {
        "approval_id": scene.approval,
        "run_id": scene.run.id,
        "action": "skip",
        "reason": "because I say so",
        "scope": f"run/{scene.run.id}",
        "budget": Budget(tokens=1),
        "name": "coder",
        "credential": "0123456789ab",
        "passphrase": "the passphrase of a mole",
        "policy": scene.interlock.governor.context.policy,
    }
    whose = scene.interlock if _OPERATIONS[operation] is Operations else scene.run
    method: Callable[..., object] = getattr(whose, operation)
    if operation == "add_token":
        given["scope"] = "operator"
    parameters = inspect.signature(method).parameters
    needed = {
        name: given[name]
        for name, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty and name not in ("self", "token")
    }
    return method(**needed, token=token)


def test_the_operations_are_found() -> None:
    assert set(_OPERATIONS) >= _EXPECTED


@pytest.mark.parametrize(
    "whose",
    [
        "an agent's",
        "a revoked operator's",
        "that of an earlier passphrase",
        "nobody's",
        "an empty one",
        "the passphrase itself",
        "the recovery code",
        "the recovery code as it is digested",
        "a digest from the ledger",
        "a token with a blank behind it",
    ],
)
@pytest.mark.parametrize("operation", sorted(_OPERATIONS))
def test_no_token_but_an_operators_does_anything(scene: _Scene, operation: str, whose: str) -> None:
    rows = scene.interlock.ledger.rows
    before = (scene.run.state, rows.credentials(), rows.approval(scene.approval))

    with pytest.raises(NotPermittedError):
        _called(scene, operation, scene.tokens[whose])

    assert (scene.run.state, rows.credentials(), rows.approval(scene.approval)) == before
    assert any(
        isinstance(event, AccessRefused) for event in events_of(scene.interlock.ledger, LEDGER_RUN)
    )


# Principals that nobody proved to be.


@pytest.mark.parametrize(
    "kind", [PrincipalKind.OPERATOR, PrincipalKind.PERSON, PrincipalKind.SYSTEM]
)
def test_nobody_opens_a_ledger_as_an_operator(kind: PrincipalKind) -> None:
    with pytest.raises(NotPermittedError, match="which cannot be claimed"):
        Interlock.open(":memory:", principal=Principal(kind=kind, name="ada"))


@pytest.mark.parametrize(
    "who",
    [None, agent_named("coder"), Principal(kind=PrincipalKind.USER, name="root")],
    ids=["nobody", "an agent", "an account"],
)
def test_nobody_else_speaks_for_a_person(who: Principal | None) -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        with pytest.raises(NotPermittedError, match="may not speak for a person"):
            interlock.governor.answer(person_heard(run.id), who)


def test_a_run_alone_cannot_say_that_a_person_spoke() -> None:
    with in_memory() as interlock:
        speak: Callable[[], object] = getattr(interlock.run("t"), "person_" + "spoke")
        with pytest.raises((TypeError, InputError)):
            speak()


# The table of credentials, written by hand.

_COST = PassphraseCost(salt="00" * 16, n=CHEAP)
_MOLE = derived_token("the passphrase of a mole", _COST)
_COST_TEXT = msgspec.json.encode(_COST, order="sorted").decode()
_INSERT = "INSERT INTO credentials VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


def _insert(database: apsw.Connection, seal: str, name: str = "mole") -> None:
    row = (token_digest(_MOLE), "operator", name, "passphrase", _COST_TEXT, 1, None, seal)
    database.execute(_INSERT, row)


def _borrow_a_seal(database: apsw.Connection) -> None:
    [(seal,)] = database.execute(
        "SELECT seal FROM credentials WHERE name = 'ada' AND method = 'passphrase'"
    ).fetchall()
    _insert(database, str(seal), "ada")


_BY_HAND: dict[str, Callable[[apsw.Connection], object]] = {
    "an operator without a seal": lambda database: _insert(database, ""),
    "an operator with a seal of his own": lambda database: _insert(database, "ab" * 32),
    "an operator with another's seal": _borrow_a_seal,
    "an agent made an operator": lambda database: database.execute(
        "UPDATE credentials SET kind = 'operator' WHERE kind = 'agent'"
    ),
    "an agent with a passphrase's method": lambda database: database.execute(
        "UPDATE credentials SET kind = 'operator', method = 'passphrase', cost = ?"
        " WHERE kind = 'agent'",
        (_COST_TEXT,),
    ),
    "an operator let in again": lambda database: database.execute(
        "UPDATE credentials SET revoked_at = NULL WHERE name = 'gone'"
    ),
    "another token for an operator": lambda database: database.execute(
        "UPDATE credentials SET digest = ?, cost = ? WHERE name = 'ada' AND method = 'passphrase'",
        (token_digest(_MOLE), _COST_TEXT),
    ),
    "an operator renamed": lambda database: database.execute(
        "UPDATE credentials SET name = 'mole' WHERE name = 'gone' AND method = 'passphrase'"
    ),
    "a cheaper passphrase": lambda database: database.execute(
        "UPDATE credentials SET cost = ? WHERE name = 'ada' AND method = 'passphrase'",
        (_COST_TEXT,),
    ),
    "every credential deleted": lambda database: database.execute("DELETE FROM credentials"),
    "one credential deleted": lambda database: database.execute(
        "DELETE FROM credentials WHERE kind = 'agent'"
    ),
}


@pytest.mark.parametrize("how", _BY_HAND)
def test_a_credential_written_by_hand_opens_nothing_and_is_named(how: str, tmp_path: Path) -> None:
    place, keys = tmp_path / "ledger.db", tmp_path / "keys"
    with Interlock.open(place, keys=keys) as interlock:
        ada = operator_of(interlock)
        gone = another(interlock, PrincipalKind.OPERATOR, "gone")
        interlock.revoke_operator("gone", token=ada)
        agent = interlock.add_agent("coder", token=ada)
        run = interlock.run("t")
        approval = run.command(PUSH).approval_id or ""
        interlock.ledger.tidy()
    with closing(apsw.Connection(str(place))) as database:
        _BY_HAND[how](database)

    with Interlock.open(place, keys=keys) as interlock:
        for token in (_MOLE, agent, gone):
            with pytest.raises(NotPermittedError):
                interlock.approve(approval, token=token)
        with pytest.raises(NotPermittedError):
            interlock.unlock("mole", "the passphrase of a mole")
        with pytest.raises(NotPermittedError, match="has an operator already"):
            interlock.set_up("mole", "the passphrase of a mole", cost=CHEAP)
        with interlock.ledger.store.frozen() as rows:
            found = [each for each in verify_all(rows, interlock.ledger.key) if each.problem]
    assert any(isinstance(each, Mismatch) and "credential" in each.row for each in found)


def test_what_nobody_wrote_by_hand_is_not_named(tmp_path: Path) -> None:
    with Interlock.open(tmp_path / "ledger.db", keys=tmp_path / "keys") as interlock:
        ada = operator_of(interlock)
        another(interlock, PrincipalKind.OPERATOR, "grace")
        interlock.revoke_operator("grace", token=ada)
        interlock.add_agent("coder", token=ada)
        with interlock.ledger.store.frozen() as rows:
            assert [each for each in verify_all(rows, interlock.ledger.key) if each.problem] == []


# At a terminal.


class _Place(NamedTuple):
    """A ledger in which one question waits, asked by a process that is gone."""

    environment: dict[str, str]
    approval: str


_ASKS = f"""
from interlock import Interlock
with Interlock.open() as interlock:
    print(interlock.run("push it").command({PUSH!r}).approval_id)
"""


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    return {
        **kept,
        "INTERLOCK_LEDGER": str(folder / "ledger.db"),
        "INTERLOCK_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "NO_COLOR": "1",
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> _Place:
    folder = tmp_path_factory.mktemp("person")
    environment = _environment(folder)
    asked = at_terminal([sys.executable, "-c", _ASKS], environment=environment, cwd=folder)
    keys = folder / "config" / "keys"
    with Interlock.open(environment["INTERLOCK_LEDGER"], keys=keys) as interlock:
        interlock.set_up("ada", PASSPHRASE, cost=CHEAP)
    return _Place(environment, asked.output.strip())


_TRIES: dict[str, tuple[list[str], dict[str, str], str, list[str], str]] = {
    "a wrong guess": ([], {}, "", [WRONG], ""),
    "nothing typed": ([], {}, "", [""], ""),
    "the right one with a blank": ([], {}, "", [f"{PASSPHRASE} "], ""),
    "the right one in capitals": ([], {}, "", [PASSPHRASE.upper()], ""),
    "the right one on standard input": ([], {}, f"{PASSPHRASE}\n" * 3, [WRONG], ""),
    "the right one typed before": ([], {}, "", [WRONG], f"{PASSPHRASE}\n"),
    "the right one in the environment": (
        [],
        {"INTERLOCK_PASSPHRASE": PASSPHRASE, "PASSPHRASE": PASSPHRASE},
        "",
        [WRONG],
        "",
    ),
    "the right one as an agent's token": (
        [],
        {"INTERLOCK_TOKEN": PASSPHRASE},
        "",
        [PASSPHRASE],
        "",
    ),
    "the right one as an argument": (["--passphrase", PASSPHRASE], {}, "", [WRONG], ""),
    "another operator's name": (["--as", "root"], {}, "", [PASSPHRASE], ""),
}


_IN_A_PROCESS = ("a wrong guess", "the right one on standard input", "the right one typed before")


@pytest.mark.parametrize("how", [how for how in _TRIES if how not in _IN_A_PROCESS])
def test_only_the_passphrase_decides(
    place: _Place, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, more, stdin, answers, _ = _TRIES[how]
    for name, value in (place.environment | more).items():
        monkeypatch.setenv(name, value)
    with own_terminal(monkeypatch) as type_in:
        type_in(*answers)
        result = interlock("approve", place.approval, *options, stdin=stdin)

    assert result.exit_code != 0
    assert "GRANTED" not in result.output


@pytest.mark.parametrize("how", _IN_A_PROCESS)
def test_at_a_terminal_only_the_passphrase_decides(place: _Place, how: str) -> None:
    options, more, stdin, answers, ahead = _TRIES[how]
    ended = interlock_at_terminal(
        ["approve", place.approval, *options],
        answers,
        environment=place.environment | more,
        stdin=stdin,
        typed_ahead=ahead,
    )

    assert ended.code != 0
    assert "GRANTED" not in ended.output
    assert PASSPHRASE not in ended.screen.replace(ahead.strip() or "\0", "")


@pytest.mark.parametrize("program", [["setsid"], []], ids=["no terminal", "closed input"])
def test_without_a_terminal_a_pipe_is_no_help(place: _Place, program: list[str]) -> None:
    done = subprocess.run(
        [*program, sys.executable, "-m", "interlock", "approve", place.approval],
        input=f"{PASSPHRASE}\n".encode() * 3,
        capture_output=True,
        env=place.environment,
        start_new_session=not program,
        check=False,
    )

    assert done.returncode == 1
    assert b"there is no terminal to type a passphrase at" in done.stderr


# A process that descends from a governed run, with the right passphrase at its terminal.

_HARNESS = """
import json, os, shlex, subprocess, sys
from interlock import Interlock

with Interlock.open() as interlock:
    run = interlock.run("push it")
    approval = run.command({push!r}).approval_id
    ours = [sys.executable, "-m", "interlock"]
    decide = [*ours, "approve", approval]
    line = shlex.join(decide)
    # The first child ends only when the second one is its own: by then that has no parent here.
    double = (
        "import os, subprocess, sys\\n"
        "ended, told = os.pipe()\\n"
        "if os.fork(): os._exit(0)\\n"
        "os.close(told); os.read(ended, 1)\\n"
        "done = subprocess.run(sys.argv[2:], capture_output=True, text=True)\\n"
        "os.write(int(sys.argv[1]), (str(done.returncode) + done.stderr).encode())\\n"
    )
    ways = {{
        "directly": decide,
        "a shell": ["sh", "-c", line + "; exit $?"],
        "setsid": ["setsid", "-w", *decide],
        "nohup": ["nohup", *decide],
        "setup": [*ours, "setup"],
        "recover": [*ours, "operator", "recover"],
    }}
    told = {{}}
    for name, words in ways.items():
        done = subprocess.run(words, capture_output=True, text=True)
        told[name] = [done.returncode, done.stderr]
    told["free"] = [subprocess.run([*ours, "operator", "list"], capture_output=True).returncode, ""]
    ours_end, daemons = os.pipe()
    words = [sys.executable, "-c", double, str(daemons), *decide]
    subprocess.run(words, pass_fds=[daemons])
    os.close(daemons)
    said = os.fdopen(ours_end).read()
    told["a daemon"] = [int(said[0]), said[1:]]
    told["granted"] = [int(run.command({push!r}).allowed), ""]
    print(json.dumps(told))
"""


def test_whoever_descends_from_a_run_decides_nothing(place: _Place, tmp_path: Path) -> None:
    program = dedent(_HARNESS).format(push=PUSH)
    ended = at_terminal(
        [sys.executable, "-c", program], [WRONG] * 3, environment=place.environment, cwd=tmp_path
    )

    told: dict[str, list[object]] = json.loads(ended.output)
    assert told.pop("free")[0] == 0
    assert told.pop("granted")[0] == 0
    code, said = told.pop("a daemon")
    assert code == 1
    assert "the passphrase is not that of operator `ada`" in str(said)
    assert len(told) == 6
    for name, (code, said) in told.items():
        assert (name, code) == (name, 1)
        assert "was started by run" in str(said), name


def test_a_person_beside_an_agent_decides(place: _Place) -> None:
    ended = interlock_at_terminal(
        ["approve", place.approval], [PASSPHRASE], environment=place.environment
    )

    assert ended.code == 0, ended.errors
    assert "APPROVED" in ended.output
    assert PASSPHRASE not in ended.screen
    again = interlock_at_terminal(
        ["token", "create", "spy", "--role", "viewer"],
        ended.screen.splitlines(),
        environment=place.environment,
    )
    assert again.code == 1
    assert "the passphrase is not that of operator" in again.errors


# The first operator.


def test_of_two_who_set_up_at_once_one_is_first(tmp_path: Path) -> None:
    environment = _environment(tmp_path)

    def set_up(name: str) -> Ended:
        typed = [f"the passphrase of {name}"] * 2
        return interlock_at_terminal(["setup", name], typed, environment=environment)

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(set_up, ("ada", "eve")))
    codes = [each.code for each in ended]

    assert sorted(codes) == [0, 1]
    first, shown = ("ada", "eve")[codes.index(0)], ended[codes.index(0)]
    listed = interlock_at_terminal(["operator", "list", "--json"], environment=environment)
    assert [each["name"] for each in json.loads(listed.output)] == [first]
    code = shown.screen.split("shown this once: ")[1].split()[0]
    assert code not in shown.output
    assert f"the passphrase of {first}" not in shown.screen
    _recovers_once(environment, code)


def _recovers_once(environment: dict[str, str], code: str) -> None:
    for wanted in (0, 1):
        ended = interlock_at_terminal(
            ["operator", "recover"], [code, PASSPHRASE, PASSPHRASE], environment=environment
        )
        assert ended.code == wanted
    assert "was revoked" in ended.errors


def test_who_errs_in_a_new_passphrase_is_asked_again_three_times(tmp_path: Path) -> None:
    environment = _environment(tmp_path)
    refused = interlock_at_terminal(
        ["setup", "ada"], ["short", PASSPHRASE, "another", "tiny"], environment=environment
    )
    done = interlock_at_terminal(
        ["setup", "ada"], ["short", PASSPHRASE, PASSPHRASE], environment=environment
    )

    assert (refused.code, done.code) == (2, 0), done.errors
    assert "the passphrase has 4 characters, expected 12 to" in refused.errors
    assert "the two are not the same: nothing was changed; try 3 of 3" in refused.screen
    assert done.screen.index("12 characters or more") < done.screen.index("new passphrase of ada")


def test_of_many_threads_that_set_up_one_is_first() -> None:
    won: list[str] = []
    with in_memory() as interlock:

        def set_up(name: str) -> None:
            with suppress(NotPermittedError):
                won.append(interlock.set_up(name, PASSPHRASE, cost=CHEAP).name)

        threads = [threading.Thread(target=set_up, args=(f"ada{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [each.name for each in interlock.operators()] == won
    assert len(won) == 1


def test_nobody_sets_up_beside_an_agent_at_work(tmp_path: Path) -> None:
    environment = _environment(tmp_path)
    program = (
        "import subprocess, sys\nfrom interlock import Interlock\n"
        "with Interlock.open() as interlock:\n"
        "    interlock.run('t')\n    print('at work', flush=True)\n    sys.stdin.read()\n"
    )
    with PythonProcess[bytes](
        ["-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()
        beside = interlock_at_terminal(["setup", "mole"], [PASSPHRASE] * 2, environment=environment)
        agent.communicate(b"")
    after = interlock_at_terminal(["setup", "ada"], [PASSPHRASE] * 2, environment=environment)

    assert (beside.code, after.code) == (1, 0), after.errors
    assert "is at work here" in beside.errors


@pytest.mark.parametrize(
    "answers",
    [
        ["short", "short"],
        ["x" * 20] * 2,
        [PASSPHRASE, "another passphrase"],
        ["", ""],
        [PASSPHRASE],
    ],
    ids=["too short", "one character", "not the same", "empty", "not repeated"],
)
def test_a_passphrase_that_is_none_makes_no_operator(
    tmp_path: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("INTERLOCK_TOKEN", raising=False)
    typed = answers if len(answers) == 2 else [*answers, "\x04"]
    with own_terminal(monkeypatch) as type_in:
        type_in(*typed)
        result = interlock("setup", "ada")

    assert result.exit_code == 2
    assert "SET UP" not in result.output
    assert json.loads(interlock("operator", "list", "--json").output) == []


# Processes.


@pytest.mark.parametrize("process", [0, -1, 2**22 + 1, 2**31 - 1])
def test_a_run_names_a_process_that_runs(process: int) -> None:
    with in_memory() as interlock, pytest.raises(InputError, match="`process` is"):
        interlock.run("t", process=process)


def test_a_run_may_be_started_for_its_client() -> None:
    with in_memory() as interlock:
        operator_of(interlock)
        state = interlock.run("t", process=os.getppid()).state

        assert state.process == next(ancestors())
        with pytest.raises(NotPermittedError, match="was started by run"):
            interlock.unlock("ada", PASSPHRASE)


def test_a_run_goes_on_in_another_process_only_after_its_own() -> None:
    client = ["-c", "input()"]
    with in_memory() as interlock, PythonProcess[bytes](client, stdin=subprocess.PIPE) as first:
        operator_of(interlock)
        run = interlock.run("t", process=first.pid)
        begun = run.state.process
        interlock.resume(run.id, process=os.getppid())
        assert run.state.process == begun
        assert interlock.unlock("ada", PASSPHRASE)

        first.communicate(b"\n")
        interlock.resume(run.id, process=os.getppid())
        interlock.resume(run.id)

        assert run.state.process == next(ancestors())
        resumed = [each for each in run.ledger if isinstance(each.event, RunResumed)]
        assert [each.by for each in resumed] == [agent_named("agent")]
        with pytest.raises(NotPermittedError, match="was started by run"):
            interlock.unlock("ada", PASSPHRASE)


def test_whoever_looks_at_a_finished_run_does_not_go_on_with_it() -> None:
    with in_memory() as interlock:
        run = interlock.run("t", process=os.getppid())
        run.finish()
        interlock.resume(run.id)

        assert run.state.process == next(ancestors())


def test_a_process_is_told_from_a_later_one_of_its_number() -> None:
    boot, pid, start = own_name().split("/")

    assert is_alive(own_name())
    assert not is_alive(f"{boot}/{pid}/{int(start) + 1}")
    assert not is_alive(f"{boot}-later/{pid}/{start}")
    assert not is_alive("")


def test_ps_tells_the_same_parent() -> None:
    told, seen = from_ps(os.getpid()), from_proc(os.getpid())
    if told is None:
        pytest.skip("there is no ps here")

    assert seen is not None
    assert told.parent == seen.parent == os.getppid()
    assert from_ps(2**22 + 1) is from_proc(2**22 + 1) is None


def test_in_its_own_process_whoever_has_the_passphrase_decides() -> None:
    with in_memory() as interlock:
        run = interlock.run("push it")
        asked = run.command(PUSH)
        interlock.approve(asked.approval_id or "", token=operator_of(interlock))

        assert run.command(PUSH).allowed


def test_an_agent_with_a_token_asks_as_before() -> None:
    with in_memory() as interlock:
        operator_of(interlock)
        assert interlock.run("t", agent="coder").command("ls").allowed


# The policy that a ledger is opened with.

_LOOSE = {
    "rules off": "[destructive-ops.rules]\n'git.push-force' = 'off'\n",
    "a gate off": "[secrets]\nenabled = false\n",
    "a pack off": "[destructive-ops.packs]\ngit = false\n",
    "no tests of completion": "[steps]\nmax-consecutive = 100000\n",
    "a larger limit": "[budgets.run]\ntokens = 1000000\n",
    "no limit": "[limits]\nnesting = 24\n",
    "more time to decide": "[approvals]\nexpires-seconds = 86400\n",
    "more scratch": "[destructive-ops]\nscratch-folders = ['...', '*']\n",
    "leave for every project": "[layers]\nproject-may-loosen = ['destructive-ops.*']\n",
    "cheaper models": ("[[budgets.prices]]\nmodel = '*'\ninput-usd = 0\noutput-usd = 0\n"),
}
_TIGHT = "[budgets.run]\ntokens = 1000\n[limits]\nnesting = 20\n"


class _Kept(NamedTuple):
    """A ledger that has an operator and a tight policy."""

    environment: dict[str, str]
    folder: Path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> _Kept:
    folder = tmp_path_factory.mktemp("policies")
    (folder / "tight.toml").write_text(_TIGHT)
    for how, text in _LOOSE.items():
        (folder / f"{how}.toml").write_text(text)
    policy = load_policy(user=folder / "tight.toml")
    with Interlock.open(folder / "ledger.db", keys=folder / "config" / "keys", policy=policy) as it:
        operator_of(it)
        it.run("t")
    return _Kept(_environment(folder) | {"INTERLOCK_POLICY": str(folder / "tight.toml")}, folder)


@pytest.mark.parametrize("how", _LOOSE)
@pytest.mark.parametrize("door", ["variable", "argument", "adopt", "project"])
def test_nobody_opens_a_ledger_with_a_looser_policy(
    how: str, door: str, kept: _Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in kept.environment.items():
        monkeypatch.setenv(name, value)
    loose = kept.folder / f"{how}.toml"
    with (
        monkeypatch.context() as changed,
        pytest.raises(NotPermittedError, match="looser than the one that counts"),
    ):
        _opened_by(door, loose, changed)

    # Who keeps to what counts is not in anybody's way.
    with Interlock.open() as opened:
        assert opened.run("t").command("ls").allowed


def _opened_by(door: str, loose: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    match door:
        case "variable":
            monkeypatch.setenv("INTERLOCK_POLICY", str(loose))
            Interlock.open().close()
        case "argument":
            Interlock.open(policy=load_policy(user=loose)).close()
        case "adopt":
            with Interlock.open() as opened:
                opened.adopt(load_policy(user=loose))
        case _:
            Interlock.open(projects={"default": load_policy(user=loose)}).close()


def test_an_operator_takes_a_looser_policy_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    tight, loose = tmp_path / "tight.toml", tmp_path / "loose.toml"
    tight.write_text(_TIGHT)
    loose.write_text("")
    with Interlock.open(policy=load_policy(user=tight)) as opened:
        operator_of(opened)
    told: list[str] = []
    for answer in (WRONG, PASSPHRASE):
        with own_terminal(monkeypatch) as type_in:
            type_in(answer)
            told.append(interlock("policy", "--policy", str(loose), "adopt").output)

    assert "`limits.nesting`: 20 → 24" in told[0]
    assert ["ADOPTED" in each for each in told] == [False, True]
    with Interlock.open(policy=load_policy(user=loose)) as opened:
        assert opened.run("t").command("ls").allowed
