"""What finished runs suggest: with counts, with evidence, and never against a critical rule."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from gates.policies import gates_with
from interlock.model.action import CommandAction
from interlock.model.recommendation import (
    Evidence,
    PatchOperation,
    Recommendation,
    RecommendationKind,
    Retrospective,
    RetrospectiveEntry,
    RetrospectiveKind,
)
from interlock.model.verdict import Decision, Severity, strictest
from interlock.policy.config.policy_changes import (
    loosened_places,
    loosenings_between,
    policy_changes_between,
)
from interlock.policy.gates.judgement import judge
from interlock.policy.learn.recommendations import policy_after, recommendations_from
from interlock.service.policies.builtin_rules import known_rules, packs_with_examples
from interlock.service.policies.policy_simulation import recommended_policy
from policy.files import wrapped

DEFAULT = gates_with("")
OPS = "destructive-ops"
CONFIRMED, DENIED = RetrospectiveKind.CONFIRMED, RetrospectiveKind.DENIED
FAILED, THROTTLED = RetrospectiveKind.FAILED, RetrospectiveKind.THROTTLED


def an_entry(
    kind: RetrospectiveKind,
    name: str,
    count: int,
    of: int,
    *,
    gate: str = "",
    after: str = "",
    percent: int | None = None,
    seq: int = 7,
) -> RetrospectiveEntry:
    return RetrospectiveEntry(
        kind=kind,
        name=name,
        gate=gate,
        after=after,
        count=count,
        of=of,
        percent=percent,
        evidence=(Evidence(run="r1", seq=seq),) if count else (),
    )


def a_run(*entries: RetrospectiveEntry, went_well: bool = True, steps: int = 9) -> Retrospective:
    return Retrospective(
        run="r1",
        project="shop",
        outcome="completed",
        went_well=went_well,
        actions=20,
        steps=steps,
        cost_micros=0,
        tokens=0,
        entries=entries,
    )


def answered(
    rule: str, yes: int, no: int = 0, silent: int = 0, *, gate: str = OPS
) -> Retrospective:
    of = yes + no + silent
    entries = [an_entry(CONFIRMED, rule, yes, of, gate=gate)]
    if no:
        entries.append(an_entry(DENIED, rule, no, of, gate=gate))
    return a_run(*entries)


def recommended(*runs: Retrospective, policy: str = "") -> list[Recommendation]:
    return list(recommendations_from(runs, gates_with(policy)))


def told(*runs: Retrospective, policy: str = "") -> str:
    """Lay recommendations out for a snapshot: title, reason and what they set."""
    return wrapped(
        [
            f"{each.title} ({each.reason}) {[f'{one.path[-1]}={one.value}' for one in each.patch]}"
            for each in recommended(*runs, policy=policy)
        ]
    )


def test_what_people_always_approve_is_allowed() -> None:
    [found] = recommended(answered("git.push-force", 9), answered("git.push-force", 5))

    assert found == Recommendation(
        id=found.id,
        kind=RecommendationKind.ALLOW,
        title="asked 14 times, approved 14 times: allow `git.push-force`",
        reason="people said yes to every question that `git.push-force` led to, in 2 runs",
        count=14,
        of=14,
        severity=Severity.HIGH,
        patch=(PatchOperation(path=(OPS, "rules", "git.push-force"), value='"warn"'),),
        evidence=(Evidence(run="r1", seq=7), Evidence(run="r1", seq=7)),
    )


def test_what_can_be_put_back_is_allowed_with_undo() -> None:
    [found] = recommended(answered("filesystem.delete-recursive-forced", 5))

    assert [each.value for each in found.patch] == ['"allow-with-undo"']


def test_what_people_always_deny_is_blocked_critical_or_not() -> None:
    lines = told(answered("git.push-force", 0, 5), answered("iac.terraform-destroy", 0, 6))

    assert lines == snapshot("""\
asked 5 times, denied 5 times: block `git.push-force` (people said no to every question that
    `git.push-force` led to, in 1 run) ['git.push-force="block"']
asked 6 times, denied 6 times: block `iac.terraform-destroy` (people said no to every
    question that `iac.terraform-destroy` led to, in 1 run)
    ['iac.terraform-destroy="block"']\
""")


@pytest.mark.parametrize(
    "runs",
    [
        [answered("git.push-force", 4)],
        [answered("git.push-force", 9, 1)],
        [answered("git.push-force", 9, silent=1)],
        [answered("git.push-force", 9), answered("git.push-force", 0, silent=1)],
        [answered("git.push-force", 0, 9, silent=1)],
        [answered("git.push-force", 1), answered("git.push-force", 0, 9)],
        [answered("iac.terraform-destroy", 50)],
        [answered("credentials.read-file", 50)],
        [answered("git.no-such-rule", 50)],
        [answered("unresolved-command", 50)],
        [answered("secrets.aws-access-key", 50, gate="secrets")],
        [answered("protected-paths.write", 50, gate="protected-paths")],
        [answered("budget.unpriced", 50, gate="budget")],
        [answered("git.push-force", 50, gate="rules")],
    ],
)
def test_nothing_is_recommended_for_want_of_agreement_or_where_nothing_may_be(
    runs: Sequence[Retrospective],
) -> None:
    assert recommended(*runs) == []


@pytest.mark.parametrize("now", ["off", "warn", "allow-with-undo", "block"])
def test_nothing_is_recommended_about_what_nobody_would_be_asked_today(now: str) -> None:
    policy = f'[destructive-ops.rules]\n"git.push-force" = "{now}"\n'

    assert recommended(answered("git.push-force", 14), policy=policy) == []


def test_a_gate_that_is_off_asks_nothing() -> None:
    policy = "[destructive-ops]\nenabled = false\n"

    assert recommended(answered("git.push-force", 14), policy=policy) == []


def test_what_a_file_says_now_stands_in_the_patch() -> None:
    policy = (
        '[destructive-ops.rules]\n"git.push-force" = "require-confirmation"\n'
        '[diff-size]\ndecision = "require-confirmation"\n'
    )
    runs = answered("git.push-force", 5), answered("diff-size.threshold", 5, gate="diff-size")

    found = recommended(*runs, policy=policy)

    assert [(each.path, each.value, each.before) for one in found for each in one.patch] == [
        ((OPS, "rules", "git.push-force"), '"warn"', '"require-confirmation"'),
        (("diff-size", "decision"), '"warn"', '"require-confirmation"'),
    ]


def test_a_rule_of_the_users_own_is_left_to_them() -> None:
    rule = (
        '[[rules]]\nid = "{}"\nwhen = "true"\ndecision = "require-confirmation"\nmessage = "no"\n'
        'severity = "{}"\n'
    )
    policy = rule.format("deploys", "medium") + rule.format("releases", "critical")
    runs = [
        answered("deploys", 5, gate="rules"),
        answered("releases", 5, gate="rules"),
        answered("gone", 5, gate="rules"),
    ]

    assert told(*runs, policy=policy) == snapshot("""\
asked 5 times, approved 5 times: allow `deploys` (people said yes to every question that
    `deploys` led to, in 1 run; it is one of your own rules: give it another `decision`) []\
""")


def throttled(percent: int, *, went_well: bool = True) -> Retrospective:
    return a_run(an_entry(THROTTLED, "slope", 3, 9, percent=percent), went_well=went_well)


def test_a_throttle_that_fires_on_runs_that_go_well_is_raised() -> None:
    runs = [throttled(percent) for percent in (4, 6, 6, 7, 8, 9, 11, 12, 40)]

    assert told(*runs, a_run(), throttled(90, went_well=False)) == snapshot("""\
the throttle fired on 9 of 10 runs that went well: raise `steps.max-slope-percent` from 2 to
    15 (of these runs 8 of 9 keep to 15 percent) ['max-slope-percent=15']\
""")


@pytest.mark.parametrize(
    "runs",
    [
        [throttled(8)] * 4,
        [*[throttled(8)] * 7, *[a_run()] * 2],
        [throttled(8, went_well=False)] * 9,
        [throttled(2)] * 9,
        [a_run(an_entry(THROTTLED, "stuck", 3, 9))] * 9,
    ],
    ids=["too few", "not most", "went badly", "let through by now", "something else"],
)
def test_a_throttle_that_does_its_work_stays(runs: Sequence[Retrospective]) -> None:
    assert recommended(*runs) == []


def test_a_limit_is_never_raised_beyond_what_can_be_set() -> None:
    runs = [throttled(1000)] * 5

    assert [each.patch[0].value for each in recommended(*runs)] == ["100"]
    assert recommended(*runs, policy="[steps]\nmax-slope-percent = 100\n") == []


def test_one_more_run_hardly_ever_makes_another_recommendation() -> None:
    runs = [throttled(percent) for percent in (6, 7, 8, 9, 10)]

    assert recommended(*runs)[0].id == recommended(*runs, throttled(8))[0].id


def paused(lifted: int, of: int, percent: int = 45) -> Retrospective:
    return a_run(an_entry(RetrospectiveKind.LIFTED, "rework", lifted, of, percent=percent))


def test_pauses_that_people_always_lift_raise_the_limit() -> None:
    policy = "[steps]\nmax-rework-percent = 40\n"

    [found] = recommended(paused(2, 2), paused(3, 3, 52), paused(1, 1, 35), policy=policy)

    assert found.patch[0] == PatchOperation(
        path=("steps", "max-rework-percent"), value="55", before="40"
    )
    assert wrapped([found.title]) == snapshot("""\
paused for rework 5 times, resumed by a person 5 times: raise `steps.max-rework-percent`
    from 40 to 55\
""")


@pytest.mark.parametrize("runs", [[paused(4, 4)], [paused(9, 10)]])
def test_pauses_that_people_look_into_stay(runs: Sequence[Retrospective]) -> None:
    assert recommended(*runs) == []


def test_a_tool_that_mostly_fails_is_named_with_what_it_fails_after() -> None:
    runs = [
        a_run(
            an_entry(FAILED, "Edit", 6, 8),
            an_entry(FAILED, "Edit", 1, 2, after="Read"),
            an_entry(FAILED, "Edit", 5, 6, after="Bash"),
            an_entry(FAILED, "Read", 0, 20),
            an_entry(FAILED, "Fetch", 12, 40),
            an_entry(FAILED, "Fetch", 11, 15, after="Login"),
            an_entry(FAILED, "Fetch", 1, 25, after="Read"),
            an_entry(FAILED, "Once", 9, 9),
            an_entry(FAILED, "Alone", 10, 10),
        ),
        a_run(an_entry(FAILED, "Edit", 0, 2)),
    ]

    assert told(*runs) == snapshot("""\
`Alone` fails 100 % of the time: see to it (10 of 10 calls failed, in 1 run) []
`Edit` fails 60 % of the time: see to it (6 of 10 calls failed, in 2 runs; most often right
    after `Bash`: 5 of 6 times) []
`Fetch` fails 73 % of the time right after `Login`: see to it (11 of 15 calls failed, in 1
    run) []\
""")


def test_no_runs_speak_for_nothing() -> None:
    assert recommended() == []


RULES = [*known_rules().commands, "unresolved-command", "diff-size.threshold", "edits.fuzzy-match"]
GATES = [OPS, "secrets", "protected-paths", "budget", "rules", "diff-size", "edits", "approval", ""]
ENTRIES = st.builds(
    RetrospectiveEntry,
    kind=st.sampled_from(RetrospectiveKind),
    name=st.sampled_from([*RULES, "slope", "rework", "Edit"]),
    gate=st.sampled_from(GATES),
    count=st.integers(0, 30),
    of=st.integers(0, 30),
    percent=st.none() | st.integers(0, 2000),
) | st.sampled_from(RULES).flatmap(
    lambda rule: st.integers(5, 30).map(
        lambda times: an_entry(CONFIRMED, rule, times, times, gate=OPS)
    )
)
RUNS = st.lists(st.lists(ENTRIES, max_size=12).map(lambda entries: a_run(*entries)), max_size=8)
POLICIES = st.sampled_from(
    [
        "",
        '[diff-size]\ndecision = "require-confirmation"\n',
        '[edits]\nfuzzy-matches = "require-confirmation"\n[steps]\nmax-slope-percent = 40\n',
        '[destructive-ops.rules]\n"filesystem.delete-system-tree" = "require-confirmation"\n'
        '"devices.wipe" = "require-confirmation"\n',
    ]
)
LOOSENED = {
    "destructive-ops.rules",
    "diff-size.decision",
    "edits.fuzzy-matches",
    "steps.max-slope-percent",
    "steps.max-rework-percent",
}


@given(RUNS, POLICIES)
def test_no_recommendation_loosens_what_a_critical_rule_holds(
    runs: Sequence[Retrospective], policy: str
) -> None:
    gates, known = gates_with(policy), known_rules()
    found = recommendations_from(runs, gates)
    every = [one for each in found for one in each.patch]
    blocking = [
        one for each in found if each.kind is RecommendationKind.BLOCK for one in each.patch
    ]
    after = policy_after(gates.config, every)
    places = list(loosened_places(gates.config, after, known))

    assert {place.key_path for place in places} <= LOOSENED
    for place in places:
        rule = gates.rulebook.rules.get(place.entry or "")
        assert rule is None or rule.severity is not Severity.CRITICAL
        assert not (place.entry or "").startswith("credentials.")
    assert len(policy_changes_between(gates.config, after)) == len(every)
    assert loosenings_between(gates.config, policy_after(gates.config, blocking), known) == ()


@given(RUNS, POLICIES)
def test_the_same_runs_recommend_the_same(runs: Sequence[Retrospective], policy: str) -> None:
    found = recommended(*runs, policy=policy)

    assert recommended(*runs, policy=policy) == found
    assert len({each.id for each in found}) == len(found)


@given(RUNS, POLICIES)
def test_what_was_applied_is_not_recommended_again(
    runs: Sequence[Retrospective], policy: str
) -> None:
    gates = gates_with(policy)
    patch = [one for each in recommendations_from(runs, gates) for one in each.patch]

    again = recommendations_from(runs, recommended_policy(gates, patch))

    asked = (RecommendationKind.ALLOW, RecommendationKind.BLOCK)
    assert [each for each in again if each.kind in asked and each.patch] == []


def test_with_everything_allowed_critical_examples_are_answered_as_before() -> None:
    every = [answered(rule, 5) for rule in RULES]
    patch = [one for each in recommended(*every) for one in each.patch]
    after = recommended_policy(DEFAULT, patch)
    examples = [
        CommandAction(command=line)
        for pack in packs_with_examples()
        for rule in pack.rules
        if rule.severity is Severity.CRITICAL
        for line in rule.match
    ]

    weaker: list[str] = []
    for action in examples:
        findings = judge(action, DEFAULT).findings
        held = strictest(each for each in findings if each.severity is Severity.CRITICAL)
        if judge(action, after).decision.rank < held.rank:
            weaker.append(action.command)

    assert len(patch) > 200
    assert len(examples) > 100
    assert weaker == []
    assert Decision.REQUIRE_CONFIRMATION in {judge(each, after).decision for each in examples}


def test_a_retrospective_survives_its_way_through_the_ledger() -> None:
    run = throttled(8)

    assert msgspec.json.decode(msgspec.json.encode(run), type=Retrospective) == run
