"""What a question says, whatever it is about, and what deciding does."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from console.asked_scenes import POLICY, PUSH, Asked, everything_asked, hostile_run
from console.run_scenes import Scene, scene
from interlock.errors import InputError
from interlock.model.approval import ApprovalState
from interlock.model.principal import Scope
from interlock.model.short_code import code_of
from interlock.server.console.inbox_page import decide_act, inbox_page, question_page
from interlock.server.console.page import Done, Page


@pytest.fixture
def at_work(tmp_path: Path) -> Generator[Scene]:
    with scene(tmp_path, POLICY) as opened:
        yield opened


@pytest.fixture
def asked(at_work: Scene) -> Asked:
    return everything_asked(at_work)


def shown(at_work: Scene, approval: str, **query: str) -> str:
    return at_work.html(at_work.page(question_page, {"approval": approval}, **query))


def decided(at_work: Scene, approval: str, **form: str) -> Done | Page:
    found = at_work.desk.ledger.rows.approval(approval)
    assert found is not None
    return at_work.act(decide_act, {"approval": approval}, **{"digest": found.digest, **form})


def state_of(at_work: Scene, approval: str) -> ApprovalState:
    found = at_work.desk.ledger.rows.approval(approval)
    assert found is not None
    return found.state


def test_what_waits_stands_in_the_order_in_which_it_runs_out(at_work: Scene, asked: Asked):
    html = at_work.html(at_work.page(inbox_page, {}))

    places = [html.index(f'data-row="{each}"') for each in asked_in_order(asked)]
    assert places == sorted(places)
    assert "5 wait for you" in html


def test_every_question_shows_the_code_that_is_typed_for_it(at_work: Scene, asked: Asked):
    html = at_work.html(at_work.page(inbox_page, {}))

    assert all(f">{code_of(each)}</code>" in html for each in asked_in_order(asked))
    assert f"interlock approve {code_of(asked.push)}" in shown(at_work, asked.push)
    assert f"interlock review resolve {code_of(asked.review)}" in shown(at_work, asked.review)


def asked_in_order(asked: Asked) -> list[str]:
    return [asked.resume, asked.flush, asked.review, asked.push, asked.edit]


def test_a_command_is_told_exactly_with_what_speaks_and_what_it_would_do(
    at_work: Scene, asked: Asked
):
    html = shown(at_work, asked.push)

    marked = '<mark class="ask">git push --force origin release/2.4</mark>'
    before = PUSH.partition("git push")[0].replace("&", "&amp;").replace("'", "&#39;")
    assert f'<pre class="exact lead">{before}{marked} &amp;&amp; rm -rf dist&#39;</pre>' in html
    assert "its history is replaced; others have it" in html
    assert "via sudo, bash -c" in html
    assert "The remote branch was rebased. I will overwrite it." in html
    assert "git rebase origin/main" in html
    assert "accepted-commands = [&#34;...&#34;, &#34;" in html


def test_a_store_is_spoken_of_as_one(at_work: Scene, asked: Asked):
    html = shown(at_work, asked.flush)

    assert "Deletes every key of every database of the store" in html
    assert "<code>every key of every database</code>" in html


def test_an_edit_is_told_line_by_line(at_work: Scene, asked: Asked):
    html = shown(at_work, asked.edit)

    assert "May it change this file?" in html
    assert '<div class="del"><span>2</span><span></span><span>\N{MINUS SIGN}</span>' in html
    assert "migrations are reviewed by the database team" in html


def test_a_review_is_told_by_gates_and_attempts(at_work: Scene, asked: Asked):
    html = shown(at_work, asked.review)

    assert "The review “before-merge” failed twice. Retry, skip or abort?" in html
    assert '<span class="c-block">said FAIL</span>' in html
    assert '<span class="c-block">PASS refused</span>' in html
    assert "no check: only what was said" in html
    assert all(f'value="{each}"' in html for each in ("retry", "skip", "abort"))


def test_a_held_run_is_told_with_why_and_what_it_did(at_work: Scene, asked: Asked):
    html = shown(at_work, asked.resume)

    assert "It repeats itself. May it resume?" in html
    assert "continue.loop" in html
    assert html.count("pytest -q tests/test_importer.py -k bom") >= 3
    assert "then the run is stopped" in html


def test_a_question_is_found_by_the_beginning_of_its_id(at_work: Scene, asked: Asked):
    assert "May it change this file?" in shown(at_work, asked.edit[:30])
    with pytest.raises(InputError, match="no approval"):
        shown(at_work, "nobody-asked-this")


@pytest.mark.parametrize(
    ("answer", "state"), [("approve", ApprovalState.GRANTED), ("deny", ApprovalState.DENIED)]
)
def test_deciding_opens_the_next_question(
    at_work: Scene, asked: Asked, answer: str, state: ApprovalState
):
    done = decided(at_work, asked.push, answer=answer, note="as agreed")

    assert done == Done(f"/inbox/{asked.resume}?done={asked.push}")
    assert state_of(at_work, asked.push) is state
    html = shown(at_work, asked.resume, done=asked.push)
    assert "by you" in html
    assert "as agreed" in shown(at_work, asked.push)


def test_what_was_not_shown_is_not_decided(at_work: Scene, asked: Asked):
    page = decided(at_work, asked.push, answer="approve", digest="f" * 64, note="keep me")

    assert isinstance(page, Page)
    assert page.status == 409
    assert "The question changed since you opened it" in at_work.html(page)
    assert 'value="keep me"' in at_work.html(page)
    assert state_of(at_work, asked.push) is ApprovalState.PENDING


def test_a_second_answer_is_told_of_the_first(at_work: Scene, asked: Asked):
    decided(at_work, asked.push, answer="deny", note="no")

    page = decided(at_work, asked.push, answer="approve")

    assert isinstance(page, Page)
    assert page.status == 409
    assert "Your answer was not used" in at_work.html(page)
    assert state_of(at_work, asked.push) is ApprovalState.DENIED


@pytest.mark.parametrize("form", [{}, {"answer": "perhaps"}])
def test_a_form_that_says_nothing_decides_nothing(
    at_work: Scene, asked: Asked, form: dict[str, str]
):
    page = decided(at_work, asked.push, **form)

    assert isinstance(page, Page)
    assert page.status == 422
    assert state_of(at_work, asked.push) is ApprovalState.PENDING


def test_a_review_goes_on_as_it_was_chosen(at_work: Scene, asked: Asked):
    without = decided(at_work, asked.review, answer="approve")
    assert isinstance(without, Page)
    assert without.status == 422

    done = decided(at_work, asked.review, choice="retry", note="look at the clock")

    assert isinstance(done, Done)
    assert state_of(at_work, asked.review) is ApprovalState.GRANTED


def test_what_expired_is_no_denial(at_work: Scene, asked: Asked):
    at_work.clock.forward(seconds=7200)

    html = shown(at_work, asked.flush)

    assert ">expired</span>" in html
    assert "so nothing was allowed" in html
    assert "denied" not in html
    assert "data-decide" not in html


def test_a_use_is_told_with_its_time(at_work: Scene):
    run = at_work.interlock.run("a task", agent="coder")
    approval = run.command("git push --force").approval_id
    assert approval is not None
    decided(at_work, approval, answer="approve")
    assert "Not used yet" in shown(at_work, approval)

    assert run.command("git push --force").allowed

    assert "Used once, by the same action" in shown(at_work, approval)


def test_nothing_waits_is_a_good_state(at_work: Scene):
    html = at_work.html(at_work.page(inbox_page, {}))

    assert "<h1>Nothing waits for you</h1>" in html
    assert "No question to answer" in html


def test_a_viewer_looks_and_does_not_decide(at_work: Scene, asked: Asked):
    visit = at_work.visit({"approval": asked.push})
    looks = visit._replace(who=visit.who._replace(scope=Scope.VIEWER))

    html = at_work.html(question_page(looks))

    assert "Only an operator may decide." in html
    assert 'value="approve" disabled' in html


def test_what_an_agent_wrote_is_text(at_work: Scene):
    run = hostile_run(at_work)
    approval = run.command("git push --force # <script>alert(1)</script> \u202e\x1b[2J").approval_id
    assert approval is not None

    html = shown(at_work, approval)

    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert '<span class="odd">U+202E</span>' in html
    assert '<span class="odd">U+001B</span>' in html
    assert not {"\u202e", "\x1b", "\u2028"} & set(html)


def test_a_very_long_command_is_told_whole(at_work: Scene):
    run = at_work.interlock.run("long", agent="coder")
    words = " ".join(f"origin/topic-{number}" for number in range(400))
    approval = run.command(f"git push --force {words}").approval_id
    assert approval is not None

    assert words in shown(at_work, approval)


@pytest.mark.parametrize("part", ["queue", "ended", "nav"])
def test_a_part_is_rendered_alone(at_work: Scene, asked: Asked, part: str):
    page = at_work.page(question_page, {"approval": asked.push})

    html = at_work.html(page, part)

    assert "<html" not in html
    assert ("git push" in html) is (part == "queue")


def test_a_part_that_there_is_not_is_refused(at_work: Scene):
    with pytest.raises(InputError, match="no part `secrets`"):
        at_work.html(at_work.page(inbox_page, {}), "secrets")
