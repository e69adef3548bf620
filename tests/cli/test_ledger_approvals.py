"""`interlock approvals`, `approve` and `deny`: who decides, once, and what is left to a person."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import interlock, program
from cli.ledgers import Story, a_question, a_run, told
from interlock import Action, CommandAction, EditAction, Finding, Interlock, Severity, load_policy
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.verdict import Decision
from interlock.policy.gates.judgement import judge
from interlock.service.credentials import CredentialGrant, new_token
from interlock.views.inbox import recommendation
from patience import LONG_ENOUGH_S

PUSH = "git push --force origin topic"


def test_the_inbox_tells_what_is_asked_and_why(story: Story) -> None:
    assert told(interlock("approvals").stdout, story) == snapshot("""\
<approval...>  asked 6 min ago, expires in 53 min
  asks     git push --force origin topic
  why      git.push-force: overwrites what others see on the remote
  run      <checkout..........................> (claude: fix the checkout: totals are off by one
           cent)

interlock approve <approval...> lets it happen once, interlock deny <approval...> refuses
""")


def test_an_empty_inbox_is_told(place: str) -> None:
    Interlock.open(place).close()

    assert interlock("approvals").stdout == "nothing waits for you\n"
    assert json.loads(interlock("approvals", "--json").stdout) == []


def test_the_first_who_decides_becomes_the_operator(story: Story, tmp_path: Path) -> None:
    result = interlock("approve", story.approval[:20], "--note", "go on")

    token_file = tmp_path / "config" / "operator-token"
    assert result.exit_code == 0
    assert result.stdout == snapshot("""\
GRANTED  it may happen once
  git push --force origin topic
""")
    assert "the first operator of this ledger" in result.stderr
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert token_file.read_text().strip() not in result.output
    [approval] = json.loads(interlock("approvals", "--all", "--json").stdout)
    assert (approval["state"], approval["note"]) == ("granted", "go on")


def test_what_was_approved_may_happen_once(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "push it")
        asked = run.command(PUSH)
        interlock("approve", asked.approval_id or "")

        assert run.command(PUSH).allowed
        assert not run.command(PUSH).allowed


def test_what_was_denied_stays_denied(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "push it")
        asked = run.command(PUSH)

        result = interlock("deny", asked.approval_id or "", "--note", "not on a friday")

        assert result.exit_code == 0
        assert result.stdout == snapshot("""\
DENIED  it must not happen
  git push --force origin topic
""")
        assert run.command(PUSH).decision is Decision.BLOCK


def test_the_second_to_decide_is_told_who_was_first(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = json.loads(interlock("ledger", "operator", "anna", "--json").stdout)["token"]
    monkeypatch.setenv("INTERLOCK_TOKEN", anna)
    assert interlock("deny", story.approval).exit_code == 0

    result = interlock("approve", story.approval)

    assert result.exit_code == 1
    assert told(result.stderr, story) == snapshot(
        "Error: approval `<approval..........................>` was denied already, by anna\n"
    )


def test_of_two_who_decide_at_once_one_wins(story: Story) -> None:
    token = json.loads(interlock("ledger", "operator", "anna", "--json").stdout)["token"]
    environment = {**os.environ, "INTERLOCK_TOKEN": token}
    deciders = [
        subprocess.Popen(
            program([word, story.approval]), env=environment, stdout=subprocess.DEVNULL, stderr=-1
        )
        for word in ("approve", "deny")
    ]

    errors = [decider.communicate(timeout=LONG_ENOUGH_S)[1] for decider in deciders]

    assert sorted(decider.returncode for decider in deciders) == [0, 1]
    assert b"already, by anna" in b"".join(errors)


def test_an_agent_can_never_decide(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    interlock("ledger", "operator", "anna")
    token = _agent_token(story)
    monkeypatch.setenv("INTERLOCK_TOKEN", token)

    for arguments in (
        ["approve", story.approval],
        ["deny", story.approval],
        ["budget", f"run/{story.checkout}", "tokens", "none"],
        ["ledger", "operator", "mallory"],
    ):
        result = interlock(*arguments)
        assert result.exit_code == 1
        assert result.stderr == "Error: agent `claude` may not do this: only an operator may\n"


def test_an_agent_does_not_become_the_first_operator(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = json.loads(interlock("ledger", "operator", "claude", "--agent", "--json").stdout)[
        "token"
    ]
    monkeypatch.setenv("INTERLOCK_TOKEN", token)

    result = interlock("approve", story.approval)

    assert result.exit_code == 1
    assert json.loads(interlock("ledger", "info", "--json").stdout)["operators"] == []


def test_without_a_credential_nobody_decides_in_a_ledger_that_has_an_operator(
    story: Story,
) -> None:
    interlock("ledger", "operator", "anna")

    result = interlock("approve", story.approval)

    assert result.exit_code == 1
    assert result.stderr == snapshot(
        "Error: no credential was given: only an operator may do this; set `INTERLOCK_TOKEN`, or"
        " make one with `interlock ledger operator NAME`\n"
    )


def test_in_a_database_nobody_becomes_an_operator_unasked(
    postgres_ledger_url: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_LEDGER", postgres_ledger_url)
    with a_question(postgres_ledger_url) as approval:
        refused = interlock("approve", approval)
        token = interlock("ledger", "operator", "anna").stdout.strip()
        monkeypatch.setenv("INTERLOCK_TOKEN", token)
        granted = interlock("approve", approval)

    assert (refused.exit_code, granted.exit_code) == (1, 0)
    assert "no credential was given" in refused.stderr


def test_a_token_file_that_others_can_read_is_refused(story: Story, tmp_path: Path) -> None:
    interlock("ledger", "operator", "anna")
    file = tmp_path / "config" / "operator-token"
    file.write_text("whatever")
    file.chmod(0o644)

    result = interlock("approve", story.approval)

    assert result.exit_code == 1
    assert result.stderr.replace(str(tmp_path), "FOLDER") == snapshot(
        "Error: `FOLDER/config/operator-token` can be read by others:"
        " run `chmod 600 FOLDER/config/operator-token`\n"
    )


def test_one_credential_serves_several_ledgers(story: Story, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    interlock("approve", story.approval)
    with a_question(other) as approval:
        result = interlock("approve", approval, "--ledger", other)

    assert result.exit_code == 0
    assert "the first operator of this ledger" in result.stderr


def test_deciding_from_another_folder_changes_no_policy(story: Story, empty_place: Path) -> None:
    (empty_place / "interlock.toml").write_text("[diff-size]\nthreshold = 3\n")

    interlock("approve", story.approval)

    exported = interlock("ledger", "export").stdout
    assert exported.count('"type":"policy-adopted"') == 1


def test_an_unknown_approval_is_told_where_to_look(story: Story) -> None:
    result = interlock("approve", "nonsense")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: there is no approval `nonsense`: look at `interlock approvals`\n"
    )


def test_always_prints_a_rule_and_applies_nothing(story: Story, tmp_path: Path) -> None:
    result = interlock("approve", story.approval, "--always")

    assert result.stdout.replace(str(tmp_path), "FOLDER") == snapshot("""\
GRANTED  it may happen once
  git push --force origin topic

To be asked no more, put this into FOLDER/config/policy.toml; nothing was changed:

  [destructive-ops.rules]
  "git.push-force" = "warn"  # overwrites what others see on the remote
""")
    assert not (tmp_path / "config" / "policy.toml").exists()


@pytest.mark.parametrize(
    "action",
    [
        CommandAction(command=PUSH),
        CommandAction(command="git push --force origin main && git stash drop"),
        EditAction(path="~/.bashrc", content="alias ll=ls\n"),
        EditAction(path="notes.txt", content="line\n" * 5000),
    ],
    ids=["one rule", "several rules", "a protected path", "a large change"],
)
def test_under_a_recommended_rule_nobody_is_asked(action: Action, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[diff-size]\ndecision = "require-confirmation"\n')
    asked = judge(action, load_policy(user=file, project=None))
    file.write_text(recommendation(asked.findings))

    answer = judge(action, load_policy(user=file, project=None))

    assert asked.decision is Decision.REQUIRE_CONFIRMATION
    assert answer.decision is Decision.WARN


@pytest.mark.parametrize(
    ("gate", "rule"),
    [
        ("budget", "budget.run.unpriced"),
        ("rules", "no-deploys"),
        ("destructive-ops", "oversize-command"),
        ("secrets", "secrets.oversize-content"),
    ],
)
def test_what_no_key_silences_is_a_comment_or_another_key(
    gate: str, rule: str, tmp_path: Path
) -> None:
    finding = Finding(
        gate=gate,
        rule=rule,
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.HIGH,
        message="a reason",
        remediation="",
    )
    file = tmp_path / "recommended.toml"
    file.write_text(recommendation([finding]))

    assert load_policy(user=file, project=None).hash


def _agent_token(story: Story) -> str:
    """Let an agent in, as an operator of a ledger that has one."""
    token = new_token()
    with Interlock.open(story.place) as ledger:
        by = Principal(kind=PrincipalKind.OPERATOR, name="anna")
        ledger.governor.answer(
            CredentialGrant(kind=PrincipalKind.AGENT, name="claude", token=token), by
        )
    return token
