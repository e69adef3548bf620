"""Whoever has to decide something hears of it: once, by a webhook and by a command."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from gates.policies import gates_with
from interlock import Interlock
from interlock.errors import UnavailableError
from interlock.model.events import PersonNotified
from interlock.model.run import LEDGER_RUN
from interlock.service.deliveries.notifications import Notifier
from interlock.service.deliveries.webhooks import verify_signature
from loop.webhook_server import answers, webhook_server
from service.ledgers import HandClock, operator_of, records_of

PUSH = "git push --force origin topic"
SECRET = "whsec" + "_c2VjcmV0IG9mIG1hbnkgYnl0ZXM="
CONSOLE = "https://interlock.example.com"


def a_webhook(url: str) -> str:
    return f'[notifications]\nwebhook-url = "{url}/hook"\nconsole-url = "{CONSOLE}/"\n'


@contextmanager
def opened(folder: Path, policy: str, clock: HandClock) -> Generator[Interlock]:
    place = folder / "ledger.db"
    gates = gates_with(policy)
    with Interlock.open(place, keys=folder / "keys", policy=gates, clock=clock) as interlock:
        yield interlock


def asked(interlock: Interlock) -> str:
    answer = interlock.run("release it", agent="coder", project="shop").command(PUSH)
    assert answer.approval_id is not None
    return answer.approval_id


def a_notifier(interlock: Interlock) -> Notifier:
    governor = interlock.governor
    return Notifier(interlock.ledger, lambda: governor.context, lambda: "http://127.0.0.1:7420")


def told(notifier: Notifier) -> list[bool]:
    return [notifier.tell(each) for each in notifier.due()[0]]


def notes(interlock: Interlock) -> list[PersonNotified]:
    events = [record.event for record in records_of(interlock.ledger, LEDGER_RUN)]
    return [event for event in events if isinstance(event, PersonNotified)]


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_WEBHOOK_SECRET", SECRET)


def test_a_signed_webhook_leads_to_the_question(tmp_path: Path, clock: HandClock) -> None:
    with (
        webhook_server(answers(204)) as server,
        opened(tmp_path, a_webhook(server.url), clock) as interlock,
    ):
        approval = asked(interlock)

        assert told(a_notifier(interlock)) == [True]

        [received] = server.received
        verify_signature(received.headers, received.body, SECRET, clock.now())
        event = json.loads(received.body)
        assert (received.path, received.headers["webhook-id"]) == ("/hook", approval)
        assert event["type"] == "interlock.approval.waiting"
        assert event["data"]["link"] == f"{CONSOLE}/inbox/{approval}"
        assert PUSH in event["data"]["summary"]
        assert (event["data"]["agent"], event["data"]["task"]) == ("coder", "release it")


def test_several_servers_tell_of_it_once(tmp_path: Path, clock: HandClock) -> None:
    with (
        webhook_server(answers(204)) as server,
        opened(tmp_path, a_webhook(server.url), clock) as one,
        opened(tmp_path, a_webhook(server.url), clock) as other,
    ):
        asked(one)
        first, second = a_notifier(one), a_notifier(other)
        due, also_due = first.due()[0], second.due()[0]

        assert ([first.tell(each) for each in due], [second.tell(each) for each in also_due]) == (
            [True],
            [False],
        )
        assert (first.due(), second.due()) == (([], None), ([], None))
        assert len(server.received) == 1
        assert [(each.attempt, each.retry_at is None) for each in notes(one)] == [
            (1, False),
            (1, True),
        ]


def test_what_fails_is_tried_again_by_any_server_later(tmp_path: Path, clock: HandClock) -> None:
    with (
        webhook_server(answers(503), answers(204)) as server,
        opened(tmp_path, a_webhook(server.url), clock) as interlock,
    ):
        asked(interlock)
        with pytest.raises(UnavailableError, match="answered 503"):
            told(a_notifier(interlock))

        due, later = a_notifier(interlock).due()
        assert (due, later) == ([], clock.now() + 20_000_000)
        clock.forward(seconds=20)

        assert told(a_notifier(interlock)) == [True]
        assert [each.headers["interlock-attempt"] for each in server.received] == ["1", "2"]
        assert len({each.headers["webhook-id"] for each in server.received}) == 1


def test_what_was_decided_meanwhile_is_not_told(tmp_path: Path, clock: HandClock) -> None:
    with (
        webhook_server(answers(204)) as server,
        opened(tmp_path, a_webhook(server.url), clock) as interlock,
    ):
        token = operator_of(interlock)
        interlock.deny(asked(interlock), token=token)
        asked(interlock)
        clock.forward(seconds=30 * 86_400)

        assert told(a_notifier(interlock)) == []
        assert server.received == []


def test_nobody_is_told_where_the_policy_names_nobody(tmp_path: Path, clock: HandClock) -> None:
    with opened(tmp_path, "", clock) as interlock:
        asked(interlock)
        notifier = a_notifier(interlock)

        assert (notifier.is_wanted, notifier.due()) == (False, ((), None))


def a_command(folder: Path, program: str, *, seconds: int = 10) -> str:
    script = folder / "tell.py"
    script.write_text(dedent(program))
    words = json.dumps([sys.executable, "-S", str(script), str(folder / "told")])
    return f"[notifications]\ncommand = {words}\ntimeout-seconds = {seconds}\n"


def test_a_command_gets_the_link_and_the_question(tmp_path: Path, clock: HandClock) -> None:
    program = """
        import json, os, sys
        with open(sys.argv[1], "w") as out:
            json.dump([sys.argv[2:], json.load(sys.stdin), dict(os.environ)], out)
        """
    with opened(tmp_path, a_command(tmp_path, program), clock) as interlock:
        approval = asked(interlock)

        assert told(a_notifier(interlock)) == [True]

    words, question, environment = json.loads((tmp_path / "told").read_text())
    assert words == [f"http://127.0.0.1:7420/inbox/{approval}"]
    assert (question["approval"], question["link"]) == (approval, words[0])
    assert "INTERLOCK_WEBHOOK_SECRET" not in environment
    assert "PATH" in environment


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.exit(3)", "ended with 3"),
        ("import time; time.sleep(600)", "took longer than 1 s"),
    ],
)
def test_a_command_that_fails_is_run_again_later(
    tmp_path: Path, clock: HandClock, program: str, said: str
) -> None:
    with opened(tmp_path, a_command(tmp_path, program, seconds=1), clock) as interlock:
        asked(interlock)
        with pytest.raises(UnavailableError, match=said):
            told(a_notifier(interlock))
        clock.forward(seconds=60)

        assert [each.attempt for each in a_notifier(interlock).due()[0]] == [2]


def test_a_command_that_is_not_there_is_an_error(tmp_path: Path, clock: HandClock) -> None:
    policy = '[notifications]\ncommand = ["/no/such/program"]\n'
    with opened(tmp_path, policy, clock) as interlock:
        asked(interlock)
        with pytest.raises(UnavailableError, match="cannot be run"):
            told(a_notifier(interlock))
