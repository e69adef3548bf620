"""What the real clients leave behind of a session is what their hooks told of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from clients.jail import Played, Step
from clients.jailed_client import CLIENTS, PROMPT, JailedClient, client_in_jail
from histories.written_history import ReadRun, asked, read
from interlock.adapters.known_histories import CLIENT_READERS
from interlock.model.action import ToolAction
from interlock.model.events import ActionJudged, ActionObserved, Outcome, StopJudged
from interlock.model.verdict import Decision
from service.ledgers import events_of

pytestmark = pytest.mark.clients

DESTRUCTIVE = "find ~ -delete"
PER_CALL = 120
"""What the scripted model says that each call of it used."""
LAST_WORDS = "Everything is done."
Said = tuple[str, Any, bool | None, bool]
"""A call: tool, parameters, whether it failed, whether it ran."""


class Past(NamedTuple):
    """A session after its end, as the client wrote it down and as its hooks told it."""

    client: JailedClient
    played: Played
    runs: Sequence[ReadRun]
    told: Sequence[Said]
    stops: Sequence[str]
    tokens: int


@pytest.fixture(params=list(CLIENTS), scope="module")
def past(request: pytest.FixtureRequest) -> Iterator[Past]:
    with client_in_jail(str(request.param)) as client:
        client.govern()
        parallel: Step = {
            "parallel": [
                {"shell": "printf first > first.txt"},
                {"shell": f"{DESTRUCTIVE} -print"},
                {"shell": "cat nowhere.txt"},
            ]
        }
        played = client.play(
            {"shell": "echo begun", "text": "I will begin."},
            {"shell": "echo oops >&2; exit 3"},
            {"shell": DESTRUCTIVE},
            parallel,
            *client.delegated({"shell": "printf part > part.txt"}, {"shell": DESTRUCTIVE}),
            {"text": LAST_WORDS},
            {"text": LAST_WORDS},
        )
        told, stops, tokens = in_the_ledger(client)
        yield Past(client, played, histories_of(client), told, stops, tokens)


def histories_of(client: JailedClient) -> Sequence[ReadRun]:
    """Return every run that its reader finds in its home, and none that another one does."""
    runs: list[ReadRun] = []
    for reader in CLIENT_READERS:
        places = reader.usual_places(client.jail.home, client.jail.environment)
        for path in sorted(path for each in places for path in each.rglob("*") if path.is_file()):
            with path.open("rb") as file:
                beginning = file.read(1 << 16)
            if reader.reads(path, beginning):
                assert reader.name == client.name
                found = read(reader, path)
                assert found.unread == [], found
                runs += found.runs
    return sorted(runs, key=lambda run: run.head.parent is not None)


def in_the_ledger(client: JailedClient) -> tuple[list[Said], list[str], int]:
    """Return what was asked and told, how turns ended, and what the models used."""
    said: list[Said] = []
    stops: list[str] = []
    tokens = 0
    with client.jail.opened() as interlock:
        for row in interlock.ledger.rows.runs(limit=100):
            run = interlock.governor.state(row.id)
            tokens += run.input_tokens + run.output_tokens
            events = list(events_of(interlock.ledger, row.id))
            seen = {each.of: each for each in events if isinstance(each, ActionObserved)}
            for number, event in enumerate(events, start=1):
                if isinstance(event, StopJudged):
                    stops.append(event.context.text or "")
                if isinstance(event, ActionJudged):
                    said.append(in_words(event, seen.get(number)))
    return said, stops, tokens


def in_words(judged: ActionJudged, seen: ActionObserved | None) -> Said:
    assert isinstance(judged.action, ToolAction)
    assert isinstance(judged.action.params, str)
    failed = None if seen is None else seen.outcome is Outcome.FAILED
    ran = judged.decision is Decision.ALLOW
    return judged.action.name, json.loads(judged.action.params), failed, ran


def test_each_call_is_what_its_hook_asked_about(past: Past) -> None:
    found = [asked(step) for run in past.runs for step in run.calls]

    assert in_order(found) == in_order([each[:2] for each in past.told])


def test_each_call_came_to_what_its_hook_told(past: Past) -> None:
    steps = [step for run in past.runs for step in run.calls]
    found = [(*asked(step), step.failed if step.ran else None, step.ran) for step in steps]
    told = past.told
    if past.client.name == "codex":
        # Its hooks do not tell how a command ended; its record does.
        assert {params["command"] for _, params, failed, _ in found if failed} == {
            "echo oops >&2; exit 3",
            "cat nowhere.txt",
        }
        found = [(*each[:2], None, each[3]) for each in found]
        told = [(*each[:2], None, each[3]) for each in told]

    assert in_order(found) == in_order(told)


def test_parallel_calls_are_one_turn_and_what_was_said_stands_on_the_first(past: Past) -> None:
    main = past.runs[0]
    first, _, _, *parallel = main.calls[:6]

    assert first.text == "I will begin."
    assert len({step.turn for step in parallel}) == 1
    assert [bool(step.tokens) for step in parallel] == [True, False, False]
    assert [step.line for step in main.steps] == sorted(step.line or 0 for step in main.steps)
    assert all(step.at for step in main.steps)


def test_the_last_words_are_those_of_the_hook(past: Past) -> None:
    last = past.runs[0].steps[-1]

    # Codex goes on beside its sub-agent: either takes what the script has next.
    assert last.text in (LAST_WORDS, "Did it.")
    assert last.tool is None
    # Gemini tells its hook everything that was said in a turn.
    assert any(each.endswith(last.text) for each in past.stops), past.stops


def test_what_the_models_used_is_counted_once(past: Past) -> None:
    assert sum(run.tokens for run in past.runs) == PER_CALL * len(past.played.heard)
    # Hooks are told of the last call before they are over, or not at all.
    assert 0 < past.tokens <= PER_CALL * len(past.played.heard)


def test_a_person_spoke_once_and_the_sub_agent_is_known(past: Past) -> None:
    spoken = [step.text for run in past.runs for step in run.steps if step.role == "user"]
    main, sub = past.runs

    assert [each.strip('"') for each in spoken] == [PROMPT]
    assert (main.head.parent, sub.head.parent) == (None, main.head.id)
    assert {main.head.workspace, sub.head.workspace} == {str(past.client.jail.work)}
    assert {main.head.client, sub.head.client} == {past.client.name}


def in_order(given: Sequence[Any]) -> Sequence[Any]:
    return sorted(given, key=lambda each: json.dumps(each, sort_keys=True))
