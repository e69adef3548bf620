"""The first page, the runs, and what is searched for."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.asked_scenes import POLICY, everything_asked, hostile_run, ran
from console.audit_scenes import an_audit
from console.run_scenes import HOSTILE, Scene, a_run_in_a_loop, scene, told_step
from interlock import settings
from interlock.model.budget import TokenUsage
from interlock.server.console.overview_page import overview_page
from interlock.server.console.runs_page import runs_page
from interlock.server.console.search_page import keys_page, search_page
from interlock.service.audits import AuditFolder
from interlock.views.audit_view import went_on
from interlock.views.day_view import DayTally, today_at
from interlock.views.overview_view import MOST_RUNS, MOST_WAITING
from interlock.views.units import tokens


@pytest.fixture
def at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Scene]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with scene(tmp_path, POLICY) as opened:
        yield opened


def overview_of(at_work: Scene, **query: str) -> str:
    return at_work.html(at_work.page(overview_page, {}, **query))


def test_a_new_ledger_says_how_to_begin(at_work: Scene):
    html = overview_of(at_work)

    assert "No runs yet. Start with one of these." in html
    assert "interlock init" in html


def test_the_heading_is_the_news(at_work: Scene):
    everything_asked(at_work)

    html = overview_of(at_work)

    heading = "5 questions wait for you. 2 agents are at work, 3 wait for an answer, 1 is paused."
    assert f"<h1>{heading}</h1>" in html
    assert html.index("Waiting for you") < html.index("Open runs") < html.index("Today")


def test_children_stand_below_their_parents(at_work: Scene):
    everything_asked(at_work)

    html = overview_of(at_work)

    parent = html.index("Replace the in-memory session store with Redis</a>")
    child = html.index("Write tests for expiry and rotation</a>")
    assert 0 < child - parent < 3000
    assert '<div class="child">' in html


def test_the_day_is_added_up(at_work: Scene):
    run = at_work.interlock.run("a task", agent="coder", project="shop")
    ran(at_work, run, "ls")
    run.command("git push --force")
    run.command("rm -rf /")
    run.usage(TokenUsage(input_tokens=900, output_tokens=100), model="claude-opus-4-1")
    run.usage(TokenUsage(input_tokens=5, output_tokens=5), model="nobody-knows")

    today = today_at(at_work.desk.ledger, at_work.clock.now())

    assert (today.answers, today.asked, today.blocked) == (3, 1, 1)
    assert (today.tokens, today.unpriced_tokens, today.projects) == (1010, 10, 1)
    assert today.cost_micros > 0
    assert today.is_whole


def test_what_was_not_burnt_is_an_estimate_by_the_last_audit(at_work: Scene):
    a_run_in_a_loop(at_work)
    today = today_at(at_work.desk.ledger, at_work.clock.now())
    assert today.held == 1
    assert 9_000 < today.held_pace < 20_000
    html = overview_of(at_work)
    assert "runs held" in html
    assert "not burnt" not in html
    folder = AuditFolder(settings.current_audit_folder())
    folder.keep(replace(an_audit(moments=()), id="1"))
    assert "not burnt" not in overview_of(at_work)

    folder.keep(replace(an_audit(), id="2"))

    html = overview_of(at_work)
    assert f"~{tokens(today.held_pace * went_on(an_audit()))}" in html
    assert "an estimate: the tokens per step of 1 run when held" in html
    assert "50 steps, as long as such sessions went on in the last audit" in html


def test_another_day_begins_at_nothing_and_is_found_by_halving(at_work: Scene):
    run = at_work.interlock.run("a task", agent="coder")
    ran(at_work, run, "ls")
    rows, tally = at_work.desk.ledger.rows, DayTally()
    assert tally.today(rows, at_work.clock.now()).answers == 1
    at_work.clock.forward(seconds=86_400)
    assert tally.today(rows, at_work.clock.now()).answers == 0

    ran(at_work, run, "ls -l")
    ran(at_work, run, "ls -a")

    assert tally.today(rows, at_work.clock.now()).answers == 2
    assert DayTally().today(rows, at_work.clock.now()).answers == 2


def test_the_tail_can_leave_out_what_was_just_allowed(at_work: Scene):
    run = at_work.interlock.run("a task", agent="coder")
    ran(at_work, run, "ls")
    run.command("git push --force")

    everything, refused = overview_of(at_work), overview_of(at_work, tail="not-allowed")

    assert "<code>ls</code>" in everything.partition("Answers, live")[2]
    assert "<code>ls</code>" not in refused.partition("Answers, live")[2]
    assert "<code>git push --force</code>" in refused.partition("Answers, live")[2]


def test_very_many_are_cut_and_the_rest_is_linked(at_work: Scene):
    for number in range(MOST_RUNS + 4):
        run = at_work.interlock.run(f"task {number}", agent="coder")
        run.command(f"git push --force origin topic-{number}")

    html = overview_of(at_work)

    assert f"and {MOST_RUNS + 4 - MOST_WAITING} more" in html
    assert '<a href="/runs?state=open">and 4 more</a>' in html


@pytest.mark.parametrize("part", ["news", "waits", "work", "today", "tail", "nav"])
def test_each_part_of_the_first_page_is_rendered_alone(at_work: Scene, part: str):
    everything_asked(at_work)

    assert "<html" not in at_work.html(at_work.page(overview_page, {}), part)


def test_runs_are_filtered_by_links_and_found_by_a_text(at_work: Scene):
    everything_asked(at_work)

    def tasks(**query: str) -> int:
        return at_work.html(at_work.page(runs_page, {}, **query)).count("<tr data-row")

    assert tasks() == 6
    assert tasks(state="open") == 6
    assert tasks(state="waiting") == 3
    assert tasks(state="paused") == 1
    assert tasks(state="finished") == 0
    assert tasks(state="nonsense", page="-3") == 6
    assert tasks(agent="coder") == 2
    assert tasks(project="warehouse") == 1
    assert tasks(q="REDIS") == 1
    assert tasks(q="nothing has this") == 0


def test_many_runs_have_several_pages(at_work: Scene):
    for number in range(53):
        at_work.interlock.run(f"task {number}", agent="coder").finish()

    first = at_work.html(at_work.page(runs_page, {}))
    second = at_work.html(at_work.page(runs_page, {}, page="2"))

    assert (first.count("<tr data-row"), second.count("<tr data-row")) == (50, 3)
    assert 'href="/runs?page=2">Older' in first
    assert 'href="/runs">Newer' in second


def test_a_run_without_a_price_has_no_cost_of_nothing(at_work: Scene):
    run = at_work.interlock.run("a task", agent="coder")
    run.usage(TokenUsage(input_tokens=900, output_tokens=100), model="nobody-knows")

    html = at_work.html(at_work.page(runs_page, {}))

    assert 'title="1,000 tokens have no known price">unknown' in html


def test_a_text_is_found_in_runs_questions_and_answers(at_work: Scene):
    everything_asked(at_work)

    html = at_work.html(at_work.page(search_page, {}, q="redis"))

    assert "Replace the in-memory session store with Redis" in html
    assert html.count("<code>redis-cli FLUSHALL</code>") == 2
    assert "redis-cli --scan" in html


def test_what_is_nowhere_is_said_to_be_nowhere(at_work: Scene):
    assert "Nothing was found" in at_work.html(at_work.page(search_page, {}, q="no such thing"))
    assert "Nothing was found" not in at_work.html(at_work.page(search_page, {}))


def test_whatever_names_a_run_is_text(at_work: Scene):
    run = hostile_run(at_work)
    told_step(at_work, run, 500)

    for html in (
        overview_of(at_work),
        at_work.html(at_work.page(runs_page, {})),
        at_work.html(at_work.page(search_page, {}, q="cat")),
        at_work.html(at_work.page(search_page, {}, q=HOSTILE[:60])),
    ):
        assert "<script>alert" not in html
        assert "<img" not in html
        assert "<b onclick" not in html
        assert "sevenseven" not in html
        assert not {"\u202e", "\x1b", "\u2028", "\x00"} & set(html)


def test_the_keys_are_listed(at_work: Scene):
    assert "approve or resume, then Enter to confirm" in at_work.html(at_work.page(keys_page, {}))
