"""No credential is ever kept: not in a record, a key, an account, an approval, nor an answer."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples, rounds
from interlock import Budget, Interlock, Run, TokenUsage
from interlock.model.action import CommandAction, EditAction, ToolAction
from interlock.secrets.credential_rules import Form
from interlock.service.policies.policy_files import default_policy
from interlock.values import Evaluation, RunState
from secret_generator import examples_of, from_template
from secret_packs import RULES
from service.ledgers import HandClock, everything_stored, in_memory, operator_of

_RULES = [rule for rule in RULES if rule.form is Form.TOKEN]
_SECRETS = (
    st.builds(examples_of, st.sampled_from(_RULES), st.integers(0, 10**6))
    .map(lambda examples: examples[0].strip())
    # What is made up may, once in a while, look like a placeholder.
    .filter(lambda secret: bool(default_policy().scanner.scan(secret)))
)
_ONE_LINE = _SECRETS.filter(lambda secret: secret.isprintable() and len(secret) < 400)
_rounds = examples(10, soak=600)


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()


_PLACES: dict[str, Callable[[Run, str], object]] = {
    "command": lambda run, secret: run.command(f"deploy --token {secret}"),
    "quoted": lambda run, secret: run.command(f"echo '{secret}' \"{secret}\" > a"),
    "cwd": lambda run, secret: run.command("ls", cwd=f"/srv/{secret}"),
    "refused": lambda run, secret: run.command(f"rm -rf / {secret}", cwd=f"/srv/{secret}"),
    "asked of a person": lambda run, secret: run.command(f"git push --force {secret}"),
    "value": lambda run, secret: run.tool("Note", {"text": f"see {secret}."}),
    "named value": lambda run, secret: run.tool("Note", {"token": secret, "n": 1}),
    "name": lambda run, secret: run.tool("Note", {secret: 1}),
    "nested": lambda run, secret: run.tool("Note", {"a": [{"b": {"c": [secret, 1]}}]}),
    "named nested": lambda run, secret: run.tool("Note", {"env": [{"name": "T", "value": secret}]}),
    "text": lambda run, secret: run.tool("Note", f'{{"text": {_json(secret)}}}'),
    "escaped text": lambda run, secret: run.tool("Note", f'{{"text": "{_escaped(secret)}"}}'),
    "broken text": lambda run, secret: run.tool("Note", f'{{"text": {_json(secret)}'),
    "with half characters": lambda run, secret: run.tool("Note", {"a": "\udc80", "b": secret}),
    "tool": lambda run, secret: run.tool(secret, {"a": 1}),
    "carried": lambda run, secret: run.tool("Bash", {"command": f"curl -u {secret} x"}),
    "words": lambda run, secret: run.tool("Bash", {"command": ["curl", "-u", secret]}),
    "content": lambda run, secret: run.may_edit("a.py", f"x = 1\nkey = '{secret}'\n"),
    "old": lambda run, secret: run.may_edit("a.py", "x = 1\n", old=f"key = '{secret}'\n"),
    "path": lambda run, secret: run.may_edit(f"/srv/{secret}/a.py", "x = 1\n"),
    "written": lambda run, secret: run.tool("Write", {"file_path": "a", "content": secret}),
    "key": lambda run, secret: run.command("ls", key=f"id:{secret}"),
    "output": lambda run, secret: run.observe(run.command("ls"), output=f"it is {secret}"),
    "model": lambda run, secret: run.observe(run.command("ls"), model=secret),
    "used model": lambda run, secret: run.usage(TokenUsage(input_tokens=1), model=f"x {secret}"),
    "unasked command": lambda run, secret: run.observe_unasked(
        CommandAction(command=f"rm -rf / {secret}")
    ),
    "unasked tool": lambda run, secret: run.observe_unasked(
        ToolAction(name="Note", params={"a": [secret]})
    ),
    "unasked edit": lambda run, secret: run.observe_unasked(
        EditAction(path=f"/srv/{secret}", content=secret, old=secret)
    ),
    "reported": lambda run, secret: run.observe(
        run.tool("Write", {"file_path": f"/srv/{secret}", "content": secret}), exit_code=0
    ),
    "against the answer": lambda run, secret: run.observe(
        run.command(f"rm -rf / {secret}"), exit_code=0
    ),
    "manifest": lambda run, secret: run.observe(
        run.may_edit("requirements.txt", f"left @ https://u:{secret}@host.test/x\n", old="")
    ),
    "violation": lambda run, secret: run.violation(
        f"rule {secret}", f"because {secret}", location=f"/srv/{secret}:1"
    ),
    "task of a child": lambda run, secret: run.child(f"use {secret}", agent=f"a {secret}"),
    "project of a child": lambda run, secret: run.child("t", project=secret, client=secret),
    "outcome": lambda run, secret: run.finish(f"used {secret}"),
    "evaluator": lambda run, secret: run.finish(evaluators=[_telling(secret)]),
}
_OF_ONE_LINE = {"task of a child", "project of a child", "outcome"}


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in text)


def _telling(secret: str) -> Callable[[RunState], Evaluation]:
    return lambda _: Evaluation(evaluator=secret, passed=True, score=1000, evidence=(secret,))


def _forms(secret: str) -> list[bytes]:
    """Return a credential as it is, and as JSON may write it."""
    escaped = _escaped(secret)
    return [text.encode() for text in {secret, _json(secret)[1:-1], escaped, escaped.upper()}]


@pytest.mark.parametrize("place", _PLACES)
def test_no_credential_is_kept_wherever_it_stands(place: str) -> None:
    @_rounds
    @given(secret=_ONE_LINE if place in _OF_ONE_LINE else _SECRETS)
    def check(secret: str) -> None:
        with in_memory() as interlock:
            told = _PLACES[place](interlock.run("t", budget=Budget(tokens=100)), secret)
            kept = everything_stored(interlock.ledger)

        assert not any(form in kept for form in _forms(secret)), kept
        if not isinstance(told, Run):
            assert secret not in str(told)

    check()


@pytest.mark.parametrize("place", ["task", "note of a grant", "note of a refusal", "note on money"])
def test_no_credential_is_kept_of_what_people_write(place: str) -> None:
    @_rounds
    @given(secret=_SECRETS)
    def check(secret: str) -> None:
        with in_memory() as interlock:
            _written_by_a_person(interlock, place, f"see {secret} there")
            kept = everything_stored(interlock.ledger)

        assert not any(form in kept for form in _forms(secret)), kept

    check()


def _written_by_a_person(interlock: Interlock, place: str, text: str) -> None:
    token = operator_of(interlock)
    run = interlock.run(text if place == "task" else "t")
    asked = run.command("git push --force").approval_id
    assert asked is not None
    match place:
        case "note of a grant":
            interlock.approve(asked, token=token, note=text)
            run.command("git push --force")
        case "note of a refusal":
            interlock.deny(asked, token=token, note=text)
            run.command("git push --force")
        case _:
            interlock.set_budget(f"run/{run.id}", Budget(tokens=1), token=token, note=text)


def _token(seed: int) -> str:
    return from_template("ghp_[A-Za-z0-9]{36}", seed)


def test_no_byte_of_a_credential_reaches_the_file(tmp_path: Path) -> None:
    place, keys = tmp_path / "ledger.db", tmp_path / "keys"
    secrets = [_token(seed) for seed in range(len(_PLACES))]
    with Interlock.open(place, clock=HandClock(), keys=keys) as interlock:
        for secret, plant in zip(secrets, _PLACES.values(), strict=True):
            plant(interlock.run(f"find {secret}"), secret)
        wal = _bytes_below(tmp_path)

    after = _bytes_below(tmp_path)
    for secret in secrets:
        for form in _forms(secret):
            assert form not in wal
            assert form not in after


def _bytes_below(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_a_credential_that_a_shell_puts_together_is_withheld() -> None:
    secret = _token(1)
    line = f'export T="{secret[:7]}""{secret[7:20]}"{secret[20:]}'
    with in_memory() as interlock:
        run = interlock.run("t")
        for answer in (run.command(line), run.tool("Bash", {"command": line})):
            assert not answer.allowed
        run.observe_unasked(CommandAction(command=line))
        kept = everything_stored(interlock.ledger)

    assert secret[:7].encode() not in kept
    assert secret[7:20].encode() not in kept
    assert secret[20:].encode() not in kept
    assert b"withheld" in kept


@pytest.mark.parametrize("offset", [-50, -40, -20, -1, 0, 1][:: rounds(short=2, soak=1)])
def test_a_credential_is_not_cut_in_two_where_a_text_is_cut(offset: int) -> None:
    secret = _token(2)
    limit = 1 << 20
    padding = "a line of text\n" * (limit // 15 + 1)
    content = f"{padding[: limit + offset]} {secret} {padding}"
    with in_memory() as interlock:
        run = interlock.run(content)
        run.may_edit("a.txt", content)
        run.command(f"echo {content}")
        run.tool("Write", {"file_path": "a.txt", "content": content})
        kept = everything_stored(interlock.ledger)

    assert secret[:8].encode() not in kept


def test_a_credential_in_a_key_still_makes_it_a_key() -> None:
    key = f"call-{_token(3)}"
    with in_memory() as interlock:
        run = interlock.run("t")
        first = run.command("ls", key=key)

        assert run.command("ls", key=key).action_id == first.action_id
        assert not run.command("ls", key=f"call-{_token(4)}").repeated


def test_an_ordinary_key_is_kept_as_it_is() -> None:
    with in_memory() as interlock:
        interlock.run("t").command("ls", key="toolu_01A09q90qw90lq917835lq9")

        assert b"toolu_01A09q90qw90lq917835lq9" in everything_stored(interlock.ledger)


def test_redaction_does_not_hang_on_the_gate_that_looks_for_secrets() -> None:
    secret = _token(5)
    with in_memory("[secrets]\nenabled = false\n") as interlock:
        run = interlock.run("t")

        assert run.command(f"echo {secret}").allowed
        assert secret.encode() not in everything_stored(interlock.ledger)


def test_the_key_of_the_digests_stays_in_its_place() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        run.command("ls", key="k")
        run.observe(run.command("cat x"), output="words")
        run.finish()
        digest_key = interlock.ledger.rows.meta("digest-key")
        kept = everything_stored(interlock.ledger)

    assert digest_key is not None
    raw = bytes.fromhex(digest_key)
    for form in (digest_key.encode(), raw, base64.b64encode(raw)):
        assert form not in kept


def test_a_digest_tells_nothing_without_the_key() -> None:
    digests: set[bytes] = set()
    for _ in range(2):
        with in_memory() as interlock:
            run = interlock.run("t")
            run.command("ls")
            (record,) = interlock.ledger.rows.records(run.id, after=1)
            digests.add(msgspec.json.decode(record.body)["event"]["digest"])

    assert len(digests) == 2
