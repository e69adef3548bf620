"""What every client does under Interlock: the real ones, each against a scripted model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from clients.jail import Jail, Played, Step
from clients.jailed_client import CLIENTS, PROMPT, JailedClient, client_in_jail
from interlock.model.action import Action, ToolAction
from interlock.model.arbitration import AUTOMATIC
from interlock.model.events import ActionJudged
from interlock.model.run import RunState
from interlock.model.verdict import Decision
from interlock.service.interlock import Interlock
from server.served import serving_apart
from service.ledgers import PASSPHRASE, events_of, operator_of
from terminal import interlock_at_terminal

pytestmark = pytest.mark.clients

DESTRUCTIVE = "find ~ -delete"
WHY = "deletes the system, a home folder or everything in it"
ANNOUNCED = (
    "I see the problem. Now let me fix it.",
    "The parser comes first. I will now open parser.py.",
    "That leaves the suite. Let me run the tests next.",
    "Sorting helps readers. Now I will reorder the imports of main.py.",
    "Users have to know. Next, I'll update the README.",
    "Versions matter. Let me bump pyproject.toml now.",
    "Somebody should see it. I'll now write the summary for the team.",
    "Old caches get in the way. Now let me remove the build folder.",
)
"""What an agent says that ends its turn too early, each time something else."""
RETRIES = 3
"""The default of `stops.max-retries`."""
DONE: Step = {"text": "Everything is done."}


class Session(NamedTuple):
    """A session of a client, after its end."""

    client: JailedClient
    played: Played

    @property
    def jail(self) -> Jail:
        return self.client.jail

    def judged(self) -> dict[str, list[Decision]]:
        """Return what was decided about each command, in whichever run."""
        found: dict[str, list[Decision]] = {}
        with self.jail.opened() as interlock:
            for run in runs_of(interlock):
                for event in events_of(interlock.ledger, run.id):
                    if isinstance(event, ActionJudged):
                        found.setdefault(command_of(event.action), []).append(event.decision)
        return found


def command_of(action: Action) -> str:
    """Return the line that a client's shell was to run; every call in these scripts has one."""
    assert isinstance(action, ToolAction)
    assert isinstance(action.params, str)
    return json.loads(action.params)["command"]


def runs_of(interlock: Interlock) -> Sequence[RunState]:
    rows = interlock.ledger.rows.runs(limit=100)
    found = [interlock.governor.state(row.id) for row in rows]
    return [each for each in found if each.client in CLIENTS]


@pytest.fixture(params=list(CLIENTS), scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session in which the model did a bit of everything."""
    with client_in_jail(str(request.param)) as client:
        client.govern()
        played = client.play(
            {"shell": "printf ran > harmless.txt"},
            {"shell": DESTRUCTIVE},
            {
                "parallel": [
                    {"shell": "printf first > first.txt"},
                    {"shell": f"{DESTRUCTIVE} -print"},
                    {"shell": "printf last > last.txt"},
                ]
            },
            DONE,
        )
        yield Session(client, played)


def test_a_harmless_command_runs(session: Session) -> None:
    assert (session.jail.work / "harmless.txt").read_text() == "ran", session.played


def test_a_destructive_command_is_stopped_and_the_model_learns_why(session: Session) -> None:
    assert session.jail.victim.exists()
    assert session.played.model_heard(WHY), session.played


def test_parallel_calls_are_all_judged(session: Session) -> None:
    judged = session.judged()

    assert judged["printf first > first.txt"] == [Decision.ALLOW], judged
    assert judged[f"{DESTRUCTIVE} -print"] == [Decision.BLOCK], judged
    assert judged["printf last > last.txt"] == [Decision.ALLOW], judged


def test_the_ledger_verifies_and_every_run_replays(session: Session) -> None:
    verified = session.jail.interlock("verify")
    assert verified.returncode == 0, verified

    with session.jail.opened() as interlock:
        (run,) = runs_of(interlock)
    replayed = session.jail.interlock("replay", run.id)
    assert replayed.returncode == 0, replayed


def test_what_the_models_used_is_on_record(session: Session) -> None:
    with session.jail.opened() as interlock:
        (run,) = runs_of(interlock)

    # The scripted model says so each time; the last time the client may have ended before.
    asked = len(session.played.heard)
    assert run.input_tokens in (100 * asked, 100 * (asked - 1)), run


def test_the_console_shows_the_run(session: Session) -> None:
    with session.jail.opened() as interlock:
        token = operator_of(interlock)
        (run,) = runs_of(interlock)

    with serving_apart(session.jail.folder, environment=session.jail.own_places()) as server:
        page = server.ask("GET", f"/runs/{run.id}", token=token)

    assert page.status == 200, page
    assert DESTRUCTIVE in page.body.decode()


def test_the_doctor_finds_nothing_wrong(session: Session) -> None:
    words = [sys.executable, "-I", "-m", "interlock", "doctor"]
    examined = session.jail.play(words, ())

    assert examined.code == 0, examined
    assert session.client.name in examined.output


def test_a_sub_agent_is_governed_as_well(client: JailedClient) -> None:
    script = client.delegated({"shell": DESTRUCTIVE}, {"shell": "printf ran > harmless.txt"})
    played = client.play(*script, DONE, DONE)

    assert client.jail.victim.exists()
    assert (client.jail.work / "harmless.txt").exists(), played
    assert played.model_heard(WHY), played
    with client.jail.opened() as interlock:
        runs = {run.id: run for run in runs_of(interlock)}
    above = [run.ancestors for run in runs.values() if run.ancestors]
    # Gemini tells nothing by which its sub-agents could be told apart.
    assert len(above) == (0 if client.name == "gemini" else 1), runs
    assert all(set(each) <= set(runs) for each in above)


def test_an_early_stop_is_continued_until_the_counter_ends_it(client: JailedClient) -> None:
    played = client.converse(*({"text": each} for each in ANNOUNCED), stops=1 + RETRIES)

    assert played.model_heard(AUTOMATIC), played
    assert len(played.heard) == 1 + RETRIES, played


def test_claude_code_asks_over_http_and_does_nothing_while_no_server_runs() -> None:
    script = ({"shell": "touch harmless.txt"}, {"shell": DESTRUCTIVE}, DONE)
    serving = (
        f"{sys.executable} -I -m interlock serve & "
        'until [ -e ~/.local/state/interlock/run/server.json ]; do sleep 0.05; done; exec "$@"'
    )
    with client_in_jail("claude-code") as client:
        client.govern("--transport", "http")
        with client.jail.opened() as interlock:
            own = interlock.add_agent(client.name, token=operator_of(interlock))
        client.jail.environment["INTERLOCK_TOKEN"] = own
        harmless = client.jail.work / "harmless.txt"

        client.play(*script)
        assert not harmless.exists()

        words = ["sh", "-c", serving, "sh", *client.words(PROMPT)]
        played = client.jail.play(words, script)
        assert harmless.exists(), played
        assert played.model_heard(WHY), played
        assert client.jail.victim.exists()


def test_codex_opens_nothing_that_could_be_typed_into_unseen() -> None:
    """It calls no hook for what is typed into a process: so none is begun that would run it."""
    typed = {"session_id": r"$CAP:session ID (\d+)", "chars": "touch typed.txt; exit\n"}
    with client_in_jail("codex") as client:
        client.govern()
        played = client.play(
            {"tool": {"name": "exec_command", "input": {"cmd": "bash", "tty": True}}},
            {"tool": {"name": "write_stdin", "input": typed}},
            DONE,
        )

        assert not (client.jail.work / "typed.txt").exists(), played
        assert played.model_heard("opens an interpreter; what is typed into it later"), played
        assert set(Session(client, played).judged()) == {"bash"}


def test_opencode_run_ends_before_it_can_be_sent_on() -> None:
    with client_in_jail("opencode") as client:
        client.govern()
        played = client.play(*({"text": each} for each in ANNOUNCED))

    assert len(played.heard) == 1, played


def test_a_loop_is_paused(client: JailedClient) -> None:
    # One of them sees by itself where exactly the same is called again and again.
    round_: Sequence[Step] = [{"shell": "cat nowhere.txt"}, {"shell": "cat nothing.txt"}]
    played = client.play(*[*round_] * 10, DONE)

    with client.jail.opened() as interlock:
        (run,) = runs_of(interlock)
        assert [each.subject for each in interlock.approvals()] == ["resume"], (run, played)


def test_an_approval_lets_the_retried_call_through_exactly_once(client: JailedClient) -> None:
    remote = with_remote(client.jail)
    with client.jail.opened() as interlock:
        operator_of(interlock)
    push = "git commit -q --allow-empty -m more && git push -q --force origin main"

    played = client.play(
        {"shell": push},
        {"shell": "until [ -e decided ]; do sleep 0.05; done"},
        {"shell": push},
        {"shell": push},
        DONE,
        meanwhile=lambda: approve_first(client.jail),
    )

    assert git(remote, "rev-list", "--count", "main") == "2", played
    with client.jail.opened() as interlock:
        asked = interlock.approvals(None)
        assert sorted((each.state.value, each.uses_left) for each in asked) == [
            ("granted", 0),
            ("pending", 1),
        ]


def with_remote(jail: Jail) -> Path:
    """Make the workspace a repository with one commit, which a remote has as well."""
    remote = jail.folder / "remote.git"
    git(jail.folder, "init", "-q", "--bare", "-b", "main", str(remote))
    git(jail.work, "init", "-q", "-b", "main")
    for name, value in (("user.name", "a"), ("user.email", "a@localhost")):
        git(jail.work, "config", name, value)
    git(jail.work, "remote", "add", "origin", str(remote))
    git(jail.work, "commit", "-q", "--allow-empty", "-m", "first")
    git(jail.work, "push", "-q", "origin", "main")
    return remote


def approve_first(jail: Jail) -> None:
    """Approve what is asked first, by the command line; then tell the agent's script."""
    asked = jail.when_recorded("approval-opened")
    words = ["approve", asked["id"]]
    ended = interlock_at_terminal(words, [PASSPHRASE], environment=jail.outside())
    (jail.work / "decided").touch()
    assert ended.code == 0, ended


def git(place: Path, *words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.strip()
