"""The console as a person has it: in a browser, by mouse and by keys, live."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect

from console.browsers import Desktop, barriers, barriers_in_looks, desktop, overhang, set_look
from interlock import Run
from interlock.model.approval import Approval, ApprovalState
from interlock.model.short_code import code_of
from patience import LONG_ENOUGH_S
from server.served import Served
from service.ledgers import run_elsewhere

PUSH = "git push --force origin release/2.4"


@pytest.fixture
def run(shared: Served) -> Run:
    return run_elsewhere(
        shared.desk.operations, "Cut release 2.4.0", agent="release-bot", project="shop"
    )


@pytest.fixture(autouse=True)
def nothing_waits(shared: Served) -> Generator[None]:
    """Leave no question behind for the next test."""
    yield
    for each in shared.desk.operations.approvals():
        shared.desk.operations.deny(each.id, token=shared.tokens["ada"])


def asked(run: Run, line: str = PUSH) -> str:
    approval = run.command(line).approval_id
    assert approval is not None
    return approval


def state_of(shared: Served, approval: str) -> ApprovalState:
    found = shared.desk.ledger.rows.approval(approval)
    assert found is not None
    return found.state


def test_nobody_sees_anything_before_signing_in(stranger: Desktop, run: Run):
    approval = asked(run)
    stranger.go(f"/inbox/{approval}")

    expect(stranger.page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert PUSH not in stranger.page.content()
    assert barriers(stranger.page) == []


def test_a_wrong_passphrase_is_refused(stranger: Desktop):
    stranger.go("/login")
    stranger.page.get_by_label("Name").fill("ada")
    stranger.page.get_by_label("Passphrase").fill("wrong")
    stranger.page.get_by_role("button", name="Sign in", exact=True).click()

    expect(stranger.page.get_by_role("alert")).to_contain_text("Sign-in failed.")
    assert barriers(stranger.page) == []


@pytest.mark.parametrize("as_", ["viewer", "operator"])
def test_a_token_opens_the_console(stranger: Desktop, shared: Served, as_: str):
    sign_in_by_token(stranger, shared.tokens[as_])

    expect(stranger.page.locator("header.top")).to_contain_text(as_)


def test_the_token_of_an_agent_opens_nothing(stranger: Desktop, shared: Served):
    sign_in_by_token(stranger, shared.tokens["agent"])

    expect(stranger.page.get_by_role("alert")).to_contain_text("Sign-in failed.")


def sign_in_by_token(opened: Desktop, token: str) -> None:
    opened.go("/login")
    opened.page.get_by_text("Sign in with a token").click()
    opened.page.get_by_label("Token").fill(token)
    opened.page.get_by_role("button", name="Sign in with this token").click()


def test_a_question_arrives_while_somebody_looks(ada: Desktop, run: Run):
    ada.go("/")
    ada.is_live()
    expect(ada.page.locator("[data-part=waits]")).to_contain_text("No question to answer")

    asked(run)

    expect(ada.page.locator("[data-part=waits]")).to_contain_text(PUSH)
    expect(ada.page.locator("[data-waiting]")).to_have_attribute("data-waiting", "1")
    expect(ada.page).to_have_title("(1) Overview · Interlock")
    expect(ada.page.locator("[data-announce]")).to_have_text("1 question waits for you.")


def test_a_question_has_the_code_that_the_terminal_shows(ada: Desktop, run: Run):
    approval = asked(run)
    code = code_of(approval)
    ada.go("/inbox")

    expect(ada.page.locator(f'[data-row="{approval}"] code').first).to_have_text(code)
    expect(ada.page.get_by_text(f"interlock approve {code}")).to_be_visible()
    ada.go(f"/search?q={code.lower()}")
    expect(ada.page.locator(f'a[href="/inbox/{approval}"]')).to_be_visible()
    ada.go(f"/inbox/{code}")
    expect(ada.page.locator(f'[data-question="{approval}"]')).to_be_visible()


def test_the_first_run_takes_the_place_of_how_to_begin(browser: Browser, served: Served):
    with desktop(browser, served) as opened:
        opened.sign_in()
        opened.is_live()
        expect(opened.page.get_by_role("heading", level=1)).to_contain_text("No runs yet")

        run_elsewhere(served.desk.operations, "the first one", agent="coder")

        expect(opened.page.get_by_role("link", name="the first one")).to_be_visible()


def test_nothing_moves_under_the_pointer(ada: Desktop, run: Run):
    first = asked(run)
    ada.go("/")
    ada.is_live()
    ada.page.locator(f"[data-row='{first}']").hover()

    asked(run, "git push --force origin main")

    button = ada.page.locator("[data-part=waits] [data-new]")
    expect(button).to_contain_text("new")
    assert ada.page.locator("[data-part=waits] [data-row]").count() == 1
    button.click()
    expect(ada.page.locator("[data-part=waits] [data-row]")).to_have_count(2)


@pytest.mark.parametrize(
    ("button", "state"), [("Approve once", ApprovalState.GRANTED), ("Deny", ApprovalState.DENIED)]
)
def test_decides_by_mouse(
    ada: Desktop, shared: Served, run: Run, button: str, state: ApprovalState
):
    approval = asked(run)
    ada.go(f"/inbox/{approval}")

    ada.page.get_by_label("Note").fill("it is the release branch")
    ada.page.get_by_role("button", name=button).click()

    expect(ada.page.get_by_text("No question to answer")).to_be_visible()
    found = shared.desk.ledger.rows.approval(approval)
    assert found is not None
    assert (found.state, found.note, found.decided_by) == (
        state,
        "it is the release branch",
        "operator:ada",
    )


@pytest.mark.parametrize(
    ("keys", "state"), [("a", ApprovalState.GRANTED), ("d", ApprovalState.DENIED)]
)
def test_decides_by_keys_one_arms_and_enter_decides(
    ada: Desktop, shared: Served, run: Run, keys: str, state: ApprovalState
):
    approval = asked(run)
    ada.go(f"/inbox/{approval}")

    ada.page.keyboard.press(keys)
    expect(ada.page.locator("[data-armed]")).to_contain_text(PUSH)
    assert state_of(shared, approval) is ApprovalState.PENDING
    ada.page.keyboard.press("Escape")
    expect(ada.page.locator("[data-armed]")).to_have_count(0)
    ada.page.keyboard.press("Enter")
    ada.page.keyboard.press(keys)
    ada.page.keyboard.press("Enter")

    expect(ada.page.get_by_text("No question to answer")).to_be_visible()
    assert state_of(shared, approval) is state


def test_enter_in_the_note_decides_nothing(ada: Desktop, shared: Served, run: Run):
    approval = asked(run)
    ada.go(f"/inbox/{approval}")

    ada.page.keyboard.press("n")
    ada.page.keyboard.type("a")
    ada.page.keyboard.press("Enter")

    expect(ada.page.get_by_label("Note")).to_have_value("a")
    assert state_of(shared, approval) is ApprovalState.PENDING


def test_an_answer_wakes_whoever_waits_for_it(ada: Desktop, shared: Served, run: Run):
    approval = asked(run)
    woken: list[tuple[float, Approval]] = []

    def wait() -> None:
        found = shared.desk.operations.wait(approval, wait_s=LONG_ENOUGH_S)
        woken.append((time.monotonic(), found))

    waiter = threading.Thread(target=wait)
    waiter.start()
    ada.go(f"/inbox/{approval}")
    ada.page.get_by_role("button", name="Approve once").click()
    expect(ada.page.get_by_text("No question to answer")).to_be_visible()
    waiter.join(LONG_ENOUGH_S)

    assert [each.state for _, each in woken] == [ApprovalState.GRANTED]


def test_what_was_decided_elsewhere_takes_the_place_of_the_form(
    ada: Desktop, shared: Served, run: Run
):
    approval = asked(run)
    ada.go(f"/inbox/{approval}")
    ada.is_live()

    shared.desk.operations.deny(approval, token=shared.tokens["ada"], note="use a lease")

    expect(ada.page.locator("[data-ended]")).to_contain_text("use a lease")
    expect(ada.page.locator("[data-decide]")).to_have_count(0)


def test_a_second_answer_is_told_that_there_was_a_first(ada: Desktop, shared: Served, run: Run):
    approval = asked(run)
    ada.page.route("**/events*", lambda route: route.abort())
    ada.go(f"/inbox/{approval}")
    shared.desk.operations.deny(approval, token=shared.tokens["ada"])

    ada.page.get_by_role("button", name="Approve once").click()

    expect(ada.page.get_by_role("alert")).to_contain_text("already")
    assert state_of(shared, approval) is ApprovalState.DENIED
    ada.complaints.clear()  # the browser tells of the stream that was cut and of the 409


def test_an_answer_that_does_not_arrive_can_be_sent_again(ada: Desktop, shared: Served, run: Run):
    approval = asked(run)
    ada.go(f"/inbox/{approval}")
    ada.page.route("**/inbox/*", lambda route: route.abort())
    ada.page.get_by_label("Note").fill("keep me")
    ada.page.get_by_role("button", name="Deny").click()
    expect(ada.page.get_by_role("alert")).to_contain_text("Your answer did not arrive.")
    expect(ada.page.get_by_label("Note")).to_have_value("keep me")

    ada.page.unroute("**/inbox/*")
    ada.page.get_by_role("button", name="Send again").click()

    expect(ada.page.get_by_text("No question to answer")).to_be_visible()
    assert state_of(shared, approval) is ApprovalState.DENIED
    ada.complaints.clear()  # the browser tells of the request that failed


def test_moves_between_pages_by_keys(ada: Desktop):
    ada.go("/")
    for keys, heading in (("gr", "Runs"), ("?", "Keys"), ("gi", "Nothing waits for you")):
        for key in keys:
            ada.page.keyboard.press(key)
        expect(ada.page.get_by_role("heading", name=heading, exact=True).first).to_be_visible()


def test_a_slash_leads_to_the_field_that_is_written_into(ada: Desktop):
    ada.go("/policy")
    ada.page.keyboard.press("/")

    expect(ada.page.get_by_label("A command, as an agent would send it")).to_be_focused()


def test_keys_can_be_switched_off(ada: Desktop):
    ada.go("/keys")
    ada.page.get_by_label("Use single-letter keys").uncheck()
    ada.page.get_by_role("button", name="Save").click()
    expect(ada.page.get_by_label("Use single-letter keys")).not_to_be_checked()

    ada.page.keyboard.press("g")
    ada.page.keyboard.press("r")

    expect(ada.page).to_have_url(re.compile("/keys$"))


def test_the_theme_is_kept_where_somebody_chose_one(ada: Desktop):
    ada.go("/runs")

    ada.page.get_by_role("button", name="Dark", exact=True).click()

    expect(ada.page).to_have_url(re.compile("/runs$"))
    expect(ada.page.locator("html")).to_have_attribute("data-theme", "dark")


def test_signing_out_ends_the_session(ada: Desktop):
    ada.go("/")
    ada.page.get_by_role("button", name="Sign out").click()
    expect(ada.page.get_by_role("heading", name="Sign in")).to_be_visible()

    ada.go("/inbox")

    expect(ada.page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_list_and_question_are_two_pages_on_a_phone(browser: Browser, shared: Served, run: Run):
    approval = asked(run)
    with desktop(browser, shared, phone=True) as phone:
        phone.sign_in()
        phone.go("/inbox")
        expect(phone.page.get_by_role("heading", name="1 waits for you", level=1)).to_be_visible()
        expect(phone.page.locator(".detail")).to_be_hidden()

        phone.page.get_by_role("link", name=PUSH).click()
        expect(phone.page.get_by_role("heading", name="May it run this command?")).to_be_visible()
        button = phone.page.get_by_role("button", name="Approve once")
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        button.click()

        expect(phone.page.get_by_text("No question to answer")).to_be_visible()
        assert state_of(shared, approval) is ApprovalState.GRANTED
        assert phone.complaints == []


def test_reads_and_decides_without_script(browser: Browser, shared: Served, run: Run):
    approval = asked(run)
    with desktop(browser, shared, script=False) as plain:
        plain.sign_in()
        plain.go(f"/inbox/{approval}")

        plain.page.get_by_role("button", name="Deny").click()

        expect(plain.page.get_by_text("No question to answer")).to_be_visible()
    assert state_of(shared, approval) is ApprovalState.DENIED


def test_what_an_agent_writes_is_inert(ada: Desktop, shared: Served):
    words = (
        "<script>document.title='taken'</script><img src=x onerror=alert(1)> \u202egnp.exe\x1b[2J"
    )
    run = run_elsewhere(shared.desk.operations, words, agent="<b>triage</b>")
    approval = asked(run, f"git push --force origin '{words}'")

    for path in (
        "/",
        f"/inbox/{approval}",
        "/runs",
        f"/runs/{run.id}",
        "/search?q=push",
        "/policy",
    ):
        ada.go(path)
        assert ada.page.title() != "taken"
        assert ada.page.locator("img").count() == 0
        assert "\u202e" not in ada.page.content()


def test_no_page_is_wider_than_a_phone(ada: Desktop, shared: Served):
    run = run_elsewhere(shared.desk.operations, "Cut release 2.4.0, " * 20, agent="release-bot")
    asked(run, f"{PUSH}-{'long-' * 40}")
    set_look(ada.page, phone=True)

    for path in (f"/runs/{run.id}", "/policy", "/search?q=Cut"):
        ada.go(path)
        assert (path, overhang(ada.page)) == (path, [])


def test_every_page_can_be_used_by_everybody(ada: Desktop, shared: Served):
    run = run_elsewhere(shared.desk.operations, "Cut release 2.4.0, " * 20, agent="release-bot")
    approval = asked(run, f"{PUSH}-{'long-' * 40}")
    pages = ("/", "/inbox", "/inbox?show=decided", "/runs", "/search?q=git", "/keys", "/nowhere")
    for turn, path in enumerate((*pages, f"/inbox/{approval}")):
        ada.go(path)
        assert (path, barriers_in_looks(ada.page, turn)) == (path, [])
    ada.complaints.clear()  # the browser tells of the 404
