"""An audit in a terminal: the report, and the moments with the ids to mark them by."""

from __future__ import annotations

import os
import sys

import pytest

from console.audit_scenes import (
    a_hostile_audit,
    a_long_audit,
    a_moment,
    an_audit,
    an_empty_audit,
    marked,
)
from interlock.cli.text.audit_page import audit_lines, moments_lines
from interlock.cli.text.render import plain_text
from interlock.model.audit import Audit, Mark, MomentKind
from interlock.views.audit_view import audit_view
from terminal import at_terminal


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def report(audit: Audit) -> list[str]:
    return [plain_text(line) for line in audit_lines(audit_view(audit, {}))]


def moments(audit: Audit) -> list[str]:
    return [plain_text(line) for line in moments_lines(audit_view(audit, {}))]


def test_the_report_begins_with_the_result():
    lines = report(an_audit())

    assert lines[0].startswith("In 6 weeks your agents did 148 things")
    assert "  would have been denied                 6  0.3 per 1,000 calls" in lines
    assert "  tokens burnt in loops             9.80 M  8 % of all, about $37" in lines
    assert "  sessions silent on failing tests      11  of 96 that ran tests" in lines
    assert "Stopped half-way  (17 turns in 15 sessions)" in lines
    assert "Ended with failing tests and did not say so  (11 turns in 11 sessions)" in lines
    assert "The ten most worrying moments  (what really ran, worst first)" in lines
    assert "  9e3779  deny  rm -rf ~" in lines
    assert "          /home/ada/.claude/projects/-home-ada-shop/00000001.jsonl:41" in lines
    assert "  and 138 more calls" in lines
    assert "  4 more rules, 24 calls" in lines
    assert lines[-1].startswith("next  interlock audit show")


def test_every_moment_is_listed_once_with_its_id():
    lines = moments(an_audit())

    for moment in an_audit().moments:
        assert sum(line.startswith(f"  {moment.id[:6]}  ") for line in lines) == 1
    assert "Loops  (7 of 24)" in lines
    assert lines[-1].startswith("next  interlock audit mark MOMENT right|wrong|none")


def test_an_early_stop_tells_what_a_person_had_to_type():
    lines = moments(an_audit())

    assert "Stopped half-way  (4 of 17)" in lines
    assert any("until a person typed “go on please”" in line for line in lines)


def test_what_is_left_out_is_told_and_nothing_that_is_kept_is():
    leaky = a_moment(1, kind=MomentKind.SECRET)
    same = a_moment(2, run=leaky.run, path=leaky.path, step=leaky.step)
    counts = {MomentKind.ACTION: 1_800, MomentKind.SECRET: 1}
    lines = moments(an_audit(moments=(leaky, same), counts=counts))

    assert "Calls  (1 of 1,800)" in lines
    assert "Secrets that went into commands  (1)" in lines
    assert any(line.startswith("1,799 more moments counted but not kept") for line in lines)
    [told] = [line for line in report(an_audit(counts=counts)) if line.startswith("next")]
    assert "lists the 25 kept of 1,813 moments" in told
    whole = an_audit(counts={}, moments=(leaky, same))
    assert "lists every moment" in report(whole)[-1]


def test_a_mark_is_shown_with_who_gave_it():
    audit = an_audit()
    first = audit.moments[0]
    view = audit_view(audit, {first.id: marked(first, Mark.WRONG)})

    lines = [plain_text(line) for line in audit_lines(view)]

    assert "should have been; you marked 1 of them wrong." in " ".join(lines[:3])
    assert "          shop · session 9e3779b9 · 3 November · marked wrong by ada" in lines
    assert "  false alarms  1 of 1 marked wrong" in lines


def test_nothing_found_has_a_page_too():
    assert "No past session was found." in report(an_empty_audit())
    assert "no such moment is kept" in moments(an_empty_audit())
    assert not any(line.startswith("next") for line in report(an_empty_audit()))


def test_what_was_only_counted_is_said():
    counted = an_audit(moments=(), counts=dict.fromkeys(MomentKind, 3), decisions={"block": 3})

    lines = report(counted)

    assert "  and 3 more calls" in lines
    assert "  3 more loops, 9.80 M tokens" in lines


def test_what_ran_and_failed_says_so():
    lines = moments(an_audit(moments=(a_moment(1, failed=True), a_moment(2))))

    assert [line.strip() for line in lines if "overwrites" in line] == [
        "overwrites what others see on the remote (it failed)",
        "overwrites what others see on the remote",
    ]


def test_a_loop_of_which_little_is_known_says_so():
    loop = a_moment(1, kind=MomentKind.LOOP, decision="stop", steps=40)
    lines = moments(an_audit(moments=(loop,)))

    assert "          paused at step 13, went on to step 40, tokens unknown" in lines
    assert any(
        "unknown" in line and "git push" in line for line in report(an_audit(moments=(loop,)))
    )


@pytest.mark.parametrize("audit", [a_hostile_audit(), a_long_audit()], ids=["hostile", "long"])
def test_no_line_is_too_wide_or_obeyed_by_a_terminal(audit: Audit):
    lines = [*report(audit), *moments(audit)]

    assert max(map(len, lines)) <= 100
    assert not {"\x1b", "\x00", "\u202e"} & set("".join(lines))


def test_a_long_command_is_cut_after_three_lines():
    lines = moments(an_audit(moments=(a_moment(1, text="x " * 900),)))

    assert sum("x x x" in line for line in lines) == 3
    assert "            ..." in lines


_PROGRAM = """
from interlock.cli.text.tables import progress
from interlock.views import units

with progress("reading histories", long=1, told=units.size) as advance:
    advance(2 * 2**20, 91 * 2**20)
"""


def test_how_far_it_is_is_told_in_megabytes():
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    ended = at_terminal([sys.executable, "-c", _PROGRAM], environment=environment, stdin=None)

    assert ended.code == 0
    assert "2.0 MB of 91.0 MB" in ended.screen
