"""The socket of the hooks itself: who may ask, what a line may be, and questions in plain JSON."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.server.hooks.hook_desk import HookDesk
from interlock.server.hooks.hook_socket import HookSocket
from interlock.server.hooks.own_dialect import OWN_DIALECT
from interlock.service.aio import LoopDriver
from server.served import Served
from service.ledgers import in_memory, run_elsewhere

OTHER_USER = 65534


def connected(served: Served) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(120)
    made.connect(served.listening.socket.replace("http", "hooks"))
    return made


def told(served: Served, *lines: bytes) -> list[Any]:
    with connected(served) as connection, connection.makefile("rb") as answers:
        connection.sendall(b"".join(line + b"\n" for line in lines))
        return [msgspec.json.decode(answers.readline()) for _ in lines]


def a_run(served: Served) -> str:
    return run_elsewhere(served.desk.operations, "a task", agent="free").id


def test_questions_are_answered_in_their_order(served: Served) -> None:
    run = a_run(served)
    lines = [
        msgspec.json.encode({"question": "action", "run": run, "action": {"command": line}})
        for line in ("ls", "rm -rf /", "pwd")
    ]
    step = msgspec.json.encode({"question": "step", "run": run, "said": "hello"})

    answers = told(served, *lines, step)

    assert [each["answer"]["decision"] for each in answers] == [
        *("allow", "block", "allow"),
        "continue",
    ]


@pytest.mark.parametrize(
    ("line", "kind", "detail"),
    [
        (b"garbage", "InputError", "is not a JSON object"),
        (b"[]", "InputError", "is not a JSON object"),
        (b"{}", "InputError", "`question` is none of `action`"),
        (b'{"question":"action","run":"x"}', "UnknownError", "there is no run `x`"),
        (b'{"question":"approve","run":"x"}', "InputError", "`question` is none of"),
        (b"[" * 200_000, "InputError", "is not a JSON object"),
    ],
)
def test_what_is_no_question_is_told_so(
    served: Served, line: bytes, kind: str, detail: str
) -> None:
    ((error,),) = (answer.values() for answer in told(served, line))

    assert error["type"] == f"urn:interlock:error:{kind}"
    assert detail in error["detail"]


def test_a_run_of_an_agent_with_a_token_is_asked_with_it(served: Served) -> None:
    run = served.run()
    (answer,) = told(served, msgspec.json.encode({"question": "step", "run": run}))

    assert answer["error"]["status"] == 403


def test_a_line_without_an_end_is_refused_and_the_server_stays(served: Served) -> None:
    with connected(served) as connection:
        connection.sendall(b'{"question":"' + b"x" * (8 << 20) + b"\n")
        answer = connection.makefile("rb").read()
    assert "larger than" in msgspec.json.decode(answer)["error"]["detail"]
    with connected(served) as connection:
        connection.sendall(b'{"hook')

    assert told(served, b"{}")[0]["error"]["status"] == 422


def test_whoever_leaves_in_the_middle_disturbs_nobody(served: Served) -> None:
    run = a_run(served)
    asked = msgspec.json.encode(
        {"question": "action", "run": run, "action": {"command": "git push -f"}, "wait_s": 600}
    )
    with connected(served) as connection:
        connection.sendall(asked + b"\n")

    assert told(served, b"{}")[0]["error"]["status"] == 422


@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes somebody else")
def test_another_user_is_refused() -> None:
    program = (
        f"import os, socket, sys; s = socket.socket(socket.AF_UNIX); os.setuid({OTHER_USER});"
        "s.connect(sys.argv[1]); sys.stdout.buffer.write(s.recv(1000))"
    )

    async def work(place: str) -> bytes:
        with in_memory() as interlock, socket.socket(socket.AF_UNIX) as listening:
            listening.bind(place)
            os.chmod(place, 0o777)  # noqa: PTH101 - before anything is awaited
            door = HookSocket(HookDesk(interlock.governor, LoopDriver(), OWN_DIALECT))
            await door.start(listening)
            asking = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", program, place),
                stdout=subprocess.PIPE,
            )
            said, _ = await asking.communicate()
            await door.close()
            return said

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        said = asyncio.run(work(f"{folder}/hooks"))

    assert said.startswith(b"2 0 ")
    assert b"this socket is of user 0, not of user 65534" in said
