"""Every door finds the same policy in the same way: the user's, and that of the working folder."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from server.hook_process import Home, home, sessions

__all__ = ["home"]

_USER = '[tool-allowlist]\ndeny = ["Evil*"]\n\n[steps]\nmax-total = 7\n'
_PROJECT = '[tool-allowlist]\ndeny = ["Evil*", "Worse*"]\n'

_CHECK = ("-m", "interlock", "check", "command", "--json")
_DOORS = """
import asyncio, json, sys
from interlock import *
from interlock.client import AsyncClient, connect

given = dict(policy=sys.argv[1]) if len(sys.argv) > 1 else {}
found = {}

def answered(door, *answers):
    found[door] = [answer.verdict.policy_hash for answer in answers]
    assert [answer.decision.short for answer in answers] == ["deny", "deny", "allow"], door

verdicts = [evaluate_tool_use(name, {}, **given) for name in ("EvilX", "WorseX", "FineX")]
assert [each.decision.short for each in verdicts] == ["deny", "deny", "allow"]
found["evaluate"] = [each.policy_hash for each in verdicts]
found["load_policy"] = [load_policy(user=sys.argv[1]).hash if given else load_policy().hash]
with Interlock.open(":memory:", **given) as interlock:
    run = interlock.run("t")
    answered("Interlock", *(run.tool(name, {}) for name in ("EvilX", "WorseX", "FineX")))
    found["run"] = [run.state.policy_hash]

async def awaited():
    async with await AsyncInterlock.open(":memory:", **given) as interlock:
        run = await interlock.run("t")
        names = ("EvilX", "WorseX", "FineX")
        answered("AsyncInterlock", *[await run.tool(name, {}) for name in names])
    if not given:
        async with AsyncClient() as interlock:
            run = await interlock.run("t")
            answered("AsyncClient", *[await run.tool(name, {}) for name in names])

asyncio.run(awaited())
if not given:
    with connect() as interlock:
        run = interlock.run("t")
        answered("connect", *(run.tool(name, {}) for name in ("EvilX", "WorseX", "FineX")))
gate = ContinueGate(**given)
assert gate.evaluate(StepContext(step_number=7), at_ms=0).decision == "stop"
print(json.dumps(found))
"""


def _said(home: Home, *command: str) -> bytes:
    ended = subprocess.run(
        [sys.executable, *command],
        env=home.environment,
        cwd=home.folder / "deep",
        capture_output=True,
        check=False,
    )
    assert not ended.stderr, ended.stderr.decode()
    return ended.stdout


@pytest.fixture
def project(home: Home) -> Home:
    """A user with a policy, and a project of theirs that has another one."""
    user = home.folder / "config" / "interlock" / "policy.toml"
    user.parent.mkdir(parents=True)
    user.write_text(_USER)
    (home.folder / "interlock.toml").write_text(_PROJECT)
    for each in (".git", "deep"):
        (home.folder / each).mkdir()
    return home


def test_every_door_finds_the_same_policy(project: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with project.served():
        by_python = msgspec.json.decode(_said(project, "-c", _DOORS))
        by_line = msgspec.json.decode(_said(project, *_CHECK, "ls"))
        project.hook({"session": "s", "action": {"command": "ls"}})

    (policy,) = {each for hashes in by_python.values() for each in hashes}
    assert len(by_python) == 7
    assert by_line["policy_hash"] == policy
    with project.ledger(monkeypatch) as interlock:
        assert [run.policy_hash for run in sessions(interlock) if run.client != "python"] == [
            policy
        ]


def test_a_file_that_is_named_stands_for_the_users_at_every_door(project: Home) -> None:
    user = project.folder / "config" / "interlock" / "policy.toml"
    named = user.rename(project.folder / "named.toml")
    by_python = msgspec.json.decode(_said(project, "-c", _DOORS, str(named)))
    check = (*_CHECK, "--policy", str(named), "ls")
    by_line = msgspec.json.decode(_said(project, *check))

    assert {each for hashes in by_python.values() for each in hashes} == {by_line["policy_hash"]}


_BEGUN = """
import json, os, sys
from interlock.client import connect

with connect() as interlock:
    first = interlock.run("t").state
    os.chdir(sys.argv[1])
    again = interlock.run("t", project=first.project).state
    other = interlock.run("t").state
print(json.dumps([[each.project, each.policy_hash] for each in (first, again, other)]))
"""


def test_a_project_that_has_a_policy_keeps_it_in_another_folder(project: Home) -> None:
    other = project.folder / "other"
    for each in (other, other / ".git"):
        each.mkdir()
    (other / "interlock.toml").write_text('[tool-allowlist]\ndeny = ["Evil*", "Worse*", "Else*"]\n')

    with project.served():
        first, again, elsewhere = msgspec.json.decode(_said(project, "-c", _BEGUN, str(other)))

    assert again == first
    assert elsewhere[0].startswith("other-")
    assert elsewhere[1] != first[1]
