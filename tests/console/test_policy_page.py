"""The pages of the policy: what counts, what it would answer, and how it came to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.run_scenes import HOSTILE, Scene, quietly, scene
from gates.policies import gates_with
from interlock.errors import InputError
from interlock.model.verdict import Decision
from interlock.server.console import policy_page
from interlock.server.console.page import PageFunction
from interlock.views.policy_view import PolicyPage, Tried, adoptions

POLICY = """
[destructive-ops]
protected-branches = ["...", "release/*"]

[destructive-ops.rules]
"git.stash-drop" = "off"

[steps]
checkpoint-interval = 20

[[rules]]
id = "production-is-for-people"
when = 'commands.exists(c, c.program == "kubectl" && "prod" in c.args)'
decision = "block"
message = "production is changed by people only"
match = ["kubectl --context prod apply -f web.yaml"]
not_match = ["kubectl --context staging get pods"]
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A desk over a real ledger, with a policy of its own and no policy file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.chdir(tmp_path)
    with scene(tmp_path, POLICY) as made:
        yield made


def view_of(told: Scene, **query: str) -> PolicyPage:
    view = told.page(policy_page.policy_page_of, {}, **query).values["view"]
    assert isinstance(view, PolicyPage)
    return view


def html_of(told: Scene, page: PageFunction = policy_page.policy_page_of, **query: str) -> str:
    return told.html(told.page(page, {}, **query))


def test_shows_only_what_was_changed_with_what_it_replaced(told: Scene) -> None:
    values = {f"{each.section}{each.name}": each for each in view_of(told).values}

    assert values["steps.checkpoint-interval"].text == "20"
    assert values["steps.checkpoint-interval"].replaced == "25"
    assert values["destructive-ops.protected-branches"].text == '+ "release/*"'
    assert values['destructive-ops.rules."git.stash-drop"'].replaced == "require-confirmation"
    assert values["rules.production-is-for-people"].decision == "block"
    assert {each.origin for each in values.values()} == {"user"}


@pytest.mark.parametrize(
    ("show", "origins"), [("default", {"default"}), ("all", {"default", "user"})]
)
def test_shows_the_rest_when_asked_to(told: Scene, show: str, origins: set[str]) -> None:
    assert {each.origin for each in view_of(told, show=show).values} == origins


def test_finds_keys_and_values(told: Scene) -> None:
    assert [each.name for each in view_of(told, q="RELEASE/").values] == ["protected-branches"]
    assert "No key or value contains" in html_of(told, q=HOSTILE)
    assert "<script>alert" not in html_of(told, q=HOSTILE)


def test_own_rules_stand_with_their_examples(told: Scene) -> None:
    (rule,) = view_of(told).rules

    assert rule.match == ("kubectl --context prod apply -f web.yaml",)
    assert rule.failing == ()
    assert "its examples pass" in html_of(told)


def test_tries_a_command_and_records_nothing(told: Scene) -> None:
    before = told.desk.ledger.rows.head().records

    page = told.page(policy_page.try_page, {}, line="git push --force origin release/1", cwd="/srv")

    answer = page.values["tried"]
    assert isinstance(answer, Tried)
    assert answer.verdict.decision is Decision.REQUIRE_CONFIRMATION
    assert told.desk.ledger.rows.head().records == before
    alone = told.html(page, "try")
    assert "answered in" in alone
    assert "a person must approve first" in alone


@pytest.mark.parametrize("line", [HOSTILE, "cat <<E\n</textarea><script>alert(1)</script>\nE", "'"])
def test_a_hostile_command_is_inert(told: Scene, line: str) -> None:
    html = html_of(told, policy_page.try_page, line=line, cwd=HOSTILE)

    assert "<script>alert" not in html


def test_nothing_to_try_shows_the_page(told: Scene) -> None:
    assert "Try it" in html_of(told, policy_page.try_page, line=" ")
    with pytest.raises(InputError, match="at most 16,384"):
        html_of(told, policy_page.try_page, line="x" * 20_000)


def test_the_history_tells_each_version_with_its_changes(told: Scene) -> None:
    told.interlock.run("so that a policy is on record")
    told.interlock.adopt(gates_with("[steps]\ncheckpoint-interval = 30\n"), token=told.token)

    page = told.page(policy_page.history_page, {})

    versions = adoptions(told.desk.ledger)
    latest = versions[0]
    assert (latest.by, latest.counts_now) == ("ada", True)
    changed = {each.path: (each.gone, each.added) for each in latest.changes}
    assert changed["steps.checkpoint-interval"] == ("20", "30")
    assert changed["destructive-ops.protected-branches"] == ('"release/*"', "")
    assert '<span class="d none">in force</span>' in told.html(page)
    assert versions[-1].counts_now is False


def test_an_unchanged_policy_teaches(tmp_path: Path) -> None:
    with scene(tmp_path, "") as told:
        assert "Every value is the default" in html_of(told)


def test_a_policy_that_does_not_load_is_shown_first(told: Scene, tmp_path: Path) -> None:
    file = tmp_path / "config" / "interlock" / "policy.toml"
    file.parent.mkdir(parents=True)
    file.write_text("version = 1\n[steps]\ncheckpoint-intervall = 3\n")

    html = html_of(told)

    assert "Your policy file has errors" in html
    assert "checkpoint-intervall" in html
    why = quietly(policy_page.adopt_act, told.visit({}), {})
    assert "checkpoint-interval" in why


def test_an_operator_has_the_file_count(told: Scene, tmp_path: Path) -> None:
    file = tmp_path / "config" / "interlock" / "policy.toml"
    assert "interlock init" in quietly(policy_page.adopt_act, told.visit({}), {})
    file.parent.mkdir(parents=True)
    file.write_text("version = 1\n[steps]\ncheckpoint-interval = 7\n")
    assert "Your policy file differs" in html_of(told)

    told.act(policy_page.adopt_act, {})

    assert told.desk.governor.context.policy.config.steps.checkpoint_interval == 7
    assert "Your policy file differs" not in html_of(told)
