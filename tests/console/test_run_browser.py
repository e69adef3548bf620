"""A run, its records, the policy and the loop in a real browser, by whoever may act on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from console.browsers import Desktop, barriers, barriers_in_looks, overhang
from console.run_scenes import Scene, a_hostile_run, a_run_in_a_loop
from effort import SOAK
from interlock import Run
from interlock.loop.control_loop import ControlLoop
from server.served import Served
from service.ledgers import HandClock, run_elsewhere

TRY = "/policy/try?line=git%20push%20--force%20origin%20main"


@pytest.fixture(scope="module")
def told(shared: Served) -> Scene:
    """The desk of the server, for scenes; its clock is the real one, and goes by itself."""
    return Scene(shared.desk, HandClock(), shared.tokens["ada"])


@pytest.fixture(scope="module")
def run(told: Scene) -> Run:
    return a_run_in_a_loop(told)


def last(told: Scene, run: Run, kind: str) -> str:
    rows = told.desk.ledger.rows.records(run.id)
    seq = next(row.seq for row in reversed(rows) if row.kind == kind)
    return f"/runs/{run.id}/records/{seq}"


def test_a_run_is_looked_at_with_its_charts_and_folds(ada: Desktop, run: Run) -> None:
    ada.go(f"/runs/{run.id}")

    page = ada.page
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Make the CSV importer accept a byte-order mark"
    )
    expect(page.locator("figure svg.chart")).to_have_count(3)
    fold = page.locator("details[data-fold]")
    expect(fold.locator("code").first).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("code").first).to_be_visible()


def test_an_answer_of_the_strip_leads_to_its_step(ada: Desktop, run: Run) -> None:
    ada.go(f"/runs/{run.id}")

    ada.page.locator('svg a[href="#step-14"]').click()

    assert ada.page.url.endswith("#step-14")
    expect(ada.page.locator("#step-14")).to_be_in_viewport()


def test_checks_and_replays_where_somebody_looks(ada: Desktop, told: Scene, run: Run) -> None:
    ada.go(f"/runs/{run.id}")
    trust = ada.page.locator("#trust")

    trust.get_by_role("button", name="Verify").click()
    expect(trust).to_contain_text("intact, verified just now")
    trust.get_by_role("button", name="Replay").click()
    expect(trust).to_contain_text("answers the same")

    ada.go(last(told, run, "action-judged"))
    expect(ada.page.locator("#record")).to_contain_text("same answer")
    ada.page.get_by_role("button", name="Replay this answer").click()
    expect(ada.page.locator("#record")).to_contain_text("same answer, just now")


def test_stops_a_run_and_lets_it_go_on(ada: Desktop, told: Scene) -> None:
    other = run_elsewhere(told.interlock, "another one")
    ada.go(f"/runs/{other.id}")

    ada.page.get_by_label("Why must it stop?").fill("wrong branch")
    ada.page.get_by_role("button", name="Stop run").click()
    expect(ada.page.locator(".notice")).to_contain_text("wrong branch")
    ada.page.get_by_label("Why may it resume?").fill("it was the right one")
    ada.page.get_by_role("button", name="Resume run").click()
    expect(ada.page.locator(".head")).to_contain_text("at work")


def test_changes_a_limit(ada: Desktop, told: Scene) -> None:
    other = run_elsewhere(told.interlock, "another one")
    ada.go(f"/runs/{other.id}")

    ada.page.get_by_text("Change a limit").click()
    ada.page.get_by_label("Of this run").select_option("cost-usd")
    ada.page.get_by_label("At most").fill("9")
    ada.page.get_by_role("button", name="Set the limit").click()

    expect(ada.page.locator(".budget")).to_contain_text("of $9.00")


def test_new_records_arrive_while_somebody_looks(ada: Desktop, told: Scene) -> None:
    other = run_elsewhere(told.interlock, "another one")
    ada.go(f"/runs/{other.id}")
    ada.is_live()

    other.command("make all")

    expect(ada.page.locator("[data-part=timeline]")).to_contain_text("make all")


def test_tries_a_command(ada: Desktop) -> None:
    ada.go("/policy")

    ada.page.get_by_label("A command, as an agent would send it").fill(
        "git push --force origin main"
    )
    ada.page.get_by_role("button", name="Check", exact=True).click()

    expect(ada.page.locator("[data-part=try]")).to_contain_text("a person must approve first")


def test_speaks_to_the_loop(ada: Desktop) -> None:
    ada.go("/loop")
    ada.page.get_by_label("New note").fill("look at <b>this</b>")
    ada.page.get_by_role("button", name="Add").click()
    expect(ada.page.locator("#notes")).to_contain_text("look at <b>this</b>")

    ada.page.get_by_label("Reason").fill("something is odd")
    ada.page.get_by_role("button", name="Freeze the loop").click()
    expect(ada.page.get_by_role("alert")).to_contain_text("something is odd")
    ada.page.get_by_label("Why may it resume?").fill("it was nothing")
    ada.page.get_by_role("button", name="Unfreeze the loop").click()
    expect(ada.page.get_by_role("alert")).to_have_count(0)


def test_every_page_can_be_used_by_everybody(
    ada: Desktop, told: Scene, run: Run, tmp_path: Path
) -> None:
    hostile = a_hostile_run(told)
    ControlLoop(told.desk.governor, folder=tmp_path / "loop").tick()
    runs = [f"/runs/{each.id}" for each in (run, hostile, run_elsewhere(told.interlock, "new"))]
    records = [
        last(told, run, "action-judged"),
        last(told, run, "step-judged"),
        last(told, hostile, "action-judged"),
        f"/runs/{run.id}/records/1",
    ]
    pages = (*runs, *records, "/policy", TRY, "/policy/history", "/loop")
    for turn, each in enumerate(pages):
        ada.go(each)
        assert (each, barriers_in_looks(ada.page, turn)) == (each, [])


def test_the_longest_page_is_no_wider_than_the_window(ada: Desktop) -> None:
    ada.go("/policy?show=all")

    assert overhang(ada.page) == []
    # Thousands of elements, all of which stand in other pages too.
    if SOAK:
        assert barriers(ada.page) == []
