"""`interlock approvals`, `approve` and `deny`: who decides, once, and what is left to a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import agent_token, as_person, interlock, make_operator
from cli.control import repeats_itself
from cli.ledgers import Story, a_question, a_run, told
from interlock import CommandAction, EditAction, Finding, Interlock, ToolAction, load_policy
from interlock.cli.call import terminal
from interlock.model.verdict import Decision
from interlock.policy.gates.judgement import judge
from interlock.service.policies.policy_files import default_policy
from interlock.values import Action, Severity
from interlock.views.inbox import recommendation
from interlock.views.question_view import asked_rule
from secret_generator import from_template
from service.ledgers import PASSPHRASE
from terminal import own_terminal

PUSH = "git push --force origin topic"


def test_the_inbox_tells_what_is_asked_and_why(story: Story) -> None:
    assert told(interlock("approvals").stdout, story) == snapshot("""\
<appr>  asked 6 min ago, expires in 53 min
  asks     git push --force origin topic
  why      git.push-force: overwrites what others see on the remote
  run      <chec> (claude: fix the checkout: totals are off by one cent)

next  interlock setup  makes you the person who approves
""")


def test_an_empty_inbox_is_told(place: str) -> None:
    Interlock.open(place).close()

    assert interlock("approvals").stdout == snapshot("""\
nothing waits for you

next  interlock setup  makes you the person who approves
""")
    assert json.loads(interlock("approvals", "--json").stdout) == []


def test_an_operator_decides_with_a_passphrase(story: Story) -> None:
    result = as_person("approve", story.approval[:20], "--reason", "go on")

    assert result.exit_code == 0
    assert result.stdout == snapshot("""\
APPROVED  it may happen once
  git push --force origin topic
  next     an agent that still waits goes on by itself; otherwise tell it `go on` in the same
           session, which `claude --continue` opens again
""")
    [approval] = json.loads(interlock("approvals", "--all", "--json").stdout)
    assert (approval["state"], approval["note"]) == ("granted", "go on")
    assert approval["decided_by"] == "operator:anna"


def test_deciding_makes_nobody_an_operator(story: Story) -> None:
    result = interlock("approve", story.approval)

    assert result.exit_code == 1
    assert result.stderr == snapshot(
        "Error: only an operator may do this, and this ledger has none: a person makes the first"
        " one with `interlock setup`, at a terminal\n"
    )
    assert json.loads(interlock("ledger", "info", "--json").stdout)["operators"] == []


def test_one_passphrase_serves_for_several_questions(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "push it")
        asked = [run.command(f"git push --force origin {name}") for name in ("a", "b")]
        ids = [each.approval_id or "" for each in asked]
        make_operator(place)
        with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
            type_in(PASSPHRASE)
            result = interlock("approve", *ids, ids[0], "--json")

        assert [each["approval"]["id"] for each in json.loads(result.stdout)] == ids
        assert [run.command(f"git push --force origin {name}").allowed for name in "ab"] == [
            True,
            True,
        ]


def test_what_was_approved_may_happen_once(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "push it")
        asked = run.command(PUSH)
        as_person("approve", asked.approval_id or "")

        assert run.command(PUSH).allowed
        assert not run.command(PUSH).allowed


def test_what_was_denied_stays_denied(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "push it")
        asked = run.command(PUSH)

        result = as_person("deny", asked.approval_id or "", "--reason", "not on a friday")

        assert result.exit_code == 0
        assert result.stdout == snapshot("""\
DENIED  it must not happen
  git push --force origin topic
  next     nothing to do: where the agent makes the same call again, it is denied
""")
        assert run.command(PUSH).decision is Decision.BLOCK


def test_the_second_to_decide_is_told_who_was_first(story: Story) -> None:
    assert as_person("deny", story.approval).exit_code == 0

    result = as_person("approve", story.approval)

    assert result.exit_code == 1
    assert told(result.stderr, story) == snapshot(
        "Error: approval `<approval..........................>` was denied already, by anna\n"
    )


def test_an_agent_can_never_decide(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    make_operator(story.place)
    monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(story.place))

    for arguments in (
        ["approve", story.approval],
        ["deny", story.approval],
        ["budget", f"run/{story.checkout}", "tokens", "none"],
        ["operator", "add", "mallory"],
        ["token", "create", "mallory", "--role", "agent"],
        ["operator", "revoke", "anna"],
        ["operator", "passphrase"],
    ):
        result = as_person(*arguments)
        assert result.exit_code == 1
        assert "`INTERLOCK_TOKEN` is set, so an agent calls this" in result.stderr


def test_without_a_terminal_nobody_decides(story: Story, tmp_path: Path) -> None:
    make_operator(story.place)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(terminal, "DEVICE", tmp_path / "none")
        result = interlock("approve", story.approval, stdin=f"{PASSPHRASE}\n")

    assert result.exit_code == 1
    assert result.stderr == snapshot(
        "Error: there is no terminal to type a passphrase at, and it is taken from nowhere else: a"
        " person calls this in a terminal of their own\n"
    )


def test_in_a_database_it_is_the_same(postgres_ledger_url: str, place: str) -> None:
    with pytest.MonkeyPatch.context() as patched, a_question(postgres_ledger_url) as approval:
        patched.setenv("INTERLOCK_LEDGER", postgres_ledger_url)
        refused = interlock("approve", approval)
        granted = as_person("approve", approval)

    assert (refused.exit_code, granted.exit_code) == (1, 0)
    assert "this ledger has none" in refused.stderr


def test_deciding_from_another_folder_changes_no_policy(story: Story, empty_place: Path) -> None:
    (empty_place / "interlock.toml").write_text("[diff-size]\nthreshold = 3\n")

    as_person("approve", story.approval)

    exported = interlock("ledger", "export").stdout
    assert exported.count('"type":"policy-adopted"') == 1


def test_an_unknown_approval_is_told_where_to_look(story: Story) -> None:
    result = as_person("approve", "nonsense")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: there is no approval `nonsense`: look at `interlock approvals`\n"
    )


def test_always_prints_a_rule_and_applies_nothing(story: Story, tmp_path: Path) -> None:
    result = as_person("approve", story.approval, "--always")

    assert result.stdout.replace(str(tmp_path), "FOLDER") == snapshot("""\
APPROVED  it may happen once
  git push --force origin topic
  next     an agent that still waits goes on by itself; otherwise tell it `go on` in the same
           session, which `claude --continue` opens again

To be asked no more about exactly this, add to FOLDER/config/policy.toml; nothing was changed:

  [destructive-ops]
  accepted-commands = ["...", "git push --force origin topic"]

Then have it count: interlock policy adopt
""")
    assert not (tmp_path / "config" / "policy.toml").exists()


@pytest.mark.parametrize(
    "action",
    [
        CommandAction(command=PUSH),
        CommandAction(command=PUSH, cwd='/home/ada/it\'s \\ a "web"'),
        CommandAction(command="git push --force origin main && git stash drop"),
        ToolAction(name="Bash", params={"command": PUSH, "cwd": "/srv/web"}),
        ToolAction(name="Bash", params={"command": f"git status\n{PUSH}"}),
        EditAction(path="~/.bashrc", content="alias ll=ls\n"),
    ],
    ids=["one rule", "in a folder", "several rules", "a call", "two lines", "a protected path"],
)
def test_under_a_recommended_rule_nobody_is_asked(action: Action, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    asked = judge(action, default_policy())
    file.write_text(_recommended(action, tmp_path))

    policy = load_policy(user=file, project=None)

    assert asked.decision is Decision.REQUIRE_CONFIRMATION
    assert judge(action, policy).decision is Decision.WARN
    other = CommandAction(command="git push --force origin another")
    assert judge(other, policy).decision is Decision.REQUIRE_CONFIRMATION


def _recommended(action: Action, folder: Path) -> str:
    """Have an agent ask about an action, and return the rule for it."""
    user = folder / "asking.toml"
    asks = 'decision = "require-confirmation"'
    user.write_text(f"[diff-size]\n{asks}\n[secrets]\n{asks}\n")
    policy = load_policy(user=user, project=None)
    with Interlock.open(":memory:", policy=policy) as interlock:
        interlock.run("ask").ask(action)
        [approval] = interlock.approvals()
        return asked_rule(interlock.ledger.rows, approval)


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (CommandAction(command="git push --force origin $X"), "only known when it runs"),
        (
            EditAction(path="notes.txt", content="line\n" * 5000),
            '`diff-size.decision = "warn"` would count for everything that this gate looks at',
        ),
        (
            CommandAction(command=f"{PUSH}; echo {from_template('ghp_[A-Za-z0-9]{36}', 1)}"),
            "the command holds a credential, which is not recorded",
        ),
    ],
    ids=["a variable", "a large change", "a credential"],
)
def test_where_no_rule_is_narrow_that_is_told(action: Action, why: str, tmp_path: Path) -> None:
    rule = _recommended(action, tmp_path)

    assert rule.startswith("# no rule is as narrow as this question: ")
    assert why in rule


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
    file.write_text(recommendation([finding], None, default_policy()))

    assert load_policy(user=file, project=None).hash


def test_always_adds_nothing_where_no_rule_is_narrow(place: str) -> None:
    with Interlock.open(place) as agent:
        asked = agent.run("push it").command("git push --force origin $X").approval_id
        shown = as_person("approve", str(asked), "--always").stdout

    assert shown.endswith(
        "\nNo rule is as narrow as this question: a part of the command is only known when it"
        " runs\n"
        "A person is asked about it each time.\n"
    )
    assert "policy adopt" not in shown


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ("claude-code", "`go on` in the same session, which `claude --continue` opens again"),
        ("codex", "otherwise tell it `go on` in the same session"),
        ("interlock-run", "`interlock run` waits for your answer and goes on by itself"),
        ("python", "the agent makes the same call again, in the same run"),
    ],
)
def test_whoever_approves_is_told_what_the_agent_does(client: str, said: str, place: str) -> None:
    with Interlock.open(place) as agent:
        run = agent.run("push it", client=client)
        first, second = [run.command(f"{PUSH}-{name}").approval_id for name in "ab"]
        assert first is not None
        assert second is not None
        approved, denied = as_person("approve", first), as_person("deny", second)

    assert said in " ".join(approved.stdout.split())
    assert "where the agent makes the same call again, it is denied" in denied.stdout


def test_whoever_lets_a_run_go_on_is_told_that_it_asks_again(place: str) -> None:
    with Interlock.open(place) as agent:
        run = agent.run("repeat it", client="python")
        approved = as_person("approve", str(repeats_itself(run).approval_id))

    assert "the agent asks for its next step again, and goes on" in approved.stdout


def test_the_folder_of_a_command_is_shown(place: str, empty_place: Path) -> None:
    with Interlock.open(place) as agent:
        run = agent.run("push it", workspace=empty_place)
        run.command(PUSH)
        run.command(PUSH, cwd="/srv/shop")
        shown = interlock("approvals").stdout
        make_operator(place)
        as_listed = interlock("approvals").stdout

    assert shown.count("  in       ") == 2
    assert "interlock approve CODE lets it happen once, interlock deny CODE refuses\n" in as_listed
    assert "  in       /srv/shop\n" in shown
    assert str(empty_place) in shown.replace("\n           ", "")
