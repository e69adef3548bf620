"""No credential is kept or told of what is said on the way: in steps, stops, beliefs and holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gates.policies import gates_with
from interlock import CommandAction, InputError, Interlock, Run
from interlock.model.events import CheckpointTaken
from secret_generator import from_template
from service.ledgers import HandClock, events_of, everything_stored, in_memory, operator_of
from service.stepping_runs import paused, stopped_for_good

_SAME = "the same words as before, and about as many of them: "


def _token(seed: int) -> str:
    # Letters only: what tells errors apart leaves numbers out, and would hide a part of it.
    return from_template("ghp_[G-Zg-z]{36}", seed)


_WRITTEN: dict[str, Callable[[Run, str], object]] = {
    "said": lambda run, secret: run.step(f"I use {secret} now"),
    "said again": lambda run, secret: [run.step(f"{_SAME}{secret}") for _ in range(4)],
    "waiting": lambda run, secret: run.step(waiting_for=f"host {secret}"),
    "text": lambda run, secret: run.stopped(f"Now let me use {secret}", finish_reason="stop"),
    "asked": lambda run, secret: run.stopped(f"Should I delete {secret}?"),
    "refused": lambda run, secret: run.stopped(f"I cannot help with {secret}."),
    "text again": lambda run, secret: [
        run.stopped(f"{_SAME}{secret}. Now let me run it.", todos=[secret]) for _ in range(8)
    ],
    "waiting at the end": lambda run, secret: run.stopped("I wait.", waiting_for=secret),
    "todo": lambda run, secret: run.stopped("Now let me go on.", todos=[f"rotate {secret}"]),
    "planned": lambda run, secret: run.stopped("Now.", planned_files=[f"/srv/{secret}/a.py"]),
    "model": lambda run, secret: run.stopped("Now.", model=secret),
    "belief": lambda run, secret: run.belief(f"{secret} is valid", supporting=1),
    "because": lambda run, secret: run.belief("valid", opposing=1, because=f"{secret} failed"),
    "error": lambda run, secret: run.observe(
        run.command("deploy"), output=f"Error: bad token {secret}", exit_code=1
    ),
    "same error": lambda run, secret: [
        (
            run.observe(
                run.command(f"deploy {n}"), output=f"Error: bad token {secret}", exit_code=1
            ),
            run.step(),
        )
        for n in range(8)
    ],
    "arguments": lambda run, secret: [
        (
            run.observe(run.tool("Note", {"text": secret, "n": n}), output="fine, thank you"),
            run.step(),
        )
        for n in range(8)
    ],
    "unasked": lambda run, secret: run.observe_unasked(
        CommandAction(command=f"deploy {secret}"), output=f"fatal: {secret}", exit_code=1
    ),
    "question to resume": lambda run, secret: [run.belief(secret, opposing=50), run.step()],
}


@pytest.mark.parametrize("place", _WRITTEN)
def test_no_credential_is_kept_or_told_of_what_an_agent_says(place: str) -> None:
    secret = _token(1)
    with in_memory() as interlock:
        told = _WRITTEN[place](interlock.run("t"), secret)
        kept = everything_stored(interlock.ledger)

    assert _fragment(secret) not in kept.decode("utf-8", "replace").lower()
    assert _fragment(secret) not in str(told).lower()


_SAID_BY_A_PERSON: dict[str, Callable[[Interlock, Run, str, str], object]] = {
    "halt": lambda interlock, run, token, text: interlock.halt(run.id, token=token, reason=text),
    "lift": lambda interlock, run, token, text: (
        stopped_for_good(run),
        interlock.lift(run.id, token=token, reason=text),
    ),
    "resume": lambda interlock, run, token, text: interlock.approve(
        stopped_for_good(run), token=token, note=text
    ),
    "no": lambda interlock, run, token, text: interlock.deny(paused(run), token=token, note=text),
}


@pytest.mark.parametrize("place", _SAID_BY_A_PERSON)
def test_no_credential_is_kept_or_told_of_what_a_person_says(place: str) -> None:
    secret = _token(2)
    with in_memory() as interlock:
        token, run = operator_of(interlock), interlock.run("t")
        told = _SAID_BY_A_PERSON[place](interlock, run, token, f"because of {secret} there")
        later = (run.step(), run.command("ls"), run.stopped("Done."))
        kept = everything_stored(interlock.ledger)

    assert _fragment(secret) not in kept.decode("utf-8", "replace").lower()
    assert _fragment(secret) not in str((told, later)).lower()


@pytest.mark.parametrize("short_by", range(0, 44, 4))
def test_an_error_holds_no_half_of_a_credential_where_the_output_is_cut(short_by: int) -> None:
    secret, opening = _token(3), "Error: bad token "
    padding = "x" * (2000 - len(opening) - short_by - 1)
    with in_memory() as interlock:
        run = interlock.run("t")
        seen = run.observe(
            run.command("deploy"), output=f"{padding}\n{opening}{secret} at host", exit_code=1
        )
        kept = everything_stored(interlock.ledger)

    assert seen.measured is not None
    assert seen.measured.error is not None
    assert seen.measured.error.startswith("error: bad token")
    assert secret[:5].lower() not in seen.measured.error
    assert secret[:5].lower() not in kept.decode("utf-8", "replace").lower()


@pytest.mark.parametrize("width", [0, 117, 119, 140, 158])
def test_what_is_said_holds_no_half_of_a_credential_where_it_is_cut(width: int) -> None:
    secret = _token(4)
    with in_memory() as interlock:
        run = interlock.run("t")
        run.step(f"{'y' * width} {secret}")
        run.stopped(f"{secret}{' z' * 1990}", todos=[f"{'y' * (width + 30)} {secret}"])
        kept = everything_stored(interlock.ledger).decode("utf-8", "replace")

    assert secret[:8] not in kept
    assert secret[-8:] not in kept


@pytest.mark.parametrize("name", ["{}\n", "{} " + "x" * 600, "\x00{}"])
def test_an_error_about_a_belief_does_not_tell_the_credential_in_it(name: str) -> None:
    secret = _token(5)
    with in_memory() as interlock:
        run = interlock.run("t")
        with pytest.raises(InputError) as refused:
            run.belief(name.format(secret), supporting=1)

    assert secret[:12] not in str(refused.value)


def test_neither_the_record_nor_the_answer_holds_what_a_checkpoint_command_prints(
    tmp_path: Path,
) -> None:
    secret = _token(6)
    (tmp_path / "token.txt").write_text(secret)
    policy = '[steps]\ncheckpoint-interval = 1\ncheckpoint-command = "cat token.txt"\n'
    with in_memory(policy) as interlock:
        run = interlock.run("t", workspace=tmp_path)
        run.step()
        answer = run.step()
        taken = events_of(interlock.ledger, run.id)[-1]
        kept = everything_stored(interlock.ledger)

    assert answer.checkpoint is not None
    assert answer.checkpoint.exit_code == 0
    assert answer.checkpoint.output
    assert taken == CheckpointTaken(checkpoint=answer.checkpoint)
    assert secret[:12] not in str(answer)
    assert secret[:12].encode() not in kept


def test_neither_the_record_nor_the_answer_holds_a_credential_of_the_workspace(
    tmp_path: Path,
) -> None:
    secret = _token(7)
    workspace = tmp_path / secret
    workspace.mkdir()
    gates = gates_with("[steps]\ncheckpoint-interval = 1\n")
    place = tmp_path / "ledger.db"
    with Interlock.open(place, policy=gates, clock=HandClock(), keys=tmp_path / "k") as interlock:
        run = interlock.run("t", workspace=workspace)
        run.step()
        answer = run.step()
        kept = everything_stored(interlock.ledger)
        written = place.read_bytes()

    assert answer.checkpoint is not None
    assert secret[:12] not in str(answer)
    assert secret[:12].encode() not in kept + written


def _fragment(secret: str) -> str:
    return secret[4:16].lower()
