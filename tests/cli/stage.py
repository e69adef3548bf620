"""What the examples of commands are run on: a folder, a ledger, and what happened in it.

Examples name ids that nobody has; each stands for one thing that is really there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from cli.asking import as_person, interlock
from cli.control import a_stuck_run, steps_along
from cli.ledgers import a_question, a_story
from cli.looping import a_loop
from cli.reviewing import a_reviewed_run
from cli.test_loop_log import recommend
from interlock import Interlock, settings
from interlock.adapters.mcp.tool_pins import PinFile
from server.certificates import make_certificate
from service.ledgers import CHEAP, PASSPHRASE
from service.repositories import a_repository

RUN = "R4X9TM"
APPROVAL = "K7QP3M"
CHECKPOINT = "N3HT7W"
UNDO = "T9MK4R"
LOOP = "W7HM4K"

_FILES = {
    "edits.json": {"edits": [{"path": "app.py", "old": "x = 1", "new": "x = 2"}]},
    "event.json": {"branch": "main"},
    "runs.jsonl": {"run_id": "a1", "steps": [{"role": "user", "text": "fix the test"}]},
    "turns.jsonl": {"id": 1, "text": "Now let me run the tests:", "label": "continue"},
    "questions.jsonl": {"id": 1, "command": "ls"},
}


class Stage(NamedTuple):
    """What an example finds: the ids behind its names, and what a person types."""

    ids: dict[str, str]
    typed: Sequence[str] = (PASSPHRASE,) * 4
    also: Sequence[str] = ()
    """What has to be said besides, on this stage."""


@contextmanager
def a_stage(words: Sequence[str], place: str, folder: Path) -> Generator[Stage]:
    """Set up what the example of a command needs."""
    for name, value in _FILES.items():
        (folder / name).write_text(json.dumps(value) + "\n")
    (folder / "outcomes.csv").write_text("run_id,outcome\na1,success\n")
    (folder / "verdict.txt").write_text("PASS - every case is covered\n")
    (folder / "note.txt").write_text("look at it\n")
    (folder / "app.py").write_text("x = 1\n")
    (folder / "policy.toml").write_text("[destructive-ops.rules]\n'git.push-force' = 'block'\n")
    known = [" ".join(words[:length]) for length in (2, 1)]
    make = next((_STAGES[each] for each in known if each in _STAGES), _a_story)
    with ExitStack() as stack:
        yield make(stack, place, folder)


def _nothing(_stack: ExitStack, _place: str, _folder: Path) -> Stage:
    return Stage({})


def _a_story(_stack: ExitStack, place: str, _folder: Path) -> Stage:
    story = a_story(place)
    return Stage({RUN: story.checkout, APPROVAL: story.approval})


def _a_kept_story(stack: ExitStack, place: str, folder: Path) -> Stage:
    a_repository(folder, notes="first\n")
    return _a_story(stack, place, folder)


def _a_question(stack: ExitStack, place: str, _folder: Path) -> Stage:
    return Stage({APPROVAL: stack.enter_context(a_question(place))})


def _a_shell_run(stack: ExitStack, place: str, folder: Path) -> Stage:
    agent = stack.enter_context(Interlock.open(place))
    run = agent.run("clean up", client="shell", workspace=folder)
    assert run.command("make test").allowed
    (folder / "build.log").write_text("built\n")
    return Stage({RUN: run.id})


def _a_stuck_run(stack: ExitStack, place: str, _folder: Path) -> Stage:
    return Stage({RUN: stack.enter_context(a_stuck_run(place)).run.id})


def _all_halted(stack: ExitStack, place: str, folder: Path) -> Stage:
    at = _a_stuck_run(stack, place, folder)
    as_person("halt", "--all", "--reason", "the token leaked")
    return at


def _a_review(stack: ExitStack, place: str, folder: Path) -> Stage:
    at = stack.enter_context(a_reviewed_run(place, folder))
    return Stage({RUN: at.run.id})


def _an_open_review(stack: ExitStack, place: str, folder: Path) -> Stage:
    at = stack.enter_context(a_reviewed_run(place, folder))
    at.mend()
    at.run.review("before-merge", ["tests"])
    return Stage({RUN: at.run.id})


def _a_used_up_review(stack: ExitStack, place: str, folder: Path) -> Stage:
    at = stack.enter_context(a_reviewed_run(place, folder))
    at.run.review("before-merge", ["tests", "style"])
    for word in ("once", "twice"):
        at.run.verdict(f"FAIL - {word}", review="before-merge")
    return Stage({RUN: at.run.id, APPROVAL: at.question})


def _a_checkpoint(stack: ExitStack, place: str, folder: Path) -> Stage:
    repository = a_repository(folder / "repository", notes="first\n")
    agent = stack.enter_context(Interlock.open(place))
    run = agent.run("take notes", workspace=repository)
    steps_along(run, 25)
    answer = run.step()
    assert answer.checkpoint is not None
    return Stage({RUN: run.id, CHECKPOINT: answer.checkpoint.id})


def _an_edit(stack: ExitStack, place: str, folder: Path) -> Stage:
    agent = stack.enter_context(Interlock.open(place))
    run = agent.run("edit it", workspace=folder)
    done = run.apply_edits([{"path": "app.py", "old": "x = 1", "new": "x = 2"}])
    assert done.undo_id is not None
    return Stage({UNDO: done.undo_id})


def _a_cycle(stack: ExitStack, place: str, _folder: Path) -> Stage:
    decided = stack.enter_context(a_loop(place)).after("ci/deploy.failed")
    return Stage({LOOP: decided.decision_id})


def _a_trigger(stack: ExitStack, place: str, _folder: Path) -> Stage:
    looped = stack.enter_context(a_loop(place))
    looped.loop.send("ci/deploy.failed", "", event_id="deploy-117")
    return Stage({LOOP: "deploy-117"})


def _a_frozen_loop(stack: ExitStack, place: str, _folder: Path) -> Stage:
    stack.enter_context(a_loop(place)).after("ci/deploy.failed")
    return Stage({})


def _a_recommendation(_stack: ExitStack, place: str, _folder: Path) -> Stage:
    recommend(place)
    return Stage({})


def _more_people(_stack: ExitStack, place: str, _folder: Path) -> Stage:
    with Interlock.open(place) as opened:
        opened.set_up("anna", PASSPHRASE, cost=CHEAP)
        token = opened.unlock("anna", PASSPHRASE)
        opened.add_operator("ben", f"{PASSPHRASE} of ben", token=token, cost=CHEAP)
        opened.add_token("dashboard", scope="viewer", token=token)
    return Stage({}, also=("--as", "anna"))


def _a_lost_passphrase(_stack: ExitStack, place: str, _folder: Path) -> Stage:
    with Interlock.open(place) as opened:
        made = opened.set_up("anna", PASSPHRASE, cost=CHEAP)
    return Stage({}, (made.recovery_code, PASSPHRASE, PASSPHRASE))


def _a_server(_stack: ExitStack, _place: str, folder: Path) -> Stage:
    make_certificate(folder / "cert.pem", folder / "key.pem")
    # No other machine is to see it, and any port may be taken.
    return Stage({"0.0.0.0": "127.0.0.1"}, also=("--port", "0"))


def _an_anchor(stack: ExitStack, place: str, folder: Path) -> Stage:
    story = _a_story(stack, place, folder)
    shutil.copy(place, folder / "damaged.db")
    return story


def _a_changed_tool(stack: ExitStack, place: str, folder: Path) -> Stage:
    pins = PinFile(settings.current_pin_file())
    for digest in ("first", "second"):
        pins.seen("server", "files", {"read": digest})
    return _a_story(stack, place, folder)


def _an_audit(_stack: ExitStack, _place: str, folder: Path) -> Stage:
    call = {"role": "assistant", "tool": "Bash", "args": {"command": "rm -rf ~"}}
    line = json.dumps({"run_id": "a1", "steps": [call]}) + "\n"
    (folder / "runs.jsonl").write_text(line)
    sessions = Path.home() / ".claude" / "projects" / "-src-app"
    sessions.mkdir(parents=True)
    said = {
        "parentUuid": None,
        "type": "user",
        "sessionId": "s1",
        "message": {"role": "user", "content": "hello"},
    }
    (sessions / "s1.jsonl").write_text(json.dumps(said) + "\n")
    found = json.loads(interlock("audit", "--json", "runs.jsonl").stdout)
    return Stage({"4f1c9a": found["moments"][0]["id"]})


_STAGES: dict[str, Callable[[ExitStack, str, Path], Stage]] = {
    "setup": _nothing,
    "init": _nothing,
    "policy adopt": _a_story,
    "policy": _nothing,
    "rules": _nothing,
    "check": _nothing,
    "backtest": _nothing,
    "audit": _an_audit,
    "calibrate": _a_kept_story,
    "completion": _nothing,
    "help": _nothing,
    "tour": _nothing,
    "install": _nothing,
    "uninstall": _nothing,
    "doctor": _nothing,
    "run start": _nothing,
    "run --": _nothing,
    "run --wall-time": _nothing,
    "run --sandbox": _nothing,
    "serve": _a_server,
    "login": _nothing,
    "hook": _nothing,
    "run": _a_shell_run,
    "approve": _a_question,
    "deny": _a_question,
    "explain": _a_stuck_run,
    "resume --all": _all_halted,
    "resume": _a_stuck_run,
    "replay": _a_stuck_run,
    "review open": _a_review,
    "review list": _a_review,
    "review submit": _an_open_review,
    "review resolve": _a_used_up_review,
    "checkpoint": _a_checkpoint,
    "undo": _an_edit,
    "loop log": _a_cycle,
    "loop cancel": _a_trigger,
    "loop": _a_frozen_loop,
    "recommendations": _a_recommendation,
    "operator recover": _a_lost_passphrase,
    "operator revoke": _more_people,
    "token revoke": _more_people,
    "ledger": _an_anchor,
    "mcp": _a_changed_tool,
}
