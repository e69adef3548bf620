"""`interlock replay`, `verify` and `ledger`: whether the record can be relied on."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import apsw
import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from cli.asking import as_person, interlock, make_operator, program
from cli.ledgers import Story, a_run, a_story, told
from interlock import Decision, Interlock
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Work
from interlock.model.events import ActionJudged
from interlock.settings import current_ledger_places
from service.ledgers import PASSPHRASE
from terminal import own_terminal
from warm_python import run_python


def test_every_answer_is_the_same_again(any_place: str) -> None:
    story = a_story(any_place)

    result = interlock("replay", story.checkout)

    assert result.exit_code == 0
    assert result.stdout == "4 answers, all identical\n"


def test_a_run_without_answers_has_nothing_to_replay(story: Story) -> None:
    assert interlock("replay", story.changelog).stdout == "0 answers\n"


def test_the_first_answer_that_differs_is_shown_field_by_field(story: Story) -> None:
    _record_wrongly(story)

    result = interlock("replay", story.checkout)

    assert result.exit_code == 1
    assert told(result.stdout, story) == snapshot("""\
1 of 5 answers come out differently; the first is record 12

  decision
    recorded allow
    now      block
""")
    outcome = json.loads(interlock("replay", story.checkout, "--json").stdout)
    assert (outcome["answers"], outcome["different"]) == (5, 1)
    assert outcome["first"]["differences"][0] == snapshot(
        {"field": "decision", "recorded": "allow", "now": "block"}
    )


def test_a_good_ledger_holds(any_place: str) -> None:
    story = a_story(any_place)

    everything, one = interlock("verify"), interlock("verify", story.checkout)

    assert (everything.exit_code, one.exit_code) == (0, 0)
    assert everything.stdout == snapshot(
        "holds  18 records in 4 chains, 6 seals checked with the local key\n"
    )
    assert one.stdout == snapshot(
        "holds  11 records in 1 chain, 1 seal checked with the local key\n"
    )


@pytest.mark.parametrize("arguments", [[], ["RUN"]], ids=["all", "one"])
def test_a_changed_record_is_named(arguments: list[str], story: Story) -> None:
    _tamper(story.place, story.checkout, 3)

    result = interlock("verify", *[story.checkout for _ in arguments])

    assert result.exit_code == 1
    assert told(result.stdout, story).splitlines()[0] == snapshot(
        "bad  run `<checkout..........................>`, record 3:"
        " its bytes do not have the hash stored beside them"
    )
    faults = json.loads(interlock("verify", "--json").stdout)["faults"]
    assert f"run `{story.checkout}`, record 3: " in faults[0]


def test_keys_in_another_folder_are_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("INTERLOCK_CONFIG_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "INTERLOCK_LEDGER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    Interlock.open().close()
    with Interlock.open() as opened:
        opened.run("work").finish()
    moved = {"INTERLOCK_CONFIG_HOME": tmp_path / "moved", "XDG_CONFIG_HOME": tmp_path / "other"}
    for variable, folder in moved.items():
        monkeypatch.setenv(variable, str(folder))
        result = interlock("runs")
        monkeypatch.delenv(variable)

        assert result.exit_code == 1
        assert f"the key of {tmp_path}/.local/state/interlock/ledger.db is in" in result.stderr
        assert f"is in {tmp_path}/.config/interlock/keys, and `{variable}` says" in result.stderr
        assert f"to look in {folder}" in result.stderr
    assert interlock("runs").exit_code == 0
    next((tmp_path / ".config/interlock/keys").glob("*.key")).unlink()
    gone = interlock("runs").stderr
    assert "which is not at " in gone
    assert "names that folder" not in gone


def test_a_lost_key_is_told_and_not_replaced(story: Story, tmp_path: Path) -> None:
    [key] = (tmp_path / "config" / "keys").glob("*.key")
    key.unlink()

    result = interlock("verify")

    assert result.exit_code == 1
    assert f"cannot be opened without its key, which is not at {key}" in result.stderr.replace(
        "\n", ""
    )
    assert not key.exists()


def test_a_ledger_at_a_glance(story: Story, tmp_path: Path) -> None:
    make_operator(story.place)

    shown = interlock("ledger", "info").stdout.replace(str(tmp_path), "FOLDER")

    lines = [
        line for line in shown.splitlines() if not line.startswith(("  id", "  kind", "  size"))
    ]
    assert lines == snapshot(
        [
            "FOLDER/state/ledger.db",
            "  runs     3, of which 1 running",
            "  records  20",
            "  waiting  1 question for a person",
            "  decide   anna",
        ]
    )


def test_a_ledger_at_a_glance_as_json(any_place: str) -> None:
    a_story(any_place)

    info = json.loads(interlock("ledger", "info", "--json").stdout)

    assert (info["runs"], info["running"], info["records"]) == (3, 1, 18)
    assert info["is_safe"]
    assert info["bytes"] > 10_000
    assert info["pending_approvals"] == 1


def test_a_copy_is_made_while_others_write(story: Story, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    with Interlock.open(story.place) as agent:
        run = a_run(agent, "go on")
        result = interlock("ledger", "backup", str(target))
        run.finish()

    assert result.exit_code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    copied = json.loads(interlock("runs", "--json", "--ledger", str(target)).stdout)
    assert {each["id"] for each in copied} >= {story.checkout, run.id}
    assert interlock("verify", "--ledger", str(target)).exit_code == 0


def test_a_copy_replaces_nothing(story: Story, tmp_path: Path) -> None:
    target = tmp_path / "precious.txt"
    target.write_text("precious")

    result = interlock("ledger", "backup", str(target))

    assert result.exit_code == 1
    assert "exists already" in result.stderr
    assert target.read_text() == "precious"


def test_a_database_is_copied_by_its_own_tools(postgres_ledger_url: str, place: str) -> None:
    a_story(postgres_ledger_url)

    result = interlock("ledger", "backup", "copy.db", "--ledger", postgres_ledger_url)

    assert result.exit_code == 1
    assert "pg_dump" in result.stderr


def test_a_damaged_file_says_the_way_out_and_the_way_works(story: Story, tmp_path: Path) -> None:
    target = tmp_path / "saved.db"
    file = Path(story.place)
    content = bytearray(file.read_bytes())
    page = _root_of(story.place, "runs")
    content[page : page + 4096] = os.urandom(4096)
    file.write_bytes(content)

    refused = interlock("runs")
    saved = interlock("ledger", "repair", story.place, str(target))

    assert refused.exit_code == 1
    assert "`interlock ledger repair`" in refused.stderr
    assert saved.exit_code == 0
    assert bytes(content) == file.read_bytes()
    assert interlock("verify", "--ledger", str(target)).exit_code == 0


def test_a_lost_key_is_missed_until_somebody_recovered_without_it(
    story: Story, tmp_path: Path
) -> None:
    make_operator(story.place)
    [key] = current_ledger_places().keys.glob("*.key")
    key.unlink()

    refused = interlock("ledger", "repair", story.place, str(tmp_path / "refused.db"))
    missed = interlock("runs")
    saved = tmp_path / "saved.db"
    with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
        type_in(PASSPHRASE)
        recovered = interlock("ledger", "repair", story.place, str(saved))

    assert refused.exit_code == 1
    assert "without its key" in missed.stderr
    assert recovered.exit_code == 0
    assert "it is sealed with a new one" in recovered.stdout
    assert key.exists()
    assert interlock("verify", "--ledger", str(saved)).exit_code == 0


def test_an_export_is_one_line_per_record(any_place: str) -> None:
    story = a_story(any_place)

    everything = interlock("ledger", "export").stdout.splitlines()
    one = interlock("ledger", "export", story.history[:15]).stdout.splitlines()

    assert len(everything) == 18
    assert [json.loads(line)["record"]["seq"] for line in one] == [1, 2, 3, 4]
    assert set(one) < set(everything)


def test_an_export_that_nobody_reads_ends_quietly(story: Story) -> None:
    ours, theirs = os.pipe()
    os.close(ours)

    result = run_python(*program(["ledger", "export"]), stdout=theirs)

    os.close(theirs)
    assert result.returncode == 1
    assert result.stderr == b""


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs"],
        ["show", "RUN"],
        ["approvals"],
        ["approvals", "--all"],
        ["approve", "APPROVAL", "--always"],
        ["deny", "APPROVAL"],
        ["budget", "run/RUN"],
        ["budget", "run/RUN", "tokens", "1"],
        ["replay", "RUN"],
        ["verify"],
        ["verify", "RUN"],
        ["ledger", "info"],
        ["operator", "list"],
        ["operator", "add", "bob"],
        ["token", "create", "bob", "--role", "agent"],
        ["operator", "passphrase"],
        ["ledger", "backup", "copy.db"],
        ["ledger", "repair", "PLACE", "saved.db"],
    ],
    ids=" ".join,
)
def test_every_command_speaks_json(arguments: list[str], story: Story) -> None:
    names = {"RUN": story.checkout, "APPROVAL": story.approval, "PLACE": story.place}
    for name, value in names.items():
        arguments = [argument.replace(name, value) for argument in arguments]

    result = as_person(*arguments, "--json")

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert json.loads(result.stdout) is not None


def _record_wrongly(story: Story) -> None:
    """Write an answer that no gate would have given."""
    with Interlock.open(story.place) as ledger:
        rows = ledger.ledger.rows
        records = [decoded(row.body) for row in rows.records(story.checkout)]
        blocked = next(
            each
            for each in records
            if isinstance(each.event, ActionJudged) and each.event.decision is Decision.BLOCK
        )
        assert isinstance(blocked.event, ActionJudged)
        event = replace(blocked.event, decision=Decision.ALLOW)
        ledger.ledger.execute(
            Work(
                lambda desk: desk.append(story.checkout, event, at=blocked.at, by=blocked.by),
                locks=(f"run/{story.checkout}",),
            )
        )


def _root_of(place: str, table: str) -> int:
    """Return where the first page of a table begins in the file."""
    connection = apsw.Connection(place)
    try:
        [(number, size)] = connection.execute(
            "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?",
            (table,),
        ).fetchall()
    finally:
        connection.close()
    assert isinstance(number, int)
    assert size == 4096
    return (number - 1) * 4096


def _tamper(place: str, run_id: str, seq: int) -> None:
    """Change a record behind the ledger's back."""
    connection = apsw.Connection(place)
    try:
        found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        triggers = found.fetchall()
        for name, _ in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute(
            "UPDATE records SET body = CAST(replace(CAST(body AS TEXT), 'exit_code', 'exit_kode')"
            " AS BLOB) WHERE run_id = ? AND seq = ?",
            (run_id, seq),
        )
        for _, made in triggers:
            connection.execute(str(made))
    finally:
        connection.close()
