"""When a run is stopped, paused, slowed down and saved: what a file may say about it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from interlock.policy.config.document import policy_from_stored, stored_bytes
from interlock.policy.config.policy_changes import policy_changes_between
from interlock.policy.config.run_sections import Loops, Steps
from interlock.service.policies.policy_files import load_policy
from policy.documents import Document, documents, loaded
from policy.files import complaints, merged, toml

USER_ONLY = "may be set in the user's file only, because an agent can write the project's"
PERMISSION = "a project may only tighten: take it out, or list `{}` under"


def steps(user: str, project: str | None = None) -> Steps:
    return merged(user, project).policy.steps


def loops(user: str, project: str | None = None) -> Loops:
    return merged(user, project).policy.loops


def test_the_defaults_are_those_of_the_continue_gate():
    assert merged().policy.steps == Steps()


def test_the_defaults_are_those_of_the_progress_meter():
    assert merged().policy.loops == Loops()


def test_the_continue_gate_is_told_every_limit():
    told = steps(
        "[steps]\nmax-consecutive = 1\nmax-total = 2\ncheckpoint-interval = 3\n"
        "min-coherence-percent = 41\nread-only-below-percent = 57\n"
        "restricted-below-percent = 99\nmax-rework-percent = 7\nmax-uncertainty-percent = 29\n"
        "max-slope-percent = 1\ndelay-ms = 10\nmax-delay-ms = 11\ncooldown-ms = 0"
    )

    assert told == Steps(
        max_consecutive=1,
        max_total=2,
        checkpoint_interval=3,
        min_coherence_percent=41,
        read_only_below_percent=57,
        restricted_below_percent=99,
        max_rework_percent=7,
        max_uncertainty_percent=29,
        max_slope_percent=1,
        delay_ms=10,
        max_delay_ms=11,
        cooldown_ms=0,
    )


def test_the_progress_meter_is_told_every_limit():
    told = loops(
        "[loops]\nvolatile-arguments = ['Now', '*_at']\npolling-tools = ['Wait', 'ci_*']\n"
        "pause-repeats = 2\nstop-repeats = 2\npatience = 1\npause-score-percent = 250"
    )

    assert told == Loops(
        volatile_arguments=("*_at", "Now"),
        polling_tools=("Wait", "ci_*"),
        pause_repeats=2,
        stop_repeats=2,
        patience=1,
        pause_score_percent=250,
    )


@pytest.mark.large
@pytest.mark.parametrize("percent", range(101))
def test_a_percentage_is_the_share_that_a_person_would_write(percent: int):
    told = steps(f"[steps]\nmax-slope-percent = {percent}")

    assert told.max_slope == float(f"{percent // 100}.{percent % 100:02}")


@given(documents())
def test_whatever_loads_can_be_judged_by(document: Document):
    policy = loaded(document).policy

    assert 0 <= policy.steps.min_coherence <= policy.steps.restricted_below <= 1
    assert policy.loops.pause_repeats <= policy.loops.stop_repeats


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "[steps]\nmax-totl = 3",
            "steps.max-totl: unknown key; did you mean `max-total`?",
            id="a-misspelt-key",
        ),
        pytest.param(
            "[steps]\nmax-total = 0",
            "steps.max-total: `0` is out of range; expected a whole number from 1 to 1000000000",
            id="no-step-at-all",
        ),
        pytest.param(
            "[steps]\nmin-coherence-percent = 0.4",
            "steps.min-coherence-percent: `0.4` is a number with a fraction; "
            "expected a whole number from 0 to 100",
            id="a-share-for-a-percentage",
        ),
        pytest.param(
            "[steps]\ncheckpoint-command = ['git', 'stash']",
            "steps.checkpoint-command: `[...]` is a list; "
            "expected text, `git`, `none` or a command line of your own",
            id="a-list-for-a-command",
        ),
        pytest.param(
            "[steps]\ncheckpoint-command = ''",
            'steps.checkpoint-command: `""` is empty; '
            "expected `git`, `none` or a command line of your own",
            id="an-empty-command",
        ),
        pytest.param(
            "[steps]\ncheckpoint-command = \"'' now\"",
            "steps.checkpoint-command: `\"'' now\"` names no program; "
            "expected `git`, `none` or a command line of your own",
            id="a-command-without-a-program",
        ),
        pytest.param(
            '[steps]\ncheckpoint-command = "make \'a backup"',
            'steps.checkpoint-command: `"make \'a backup"` cannot be split into words: '
            "no closing quotation",
            id="a-quote-that-stays-open",
        ),
        pytest.param(
            "[loops]\npause-repeats = 1",
            "loops.pause-repeats: `1` is out of range; expected a whole number from 2 to 1000",
            id="a-repeat-that-is-none",
        ),
        pytest.param(
            "[loops]\nvolatile-arguments = ['']",
            'loops.volatile-arguments[0]: `""` is empty; '
            "expected a name, or a glob where a `*` is written",
            id="an-argument-without-a-name",
        ),
    ],
)
def test_names_what_is_wrong_with_a_limit(text: str, complaint: str):
    assert complaints(text) == [f"policy.toml: {complaint}"]


@pytest.mark.parametrize(
    ("user", "project", "complaint"),
    [
        pytest.param(
            "[steps]\nread-only-below-percent = 39",
            None,
            "policy.toml: steps.read-only-below-percent: `39` is less than `40` of "
            "`steps.min-coherence-percent` in defaults.toml; expected "
            "`steps.read-only-below-percent` to be at least `steps.min-coherence-percent`",
            id="the-upper-number-in-the-upper-file",
        ),
        pytest.param(
            "[steps]\nread-only-below-percent = 75",
            None,
            "policy.toml: steps.read-only-below-percent: `75` is more than `70` of "
            "`steps.restricted-below-percent` in defaults.toml; expected "
            "`steps.restricted-below-percent` to be at least `steps.read-only-below-percent`",
            id="the-lower-number-in-the-upper-file",
        ),
        pytest.param(
            "[steps]\nmin-coherence-percent = 50",
            "[steps]\nmin-coherence-percent = 51",
            "interlock.toml: steps.min-coherence-percent: `51` is more than `50` of "
            "`steps.read-only-below-percent` in defaults.toml; expected "
            "`steps.read-only-below-percent` to be at least `steps.min-coherence-percent`",
            id="a-project-that-goes-too-far",
        ),
        pytest.param(
            "[steps]\ndelay-ms = 9\nmax-delay-ms = 8",
            None,
            "policy.toml: steps.max-delay-ms: `8` is less than `9` of `steps.delay-ms` in "
            "policy.toml; expected `steps.max-delay-ms` to be at least `steps.delay-ms`",
            id="both-numbers-in-one-file",
        ),
        pytest.param(
            "[loops]\npause-repeats = 6",
            None,
            "policy.toml: loops.pause-repeats: `6` is more than `5` of `loops.stop-repeats` in "
            "defaults.toml; expected `loops.stop-repeats` to be at least `loops.pause-repeats`",
            id="repeats-that-stop-before-they-pause",
        ),
    ],
)
def test_refuses_numbers_in_the_wrong_order(user: str, project: str | None, complaint: str):
    assert complaints(user, project) == [complaint]


def test_tells_every_disorder_at_once():
    told = complaints(
        "[steps]\nmin-coherence-percent = 90\ndelay-ms = 70000\n[loops]\nstop-repeats = 2"
    )

    assert [sentence.split(": ")[1] for sentence in told] == [
        "steps.min-coherence-percent",
        "steps.delay-ms",
        "loops.stop-repeats",
    ]


def test_says_nothing_of_the_order_of_a_number_that_is_wrong_by_itself():
    [complaint] = complaints(
        "[steps]\nmin-coherence-percent = 60\nread-only-below-percent = '65'\n"
        "restricted-below-percent = 90"
    )

    assert complaint.startswith('policy.toml: steps.read-only-below-percent: `"65"` is text')


@pytest.mark.parametrize(
    ("user", "project"),
    [
        ("", "[steps]\nmax-consecutive = 99"),
        ("", "[steps]\nmax-total = 1000000000"),
        ("[steps]\nmax-total = 10", "[steps]\nmax-total = 10"),
        ("", "[steps]\ncheckpoint-interval = 1"),
        ("", "[steps]\nmin-coherence-percent = 50"),
        ("", "[steps]\nread-only-below-percent = 70"),
        ("", "[steps]\nrestricted-below-percent = 100"),
        ("", "[steps]\nmax-rework-percent = 0"),
        ("", "[steps]\nmax-uncertainty-percent = 79"),
        ("", "[steps]\nmax-slope-percent = 1"),
        ("", "[steps]\ndelay-ms = 60000"),
        ("", "[steps]\nmax-delay-ms = 60001"),
        ("", "[steps]\ncooldown-ms = 0"),
        ("", "[loops]\nvolatile-arguments = ['...', 'now']"),
        ("[loops]\npolling-tools = ['a', 'b']", "[loops]\npolling-tools = ['b']"),
        ("", "[loops]\npause-repeats = 2"),
        ("", "[loops]\nstop-repeats = 3"),
        ("", "[loops]\npatience = 29"),
        ("", "[loops]\npause-score-percent = 99"),
    ],
)
def test_a_project_may_tighten(user: str, project: str):
    assert merged(user, project).origins


@pytest.mark.parametrize(
    ("user", "project", "place", "problem"),
    [
        ("", "max-consecutive = 101", "max-consecutive", "`101` is looser than `100`"),
        ("max-total = 10", "max-total = 11", "max-total", "`11` is looser than `10`"),
        ("", "checkpoint-interval = 26", "checkpoint-interval", "`26` is looser than `25`"),
        ("", "min-coherence-percent = 39", "min-coherence-percent", "`39` is looser than `40`"),
        ("", "read-only-below-percent = 49", "read-only-below-percent", "`49` is looser than `50`"),
        (
            "",
            "restricted-below-percent = 69",
            "restricted-below-percent",
            "`69` is looser than `70`",
        ),
        ("", "max-rework-percent = 31", "max-rework-percent", "`31` is looser than `30`"),
        ("", "max-uncertainty-percent = 81", "max-uncertainty-percent", "`81` is looser than `80`"),
        ("", "max-slope-percent = 3", "max-slope-percent", "`3` is looser than `2`"),
        ("", "delay-ms = 4999", "delay-ms", "`4999` is looser than `5000`"),
        ("", "max-delay-ms = 59999", "max-delay-ms", "`59999` is looser than `60000`"),
        ("", "cooldown-ms = 5001", "cooldown-ms", "`5001` is looser than `5000`"),
    ],
)
def test_a_project_may_not_loosen_a_step(user: str, project: str, place: str, problem: str):
    [complaint] = complaints(f"[steps]\n{user}", f"[steps]\n{project}")
    origin = "policy.toml" if user else "defaults.toml"

    assert complaint.startswith(f"interlock.toml: steps.{place}: {problem} of {origin}; ")


@pytest.mark.parametrize(
    ("project", "place", "problem"),
    [
        ("volatile-arguments = []", "volatile-arguments", 'leaves out `"*_timestamp"`, '),
        ("polling-tools = ['x']", "polling-tools", 'adds `"x"` to the list of defaults.toml'),
        ("pause-repeats = 4", "pause-repeats", "`4` is looser than `3` of defaults.toml"),
        ("stop-repeats = 6", "stop-repeats", "`6` is looser than `5` of defaults.toml"),
        ("patience = 31", "patience", "`31` is looser than `30` of defaults.toml"),
        ("pause-score-percent = 101", "pause-score-percent", "`101` is looser than `100` of "),
    ],
)
def test_a_project_may_not_loosen_a_loop(project: str, place: str, problem: str):
    [complaint] = complaints("", f"[loops]\n{project}")

    assert complaint.startswith(f"interlock.toml: loops.{place}: {problem}")
    assert PERMISSION.format(f"loops.{place}") in complaint


@pytest.mark.parametrize("command", ["git", "none", "curl https://example.org"])
def test_a_project_brings_no_command_along(command: str):
    project = toml({"steps": {"checkpoint-command": command}})

    assert complaints("", project) == [f"interlock.toml: steps.checkpoint-command: {USER_ONLY}"]


def test_the_command_cannot_even_be_left_to_a_project():
    [complaint] = complaints(
        "[layers]\nproject-may-loosen = ['steps.*', 'steps.checkpoint-command']"
    )

    assert complaint.endswith("may be set in the user's file only and cannot be left to a project")


def test_a_limit_can_be_left_to_a_project():
    told = steps(
        "[layers]\nproject-may-loosen = ['steps.max-consecutive']",
        "[steps]\nmax-consecutive = 500",
    )

    assert told.max_consecutive == 500


def test_tells_that_a_limit_was_set_and_taken_away():
    without, limited = merged("").policy, merged("[steps]\nmax-total = 9").policy

    assert policy_changes_between(without, limited) == ("`steps.max-total`: set to 9",)
    assert policy_changes_between(limited, without) == ("`steps.max-total`: taken away (was 9)",)


def test_a_policy_from_before_there_were_steps_is_still_read():
    policy = merged("[diff-size]\nthreshold = 7").policy
    body = stored_bytes(policy)
    assert b'"steps":' in body
    older = {
        name: value
        for name, value in _sections(body).items()
        if name not in ("steps", "loops", "stops")
    }

    assert policy_from_stored(_encoded(older), merged("").policy) == policy


def test_the_gates_are_told_what_the_files_say(tmp_path: Path):
    user = tmp_path / "policy.toml"
    user.write_text(
        "[steps]\nmax-total = 9\ncheckpoint-command = 'make backup'\n"
        "[loops]\npatience = 4\n[stops]\ncredit = 2\nmax-retries = 1\n"
    )

    gates = load_policy(user=user)

    assert gates.config.steps == Steps(max_total=9, checkpoint_command="make backup")
    assert gates.config.loops.patience == 4
    assert gates.config.stops.credit == 2
    assert gates.config.stops.max_retries == 1


def _sections(body: bytes) -> dict[str, object]:
    return msgspec.json.decode(body, type=dict[str, object])


def _encoded(table: dict[str, object]) -> bytes:
    return msgspec.json.encode(table)
