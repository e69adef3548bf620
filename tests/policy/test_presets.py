"""The presets: what each sets, that none is looser than the one before it, and who may choose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import PolicyError
from interlock.policy.config.document import KEY_BY_PATH, MergedPolicy, Policy
from interlock.policy.config.key import PRESETS
from interlock.policy.config.layers import KnownRules, Layer, Role, merge
from interlock.policy.config.parser import read_layer
from interlock.policy.config.policy_changes import loosened_places
from interlock.policy.config.reference import project_starter, starter, user_starter
from interlock.service.policies.builtin_rules import (
    builtin_layer,
    builtin_tables,
    known_rules,
    preset_limits,
)
from interlock.service.policies.policy_files import default_policy_text
from policy.documents import Document, documents
from policy.files import toml

KNOWN: KnownRules = known_rules()
BUILT_IN: Layer = builtin_layer()


def merged(user: str | None = None, project: str | None = None) -> MergedPolicy:
    files = ((Role.USER, "policy.toml", user), (Role.PROJECT, "interlock.toml", project))
    layers = [
        read_layer(name, text, role, known=KNOWN, compile_condition=lambda _: None)
        for role, name, text in files
        if text is not None
    ]
    return merge([BUILT_IN, *layers], KNOWN)


def policy_of(preset: str) -> Policy:
    return merged(f'preset = "{preset}"').policy


def refusals(user: str, project: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        merged(user, project)
    return list(caught.value.complaints)


def test_balanced_is_the_default() -> None:
    assert merged().policy == policy_of("balanced")
    assert merged().policy.preset == "balanced"
    assert merged().origins["preset"] == "default"


def test_observe_stops_nothing_and_has_the_limits_of_balanced() -> None:
    observe = policy_of("observe")

    assert [observe.mode, observe.steps.mode, observe.stops.mode, observe.reviews.mode] == [
        "observe",
        "observe",
        "observe",
        "observe",
    ]
    assert observe.budgets.run == policy_of("balanced").budgets.run


def test_strict_asks_about_more_and_has_a_limit_of_everything_that_costs() -> None:
    strict = policy_of("strict")

    assert strict.destructive_ops.unresolved == "require-confirmation"
    assert strict.destructive_ops.packs["unattended"] is True
    assert strict.budgets.run == {
        "tokens": 200_000_000,
        "tool-calls": 2_000,
        "wall-time-s": 28_800,
        "cost-usd": 100_000_000,
    }


@pytest.mark.parametrize(("milder", "stricter"), [("observe", "balanced"), ("balanced", "strict")])
def test_no_preset_is_looser_than_the_one_before_it(milder: str, stricter: str) -> None:
    before, after = policy_of(milder), policy_of(stricter)

    assert list(loosened_places(before, after, KNOWN)) == []


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_says_what_a_file_of_it_would_say(preset: str) -> None:
    table = builtin_tables().policy.presets[preset]
    file = read_layer(
        "presets.toml", toml(table), Role.USER, known=KNOWN, compile_condition=lambda _: None
    )

    assert file.complaints == ()
    assert file.values == BUILT_IN.presets[preset]


def test_what_a_file_says_counts_before_the_preset() -> None:
    own = merged('preset = "strict"\n[destructive-ops]\nunresolved = "warn"').policy

    assert own.destructive_ops.unresolved == "warn"
    assert own.budgets.run["tool-calls"] == 2_000


@pytest.mark.parametrize(
    ("user", "project", "complaint"),
    [
        (
            'preset = "balanced"',
            'preset = "observe"',
            'interlock.toml: preset: `"observe"` is looser than `"balanced"` of policy.toml',
        ),
        (
            "version = 1",
            'preset = "observe"',
            'interlock.toml: preset: `"observe"` is looser than `"balanced"` of defaults.toml',
        ),
        (
            "version = 1",
            'mode = "observe"',
            'interlock.toml: mode: `"observe"` is looser than `"enforce"` of defaults.toml',
        ),
        (
            "version = 1",
            "[budgets.run]\ntool-calls = 9_000",
            "interlock.toml: budgets.run.tool-calls: `9000` is looser than `5000` of the preset"
            " `balanced`",
        ),
        (
            "version = 1",
            '[destructive-ops.rules]\n"git.push-force" = "observe"',
            'interlock.toml: destructive-ops.rules."git.push-force": `"observe"` is looser than'
            ' `"ask"` of the built-in rules',
        ),
    ],
)
def test_a_project_may_not_loosen(user: str, project: str, complaint: str) -> None:
    [refusal, *_] = refusals(user, project)

    assert refusal.startswith(complaint)


def test_a_project_may_choose_a_stricter_preset() -> None:
    chosen = merged('preset = "observe"', 'preset = "strict"')

    assert (chosen.policy.preset, chosen.policy.mode) == ("strict", "enforce")
    assert chosen.origins["preset"] == "project"


def test_an_unknown_preset_is_named_and_nothing_is_concluded_from_it() -> None:
    complaints = refusals('preset = "stict"', "[budgets.run]\ntool-calls = 1_000_000")

    assert complaints == [
        'policy.toml: preset: `"stict"` is unknown; expected `observe`, `balanced` or `strict`;'
        " did you mean `strict`?"
    ]


@given(st.sampled_from(PRESETS), st.sampled_from(PRESETS), documents(for_project=True))
def test_whatever_a_project_says_it_never_loosens(user: str, project: str, said: Document) -> None:
    own = merged(f'preset = "{user}"')
    try:
        both = merged(f'preset = "{user}"', toml({**said, "preset": project}))
    except PolicyError:
        return

    assert list(loosened_places(own.policy, both.policy, KNOWN)) == []


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("key", ["k" * 64, None], ids=["user", "project"])
def test_the_starter_is_short_and_changes_nothing_but_the_preset(
    preset: str, key: str | None
) -> None:
    text = starter(preset, preset, preset_limits(preset), fingerprint_key=key)
    policy = merged(text).policy

    assert len(text.splitlines()) <= 40
    assert policy.secrets.fingerprint_key == (key or "")
    assert list(loosened_places(policy_of(preset), policy, KNOWN)) == []
    assert policy.preset == preset


@pytest.mark.parametrize("preset", PRESETS)
def test_every_setting_of_the_starter_can_be_taken_as_it_stands(preset: str) -> None:
    commented = starter(preset, preset, preset_limits(preset), fingerprint_key=None)
    set_ = "\n".join(
        line.removeprefix("#") if line.startswith("#") and not line.startswith("# ") else line
        for line in commented.splitlines()
    )
    policy = merged(set_).policy

    assert policy.budgets.run == policy_of(preset).budgets.run
    assert policy.destructive_ops.rules == {"git.push-force": "block"}
    assert [rule.mode for rule in policy.rules] == ["observe"]


def test_the_full_starter_names_every_key_and_the_preset() -> None:
    default = default_policy_text()
    user = user_starter(default, preset="strict", fingerprint_key="k" * 64)
    project = project_starter(default, preset="strict")

    assert merged(user).policy.preset == "strict"
    assert merged(None, project).policy.preset == "strict"
    assert all(key.name in user for key in KEY_BY_PATH.values())
