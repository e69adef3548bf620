"""How values become text that nobody can smuggle anything into."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from msgspec.structs import replace

from console.run_scenes import HOSTILE
from interlock.server.console.templates import (
    STATIC,
    Frame,
    ago,
    left,
    money,
    rendered,
    said,
    shown,
    static_path,
)
from interlock.server.markup.safe_html import plain, tone, word
from interlock.server.wire.problem import Problem
from interlock.views.units import tokens

_FRAME = Frame(
    now=1_794_787_200_000_000,
    position=7,
    waiting=0,
    who="ada",
    scope="operator",
    csrf="proof",
    theme="dark",
    keys=False,
    ledger="ledger.db",
    records=1,
    checked=None,
    policy="8381c1605f2240aa",
    frozen=None,
    halted=None,
)
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_SECOND = 1_000_000


@given(st.text(st.characters()))
def test_no_character_hides_or_lies_about_the_order_of_others(text: str):
    left_over = {char for char in shown(text) if unicodedata.category(char) in _UNSEEN}

    assert left_over <= {"\n", "\t"}
    assert not {char for char in plain(text) if unicodedata.category(char) in _UNSEEN}


@given(st.text(st.sampled_from("<>&\"'`ab \u202e\x1b")))
def test_nothing_that_is_shown_is_an_element(text: str):
    for html in (shown(text), said(text)):
        bare = html.replace('<span class="odd">', "").replace("</span>", "")
        bare = bare.replace("<code>", "").replace("</code>", "")
        assert not {"<", ">", '"', "'"} & set(bare)


def test_what_would_not_show_is_written_out():
    assert shown("a\u202eb\x1b[2J") == Markup(
        'a<span class="odd">U+202E</span>b<span class="odd">U+001B</span>[2J'
    )
    assert plain("a\u202e\n b\U000e0041") == "a\\u202e b\\U000e0041"
    assert shown("naïve 日本語 🙂 a\tb\nc") == "naïve 日本語 🙂 a\tb\nc"


def test_a_sentence_begins_with_a_capital_and_shows_code_as_code():
    assert said("writes to `a<b`: no") == "Writes to <code>a&lt;b</code>: no"
    assert said("use `git`", capital=False) == "use <code>git</code>"
    assert said("") == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "just now"), (3, "just now"), (36, "36 s ago"), (400, "6 min ago"), (7300, "2 h ago")],
)
def test_the_past_is_told_in_its_largest_unit(seconds: int, text: str):
    assert ago(0, seconds * _SECOND) == text


def test_amounts_are_told_at_a_glance():
    assert left(508 * _SECOND, 0) == "8:28"
    assert [tokens(each) for each in (999, 64_500, 584_000, 1_490_000)] == [
        "999",
        "64.5 k",
        "584 k",
        "1.49 M",
    ]
    assert [money(each) for each in (0, 290_000, 5_723_400, 1_200)] == [
        "$0.00",
        "$0.29",
        "$5.72",
        "$0.0012",
    ]


def test_every_decision_has_its_colour_and_its_word():
    answers = ("allow", "warn", "require-confirmation", "block")
    assert [tone(each) for each in answers] == ["allow", "warn", "ask", "block"]
    assert [word(each) for each in answers] == ["allow", "warn", "ask", "deny"]
    assert (tone("at work"), tone("expired"), word("expired")) == ("allow", "none", "expired")


def test_another_content_has_another_address():
    for file in STATIC.iterdir():
        assert static_path(file.name).endswith(f"/{file.name}")


def test_no_page_has_a_style_or_a_script_of_its_own():
    for template in (STATIC.parent / "templates").iterdir():
        text = template.read_text()
        assert " style=" not in text
        assert "|safe" not in text
        assert "onclick" not in text
        assert text.count("<script") == (template.name == "base.html")


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422, 500, 503])
@pytest.mark.parametrize("who", ["ada", ""])
def test_an_error_says_what_to_do(status: int, who: str):
    problem = Problem(
        type="urn", title="Not now", status=status, detail=f"no `{HOSTILE}`", request_id="e7c2"
    )
    frame = replace(_FRAME, who=who)

    html = rendered("error.html", "Not now", {"problem": problem, "path": f"/{HOSTILE}"}, frame)

    assert "What you can do" in html
    assert "report id <code>e7c2</code>" in html
    assert "<script>alert" not in html
    assert ("Sign out" in html) is bool(who)


@pytest.mark.parametrize("names", [[], ["ada"], ["ada", "ben"]])
def test_coming_in_says_what_is_true_of_this_ledger(names: list[str]):
    values = {"to": "/inbox?a=<b>", "refused": "no `operator` is called so", "names": names}

    html = rendered("login.html", "Sign in", values, _FRAME)

    assert "<code>operator</code>" in html
    assert ("interlock setup" in html) is not names
    assert 'value="/inbox?a=&lt;b&gt;"' in html
    assert "Sign out" not in html


def test_the_first_operator_is_made_on_a_page_of_its_own():
    made = rendered("setup.html", "Set up", {"code": "c", "refused": "", "name": ""}, _FRAME)
    done = rendered("setup_done.html", "Welcome", {"name": "ada", "recovery_code": "x-y"}, _FRAME)

    assert 'name="again"' in made
    assert "x-y" in done


def test_a_frozen_loop_is_told_on_every_page():
    frame = replace(_FRAME, frozen="wrong <b>")

    assert "wrong &lt;b&gt;" in rendered("keys.html", "Keys", {"groups": ()}, frame)
