"""Other tools, asked through the protocol: right, wrong, silent, crashing, hanging, not there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house.repository import ROOT
from peer_memory import ask_or_remember
from peer_protocol import Asked, Peer, ask, peer_from, peers_from

QUESTIONS = [{"command": f"{name} {number}"} for number in range(20) for name in ("rm", "ls")]
RIGHT = [each["command"].startswith("rm") for each in QUESTIONS]
READ = """
import json, sys
def say(**told): print(json.dumps(told), flush=True)
def questions():
    for line in sys.stdin:
        yield json.loads(line)
"""
ANSWER = """
for asked in questions():
    say(id=asked["id"], alarm=asked["command"].startswith("rm"))
"""


def peer(tmp_path: Path, code: str) -> Peer:
    program = tmp_path / "peer.py"
    program.write_text(READ + code)
    return Peer("mine", shlex.join([sys.executable, str(program)]))


def test_hears_every_answer(tmp_path: Path) -> None:
    heard = ask(peer(tmp_path, ANSWER), "command", QUESTIONS)

    assert list(heard.answers) == RIGHT
    assert (heard.unable, heard.wrong, heard.missing, heard.ended) == (0, 0, 0, "")


def test_tells_neither_labels_nor_an_order_that_says_something(tmp_path: Path) -> None:
    code = 'open(sys.argv[0] + ".seen", "w").writelines(sys.stdin)'

    ask(peer(tmp_path, code), "command", QUESTIONS)

    seen = [json.loads(line) for line in (tmp_path / "peer.py.seen").read_text().splitlines()]
    assert [each["id"] for each in seen] == list(range(len(QUESTIONS)))
    assert {tuple(each) for each in seen} == {("id", "kind", "command")}
    commands = [each["command"] for each in seen]
    assert sorted(commands) == sorted(each["command"] for each in QUESTIONS)
    assert commands != [each["command"] for each in QUESTIONS]


def test_takes_answers_in_any_order_and_no_opinion(tmp_path: Path) -> None:
    code = """
for asked in reversed(list(questions())):
    if asked["command"].startswith("ls"):
        say(id=asked["id"], unable=True)
    else:
        say(id=asked["id"], alarm=True)
"""
    heard = ask(peer(tmp_path, code), "command", QUESTIONS)

    assert list(heard.answers) == [True if each else None for each in RIGHT]
    assert (heard.unable, heard.wrong, heard.missing) == (20, 0, 0)


WRONG = (
    'print("no JSON", flush=True)',
    "say(id=1_000, alarm=True)",
    "say(id=-1, alarm=True)",
    'say(id="0", alarm=True)',
    "say(id=True, alarm=True)",
    'say(id=39, alarm="yes")',
    "say(id=39, alarm=None)",
    "say(id=39)",
    "say(id=0, alarm=True); say(id=0, alarm=True)",
    "say(peer=7)",
    "print([1], flush=True)",
    "sys.stdout.buffer.write(bytes([255, 10])); sys.stdout.flush()",
)


@pytest.mark.parametrize("line", WRONG)
def test_counts_an_answer_that_is_none(line: str, tmp_path: Path) -> None:
    heard = ask(peer(tmp_path, f"list(questions())\n{line}"), "command", QUESTIONS)

    assert heard.wrong == 1
    assert heard.missing == (39 if line.startswith("say(id=0") else 40)


def test_counts_what_a_silent_peer_leaves_out(tmp_path: Path) -> None:
    heard = ask(peer(tmp_path, "list(questions())"), "command", QUESTIONS)

    assert (heard.missing, heard.wrong, heard.ended) == (40, 0, "")
    assert set(heard.answers) == {None}


def test_keeps_what_a_peer_said_before_it_crashed(tmp_path: Path) -> None:
    heard = ask(peer(tmp_path, "say(id=0, alarm=True); sys.exit(3)"), "command", QUESTIONS)

    assert (heard.missing, heard.ended) == (39, "it ended with status 3")
    assert sum(each is True for each in heard.answers) == 1


def test_gives_up_a_peer_that_hangs_with_all_that_it_started(tmp_path: Path) -> None:
    code = """
import subprocess
say(id=0, alarm=True)
subprocess.run(["sleep", "100000"])
"""
    heard = ask(peer(tmp_path, code), "command", QUESTIONS, patience_s=3)

    assert (heard.missing, heard.ended) == (39, "it was silent for 3 s and given up")


@pytest.mark.parametrize(
    ("command", "why"),
    [("no-such-program", "No such file or directory"), ("'", "No closing quotation")],
)
def test_says_that_a_peer_could_not_be_started(command: str, why: str) -> None:
    heard = ask(Peer("mine", command), "command", QUESTIONS)

    assert (heard.missing, heard.ended) == (40, f"it could not be started: {why}")


def test_asks_a_peer_only_for_its_kinds(tmp_path: Path) -> None:
    asked = peer(tmp_path, 'say(peer="mine", kinds=["stop"])' + ANSWER)

    heard = ask(asked, "command", QUESTIONS)

    assert (heard.missing, heard.wrong, heard.ended) == (0, 0, "")
    assert heard.introduction.kinds == ("stop",)


@pytest.mark.parametrize(
    ("at", "answer", "wrong"), [("1", 1, 0), ("None", None, 0), ("2", None, 1), ("False", None, 1)]
)
def test_a_run_stops_at_one_of_its_steps(
    at: str, answer: int | None, wrong: int, tmp_path: Path
) -> None:
    code = f'[say(id=each["id"], stop_at={at}) for each in questions()]'

    heard = ask(peer(tmp_path, code), "run", [{"steps": [{"text": "\ud83d"}, {}]}])

    assert (heard.answers, heard.wrong, heard.missing) == ((answer,), wrong, wrong)


COUNTED = """
import pathlib
say(peer="mine", version={version!r})
with pathlib.Path(sys.argv[0] + ".count").open("a") as count:
    for asked in questions():
        count.write(".")
        say(id=asked["id"], alarm=True)
"""


def _asked_twice(tmp_path: Path, *versions: str) -> tuple[list[Asked], int]:
    heard = [
        ask_or_remember(
            peer(tmp_path, COUNTED.format(version=version)),
            "command",
            QUESTIONS,
            patience_s=100,
            folder=tmp_path / "kept",
        )
        for version in versions
    ]
    return heard, len((tmp_path / "peer.py.count").read_text())


@pytest.mark.parametrize(
    ("versions", "times"),
    [(("1", "1"), 1), (("1", "2"), 2), (("", ""), 2), (("1", "2", "2"), 2)],
)
def test_asks_again_only_in_another_version(
    versions: tuple[str, ...], times: int, tmp_path: Path
) -> None:
    heard, count = _asked_twice(tmp_path, *versions)

    assert count == times * len(QUESTIONS)
    assert {each.answers for each in heard} == {heard[0].answers}


def test_does_not_keep_what_broke_off(tmp_path: Path) -> None:
    code = 'say(peer="mine", version="1"); say(id=0, alarm=True)'

    for _ in range(2):
        ask_or_remember(
            peer(tmp_path, code), "command", QUESTIONS, patience_s=100, folder=tmp_path / "kept"
        )

    assert not (tmp_path / "kept").exists()


def test_reads_peers_from_a_file_and_from_an_argument(tmp_path: Path) -> None:
    file = tmp_path / "peers.toml"
    file.write_text('[peers]\nmine = "{python} {here}/mine.py"\n')

    assert peers_from(file) == [Peer("mine", shlex.join([sys.executable, f"{tmp_path}/mine.py"]))]
    assert peer_from("mine=my_guard --fast=1") == Peer("mine", "my_guard --fast=1")


def shipped(name: str) -> Peer:
    return next(
        each for each in peers_from(ROOT / "benchmarks/peers/peers.toml") if each.name == name
    )


def test_the_shipped_peers_say_that_their_tool_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_CLIENTS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    for name in ("cc-safety-net", "nah"):
        heard = ask(shipped(name), "command", QUESTIONS)

        assert heard.introduction.absent
        assert (heard.missing, heard.wrong, heard.ended) == (0, 0, "")


def test_nah_is_asked_by_its_own_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nah"
    tool.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo nah 0.1 && exit\n'
        'case "$4" in rm*) echo \'{"decision": "ask"}\';; *1) exit 1;; *) echo \'{"decision":'
        ' "allow"}\';; esac\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    heard = ask(shipped("nah"), "command", QUESTIONS)

    assert heard.introduction.version == "0.1"
    assert (heard.unable, heard.wrong, heard.missing, heard.ended) == (2, 0, 0, "")
    assert [each is True for each in heard.answers] == RIGHT


HOOK = """
const told = JSON.parse(require("fs").readFileSync(0, "utf8"));
if (told.tool_input.command.startsWith("rm"))
  console.log(JSON.stringify({hookSpecificOutput: {permissionDecision: "deny"}}));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_cc_safety_net_is_asked_by_its_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "node_modules" / "cc-safety-net"
    (package / "dist" / "bin").mkdir(parents=True)
    (package / "package.json").write_text('{"version": "9.9"}')
    (package / "dist" / "bin" / "cc-safety-net.js").write_text(HOOK)
    monkeypatch.setenv("INTERLOCK_CLIENTS", str(tmp_path))

    heard = ask(shipped("cc-safety-net"), "command", QUESTIONS[:4])

    assert heard.introduction.version == "9.9"
    assert list(heard.answers) == RIGHT[:4]


def test_detect_secrets_is_asked_about_texts() -> None:
    private = "-----BEGIN RSA " + "PRIVATE KEY-----"

    heard = ask(shipped("detect-secrets"), "text", [{"text": private}, {"text": "hello"}])

    assert heard.answers == (True, False)
    assert heard.introduction.version


def test_a_wrapper_has_no_opinion_on_another_kind() -> None:
    line = json.dumps({"id": 0, "kind": "stop", "text": "done"})

    done = subprocess.run(
        shlex.split(shipped("detect-secrets").command),
        input=line,
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout.splitlines()[-1]) == {"id": 0, "unable": True}
