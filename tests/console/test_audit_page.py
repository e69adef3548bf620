"""The page of an audit in the console, and the file that needs nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from console.audit_scenes import (
    a_hostile_audit,
    a_long_audit,
    a_moment,
    an_audit,
    an_empty_audit,
    marked,
)
from console.browsers import Desktop, barriers, barriers_in_looks, desktop, fresh
from interlock import settings
from interlock.model.audit import Audit, Mark, MomentKind
from interlock.server.markup.audit_document import html_report
from interlock.service.audits import AuditFolder
from server.served import Served

AUDITS = {
    "usual": an_audit,
    "hostile": a_hostile_audit,
    "long": a_long_audit,
    "empty": an_empty_audit,
}
TURNS = {name: turn for turn, name in enumerate(AUDITS)}
"""The look in which an audit is examined first, as a file; the page has the opposite."""


@pytest.fixture
def folder(shared: Served) -> Generator[AuditFolder]:
    """The audits of the server, none at first: they stand where the environment says."""
    place = settings.current_audit_folder()
    yield AuditFolder(place)
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def page(browser: Browser) -> Generator[Page]:
    """A page that the tests of the file use one after the other."""
    with closing(fresh(browser)) as context:
        yield context.new_page()


@pytest.fixture(scope="module")
def plain_page(browser: Browser) -> Generator[Page]:
    """The same without scripts."""
    with closing(fresh(browser, script=False)) as context:
        yield context.new_page()


def written(folder: Path, audit: Audit, name: str = "audit.html") -> Path:
    path = folder / name
    path.write_text(html_report(audit, {}), encoding="utf-8")
    return path


_COLOURS = """() => {
  const { backgroundColor, color } = getComputedStyle(document.body);
  return [backgroundColor, color];
}"""
_CUT = """[...document.querySelectorAll("main *")].filter((each) =>
  getComputedStyle(each).textOverflow === "ellipsis" && each.scrollWidth > each.clientWidth
).length"""


# The file.


@pytest.mark.parametrize("name", AUDITS)
def test_the_file_asks_for_nothing_and_everybody_can_use_it(
    browser: Browser, tmp_path: Path, name: str
):
    path = written(tmp_path, AUDITS[name]())
    asked: list[str] = []

    def note(route: Route) -> None:
        asked.append(route.request.url)
        route.continue_()

    with closing(fresh(browser)) as context:
        context.route("**/*", note)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())

        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert barriers_in_looks(page, TURNS[name]) == []
        assert set(asked) == {path.as_uri()}


def test_the_file_says_what_the_console_says_without_a_script(plain_page: Page, tmp_path: Path):
    plain_page.goto(written(tmp_path, an_audit()).as_uri())

    expect(plain_page.get_by_role("heading", level=1)).to_have_text(
        "In 6 weeks your agents did 148 things that nobody was asked about and somebody should"
        " have been. 1 session in 9 went round in circles."
    )
    expect(plain_page.locator(".figures")).to_contain_text("would have been denied")
    expect(plain_page.locator(".rank > li")).to_have_count(10)
    expect(plain_page.locator("form, script, img, button")).to_have_count(0)
    plain_page.get_by_text("2 more calls").click()
    expect(plain_page.get_by_text("git reset --hard HEAD~3")).to_be_visible()


def test_a_moment_of_the_file_leads_into_its_transcript(page: Page, tmp_path: Path):
    transcript = tmp_path / "a session #1 with a ? and 100 %.jsonl"
    transcript.write_text('{"type": "user"}\n')
    moments = (
        a_moment(1, path=str(transcript), line=7),
        a_moment(2, path="~/elsewhere.jsonl"),
    )
    page.goto(written(tmp_path, an_audit(moments=moments, counts={})).as_uri())

    links = page.locator(".rank a")
    expect(links).to_have_count(1)
    expect(links).to_have_text(f"{transcript}:7")
    assert links.get_attribute("href") == transcript.as_uri()
    links.click()
    expect(page.get_by_text('"type": "user"')).to_be_visible()


def test_a_mark_is_shown_in_the_file(page: Page, tmp_path: Path):
    audit = an_audit()
    first = audit.moments[0]
    path = tmp_path / "audit.html"
    path.write_text(html_report(audit, {first.id: marked(first, Mark.WRONG)}), encoding="utf-8")
    page.goto(path.as_uri())

    expect(page.locator(f"#m-{first.id}")).to_contain_text("marked wrong by ada")
    expect(page.get_by_text("1 of 1 marked wrong")).to_be_visible()


def test_what_stands_in_a_transcript_is_inert(browser: Browser, tmp_path: Path):
    said: list[str] = []

    def note(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    with closing(fresh(browser)) as context:
        page = context.new_page()
        page.on("dialog", note)
        page.goto(written(tmp_path, a_hostile_audit()).as_uri())

        assert said == []
        assert page.title() == "Audit of 15 November 2026, 09:12 UTC · Interlock"
        assert page.locator("script").count() == 0
        assert not {"\u202e", "\u2028", "\x1b"} & set(page.content())
        expect(page.locator(".odd").first).to_have_text("U+202E")


@pytest.mark.parametrize("name", ["usual", "long"])
def test_paper_has_everything_in_ink(browser: Browser, tmp_path: Path, name: str):
    with closing(fresh(browser, scheme="dark")) as context:
        page = context.new_page()
        page.goto(written(tmp_path, AUDITS[name]()).as_uri())
        folded = page.locator("details.rest").first.locator("li").last
        expect(folded).to_be_hidden()
        page.emulate_media(media="print", color_scheme="dark")
        expect(folded).to_be_visible()
        assert page.evaluate(_COLOURS) == ["rgb(255, 255, 255)", "rgb(27, 27, 25)"]
        assert page.evaluate(_CUT) == 0
        for place in page.locator(".folder").all()[:30]:
            expect(place).to_be_visible()
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_long_commands_are_folded_and_open_in_place(plain_page: Page, tmp_path: Path):
    long = f"echo {'word ' * 80}the-end"
    plain_page.goto(written(tmp_path, an_audit(moments=(a_moment(1, text=long),))).as_uri())

    expect(plain_page.get_by_text("the-end")).to_be_hidden()
    plain_page.locator(".rank summary").click()
    expect(plain_page.get_by_text("the-end")).to_be_visible()


def test_what_was_only_counted_is_said_in_the_file(page: Page, tmp_path: Path):
    kept_none = an_audit(moments=(), counts=dict.fromkeys(MomentKind, 3), began_at=None, rules={})
    page.goto(written(tmp_path, kept_none).as_uri())

    expect(page.get_by_text("what it would have answered, had it been")).to_be_visible()
    for text in ("3 other calls", "3 other secrets", "3 more loops", "3 other turns"):
        expect(page.get_by_text(text).first).to_be_visible()
    assert barriers(page) == []


def test_of_loops_that_are_not_kept_it_does_not_promise_to_show_them():
    loop = a_moment(7, kind=MomentKind.LOOP, decision="pause", steps=9)
    eight = tuple(replace(loop, id=f"0{number}") for number in range(8))

    kept, counted = (
        html_report(an_audit(moments=eight, counts={MomentKind.LOOP: count}), {})
        for count in (8, 300)
    )

    assert "3 more loops, 9.80 M tokens. Show all 8" in kept
    assert "295 more loops, 9.80 M tokens. Show 3; the others are only counted" in counted


def test_the_file_needs_nothing_beyond_the_base_install(tmp_path: Path):
    kept = AuditFolder(tmp_path).keep(an_audit())
    code = f"""
import sys
for name in ("jinja2", "markupsafe", "starlette", "uvicorn"):
    sys.modules[name] = None
import pathlib, msgspec
from interlock.model.audit import Audit
from interlock.server.markup.audit_document import html_report
audit = msgspec.json.decode(pathlib.Path({str(kept)!r}).read_bytes(), type=Audit)
print(html_report(audit, {{}}), end="")
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == html_report(an_audit(), {})


# The console.


def test_without_an_audit_the_page_says_how_to_make_one(ada: Desktop):
    ada.go("/")
    for key in "ga":
        ada.page.keyboard.press(key)

    expect(ada.page.get_by_role("heading", name="No audit yet.")).to_be_visible()
    expect(ada.page.locator("pre").first).to_have_text("interlock audit")
    expect(ada.page.get_by_text("nothing leaves this machine")).to_be_visible()
    expect(ada.page.locator("nav [aria-current]")).to_have_text("Audit")
    assert barriers(ada.page) == []


def test_the_latest_audit_is_shown_and_others_are_listed(ada: Desktop, folder: AuditFolder):
    folder.keep(an_audit())
    folder.keep(replace(an_audit(runs=3, looped=3), id="20261001T091200-aaaa"))
    ada.go("/audit")

    expect(ada.page).to_have_title("Audit · Interlock")
    expect(ada.page.get_by_role("heading", level=1)).to_contain_text("1 session in 9")
    expect(ada.page.get_by_text("this server reads no histories")).to_be_visible()
    expect(ada.page.locator(".rank a")).to_have_count(0)
    ada.page.locator('a[href="/audit/20261001T091200-aaaa"]').click()
    expect(ada.page.get_by_role("heading", level=1)).to_contain_text("Every session")
    ada.go("/audit/20261115")
    expect(ada.page.get_by_role("heading", level=1)).to_contain_text("1 session in 9")


def test_an_audit_that_is_not_kept_is_no_page(shared: Served, folder: AuditFolder):
    folder.keep(an_audit())

    assert shared.get("/audit/2030").status == 404
    assert shared.get("/audit", as_="agent").status == 403


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_marks_by_clicking(browser: Browser, shared: Served, folder: AuditFolder, script: bool):
    audit = an_audit()
    folder.keep(audit)
    first = audit.moments[0]
    with desktop(browser, shared, script=script) as opened:
        opened.sign_in_by_cookie(shared)
        opened.go("/audit")
        row = opened.page.locator(f"#m-{first.id}")
        row.get_by_role("button", name="Wrong").click()

        expect(row).to_contain_text("marked wrong by ada")
        expect(row.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "true")
        expect(opened.page.get_by_text("1 of 1 marked wrong")).to_be_visible()
        expect(opened.page).to_have_url(re.compile(f"/audit/{audit.id}#m-{first.id}$"))
        row.get_by_role("button", name="Right").click()
        expect(row).to_contain_text("marked right by ada")

        assert opened.complaints == []
    given = folder.marks()[first.id]
    assert (given.mark, given.by, given.moment) == (Mark.RIGHT, "ada", first)


def test_every_kind_of_moment_can_be_marked(ada: Desktop, folder: AuditFolder):
    audit = an_audit()
    folder.keep(audit)
    ada.go("/audit")

    for kind in MomentKind:
        moment = next(each for each in audit.moments if each.kind is kind)
        row = ada.page.locator(f"#m-{moment.id}")
        row.get_by_role("button", name="Right").click()
        expect(row).to_contain_text("marked right by ada")

    assert {each.moment.kind for each in folder.marks().values()} == set(MomentKind)


def test_only_an_operator_marks(stranger: Desktop, shared: Served, folder: AuditFolder):
    audit = an_audit()
    folder.keep(audit)
    stranger.sign_in_by_cookie(shared, "viewer")
    stranger.go("/audit")

    expect(stranger.page.locator(".rank > li")).to_have_count(10)
    expect(stranger.page.get_by_role("button", name="Right")).to_have_count(0)
    for as_ in ("viewer", "agent"):
        assert shared.post("/audit/marks", b"mark=right", as_=as_).status == 403
    assert folder.marks() == {}


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"mark": "maybe"}, "expected `right`, `wrong` or `none`"),
        ({"mark": "right", "moment": "nothing"}, "no kept audit has a moment"),
        ({"mark": "right", "moment": ""}, "no kept audit has a moment"),
    ],
)
def test_a_form_that_says_nothing_known_marks_nothing(
    ada: Desktop, folder: AuditFolder, form: dict[str, str], told: str
):
    folder.keep(an_audit())
    ada.go("/audit")
    ada.page.evaluate(
        """(fields) => {
          const form = document.querySelector(".marks");
          for (const [name, value] of Object.entries(fields)) {
            for (const each of form.querySelectorAll(`[name=${name}]`)) each.value = value;
          }
        }""",
        form,
    )
    ada.page.locator(".marks button").first.click()

    expect(ada.page.get_by_text(told.replace("`", ""))).to_be_visible()
    assert folder.marks() == {}
    ada.complaints.clear()  # the browser tells of the 400


def test_a_form_of_another_session_marks_nothing(ada: Desktop, folder: AuditFolder):
    folder.keep(an_audit())
    ada.go("/audit")
    ada.page.evaluate("document.querySelector('.marks [name=csrf]').value = 'guessed'")
    ada.page.locator(".marks button").first.click()

    expect(ada.page.get_by_text("the form is not of this session")).to_be_visible()
    assert folder.marks() == {}
    ada.complaints.clear()  # the browser tells of the 403


def test_the_button_prints(browser: Browser, shared: Served, folder: AuditFolder):
    folder.keep(an_audit())
    with desktop(browser, shared) as opened:
        opened.sign_in_by_cookie(shared)
        page = opened.page
        page.add_init_script("window.print = () => { document.title = 'printed'; }")
        opened.go("/audit")
        page.get_by_role("button", name="Print").click()

        expect(page).to_have_title("printed")
        page.emulate_media(media="print")
        expect(page.locator(".marks").first).to_be_hidden()
        expect(page.locator("header.top")).to_be_hidden()


@pytest.mark.parametrize("name", AUDITS)
def test_everybody_can_use_the_page(ada: Desktop, folder: AuditFolder, name: str):
    for each, made in AUDITS.items():
        folder.keep(replace(made(), id=f"20261115T091200-{each}"))
    ada.go(f"/audit/20261115T091200-{name}")

    expect(ada.page.get_by_role("heading", level=1)).to_be_visible()
    assert barriers_in_looks(ada.page, TURNS[name] + 2) == []
    assert not {"\u202e", "\u2028", "\x1b"} & set(ada.page.content())
    assert ada.page.locator("img").count() == 0
