"""`interlock simulate`: the page, the JSON, the exit code, and what is said to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import interlock
from interlock import Interlock, TokenUsage
from interlock.cli.call.exit_code import ExitCode

BLOCKING = """\
[destructive-ops.rules]
"git.push-force" = "block"
[steps]
max-uncertainty-percent = 40
"""
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def story(place: str, empty_place: Path) -> Path:
    """Record two runs, one that went well, and write two policies beside them."""
    with Interlock.open(place) as opened:
        for finished in (True, False):
            run = opened.run("push it")
            if finished:
                run.stopped("All is done: I fixed the bug.")
            run.command("git push --force origin topic")
            run.step(uncertainty_score=0.5)
            run.usage(TokenUsage(input_tokens=1_000, output_tokens=100), model=MODEL)
            run.usage(TokenUsage(input_tokens=10), model="nobody-knows")
            if finished:
                run.finish()
    (empty_place / "new.toml").write_text(BLOCKING)
    (empty_place / "mild.toml").write_text(BLOCKING.replace("block", "warn"))
    return empty_place


def test_two_policies_stand_side_by_side(story: Path) -> None:
    text = interlock("simulate", "--policy", "new.toml", "--compare", "mild.toml").stdout

    assert "mild.toml → new.toml" in text
    assert "2 answers change: 2 stricter, 0 looser" in text
    assert "call   warn    deny       2  stricter" in text
    assert "git.push-force" in text


def test_another_policy_is_held_against_the_one_that_counts(story: Path) -> None:
    text = interlock("simulate", "--policy", "new.toml").stdout
    rows = [" ".join(line.split()) for line in text.splitlines()]

    assert rows[0] == "current policy → new.toml"
    assert "decided again: 2 calls, 2 steps, 1 end of a turn, in 2 runs" in rows
    assert "confirmations asked, of 2 calls 2 0" in rows
    assert not any(row.startswith("per 1,000 calls") for row in rows)
    assert "calls denied 0 2" in rows
    assert "1 run that went well would be interrupted" in rows
    assert "that nobody judged, of 1 0 1" in rows
    assert "tokens after the first pause or stop 0 2,220" in rows
    assert "of runs that went well: work held up 0 1,110" in rows
    assert "tokens without a known price 0 20" in rows
    assert any(row.startswith("what they cost $0.00 $0.0") for row in rows)
    assert any(row.startswith("interlock explain ") and " --record " in row for row in rows)


def test_what_holds_no_more_is_told(story: Path) -> None:
    mild = interlock("simulate", "--policy", "mild.toml", "--compare", "new.toml", "--json")
    back = "[steps]\nmax-uncertainty-percent = 80\n"
    (story / "back.toml").write_text(back)

    text = interlock("simulate", "--policy", "back.toml", "--compare", "new.toml").stdout

    assert json.loads(mild.stdout)["looser"] == 2
    assert "1 run that went well would be interrupted no more" in text
    assert "looser" in text


def test_without_another_policy_it_is_held_against_the_record(story: Path) -> None:
    result = interlock("simulate", "--fail-on-change")

    assert result.exit_code == ExitCode.ALLOWED
    assert "recorded → current policy" in result.stdout
    assert "no answer changes" in result.stdout


@pytest.mark.parametrize("compare", [[], ["--compare", "recorded"]])
def test_a_change_can_fail_the_call(story: Path, compare: list[str]) -> None:
    words = ["simulate", "--policy", "new.toml", *compare]

    assert interlock(*words).exit_code == ExitCode.ALLOWED
    assert interlock(*words, "--fail-on-change").exit_code == ExitCode.CHANGED == 6


def test_its_json_has_every_figure(story: Path) -> None:
    told = json.loads(interlock("simulate", "--policy", "new.toml", "--json").stdout)

    figures = ("runs", "answers", "changed", "stricter", "looser", "interrupted")
    assert [told[name] for name in figures] == snapshot([2, 5, 4, 4, 0, 1])
    assert told["after"]["policy"] == "new.toml"
    assert told["examples"][0]["rules"] == ["git.push-force"]


def test_one_run_is_enough(story: Path) -> None:
    run = json.loads(interlock("runs", "--json").stdout)[0]["id"]

    told = json.loads(interlock("simulate", "--run", run, "--json").stdout)

    assert told["runs"] == 1


def test_a_session_is_named_as_audits_name_it(story: Path) -> None:
    name = "entire:shop:0cf3db51-5580-4747-9273-e2acff2ba566"
    rows = [
        {"run_id": each, "steps": [{"role": "assistant", "text": "Done."}]} for each in (name, "b")
    ]
    (story / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    for named in ("0cf3db51", "entire:shop:0c", name):
        told = json.loads(interlock("simulate", "runs.jsonl", "--run", named, "--json").stdout)
        assert told["runs"] == 1


def test_histories_are_read_instead_of_the_ledger_and_along_with_it(
    story: Path, place: str
) -> None:
    rows = [{"run_id": "a1", "steps": [{"role": "assistant", "text": "Done."}]}, {"steps": 3}]
    (story / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    alone = interlock("simulate", "runs.jsonl")
    both = interlock("simulate", "runs.jsonl", "--ledger", place, "--json")
    named = interlock("simulate", "runs.jsonl", "--run", "b1")

    assert "1 end of a turn, in 1 run" in alone.stdout
    assert "runs.jsonl:2: `steps` is not a list" in alone.stdout
    assert json.loads(both.stdout)["runs"] == 3
    assert named.exit_code == ExitCode.MISUSED
    assert "there is no run `b1`" in named.stderr


def test_of_many_calls_it_says_how_often_it_would_ask(story: Path) -> None:
    call = {"role": "assistant", "tool": "Bash", "content": "", "result": "done"}
    lines = ["git push --force origin topic", *(f"ls {number}" for number in range(999))]
    steps = [{**call, "args": json.dumps({"command": line})} for line in lines]
    (story / "runs.jsonl").write_text(json.dumps({"run_id": 1, "steps": steps}) + "\n")

    text = interlock("simulate", "runs.jsonl", "--policy", "new.toml").stdout
    rows = [" ".join(line.split()) for line in text.splitlines()]

    assert "confirmations asked, of 1,000 calls 1 0" in rows
    assert "per 1,000 calls 1.0 0.0" in rows


def test_where_nothing_was_asked_it_says_so(place: str, empty_place: Path) -> None:
    with Interlock.open(place) as opened:
        opened.run("nothing")

    assert "there is nothing to decide again" in interlock("simulate").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--since", "2999-01-01"], "lies ahead: nothing has happened since"),
        (["--since", "banana"], "is no moment: expected a date such as `2026-11-01`"),
        (["--run", "nobody"], "there is no run `nobody`"),
        (["--run", ""], "`--run` is empty"),
        (["--policy", "broken.toml"], "the policy does not load"),
        (["--compare", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["nowhere"], "there is no such file or folder"),
        (["empty"], "there is no history in `empty` that can be read"),
        (["--ledger", "none.db"], "there is no ledger at `none.db`"),
    ],
    ids=lambda each: each if isinstance(each, str) else each[-1],
)
def test_bad_input_is_told_and_nothing_is_written(story: Path, words: list[str], said: str) -> None:
    (story / "empty").mkdir()
    (story / "broken.toml").write_text("[steps]\nmax-step = 3\n")
    before = sorted(story.rglob("*"))

    result = interlock("simulate", *words)

    assert result.exit_code in (ExitCode.FAILED, ExitCode.MISUSED)
    assert said in " ".join(result.stderr.split())
    assert sorted(story.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "more"), [(["simulate"], "--policy FILE"), (["calibrate"], "--outcomes FILE")]
)
def test_without_a_ledger_it_names_the_histories_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], more: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", "/nowhere")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "my claude"))
    missing = [*words, "--ledger", "none.db"]
    without = interlock(*missing)
    (tmp_path / "my claude" / "projects").mkdir(parents=True)
    result = interlock(*missing)

    assert "there is no ledger at `none.db`" in without.stderr
    assert "what clients have left" not in without.stderr
    told = f"is read by `interlock {words[0]} ~/'my claude/projects' {more}`"
    assert told in " ".join(result.stderr.split())


def test_a_history_of_another_place_is_named_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "away"))
    (tmp_path / "away" / "projects").mkdir(parents=True)

    said = interlock("simulate", "--ledger", "none.db").stderr
    assert f"interlock simulate {tmp_path}/away/projects" in " ".join(said.split())


@pytest.mark.parametrize("since", ["1h", "2020-01-01", "2020-01-01T10:30"])
def test_a_moment_is_a_date_or_how_long_ago(story: Path, since: str) -> None:
    told = json.loads(interlock("simulate", "--since", since, "--json").stdout)

    assert told["runs"] == 2
