"""What a policy calls a secret leaves no trace: in no answer, on no disk, in no log."""

from __future__ import annotations

from pathlib import Path

import pytest

from logged import logged
from server.served import serving

# Two kinds that nothing but the policy knows: a word with digits, and a group within a sentence.
_NUMBER = "Heron-4711"
_PLACE = "quiet harbour"
_POLICY = f"""
[secrets]
patterns = ["Heron-[0-9]{{4}}", "we meet at the ({_PLACE.split(maxsplit=1)[0]} [a-z]+)"]
"""
_SAID = f"see {_NUMBER}; we meet at the {_PLACE} tonight"
_ACTIONS: dict[str, dict[str, object]] = {
    "command": {"command": f"echo '{_SAID}' > notes"},
    "words put together": {"command": "echo He''ron-47'11'"},
    "folder": {"command": "ls", "cwd": f"/srv/{_NUMBER}"},
    "parameters": {"tool": "Note", "params": {"deep": [{"er": _SAID}], _NUMBER: 1}},
    "name": {"tool": _NUMBER, "params": {}},
    "carried": {"tool": "Bash", "params": {"command": f"git commit -m '{_SAID}'"}},
    "content": {"path": "a.md", "content": f"# Notes\n{_SAID}\n"},
    "path": {"path": f"{_NUMBER}/a.md", "content": "nothing\n"},
}
_NOT_SENT = {"folder", "name", "path"}
"""Where it happens and what it is called goes nowhere, but on the record."""


@pytest.mark.parametrize("name", _ACTIONS)
def test_an_own_secret_is_in_no_answer_no_file_and_no_log(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with logged() as log, serving(tmp_path, policy=_POLICY) as served:
        run = served.run(f"a task about {_SAID}")
        answer = served.post(f"/v1/runs/{run}/actions", {"action": _ACTIONS[name]})
        told = [
            answer.body,
            served.get(f"/v1/runs/{run}").body,
            served.get("/v1/runs").body,
            served.get("/v1/ledger").body,
            served.get("/v1/ledger/export", as_="admin").body,
            served.post(f"/v1/runs/{run}/replay", as_="viewer").body,
            served.post("/v1/policy/try", {"action": _ACTIONS[name]}, as_="viewer").body,
        ]

    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    printed = "".join((*capfd.readouterr(), log.getvalue())).encode()
    assert answer.status == 200
    assert answer.value["decision"] == ("allow" if name in _NOT_SENT else "block")
    assert tmp_path / "ledger.db" in written
    for secret in (_NUMBER.encode(), _PLACE.encode()):
        assert [each for each in told if secret in each] == []
        assert [path for path, data in written.items() if secret in data] == []
        assert secret not in printed
