"""Whether an agent is really done: profiles, what a file changes of them, and single models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import asdict, replace

from interlock.policy.config.document import KEYS, PROFILE_KEYS, policy_from_stored, stored_bytes
from interlock.policy.config.policy_changes import in_words, policy_changes_between
from interlock.policy.config.reference import policy_reference_markdown
from interlock.policy.config.stop_section import DEFAULT, PROFILES, SEED, Stops
from interlock.policy.stops.phrases import mentioned
from policy.documents import Document, documents, loaded
from policy.files import LISTS, complaints, merged, toml

USER_ONLY = "may be set in the user's file only, because an agent can write the project's"


def stops(user: str, project: str | None = None) -> Stops:
    return merged(user, project).policy.stops


def told(user: str, project: str | None = None) -> Stops:
    return stops(user, project)


def as_sets(settings: Stops) -> dict[str, object]:
    """Return settings to compare: the order of phrases never counts."""
    return {
        name: frozenset(value) if name.endswith("_phrases") else value
        for name, value in asdict(settings).items()
    }


def test_every_value_of_a_profile_has_a_key():
    own = {"profile", "mode", "auto_continue", "credit", "models"}

    assert {key.name.replace("-", "_") for key in PROFILE_KEYS} == {*Stops.__struct_fields__} - own


def test_the_policy_has_every_key_of_the_section():
    names = {key.name.replace("-", "_") for key in KEYS if key.section == "stops"}

    assert names == {*Stops.__struct_fields__}


@pytest.mark.parametrize("profile", list(PROFILES))
def test_without_anything_else_the_profile_counts(profile: str):
    settings = told(f"[stops]\nprofile = '{profile}'")

    assert as_sets(settings) == as_sets(PROFILES[profile])


def test_the_default_profile_is_the_default():
    assert as_sets(told("")) == as_sets(DEFAULT)


@pytest.mark.parametrize("key", PROFILE_KEYS, ids=[key.name for key in PROFILE_KEYS])
def test_the_profile_counts_for_all_but_what_a_file_sets(key: object):
    name = str(getattr(key, "name", ""))
    field = name.replace("-", "_")
    value = ["onwards"] if field.endswith("_phrases") else 50
    settings = told(toml({"stops": {"profile": "seed", name: value}}))

    expected = tuple(value) if isinstance(value, list) else value
    assert as_sets(settings) == as_sets(replace(SEED, **{field: expected}))


def test_dots_in_a_list_stand_for_the_phrases_of_the_chosen_profile():
    settings = told(
        "[stops]\nprofile = 'seed'\ncontinue-phrases = ['...', 'onwards']\n"
        "awaiting-phrases = ['...', 'over to you']",
        "[stops]\nawaiting-phrases = ['...', 'your turn']",
    )

    assert {*settings.continue_phrases} == {*SEED.continue_phrases, "onwards"}
    assert {*settings.awaiting_phrases} == {*SEED.awaiting_phrases, "over to you", "your turn"}


def test_phrases_are_found_by_straight_apostrophes():
    settings = told(
        "[stops]\ncontinue-phrases = ['I\u2019m at it']\n"
        "[stops.models.m]\nsummary-phrases = ['that\u2019s it']"
    )

    assert mentioned(settings.continue_phrases, "i'm at it") == "i'm at it"
    assert mentioned(settings.for_model("m").summary_phrases, "that's it") == "that's it"


def test_some_models_differ():
    settings = told(
        '[stops]\nprofile = "seed"\ncompletion-phrases = ["over"]\n[stops.models."minimax-*"]\n'
        'max-retries = 5\npoints-no-finish-reason = 0\ncompletion-phrases = ["...", "out"]\n'
        'summary-phrases = []\n[stops.models."minimax-m2"]\nmax-retries = 7'
    )

    some, one, other = (settings.for_model(name) for name in ("MiniMax-1", "minimax-m2", "o"))
    assert (some.max_retries, some.points_no_finish_reason) == (5, 0)
    assert some.completion_phrases == ("out", "over")
    assert some.summary_phrases == ()
    assert (one.max_retries, one.points_no_finish_reason) == (7, 0)
    assert (other.max_retries, other.points_no_finish_reason) == (3, 15)
    assert other.completion_phrases == ("over",)


def test_whoever_has_the_last_word_on_one_threshold_has_it_on_both():
    settings = told(
        '[stops]\ncontinue-at = 60\nwarn-at = 40\n[stops.models."a*"]\ncontinue-at = 90\n'
        'warn-at = 80\n[stops.models."ab*"]\ncontinue-at = 50'
    )

    both = settings.for_model("abc")
    assert (both.continue_at, both.warn_at) == (50, 40)


_THRESHOLDS = st.fixed_dictionaries(
    {}, optional={"continue-at": st.integers(40, 80), "warn-at": st.integers(20, 60)}
)


@given(
    _THRESHOLDS,
    st.dictionaries(st.sampled_from(["*", "a*", "ab*", "b", "abc"]), _THRESHOLDS),
    st.sampled_from(["a", "ab", "abc", "b", "c"]),
)
def test_whatever_loads_has_thresholds_in_order_for_every_model(
    everywhere: Document, models: Document, model: str
):
    settings = loaded({"stops": {**everywhere, "models": models}}).policy.stops
    chosen = settings.for_model(model)

    assert chosen.warn_at <= chosen.continue_at


@given(documents())
def test_whatever_loads_can_be_judged_by(document: Document):
    stops = loaded(document).policy.stops

    assert all(stops.for_model(name).max_retries >= 0 for name in stops.models)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "profile = 'sed'",
            'stops.profile: `"sed"` is unknown; expected `default` or `seed`; did you mean `seed`?',
            id="a-misspelt-profile",
        ),
        pytest.param(
            "points-intention = 3",
            "stops.points-intention: unknown key; did you mean `points-intent`?",
            id="a-misspelt-key",
        ),
        pytest.param(
            "points-intent = 101",
            "stops.points-intent: `101` is out of range; expected a whole number from 0 to 100",
            id="too-many-points",
        ),
        pytest.param(
            "continue-phrases = ['onwards', '']",
            'stops.continue-phrases[1]: `""` is empty; expected text',
            id="an-empty-phrase",
        ),
        pytest.param(
            "continue-phrases = 'onwards'",
            'stops.continue-phrases: `"onwards"` is text; expected a list',
            id="text-for-a-list",
        ),
        pytest.param(
            "models = 3",
            "stops.models: `3` is a whole number; expected a table, `[stops.models]`",
            id="a-number-for-models",
        ),
        pytest.param(
            "models.m = 3",
            "stops.models.m: `3` is a whole number; expected a table",
            id="a-number-for-a-model",
        ),
        pytest.param(
            "models.' '.max-retries = 3",
            'stops.models." ": `" "` is empty; expected a name, or a glob where a `*` is written',
            id="a-model-without-a-name",
        ),
        pytest.param(
            "models.'m-*'.max-retrys = 3",
            'stops.models."m-*".max-retrys: unknown key; did you mean `max-retries`?',
            id="a-misspelt-key-of-a-model",
        ),
        pytest.param(
            "models.m.max-retries = -1",
            "stops.models.m.max-retries: `-1` is out of range; "
            "expected a whole number from 0 to 100",
            id="fewer-than-none-for-a-model",
        ),
        pytest.param(
            "models.m.awaiting-phrases = [3]",
            "stops.models.m.awaiting-phrases[0]: `3` is a whole number; expected text",
            id="a-number-for-a-phrase-of-a-model",
        ),
    ],
)
def test_names_what_is_wrong(text: str, complaint: str):
    assert complaints(f"[stops]\n{text}") == [f"policy.toml: {complaint}"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "continue-at = 50\nwarn-at = 51",
            "policy.toml: stops.continue-at: `50` is less than `51` of `stops.warn-at` in "
            "policy.toml; expected `stops.continue-at` to be at least `stops.warn-at`",
            id="both-in-one-file",
        ),
        pytest.param(
            "profile = 'seed'\nwarn-at = 61",
            "policy.toml: stops.warn-at: `61` is more than `60` of `stops.continue-at` in the "
            "profile `seed`; expected `stops.continue-at` to be at least `stops.warn-at`",
            id="one-of-them-from-the-profile",
        ),
        pytest.param(
            "profile = 'seed'\nmodels.'m-*'.continue-at = 39",
            'policy.toml: stops.models."m-*".continue-at: `39` is less than `40` of `warn-at` '
            "for these models; expected at least as much",
            id="one-of-them-for-some-models",
        ),
        pytest.param(
            "models.m.continue-at = 1\nmodels.m.warn-at = 2\nwarn-at = 0",
            "policy.toml: stops.models.m.continue-at: `1` is less than `2` of `warn-at` "
            "for these models; expected at least as much",
            id="both-for-some-models",
        ),
    ],
)
def test_refuses_thresholds_in_the_wrong_order(text: str, complaint: str):
    assert complaints(f"[stops]\n{text}") == [complaint]


def test_concludes_nothing_from_a_profile_that_is_not_known():
    project = "[stops]\npoints-intent = 100\ncontinue-at = 1"
    [complaint] = complaints("[stops]\nprofile = 'best'\nwarn-at = 1000", project)

    assert (
        complaint == 'policy.toml: stops.profile: `"best"` is unknown; expected `default` or `seed`'
    )


def test_concludes_nothing_from_a_threshold_that_is_wrong_by_itself():
    [complaint] = complaints("[stops]\nwarn-at = '1'\nmodels.m.continue-at = 2")

    assert complaint.startswith("policy.toml: stops.warn-at: ")


SEEDED = "[stops]\nprofile = 'seed'\n"
"""The values of this profile are those of the original formula, for good."""


@pytest.mark.parametrize(
    ("user", "project"),
    [
        ("", "credit = 4"),
        ("", "continue-at = 61"),
        ("", "warn-at = 0"),
        ("", "max-retries = 2"),
        ("", "points-intent = 0"),
        ("", "points-no-finish-reason = 15"),
        ("", "continue-phrases = []"),
        ("", "continue-phrases = ['let me continue']"),
        ("", "completion-phrases = ['...', 'over']"),
        ("", "summary-phrases = ['...', 'all in all']"),
        ("", "awaiting-phrases = ['over to you']"),
        ("points-intent = 90", "points-intent = 80"),
    ],
)
def test_a_project_may_make_going_on_rarer(user: str, project: str):
    assert merged(f"{SEEDED}{user}", f"[stops]\n{project}").origins


@pytest.mark.parametrize(
    ("user", "project", "problem"),
    [
        ("", "credit = 6", "credit: `6` is looser than `5` of defaults.toml"),
        ("", "continue-at = 59", "continue-at: `59` is looser than `60` of the profile `seed`"),
        ("", "warn-at = 41", "warn-at: `41` is looser than `40` of the profile `seed`"),
        ("", "max-retries = 4", "max-retries: `4` is looser than `3` of the profile `seed`"),
        (
            "",
            "points-no-finish-reason = 16",
            "points-no-finish-reason: `16` is looser than `15` of the profile `seed`",
        ),
        (
            "points-intent = 9",
            "points-intent = 10",
            "points-intent: `10` is looser than `9` of policy.toml",
        ),
        (
            "",
            "continue-phrases = ['...', 'onwards']",
            'continue-phrases: adds `"onwards"` to the list of the profile `seed`',
        ),
        (
            "awaiting-phrases = ['over to you']",
            "awaiting-phrases = []",
            'awaiting-phrases: leaves out `"over to you"` from the list of policy.toml',
        ),
        ("", "completion-phrases = ['over']", "completion-phrases: leaves out `"),
        ("", "summary-phrases = ['over']", "summary-phrases: leaves out `"),
    ],
)
def test_a_project_may_not_make_going_on_likelier(user: str, project: str, problem: str):
    [complaint] = complaints(f"{SEEDED}{user}", f"[stops]\n{project}")

    assert complaint.startswith(f"interlock.toml: stops.{problem}")


@pytest.mark.parametrize(
    ("project", "path"),
    [("profile = 'seed'", "profile"), ("models.m.max-retries = 0", "models")],
)
def test_a_project_chooses_neither_profile_nor_models(project: str, path: str):
    assert complaints("", f"[stops]\n{project}") == [f"interlock.toml: stops.{path}: {USER_ONLY}"]


def test_points_can_be_left_to_a_project():
    user = "[layers]\nproject-may-loosen = ['stops.points-intent', 'stops.continue-phrases']"
    project = "[stops]\npoints-intent = 99\ncontinue-phrases = ['onwards']"

    assert stops(user, project).points_intent == 99
    assert stops(user, project).continue_phrases == ("onwards",)


def test_rows_tell_what_counts_and_whose_it_is():
    user = (
        "[stops]\nprofile = 'seed'\nwarn-at = 30\n"
        "[stops.models.'m-*']\nmax-retries = 1\nsummary-phrases = ['...', 'over']"
    )
    places = {place.path: place for place in merged(user, "[stops]\nmax-retries = 2").places}

    assert [
        f"{places[path].origin} {path} {in_words(places[path].value)}"
        for name in ("profile", "warn-at", "continue-at", "max-retries", 'models."m-*"')
        for path in [f"stops.{name}"]
    ] == snapshot(
        [
            'user stops.profile "seed"',
            "user stops.warn-at 30",
            "default stops.continue-at 60",
            "project stops.max-retries 2",
            'user stops.models."m-*" {"max-retries":1,"summary-phrases":["...","over"]}',
        ]
    )


def test_tells_what_differs_for_some_models():
    old = "[stops.models.m]\nmax-retries = 1\nwarn-at = 3"
    new = "[stops.models.m]\nmax-retries = 2\n[stops.models.n]\nwarn-at = 3"

    assert policy_changes_between(merged(old).policy, merged(new).policy) == (
        "`stops.models.m`: max-retries 1 → 2; warn-at 3 → nothing",
        '`stops.models.n`: set to {"warn-at":3}',
    )


def test_another_profile_is_another_policy():
    seed = merged("[stops]\nprofile = 'seed'")
    changed = policy_changes_between(merged("").policy, seed.policy)

    assert changed[0] == '`stops.profile`: "default" → "seed"'
    assert len(changed) > 1
    assert seed.hash != merged("").hash


def test_a_stored_policy_keeps_the_values_of_its_profile():
    policy = merged("[stops]\nprofile = 'seed'\n[stops.models.m]\nwarn-at = 1").policy

    assert policy_from_stored(stored_bytes(policy), merged("").policy) == policy
    assert b'"points-no-finish-reason":15' in stored_bytes(policy)


def test_the_reference_tells_what_each_profile_says():
    reference = policy_reference_markdown(LISTS)

    for key in PROFILE_KEYS:
        section = reference.partition(f"### `{key.path}`\n")[2].partition("\n#")[0]
        assert "- Default: as the profile says: `default` " in section


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("steps.max-total", "- Default: no limit"),
        (
            "stops.points-no-finish-reason",
            "- Default: as the profile says: `default` says"
            f" {DEFAULT.points_no_finish_reason}, `seed` says 15",
        ),
        (
            "stops.continue-phrases",
            "- Default: as the profile says: `default` has"
            f" {len(DEFAULT.continue_phrases)} entries, `seed` has 14 entries",
        ),
        ("stops.continue-at", "- At least: the value of `stops.warn-at`"),
        ("stops.profile", '- Default: `"default"`'),
        (
            "stops.models",
            "- Takes: a table from the name of models, or a glob where a `*` is written, to a"
            " table with the keys below",
        ),
        (
            "stops.models",
            "| `continue-phrases` | a list, each entry text | Phrases that announce more work. |",
        ),
    ],
)
def test_the_reference_says(path: str, line: str):
    section = policy_reference_markdown(LISTS).partition(f"### `{path}`\n")[2]

    assert line in section.partition("\n#")[0].splitlines()
