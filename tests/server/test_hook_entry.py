from __future__ import annotations

import msgspec

from server.hook_process import Home, home

__all__ = ["home"]

HARMLESS = {"session": "s1", "action": {"command": "ls"}, "key": "call-1"}
DANGEROUS = {"session": "s1", "action": {"command": "rm -rf /"}}


def test_a_server_answers_a_hook(home: Home) -> None:
    with home.served():
        harmless, dangerous = home.hook(HARMLESS), home.hook(DANGEROUS)

    assert harmless.returncode == 0
    assert msgspec.json.decode(harmless.stdout)["decision"] == "allow"
    assert (harmless.stderr, dangerous.returncode) == (b"", 2)
    assert msgspec.json.decode(dangerous.stdout)["decision"] == "block"
    assert dangerous.stderr.startswith(b"interlock: ")


def test_without_a_server_the_answer_is_the_same(home: Home) -> None:
    harmless, dangerous = home.hook(HARMLESS), home.hook(DANGEROUS)

    assert harmless.returncode == 0
    assert dangerous.returncode == 2
