"""`interlock init` and `interlock policy`, as a person types them."""

from __future__ import annotations

import stat
import sys
import tomllib
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from interlock.cli.command_group import cli
from interlock.cli.commands.policy_commands import test_lines as lines_about
from interlock.cli.text.render import plain_text
from interlock.policy.actions import conditions
from interlock.service.policies.rule_tests import RuleTest
from policy.files import DEFAULTS


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository to stand in, with a user of its own."""
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def user_file(project: Path) -> Path:
    return project.parent / "config" / "policy.toml"


def test_init_writes_a_users_policy_that_only_the_owner_can_read(project: Path):
    result = run("init")

    wrote, *_, last = result.output.splitlines()
    assert (result.exit_code, wrote) == (0, f"WROTE  {user_file(project)}")
    assert "preset balanced (from the user's file)" in result.output
    assert "5,000 tool calls" in result.output
    assert last.startswith("next  interlock status")
    assert len(user_file(project).read_text().splitlines()) <= 40
    assert stat.S_IMODE(user_file(project).stat().st_mode) == 0o600


def test_init_writes_a_fresh_key_each_time(project: Path):
    texts: list[str] = []
    for _ in range(2):
        assert run("init", "--user", "--force").exit_code == 0
        texts.append(user_file(project).read_text())

    assert texts[0] != texts[1]


def test_init_writes_a_projects_policy(project: Path):
    result = run("init", "--project")

    assert result.exit_code == 0
    assert result.output.startswith(f"WROTE  {project / 'interlock.toml'}\n")
    assert run("policy", "show").exit_code == 0


@pytest.mark.parametrize("whose", ["--user", "--project"])
@pytest.mark.parametrize("more", [(), ("--full",)], ids=["short", "full"])
def test_init_writes_the_preset_that_is_wanted(project: Path, whose: str, more: tuple[str, ...]):
    value = msgspec.json.decode(run("init", whose, "--preset", "strict", *more, "--json").output)

    assert value["wrote"] in (str(user_file(project)), str(project / "interlock.toml"))
    assert value["policy"]["preset"] == "strict"
    assert value["policy"]["limits"]["wall_time_s"] == 28_800
    assert (value["policy_refused"], value["next"]) == (None, "interlock status")


def test_init_writes_no_project_policy_that_would_loosen(project: Path):
    result = run("init", "--project", "--preset", "observe")

    assert result.exit_code == 2
    assert "`observe` is milder than `balanced`, which your own policy has" in result.output
    assert not (project / "interlock.toml").exists()


@pytest.mark.usefixtures("project")
def test_init_of_a_project_keeps_the_preset_of_the_user():
    run("init", "--preset", "strict")
    run("init", "--project")

    [line] = [each for each in run("policy", "show").output.splitlines() if "  preset  " in each]
    assert line.split() == ["user", "preset", '"strict"']


def test_init_does_not_replace_a_file_unasked(project: Path):
    (project / "interlock.toml").write_text("# mine\n")
    result = run("init", "--project")

    assert result.exit_code == 1
    assert result.output == (
        f"Error: `{project / 'interlock.toml'}` exists; pass --force to replace it\n"
    )
    assert (project / "interlock.toml").read_text() == "# mine\n"


@pytest.mark.usefixtures("project")
def test_a_policy_fresh_from_init_counts_like_the_defaults():
    before = msgspec.json.decode(run("policy", "show", "--json").output)
    run("init", "--project")
    after = msgspec.json.decode(run("policy", "show", "--json").output)

    assert after == before


def test_show_tells_each_value_with_its_origin(project: Path):
    (project / "interlock.toml").write_text("[diff-size]\nthreshold = 120\n")
    lines = run("policy", "show").output.splitlines()

    [threshold] = [line for line in lines if "diff-size.threshold" in line]
    assert threshold.split() == ["project", "diff-size.threshold", "120"]
    assert len({line.index("diff-size") for line in lines if " diff-size." in line}) == 1
    assert lines[-1].startswith("hash ")


def test_show_folds_a_long_list_so_that_it_is_still_one(project: Path):
    words = [f"word {number}" for number in range(90)]
    (project / "interlock.toml").write_text(f"[tool-names]\nstores = {['...', *words]}\n")
    shown = run("policy", "show").output
    text = shown.split("tool-names.stores")[1].split("]")[0] + "]"

    assert set(words) <= set(tomllib.loads(f"stores = {text.strip()}")["stores"])
    assert max(map(len, shown.splitlines())) < 200
    assert max(map(len, text.splitlines())) <= 100


def test_show_never_tells_the_fingerprint_key(project: Path):
    run("init", "--user")
    [line] = [
        line for line in user_file(project).read_text().splitlines() if line.startswith("finger")
    ]
    key = line.split('"')[1]

    assert len(key) == 64
    assert key not in run("policy", "show").output
    assert key not in run("policy", "show", "--json").output


def test_show_as_json_has_every_value_with_its_origin(project: Path):
    (project / "interlock.toml").write_text("[diff-size]\nthreshold = 120\n")
    shown = msgspec.json.decode(run("policy", "show", "--json").output)

    assert {"key": "diff-size.threshold", "value": 120, "origin": "project"} in shown["values"]
    assert len(shown["hash"]) == 64


def test_show_lists_every_complaint_about_a_policy_that_does_not_load(project: Path):
    (project / "interlock.toml").write_text("[diff-size]\nthreshold = 900\nenabledd = true\n")
    result = run("policy", "show")

    assert result.exit_code == 1
    assert "diff-size.enabledd: unknown key; did you mean `enabled`?" in result.output
    assert "diff-size.threshold: `900` is looser than `300` of defaults.toml" in result.output


def test_schema_prints_a_json_schema():
    schema = msgspec.json.decode(run("policy", "schema").output)

    assert jsonschema_rs.meta.is_valid(schema)


RULE = """\
[[rules]]
id = "no-deploys"
when = 'commands.exists(c, c.program == "deploy")'
decision = "block"
message = "no"
match = ["deploy now"]
not_match = ["echo deploy"]
"""


@pytest.mark.large
def test_test_runs_the_examples_of_all_rules_and_tells_how_many_there_were(project: Path):
    (project / "interlock.toml").write_text(RULE)
    result = run("policy", "test", "--json")
    report = msgspec.json.decode(result.output)
    lines = run("policy", "test").output.splitlines()

    assert report["examples"] > report["rules"] > 1
    assert "no-deploys" not in {failure["rule"] for failure in report["failures"]}
    assert result.exit_code == (1 if report["failed"] else 0)
    assert len(lines) == report["failed"] + 2
    assert lines[0] == "yours: 1 rule, 2 examples"
    assert report["own"] == {"rules": 1, "examples": 2}
    assert lines[-1] == (
        f"{report['examples']} examples of {report['rules']} rules, {report['failed']} failed"
    )


def test_an_example_of_an_edit_needs_no_content_and_a_rule_is_shown_with_its_condition(
    project: Path,
):
    (project / "interlock.toml").write_text("""\
[[rules]]
id = "migrations"
when = 'path.startsWith("migrations/")'
decision = "warn"
message = "the database team looks at migrations"
match = [{ path = "migrations/0002.sql" }]
not_match = [{ path = "app.py", content = "x" }, { tool = "Read", params = { a = 1 } }]
""")

    assert run("rules", "show", "migrations").output == snapshot("""\
migrations
  decision warn (medium)
  why      the database team looks at migrations
  when     path.startsWith("migrations/")
  matches  {"path":"migrations/0002.sql"}
  ignores  {"path":"app.py","content":"x"}
           {"tool":"Read","params":{"a":1}}
""")


def test_without_the_extra_for_conditions_that_is_told_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    (project / "interlock.toml").write_text(RULE + RULE.replace("no-deploys", "no-more"))
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    conditions._environment.cache_clear()
    result = run("policy", "show")

    assert result.exit_code == 1
    assert result.output.count("needs the cel extra") == 1


def test_the_key_that_init_writes_stands_apart_and_says_what_it_is_for(project: Path):
    run("init")
    written = user_file(project).read_text()

    assert "\n\n# Tells one secret from another on the record" in written


def test_test_names_an_example_that_does_not_hold(project: Path):
    (project / "interlock.toml").write_text(RULE.replace("echo deploy", "sudo deploy"))
    result = run("policy", "test")

    assert result.exit_code == 1
    assert "no-deploys" in result.output
    assert "`sudo deploy` matches" in result.output


@pytest.mark.parametrize("expected", [True, False], ids=["silent", "speaking"])
def test_a_failed_example_is_told_with_what_was_expected(expected: bool):
    test = RuleTest(rule="r", example="x\x1b", expected=expected, fired=not expected)
    lines = list(lines_about([test], [test]))

    wanted = "should match" if expected else "should not match"
    assert plain_text(lines[0]) == f"failed  r {wanted} `x\\x1b`"


def test_the_example_in_the_defaults_holds(project: Path):
    comment = DEFAULTS.rpartition("example:\n#\n")[2]
    (project / "interlock.toml").write_text(comment.replace("#   ", ""))

    assert "\nproject  rules.no-deploys " in run("policy", "show").output
